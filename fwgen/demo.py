"""The digits example end to end: build, boot, classify, compare (`fwgen demo`).

The example's own modules (network, reference) are scripts in its folder; the
expected bytes come from its integer reference, which shares no code with fwgen.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fwgen.board.profile import load_board
from fwgen.build.options import BuildOptions
from fwgen.emulate import open_build
from fwgen.errors import UsageError
from fwgen.machine import tensors
from fwgen.machine.from_board import machine_config
from fwgen.machine.inference import Inference, Target
from fwgen.machine.session import QemuSession
from fwgen.pipeline import build_model
from fwgen.resources import resource_dir

DEFAULT_BOARD = "mps2-an385"
DEFAULT_DIRECTORY = Path("build/demo")
DEFAULT_IMAGES = 200


@dataclass(frozen=True, slots=True)
class DemoReport:
    """What the demo found.

    Attributes:
        images: how many were classified, in one boot.
        right: how many got their true digit on the target.
        right_by_reference: how many get it from the reference.
        bytes_compared, bytes_different: target against reference, every byte of the output.
        guest_errors: what the firmware did wrong to the accelerator.
        cycles: accelerator cycles of one inference, by the emulator's estimate; 0 where the CPU
            does the work.
        accelerator_hz: accelerator clock of the board; the CPU's where the CPU does the work.
        device_ms: time of one inference on the target's own clock.
        seconds: wall-clock time of all inferences.
    """

    board: str
    directory: Path
    images: int
    right: int
    right_by_reference: int
    bytes_compared: int
    bytes_different: int
    guest_errors: tuple[str, ...]
    cycles: int
    accelerator_hz: int
    device_ms: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Every byte equals the reference, and there was one."""
        return self.bytes_compared > 0 and not self.bytes_different and not self.guest_errors


def run_demo(
    board_name: str = DEFAULT_BOARD,
    images: int = DEFAULT_IMAGES,
    directory: Path = DEFAULT_DIRECTORY,
    *,
    limit: float = 300.0,
    progress: Callable[[str], None] = lambda _line: None,
) -> DemoReport:
    """Build the digits firmware, run it in the emulator, compare it with the reference.

    Args:
        board_name: an emulated board with an nv_small.
        images: number of test images, from the first.
        directory: of the build.
        limit: seconds of wall-clock time for the run.
        progress: gets a line per stage.

    Raises:
        FwgenError: as the stages raise it.
    """
    network, reference = _example()
    board = load_board(board_name)
    pixels, labels = network.load_tests()
    if not 1 <= images <= len(labels):
        raise UsageError(
            f"{images} test images are not there", expected=f"1 to {len(labels)} images"
        )
    progress(f"building the digits model for {board.name} in {directory}")
    result = build_model(network.MODEL_FILE, board, directory, BuildOptions(), progress)
    folder = open_build(result.directory, board_name)

    progress("computing the reference")
    layers = network.load_layers()
    scores = [reference.infer(pixels[i], layers) for i in range(images)]

    progress(f"classifying {images} images on the emulated {board.name}")
    inferences: list[Inference] = []
    found: list[int] = []
    with QemuSession(folder.elf, machine_config(board), limit=limit) as session:
        target = Target(session, build_id=folder.build_id)
        start = time.monotonic()
        for number in range(images):
            data = tensors.pack(pixels[number], target.inputs[0])
            expected = tensors.pack(scores[number].reshape(-1, 1, 1), target.outputs[0])
            inference = target.infer({0: data}, {0: expected})
            inferences.append(inference)
            found.append(int(target.output_array(inference).argmax()))
            if (number + 1) % 50 == 0:
                progress(f"  {number + 1} of {images}")
        seconds = time.monotonic() - start
        session.finish()
    comparisons = [c for inference in inferences for c in inference.comparisons]
    truth = [int(label) for label in labels[:images]]
    return DemoReport(
        board=board.name,
        directory=result.directory,
        images=images,
        right=sum(a == b for a, b in zip(found, truth, strict=True)),
        right_by_reference=sum(
            int(s.argmax()) == label for s, label in zip(scores, truth, strict=True)
        ),
        bytes_compared=sum(c.compared for c in comparisons),
        bytes_different=sum(c.different for c in comparisons),
        guest_errors=tuple(e.message for i in inferences for e in i.guest_errors),
        cycles=max((i.cycles or 0 for i in inferences), default=0),
        accelerator_hz=board.accelerators[0].clock_hz or board.cpu.clock_hz,
        device_ms=max(i.run.seconds for i in inferences) * 1000,
        seconds=seconds,
    )


def _example() -> tuple[Any, Any]:
    """The example's modules."""
    folder = str(resource_dir("examples") / "digits")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("network"), importlib.import_module("reference")
