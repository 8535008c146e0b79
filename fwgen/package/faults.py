"""Why a package is refused: the codes that host, firmware and serial link share."""

from __future__ import annotations

from enum import IntEnum


class Fault(IntEnum):
    """enum fwgen_package_fault of rtos/include/fwgen_package.h."""

    GOOD = 0
    EMPTY = 1
    HEADER_CRC = 2
    FORMAT = 3
    BOARD = 4
    ACCELERATOR = 5
    LAYOUT = 6
    LENGTH = 7
    VARIANT = 8
    VERSION = 9
    UNSIGNED = 10
    SIGNATURE = 11
    CRC = 12
    DIGEST = 13
    TABLE = 14
    KERNEL = 15
    LIMIT = 16
    READ = 17
    SELF_TEST = 18
    BOOTS = 19


FAULT_WORDS = {
    Fault.GOOD: "the package is good",
    Fault.EMPTY: "this is no model package",
    Fault.HEADER_CRC: "the header is damaged",
    Fault.FORMAT: "the package has another version of the format",
    Fault.BOARD: "the package is for another board",
    Fault.ACCELERATOR: "the package is for another accelerator",
    Fault.LAYOUT: "the package is linked for another memory layout",
    Fault.LENGTH: "the package does not fit the slot",
    Fault.VARIANT: "the package is not linked for this slot",
    Fault.VERSION: "the package is older than what the device has confirmed",
    Fault.UNSIGNED: "the device accepts signed packages only",
    Fault.SIGNATURE: "the signature is not by the device's key",
    Fault.CRC: "the contents are damaged (CRC-32)",
    Fault.DIGEST: "the contents are damaged (SHA-256)",
    Fault.TABLE: "a table of the package points outside of it",
    Fault.KERNEL: "the package needs a CPU kernel that the firmware lacks",
    Fault.LIMIT: "the package has more tensors or operations than the firmware has room for",
    Fault.READ: "the flash cannot be read",
    Fault.SELF_TEST: "the self-test failed or gave a wrong result",
    Fault.BOOTS: "it was started too often without being confirmed",
}


def fault_words(code: int) -> str:
    """A fault as a sentence without a period."""
    try:
        return FAULT_WORDS[Fault(code)]
    except ValueError:
        return f"unknown reason {code}"
