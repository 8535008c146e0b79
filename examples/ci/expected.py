"""Expected outputs of the digits model, for `fwgen test`: integer NumPy, nothing of fwgen.

The arithmetic is that of examples/digits/reference.py, which is written from the hardware
manual alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "digits"))

from network import load_layers  # noqa: E402
from reference import infer  # noqa: E402


def scores(image: NDArray[np.int8]) -> NDArray[np.int8]:
    """Scores of the ten digits, int8 (10,), for an image, int8 (1, 1, 8, 8)."""
    return infer(image[0], load_layers())
