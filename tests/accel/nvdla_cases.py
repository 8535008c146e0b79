"""The published loadables with their facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fwgen.model.nvdla.model import NvdlaModel, read_model


class Case:
    """One loadable of the reference data."""

    def __init__(self, facts_file: Path) -> None:
        self.folder = facts_file.parent
        self.name = facts_file.stem
        self.facts: dict[str, Any] = json.loads(facts_file.read_text())
        self.data = (self.folder / self.facts["file"]).read_bytes()

    @property
    def refused(self) -> bool:
        """The loadable must not be accepted."""
        return self.facts.get("expect") == "refuse"

    def model(self) -> NvdlaModel:
        """The model, read anew."""
        return read_model(self.data, self.name, self.facts["file"])

    def bound(self, kind: str) -> list[bytes]:
        """Bytes of all "inputs" or "outputs" in bind order."""
        entries = sorted(self.facts[kind], key=lambda e: int(e["bind_id"]))
        return [(self.folder / e["file"]).read_bytes() for e in entries]


def all_cases(testdata: Path) -> list[Case]:
    """All cases, sorted by name; never empty."""
    found = [Case(path) for path in sorted((testdata / "nvdla" / "loadables").glob("*.json"))]
    assert found, "the reference data holds no loadables"
    return found
