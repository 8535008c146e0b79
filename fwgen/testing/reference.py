"""Expected outputs from a Python function of the user, in a process of its own.

The function gets the inputs as NumPy arrays (N, C, H, W), in the order of the model's
inputs, and returns one array, a sequence of arrays in the order of the outputs, or a
mapping by output name. A process of its own, because what the function prints must
not end in a report, what it takes must end at the test's time limit, and functions of
several tests run at the same time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fwgen.errors import RunTimeout, TaskError, UsageError
from fwgen.machine.tensors import Array

_TAIL = 12


def call(
    file: Path,
    function: str,
    inputs: Sequence[Array],
    outputs: Sequence[str],
    *,
    limit: float,
    started: Callable[[subprocess.Popen[str]], None] = lambda _process: None,
) -> dict[str, Array]:
    """Expected arrays by output name.

    Args:
        inputs: in the model's order.
        outputs: names of the model's outputs.
        limit: seconds.
        started: gets the process, so that it can be ended.

    Raises:
        TaskError: the function failed or is not there.
        UsageError: it returned something else than arrays for outputs.
        RunTimeout: the limit ran out.
    """
    where = f"{file}:{function}"
    with tempfile.TemporaryDirectory(prefix="fwgen-reference-") as folder:
        given, returned = Path(folder, "inputs.npz"), Path(folder, "outputs.npz")
        np.savez(given, *inputs)
        module = ("-P", "-m", __name__)  # not what lies in the current folder
        command = [sys.executable, *module, str(file), function, str(given), str(returned)]
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            started(process)
            try:
                text, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                raise RunTimeout(
                    f"the reference did not return within {limit:g} s", where=where
                ) from None
            finally:
                process.kill()
        if process.returncode:
            raise TaskError(
                "the reference failed\n" + "\n".join(text.rstrip().splitlines()[-_TAIL:]),
                where=where,
            )
        with np.load(returned, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
    return _named(arrays, outputs, where)


def _named(arrays: Mapping[str, Array], outputs: Sequence[str], where: str) -> dict[str, Array]:
    """`arr_0`, `arr_1` ... are outputs by number, "=NAME" by name."""
    found: dict[str, Array] = {}
    for key, array in arrays.items():
        if key.startswith("="):
            name = key[1:]
        else:
            number = int(key.removeprefix("arr_"))
            name = outputs[number] if number < len(outputs) else f"number {number}"
        if name not in outputs:
            raise UsageError(
                f"the reference returned an output '{name}'",
                where=where,
                expected="arrays for " + ", ".join(outputs),
            )
        found[name] = array
    if not found:
        raise UsageError(
            "the reference returned nothing", where=where, expected="one or more arrays"
        )
    return found


def main(arguments: Sequence[str]) -> None:
    """The process: FILE FUNCTION INPUTS OUTPUTS."""
    import importlib.util

    file, function, given, returned = arguments
    folder = str(Path(file).resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        sys.exit(f"{file} is no Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, function, None)):
        sys.exit(f"{file} has no function '{function}'")
    with np.load(given, allow_pickle=False) as stored:
        inputs = [stored[f"arr_{number}"] for number in range(len(stored.files))]
    result = getattr(module, function)(*inputs)
    if isinstance(result, Mapping):
        arrays: dict[str, Any] = {f"={name}": np.asarray(array) for name, array in result.items()}
    else:
        several = result if isinstance(result, list | tuple) else [result]
        arrays = {f"arr_{number}": np.asarray(array) for number, array in enumerate(several)}
    if any(array.dtype == object for array in arrays.values()):
        sys.exit("the function returned something else than arrays")
    np.savez(returned, **arrays)


if __name__ == "__main__":
    main(sys.argv[1:])
