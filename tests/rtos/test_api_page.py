"""docs/target-api.md: generated from the headers, current, and it loses nothing."""

from __future__ import annotations

import re
from pathlib import Path

from fwgen.docs.target_api import HEADERS, read_header, target_api_markdown, update_docs
from fwgen.resources import resource_dir

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_current() -> None:
    for file, text in update_docs(ROOT / "docs").items():
        assert file.read_text(encoding="utf-8") == text, (
            "run `python -m fwgen.docs.target_api docs`"
        )


def test_every_public_function_is_on_the_page_with_its_text() -> None:
    page = target_api_markdown()
    functions = 0
    for name in HEADERS:
        text = (resource_dir("rtos") / "include" / name).read_text()
        for function in re.findall(r"^\w[\w *]*?\b(\w+)\([^;{]*\);", text, re.MULTILINE):
            assert re.search(rf"^[\w *]*\b{function}\(", page, re.MULTILINE), function
            functions += 1
    assert functions > 50


def test_comments_become_markdown() -> None:
    entries = list(
        read_header(
            "/*\n * x.h - a header.\n *\n * Text that\n * goes on.\n */\n"
            "#ifndef X_H\n#define X_H\n\n"
            "#include <a.h>\n\n/* Short. */\nint f(void);\n\n"
            "/*\n * a  first, with\n *    more\n * Example:\n *     f();\n */\n"
            "static inline int g(int x)\n{\n    return x;\n}\n\n#endif\n"
        )
    )
    assert entries[0].text == ("x.h - a header.", "", "Text that", "goes on.")
    assert (entries[1].code, entries[1].names) == ("int f(void);", ("f",))
    assert entries[2].code == "static inline int g(int x);"
    assert entries[2].text == ("a  first, with", "   more", "Example:", "    f();")


def test_code_fences_are_closed() -> None:
    fences = re.findall(r"^```(c?)$", target_api_markdown(), re.MULTILINE)
    assert fences[::2] == ["c"] * (len(fences) // 2) and set(fences[1::2]) == {""}
