"""Non-volatile memory as the templates print it: device, partitions, slots."""

from __future__ import annotations

from dataclasses import dataclass

from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.codegen.model import c_string
from fwgen.errors import UsageError
from fwgen.plan.slots import slot_layout

KEY_SIZE = 32

_DRIVERS = {"ram": "ram.c", "cfi_nor": "cfi.c", "user": None}
"""Driver of the profile -> file in rtos/nvmem/."""

_SYMBOLS = {"ram": "fwgen_nvmem_ram", "cfi_nor": "fwgen_nvmem_cfi", "user": "fwgen_nvmem_user"}
_KINDS = {
    "raw": "FWGEN_PARTITION_RAW",
    "settings": "FWGEN_PARTITION_SETTINGS",
    "state": "FWGEN_PARTITION_STATE",
    "slot": "FWGEN_PARTITION_SLOT",
}


@dataclass(frozen=True, slots=True)
class PartitionText:
    """One initialiser of a struct fwgen_partition."""

    name: str
    offset: str
    size: str
    kind: str


@dataclass(frozen=True, slots=True)
class NvmemText:
    """What src/nvmem.c says.

    Attributes:
        files: of rtos/nvmem/ that are left out of the build.
        slots, state, settings: indices of partitions; settings -1: none.
        key: bytes of the public key, "" without one.
    """

    driver: str
    left_out: tuple[str, ...]
    base: str
    size: str
    erase_size: int
    program_size: int
    partitions: tuple[PartitionText, ...]
    slots: tuple[int, ...]
    state: int
    settings: int
    layout_hash: str
    run_base: str
    run_size: str
    tensor_base: str
    tensor_size: str
    key: str


def nvmem_text(board: Board, options: BuildOptions) -> NvmemText | None:
    """The non-volatile memory of a build; None where it is switched off.

    Raises:
        UsageError: the board has no slots, or a key is no key.
    """
    if not options.nvmem:
        if options.update_key is not None or options.anti_rollback:
            raise UsageError(
                "a key or an anti-rollback counter needs model slots",
                where="build options",
                expected="--nvmem too",
            )
        return None
    layout = slot_layout(board)
    nvmem = board.nvmem
    assert nvmem is not None
    memory = board.memory(nvmem.memory)
    kinds = [part.kind for part in nvmem.partitions]
    left_out = {name for name in _DRIVERS.values() if name and name != _DRIVERS[nvmem.driver]}
    if options.update_key is None:
        left_out |= {"ed25519.c", "field25519.c", "sha512.c"}
    run = board.memory(nvmem.run) if nvmem.run is not None else None
    return NvmemText(
        driver=_SYMBOLS[nvmem.driver],
        left_out=tuple(sorted(left_out)),
        base=f"0x{memory.base:08x}u",
        size=f"0x{memory.size:x}u",
        erase_size=nvmem.erase_size,
        program_size=nvmem.program_size,
        partitions=tuple(
            PartitionText(
                c_string(part.name), f"0x{part.offset:x}u", f"0x{part.size:x}u", _KINDS[part.kind]
            )
            for part in nvmem.partitions
        ),
        slots=tuple(index for index, kind in enumerate(kinds) if kind == "slot"),
        state=kinds.index("state"),
        settings=kinds.index("settings") if "settings" in kinds else -1,
        layout_hash=_bytes(layout.hash),
        run_base=f"0x{run.base if run else 0:08x}u",
        run_size=f"0x{run.size if run else 0:x}u",
        tensor_base=f"0x{layout.tensors[0]:08x}u",
        tensor_size=f"0x{layout.tensors[1]:x}u",
        key=_bytes(_key(options.update_key)),
    )


def _key(text: str | None) -> bytes:
    if text is None:
        return b""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_SIZE:
        raise UsageError(
            "this is no Ed25519 public key",
            where="update_key",
            expected=f"{KEY_SIZE} bytes as hex digits",
            hints=("`fwgen pack --public-key KEY.pem` prints the public key of a private one.",),
        )
    return key


def _bytes(data: bytes) -> str:
    return ", ".join(f"0x{byte:02x}" for byte in data)
