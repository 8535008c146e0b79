"""The first model of the cascade: where in a picture of 16x16 pixels is the digit?

One convolution of 8x8 with a matched filter, the mean of the digits' test images minus
its own mean: the 9x9 answers are largest where the digit is. Also makes the scenes and
holds the reference in integer NumPy, which shares no code with fwgen.

    python examples/cascade/locate.py      # locate.nvdla and src/scenes.h again, byte for byte
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "digits"))

from network import load_layers, load_tests  # noqa: E402
from reference import infer, shift_right  # noqa: E402

MODEL_FILE = HERE / "locate.nvdla"
SCENES_FILE = HERE / "src" / "scenes.h"

SCENES = 12
SIDE = 16
DIGIT = 8
PLACES = SIDE - DIGIT + 1
SCALE, SHIFT = 115, 16  # the largest answer to the scenes is about 110

Int8 = NDArray[np.int8]


def matched_filter() -> Int8:
    """Weights, int8 (8, 8): pixels where digits are bright count, dark ones count against."""
    images, _ = load_tests()
    total = images.astype(np.int64).sum(axis=0)[0]
    mean = int(total.sum()) // total.size
    return np.asarray((total - mean) // len(images), np.int8)


def scenes() -> Int8:
    """Scenes, int8 (SCENES, 16, 16): one digit each, somewhere on faint noise."""
    images, _ = load_tests()
    state = 1
    made = np.zeros((SCENES, SIDE, SIDE), np.int8)
    for number in range(SCENES):
        for y in range(SIDE):
            for x in range(SIDE):
                state = state * 1103515245 + 12345 & 0x7FFFFFFF
                made[number, y, x] = (state >> 16) % 4
        top, left = (number * 5 + 1) % PLACES, (number * 7 + 2) % PLACES
        made[number, top : top + DIGIT, left : left + DIGIT] = images[40 + number, 0]
    return made


def heat(scene: Int8) -> Int8:
    """The first model's answer, int8 (9, 9), for a scene, int8 (16, 16)."""
    weights = matched_filter().astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(scene.astype(np.int64), (DIGIT, DIGIT))
    sums = (windows * weights).sum(axis=(2, 3))
    return np.clip(shift_right(sums * SCALE, SHIFT), -128, 127).astype(np.int8)


def brightest(answer: Int8) -> tuple[int, int]:
    """(top, left) of the first largest value."""
    return divmod(int(answer.argmax()), PLACES)


def cascade(scene: Int8) -> tuple[Int8, tuple[int, int], Int8]:
    """What the whole cascade says: heat map, place of the digit, its ten scores."""
    answer = heat(scene)
    top, left = brightest(answer)
    cut = scene[top : top + DIGIT, left : left + DIGIT]
    return answer, (top, left), infer(cut[None], load_layers())


def loadable() -> bytes:
    """The model's file."""
    from fwgen.accel.nvdla.builder import LoadableBuilder
    from fwgen.accel.nvdla.configurations import configuration
    from fwgen.model.nvdla.loadable import write_loadable

    builder = LoadableBuilder(configuration("nv_small"))
    scene = builder.input_pixels("scene", width=SIDE, height=SIDE)
    weights = matched_filter()[None, None]
    found = builder.conv(scene, weights, np.zeros(1, np.int16), scale=SCALE, shift=SHIFT)
    builder.output("heat", found)
    return write_loadable(builder.build())


def header() -> str:
    """The scenes as a C header."""
    lines = [
        "/* Scenes with a digit somewhere, made by examples/cascade/locate.py. */",
        "#ifndef SCENES_H",
        "#define SCENES_H",
        "",
        "#include <stdint.h>",
        "",
        f"#define SCENES {SCENES}u",
        f"#define SCENE_SIDE {SIDE}u",
        "",
        "/* clang-format off */",
        "static const int8_t scenes[SCENES][SCENE_SIDE * SCENE_SIDE] = {",
    ]
    for scene in scenes():
        lines.append("    {")
        lines += ["     " + ", ".join(str(int(v)) for v in row) + "," for row in scene]
        lines.append("    },")
    return "\n".join([*lines, "};", "/* clang-format on */", "", "#endif", ""])


def main() -> None:
    for path, data in ((MODEL_FILE, loadable()), (SCENES_FILE, header().encode())):
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_bytes(data)
        os.replace(temporary, path)
        print(f"{path.name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
