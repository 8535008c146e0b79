"""Makes a new project with tests: what new.py makes, tables of tests, files for CI systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fwgen.accel.registry import runs_models_of
from fwgen.board.profile import list_boards, load_board
from fwgen.board.types import Board
from fwgen.errors import UsageError
from fwgen.project.new import check_free, project_files, write_project
from fwgen.resources import resource_dir, template_environment

DEFAULT_BOARD = "mps2-an385"
REPORT = "fwgen-report.xml"
PACKAGES = (
    "ca-certificates",
    "cmake",
    "dpkg-dev",
    "g++",
    "gcc",
    "gcc-arm-none-eabi",
    "libnewlib-arm-none-eabi",
    "make",
    "python3",
    "python3-venv",
    "qemu-system-arm",
)
"""Of Debian 12: what fwgen needs to build and test firmware."""

_DIGITS_FILES = ("digits.npz", "network.py", "reference.py")
_PICTURE = "tests/six.npy"
_IGNORED = f"/.venv/\n/.fwgen-cache/\n/{REPORT}\n"


@dataclass(frozen=True, slots=True)
class _Sources:
    """What the templates say of the model's tests."""

    inputs: tuple[str, ...]
    is_digits: bool
    has_cpu: bool
    has_fault: bool


def init_project(
    directory: Path, board: str = DEFAULT_BOARD, model: Path | None = None
) -> tuple[str, ...]:
    """Write a project with tests.

    Args:
        directory: must not exist, or hold nothing (a repository's .git may be there).
        board: name of an emulated board, or a profile file, which is copied.
        model: a compiled model; None: the digits example with its reference.

    Returns:
        The paths written, relative to the directory, sorted.

    Raises:
        UsageError, ModelError, FitError: as new_application; the board is not emulated.
    """
    check_free(directory, allowed=(".git",))
    examples = resource_dir("examples")
    is_digits = model is None
    path = examples / "digits" / "digits.nvdla" if model is None else model
    profile = load_board(board)
    if profile.qemu is None:
        raise UsageError(
            f"board '{profile.name}' is not emulated",
            expected="a board on which tests can run: one whose profile has a [qemu] table",
            hints=("See `fwgen boards list`.",),
        )
    files, values = project_files(directory, board, path)
    files = dict(files)
    if is_digits:
        for name in _DIGITS_FILES:
            files[f"tests/digits/{name}"] = (examples / "digits" / name).read_bytes()
        files[_PICTURE] = (examples / "ci" / "six.npy").read_bytes()
    sources = _sources(path, profile, is_digits)
    _add(files, values, sources)
    write_project(directory, files)
    return tuple(sorted(files))


def _sources(path: Path, board: Board, is_digits: bool) -> _Sources:
    from fwgen.pipeline import compile_model

    compiled = compile_model(path, board)
    accelerator = compiled.accelerator
    computes = any(
        a.family == "cpu" and a.config == f"cpu_{accelerator.config}"
        for name in list_boards()
        if load_board(name).qemu is not None
        for a in load_board(name).accelerators
        if runs_models_of(a.family, compiled.model.family)
    )
    return _Sources(
        tuple(tensor.name for tensor in compiled.program.inputs()),
        is_digits,
        has_cpu=accelerator.is_hardware and computes,
        has_fault=accelerator.family == "nvdla",
    )


def _add(files: dict[str, bytes], values: Mapping[str, str], sources: _Sources) -> None:
    """The files of the tests, and their parts of the other files."""
    inputs = [_key(name) for name in sources.inputs]
    has_function = sources.is_digits or not sources.has_cpu
    facts = {
        **values,
        "packages": " ".join(PACKAGES),
        "report": REPORT,
        "is_digits": sources.is_digits,
        "has_cpu": sources.has_cpu,
        "has_fault": sources.has_fault,
        "has_function": has_function,
        "function": "scores" if sources.is_digits else "expected",
        "function_comment": (
            "A picture of a six; integer NumPy says what must come out."
            if sources.is_digits
            else "Write the function: it says what must come out."
        ),
        "first_input": inputs[0],
        "first_value": _PICTURE if sources.is_digits else "random:1",
        "random_inputs": ", ".join(f'{key} = "random:{n}"' for n, key in enumerate(inputs, 1)),
        "fed_case": "random" if sources.has_cpu else "picture",
    }
    environment = template_environment("init")

    def text(name: str) -> bytes:
        return environment.get_template(name).render(facts).encode()

    files["fwgen.toml"] += text("tests.toml.j2")
    files["README.md"] += text("README.md.j2")
    files[".gitignore"] += _IGNORED.encode()
    files[".github/workflows/firmware.yml"] = text("github.yml.j2")
    files[".gitlab-ci.yml"] = text("gitlab.yml.j2")
    if has_function:
        files["tests/expected.py"] = text("expected.py.j2")


def _key(name: str) -> str:
    """A tensor's name as a key of TOML."""
    if name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name):
        return name
    escaped = "".join(
        f"\\u{ord(c):04x}" if c in '"\\' or ord(c) < 32 or ord(c) == 127 else c for c in name
    )
    return f'"{escaped}"'
