"""Which bytes the output loops of a TP job reach, followed step by step.

A job writes tile by tile, and the last tiles of a row or column are smaller than the
others, so that the largest value of each loop counter says too little: only together
do they stay inside the tensor. What the loops do: reference data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fwgen.model.nbg.tp import TpJob

Ints = npt.NDArray[np.int64]

STEP_LIMIT = 1 << 23
"""Steps that are followed; jobs of graphs have thousands."""

_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tiles of a job's window, the same for each plane of the input.

    Attributes:
        rows: output rows of a tile, from top to bottom.
        values: output values in a row of a tile, from left to right.
    """

    rows: tuple[int, ...]
    values: tuple[int, ...]


def _outputs(extent: int, tile: int, step: int, taps: int, stride: int) -> tuple[int, ...]:
    """Output values of the tiles along one direction."""
    found = []
    for start in range(0, extent, step):
        size = min(tile, extent - start)
        if start and size < taps:
            break
        found.append((size - taps) // stride + 1 if size >= taps else 0)
    return tuple(found)


def tiles_of(job: TpJob) -> Tiles:
    """The tiles of a job that is no fully connected layer."""
    first_x, first_y, last_x, last_y = job.window()
    taps_x = job.horizontal_count + 1 if job.horizontal else 1
    taps_y = job.vertical_count + 1 if job.vertical else 1
    stride_x, stride_y = (2 if kind == 3 else 1 for kind in (job.horizontal, job.vertical))
    return Tiles(
        _outputs(last_y - first_y + 1, job.tile_height, job.tile_y_step, taps_y, stride_y),
        _outputs(last_x - first_x + 1, job.tile_width, job.tile_x_step, taps_x, stride_x),
    )


def steps_of(job: TpJob, tiles: Tiles) -> int:
    """Steps that `reach` follows: output rows, or values where rows end no loop."""
    if job.reset_1:
        return job.input_planes * sum(tiles.rows) * len(tiles.values)
    return job.input_planes * sum(tiles.rows) * sum(tiles.values)


def _turn(events: Ints, count: int) -> tuple[Ints, Ints]:
    """A loop's counter after so many events, and the events that it passes on."""
    if not count:  # never full
        return events, np.zeros_like(events)
    return events % count, events // count


def _row_reach(job: TpJob, values: int) -> tuple[int, int]:
    """Lowest and highest offset in an output row whose end resets loops 0 and 1."""
    if not values:
        return 0, 0
    inner, outer = _turn(np.arange(values), job.counts[0])
    offsets = inner * job.increments[0] + outer * job.increments[1]
    return int(offsets.min()), int(offsets.max())


def reach(job: TpJob, tiles: Tiles) -> tuple[int, int]:
    """First byte and end of what a job writes, from its output address.

    The job must not have more than STEP_LIMIT steps.
    """
    if job.reset_1:
        widths = (1,) * len(tiles.values)
        rows = np.array([_row_reach(job, v) for v in tiles.values], np.int64)
        writes = np.array(tiles.values) > 0
    else:
        widths = tiles.values
        rows = np.zeros((len(widths), 2), np.int64)
        writes = np.ones(len(widths), np.bool_)
    ends = np.cumsum(np.outer(tiles.rows, widths).ravel())
    starts = np.concatenate(([0], ends[:-1]))
    per_plane = int(ends[-1])
    low, high = 0, -1
    for first in range(0, job.input_planes * per_plane, _CHUNK):
        step = np.arange(first, min(first + _CHUNK, job.input_planes * per_plane))
        plane, inside = np.divmod(step, per_plane)
        tile = np.searchsorted(ends, inside, side="right")
        column = tile % len(widths)
        offsets = _loops(job, step, step - inside + starts[tile], plane * len(ends) + tile)
        offsets, column = offsets[writes[column]], column[writes[column]]
        if not offsets.size:
            continue
        if high < low:
            low, high = int(offsets[0]), int(offsets[0])
        low = min(low, int((offsets + rows[column, 0]).min()))
        high = max(high, int((offsets + rows[column, 1]).max()))
    return (low, high + 1) if high >= low else (0, 0)


def _loops(job: TpJob, step: Ints, start: Ints, tile: Ints) -> Ints:
    """What the loops add to the output address.

    Args:
        step: number of the row or value.
        start: that of the first one in the same tile.
        tile: tiles before this one; each ends a loop where the job says so.
    """
    counts, increments = job.counts, job.increments
    offsets = np.zeros_like(step)
    events, before = step, start
    if not job.reset_1:
        for loop in (0, 1):
            counter, events = _turn(events, counts[loop])
            _, before = _turn(before, counts[loop])
            offsets += counter * increments[loop]
    for loop, is_reset in ((2, job.reset_2), (3, job.reset_3)):
        if is_reset:
            offsets += (events - before) * increments[loop]
            events = before = tile
        else:
            counter, events = _turn(events, counts[loop])
            _, before = _turn(before, counts[loop])
            offsets += counter * increments[loop]
    for loop in (4, 5):
        counter, events = _turn(events, counts[loop])
        offsets += counter * increments[loop]
    return offsets + events * increments[6]
