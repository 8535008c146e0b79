"""Rules of profiles with model slots: each wrong key has its place and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from fwgen.board.profile import load_board
from fwgen.errors import UsageError

PROFILE = """
name = "wrong"
extends = "mps2-an385-nvmem"
{rest}
"""

# What the profile changes, the key of the error, part of the message, part of what was expected.
WRONG = [
    ("[nvmem]\nprogram_size = 1024", "nvmem.program_size", "do not suit", "at most 512"),
    ("[nvmem]\nprogram_size = 48", "nvmem.program_size", "do not suit", "divisor"),
    (
        '[[nvmem.partition]]\nname = "state"\nsize = "4KiB"',
        "nvmem.partition[1].size",
        "has 1 block",
        "at least 2 blocks",
    ),
    (
        '[[nvmem.partition]]\nname = "slot_b"\nsize = "512KiB"',
        "nvmem.partition",
        "2 slots of 1048576, 524288",
        "two slots of one size",
    ),
    (
        '[[nvmem.partition]]\nname = "slot_b"\nkind = "raw"',
        "nvmem.partition",
        "1 slots",
        "two slots",
    ),
    ('[[nvmem.partition]]\nname = "state"\nkind = "raw"', "nvmem.partition", "without a", "one"),
    (
        '[[nvmem.partition]]\nname = "state"\nkind = "settings"',
        "nvmem.partition",
        "two partitions of kind 'settings'",
        "one",
    ),
    ('[nvmem]\ntensors = "slot_tensor"', "nvmem.tensors", "unknown memory", "'slot_tensors'"),
    ('[nvmem]\ntensors = "psram"', "nvmem.tensors", "used for something else", '"dma" alone'),
    ('[nvmem]\nrun = "slot_tensors"', "nvmem.run", "where their tensors do", "two regions"),
    ('[[memory]]\nname = "nvram"\nuse = ["nvmem"]', "nvmem.memory", "cannot read", "'run'"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[0].replace("\n", " ")[-40:])
def test_wrong_slots(tmp_path: Path, case: tuple[str, str, str, str]) -> None:
    rest, key, message, expected = case
    file = tmp_path / "wrong.toml"
    file.write_text(PROFILE.format(rest=rest), encoding="utf-8")
    with pytest.raises(UsageError) as error:
        load_board(file)
    assert message in error.value.message
    assert key in (error.value.where or "")
    assert expected in (error.value.expected or "")


def test_kinds_of_partitions() -> None:
    nvmem = load_board("mps3-an547-nvmem").nvmem
    assert nvmem is not None
    assert [part.name for part in nvmem.of_kind("slot")] == ["slot_a", "slot_b"]
    assert nvmem.of_kind("raw") == ()
