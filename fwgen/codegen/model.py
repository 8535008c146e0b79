"""The facts of one compiled model as the templates print them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fwgen.errors import ModelError
from fwgen.plan.layout import Layout, Placement
from fwgen.program.encode import EncodedLine
from fwgen.program.program import Program, Role, Tensor
from fwgen.program.relocation import contents as relocated

LINE_WIDTH = 80
WORDS_PER_LINE = 5
IDENTIFIER_LENGTH = 28
PAYLOAD_INDENT = "    "

_DTYPES = {
    "int8": "FWGEN_INT8",
    "uint8": "FWGEN_UINT8",
    "int16": "FWGEN_INT16",
    "uint16": "FWGEN_UINT16",
    "float16": "FWGEN_FLOAT16",
    "float32": "FWGEN_FLOAT32",
}
_LAYOUTS = {"NCHW": "FWGEN_NCHW", "NHWC": "FWGEN_NHWC", "NCxHWx": "FWGEN_NCXHWX"}


@dataclass(frozen=True, slots=True)
class TensorText:
    """One initialiser of a struct fwgen_tensor, as C text."""

    name: str
    address: str
    size: int
    shape: str
    strides: str
    scale: str
    zero_point: int
    dtype: str
    layout: str
    atom: int


@dataclass(frozen=True, slots=True)
class ConstantText:
    """One constant buffer: a symbol in the weights file.

    Attributes:
        symbol: global symbol of its first byte.
        offset: bytes from the start of its section.
        size: bytes.
        file_offset: where its bytes begin in the binary file.
        address: where the linker puts it.
        comment: origin in the model.
    """

    symbol: str
    offset: int
    size: int
    file_offset: int
    address: int
    comment: str


@dataclass(frozen=True, slots=True)
class ConstantSection:
    """The constant buffers of one model in one region.

    Attributes:
        section: input and output section name.
        symbol: base of the symbols that the linker script defines.
        region: the board's region where they are at run time.
        load_region: the region that holds them before the boot copy, or None.
        address: of the first byte.
        size: bytes from there to the end of the last buffer.
    """

    section: str
    symbol: str
    region: str
    load_region: str | None
    address: int
    size: int
    buffers: tuple[ConstantText, ...]


@dataclass(frozen=True, slots=True)
class ModelText:
    """Everything about one model.

    Attributes:
        name: as in the model.
        identifier: C identifier, unique in the image.
        program_lines: body of the array, formatted, 80 columns.
        pipelined_lines: the same of the pipelined program; empty without one.
        inputs, outputs: those of the second bank behind those of the first.
        weights: contents of the binary file, empty when there are no constants.
    """

    name: str
    identifier: str
    family: str
    config: str
    sha256: str
    accelerator: int
    interrupt_mask: str
    layout_hash: str
    word_count: int
    program_lines: tuple[str, ...]
    operation_names: tuple[str, ...]
    operation_count: int
    inputs: tuple[TensorText, ...]
    outputs: tuple[TensorText, ...]
    bank_count: int
    pipeline_depth: int
    pipelined_word_count: int
    pipelined_lines: tuple[str, ...]
    constants: tuple[ConstantSection, ...]
    weights: bytes


def describe_model(
    program: Program,
    layout: Layout,
    lines: Sequence[EncodedLine],
    pipelined: Sequence[EncodedLine] = (),
    *,
    identifier: str,
    accelerator: int,
) -> ModelText:
    """Collect what the templates need of a model.

    Raises:
        ModelError: a tensor has a type or order that the runtime does not know.
    """
    constants, weights = _constants(program, layout, identifier)
    digest = layout_hash(program, layout)
    return ModelText(
        name=program.model_name,
        identifier=identifier,
        family=program.family,
        config=program.config,
        sha256=program.model_sha256,
        accelerator=accelerator,
        interrupt_mask=f"0x{program.interrupt_mask:08x}u",
        layout_hash=", ".join(f"0x{byte:02x}" for byte in digest),
        word_count=sum(len(line.words) for line in lines),
        program_lines=tuple(_program_lines(program, lines)),
        operation_names=tuple(c_string(op.name) for op in program.operations),
        operation_count=len(program.operations),
        inputs=_banks(program.inputs(), program, layout),
        outputs=_banks(program.outputs(), program, layout),
        bank_count=2 if program.banks else 1,
        pipeline_depth=program.pipeline_depth,
        pipelined_word_count=sum(len(line.words) for line in pipelined),
        pipelined_lines=tuple(_program_lines(program, pipelined)),
        constants=constants,
        weights=weights,
    )


def c_identifier(name: str, taken: Sequence[str] = ()) -> str:
    """A lower-case C identifier made from a model's name, different from all of `taken`."""
    text = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "model"
    text = text[:IDENTIFIER_LENGTH].rstrip("_")
    candidate = text
    number = 2
    while candidate in taken:
        candidate = f"{text}_{number}"
        number += 1
    return candidate


def c_string(text: str) -> str:
    """A C string literal; anything but printable ASCII becomes an octal escape."""
    parts = []
    for byte in text.encode("utf-8"):
        char = chr(byte)
        if char in '"\\?':
            parts.append("\\" + char)
        elif 32 <= byte < 127:
            parts.append(char)
        else:
            parts.append(f"\\{byte:03o}")
    return '"' + "".join(parts) + '"'


def c_comment(text: str) -> str:
    """Text that is safe inside a C comment: one line of printable ASCII."""
    plain = "".join(char if 32 <= ord(char) < 127 else "?" for char in text)
    return plain.replace("*/", "* /").replace("/*", "/ *").rstrip("\\")


def layout_hash(program: Program, layout: Layout) -> bytes:
    """Eight bytes that change when a buffer or a bound tensor lies elsewhere."""
    facts = {
        "placements": [[p.buffer, p.address, p.size] for p in layout.placements],
        "tensors": [
            [t.name, t.direction.value, t.bind_index, t.buffer, t.offset, t.size, t.layout]
            for t in program.tensors
        ],
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:8]


def _banks(tensors: Sequence[Tensor], program: Program, layout: Layout) -> tuple[TensorText, ...]:
    """Tensors of the first bank, then those of the second if there is one."""
    second = dict(program.banks)
    found = [_tensor(t, layout) for t in tensors]
    if second:
        found += [_tensor(replace(t, buffer=second[t.buffer]), layout) for t in tensors]
    return tuple(found)


def _tensor(tensor: Tensor, layout: Layout) -> TensorText:
    address = layout.address(tensor.buffer) + tensor.offset
    for kind, known in ((tensor.dtype, _DTYPES), (tensor.layout, _LAYOUTS)):
        if kind not in known:
            raise ModelError(
                f"the runtime does not know {kind!r}",
                where=f"{tensor.direction.value} {tensor.name}",
                expected="one of " + ", ".join(known),
            )
    has_scale = tensor.scale is not None and math.isfinite(tensor.scale)
    return TensorText(
        name=c_string(tensor.name),
        address=f"0x{address:08x}u",
        size=tensor.size,
        shape=", ".join(str(extent) for extent in tensor.shape),
        strides=", ".join(str(stride) for stride in tensor.strides),
        scale=f"{float(tensor.scale or 0.0)!r}f" if has_scale else "0.0f",
        zero_point=tensor.zero_point or 0,
        dtype=_DTYPES[tensor.dtype],
        layout=_LAYOUTS[tensor.layout],
        atom=tensor.atom,
    )


def _constants(
    program: Program, layout: Layout, identifier: str
) -> tuple[tuple[ConstantSection, ...], bytes]:
    """Sections of constant buffers, and the binary file with all contents in order."""
    by_place: dict[tuple[str, str | None], list[Placement]] = {}
    for placement in layout.placements:
        if program.buffers[placement.buffer].role is Role.CONSTANT:
            place = (placement.region, placement.load_region)
            by_place.setdefault(place, []).append(placement)
    sections = []
    contents = bytearray()
    for (region, load_region), placements in sorted(
        by_place.items(), key=lambda item: (item[0][0], item[0][1] or "")
    ):
        placements.sort(key=lambda placement: placement.address)
        base = placements[0].address
        buffers = []
        for placement in placements:
            buffer = program.buffers[placement.buffer]
            data = relocated(buffer, layout)
            buffers.append(
                ConstantText(
                    symbol=f"model_{identifier}_{buffer.name}",
                    offset=placement.address - base,
                    size=len(data),
                    file_offset=len(contents),
                    address=placement.address,
                    comment=c_comment(buffer.origin),
                )
            )
            contents += data
        last = buffers[-1]
        suffix = f"{identifier}_{region}"
        sections.append(
            ConstantSection(
                section=f".constants.{suffix}",
                symbol=f"__constants_{suffix}",
                region=region,
                load_region=load_region,
                address=base,
                size=last.offset + last.size,
                buffers=tuple(buffers),
            )
        )
    return tuple(sections), bytes(contents)


def _program_lines(program: Program, lines: Sequence[EncodedLine]) -> list[str]:
    """The array's body: a comment per operation, register names at each run."""
    out: list[str] = []
    for line in lines:
        if line.starts_operation and line.operation is not None:
            operation = program.operations[line.operation]
            if out:
                out.append("")
            title = f"{operation.name}: {operation.unit}, {operation.summary}"
            out += _comment(title)
        words = [f"0x{word:08x}u," for word in line.words]
        comment = c_comment(line.text)
        if len(words) <= 2:
            text = f"{PAYLOAD_INDENT}{' '.join(words)} /* {comment} */"
            if len(text) <= LINE_WIDTH:
                out.append(text)
                continue
        out += _comment(comment)
        for start in range(0, len(words), WORDS_PER_LINE):
            out.append(PAYLOAD_INDENT + " ".join(words[start : start + WORDS_PER_LINE]))
    return out


def _comment(text: str) -> list[str]:
    """A comment of one or more lines of at most 80 columns."""
    words = c_comment(text).split(" ")
    lines = [f"{PAYLOAD_INDENT}/*"]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > LINE_WIDTH - 3 and lines[-1].strip() not in ("/*", "*"):
            lines.append(f"{PAYLOAD_INDENT} *")
        lines[-1] += f" {word}" if word else " "
    lines[-1] += " */"
    return lines
