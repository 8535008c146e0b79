"""Which bytes a job touches, as offsets from its first pixel, and whether they are its own.

The engines add what their descriptor says to the address of pixel (0, 0). With a ring
buffer an address beyond its end goes on at its start (reference data), so that what
counts is the ring's own range.
"""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.accel.vip.fields import Place
from fwgen.accel.vip.reach import reach, tiles_of
from fwgen.model.nbg.nn import NnJob
from fwgen.model.nbg.tp import TpJob

NO_RING_END = 0x3FFFFFF


@dataclass(frozen=True, slots=True)
class Access:
    """Bytes that a job reads or writes.

    Attributes:
        what: "input" or "output".
        start: where pixel (0, 0) of the first plane is.
        low, high: first byte and end, from there; low may be negative.
        ring: bytes of the ring buffer, 0 for none.
        ring_end: the first byte behind the ring.
        exact: whether the range may not be longer than its ring; loops may skip bytes of it.
    """

    what: str
    start: Place
    low: int
    high: int
    ring: int = 0
    ring_end: Place | None = None
    exact: bool = True

    def reason(self, size: int, tensor: int | None = None) -> str | None:
        """Why the access leaves its memory; None if it does not.

        Args:
            size: bytes of the memory.
            tensor: bytes of the input or output that lies in it; what is left behind
                them is for the ends of rings.
        """
        first, end = self.start.offset + self.low, self.start.offset + self.high
        where = self.start.describe()
        if self.ring:
            assert self.ring_end is not None
            ring_end = self.ring_end
            if (ring_end.source, ring_end.index) != (self.start.source, self.start.index):
                return f"the {self.what} at {where} has a ring in {ring_end.describe()}"
            if not self.ring <= ring_end.offset <= size:
                return (
                    f"the ring of the {self.what}, {self.ring} bytes before "
                    f"{ring_end.describe()}, leaves its {size} bytes"
                )
            # What lies behind the end goes round, but no place is that far away.
            if not ring_end.offset - self.ring <= first <= ring_end.offset + size:
                return f"the {self.what} at {where} begins outside its ring"
            if self.exact and end - first > self.ring:
                return f"the {self.what} at {where} has {end - first} bytes, its ring {self.ring}"
        elif first < 0 or end > size:
            return (
                f"the {self.what} at {where} covers bytes {first:#x} to {end:#x} "
                f"of a memory of {size:#x}"
            )
        if tensor is not None and end > tensor:
            return f"the {self.what} at {where} ends at byte {end:#x} of a tensor of {tensor:#x}"
        return None


def _span(planes: int, rows: int, columns: int, plane: int, row: int) -> int:
    """End of the last pixel, from the first one."""
    return (planes - 1) * plane + (rows - 1) * row + columns


def nn_input(job: NnJob) -> int:
    """Bytes from the first to behind the last pixel that a convolution reads."""
    planes = job.output_channels if job.depthwise else job.kernel_z
    return _span(
        planes, job.input_height, job.input_width, job.input_rows * job.input_row, job.input_row
    )


def nn_output(job: NnJob) -> int:
    """Bytes from the first to behind the last pixel that a V8 convolution writes."""
    width, height = job.stored_size()
    return _span(
        job.output_channels, height, width, job.output_rows * job.output_row, job.output_row
    )


def tp_input(job: TpJob) -> tuple[int, int]:
    """First byte and end of what a TP job reads, from image pixel (0, 0)."""
    if job.is_fully_connected:
        return 0, job.input_planes
    first_x, first_y, last_x, last_y = job.window()
    low_x, high_x = max(first_x, 0), min(last_x, job.input_width - 1)
    low_y, high_y = max(first_y, 0), min(last_y, job.input_height - 1)
    if job.border_mode:  # the nearest pixel of the image stands for what is outside
        low_x, low_y = min(low_x, job.input_width - 1), min(low_y, job.input_height - 1)
        high_x, high_y = max(high_x, 0), max(high_y, 0)
    if low_x > high_x or low_y > high_y:
        return 0, 0
    last = (job.input_planes - 1) * job.input_plane + high_y * job.input_row + high_x
    return low_y * job.input_row + low_x, last + 1


def tp_output(job: TpJob) -> tuple[int, int]:
    """First byte and end of what a TP job writes, from its output address."""
    if job.is_fully_connected:
        last = (job.counts[4] - 1) * job.increments[4]
        return min(last, 0), max(last, 0) + 1
    return reach(job, tiles_of(job))
