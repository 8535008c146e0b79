"""Hooks of mkdocs.yml: pages of the site that lie outside docs/.

README, CONTRIBUTING and the examples' READMEs are read in the repository, where their links
work as they are. In the site they are pages of the same names, and the README is the start.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).resolve().parents[1]
OUTSIDE = ("CONTRIBUTING.md", "CHANGELOG.md", "examples/*/README.md")
START = "index.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    texts = {START: _from_root((REPOSITORY / "README.md").read_text(encoding="utf-8"))}
    for pattern in OUTSIDE:
        for path in sorted(REPOSITORY.glob(pattern)):
            name = path.relative_to(REPOSITORY)
            text = path.read_text(encoding="utf-8")
            # An example's "../../docs/x.md" is "../../x.md" in the site.
            texts[name.as_posix()] = _from_root(text.replace("](../../docs/", "](../../"))
    for name, text in texts.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """In docs/, "../x" is what lies beside docs/."""
    inside = "/" not in page.file.src_uri and page.file.generated_by is None
    return markdown.replace("](../", "](") if inside else markdown


def _from_root(text: str) -> str:
    """Links from the repository's root to docs/ and to files that are no pages."""
    text = text.replace("](docs/", "](")
    return re.sub(r"\[([^\]]*)\]\((?:LICENSE|examples/\w+/?)\)", r"\1", text)
