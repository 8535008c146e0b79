"""The VIP configurations as data: one entry an NPU identity.

Sources: Mesa's etnaviv hardware database and the Linux etnaviv driver (model,
revision, product, eco, customer id, engine generation and core counts), the device
trees of the SoC vendors (AXI SRAM), and Paddle-Lite's guide to the TIM-VX boards
(driver version by SoC vendor). The customer id is the target word of a network
binary graph: a file is compiled for exactly one of them.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass

from fwgen.errors import UsageError


@dataclass(frozen=True, slots=True)
class Configuration:
    """One build of the hardware.

    Attributes:
        name: as boards write it.
        target: customer id, register 0x30, and the target word of a graph.
        chips: the SoCs that hold it.
        model, revision, product, eco: identity registers 0x20, 0x24, 0xa8, 0xe8; None
            where no public source states it. They are compared at boot.
        generation: of the NN engine, 7 or 8: coefficients and tensor addresses differ.
        nn_cores, tp_cores: how many engines of each kind; 0 where not known, as for SRAM.
        vip_sram: bytes of the SRAM inside the NPU.
        axi_sram: bytes of SRAM on the SoC's bus that graphs may count on; 0: none.
        driver_version: of the vendor's stack that the SoC vendor ships for it.
        runnable: whether this version runs graphs for it; others are only read.
    """

    name: str
    target: int
    chips: tuple[str, ...]
    model: int
    revision: int | None
    product: int | None
    eco: int | None
    generation: int
    nn_cores: int
    tp_cores: int
    vip_sram: int
    axi_sram: int
    driver_version: str
    runnable: bool

    @property
    def buffer_alignment(self) -> int:
        """Bytes to which graphs round the ends of inputs and outputs (ring buffers)."""
        return 256 if self.generation == 8 else 128

    @property
    def coefficient_alignment(self) -> int:
        """Bytes to which the block of coefficients must be aligned."""
        return 256 if self.generation == 8 else 64

    def facts(self) -> dict[str, object]:
        """The properties as JSON-ready data."""
        facts = dataclasses.asdict(self)
        facts["target"] = f"{self.target:#04x}"
        facts["chips"] = ", ".join(self.chips)
        for key in ("model", "revision", "product", "eco"):
            value = facts[key]
            facts[key] = "not known" if value is None else f"{value:#x}"
        return facts


_KIB = 1024
_ROCKCHIP, _AMLOGIC, _NXP = "6.4.6.5", "6.4.4.3", "6.4.3.p1"

CONFIGURATIONS: dict[str, Configuration] = {
    c.name: c
    for c in (
        Configuration(
            name="vip8000nanosi_pid0xb5",
            target=0xB5,
            chips=("RV1126", "RV1109"),
            model=0x8000,
            revision=0x8003,
            product=0x05080009,
            eco=0x04000000,
            generation=8,
            nn_cores=4,
            tp_cores=2,
            vip_sram=256 * _KIB,
            axi_sram=0,
            driver_version=_ROCKCHIP,
            runnable=True,
        ),
        Configuration(
            name="vip8000nanosi_plus_pid0x9f",
            target=0x9F,
            chips=("i.MX 8M Plus",),
            model=0x8000,
            revision=0x8002,
            product=0x05080009,
            eco=0x06000000,
            generation=8,
            nn_cores=6,
            tp_cores=3,
            vip_sram=256 * _KIB,
            axi_sram=0,
            driver_version=_NXP,
            runnable=True,
        ),
        Configuration(
            name="vip_pid0x88",
            target=0x88,
            chips=("A311D",),
            model=0x8000,
            revision=0x7120,
            product=0x45080009,
            eco=0,
            generation=7,
            nn_cores=8,
            tp_cores=4,
            vip_sram=512 * _KIB,
            axi_sram=1024 * _KIB,
            driver_version=_AMLOGIC,
            runnable=True,
        ),
        Configuration(
            name="vip_pid0x82",
            target=0x82,
            chips=("RK1808",),
            model=0x8000,
            revision=0x7100,
            product=0x45080001,
            eco=None,
            generation=7,
            nn_cores=10,
            tp_cores=6,
            vip_sram=512 * _KIB,
            axi_sram=1984 * _KIB,
            driver_version=_ROCKCHIP,
            runnable=True,
        ),
        Configuration(
            name="vip8000nanosi_plus_pid0xb9",
            target=0xB9,
            chips=("Amlogic C308X (one of several candidates)",),
            model=0x8000,
            revision=None,
            product=None,
            eco=None,
            generation=8,
            nn_cores=4,
            tp_cores=0,
            vip_sram=512 * _KIB,
            axi_sram=0,
            driver_version=_AMLOGIC,
            runnable=False,
        ),
        Configuration(
            name="vippico_v3_pid0x99",
            target=0x99,
            chips=("S905D3",),
            model=0x8000,
            revision=0x7131,
            product=0x08000001,
            eco=None,
            generation=8,
            nn_cores=2,
            tp_cores=1,
            vip_sram=0,
            axi_sram=0,
            driver_version=_AMLOGIC,
            runnable=False,
        ),
    )
}

BY_TARGET: dict[int, Configuration] = {c.target: c for c in CONFIGURATIONS.values()}


def configuration(name: str) -> Configuration:
    """The configuration of that name; UsageError if there is none."""
    found = CONFIGURATIONS.get(name)
    if found is None:
        near = difflib.get_close_matches(name, CONFIGURATIONS, n=1)
        raise UsageError(
            f"unknown VIP configuration {name!r}",
            expected="one of " + ", ".join(CONFIGURATIONS),
            hints=(f"Did you mean {near[0]!r}?",) if near else (),
        )
    return found


def describe_target(target: int) -> str:
    """A customer id for a reader: "0xb5 (RV1126, RV1109)"."""
    known = BY_TARGET.get(target)
    return f"{target:#04x}" + (f" ({', '.join(known.chips)})" if known else "")
