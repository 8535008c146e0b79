"""QEMU sessions and the device module, with bare-metal programs and a toy accelerator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fwgen.errors import DeviceError, RunTimeout, TaskError, UsageError
from fwgen.machine import emulator_build
from fwgen.machine.config import AcceleratorDevice, MachineConfig, Range
from fwgen.machine.console import Console
from fwgen.machine.process import ChildProcess
from fwgen.machine.qemu import Qemu, find_qemu
from fwgen.machine.session import QemuSession

pytestmark = pytest.mark.qemu

Program = Callable[..., Path]
RAM = Range(0x20000000, 0x400000)


def toy(number: int = 0, **changes: object) -> AcceleratorDevice:
    facts: dict[str, object] = {
        "name": f"dla{number}",
        "family": "toy",
        "config": "fast",
        "base": 0x50000000 + number * 0x100000,
        "irq": 29 + number,
        "dma": (RAM,),
    }
    return AcceleratorDevice(**{**facts, **changes})  # type: ignore[arg-type]


def an385(*devices: AcceleratorDevice, icount: int | None = 5) -> MachineConfig:
    return MachineConfig("mps2-an385", accelerators=devices or (toy(),), icount_shift=icount)


def finish(session: QemuSession) -> int:
    with session:
        return session.wait_exit()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


# ---- the device ----


def test_copy_interrupt_and_records(bare_program: Program, toy_module: Path, tmp_path: Path):
    trace = tmp_path / "trace,1.txt"
    session = QemuSession(bare_program(1), an385(), module=toy_module, limit=20, trace=trace)
    assert finish(session) == 0
    (operation,) = session.operations
    assert (operation.accelerator, operation.unit, operation.bytes_read) == ("dla0", "COPY", 256)
    assert operation.end_cycle - operation.start_cycle == 50000
    (summary,) = session.summaries
    assert (summary.operations, summary.interrupts, summary.guest_errors) == (1, 1, 0)
    assert session.guest_errors == []
    lines = [line.split() for line in trace.read_text().splitlines()]
    assert [(f[2], f[5]) for f in lines] == [
        ("W", "SOURCE"),
        ("W", "DESTINATION"),
        ("W", "LENGTH"),
        ("W", "CYCLES"),
        ("W", "START"),
        ("R", "STATUS"),
        ("W", "STATUS"),
        ("R", "COUNT"),
    ]
    assert lines[3][1:5] == ["dla0", "W", "0x0000c", "0x0000c350"]
    started, done = int(lines[4][0]), operation.time_ns
    # 50,000 cycles of 10 ns, seen when the instruction that spans the end is over.
    assert 500_000 <= done - started < 500_200


def test_same_virtual_times_twice(bare_program: Program, toy_module: Path, tmp_path: Path):
    def run(name: str) -> tuple[str, object]:
        trace = tmp_path / name
        session = QemuSession(bare_program(1), an385(), module=toy_module, limit=20, trace=trace)
        assert finish(session) == 0
        return trace.read_text() + session.console.text(), session.operations

    assert run("a") == run("b")


def test_clock_decides_the_duration(bare_program: Program, toy_module: Path):
    times = []
    for clock in (100_000_000, 33_333_333):
        session = QemuSession(
            bare_program(1), an385(toy(clock_hz=clock)), module=toy_module, limit=20
        )
        assert finish(session) == 0
        times.append(session.operations[0].time_ns)
    assert abs((times[1] - times[0]) - 1_000_000) < 1000


def test_m55_secure_memory_behind_a_protection_controller(bare_program: Program, toy_module: Path):
    ddr = Range(0x60000000, 0x1000000)
    machine = MachineConfig("mps3-an547", accelerators=(toy(base=0x58200000, irq=56, dma=(ddr,)),))
    elf = bare_program(
        1, cpu="cortex-m55+nomve", data=ddr.base, UART=0x59303000, BASE=0x58200000, IRQ=56
    )
    session = QemuSession(elf, machine, module=toy_module, limit=20)
    assert finish(session) == 0
    assert session.guest_errors == []


def test_without_icount(bare_program: Program, toy_module: Path):
    session = QemuSession(bare_program(1), an385(icount=None), module=toy_module, limit=20)
    assert finish(session) == 0


def test_guest_runs_on_while_the_worker_computes(bare_program: Program, toy_module: Path):
    device = toy(config="slow")
    session = QemuSession(bare_program(8), an385(device, icount=None), module=toy_module, limit=20)
    assert finish(session) == 0
    loops = int(session.console.tail(1)[0].split()[1], 16)
    assert loops > 10_000  # some 30 million; a blocked guest would count to 1


def test_wrong_accesses_are_named(bare_program: Program, toy_module: Path):
    session = QemuSession(bare_program(2), an385(), module=toy_module, limit=20)
    assert finish(session) == 0
    assert [error.message for error in session.guest_errors] == [
        "read of 1 bytes at offset 0x1: only aligned 32-bit accesses exist",
        "read of 2 bytes at offset 0x2: only aligned 32-bit accesses exist",
        "write of 2 bytes at offset 0x0: only aligned 32-bit accesses exist",
        'write to a register that "does not" exist',
    ]
    assert session.summaries[0].guest_errors == 4
    assert "dla0: guest error: read of 1 bytes" in "\n".join(session.process.output())


@pytest.mark.parametrize(
    ("dma", "errors"),
    [
        ((), 1),
        ((Range(0x20000000, 0x100),), 1),  # ends inside the buffers
        ((Range(0x20000000, 0x88), Range(0x20000088, 0x1000)), 0),  # adjacent
        ((Range(0x30000000, 0x1000),), 1),
    ],
)
def test_dma_windows(bare_program: Program, toy_module: Path, dma: tuple[Range, ...], errors: int):
    session = QemuSession(bare_program(3), an385(toy(dma=dma)), module=toy_module, limit=20)
    assert finish(session) == errors
    assert len(session.guest_errors) == errors


def test_dma_window_without_memory_behind_it(bare_program: Program, toy_module: Path):
    """The program may say what it likes; the machine has no memory at 0x30000000."""
    everything = (Range(0, 1 << 32),)
    elf = bare_program(3, DMA_SOURCE=0x30000000)
    session = QemuSession(elf, an385(toy(dma=everything)), module=toy_module, limit=20)
    assert finish(session) == 1
    assert session.guest_errors[0].message == "DMA outside of memory"


def test_two_devices(bare_program: Program, toy_module: Path):
    session = QemuSession(bare_program(7), an385(toy(), toy(1)), module=toy_module, limit=20)
    assert finish(session) == 2
    assert {o.accelerator for o in session.operations} == {"dla0", "dla1"}
    assert [s.operations for s in session.summaries] == [1, 1]


def test_fault_reaches_the_model(bare_program: Program, toy_module: Path):
    device = toy(faults=("irq-lost",))
    with QemuSession(bare_program(1), an385(device), module=toy_module, limit=1.0) as session:
        with pytest.raises(RunTimeout):
            session.wait_exit()
    assert session.summaries[0].interrupts == 0


@pytest.mark.parametrize("icount", [5, None])
@pytest.mark.parametrize("config", ["fast", "slow"])
def test_reset_register(
    bare_program: Program, toy_module: Path, tmp_path: Path, config: str, icount: int | None
):
    """Work is dropped, also while the worker computes it; what comes after runs."""
    reset = 0x50020000
    trace = tmp_path / "trace.txt"
    # 20 ms for the operation: it is not over before the guest writes the register.
    machine = an385(toy(config=config, reset=reset, clock_hz=1_000_000), icount=icount)
    elf = bare_program(10, RESET=reset, EARLY=int(icount is None), DWELL=0)
    session = QemuSession(elf, machine, module=toy_module, limit=20, trace=trace)
    assert finish(session) == 0
    assert session.summaries[0].operations == 1
    assert [e.message for e in session.guest_errors] == [
        "write of 2 bytes at offset 0x0: only aligned 32-bit accesses exist"
    ]
    lines = [line.split()[2:] for line in trace.read_text().splitlines()]
    assert [f for f in lines if f[-1] == "SOC.RESET"] == [
        ["W", "0x50020000", "0x00000000", "SOC.RESET"],
        ["W", "0x50020000", "0x00000002", "SOC.RESET"],
        ["R", "0x50020000", "0x00000000", "SOC.RESET"],
    ]


@pytest.mark.parametrize("icount", [5, None])
@pytest.mark.parametrize("config", ["fast", "slow"])
def test_reset_by_a_register_of_the_model(
    bare_program: Program, toy_module: Path, config: str, icount: int | None
) -> None:
    """The same with a register of the accelerator's own: the device waits for the worker."""
    machine = an385(toy(config=config, clock_hz=1_000_000), icount=icount)
    dwell = 20000 if config == "slow" and icount is None else 0
    elf = bare_program(10, RESET=0x50000020, EARLY=int(icount is None), DWELL=dwell)
    session = QemuSession(elf, machine, module=toy_module, limit=20)
    assert finish(session) == 0
    assert session.summaries[0].operations == 1
    assert [e.message for e in session.guest_errors] == [
        "write of 2 bytes at offset 0x20: only aligned 32-bit accesses exist"
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reset": 0x50020002}, "reset=0x50020002 is impossible"),
        ({"reset": 0x50000FFC}, "outside of the register window"),
        ({"irq": 32}, "irq=32 does not exist, armv7m of this machine has lines 0 to 31"),
        ({"family": "vax"}, 'no accelerator family "vax"; known: toy'),
        ({"config": "huge"}, 'no configuration "huge"'),
        ({"base": 0x50000100}, "page-aligned base"),
        ({"clock_hz": 0}, "clock above 0"),
        ({"controller": "arm_gic"}, 'no interrupt controller "arm_gic"'),
        ({"controller": "/machine/nowhere"}, 'no interrupt controller "/machine/nowhere"'),
        ({"dma": (Range(0xFFFFFFFFFFFFF000, 0x2000),)}, "is not BASE:SIZE"),
        ({"dma": tuple(Range(i * 0x1000, 1) for i in range(17))}, "more than 16 memory windows"),
        ({"faults": ("melt",)}, 'fault "melt" is unknown'),
    ],
)
def test_wrong_options(
    bare_program: Program, toy_module: Path, changes: dict[str, object], message: str
):
    session = QemuSession(bare_program(1), an385(toy(**changes)), module=toy_module, limit=20)
    with session, pytest.raises(UsageError, match="the device module refused") as caught:
        session.wait_ready()
    assert message in str(caught.value)


def test_unknown_and_misplaced_options(toy_module: Path):
    module = str(toy_module).replace(",", ",,")
    for options, message in (
        ("accel=toy,colour=red", 'option "colour" is unknown; accel= takes config, base'),
        ("config=fast,accel=toy", 'option "config" stands before any "accel="'),
        ("accel=toy,config=fast", "dla0: config=, base= and irq= must be given"),
        ("accel=toy,base=x", "base=x is not a number"),
        ("accel=toy,trace=/no/such/folder/file", "/no/such/folder/file: No such file"),
    ):
        done = subprocess.run(
            [str(find_qemu().path), "-M", "mps2-an385", "-display", "none", "-plugin"]
            + [f"{module},{options}"],
            capture_output=True,
            text=True,
            timeout=20,
        )
        assert done.returncode == 1
        assert f"fwgen device module: {message}" in done.stderr


def test_missing_symbol_is_named(
    bare_program: Program, toy_module: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FWGEN_QEMU_HIDE_SYMBOL", "qemu_set_irq")
    session = QemuSession(bare_program(1), an385(), module=toy_module, limit=20)
    with session, pytest.raises(UsageError, match="does not export qemu_set_irq; it must be"):
        session.wait_ready()


def test_plugin_version_hint(
    bare_program: Program, toy_module: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FWGEN_QEMU_PLUGIN_VERSION", "99")
    session = QemuSession(bare_program(1), an385(), module=toy_module, limit=20)
    with session, pytest.raises(DeviceError) as caught:
        session.wait_ready()
    assert "FWGEN_QEMU_PLUGIN_VERSION" in caught.value.hints[0]


# ---- the session ----


def test_time_limit_leaves_nothing_behind(bare_program: Program, toy_module: Path):
    start = time.monotonic()
    with QemuSession(bare_program(4), an385(), module=toy_module, limit=0.7) as session:
        pid = session.process.pid
        with pytest.raises(RunTimeout) as caught:
            session.wait_ready()
    assert time.monotonic() - start < 5
    assert "going to sleep\nhalf a line" in caught.value.message
    assert not alive(pid)


def test_exception_in_the_block_leaves_nothing_behind(bare_program: Program, toy_module: Path):
    with pytest.raises(ZeroDivisionError):
        with QemuSession(bare_program(4), an385(), module=toy_module) as session:
            pid = session.process.pid
            _ = 1 / 0
    assert not alive(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_orphan_when_we_die(bare_program: Program, toy_module: Path, number: int):
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from fwgen.machine.config import MachineConfig\n"
        "from fwgen.machine.session import QemuSession\n"
        f"s = QemuSession(Path({str(bare_program(4))!r}), MachineConfig('mps2-an385'))\n"
        "s.start()\n"
        "print(s.process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.send_signal(number)
        parent.wait(20)
    end = time.monotonic() + 5
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(pid)


def test_fault_report(bare_program: Program, toy_module: Path):
    with QemuSession(bare_program(5), an385(), module=toy_module, limit=20) as session:
        with pytest.raises(TaskError) as caught:
            session.wait_ready()
    assert "stopped with a hardfault fault (task dla, pc 0x00000104" in caught.value.message
    assert "*** r0=0x00000001" in caught.value.message
    assert "addr2line" in caught.value.hints[0]
    assert session.console.fault is not None
    assert session.console.fault.fields["lr"] == "0x00000081"


def test_exit_code_and_all_text(bare_program: Program, toy_module: Path):
    lines: list[str] = []
    session = QemuSession(bare_program(6), an385(), module=toy_module, limit=30, echo=lines.append)
    assert finish(session) == 7
    assert lines == [f"line {i:08x}" for i in range(2000)]


def test_unexpected_end(bare_program: Program, toy_module: Path):
    with QemuSession(bare_program(6), an385(), module=toy_module, limit=30) as session:
        with pytest.raises(DeviceError) as caught:
            session.wait_ready()
    assert "ended with exit code 7 unexpectedly" in caught.value.message
    assert "line 000007cf" in caught.value.message


def test_killed_from_outside(bare_program: Program, toy_module: Path):
    with QemuSession(bare_program(4), an385(), module=toy_module, limit=30) as session:
        session.link.drain(0.2)
        os.kill(session.process.pid, signal.SIGKILL)
        with pytest.raises(DeviceError, match="was killed by signal 9 unexpectedly"):
            session.wait_ready()


def test_gdb_waits(bare_program: Program, toy_module: Path, tmp_path: Path):
    gdb = f"unix:{tmp_path / 'gdb'},server=on,wait=off"
    with QemuSession(bare_program(6), an385(), module=toy_module, limit=0.5, gdb=gdb) as session:
        with pytest.raises(RunTimeout):
            session.wait_ready()
        assert session.console.text() == ""
        assert (tmp_path / "gdb").is_socket()


def test_no_image(tmp_path: Path):
    with pytest.raises(UsageError, match="no such image"):
        QemuSession(tmp_path / "none.elf", an385())


# ---- QEMU itself ----


def test_find_qemu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert find_qemu().version >= (7, 2)
    monkeypatch.setenv("FWGEN_QEMU", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="none not found") as caught:
        find_qemu()
    assert any("apt-get install qemu-system-arm" in hint for hint in caught.value.hints)
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho QEMU emulator version 5.2.0\n")
    old.chmod(0o755)
    monkeypatch.setenv("FWGEN_QEMU", str(old))
    with pytest.raises(UsageError, match="too old"):
        find_qemu()


def test_program_that_cannot_start(bare_program: Program, tmp_path: Path):
    bad = Qemu(tmp_path / "none", (9, 0), "none")
    session = QemuSession(bare_program(4), MachineConfig("mps2-an385"), qemu=bad)
    with pytest.raises(DeviceError, match="cannot start"):
        session.start()
    session.close()


def test_child_that_writes_without_end():
    process = ChildProcess(["sh", "-c", "yes | head -c 3000000; printf last"])
    assert process.wait(20) == 0
    assert process.output()[-1] == "last"
    process.kill()


def test_real_models(bare_program: Program):
    """The module with the accelerators that ship: it loads and answers."""
    device = AcceleratorDevice("dla0", "nvdla", "nv_small", 0x50000000, 29, dma=(RAM,))
    session = QemuSession(bare_program(4), an385(device), limit=0.5)
    with session, pytest.raises(RunTimeout):
        session.wait_exit()
    assert session.summaries[0].accelerator == "dla0"


@pytest.mark.parametrize("icount", [5, None])
@pytest.mark.parametrize(("config", "seed"), [("nv_small", 7919), ("nv_large", 15838)])
def test_random_accesses_harm_nobody(
    bare_program: Program, config: str, seed: int, icount: int | None
):
    """The real models, random register programs, with and without the worker thread."""
    device = AcceleratorDevice("dla0", "nvdla", config, 0x50000000, 29, dma=(RAM,))
    elf = bare_program(9, SEED=seed, ROUNDS=60_000)
    session = QemuSession(elf, an385(device, icount=icount), limit=60)
    assert finish(session) == 0
    (summary,) = session.summaries
    assert summary.accesses == 60_000
    assert summary.guest_errors > 1000
    assert len(session.guest_errors) == 1000  # the stream is bounded, the count is not


def test_emulator_is_built_once(monkeypatch: pytest.MonkeyPatch):
    first = emulator_build.qemu_module_path()
    monkeypatch.setattr(emulator_build, "_build", None)  # a second build would fail
    assert emulator_build.qemu_module_path() == first


def test_console_keeps_a_bounded_tail():
    console = Console()
    for i in range(30_000):
        console.feed(b"x" * 20 + b" %d\r\n" % i)
    assert console.tail(1)[0].endswith("29999")
    assert len(console.text()) < 300_000
    console.feed(b"*** FAULT kind=assert file=a.c line=7\r\n*** cut")
    assert console.fault is None
    console.finish()
    assert console.fault is not None and "a.c:7" in console.fault.sentence()
