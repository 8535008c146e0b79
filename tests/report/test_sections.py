"""The drawings of the page as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fwgen.accel.protocol import Peak
from fwgen.accel.registry import family
from fwgen.profile import OperationTime, Profile
from fwgen.report import chart
from fwgen.report.lifetimes import lifetimes_section
from fwgen.report.memory import memory_section
from fwgen.report.roofline import points, roofline_section
from fwgen.report.sizes import placement_section, size_section, stack_section
from fwgen.report.timeline import timeline_section

KIB = 1024


def _memory() -> dict[str, Any]:
    arena = {"region": "ram", "base": 0x20000C00, "size": KIB, "lower_bound": 768}
    buffer = {"model": "m", "region": "ram", "load_region": None, "origin": ""}
    return {
        "regions": [
            {"name": "flash", "base": 0, "size": 16 * KIB, "use": ["code"]},
            {"name": "ram", "base": 0x20000000, "size": 4 * KIB, "use": ["tensors"]},
        ],
        "sections": [
            {"name": ".text", "address": 0, "load_address": 0, "size": KIB},
            {"name": ".data", "address": 0x20000000, "load_address": KIB, "size": 256},
            {"name": ".ram_tensors", "address": 0x20000C00, "load_address": None, "size": KIB},
        ],
        "arenas": [{**arena, "kind": "tensors"}],
        "buffers": [
            {
                **buffer,
                "name": "a",
                "role": "input",
                "address": 0x20000C00,
                "size": 500,
                "reserved": 512,
                "first_step": -1,
                "last_step": 2,
            },
            {
                **buffer,
                "name": "b",
                "role": "internal",
                "address": 0x20000E00,
                "size": 256,
                "reserved": 256,
                "first_step": 0,
                "last_step": 0,
            },
        ],
    }


def test_regions_are_drawn_to_scale() -> None:
    flash, ram = memory_section(_memory()).charts
    whole, text, contents = flash.boxes[:3]
    assert (text.kind, contents.kind) == ("code", "data")
    assert text.width == pytest.approx(whole.width / 16, abs=0.01)
    assert contents.x == pytest.approx(whole.x + whole.width / 16, abs=0.01)
    assert contents.width == pytest.approx(whole.width / 64, abs=0.01)
    assert "1.2 KiB used (7.8 %)" in flash.title
    tensors = next(b for b in ram.boxes if b.kind == "tensors")
    assert tensors.x == pytest.approx(whole.x + whole.width * 3 / 4, abs=0.01)
    assert "31.2 %" in ram.title


def test_the_enlarged_bar_leaves_free_memory_out() -> None:
    flash, ram = memory_section(_memory()).charts
    # 1280 bytes over the whole width, in flash; .data and the arena side by side in RAM.
    assert flash.boxes[4].width == pytest.approx(flash.boxes[0].width * 1024 / 1280, abs=0.1)
    lower = [b for b in ram.boxes if b.y > 60 and b.kind != "free"]
    assert [b.kind for b in lower] == ["data", "tensors"]
    assert lower[1].width == pytest.approx(4 * lower[0].width, abs=0.1)
    assert len([line for line in ram.lines if line.kind == "zoom"]) == 4


def test_buffers_are_rectangles_of_step_and_address() -> None:
    section = lifetimes_section(_memory(), {"m": 2})
    (drawing,) = section.charts
    a, b = drawing.boxes
    assert a.width == pytest.approx(4 * b.width, abs=0.1)  # steps -1..2 and 0..0
    assert a.height == pytest.approx(2 * b.height, abs=0.1)
    assert b.x == pytest.approx(a.x + b.width, abs=0.1)
    assert b.y + b.height == pytest.approx(a.y, abs=0.1)  # right above it
    (bound,) = [line for line in drawing.lines if line.kind == "bound"]
    assert bound.y1 == pytest.approx(b.y, abs=0.1)
    assert section.notes == (
        "ram: 1\u202f024 bytes, lower bound 768: 256 B (33.3 %) above the bound.",
    )


def _operation(
    index: int, unit: str, start: int, end: int, macs: int, traffic: int
) -> OperationTime:
    return OperationTime(
        index, unit, f"op{index}", "what", 0, 0, start, end, macs, traffic, 0, None, None, None
    )


def _profile(*operations: OperationTime) -> Profile:
    return Profile(
        "m", "dla0", "nvdla", "nv_small", 1_000_000, 1_000_000, 400, 300, 40.0, operations, ()
    )


def test_a_layer_under_the_roof() -> None:
    conv = _operation(0, "CONV", 0, 100, 3200, 60)
    sdp = _operation(1, "SDP", 0, 101, 0, 40)
    pool = _operation(2, "PDP", 110, 120, 0, 1000)
    (point,) = points(_profile(conv, sdp, pool), Peak(64, 1.0, "test"))
    assert point.intensity == 32  # 3200 / (60 + 40)
    assert point.rate == 32
    assert point.roof == 32 and point.bound == "memory"
    (point,) = points(_profile(conv, sdp), Peak(64, 8.0, "test"))
    assert point.roof == 64 and point.bound == "multipliers"


def test_the_roof_of_nv_small() -> None:
    """8x8 multipliers; 1 GB/s at 1 GHz in NVIDIA's table, which reckons KiB."""
    peak = family("nvdla").peak("nv_small")
    assert peak is not None
    assert (peak.macs, peak.bytes_per_cycle) == (64, 1.024)


@pytest.mark.parametrize(
    ("config", "tops", "hertz"),
    [("vip_pid0x82", 3.0e12, 800e6), ("vip8000nanosi_plus_pid0x9f", 2.3e12, 1000e6)],
)
def test_the_roof_of_vips_is_that_of_the_data_sheets(
    config: str, tops: float, hertz: float
) -> None:
    """RK1808 and i.MX 8M Plus; a multiplication and an addition are two operations."""
    peak = family("vip").peak(config)
    assert peak is not None
    assert peak.macs * 2 * hertz == pytest.approx(tops, rel=0.03)


def test_without_peak_or_run_the_page_says_so() -> None:
    assert "fwgen run" in roofline_section(None, None).missing
    assert "fwgen run" in timeline_section(None).missing
    assert "No peak rates" in roofline_section(_profile(), None).missing
    assert "No accelerator" in roofline_section(_profile(), Peak(64, 1.0, "test")).missing


def test_lanes_of_units_groups_cpu_and_traffic() -> None:
    conv = _operation(0, "CONV", 0, 100, 3200, 100)
    second = replace(_operation(1, "CONV", 150, 250, 3200, 300), group=1)
    (drawing,) = timeline_section(_profile(conv, second)).charts
    lanes = [label.text for label in drawing.labels if label.kind == "lane"]
    assert lanes == ["CONV 0", "CONV 1", "CPU", "DMA"]
    units = [b for b in drawing.boxes if b.kind == "unit-conv"]
    assert units[0].width == units[1].width
    # 40 µs before, 50 between, 110 after: the CPU alone.
    cpu = [b for b in drawing.boxes if b.kind == "unit-cpu"]
    per = units[0].width / 100
    assert [b.width / per for b in cpu] == pytest.approx([40, 50, 110], rel=0.01)
    traffic = [b for b in drawing.boxes if b.kind == "traffic"]
    assert traffic[1].height == pytest.approx(3 * traffic[0].height, rel=0.01)
    assert [b.op for b in units] == ["0", "1"]


def test_kernels_of_the_cpu_follow_each_other() -> None:
    first = OperationTime(0, "CONV", "a", "", 0, None, None, None, 1, 1, 1, 300, 300, 0.75)
    second = replace(first, index=1, name="b", ticks=100)
    profile = replace(_profile(first, second), start_ticks=None, clock_hz=None, busy_cycles=None)
    (drawing,) = timeline_section(profile).charts
    a, b = drawing.boxes
    assert a.kind == b.kind == "unit-cpu"
    assert a.width == pytest.approx(3 * b.width, abs=0.1)
    assert b.x == pytest.approx(a.x + a.width, abs=0.1)


def test_a_kernel_between_layers_lies_in_its_turn() -> None:
    conv = replace(_operation(0, "CONV", 0, 100, 3200, 100), ticks=150)
    softmax = OperationTime(1, "CPU", "softmax", "", 1, None, None, None, 0, 9, 9, 200, 200, 0.5)
    (drawing,) = timeline_section(_profile(conv, softmax)).charts
    layer = next(b for b in drawing.boxes if b.kind == "unit-conv")
    (kernel,) = [b for b in drawing.boxes if b.op == "1"]
    assert kernel.kind == "unit-cpu" and "200 µs on the CPU" in kernel.tip
    assert kernel.width == pytest.approx(2 * layer.width, abs=0.1)
    # The layer started 40 ticks after the beginning, the kernel's turn after 150.
    assert kernel.x - layer.x == pytest.approx(1.1 * layer.width, abs=0.1)


def test_sizes_stacks_and_placement() -> None:
    component = {"name": "kernel", "text": 300, "data": 100, "bss": 200, "total": 600}
    weights = {"name": "weights", "text": 6000, "data": 0, "bss": 0, "total": 6000}
    size: dict[str, Any] = {
        "components": [component, weights],
        "stack": {
            "tasks": [{"entry": "engine_task", "bytes": 500, "path": ["a", "b"]}],
            "main": 250,
        },
        "placement": [
            {
                "model": "m",
                "buffers": [{"region": "ram", "constants": 1, "tensors": 2}],
                "copied_at_boot": 3,
                "second_banks": 4,
            }
        ],
    }
    small, everything = size_section(size).charts
    text, data, bss = small.boxes
    assert (text.width, bss.width) == (pytest.approx(3 * data.width, abs=0.1), 2 * data.width)
    assert everything.boxes[0].width < text.width
    drawing = stack_section(size, {"engine_task": 1000}).charts[0]
    reserved, used, main = drawing.boxes
    assert reserved.width == pytest.approx(2 * used.width, abs=0.1)
    assert main.width == pytest.approx(used.width / 2, abs=0.1)
    section = placement_section(size)
    assert section.tables[0].rows == (("m", "ram", "1", "2"),)
    assert "3 bytes of constants are copied" in section.notes[0]


def test_round_numbers() -> None:
    assert chart.ticks(22_022) == (0, 5000, 10_000, 15_000, 20_000)
    assert chart.ticks(0) == (0,)
    assert chart.ticks(0.8) == pytest.approx((0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8))
    assert chart.address_ticks(1000) == (0, 256, 512, 768)
    assert chart.number(1234567) == "1\u202f234\u202f567"
    assert chart.number(0.001) == "0.001"
    assert chart.bytes_text(1536) == "1.5 KiB"
    assert chart.fitting("a long name", 60) == "a long …"
    assert chart.fitting("a long name", 30) == ""
