"""Worst-case stack use of a linked image, and proof that nothing recurses.

Calls are read from the machine code itself, so that library calls that the
compiler inserts and tail calls count. A function's own frame is what the compiler
reported (-fcallgraph-info=su); for assembler and library code it is the sum of its
pushes. Calls through pointers go to constant tables in this runtime: the table
below says which, and the pointers are read out of the image.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fwgen.build.elf import Image, Symbol
from fwgen.errors import TaskError


@dataclass(frozen=True, slots=True)
class ExceptionFrames:
    """Bytes of stack that exceptions take, by who is interrupted.

    Attributes:
        task: on a task's stack, for an exception and a task switch.
        handler: on the main stack, for each handler, besides the handler's own.
    """

    task: int
    handler: int


FRAMES = {
    # An exception stacks eight words without floating point, the kernel's port r4 to r11.
    "cortex_m": ExceptionFrames(task=64, handler=32),
    # Of rtos/ports/cortex_a/context.S: 8 words, FPEXC, r4 to r11, FPSCR and d0 to d31; the
    # same 8 words, alignment, r4 to r6, lr, struct fwgen_fpu_record and the dispatcher.
    "cortex_a": ExceptionFrames(task=4 * (8 + 1 + 8 + 1 + 64), handler=32 + 16 + 16 + 264 + 64),
}
"""By architecture."""

_UART_DRIVERS = (r"fwgen_uart_[a-z0-9_]+",)

INDIRECT_CALLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"drivers/uart.*|fault/.*|link/console.*", _UART_DRIVERS),
    (r"link/cobs\.o:.*", ("send_bytes()",)),
    (r"link/answer\.o:.*", ("requests",)),
    (r"shell/.*", ("commands",)),
    (r"watchdog/.*", (r"fwgen_watchdog_(dw|cmsdk)",)),
    (r"nvmem/requests\.o:.*", ("slot_requests",)),
    (r"nvmem/nvmem\.o:\w*read\w*", (r"fwgen_nvmem_[a-z]+@1",)),
    (r"nvmem/(nvmem|slots)\.o:.*", (r"fwgen_nvmem_[a-z]+",)),
    (r"exec/executor\.o:.*", ("fwgen_kernels",)),
    (r"ports/cortex_a/port\.o:.*", ("fwgen_irq_handlers",)),
    (r"exec/.*:fwgen_accel\d_IRQHandler", (r"fwgen_\w+_driver@2",)),
    (
        r"exec/(accel|fair)\.o:(first_ready|choose_ready|fwgen_engine_(claim|next)|end_job|withdraw)",
        ("task_hooks", "place_last()"),
    ),
    (r"exec/(accel|fair)\.o:(fwgen_submit|fwgen_accel_submit\w*)", ("place_last()", "fair_policy")),
    (
        r"exec/(accel|fair)\.o:.*",
        (r"fwgen_\w+_driver", "fair_policy", "task_hooks", "place_last()"),
    ),
    (r"exec/.*", (r"fwgen_\w+_driver",)),
)
"""File of the runtime and caller (pattern) -> constant objects full of pointers (patterns)
that it calls through; "object@n" is only the pointer with index n, "function()" a function."""

FINAL_FUNCTIONS = ("fwgen_assert_failed",)
"""Functions that do not return. Code below them repeats checks that end in them again,
of things that the function has made sure of itself; such a call is no recursion."""

_FUNCTION = re.compile(r"^([0-9a-f]{8}) <([^>]+)>:$")
_TARGET = re.compile(r"^(?:\w+, )?([0-9a-f]+) <([^>]+)>")
_NODE = re.compile(
    r'node: \{ title: "[^"]*" label: "([^\\"]+)\\n[^"]*?\\n(\d+) bytes \((\w[^)]*)\)'
)
_CONDITION = "(?:eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"
_BRANCH = re.compile(rf"^(?:bl?{_CONDITION}?|blx|cbz|cbnz)(?:\.[nw])?$")
_LINK = re.compile(rf"^bl(?:x|{_CONDITION})?$")
_CALL_BY_REGISTER = re.compile(rf"^(blx|bx){_CONDITION}?$")
_RETURNS = ("lr", "pc")


@dataclass(slots=True)
class Function:
    """One function of the image.

    Attributes:
        frame: bytes of stack it takes itself.
        calls: addresses of the functions it calls or ends in.
        indirect: number of calls through pointers.
    """

    name: str
    address: int
    frame: int = 0
    calls: set[int] = field(default_factory=set)
    indirect: int = 0


@dataclass(frozen=True, slots=True)
class StackBound:
    """Worst case of one entry point.

    Attributes:
        entry: function the task or handler starts with.
        bytes: stack of it and everything below it.
        path: the deepest chain of calls.
    """

    entry: str
    bytes: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StackReport:
    """Stack use of an image.

    Attributes:
        tasks: bounds of task entries, context frames included.
        handlers: bounds of exception handlers, exception frame included.
        main: bound of the main stack: start-up, or all handlers nested.
        unresolved: functions whose calls through pointers are not in the table.
    """

    tasks: tuple[StackBound, ...]
    handlers: tuple[StackBound, ...]
    main: int
    unresolved: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The report as JSON-ready data."""

        def bounds(items: Iterable[StackBound]) -> list[dict[str, object]]:
            return [{"entry": b.entry, "bytes": b.bytes, "path": list(b.path)} for b in items]

        return {
            "tasks": bounds(self.tasks),
            "handlers": bounds(self.handlers),
            "main": self.main,
            "unresolved": list(self.unresolved),
        }


def read_frames(directory: Path) -> dict[str, int]:
    """Function -> largest frame that the compiler reported, from all .ci files."""
    frames: dict[str, int] = {}
    for path in sorted(directory.rglob("*.ci")):
        for name, size, kind in _NODE.findall(path.read_text(encoding="utf-8", errors="replace")):
            if "dynamic" in kind and "bounded" not in kind:
                raise TaskError(
                    f"{name} takes a variable amount of stack",
                    where=path.relative_to(directory).as_posix(),
                    expected="frames of fixed size",
                )
            frames[name] = max(frames.get(name, 0), int(size))
    return frames


def read_functions(objdump: str, elf: Path, frames: Mapping[str, int]) -> dict[int, Function]:
    """Address -> function, from the disassembly of an image."""
    done = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", str(elf)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise TaskError(f"objdump failed: {done.stderr.strip()}", where=str(elf))
    return parse_functions(done.stdout, frames)


def parse_functions(listing: str, frames: Mapping[str, int]) -> dict[int, Function]:
    """Address -> function, from the text of `objdump -d --no-show-raw-insn`."""
    functions: dict[int, Function] = {}
    current: Function | None = None
    for line in listing.splitlines():
        start = _FUNCTION.match(line)
        if start:
            current = Function(start[2], int(start[1], 16))
            functions[current.address] = current
            continue
        if current is None or ":\t" not in line:
            continue
        _, _, rest = line.partition(":\t")
        mnemonic, _, operands = rest.partition("\t")
        _note(current, mnemonic.strip(), operands.partition(";")[0].partition("@")[0].strip())
    for function in functions.values():
        reported = frames.get(function.name.partition(".")[0], frames.get(function.name))
        if reported is not None:
            function.frame = reported
    # Branches inside a function, and into data, are no calls.
    for function in functions.values():
        function.calls &= functions.keys()
    return functions


def _note(function: Function, mnemonic: str, operands: str) -> None:
    """Account for one instruction: stack it takes, function it calls."""
    base = mnemonic.partition(".")[0]
    by_register = _CALL_BY_REGISTER.match(base)
    if base in ("push", "stmdb") and (base == "push" or operands.startswith("sp!")):
        function.frame += 4 * _register_count(operands)
    elif base in ("sub", "subw") and operands.startswith("sp"):
        amount = re.search(r"#(\d+)", operands)
        function.frame += int(amount[1]) if amount else 0
    elif base == "vpush":
        function.frame += 8 * _register_count(operands)
    elif base == "str" and re.search(r"\[sp, #-(\d+)\]!", operands):
        function.frame += 4
    elif by_register:
        if "<" not in operands and (by_register[1] == "blx" or operands not in _RETURNS):
            function.indirect += 1
    elif base == "ldr" and operands.startswith("pc") and "[sp]" not in operands:
        function.indirect += 0 if function.name.endswith("_veneer") else 1
    if _BRANCH.match(mnemonic):
        target = _TARGET.match(operands)
        if target and "+0x" not in target[2] and target[2] != function.name:
            function.calls.add(int(target[1], 16))
        elif target and target[2] == function.name and _LINK.match(base):
            function.calls.add(function.address)


def _register_count(operands: str) -> int:
    count = 0
    for item in operands[operands.find("{") + 1 : operands.find("}")].split(","):
        first, dash, last = item.strip().partition("-")
        count += int(last[1:]) - int(first[1:]) + 1 if dash else 1
    return count


def resolve_indirect(
    functions: Mapping[int, Function], image: Image, owners: Mapping[str, str]
) -> list[str]:
    """Add the calls through pointers; return the functions the table does not know.

    `owners` maps a function's name to its object file.
    """
    unresolved = []
    for function in functions.values():
        if not function.indirect:
            continue
        name = function.name.partition(".")[0]
        file = owners.get(function.name, owners.get(name, "")).partition("rtos/")[2]
        targets: set[int] | None = None
        for caller, objects in INDIRECT_CALLS:
            if re.fullmatch(caller, f"{file}:{name}"):
                targets = _targets(objects, functions, image)
                break
        if targets is None:
            unresolved.append(function.name)
        else:
            function.calls |= targets - {function.address}
    return sorted(unresolved)


def _targets(
    objects: Iterable[str], functions: Mapping[int, Function], image: Image
) -> set[int] | None:
    """Functions that the objects point to; None if there is no such object."""
    found: set[int] = set()
    any_object = False
    for entry in objects:
        if entry.endswith("()"):
            named = {f.address for f in functions.values() if f.name == entry[:-2]}
            any_object |= bool(named)
            found |= named
            continue
        pattern, _, index = entry.partition("@")
        for symbol in image.symbols.values():
            if symbol.kind != "STT_OBJECT" or not re.fullmatch(pattern, symbol.name):
                continue
            any_object = True
            words = _words(image, symbol)
            if index:
                words = words[int(index) : int(index) + 1]
            found |= {word & ~1 for word in words}
    return found & functions.keys() if any_object else None


def object_words(image: Image, name: str) -> list[int]:
    """Contents of a constant object as words; empty if there is no such object."""
    symbol = image.symbols.get(name)
    return _words(image, symbol) if symbol is not None else []


def _words(image: Image, symbol: Symbol) -> list[int]:
    """Contents of an object as words; empty for memory without contents."""
    for section in image.sections:
        offset = symbol.address - section.address
        if section.data and 0 <= offset <= len(section.data) - symbol.size:
            data = section.data[offset : offset + symbol.size // 4 * 4]
            return [word for (word,) in struct.iter_unpack("<I", data)]
    return []


def find_cycle(functions: Mapping[int, Function], entries: Iterable[int]) -> list[str] | None:
    """Names along a cycle of calls that can be reached, or None."""
    state: dict[int, int] = {}  # 1: on the path, 2: done
    for entry in entries:
        path = [entry]
        stack = [iter(sorted(functions[entry].calls))] if entry in functions else []
        if state.get(entry) == 2 or not stack:
            continue
        state[entry] = 1
        while stack:
            callee = next(stack[-1], None)
            if callee is None:
                stack.pop()
                state[path.pop()] = 2
            elif state.get(callee) == 1:
                cycle = [*path[path.index(callee) :], callee]
                return [functions[address].name for address in cycle]
            elif callee not in state:
                state[callee] = 1
                path.append(callee)
                stack.append(iter(sorted(functions[callee].calls)))
    return None


def bound(functions: Mapping[int, Function], entry: int) -> StackBound:
    """Deepest stack below an entry; the calls must be free of cycles."""
    best: dict[int, tuple[int, int | None]] = {}
    order: list[int] = []
    seen = {entry}
    work = [(entry, iter(functions[entry].calls))]
    while work:
        address, calls = work[-1]
        callee = next(calls, None)
        if callee is None:
            order.append(address)
            work.pop()
        elif callee not in seen:
            seen.add(callee)
            work.append((callee, iter(functions[callee].calls)))
    for address in order:
        function = functions[address]
        deepest = max(((best[callee][0], callee) for callee in function.calls), default=(0, None))
        best[address] = (function.frame + deepest[0], deepest[1])
    path: list[str] = []
    position: int | None = entry
    while position is not None:
        path.append(functions[position].name)
        position = best[position][1]
    return StackBound(functions[entry].name, best[entry][0], tuple(path))


def stack_report(
    functions: Mapping[int, Function],
    image: Image,
    task_entries: Iterable[str],
    vectors: Iterable[int],
    owners: Mapping[str, str],
    frames: ExceptionFrames = FRAMES["cortex_m"],
) -> StackReport:
    """Bounds of all entries.

    Args:
        functions: of the image; calls through pointers are resolved here.
        image: the same image.
        task_entries: names of functions that tasks start with; absent ones are
            left out.
        vectors: addresses in the vector table, the first being Reset_Handler.
        owners: function -> its object file.
        frames: what exceptions take besides.

    Raises:
        TaskError: a function can call itself.
    """
    unresolved = resolve_indirect(functions, image, owners)
    by_name = {function.name: address for address, function in functions.items()}
    tasks = [by_name[name] for name in task_entries if name in by_name]
    handlers = [address & ~1 for address in vectors if address & ~1 in functions]
    _close_final(functions, by_name)
    cycle = find_cycle(functions, [*tasks, *handlers])
    if cycle:
        raise _recursion(cycle)
    task_bounds = []
    for address in tasks:
        found = bound(functions, address)
        total = found.bytes + frames.task
        task_bounds.append(StackBound(found.entry, total, found.path))
    reset = bound(functions, handlers[0]).bytes if handlers else 0
    handler_bounds = []
    for address in dict.fromkeys(handlers[1:]):
        found = bound(functions, address)
        handler_bounds.append(StackBound(found.entry, found.bytes + frames.handler, found.path))
    # Fault handlers end the program and the rest may nest once each.
    nested = sum(b.bytes for b in handler_bounds if not _is_fault(b))
    fault = max((b.bytes for b in handler_bounds if _is_fault(b)), default=0)
    return StackReport(
        tuple(task_bounds), tuple(handler_bounds), max(reset, nested + fault), tuple(unresolved)
    )


def _is_fault(handler: StackBound) -> bool:
    """Whether a handler ends the program, by itself or through a trampoline."""
    return any(name.endswith(_FAULTS) for name in handler.path[:2])


def _close_final(functions: Mapping[int, Function], by_name: Mapping[str, int]) -> None:
    """Make final functions leaves whose frame is the bound of all below them."""
    for name in FINAL_FUNCTIONS:
        if name not in by_name:
            continue
        address = by_name[name]
        function = functions[address]
        # Below it, a call to it counts nothing.
        reachable = set(function.calls)
        pending = list(reachable)
        while pending:
            for callee in functions[pending.pop()].calls - reachable:
                reachable.add(callee)
                pending.append(callee)
        below = {
            key: Function(f.name, f.address, f.frame, f.calls - {address})
            for key, f in functions.items()
            if key in reachable or key == address
        }
        cycle = find_cycle(below, [address])
        if cycle:
            raise _recursion(cycle)
        function.frame = bound(below, address).bytes
        function.calls = set()


def _recursion(cycle: Iterable[str]) -> TaskError:
    return TaskError(
        "recursion: " + " -> ".join(cycle),
        where="firmware.elf",
        expected="a bounded stack on the target",
    )


_FAULTS = (
    "fwgen_fault_report",
    "NMI_Handler",
    "HardFault_Handler",
    "MemManage_Handler",
    "BusFault_Handler",
    "UsageFault_Handler",
    "fwgen_default_IRQHandler",
)
