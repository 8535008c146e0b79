"""Updates of a device over lines that lose, damage and cut what goes through them.

The device is the runtime's own C on the host, under the sanitizers (host/target.c).
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from devices import HostDevice, build_host, connect, line_to, open_link, slots_of
from noisy_line import Noise, NoisyLine
from packages import make_package

from fwgen.errors import DeviceError, ModelError, TaskError, UsageError
from fwgen.machine import slots
from fwgen.machine.slots import SlotsInfo
from fwgen.machine.update import UpdateLimits, Updater
from fwgen.package import format
from fwgen.package.faults import Fault, fault_words

PACKAGE = make_package("one", seed=1, weights=9000)
OTHER = make_package("two", seed=2, weights=12000)
LIMITS = UpdateLimits(answer_seconds=0.4, silent_rounds=8, lines=8, boot_seconds=10.0)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_host(tmp_path_factory.mktemp("target"), "target")


def updater(line: NoisyLine, package: bytes = PACKAGE, limits: UpdateLimits = LIMITS) -> Updater:
    return Updater(lambda: connect(line), package, words=fault_words, limits=limits)


NOISES = {
    "clean": Noise(),
    "loss": Noise(drop=0.0006),
    "damage": Noise(damage=0.0006),
    "repeated bytes": Noise(repeat=0.0006),
    "all of it": Noise(drop=0.0004, damage=0.0004, repeat=0.0004, delay=0.002),
    "late answers": Noise(late=0.15),
    "cut at 10, 50, 90 percent": Noise(cut_after=(900, 5200, 10500)),
    "cuts and loss": Noise(drop=0.0005, cut_after=(2000, 8000)),
}


@pytest.mark.parametrize("noise", NOISES)
def test_an_update_gets_through(program: Path, tmp_path: Path, noise: str) -> None:
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, NOISES[noise]) as line:
        report = updater(line).run()
        assert (report.slot, report.state) == (0, "confirmed")
        assert line.cuts == len(NOISES[noise].cut_after)
        second = updater(line, OTHER).run()
        assert (second.slot, second.state) == (1, "confirmed")
        info = slots_of(line)
        assert (info.running, info.confirmed, info.trial) == (1, 1, None)
        assert [slot.name for slot in info.slots] == ["one", "two"]
        assert info.slots[1].digest == OTHER[128:136].hex()


def test_a_pty_is_a_line_too(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise(), use_pty=True) as line:
        assert updater(line).run().state == "confirmed"


def test_a_line_that_takes_nothing_ends_in_a_message(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise(drop=0.2)) as line:
        limits = UpdateLimits(answer_seconds=0.1, silent_rounds=2, lines=2)
        with pytest.raises(DeviceError, match="given up") as error:
            Updater(
                lambda: connect(line, timeout=0.1, attempts=3),
                PACKAGE,
                words=fault_words,
                limits=limits,
            ).run()
        assert any("runs what it ran" in hint for hint in error.value.hints)
        line.noise = Noise()
        assert slots_of(line).running is None
        assert updater(line).run().state == "confirmed"


def test_power_fails_during_the_transfer(program: Path, tmp_path: Path) -> None:
    """The device is switched off and on at several moments; the transfer goes on."""
    flash = tmp_path / "flash"
    device = HostDevice(program, flash)
    noise = Noise(late=0.01)
    with line_to(device, noise) as line:
        over = threading.Event()
        switched = []

        def switch() -> None:
            for passed in (2500, 6000, 9500):
                while line.passed < passed and not over.is_set():
                    time.sleep(0.002)
                if over.is_set():
                    return
                device.switch_off()
                device.switch_on()
                line.device(*device.fds())
                switched.append(passed)

        thread = threading.Thread(target=switch)
        thread.start()
        try:
            report = updater(line).run()
        finally:
            over.set()
            thread.join()
        assert report.state == "confirmed"
        assert len(switched) >= 2
        # Less than the whole was sent again each time: it went on where it was.
        assert report.resent < len(switched) * len(PACKAGE) / 2 + 4 * 4096


def test_a_second_start_goes_on_where_the_first_stopped(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise(cut_after=(7000,))) as line:
        one_line = UpdateLimits(answer_seconds=0.4, lines=1)
        with pytest.raises(DeviceError):
            updater(line, limits=one_line).run()
        report = updater(line).run()
        assert report.resumed_at > 2000
        assert report.sent < len(PACKAGE) - 2000


def test_a_failed_self_test_goes_back(program: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash"
    device = HostDevice(program, flash)
    with line_to(device, Noise()) as line:
        updater(line).run()
    device = HostDevice(program, flash, "fail")
    with line_to(device, Noise()) as line:
        with pytest.raises(TaskError, match="went back.*self-test"):
            updater(line, OTHER).run()
        info = slots_of(line)
        assert (info.running, info.confirmed, info.fault) == (0, 0, Fault.SELF_TEST)


def test_what_runs_already_is_not_sent(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise()) as line:
        updater(line).run()
        report = updater(line).run()
        assert (report.slot, report.sent) == (None, 0)


def test_the_same_model_under_another_version_is_sent(program: Path, tmp_path: Path) -> None:
    """Its payload runs already, but not its header: name and smallest version come from that."""
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise()) as line:
        assert updater(line).run().slot == 0
        newer = make_package("one", seed=1, weights=9000, version=2)
        assert newer[512:] == PACKAGE[512:]
        assert updater(line, newer).run().slot == 1
        assert [slot.version for slot in slots_of(line).slots] == [1, 2]
        assert updater(line, newer).run().slot is None


def test_two_hosts_at_once(program: Path, tmp_path: Path) -> None:
    """Who finds another package in the slot where its own was says so, and starts nothing."""
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise()) as line:
        first = updater(line)
        assert first.run(reset=False).state == "written"
        assert updater(line, OTHER).run(reset=False).state == "written"
        link = connect(line)
        with pytest.raises(TaskError, match="slot 0 holds another package by now"):
            first._try(link, 0)
        link.transport.close()
        info = slots_of(line)
        assert (info.running, info.trial) == (None, 0)
        assert info.slots[0].name == "two"


def test_wrong_packages_change_nothing(program: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash"
    device = HostDevice(program, flash)
    wrong = {
        Fault.BOARD: make_package(board="other"),
        Fault.ACCELERATOR: make_package(accelerator="nvdla/nv_large"),
        Fault.LAYOUT: make_package(layout_hash=bytes(8)),
        Fault.LENGTH: make_package(weights=16 * 1024),
        Fault.KERNEL: make_package(kernels=1 << 7),
        Fault.EMPTY: b"\x7fELF" + bytes(2000),
        Fault.HEADER_CRC: PACKAGE[:300] + b"\1" + PACKAGE[301:],
    }
    with line_to(device, Noise()) as line:
        assert slots_of(line).running is None
        before = flash.read_bytes()
        for fault, package in wrong.items():
            with pytest.raises(ModelError, match=fault_words(fault).replace("(", r"\(")[:30]):
                updater(line, package).run()
        assert flash.read_bytes() == before


def test_damage_that_the_line_did_not_do_is_found_at_the_end(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash")
    damaged = bytearray(PACKAGE)
    damaged[5000] ^= 0x10
    with line_to(device, Noise()) as line:
        with pytest.raises(ModelError, match="CRC-32"):
            updater(line, bytes(damaged)).run()
        assert slots_of(line).running is None
        report = updater(line).run()
        assert (report.state, report.resumed_at) == ("confirmed", 0)


def test_settings_over_the_line(program: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash"
    device = HostDevice(program, flash)
    with line_to(device, Noise(drop=0.001)) as line, open_link(line) as link:
        values = {f"key{i}": bytes([i]) * i for i in range(1, 20)}
        for key, value in values.items():
            slots.put(link, key, value)
        slots.put(link, "key3", b"new")
        slots.delete(link, "key4")
        slots.delete(link, "never there")
        with pytest.raises(UsageError, match="no setting 'key4'"):
            slots.get(link, "key4")
        with pytest.raises(UsageError, match="full"):
            for i in range(20):
                slots.put(link, f"big{i}", bytes(250))
        with pytest.raises(UsageError):
            slots.put(link, "k" * 32, b"")
    device = HostDevice(program, flash)
    with line_to(device, Noise()) as line, open_link(line) as link:
        values |= {"key3": b"new"}
        del values["key4"]
        found = slots.keys(link)
        assert {key: found[key] for key in values} == {k: len(v) for k, v in values.items()}
        assert all(slots.get(link, key) == value for key, value in values.items())
        assert slots.erase_partition(link, "settings") == 4096
        assert slots.keys(link) == {}
        slots.put(link, "after", b"1")
        assert slots.get(link, "after") == b"1"


def test_slots_in_use_are_not_erased(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise()) as line:
        updater(line).run()
        with open_link(line) as link:
            for name in ("slot_a", "state"):
                with pytest.raises(UsageError, match="in use"):
                    slots.erase_partition(link, name)
            with pytest.raises(UsageError, match="no partition"):
                slots.erase_partition(link, "slot_c")
        updater(line, OTHER).run()
        with open_link(line) as link:
            slots.erase_partition(link, "slot_a")
            info = slots.slots(link)
        assert (info.running, info.slots[0].fault) == (1, Fault.EMPTY)


def reset(line: NoisyLine) -> SlotsInfo:
    with open_link(line) as link:
        slots.reset(link)
    return slots_of(line)


def test_a_trial_that_nobody_confirms_ends(program: Path, tmp_path: Path) -> None:
    flash = tmp_path / "flash"
    device = HostDevice(program, flash)
    with line_to(device, Noise()) as line:
        updater(line).run()
    device = HostDevice(program, flash, "none")
    with line_to(device, Noise()) as line:
        assert updater(line, OTHER).run().state == "on trial"
        with pytest.raises(DeviceError, match="on trial and no free slot"):
            updater(line, make_package("three", seed=3)).run()
        for boots in (2, 3):
            info = reset(line)
            assert (info.running, info.trial, info.boots) == (1, 1, boots)
        info = reset(line)
        assert (info.running, info.trial, info.fault) == (0, None, Fault.BOOTS)
        # The second time somebody confirms it.
        assert updater(line, OTHER).run().state == "on trial"
        with open_link(line) as link:
            slots.confirm(link)
        assert (reset(line).running, slots_of(line).confirmed) == (1, 1)


def test_older_versions_are_refused_where_that_is_built_in(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = build_host(tmp_path_factory.mktemp("rollback"), "target", "FWGEN_ANTI_ROLLBACK=1")
    device = HostDevice(program, tmp_path / "flash")
    with line_to(device, Noise()) as line:
        assert updater(line, make_package("five", version=5)).run().state == "confirmed"
        with pytest.raises(ModelError, match="older than what"):
            updater(line, make_package("four", version=4, seed=2)).run()
        assert slots_of(line).oldest == 5
        assert updater(line, make_package("again five", version=5, seed=3)).run().slot == 1


def test_only_signed_packages_where_a_key_is_built_in(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    owner = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    header = format.decode_header(PACKAGE)
    signature = owner.sign(header.signed_part())
    signed = replace(header, signature=signature).encode() + PACKAGE[format.HEADER_SIZE :]
    program = build_host(tmp_path_factory.mktemp("signed"), "target", "FWGEN_SIGNED_UPDATE=1")
    key = owner.public_key().public_bytes_raw().hex()
    flash = tmp_path / "flash"
    device = HostDevice(program, flash, key=key)
    with line_to(device, Noise()) as line:
        assert slots_of(line).running is None
        before = flash.read_bytes()
        with pytest.raises(ModelError, match="signed packages only"):
            updater(line).run()
        wrong = replace(header, signature=bytes(64)).encode() + PACKAGE[format.HEADER_SIZE :]
        with pytest.raises(ModelError, match="not by the device's key"):
            updater(line, wrong).run()
        assert flash.read_bytes() == before
        assert updater(line, signed).run().state == "confirmed"


def test_a_device_whose_flash_is_dead_still_answers(program: Path, tmp_path: Path) -> None:
    device = HostDevice(program, tmp_path / "flash", "dead")
    with line_to(device, Noise()) as line:
        info = slots_of(line)
        assert info.running is None
        assert [slot.fault for slot in info.slots] == [Fault.READ, Fault.READ]
        with pytest.raises(DeviceError, match="cannot write its flash"):
            updater(line).run()
        with open_link(line) as link:
            for work in (
                lambda: slots.put(link, "gain", b"1"),
                lambda: slots.keys(link),
                lambda: slots.erase_partition(link, "slot_a"),
            ):
                with pytest.raises((DeviceError, UsageError)):
                    work()
            slots.reset(link)
        assert slots_of(line).running is None
