"""Registers, command stream, events, SRAM windows and faults of the emulated VIP.

Jobs are copies of 32 bytes on the TP engine; expected behaviour is that of the etnaviv
headers and the Linux driver, or a guest error that names what is wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fwgen.accel.vip.configurations import CONFIGURATIONS
from fwgen.errors import UsageError
from fwgen.machine.model_library import EmulatedAccelerator

from .vip_device import (
    AXI_BASE,
    B5,
    BASE,
    COMMANDS,
    DESCRIPTOR,
    END,
    EVENT,
    SOURCE,
    TARGET,
    Vip,
    event,
    load,
    tp_job,
)

DONE = 1 << EVENT
AXI_ERROR = 1 << 31
IDLE = 0x7FFFFFFF
COPY = tp_job()  # 8 x 4 bytes from SOURCE to TARGET
JOB = load(0x10B8, DESCRIPTOR)
WINDOW = 0x400000
NOP, STALL, LINK, CALL, RETURN, WAIT = (op << 27 for op in (3, 9, 8, 10, 11, 7))


@pytest.fixture
def make_vip(model_library: Path) -> Iterator[Callable[..., Vip]]:
    made: list[Vip] = []

    def make(config: str = B5) -> Vip:
        made.append(Vip(model_library, config))
        made[-1].put(SOURCE, bytes(range(1, 33)))
        made[-1].put_words(DESCRIPTOR, COPY.words())
        return made[-1]

    yield make
    for vip in made:
        vip.accelerator.close()


@pytest.fixture
def vip(make_vip: Callable[..., Vip]) -> Vip:
    """A B5 with COPY at DESCRIPTOR."""
    return make_vip()


def copied(vip: Vip) -> bool:
    return vip.view(TARGET, 32).tolist() == list(range(1, 33))


def fails(vip: Vip, words: list[int], text: str, units: int | None = None) -> None:
    """The stream ends with an error that says `text`; a reset and a job help."""
    assert vip.run(words, units) == AXI_ERROR
    assert text in vip.errors()[-1], vip.errors()
    assert vip.read("HI.IDLE_STATE") & 1 == 0
    reset(vip)
    assert vip.run([*JOB, *event(), *END]) == DONE
    assert copied(vip)


def reset(vip: Vip) -> None:
    """As the Linux driver does it."""
    clock = vip.read("HI.CLOCK_CONTROL")
    vip.write("HI.CLOCK_CONTROL", clock | 1 << 19)
    vip.write("HI.CLOCK_CONTROL", clock | 1 << 19 | 1 << 12)
    vip.write("HI.CLOCK_CONTROL", clock | 1 << 19)
    vip.write("HI.CLOCK_CONTROL", clock)
    assert vip.read("HI.IDLE_STATE") == IDLE
    assert vip.read("HI.CLOCK_CONTROL") & 0x30000 == 0x30000
    vip.write("HI.INTR_ENBL", 0xFFFFFFFF)


# ---- registers ----


@pytest.mark.parametrize("name", [n for n, c in CONFIGURATIONS.items() if c.target != 0x99])
def test_identity(make_vip: Callable[..., Vip], name: str) -> None:
    facts, vip = CONFIGURATIONS[name], make_vip(name)
    assert vip.read("HI.CHIP_MODEL") == facts.model
    assert vip.read("HI.CHIP_REV") == (facts.revision or 0)
    assert vip.read("HI.CHIP_CUSTOMER_ID") == facts.target
    assert vip.read("HI.CHIP_PRODUCT_ID") == (facts.product or 0)
    assert vip.read("HI.CHIP_ECO_ID") == (facts.eco or 0)
    assert vip.errors() == []


def test_unknown_configuration(model_library: Path) -> None:
    with pytest.raises(UsageError, match="vip has no configuration 'vip9000'.* vip_pid0x88"):
        EmulatedAccelerator(model_library, "vip", "vip9000")


def test_reset_values(vip: Vip) -> None:
    assert vip.read("HI.CLOCK_CONTROL") == 0x70900
    assert vip.read("HI.IDLE_STATE") == IDLE
    assert vip.read("HI.INTR_ACKNOWLEDGE") == 0


def test_registers_that_do_not_exist(vip: Vip) -> None:
    assert vip.accelerator.read32(0x1C) == 0
    vip.accelerator.write32(0x3FFC, 5)
    assert vip.errors() == [
        "read of offset 0x01c: no such register",
        "write of 0x00000005 to offset 0x3ffc: no such register",
    ]


def test_read_only_registers(vip: Vip) -> None:
    vip.write("HI.INTR_ACKNOWLEDGE", 1)
    assert vip.errors() == ["write of 0x00000001 to HI.INTR_ACKNOWLEDGE: read only"]


def test_the_mmu_is_refused(vip: Vip) -> None:
    vip.write("MMU.SEC_CONTROL", 0)
    assert vip.errors() == []
    vip.write("MMU.SEC_CONTROL", 1)
    vip.write("MMU.CONTROL", 1)
    assert [e.split(": ")[1] for e in vip.errors()] == ["the MMU is not modelled"] * 2


def test_clock_scale_takes_the_load_bit(vip: Vip) -> None:
    vip.write("HI.CLOCK_CONTROL", 1 << 2)
    assert vip.read("HI.CLOCK_CONTROL") & 0x1FC == 64 << 2
    vip.write("HI.CLOCK_CONTROL", 1 << 2 | 1 << 9)
    assert vip.read("HI.CLOCK_CONTROL") & 0x3FC == 1 << 2


@pytest.mark.parametrize(
    ("clock", "text"), [(1 << 19 | 0x100, "isolates"), (1 << 9, "clock scale")]
)
def test_start_wants_a_clock(vip: Vip, clock: int, text: str) -> None:
    vip.write("HI.CLOCK_CONTROL", clock)
    vip.start([*JOB, *event(), *END])
    assert text in vip.errors()[0]
    assert vip.accelerator.next_event() is None


def test_writes_while_reset_is_held_are_dropped(vip: Vip) -> None:
    vip.write("HI.CLOCK_CONTROL", 0x1900)
    vip.write("HI.INTR_ENBL", 7)
    assert "SOFT_RESET is 1, the value is dropped" in vip.errors()[0]
    vip.write("HI.CLOCK_CONTROL", 0x900)
    assert vip.read("HI.INTR_ENBL") == 0


@pytest.mark.parametrize("name", ["HI.CLOCK_CONTROL", "MMU.AHB_CONTROL"])
def test_reset_ends_what_runs(vip: Vip, name: str) -> None:
    vip.start([*JOB, *event(), *END])
    vip.accelerator.advance(5)
    assert vip.read("HI.IDLE_STATE") == IDLE & ~1 & ~(1 << 18)
    if name == "MMU.AHB_CONTROL":
        vip.write(name, 3)
        assert vip.read(name) == 2
    else:
        reset(vip)
    assert vip.read("HI.IDLE_STATE") == IDLE
    assert vip.accelerator.next_event() is None
    assert not copied(vip)


def test_the_front_end_starts_once(vip: Vip) -> None:
    """FE.COMMAND_CONTROL latches; SEC_COMMAND_CONTROL starts; twice is an error."""
    vip.put_words(COMMANDS, [*JOB, *event(), *END])
    vip.write("FE.COMMAND_ADDRESS", COMMANDS)
    vip.write("FE.COMMAND_CONTROL", 0x10003)
    assert vip.accelerator.next_event() is None
    vip.write("MMU.SEC_COMMAND_CONTROL", 3)
    assert vip.accelerator.next_event() is None
    vip.write("MMU.SEC_COMMAND_CONTROL", 0x10003)
    vip.write("MMU.SEC_COMMAND_CONTROL", 0x10003)
    assert "the front end is running; nothing is started" in vip.errors()[0]
    vip.accelerator.run()
    assert vip.read("HI.INTR_ACKNOWLEDGE") == DONE
    assert len(vip.operations()) == 1


# ---- interrupts ----


def test_reading_acknowledges(vip: Vip) -> None:
    vip.write("HI.INTR_ENBL", 1 << EVENT)
    vip.start([*event(3), *event(), *event(29), *END])
    vip.accelerator.run()
    assert vip.accelerator.irq
    assert vip.read("HI.INTR_ACKNOWLEDGE") == 1 << 3 | DONE | 1 << 29
    assert not vip.accelerator.irq
    assert vip.read("HI.INTR_ACKNOWLEDGE") == 0
    assert vip.accelerator.irq_count == 1


def test_enable_masks_the_line_only(vip: Vip) -> None:
    vip.write("HI.INTR_ENBL", 0)
    vip.start([*event(), *END])
    vip.accelerator.run()
    assert not vip.accelerator.irq
    vip.write("HI.INTR_ENBL", DONE)
    assert vip.accelerator.irq
    assert vip.read("HI.INTR_ACKNOWLEDGE") == DONE


def test_end_can_raise_an_event(vip: Vip) -> None:
    assert vip.run([END[0] | 0x100 | 7, 0]) == 1 << 7


@pytest.mark.parametrize("value", [5, 0x40 | 30, 0x60 | 5])
def test_events_without_number_or_source(vip: Vip, value: int) -> None:
    assert vip.run([*load(0x3804, value), *END]) == 0
    assert "GL.EVENT" in vip.errors()[0]


def test_the_event_follows_the_job(vip: Vip) -> None:
    vip.start([*JOB, *event(), *END])
    vip.accelerator.advance(50)
    assert not vip.accelerator.irq
    vip.accelerator.advance(1000)
    assert vip.accelerator.irq
    assert copied(vip)


# ---- commands ----


def test_every_command(vip: Vip) -> None:
    sub, back, last = COMMANDS + 0x400, COMMANDS + 0x200, COMMANDS + 0x300
    vip.put_words(sub, [*JOB, RETURN, 0])
    vip.put_words(back, [WAIT | 100, 0, LINK | 3, last])
    vip.put_words(last, [*event(), 13 << 27 | 1, 0, *END])
    words = [
        NOP, 0, *load(0x384C, 2), *load(0x380C, 0xC23), *load(0x3808, 0x0701), STALL, 0x0701,
        CALL | 2, sub, 2, back,
    ]  # fmt: skip
    assert vip.run(words) == DONE
    assert vip.errors() == []
    assert copied(vip)


def test_several_states_in_one_command(vip: Vip) -> None:
    """Three states end on a 64-bit boundary, two are padded; a job may be among them."""
    words = [
        *load(0x3938, WINDOW, 0, 0),
        *[0x08000000 | 2 << 16 | 0x10B8 >> 2, DESCRIPTOR, 5, 0xDEADBEEF],
        *event(),
        *END,
    ]
    assert vip.run(words) == DONE
    assert copied(vip)
    # The state behind the job is reached after it.
    assert vip.errors() == ["FE: write of 0x00000005 to state 0x010bc: not known, dropped"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([0xD8000000, 0], "command 0xd8000000 at 0x10000000: operation 27 is unknown"),
        ([0, 0], "operation 0 is unknown"),
        ([15 << 27, 0], "operation 15 is unknown or not modelled"),
        ([0x0C010428, 0], "fixed point"),
        ([LINK | 1, COMMANDS + 4], "commands start at multiples of 8"),
        ([LINK, COMMANDS], "fetches 0 units"),
        ([LINK | 1, 0x30000000], "command at 0x30000000 is outside the memory"),
        ([RETURN, 0], "RETURN without a CALL"),
        ([CALL | 4, COMMANDS, 4, COMMANDS], "CALL within a CALL"),
        ([STALL, 0x0701], "waits for a semaphore that nobody sends"),
        ([STALL, 0x0107], "no such pair"),
        ([*load(0x3808, 0x0909)], "no such pair"),
        ([13 << 27 | 2, 0], "there is one core"),
        ([NOP, 0], "no END or LINK within the fetched commands"),
        ([*load(0x0920, 0xBADABEEB)], "starts a shader job"),
        ([*load(0x3938, 0xFFFFF000)], "does not fit"),
        ([*load(0x10B8, 0x30000000)], "descriptor at 0x30000000 is outside the memory"),
        ([*load(0x10A0, 0x30000000)], "NN job: descriptor"),
        ([*load(0x10A0, SOURCE + 0x8000)], "NN job at 0x10028000 failed"),
    ],
)
def test_what_stops_the_front_end(vip: Vip, words: list[int], text: str) -> None:
    fails(vip, words, text)


def test_a_circle_without_jobs_is_ended(vip: Vip) -> None:
    fails(vip, [WAIT | 10, 0, LINK | 2, COMMANDS], "65536 commands without a job")


def test_a_circle_of_jobs_is_ended(vip: Vip) -> None:
    vip.put_words(DESCRIPTOR, tp_job(width=1, height=1).words())
    assert vip.run([*JOB, LINK | 2, COMMANDS]) == AXI_ERROR
    assert "more than 16384 jobs in one run" in vip.errors()[-1]


def test_commands_may_not_lie_in_the_vip_sram(vip: Vip) -> None:
    fails(vip, [*load(0x3938, WINDOW), LINK | 1, WINDOW], "lies in the VIP SRAM")


def test_unknown_states_are_dropped(vip: Vip) -> None:
    assert vip.run([*load(0x0A2C, 5), *load(0x384C, 0), *JOB, *event(), *END]) == DONE
    assert vip.errors() == [
        "FE: write of 0x00000005 to state 0x00a2c: not known, dropped",
        "FE: GL.API_MODE = 0: only 2 (CL) is modelled",
    ]


def test_a_stuck_front_end_wants_a_reset(vip: Vip) -> None:
    vip.run([0, 0])
    vip.start([*event(), *END])
    assert "wants a reset" in vip.errors()[-1]


def test_where_the_front_end_stopped(vip: Vip) -> None:
    vip.run([NOP, 0, 0x20000000, 0x12345678, NOP, 0])
    assert vip.read("FE.DMA_ADDRESS") == COMMANDS + 16
    assert (vip.read("FE.DMA_LOW"), vip.read("FE.DMA_HIGH")) == (0x20000000, 0x12345678)
    assert vip.read("FE.DMA_DEBUG_STATE") != 0


# ---- memory ----


def through(vip: Vip, address: int, *before: int) -> int:
    """Copy to `address` and from there to TARGET; the interrupts."""
    vip.put_words(DESCRIPTOR, replace(COPY, target=address).words())
    vip.put_words(DESCRIPTOR + 64 * 3, replace(COPY, source=address).words())
    return vip.run([*before, *JOB, *load(0x10B8, DESCRIPTOR + 64 * 3), *event(), *END])


@pytest.mark.parametrize(
    ("config", "size"),
    [(B5, 0x40000), ("vip8000nanosi_plus_pid0x9f", 0x40000), ("vip_pid0x88", 0x80000),
     ("vip_pid0x82", 0x80000), ("vip8000nanosi_plus_pid0xb9", 0x80000)],
)  # fmt: skip
def test_vip_sram_window(make_vip: Callable[..., Vip], config: str, size: int) -> None:
    vip = make_vip(config)
    assert through(vip, WINDOW + size - 32, *load(0x3938, WINDOW)) == DONE
    assert copied(vip)
    vip.put_words(DESCRIPTOR, replace(COPY, source=WINDOW + size - 31).words())
    assert vip.run([*load(0x3938, WINDOW), *JOB, *event(), *END]) == AXI_ERROR
    assert "read of 8 bytes" in vip.errors()[0]
    assert "crosses the edge of the VIP SRAM" in vip.errors()[0]
    assert vip.read("HI.AXI_STATUS") == 0x200


def test_a_range_that_runs_into_the_window(vip: Vip) -> None:
    vip.put_words(DESCRIPTOR, replace(COPY, source=BASE + 0x80000 - 4).words())
    assert vip.run([*load(0x3938, BASE + 0x80000), *JOB, *event(), *END]) == AXI_ERROR
    assert "read of 8 bytes at 0x1007fffc crosses the edge" in vip.errors()[0]


def test_no_vip_sram_before_its_window_is_open(vip: Vip) -> None:
    assert through(vip, WINDOW) == AXI_ERROR
    assert "at 0x00400000 is outside the memory" in vip.errors()[0]


def test_the_window_hides_what_is_below(vip: Vip) -> None:
    """With the window over system memory, stores stay inside the NPU."""
    assert through(vip, BASE + 0x80000, *load(0x3938, BASE + 0x80000)) == DONE
    assert copied(vip)
    assert not vip.view(BASE + 0x80000, 32).any()


def test_vip_sram_is_not_cleared(vip: Vip) -> None:
    vip.put_words(DESCRIPTOR, replace(COPY, source=WINDOW).words())
    assert vip.run([*load(0x3938, WINDOW), *JOB, *event(), *END]) == DONE
    assert (vip.view(TARGET, 32) == 0xA5).all()


def test_a_reset_closes_the_window_and_keeps_the_contents(vip: Vip) -> None:
    assert through(vip, WINDOW, *load(0x3938, WINDOW)) == DONE
    reset(vip)
    vip.view(TARGET, 32)[:] = 0
    vip.put_words(DESCRIPTOR, replace(COPY, source=WINDOW).words())
    assert vip.run([*load(0x3938, WINDOW), *JOB, *event(), *END]) == DONE
    assert copied(vip)


def test_axi_sram(vip: Vip) -> None:
    remap = load(0x393C, AXI_BASE, AXI_BASE + 0x1000)
    assert through(vip, AXI_BASE, *remap) == DONE
    assert copied(vip)
    assert vip.axi[:32].tolist() == list(range(1, 33))
    assert through(vip, AXI_BASE) == DONE  # still open
    reset(vip)
    assert through(vip, AXI_BASE) == AXI_ERROR


def test_axi_sram_may_be_system_memory(vip: Vip) -> None:
    at = BASE + 0x80000
    assert through(vip, at, *load(0x393C, at, at + 0x1000)) == DONE
    assert copied(vip)


# ---- time ----


def test_jobs_of_a_group_run_beside_each_other(vip: Vip) -> None:
    vip.put_words(DESCRIPTOR, replace(COPY, planes=100, slice=0).words())
    flagged = load(0x10B8, DESCRIPTOR | 0x1F)
    assert vip.run([*flagged, *JOB, *load(0x10A4, 0), *JOB, *event(), *END]) == DONE
    first, second, third = vip.operations()
    assert first.end_cycle - first.start_cycle > 3000
    assert second.end_cycle - first.end_cycle == 1
    assert third.end_cycle - second.end_cycle == first.end_cycle - first.start_cycle


def test_results_may_be_computed_in_another_thread(vip: Vip) -> None:
    vip.start([*JOB, *event(), *END])
    vip.accelerator.advance(1)
    worker = threading.Thread(target=vip.accelerator.execute)
    worker.start()
    worker.join()
    assert copied(vip)
    assert not vip.accelerator.irq
    vip.accelerator.run()
    assert vip.read("HI.INTR_ACKNOWLEDGE") == DONE


def test_a_reset_while_the_worker_computes(vip: Vip) -> None:
    """The reset waits for the job and drops it."""
    vip.put_words(DESCRIPTOR, replace(COPY, planes=20000, slice=0).words())
    vip.start([*JOB, *event(), *END])
    vip.accelerator.advance(1)
    worker = threading.Thread(target=vip.accelerator.execute)
    worker.start()
    reset(vip)
    worker.join()
    vip.accelerator.run()
    assert vip.read("HI.INTR_ACKNOWLEDGE") == 0
    assert vip.operations() == []


# ---- faults ----

STREAM = [*JOB, *JOB, *event(), *END]


def test_irq_lost(vip: Vip) -> None:
    vip.accelerator.fault("irq-lost")
    assert vip.run(STREAM) == 0
    assert not vip.accelerator.irq
    assert vip.read("HI.IDLE_STATE") == IDLE
    assert vip.run(STREAM) == DONE


def test_irq_late(vip: Vip) -> None:
    vip.accelerator.fault("irq-late:0:5000")
    vip.start(STREAM)
    vip.accelerator.advance(4000)
    assert vip.read("HI.IDLE_STATE") == IDLE
    assert not vip.accelerator.irq
    vip.accelerator.advance(5000)
    assert vip.accelerator.irq


def test_irq_twice(vip: Vip) -> None:
    vip.accelerator.fault("irq-twice:0")
    assert vip.run(STREAM) == DONE
    vip.accelerator.run()
    assert vip.accelerator.irq
    assert vip.read("HI.INTR_ACKNOWLEDGE") == DONE
    vip.accelerator.run()
    assert vip.accelerator.irq_count == 2


def test_irq_spurious(vip: Vip) -> None:
    vip.accelerator.fault("irq-spurious:0")
    vip.start(STREAM)
    vip.accelerator.advance(2)
    assert vip.accelerator.irq
    assert vip.read("HI.INTR_ACKNOWLEDGE") == 0
    assert not vip.accelerator.irq
    vip.accelerator.run()
    assert vip.read("HI.INTR_ACKNOWLEDGE") == DONE


def test_stuck_busy(vip: Vip) -> None:
    vip.accelerator.fault("stuck-busy:1")
    assert vip.run(STREAM) == 0
    assert vip.read("HI.IDLE_STATE") == IDLE & ~1 & ~(1 << 18)
    assert len(vip.operations()) == 1
    reset(vip)
    assert vip.run(STREAM) == DONE


def test_dma_error(vip: Vip) -> None:
    vip.accelerator.fault("dma-error:1")
    assert vip.run(STREAM) == AXI_ERROR
    assert vip.read("HI.AXI_STATUS") == 0x200
    assert "DMA error (injected fault)" in vip.errors()[0]
    reset(vip)
    assert vip.read("HI.AXI_STATUS") == 0
    assert vip.run(STREAM) == DONE


def test_bit_flip(vip: Vip) -> None:
    vip.accelerator.fault("bit-flip:1:12")
    assert vip.run(STREAM) == DONE
    got = vip.view(TARGET, 32).tolist()
    assert got == [v ^ (16 if i == 1 else 0) for i, v in enumerate(range(1, 33))]


def test_a_fault_by_chance_is_the_same_each_time(make_vip: Callable[..., Vip]) -> None:
    struck = []
    for _ in range(2):
        vip = make_vip()
        vip.accelerator.fault("irq-lost:p=1/3:seed=4")
        struck.append([vip.run(STREAM) == 0 for _ in range(20)])
    assert struck[0] == struck[1]
    assert 2 <= sum(struck[0]) <= 12
