"""The register map against the published one."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from fwgen.accel.nvdla.registers import (
    BLOCK_BASES,
    FIELDS,
    OFFSETS,
    REGISTERS,
    FieldOverflow,
    decode,
    encode,
    encode_raw,
    register_name,
)


def test_map_equals_the_published_csv(testdata: Path) -> None:
    seen = set()
    with (testdata / "nvdla" / "registers.csv").open() as file:
        for row in csv.DictReader(file):
            block = row["block"].removeprefix("NVDLA_")
            if block == "GEC":
                continue
            name = f"{block}.{row['register']}"
            register = REGISTERS[name]
            assert register.offset == int(row["byte_offset"], 16)
            assert register.reset == int(row["reset"], 16)
            field = next(f for f in register.fields if f.name == row["field"])
            assert (field.lsb, field.width) == (int(row["lsb"]), int(row["width"]))
            assert field.read_only == (row["access"] == "ro")
            seen.add((name, field.name))
    assert len(seen) == sum(len(fields) for fields in FIELDS.values())


def test_map_has_the_fields_of_the_lowering_tables(testdata: Path) -> None:
    text = (testdata / "nvdla" / "lowering.md").read_text()
    appendix = text[text.index("## Appendix A") :]
    count = 0
    for block, base, body in re.findall(r"\*\*(\w+)\*\* \(base (0x\w+)\): (.*)", appendix):
        assert BLOCK_BASES[block] == int(base, 16)
        for item in body.split("; "):
            name, offset, fields = re.match(r"(\w+) \+(0x\w+)(?:: (.*))?", item).groups()  # type: ignore[union-attr]
            register = REGISTERS[f"{block}.{name}"]
            assert register.offset == int(base, 16) + int(offset, 16)
            known = {f.name: (f.lsb + f.width - 1, f.lsb) for f in register.fields}
            for field, msb, lsb in re.findall(r"(\w+)\[(\d+):(\d+)\]", fields or ""):
                if block != "BDMA" and block != "RBK":
                    assert known[field] == (int(msb), int(lsb)), f"{block}.{name}.{field}"
                count += 1
    assert count > 400


def test_names_and_offsets_are_inverse() -> None:
    assert register_name(0x30BC) == "CDMA.D_BANK"
    assert register_name(0x30BE) is None
    assert all(register_name(offset) == name for name, offset in OFFSETS.items())


@pytest.mark.parametrize(
    ("value", "word"), [(0, 0), (31, 31), (-1, 31), (-16, 16)], ids=["0", "31", "-1", "-16"]
)
def test_field_takes_what_its_bits_hold(value: int, word: int) -> None:
    assert encode("CDMA.D_BANK", {"DATA_BANK": value}) == word


@pytest.mark.parametrize("value", [32, -17, 1 << 40])
def test_field_refuses_what_it_would_cut(value: int) -> None:
    with pytest.raises(FieldOverflow, match=r"CDMA.D_BANK.DATA_BANK has 5 bits"):
        encode("CDMA.D_BANK", {"DATA_BANK": value})


def test_fields_are_assembled_and_taken_apart() -> None:
    fields = {"WEIGHT_BANK": 3, "DATA_BANK": 1}
    assert decode("CDMA.D_BANK", encode("CDMA.D_BANK", fields)) == fields


def test_raw_words_are_sign_extended() -> None:
    assert encode_raw("SDP.D_CVT_SCALE", -1) == 0xFFFFFFFF
    assert encode_raw("SDP.D_CVT_SCALE", 0xFFFF) == 0xFFFF
    with pytest.raises(FieldOverflow):
        encode_raw("SDP.D_CVT_SCALE", 0x10000)
