"""docs/target-api.md from the comments of the runtime's public headers.

A header is read as a sequence of comments, each with the declarations that follow
it up to the next comment at the left margin. Comments are prose in paragraphs;
what is indented by four columns is code, `name  text` is a parameter, `- text` a list
item. `python -m fwgen.docs.target_api docs` writes the page.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fwgen.resources import resource_dir

PAGE = "target-api.md"

HEADERS = (
    "nvdla.h",
    "fwgen_accel.h",
    "fwgen_task.h",
    "fwgen_fence.h",
    "fwgen_tensor.h",
    "fwgen_model.h",
    "fwgen_result.h",
    "fwgen_app.h",
    "fwgen_console.h",
    "fwgen_nvmem.h",
    "fwgen_store.h",
    "fwgen_slots.h",
    "fwgen_start.h",
    "fwgen_watchdog.h",
    "fwgen_config_defaults.h",
)
"""Public headers in the order of the page; the others are the runtime's own."""

INTRODUCTION = """\
# The target's interface

<!-- Generated from rtos/include/ by `python -m fwgen.docs.target_api docs`; do not edit. -->

What an application sees of the runtime. The names that NVDLA users know are in `nvdla.h`; under
them lies the interface that does not depend on the accelerator's family. No function allocates
memory: jobs, tasks and fences are objects of the application. `docs/applications.md` shows how to
build an application.

| header | what is in it |
|---|---|
"""

_GUARD = re.compile(r"#ifndef (\w+_H)\n#define \1\n")
_COMMENT = re.compile(r"^/\*(.*?)\*/[ \t]*\n?", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"#ifndef (\w+)\n#define \1 (.+)\n#endif\n?")
_NAME = re.compile(
    r"^(?:[\w *]*?\b(\w+)\(|(?:struct|enum|union) (\w+) \{|#define (\w+)|"
    r"extern [^;]*?\b(\w+)(?:\[\w*\])?;|typedef [^;]*?(?:\(\*)?(\w+)\)?(?:\([^;]*)?;)",
    re.MULTILINE,
)
_IDENTIFIER = re.compile(r"(?<![\w/])(?:\*?[A-Za-z]\w*_\w+(?:\.h|\.\w+|\(\))?|\*\w+)(?![\w/])")
"""Names in prose: with an underscore, or a pointer's target."""

WIDTH = 118
"""Columns of the page's text."""

_PARAMETER = re.compile(r"(\w+(?:, \w+)*) {2,}(\S.*)")


@dataclass(frozen=True, slots=True)
class Entry:
    """One comment and what it is about.

    Attributes:
        text: the comment's lines without their frame.
        code: declarations, empty for a comment that stands alone.
    """

    text: tuple[str, ...]
    code: str

    @property
    def names(self) -> tuple[str, ...]:
        """What the code declares, in order."""
        found = (next(filter(None, groups)) for groups in _NAME.findall(self.code))
        return tuple(dict.fromkeys(found))


def target_api_markdown() -> str:
    """The whole page."""
    folder = resource_dir("rtos") / "include"
    parts = [INTRODUCTION]
    bodies = []
    for name in HEADERS:
        entries = list(read_header((folder / name).read_text(encoding="utf-8")))
        title, _, summary = entries[0].text[0].partition(" - ")
        rest, at = [summary], 1
        while at < len(entries[0].text) and entries[0].text[at]:
            rest.append(entries[0].text[at].strip())
            at += 1
        summary = " ".join(rest)
        parts.append(f"| [`{title}`](#{title.replace('.', '')}) | {summary.rstrip('.')} |\n")
        bodies.append(_header_body(title, summary, entries, at))
    return "".join([*parts, *bodies])


def read_header(text: str) -> Iterator[Entry]:
    """The entries of a header, the file's own comment first, without code."""
    text = _GUARD.sub("", text, count=1)
    text = re.sub(r"\n#endif\s*$", "\n", text)
    matches = list(_COMMENT.finditer(text))
    for number, match in enumerate(matches):
        end = matches[number + 1].start() if number + 1 < len(matches) else len(text)
        yield Entry(tuple(_comment_lines(match[1])), _declarations(text[match.end() : end]))


def _comment_lines(comment: str) -> list[str]:
    """The comment's text; continuation lines lose " * " or three blanks."""
    lines = [re.sub(r"^ ?\*? ?", "", line, count=1).rstrip() for line in comment.split("\n")]
    if not comment.startswith("\n"):
        lines = [lines[0]] + [
            re.sub(r"^ {0,2}", "", line) if not line.startswith("    ") else line
            for line in lines[1:]
        ]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _declarations(code: str) -> str:
    """Code without includes and conditions; inline functions without their bodies."""
    code = _OPTION.sub(r"#define \1 \2\n", code)
    code = re.sub(r"^(static inline [^;{]*?\))\n\{\n.*?^\}\n", r"\1;\n", code, flags=re.M | re.S)
    kept = [
        line
        for line in code.split("\n")
        if not re.match(r"#\s*(include|if|ifdef|ifndef|else|elif|endif|error)\b", line)
    ]
    return re.sub(r"\n{2,}", "\n", "\n".join(kept)).strip("\n")


def _header_body(title: str, summary: str, entries: Sequence[Entry], start: int) -> str:
    lines = ["", f"## {title}", "", summary[:1].upper() + summary[1:]]
    lines += [*_prose(entries[0].text[start:])]
    if entries[0].code:
        lines += ["", "```c", entries[0].code, "```"]
    for entry in entries[1:]:
        if entry.code:
            names = entry.names
            heading = ", ".join(f"`{name}`" for name in names[:4]) or "Declarations"
            lines += ["", f"### {heading}" + (", ..." if len(names) > 4 else "")]
            lines += ["", "```c", entry.code, "```"]
        lines += _prose(entry.text)
    return "\n".join(lines) + "\n"


def _prose(text: Sequence[str]) -> list[str]:
    """Paragraphs, lists and code of a comment as Markdown, each after a blank line."""
    out: list[str] = []
    kind = ""  # of the block that is open: "text", "code", "item"
    for line in text:
        indent = len(line) - len(line.lstrip())
        parameter = _PARAMETER.fullmatch(line)
        item = re.fullmatch(r"- (.*)", line)
        if not line:
            if kind == "code":
                out.append("")
            else:
                kind = ""
        elif kind == "item" and indent:
            out[-1] += " " + line.strip()
        elif indent >= 4:
            if kind != "code":
                out += ["", "```c"]
            kind = "code"
            out.append(line[4:])
        else:
            if kind == "code":
                _close(out)
                kind = ""
            if parameter or item:
                out += [] if kind == "item" else [""]
                out.append(
                    f"- `{parameter[1]}`: {parameter[2]}" if parameter else f"- {item[1]}"  # type: ignore[index]
                )
                kind = "item"
            elif kind == "text":
                out[-1] += " " + line.strip()
            else:
                out += ["", line.strip()]
                kind = "text"
    if kind == "code":
        _close(out)
    return list(_formatted(out))


def _close(out: list[str]) -> None:
    while not out[-1]:
        out.pop()
    out.append("```")


def _formatted(lines: Sequence[str]) -> Iterator[str]:
    """The lines with names as code and text wrapped; code blocks as they are."""
    inside = False
    for line in lines:
        if line.startswith("```"):
            inside = not inside
        elif not inside and line:
            parts = line.split("`")
            parts[::2] = [_IDENTIFIER.sub(r"`\g<0>`", part) for part in parts[::2]]
            yield textwrap.fill(
                "`".join(parts),
                WIDTH,
                subsequent_indent="  " if line.startswith("- ") else "",
                break_long_words=False,
                break_on_hyphens=False,
            )
            continue
        yield line


def update_docs(folder: Path) -> dict[Path, str]:
    """What the page should contain."""
    return {folder / PAGE: target_api_markdown()}


if __name__ == "__main__":
    for file, contents in update_docs(Path(sys.argv[1])).items():
        file.write_text(contents, encoding="utf-8")
