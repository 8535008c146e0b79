"""Boards of the Cortex-A port: QEMU's generic `virt` machine in three forms."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BOARDS = HERE / "boards"


@pytest.fixture(params=["virt-a7", "virt-a7-gicv3", "virt-a7-hyp"])
def board_file(request: pytest.FixtureRequest) -> str:
    """A profile: GICv2, GICv3, and GICv2 entered in HYP."""
    return str(BOARDS / f"{request.param}.toml")
