"""Data flows one way (docs/architecture.md): what each package may import of the others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "fwgen"

# Everybody may use these; they use nobody.
TOOLS = {"errors", "resources", "cache", "toml", "__version__"}

ALLOWED = {
    "model": set(),
    # A program is encoded with the addresses of a layout.
    "program": {"plan"},
    "accel": {"model", "program"},
    "board": {"accel"},
    "plan": {"board", "program"},
    # What the user chose for a build is part of what is rendered.
    "codegen": {"accel", "board", "build", "plan", "program"},
    "build": {"board", "codegen", "plan", "program"},
    "machine": {"board"},
    "flash": {"board", "build", "machine"},
    "reference": set(),
    "toml": set(),
}


def _imports(package: str) -> set[str]:
    """Parts of fwgen that the modules of a package import."""
    found: set[str] = set()
    for path in (PACKAGE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module == "fwgen":
                names = [f"fwgen.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            found |= {name.split(".")[1] for name in names if name.startswith("fwgen.")}
    return found - {package}


@pytest.mark.parametrize("package", ALLOWED)
def test_no_arrow_runs_back(package: str) -> None:
    assert _imports(package) - TOOLS <= ALLOWED[package]
