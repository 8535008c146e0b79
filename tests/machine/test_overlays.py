"""What the device module says about overlays that cannot be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fwgen.machine.qemu import find_qemu

pytestmark = pytest.mark.qemu

VIRT = ("-M", "virt,gic-version=2", "-cpu", "cortex-a7")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("ram=a,base=0x100,size=0x1000", "a: base=0x100,size=0x1000 is impossible"),
        ("ram=a,base=0", "a: base= and size= must be given"),
        ("ram=a,base=0,size=0x1000,ram=a", 'two memories are called "a"'),
        ("ram=a,irq=3", 'option "irq" is unknown; ram= takes base, size'),
        ("ram=a,base=x", "base=x is not a number"),
        ("ram=a,base=0xfffffffffffff000,size=0x2000", "is impossible"),
        ("alias=a,base=0", "a: of= must be given"),
        ("alias=a,base=0,of=no-such", 'a: the machine has no "no-such"'),
        ("alias=a,base=0,of=arm_gic,mmio=9", 'a: "arm_gic" has no memory region 9'),
        ("alias=a,base=0,of=arm_gic,mmio=32", "a: mmio=32 is not below 32"),
        ("alias=a,base=0,of=/machine", 'a: "/machine" has no memory region 0'),
        ("alias=a,base=0,of=arm_gic,size=0x100000", "a: size=0x100000 is more than"),
        ("alias=a,base=0,of=arm_gic,offset=0x100000", "a: offset=0x100000 is not below"),
        ("alias=a,base=0,of=virtio-mmio", 'a: the machine has several "virtio-mmio"'),
        ("dw_uart=u,base=0x1000", "u: base= and irq= must be given"),
        ("dw_uart=u,base=0x1010,irq=1", "u: base=0x1010,clock=24000000 is impossible"),
        ("dw_uart=u,base=0x1000,irq=300", "u: irq=300 does not exist, arm_gic"),
        ("dw_uart=u,base=0x1000,irq=1,chardev=c", "u: there is no -chardev with id=c"),
        ("peripheral=nothing", 'there is no peripheral "nothing"; known: dw_wdt imx_uart'),
        ("peripheral=dw_wdt,base=0x1000", "dw_wdt: clock= must be given"),
        ("peripheral=dw_wdt,clock=1", "dw_wdt: base= must be given"),
        ("peripheral=imx_uart,base=0x1000", "imx_uart: base= and irq= must be given"),
        ("peripheral=rk_cru,base=0x1000,chardev=c,status=4", "rk_cru: a rk_cru has no serial"),
        ("peripheral=rk_cru,base=0x1002,status=4", "rk_cru: base=0x1002,size=0x1000 is"),
        ("peripheral=registers,base=0,size=0x20000", "registers: base=0x0,size=0x20000 is"),
        ("peripheral=rk_pmu,base=0,gate=4", "rk_pmu: gate=, status=, request=, idle= and ack="),
        ("peripheral=imx_uart,base=0,irq=1", 'the machine has no interrupt controller "armv7m"'),
        ("machine_clock=/machine/no,hz=5", 'the machine has no clock "/machine/no"'),
        ("machine_clock=/machine/no", "machine_clock /machine/no: hz= must be given"),
        ("accel=toy,needs=1:2", "needs= takes ADDRESS:MASK:VALUE"),
        ("accel=toy,needs=1:2:4", "needs= takes ADDRESS:MASK:VALUE"),
        ("unassigned=u,base=0", "u: base= and size= must be given"),
        ("base=4", 'option "base" stands before any "accel="'),
    ],
)
def test_refusals(options: str, message: str, toy_module: Path) -> None:
    plugin = str(toy_module).replace(",", ",,")
    command = [str(find_qemu().path), *VIRT, "-display", "none", "-nic", "none", "-S"]
    command += ["-serial", "null", "-plugin", f"{plugin},{options}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1, done
    assert f"fwgen device module: {message}" in done.stderr or message in done.stderr
    assert "Traceback" not in done.stderr and "assert" not in done.stderr.lower()
