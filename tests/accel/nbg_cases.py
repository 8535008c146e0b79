"""Network binary graphs among the reference data."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class NbgCase:
    """One graph with its inputs and the vendor simulator's outputs."""

    name: str
    kind: str  # "op", "net" or "negative"
    target: int
    container: str
    engines: str
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / f"{self.name}.nb"

    def tensors(self, prefix: str) -> list[bytes]:
        """Bytes of in0, in1, ... or out0, ..."""
        found = []
        while (path := self.folder / f"{self.name}.{prefix}{len(found)}.bin").exists():
            found.append(path.read_bytes())
        return found


def nbg_cases(testdata: Path) -> list[NbgCase]:
    """All cases in the order of their index; empty where the data is absent."""
    folder = testdata / "vip" / "corpus" / "given"
    index = folder / "index.tsv"
    if not index.is_file():
        return []
    with index.open(encoding="utf-8") as lines:
        return [
            NbgCase(
                row["name"],
                row["kind"],
                int(row["target"], 16),
                row["container"],
                row["engines"],
                folder,
            )
            for row in csv.DictReader(lines, delimiter="\t")
        ]
