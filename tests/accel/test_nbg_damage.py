"""Damaged graphs end in one ModelError, or do nothing that the hardware objects to.

What the rules admit is played on the emulated VIP, which shares no code with them: it
must neither report an error nor write outside the graph's buffers. FWGEN_NBG_FUZZ is
the number of damaged files made of each graph.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nbg_cases import NbgCase, nbg_cases
from nbg_mutants import mutants

from fwgen.accel.registry import family
from fwgen.accel.vip.configurations import BY_TARGET
from fwgen.check.nbg_player import NbgPlayer
from fwgen.errors import ExitCode, ModelError
from fwgen.model.nbg.model import read_model

COUNT = int(os.environ.get("FWGEN_NBG_FUZZ", "60"))
SEED = int(os.environ.get("FWGEN_NBG_SEED", "20"))
GRAPHS = ("v1_net_leaky_det", "leaky", "dw_pw_88", "conv3x3_valid", "net_lenet_82", "concat_x")


def _case(testdata: Path, name: str) -> NbgCase:
    found = [case for case in nbg_cases(testdata) if case.name == name]
    if not found:
        pytest.skip("reference data has no network binary graphs")
    return found[0]


@pytest.mark.parametrize("name", GRAPHS)
def test_damage_is_refused_or_harmless(testdata: Path, model_library: Path, name: str) -> None:
    case = _case(testdata, name)
    config = BY_TARGET[case.target].name
    refused = 0
    for note, data in mutants(case.path.read_bytes(), COUNT, SEED):
        try:
            model = read_model(data, name, f"{name}.nb")
            family("vip").lower(model, config)
        except ModelError as error:
            assert error.exit_code is ExitCode.MODEL
            assert error.message and error.where and error.expected, note
            refused += 1
            continue
        player = NbgPlayer(model_library, config, model.container)
        try:
            player.run([bytes(tensor.size) for tensor in model.container.inputs])
            assert player.guards_intact(), note
        finally:
            player.close()
    assert refused > 0


def test_every_length_of_a_cut_file_is_refused(testdata: Path) -> None:
    """Sizes are compared with the file's before anything is made of them."""
    data = _case(testdata, "v1_net_leaky_det").path.read_bytes()
    for size in [*range(0, 600), *range(600, len(data), 499)]:
        with pytest.raises(ModelError):
            family("vip").lower(read_model(data[:size], "cut", "cut.nb"), "vip8000nanosi_pid0xb5")


@pytest.mark.parametrize("word", [0xFFFFFFFF, 0x80000000, 0x7FFFFFFF])
def test_huge_numbers_in_every_word_of_the_header(testdata: Path, word: int) -> None:
    """A count or size of any word never becomes memory of that size."""
    data = _case(testdata, "v1_net_leaky_det").path.read_bytes()
    for at in range(0, 0x1D8, 4):
        damaged = data[:at] + word.to_bytes(4, "little") + data[at + 4 :]
        try:
            family("vip").lower(read_model(damaged, "huge", "huge.nb"), "vip8000nanosi_pid0xb5")
        except ModelError as error:
            assert error.where


def test_a_damaged_byte_is_found_by_the_checksum(testdata: Path) -> None:
    data = bytearray(_case(testdata, "conv3x3_valid").path.read_bytes())
    data[0x1640] ^= 1
    with pytest.raises(ModelError, match="CRC-32") as caught:
        read_model(bytes(data), "x", "x.nb")
    assert caught.value.where == "x.nb, byte 0xc"
