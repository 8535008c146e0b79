"""Makes a project: render, compile, check the image, report (called by firmware.py)."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from fwgen.board.types import Board
from fwgen.build import result as names
from fwgen.build.application import FOLDER, Application
from fwgen.build.artefacts import write_file, write_images
from fwgen.build.elf import Image, read_image
from fwgen.build.freertos import Kernel, find_kernel, kernel_digest
from fwgen.build.options import BuildOptions
from fwgen.build.result import BuildResult
from fwgen.build.scons import HEAP_SYMBOLS, heap_error, run_scons
from fwgen.build.size import SizeReport, function_owners, read_pieces, size_report
from fwgen.build.stack import (
    FRAMES,
    StackReport,
    object_words,
    read_frames,
    read_functions,
    stack_report,
)
from fwgen.build.stamp import remove_stamp, request_hash, up_to_date, write_stamp
from fwgen.build.toolchain import Toolchain, check_core, find_toolchain, newlib_version
from fwgen.codegen.context import ModelPlan, ProjectContext, project_context
from fwgen.codegen.render import render_project
from fwgen.codegen.tree import write_tree
from fwgen.errors import TaskError, UsageError
from fwgen.plan.placement import placement_costs
from fwgen.program.summary import operations_data
from fwgen.resources import resource_dir

TASK_ENTRIES = ("engine_task", "link_task", "start_task", "supervisor", "prvIdleTask")
"""Functions that the runtime's tasks start with."""

FAULT_REPORT = "fwgen_fault_report"
FAULT_STACK_BYTES = 1024
"""On Cortex-A faults are reported on a stack of their own (rtos/fault/fault_cortex_a.c)."""

A_HANDLERS = ("Reset_Handler", "fwgen_timer_interrupt", FAULT_REPORT)
A_HANDLER_TABLE = "fwgen_irq_handlers"
"""On Cortex-A: functions and the table that the port calls handlers from."""

KNOWN_SECTIONS = frozenset(
    (".vectors", ".text", ".rodata", ".ARM.exidx", ".stack", ".data", ".bss", ".noinit")
)


def build_image(
    plans: Sequence[ModelPlan],
    board: Board,
    out_dir: Path,
    options: BuildOptions,
    *,
    request: str = "",
    progress: Callable[[str], None] = lambda _line: None,
) -> BuildResult:
    """Make the project of several models; see `firmware.build`."""
    models = [plan.program.model_sha256 for plan in plans]
    content = _content_hash(plans)
    kernel = find_kernel(options.freertos, progress)
    current = up_to_date(out_dir, models, board, options, request, content=content)
    if current is not None:
        return current
    toolchain = find_toolchain()
    check_core(toolchain, board.cpu.core)
    context = project_context(plans, board, options)
    files = project_files(context, kernel, options.app)
    try:
        remove_stamp(out_dir)
        progress("writing sources")
        write_tree(out_dir, files)
        try:
            progress("compiling")
            run_scons(out_dir, toolchain, options.jobs, context.link)
            progress("checking the image")
            image = read_image(out_dir / names.ELF)
            _check_image(image, context)
            produced = _write_reports(
                out_dir, image, context, plans, board, options, toolchain, kernel
            )
        except TaskError as error:
            _discard(out_dir)
            raise _at_the_users_file(error, options.app) from None
        except BaseException:
            _discard(out_dir)
            raise
        write_stamp(
            out_dir,
            [*files, names.ELF, names.MAP, names.COMPILE_COMMANDS, *produced],
            request_hash(models, board, options, request),
            content,
        )
    except OSError as error:
        raise UsageError(
            f"cannot write the project: {error.strerror or error}",
            where=str(error.filename or out_dir),
            expected="a directory that can be written, with room for the project",
        ) from error
    return BuildResult(out_dir, changed=True)


def _content_hash(plans: Sequence[ModelPlan]) -> str:
    digest = hashlib.sha256()
    for plan in plans:
        for buffer in plan.program.buffers:
            digest.update(hashlib.sha256(buffer.data or b"").digest())
        bare = tuple(replace(buffer, data=None) for buffer in plan.program.buffers)
        digest.update(repr((replace(plan.program, buffers=bare), plan.layout)).encode())
    return digest.hexdigest()


def project_files(
    context: ProjectContext, kernel: Kernel, app: Application | None = None
) -> dict[str, bytes]:
    """Every source file of a project: generated, runtime, kernel, the application's own."""
    files = render_project(context)
    runtime = resource_dir("rtos")
    for name in context.runtime_files:
        files[f"rtos/{name}"] = (runtime / name).read_bytes()
    for name, path in kernel.files(with_port=not context.kernel_config.is_cortex_a).items():
        files[f"kernel/{name}"] = path.read_bytes()
    if app is not None:
        files |= app.contents()
    return files


def _at_the_users_file(error: TaskError, app: Application | None) -> TaskError:
    """The same error, pointing at the application's file instead of its copy."""
    if app is None or not (error.where or "").startswith(f"{FOLDER}/"):
        return error
    assert error.where is not None
    return TaskError(
        error.message,
        where=str(app.root / error.where.removeprefix(f"{FOLDER}/")),
        expected=error.expected,
        hints=error.hints,
    )


def _discard(directory: Path) -> None:
    """Leave no image behind that is not what was asked for."""
    reports = (names.SIZE, names.MEMORY_MAP, names.OPERATIONS, names.BUILD_INFO)
    patterns = ("firmware.*", *reports)
    for pattern in patterns:
        for path in directory.glob(pattern):
            path.unlink()


def _check_image(image: Image, context: ProjectContext) -> None:
    """Rules that every image keeps."""
    heap = sorted(HEAP_SYMBOLS.intersection(image.symbols))
    if heap:
        raise heap_error(heap)
    known = set(KNOWN_SECTIONS)
    known |= {section.section for section in context.link.constants}
    known |= {section.section for section in context.link.arenas}
    strange = [section.name for section in image.sections if section.name not in known]
    if strange:
        raise TaskError(
            "sections without a place: " + ", ".join(strange),
            where=names.ELF,
            expected="every section named in memory.ld",
        )
    for model in context.models:
        for constants in model.constants:
            for buffer in constants.buffers:
                symbol = image.symbols.get(buffer.symbol)
                if symbol is None or symbol.address != buffer.address:
                    raise TaskError(
                        f"{buffer.symbol} is not at its planned address",
                        where=names.ELF,
                        expected=f"0x{buffer.address:08x}",
                    )


def _write_reports(
    directory: Path,
    image: Image,
    context: ProjectContext,
    plans: Sequence[ModelPlan],
    board: Board,
    options: BuildOptions,
    toolchain: Toolchain,
    kernel: Kernel,
) -> list[str]:
    """Write every artefact beside the ELF file; returns their names."""
    elf = directory / names.ELF
    pieces = read_pieces((directory / names.MAP).read_text(encoding="utf-8", errors="replace"))
    sizes = size_report(
        image.sections,
        pieces,
        [(memory.name, memory.base, memory.size) for memory in board.memories],
    )
    functions = read_functions(toolchain.tool("objdump"), elf, read_frames(directory / "obj"))
    own_tasks = options.app.tasks if options.app is not None else ()
    for name in own_tasks:
        if all(function.name != name for function in functions.values()):
            raise TaskError(
                f"there is no function {name} in the image",
                where="tasks of the application",
                expected="names of functions that its tasks start with",
            )
    entries = (*TASK_ENTRIES, *own_tasks)
    stacks = stack_report(
        functions,
        image,
        entries,
        _handlers(image, context),
        function_owners(pieces),
        FRAMES[context.architecture],
    )
    _check_stacks(stacks, options, options.main_stack(context.architecture))
    produced = write_images(
        directory,
        image.sections,
        image.entry,
        [(memory.name, memory.base, memory.end) for memory in board.memories],
        board.code.name,
        f"fwgen {board.name}" if context.kernel_config.is_cortex_a else None,
    )
    reports = {
        names.SIZE: _size_json(sizes, stacks, plans),
        names.MEMORY_MAP: _memory_map(image, plans, board),
        names.OPERATIONS: {"models": [operations_data(plan.program) for plan in plans]},
    }
    for name, data in reports.items():
        write_file(directory / name, _json(data))
    hashed = [names.ELF, *produced]
    info = _build_info(context, plans, board, options, toolchain, kernel)
    info["files"] = {
        name: hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in hashed
    }
    write_file(directory / names.BUILD_INFO, _json(info))
    return [*produced, *reports, names.BUILD_INFO]


def _handlers(image: Image, context: ProjectContext) -> list[int]:
    """Reset_Handler, then the handlers of exceptions and interrupts."""
    if context.kernel_config.is_cortex_a:
        found = [image.symbols[name].address for name in A_HANDLERS if name in image.symbols]
        return found + object_words(image, A_HANDLER_TABLE)
    for section in image.sections:
        if section.name == ".vectors":
            words = [word for (word,) in struct.iter_unpack("<I", section.data)]
            return [word for word in words[1:] if word]
    return []


def _check_stacks(stacks: StackReport, options: BuildOptions, main_stack: int) -> None:
    limits = {
        "engine_task": ("stack_words", options.stack_words * 4),
        "link_task": ("link_stack_words", options.link_stack_words * 4),
    }
    for task in stacks.tasks:
        if task.entry in limits:
            option, limit = limits[task.entry]
            if task.bytes > limit:
                raise TaskError(
                    f"the stack of {task.entry} is too small: {option} gives {limit} bytes",
                    where=" -> ".join(task.path),
                    expected=f"at least {task.bytes} bytes",
                )
    for handler in stacks.handlers:
        if handler.entry == FAULT_REPORT and handler.bytes > FAULT_STACK_BYTES:
            raise TaskError(
                f"the stack of fault reports is too small: it has {FAULT_STACK_BYTES} bytes",
                where=" -> ".join(handler.path),
                expected=f"at least {handler.bytes} bytes",
            )
    if stacks.main > main_stack:
        raise TaskError(
            f"the main stack is too small: main_stack_bytes is {main_stack}",
            where="start-up and nested interrupts",
            expected=f"at least {stacks.main} bytes",
        )


def _size_json(
    sizes: SizeReport, stacks: StackReport, plans: Sequence[ModelPlan]
) -> dict[str, object]:
    data = sizes.to_json()
    data["stack"] = stacks.to_json()
    data["placement"] = [placement_costs(plan.program, plan.layout) for plan in plans]
    return data


def _memory_map(image: Image, plans: Sequence[ModelPlan], board: Board) -> dict[str, object]:
    buffers: list[dict[str, object]] = []
    arenas: list[dict[str, object]] = []
    for plan in plans:
        for placement in plan.layout.placements:
            buffer = plan.program.buffers[placement.buffer]
            buffers.append(
                {
                    "model": plan.program.model_name,
                    "name": buffer.name,
                    "role": buffer.role.value,
                    "region": placement.region,
                    "load_region": placement.load_region,
                    "address": placement.address,
                    "size": buffer.size,
                    "reserved": placement.size,
                    "first_step": buffer.first_step,
                    "last_step": buffer.last_step,
                    "origin": buffer.origin,
                }
            )
        arenas += [asdict(arena) for arena in plan.layout.arenas]
    return {
        "board": board.name,
        "regions": [
            {"name": m.name, "base": m.base, "size": m.size, "use": list(m.use)}
            for m in board.memories
        ],
        "sections": [
            {
                "name": s.name,
                "address": s.address,
                "load_address": s.load_address if s.has_contents else None,
                "size": s.size,
            }
            for s in image.sections
        ],
        "arenas": arenas,
        "buffers": buffers,
    }


def _build_info(
    context: ProjectContext,
    plans: Sequence[ModelPlan],
    board: Board,
    options: BuildOptions,
    toolchain: Toolchain,
    kernel: Kernel,
) -> dict[str, object]:
    settings = asdict(options)
    # Where things lie on this machine does not change the image.
    del settings["freertos"], settings["jobs"], settings["app"]
    settings["shell"] = options.with_shell
    settings["canaries"] = options.with_canaries
    return {
        "fwgen": context.version,
        "build_id": _hex(",".join(context.build_id)),
        "board": board.name,
        "core": context.core,
        "models": [
            {
                "name": plan.program.model_name,
                "sha256": plan.program.model_sha256,
                "family": plan.program.family,
                "config": plan.program.config,
                "words": model.word_count,
                "operations": model.operation_count,
                "pipeline": {
                    "depth": plan.program.pipeline_depth,
                    "words": model.pipelined_word_count,
                },
                "layout_hash": _hex(model.layout_hash),
                "inputs": [t.name for t in plan.program.inputs()],
                "outputs": [t.name for t in plan.program.outputs()],
            }
            for plan, model in zip(plans, context.models, strict=True)
        ],
        "options": settings,
        "application": asdict(context.application),
        "compiler": toolchain.description,
        "compiler_version": toolchain.version,
        "newlib": newlib_version(toolchain),
        "kernel": {"version": kernel.version, "sha256": kernel_digest(kernel)},
    }


def _hex(bytes_text: str) -> str:
    return "".join(part.strip()[2:] for part in bytes_text.split(","))


def _json(data: object) -> bytes:
    return (json.dumps(data, indent=2, default=str) + "\n").encode()
