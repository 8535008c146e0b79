"""Fixtures of the port's tests; the work is in port_firmware.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from port_firmware import GICV2, GICV3, RV1126, Firmware, build_application


@pytest.fixture(params=[GICV2, GICV3, RV1126], ids=["gicv2", "gicv3", "rv1126"])
def board_file(request: pytest.FixtureRequest) -> str:
    """A board, by name or profile."""
    return str(request.param)


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Firmware]:
    """The application on a board; built once for each."""
    built: dict[str, Firmware] = {}

    def make(board_file: str) -> Firmware:
        if board_file not in built:
            folder = tmp_path_factory.mktemp("port") / "build"
            built[board_file] = build_application(board_file, folder)
        return built[board_file]

    return make
