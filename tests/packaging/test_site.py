"""The documentation builds as a site: no broken link, no page that the menu forgot."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_site_is_complete(tmp_path: Path) -> None:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install -e '.[docs]'")
    # Warnings (links, anchors, pages that are not in the menu) are errors with --strict.
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (REPOSITORY / "docs").glob("*.md"):
        assert (tmp_path / "site" / page.stem / "index.html").is_file(), page.name
    start = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "fwgen build" in start and 'href="tutorial/"' in start
