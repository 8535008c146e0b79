"""Rules for jobs of the TP engine (Mesa's etnaviv driver; reference data)."""

from __future__ import annotations

from fwgen.accel.vip import fields
from fwgen.accel.vip.coefficients import fc_reason, table_reason
from fwgen.accel.vip.extents import Access, tp_input, tp_output
from fwgen.accel.vip.reach import STEP_LIMIT, steps_of, tiles_of
from fwgen.accel.vip.rules import Context, access_reason, coefficients
from fwgen.model.nbg.records import PatchSource
from fwgen.model.nbg.tp import TpJob

Tp = Context[TpJob]

# What these fields do with other values is not known.
_CONSTANTS = {
    "tile_list_in_memory": 0,
    "image_in_memory": 1,
    "to_float": 1,
    "square": 0,
    "non_maximum": 0,
    "multiply": 0,
    "to_integer": 1,
    "tile_list": 0,
    "skip_border": 0,
    "output_in_memory": 1,
    "modes": 0,
    "relu": 0,
    "last": 1,
    "filter_swap": 0,
    "flat": 1,
    "rounding": 1,
    "input_preshift": 0,
    "reorder": 0,
    "reserved": 0,
    "border": 0,
}

_POOLS = {
    # horizontal, taps - 1 and stride bit, and the same vertically
    (0, 0, 0),
    (1, 1, 0),
    (1, 2, 0),
    (3, 1, 0),
    (3, 2, 1),
}


def rule_constants(c: Tp) -> str | None:
    """Types, preshift, reordering, NMS, multiplication and rounding have the values of
    reference data: uint8, none, none, none, none, to even.
    """
    for name, expected in _CONSTANTS.items():
        value = getattr(c.job, name)
        if value != expected and not (name == "multiply" and c.job.is_fully_connected):
            return f"its {name.replace('_', ' ')} is {value}, only {expected} is known"
    return None


def rule_kind(c: Tp) -> str | None:
    """Copies with any geometry, maximum pooling over 2 or 3 pixels with stride 1 or 2,
    look-up tables, and fully connected layers of older compilers.
    """
    job = c.job
    if job.tile_sequence not in (0, 3):
        return f"its tile sequence is {job.tile_sequence}"
    if job.is_fully_connected:
        if (job.input_width, job.input_height) != (1, 1) or job.input_plane != 1:
            return "it is a fully connected layer over an image"
        if job.table:
            return "it is a fully connected layer with a look-up table"
        return None
    across = (job.horizontal, job.horizontal_count, job.horizontal_stride)
    down = (job.vertical, job.vertical_count, job.vertical_stride)
    if across not in _POOLS or down not in _POOLS:
        return f"it pools in the unknown way {across}, {down}"
    if job.table != job.load_table or (job.table and not job.table_in_memory):
        return "it uses a look-up table that it does not load"
    if job.border_mode not in (0, 1):
        return f"its border mode is {job.border_mode}"
    return None


def rule_size(c: Tp) -> str | None:
    """No size is 0; the window holds a pixel; tiles advance; no more output rows, or
    values where the loops do not end with rows, than can be followed (2^23).
    """
    job = c.job
    if not job.input_width or not job.input_height or not job.input_planes:
        return "its input has a size of 0"
    if job.is_fully_connected:
        return None if job.counts[4] else "it has no outputs"
    first_x, first_y, last_x, last_y = job.window()
    if last_x < first_x or last_y < first_y:
        return f"its window ends at {last_x},{last_y} before it starts at {first_x},{first_y}"
    if not all((job.tile_width, job.tile_height, job.tile_x_step, job.tile_y_step)):
        return "its tiles have a size of 0"
    steps = steps_of(job, tiles_of(job))
    if steps > STEP_LIMIT:
        return f"its output loops take {steps} steps, at most {STEP_LIMIT} are followed"
    return None


def rule_memory(c: Tp) -> str | None:
    """Every byte that is read or written lies in the tensor, pool or SRAM that the patches
    name, or in its ring buffer.
    """
    job, places = c.job, c.places
    if c.config.generation != 8 and PatchSource.VIP_SRAM in (
        places[fields.TP_INPUT].source,
        places[fields.TP_OUTPUT].source,
    ):
        return "it has an address without a patch"
    accesses = (
        Access(
            "input",
            places[fields.TP_INPUT],
            *tp_input(job),
            job.input_ring * 64,
            places[fields.TP_INPUT_RING_END],
        ),
        Access(
            "output",
            places[fields.TP_OUTPUT],
            *tp_output(job),
            job.output_ring * 64,
            places[fields.TP_OUTPUT_RING_END],
            exact=False,
        ),
    )
    return access_reason(c, accesses)


def rule_table(c: Tp) -> str | None:
    """Look-up tables and coefficients lie in their entry."""
    job = c.job
    if not job.table and not job.is_fully_connected:
        return None
    place = c.places.get(fields.TP_TABLE)
    if place is None:
        return "its look-up table or coefficients have no address"
    data = coefficients(c.container, place)
    if job.is_fully_connected:
        reason = fc_reason(data, job.input_planes, job.counts[4])
        return reason and f"its coefficients are damaged: {reason}"
    return table_reason(data)


RULES = (rule_constants, rule_kind, rule_size, rule_memory, rule_table)
