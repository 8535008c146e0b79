"""Registers and states of the VIP by name (Linux etnaviv driver, Mesa).

Registers are read and written by the CPU; states are loaded by the front end, which
plays the command buffer.
"""

from __future__ import annotations

WINDOW_SIZE = 0x4000

REGISTERS: dict[int, str] = {
    0x000: "HI.CLOCK_CONTROL",
    0x004: "HI.IDLE_STATE",
    0x00C: "HI.AXI_STATUS",
    0x010: "HI.INTR_ACKNOWLEDGE",
    0x014: "HI.INTR_ENBL",
    0x020: "HI.CHIP_MODEL",
    0x024: "HI.CHIP_REVISION",
    0x028: "HI.CHIP_DATE",
    0x02C: "HI.CHIP_TIME",
    0x030: "HI.CUSTOMER_ID",
    0x0A8: "HI.PRODUCT_ID",
    0x0E8: "HI.ECO_ID",
    0x100: "PM.POWER_CONTROLS",
    0x104: "PM.MODULE_CONTROLS",
    0x108: "PM.MODULE_STATUS",
    0x10C: "PM.PULSE_EATER",
    0x184: "MMU.CONFIGURATION",
    0x188: "MMU.STATUS",
    0x18C: "MMU.CONTROL",
    0x388: "MMU.SECURE_CONTROL",
    0x3A4: "MMU.SEC_COMMAND_CONTROL",
    0x3A8: "MMU.AHB_CONTROL",
    0x654: "FE.COMMAND_ADDRESS",
    0x658: "FE.COMMAND_CONTROL",
    0x65C: "FE.DMA_STATUS",
    0x660: "FE.DMA_DEBUG_STATE",
    0x664: "FE.DMA_ADDRESS",
    0x668: "FE.DMA_LOW",
    0x66C: "FE.DMA_HIGH",
}

CHIP_MODEL, CHIP_REVISION, CUSTOMER_ID, PRODUCT_ID = 0x20, 0x24, 0x30, 0xA8
FAULT_BITS = 0xC0000000
"""Of INTR_ACKNOWLEDGE: bus error (31) and exception of the MMU (30)."""

COMMAND_ADDRESS = 0x654
COMMAND_CONTROL = 0x658
SEC_COMMAND_CONTROL = 0x3A4
COMMAND_ENABLE = 0x10000
"""Of both control registers; bits 15:0 are the number of 64-bit words to fetch."""

STATE_NAMES: dict[int, str] = {
    0x0920: "CL.KICKER",
    0x0A28: "0x0a28",
    0x10A0: "NN.JOB",
    0x10A4: "NN.GROUP_END",
    0x10B8: "TP.JOB",
    0x1650: "TS.FLUSH",
    0x3804: "GL.EVENT",
    0x3808: "GL.SEMAPHORE_TOKEN",
    0x380C: "GL.FLUSH_CACHE",
    0x384C: "GL.API_MODE",
    0x3884: "0x3884",
    0x389C: "0x389c",
    0x3930: "GL.NN_CONFIG",
    0x3938: "GL.SRAM_REMAP",
    0x393C: "GL.OCB_REMAP_START",
    0x3940: "GL.OCB_REMAP_END",
    0x394C: "GL.TP_CONFIG",
    0x3950: "0x3950",
    0x1A698: "0x1a698",
}

NN_JOB, NN_GROUP_END, TP_JOB = 0x10A0, 0x10A4, 0x10B8
SRAM_REMAP = 0x3938
API_MODE, API_MODE_CL = 0x384C, 2
NN_CONFIG = 0x3930
NN_CONFIG_NO_ZDP = 1 << 2
NN_CONFIG_CORES = 0xF00
"""How many NN cores work; 0 for all."""
EVENT, SEMAPHORE, FLUSH_CACHE = 0x3804, 0x3808, 0x380C


def register_name(offset: int) -> str | None:
    """Name of the register at a byte offset of the window, None if there is none."""
    return REGISTERS.get(offset)


class VipTraits:
    """`fwgen.program.traits.RegisterTraits`: every register acts at once."""

    def block(self, offset: int) -> int:
        """One unit has all of them."""
        return 0

    def is_group_register(self, offset: int) -> bool:
        """There are no ping-pong groups."""
        return False

    def is_ordered(self, offset: int) -> bool:
        """Each write keeps its place: the last one starts the front end."""
        return True

    def name(self, offset: int) -> str:
        """Name of the register, or its offset."""
        return register_name(offset) or f"0x{offset:05x}"


TRAITS = VipTraits()
