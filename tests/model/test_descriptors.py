"""Sizes and offsets of the descriptor records against the published tables."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from fwgen.model.nvdla import descriptors as d
from fwgen.model.nvdla.records import decode, encode, shape

RECORDS: dict[str, type[Any]] = {
    "dla_network_desc": d.Network,
    "dla_consumer": d.Edge,
    "dla_common_op_desc": d.CommonOp,
    "dla_data_cube": d.Cube,
    "dla_cvt_param": d.Converter,
    "dla_conv_op_desc": d.ConvOp,
    "dla_conv_surface_desc": d.ConvSurface,
    "dla_sdp_cvt": d.SdpConverters,
    "dla_sdp_op": d.SdpStage,
    "dla_sdp_op_desc": d.SdpOp,
    "dla_sdp_surface_desc": d.SdpSurface,
    "dla_pdp_op_desc": d.PdpOp,
    "dla_pdp_surface_desc": d.PdpSurface,
    "dla_cdp_op_desc": d.CdpOp,
    "dla_cdp_surface_desc": d.CdpSurface,
    "dla_rubik_op_desc": d.RubikOp,
    "dla_rubik_surface_desc": d.RubikSurface,
    "dla_bdma_op_desc": d.BdmaOp,
    "dla_bdma_transfer_desc": d.BdmaTransfer,
    "dla_bdma_surface_desc": d.BdmaSurface,
    "dla_lut_param": d.Lut,
}


def published(testdata: Path) -> dict[str, tuple[str, list[list[str]]]]:
    """Heading and rows of each structure's table."""
    text = (testdata / "nvdla" / "lowering.md").read_text()
    found = {}
    for name, heading, table in re.findall(r"\*\*(dla_\w+)\*\* — (.*)\n\n((?:\|.*\n)+)", text):
        rows = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
        found[name] = (heading, rows[2:])
    return found


@pytest.mark.parametrize("name", RECORDS)
def test_layout_equals_the_published_table(testdata: Path, name: str) -> None:
    heading, rows = published(testdata)[name]
    new = shape(RECORDS[name], 12)
    old = shape(RECORDS[name], 10)
    sizes = re.findall(r"(\d+) bytes", heading)
    assert new.size == int(sizes[0])
    assert old.size == int(sizes[-1])
    assert len(rows) == len(new.items)
    for row, now, before in zip(rows, new.items, old.items, strict=True):
        two_offsets = len(row) == 5
        assert row[-2] == now.name
        assert (int(row[0]), int(row[-3])) == (now.offset, now.size)
        if two_offsets and row[1] != "absent":
            assert int(row[1]) == before.offset
        assert before.present == (not two_offsets or row[1] != "absent")


def test_record_sizes_of_the_lists() -> None:
    assert max(shape(r, 12).size for r in d.OPERATION_RECORDS.values()) == d.OPERATION_SIZE
    assert max(shape(r, 12).size for r in d.SURFACE_RECORDS.values()) == d.SURFACE_SIZE
    assert shape(d.Lut, 12).size == d.LUT_SIZE
    assert shape(d.EmuOp, 12).size == d.EMU_OPERATION_SIZE
    assert [i.offset for i in shape(d.EmuBuffer, 12).items] == [0, 2, 6, 10, 12, 14, 16, 18, 22]


@pytest.mark.parametrize("minor", [10, 12])
@pytest.mark.parametrize("name", [n for n in RECORDS if n != "dla_lut_param"])
def test_decode_and_encode_are_inverse(name: str, minor: int) -> None:
    record = RECORDS[name]
    data = bytes((37 * i + 11) % 251 for i in range(shape(record, minor).size))
    value = decode(record, minor, data)
    assert encode(value, minor) == data
    assert len({id(f) for f in fields(value)}) == len(fields(value))
