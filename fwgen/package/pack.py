"""From a compiled model to a package for the slots of a board.

The model is planned and encoded for the addresses that it will have on the device: once
for models that are copied to one place, once for each slot where they stay.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fwgen.board.types import Board
from fwgen.build.options import BuildOptions
from fwgen.codegen.model import layout_hash
from fwgen.codegen.words import EncodedProgram, encode_program
from fwgen.errors import FitError, ModelError, UsageError
from fwgen.machine.link import DTYPES, LAYOUTS
from fwgen.machine.tensors import load, resolve
from fwgen.model import load_model
from fwgen.package import format
from fwgen.package.format import HEADER_SIZE, Header, Table, TensorRecord, Variant
from fwgen.package.relocated import layout_at, with_copies
from fwgen.package.signing import Signer
from fwgen.package.verify import TENSOR_LIMIT, Device, verify
from fwgen.pipeline import lower_model
from fwgen.plan.layout import Layout
from fwgen.plan.planner import PlanOptions, plan
from fwgen.plan.slots import SlotLayout, slot_board, slot_kernels, slot_layout, tensor_range
from fwgen.program.commands import Command, Cpu, Only
from fwgen.program.encode import all_words
from fwgen.program.program import Program, Role, Tensor
from fwgen.program.relocation import contents

OPERATION_LIMIT = 256
"""Operations that every firmware with slots has room for (SLOT_OPERATIONS)."""

_DTYPE_CODES = {name: code for code, name in DTYPES.items()}
_LAYOUT_CODES = {name: code for code, name in LAYOUTS.items()}


@dataclass(frozen=True, slots=True)
class SelfTest:
    """An inference whose result is known: files as `fwgen run` takes them, by tensor."""

    inputs: Mapping[str, Path]
    outputs: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class PackOptions:
    """What a user chooses.

    Attributes:
        name: of the model; None: as in the file.
        version: counter that devices with anti-rollback compare.
        pipeline_depth: 1, 2 or 4; at most the firmware's.
        self_test: lets the device confirm the model by itself.
        sign: signs the header's first 384 bytes; None: unsigned.
    """

    name: str | None = None
    version: int = 0
    pipeline_depth: int = 1
    self_test: SelfTest | None = None
    sign: Signer | None = None


@dataclass(frozen=True, slots=True)
class Package:
    """A package and what it was made of."""

    data: bytes
    header: Header
    program: Program


def pack_model(path: Path, board: Board, options: PackOptions = PackOptions()) -> Package:  # noqa: B008
    """Pack a compiled model for a board.

    Raises:
        UsageError: the board has no slots, or the self-test is for other tensors.
        ModelError: the board's accelerator cannot run the model from a slot.
        FitError: the package is larger than a slot, or the tensors do not fit.
    """
    slots = slot_layout(board)
    if not 0 <= options.version < 1 << 32:
        raise UsageError(
            f"version {options.version} does not exist",
            where="pack options",
            expected="a number of 32 bits",
        )
    model = load_model(path)
    build = BuildOptions(pipeline_depth=options.pipeline_depth)
    accelerator, program = lower_model(model, board, build)
    program = replace(program, model_name=options.name or path.stem)
    _check(program)
    index = board.accelerators.index(accelerator)
    planned = with_copies(program, len(slots.bases))
    variants = []
    writer: _Writer | None = None
    for number, base in enumerate(slots.bases):
        narrowed = slot_board(board, base)
        whole = plan(planned, narrowed, PlanOptions(weights="in-place"))
        layout = layout_at(program, whole, number)
        writer = writer or _Writer(planned, whole, base)
        writer.check_same_place(whole, base)
        writer.add_constants(program, layout, base)
        variants.append((base, layout, encode_program(program, layout, narrowed)))
    assert writer is not None
    tables = tuple(
        Variant(base, writer.add_variant(layout, encoded, index))
        for base, layout, encoded in variants
    )
    self_test = writer.add_self_test(options.self_test) if options.self_test else 0
    header = Header(
        layout_hash=slots.hash,
        board=board.name,
        accelerator=f"{accelerator.family}/{accelerator.config}",
        name=program.model_name,
        length=0,
        version=options.version,
        digest=bytes(32),
        crc=0,
        kernels=_kernels(program),
        self_test=self_test,
        variants=tables,
    )
    data = format.seal(header, bytes(writer.payload))
    if len(data) > slots.room:
        raise FitError(
            f"the package has {len(data)} bytes, {len(data) - slots.room} more than a slot",
            where=f"board {board.name}",
            expected=f"at most {slots.room} bytes",
            hints=("Enlarge the slots in the profile, or pack a smaller model.",),
        )
    if options.sign is not None:
        header = format.decode_header(data)
        header = replace(header, signature=options.sign(header.signed_part()))
        data = header.encode() + data[HEADER_SIZE:]
    for base in slots.bases:
        fault = verify(data, expected_device(board, base))
        assert not fault, f"a package of our own is refused: {fault.name}"
    return Package(data, format.decode_header(data), program)


def write_package(package: Package, path: Path) -> None:
    """Write a package file, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(package.data)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(
            f"cannot write the package: {error.strerror}",
            where=str(path),
            expected="a file in a folder that can be written",
        ) from None


def expected_device(board: Board, base: int, *, pipeline_depth: int = 4) -> Device:
    """What firmware of a board with slots asks of a package that runs at `base`."""
    slots: SlotLayout = slot_layout(board)
    return Device(
        board=board.name,
        accelerators=tuple(f"{a.family}/{a.config}" for a in board.accelerators),
        layout_hash=slots.hash,
        room=slots.room,
        base=base,
        tensors=slots.tensors,
        operations=OPERATION_LIMIT,
        pipeline=pipeline_depth,
        kernels=sum(1 << int(kernel) for kernel in slot_kernels(board)),
    )


def _check(program: Program) -> None:
    where = f"model {program.model_name}"
    count = len(program.tensors) * (2 if program.banks else 1)
    for what, number, limit in (
        ("tensors", count, TENSOR_LIMIT),
        ("operations", len(program.operations), OPERATION_LIMIT),
    ):
        if number > limit:
            raise ModelError(
                f"the model has {number} {what}", where=where, expected=f"at most {limit} in a slot"
            )
    for buffer in program.buffers:
        if buffer.data is not None and buffer.role is not Role.CONSTANT:
            raise ModelError(
                f"buffer '{buffer.name}' needs initial contents",
                where=where,
                expected="a model whose tensors start from zero",
            )


def _kernels(program: Program) -> int:
    mask = 0
    pending: list[Command] = [*program.commands, *program.pipelined]
    while pending:
        command = pending.pop()
        if isinstance(command, Only):
            pending += command.commands
        elif isinstance(command, Cpu):
            mask |= 1 << int(command.kernel)
    return mask


class _Writer:
    """Puts the payload together; weights first, so that they are where they were planned."""

    def __init__(self, program: Program, layout: Layout, base: int) -> None:
        self.program = program
        self.offsets = {
            buffer.id: layout.address(buffer.id) - base
            for buffer in program.buffers
            if buffer.role is Role.CONSTANT
        }
        ends = [self.offsets[b.id] + b.size for b in program.buffers if b.id in self.offsets]
        self.payload = bytearray(max(ends, default=HEADER_SIZE) - HEADER_SIZE)
        self._names: dict[str, int] = {}

    def check_same_place(self, layout: Layout, base: int) -> None:
        """Weights stand in the package once: they must suit all its addresses."""
        for number, offset in self.offsets.items():
            if layout.address(number) - base != offset:
                raise ModelError(
                    f"buffer '{self.program.buffers[number].name}' lies elsewhere in each slot",
                    expected="slots whose addresses are equally aligned",
                )

    def add_constants(self, program: Program, layout: Layout, base: int) -> None:
        """Put the constants of one address in their places, with the addresses they hold."""
        for buffer in program.buffers:
            if buffer.role is Role.CONSTANT:
                at = layout.address(buffer.id) - base - HEADER_SIZE
                assert at >= 0 and buffer.data is not None
                self.payload[at : at + len(buffer.data)] = contents(buffer, layout)

    def add(self, data: bytes) -> int:
        """Append at a multiple of 64; returns the offset in the package."""
        end = HEADER_SIZE + len(self.payload)
        self.payload += bytes(-end % format.ALIGNMENT)
        offset = HEADER_SIZE + len(self.payload)
        self.payload += data
        return offset

    def add_variant(self, layout: Layout, encoded: EncodedProgram, accelerator: int) -> int:
        """Append programs and table for one address."""
        program = encoded.program
        words = all_words(encoded.lines)
        pipelined = all_words(encoded.pipelined)
        at = self.add(_word_bytes(words))
        table = Table(
            program=(at, len(words)),
            pipelined=(self.add(_word_bytes(pipelined)), len(pipelined)) if pipelined else (0, 0),
            interrupt_mask=program.interrupt_mask,
            inputs=len(program.inputs()),
            outputs=len(program.outputs()),
            operations=len(program.operations),
            accelerator=accelerator,
            pipeline_depth=program.pipeline_depth,
            banks=2 if program.banks else 1,
            layout_hash=layout_hash(program, layout),
            clear=tensor_range(layout),
            tensors=tuple(self._tensors(layout)),
        )
        return self.add(table.encode())

    def _tensors(self, layout: Layout) -> list[TensorRecord]:
        """Inputs of the first bank, of the second; then outputs the same way."""
        second = dict(self.program.banks)
        records = []
        for tensors in (self.program.inputs(), self.program.outputs()):
            records += [self._record(t, layout) for t in tensors]
            if second:
                records += [
                    self._record(replace(t, buffer=second[t.buffer]), layout) for t in tensors
                ]
        return records

    def _record(self, tensor: Tensor, layout: Layout) -> TensorRecord:
        for kind, known in ((tensor.dtype, _DTYPE_CODES), (tensor.layout, _LAYOUT_CODES)):
            if kind not in known:
                raise ModelError(
                    f"the runtime does not know {kind!r}",
                    where=f"{tensor.direction.value} {tensor.name}",
                    expected="one of " + ", ".join(known),
                )
        if tensor.name not in self._names:
            self._names[tensor.name] = self.add(format.name_field(tensor.name))
        has_scale = tensor.scale is not None and math.isfinite(tensor.scale)
        return TensorRecord(
            name=self._names[tensor.name],
            address=layout.address(tensor.buffer) + tensor.offset,
            size=tensor.size,
            shape=tensor.shape,
            strides=tensor.strides,
            scale=float(tensor.scale or 0.0) if has_scale else 0.0,
            zero_point=tensor.zero_point or 0,
            dtype=_DTYPE_CODES[tensor.dtype],
            layout=_LAYOUT_CODES[tensor.layout],
            atom=tensor.atom,
        )

    def add_self_test(self, test: SelfTest) -> int:
        """Append inputs and the digest of the outputs."""
        inputs = _in_order(self.program.inputs(), test.inputs, "input")
        outputs = _in_order(self.program.outputs(), test.outputs, "output")
        return self.add(format.self_test_block(inputs, outputs))


def _in_order(tensors: tuple[Tensor, ...], given: Mapping[str, Path], what: str) -> bytes:
    files = resolve(tensors, given)
    for number, tensor in enumerate(tensors):
        if number not in files:
            raise UsageError(
                f"the self-test lacks {what} '{tensor.name}'",
                where="pack options",
                expected=f"every {what} of the model: {', '.join(t.name for t in tensors)}",
            )
    return b"".join(load(files[number], tensor) for number, tensor in enumerate(tensors))


def _word_bytes(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)
