"""The bytes that a TP job writes, against the loops of the reference played step by step."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from nbg_cases import nbg_cases

from fwgen.accel.vip.extents import tp_output
from fwgen.accel.vip.reach import reach, steps_of, tiles_of
from fwgen.model.nbg.model import read_container
from fwgen.model.nbg.records import OperationType
from fwgen.model.nbg.tp import TpJob, decode_tp
from fwgen.reference.vip.tp import Loops


@pytest.fixture(scope="module")
def activation(testdata: Path) -> TpJob:
    """A look-up table over 4 planes of 16 x 16 in tiles of 64 x 16."""
    cases = [case for case in nbg_cases(testdata) if case.name == "leaky"]
    if not cases:
        pytest.skip("reference data has no network binary graphs")
    container = read_container(cases[0].path.read_bytes(), "leaky.nb")
    job = next(o for o in container.jobs() if o.type is OperationType.TP)
    return decode_tp(container, job)


def _sized(job: TpJob, width: int, height: int, planes: int) -> TpJob:
    """The job for an image of that size, with loops as the compiler makes them."""
    return replace(
        job,
        input_width=width,
        input_height=height,
        input_planes=planes,
        input_row=width,
        input_plane=width * height,
        window_x_end=width - 1,
        window_y_end=height - 1,
        increments=(0, 1, width, 64, 16 * width, 0, width * height),
        counts=(1, 0, 0, -(-width // 64), -(-height // 16), 1),
    )


@pytest.mark.parametrize(
    ("width", "height", "planes"),
    [(16, 16, 4), (32, 24, 4), (100, 50, 8), (65, 17, 1), (128, 32, 2), (640, 480, 3)],
)
def test_an_activation_writes_its_tensor_and_no_byte_more(
    activation: TpJob, width: int, height: int, planes: int
) -> None:
    """Tiles at the right and lower edge are smaller than the others."""
    job = _sized(activation, width, height, planes)
    assert tp_output(job) == (0, width * height * planes)


def test_a_pool_of_three_tiles_in_each_direction(activation: TpJob) -> None:
    """Maximum of 3 x 3 with stride 2 over 150 x 90: 74 x 44 values in tiles of 31 x 16."""
    job = replace(
        _sized(activation, 150, 90, 2),
        horizontal=3, horizontal_count=2, vertical=3, vertical_count=2,
        tile_width=63, tile_height=33, tile_x_step=62, tile_y_step=32,
        increments=(0, 1, 74, 31, 16 * 74, 0, 74 * 44), counts=(1, 0, 0, 3, 3, 1),
    )  # fmt: skip
    assert tp_output(job) == (0, 2 * 74 * 44)


def _played(job: TpJob) -> tuple[int, int]:
    """First byte and end, one value after another."""
    tiles = tiles_of(job)
    resets = [bool(job.reset_1), bool(job.reset_2), bool(job.reset_3)]
    loops = Loops(job.increments, (*job.counts, 0), resets)
    found = []
    for _ in range(job.input_planes):
        for rows in tiles.rows:
            for values in tiles.values:
                for _ in range(rows):
                    for _ in range(values):
                        found.append(loops.offset())
                        loops.advance(0)
                    loops.row_done()
                loops.tile_done()
    return (min(found), max(found) + 1) if found else (0, 0)


def test_random_loops(activation: TpJob) -> None:
    source = random.Random(7)
    for _ in range(400):
        width, height = source.randint(1, 12), source.randint(1, 9)
        pool = source.choice([(0, 0), (1, 1), (1, 2), (3, 1), (3, 2)])
        job = replace(
            _sized(activation, width, height, source.randint(1, 3)),
            horizontal=pool[0], horizontal_count=pool[1],
            vertical=pool[0], vertical_count=pool[1],
            tile_width=source.randint(1, 12), tile_height=source.randint(1, 9),
            tile_x_step=source.randint(1, 12), tile_y_step=source.randint(1, 9),
            reset_1=source.randint(0, 1), reset_2=source.randint(0, 1),
            reset_3=source.randint(0, 1),
            increments=tuple(source.randint(-40, 40) for _ in range(7)),
            counts=tuple(source.randint(0, 5) for _ in range(6)),
        )  # fmt: skip
        tiles = tiles_of(job)
        assert steps_of(job, tiles) < 10_000
        assert reach(job, tiles) == _played(job), job
