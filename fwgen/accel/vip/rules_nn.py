"""Rules for jobs of the NN engine (Mesa's etnaviv driver; reference data)."""

from __future__ import annotations

from fwgen.accel.vip import fields
from fwgen.accel.vip.coefficients import nn_reason
from fwgen.accel.vip.extents import Access, nn_input, nn_output
from fwgen.accel.vip.registers import NN_CONFIG, NN_CONFIG_NO_ZDP
from fwgen.accel.vip.rules import Context, access_reason, coefficients
from fwgen.model.nbg.nn import NnJob
from fwgen.model.nbg.records import PatchSource

Nn = Context[NnJob]

_TYPES = {0: "uint8", 2: "int8"}

# What these fields do with other values is not known.
_CONSTANTS = {
    "layer_type": 0,
    "prelu": 0,
    "brick_mode": 0,
    "brick_distance": 0,
    "rounding": 1,
    "border_mode": 0,
    "per_channel": 0,
    "offset_sign_y_high": 0,
}


def rule_types(c: Nn) -> str | None:
    """Kernels, input and output are uint8."""
    for what in ("kernel", "input", "output"):
        number = getattr(c.job, f"{what}_type")
        if number != 0:
            return f"its {what} has type {number} ({_TYPES.get(number, 'unknown')}), not uint8"
    return None


def rule_constants(c: Nn) -> str | None:
    """Layer type, PReLU, bricks, rounding, border mode and per-channel scales have the
    values of reference data.
    """
    for name, expected in _CONSTANTS.items():
        value = getattr(c.job, name)
        if value != expected:
            return f"its {name.replace('_', ' ')} is {value}, only {expected} is known"
    return None


def rule_generation(c: Nn) -> str | None:
    """V8 engines compute the places of output planes, V7 engines read them from the
    coefficients; depthwise convolution exists on V8 only.
    """
    if c.job.no_z_offset != (c.config.generation == 8):
        return f"its planes are placed in another way than on a V{c.config.generation} engine"
    if c.job.depthwise and c.config.generation != 8:
        return "it is a depthwise convolution, which V7 engines lack"
    return None


def rule_pooling(c: Nn) -> str | None:
    """No pooling, maximum of 2x2 with stride 2, or the first pixel of 2x2."""
    if c.job.pooling not in (0, 1, 3):
        return f"its pooling is of the unknown kind {c.job.pooling}"
    if c.job.pooling_size != (c.job.pooling == 0):
        return "it pools over another size than 2x2"
    return None


def rule_size(c: Nn) -> str | None:
    """Kernels are 1x1 to 15x15; no size is 0; rows of memory hold the image's."""
    job = c.job
    if not job.kernel_x or not job.kernel_y or not job.kernel_z:
        return f"its kernel is {job.kernel_x}x{job.kernel_y}x{job.kernel_z}"
    sizes = (job.input_width, job.input_height, job.output_width, job.output_height)
    if not all(sizes) or not job.output_channels:
        return "its input or output has a size of 0"
    if not job.depthwise and not job.kernels_per_core:
        return "it has 0 kernels a core"
    if job.input_height > 1 and job.input_width > job.input_row:
        return f"its input rows have {job.input_row} bytes, their pixels {job.input_width}"
    width, height = job.stored_size()
    if height > 1 and width > job.output_row:
        return f"its output rows have {job.output_row} bytes, their pixels {width}"
    if job.output_channels > 1 and height > job.output_rows:
        return f"its output planes have {job.output_rows} rows of {height}"
    if job.border > 0xFF:
        return f"the value of its border is {job.border}, no uint8"
    return None


def rule_memory(c: Nn) -> str | None:
    """Every byte that is read or written lies in the tensor, pool or SRAM that the patches
    name, or in its ring buffer.
    """
    job, places = c.job, c.places
    accesses = [
        Access(
            "input",
            places[fields.INPUT],
            0,
            nn_input(job),
            job.input_ring * 64,
            places[fields.INPUT_RING_END],
        )
    ]
    output = places[fields.OUTPUT]
    accesses.append(
        Access(
            "output",
            output,
            0,
            nn_output(job),
            job.output_ring * 64,
            places[fields.OUTPUT_RING_END],
        )
    )
    if c.config.generation != 8 and PatchSource.VIP_SRAM in (
        places[fields.INPUT].source,
        output.source,
    ):
        return "it has an address without a patch"
    return access_reason(c, accesses)


def rule_coefficients(c: Nn) -> str | None:
    """Kernel streams and biases lie in their entry and hold exactly the kernels of the job;
    on V7 engines each kernel fills an output plane of its own.
    """
    place = c.places.get(fields.COEFFICIENTS)
    if place is None:
        return "it has no coefficients"
    data = coefficients(c.container, place)
    start = c.container.coefficients[place.index].offset + place.offset
    if (start - c.container.coefficient_block.offset) % 64:
        return "its coefficients are not aligned to 64 bytes"
    config_word = next((w.value for w in c.loads if w.state == NN_CONFIG), 0)
    skipping = not config_word & NN_CONFIG_NO_ZDP
    reason = nn_reason(data, c.job, c.config, zero_skipping=skipping)
    return reason and f"its coefficients are damaged: {reason}"


RULES = (
    rule_types,
    rule_constants,
    rule_generation,
    rule_pooling,
    rule_size,
    rule_memory,
    rule_coefficients,
)
