"""Writes test images as a C header, for applications without a camera.

    python examples/digits/pictures.py --count 24 FILE.h

The header has `pictures[COUNT][64]`, int8 pixels row by row, in the order of tests.npz.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from network import load_tests

ROW = 16


def header(count: int) -> str:
    """The header's text.

    Args:
        count: number of images, from the first.
    """
    images, labels = load_tests()
    if not 1 <= count <= len(images):
        raise ValueError(f"there are {len(images)} images")
    lines = [
        "/* Test images of the digits example, made by examples/digits/pictures.py. */",
        "#ifndef PICTURES_H",
        "#define PICTURES_H",
        "",
        "#include <stdint.h>",
        "",
        f"#define PICTURES {count}u",
        "#define PICTURE_SIDE 8u",
        "",
        "/* clang-format off */",
        "static const int8_t pictures[PICTURES][PICTURE_SIDE * PICTURE_SIDE] = {",
    ]
    for image, label in zip(images[:count], labels[:count], strict=True):
        pixels = [str(int(value)) for value in image.reshape(-1)]
        lines.append(f"    {{/* a {int(label)} */")
        for start in range(0, len(pixels), ROW):
            end = "," if start + ROW < len(pixels) else "},"
            lines.append("     " + ", ".join(pixels[start : start + ROW]) + end)
    return "\n".join([*lines, "};", "/* clang-format on */", "", "#endif", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    temporary = arguments.file.with_suffix(".tmp")
    temporary.write_text(header(arguments.count), encoding="ascii")
    os.replace(temporary, arguments.file)


if __name__ == "__main__":
    main()
