"""How low the memory planner packs, and how long that takes:

    python benchmarks/planner.py [SET.csv ...] [--random N] [--check] [--json]

Sets are CSV files with the columns id, lower, upper and size: a buffer lives in [lower, upper).
Without arguments: those of the reference data (FWGEN_TESTDATA, planner/), published with the
MiniMalloc paper, and random ones.

Random sets are made by cutting a rectangle of time x 1 MiB into buffers, without straight cuts
through the whole: in every second piece five buffers lie around each other like the blades of a
windmill. So a packing without a byte of loss exists, and the offsets that it had are
thrown away. "loose" sets lack a tenth of the buffers.

The peer is the greedy planner of TensorFlow Lite Micro by its published description: largest
buffer first, each into the first gap between those that live at the same time.

Each packing is checked here for overlaps, byte by byte of its intervals; the bound and the gap
are reckoned from the set. `--check` packs twice and compares.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from fwgen.plan.packing import Item, pack

REPOSITORY = Path(__file__).resolve().parents[1]
TESTDATA = Path(os.environ.get("FWGEN_TESTDATA", REPOSITORY.parent / "shared"))
LIMIT_SECONDS = 10.0
HEIGHT = 1 << 20
UNIT = 256  # sizes of random buffers are multiples of it


@dataclass(frozen=True, slots=True)
class Result:
    """One set; bytes, and percents of the bound."""

    name: str
    buffers: int
    bound: int
    peak: int
    proven: int
    gap_percent: float
    greedy_percent: float
    unshared_percent: float
    method: str
    cpu_seconds: float


def read_set(path: Path) -> list[Item]:
    """A CSV file of lifetimes."""
    with path.open(newline="") as file:
        return [
            Item(int(row["lower"]), int(row["upper"]), int(row["size"]))
            for row in csv.DictReader(file)
        ]


def random_set(seed: int, pieces: int, loose: bool) -> list[Item]:
    """Buffers that fill time x HEIGHT exactly, or lack a tenth of that.

    The largest rectangle is cut until there are enough: in two, or in five as a windmill.
    """
    random = Random(seed)
    rectangles = [(0, 2 * pieces, 0, HEIGHT // UNIT)]
    while len(rectangles) < pieces:
        wide = [r for r in rectangles if r[1] - r[0] >= 3 and r[3] - r[2] >= 3]
        if not wide:
            break
        a, b, c, d = chosen = max(wide, key=lambda r: (r[1] - r[0]) * (r[3] - r[2]))
        rectangles.remove(chosen)
        x = sorted(random.sample(range(a + 1, b), 2))
        y = sorted(random.sample(range(c + 1, d), 2))
        if random.random() < 0.5:
            rectangles += [
                (a, x[1], c, y[0]),
                (x[1], b, c, y[1]),
                (x[0], b, y[1], d),
                (a, x[0], y[0], d),
                (x[0], x[1], y[0], y[1]),
            ]
        elif random.random() < 0.5:
            rectangles += [(a, x[0], c, d), (x[0], b, c, d)]
        else:
            rectangles += [(a, b, c, y[0]), (a, b, y[0], d)]
    items = [Item(a, b, (d - c) * UNIT) for a, b, c, d in rectangles]
    random.shuffle(items)
    return items[len(items) // 10 :] if loose else items


def greedy_by_size(items: Sequence[Item]) -> int:
    """Height of the greedy plan: largest first, each into the first gap."""
    placed: list[tuple[int, Item]] = []
    height = 0
    for item in sorted(items, key=lambda i: -i.size):
        offset = 0
        for low, other in placed:
            if other.first < item.end and item.first < other.end:
                if low - offset >= item.size:
                    break
                offset = max(offset, low + other.size)
        placed.append((offset, item))
        placed.sort(key=lambda p: p[0])
        height = max(height, offset + item.size)
    return height


def most_alive(items: Sequence[Item]) -> int:
    """The largest sum of sizes alive at one time."""
    return max(sum(i.size for i in items if i.first <= t < i.end) for t in {i.first for i in items})


def check_plan(items: Sequence[Item], offsets: Sequence[int], height: int) -> None:
    """Raises SystemExit if two buffers share a byte at a time, or one leaves the height."""
    placed = list(zip(items, offsets, strict=True))
    for number, (a, low) in enumerate(placed):
        if low < 0 or low + a.size > height:
            sys.exit(f"buffer {number} leaves the plan")
        for b, other in placed[:number]:
            together = a.first < b.end and b.first < a.end
            if together and low < other + b.size and other < low + a.size:
                sys.exit(f"buffer {number} overlaps another")


def measure(name: str, items: Sequence[Item], twice: bool) -> Result:
    """Pack a set and judge the plan."""
    start = time.process_time()
    packing = pack(items)
    seconds = time.process_time() - start
    check_plan(items, packing.offsets, packing.height)
    if twice and pack(items) != packing:
        sys.exit(f"{name}: a second run gave another plan")
    bound = most_alive(items)
    if not bound <= packing.proven <= packing.height:
        sys.exit(f"{name}: {packing.proven} is no bound")

    def above(height: int, floor: int) -> float:
        return round(100 * (height - floor) / floor, 2)

    return Result(
        name,
        len(items),
        bound,
        packing.height,
        packing.proven,
        above(packing.height, packing.proven),
        above(greedy_by_size(items), packing.proven),
        above(sum(i.size for i in items), packing.proven),
        packing.method,
        round(seconds, 2),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How low the memory planner packs.")
    parser.add_argument("sets", nargs="*", type=Path)
    parser.add_argument("--random", type=int, default=6, help="number of random sets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="pack twice and compare")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    paths = arguments.sets or sorted((TESTDATA / "planner").glob("*.csv"))
    work = [(path.name.partition(".")[0], read_set(path)) for path in paths]
    for number in range(arguments.random):
        loose = number % 2 == 1
        pieces = 100 + 60 * number
        kind = "loose" if loose else "full"
        name = f"{kind} {arguments.seed + number}"
        work.append((name, random_set(arguments.seed + number, pieces, loose)))
    results = []
    if not arguments.json:
        print(
            f"{'set':9} {'buffers':>7} {'bound':>9} {'peak':>9} {'proven':>9} {'gap %':>6} "
            f"{'greedy %':>8} {'unshared %':>10}  {'method':9} {'CPU s':>6} of {LIMIT_SECONDS:g}"
        )
    for name, items in work:
        r = measure(name, items, arguments.check)
        results.append(r)
        if not arguments.json:
            print(
                f"{r.name:9} {r.buffers:7} {r.bound:9} {r.peak:9} {r.proven:9} "
                f"{r.gap_percent:6.2f} {r.greedy_percent:8.1f} {r.unshared_percent:10.0f}  "
                f"{r.method:9} {r.cpu_seconds:6.2f} "
                f"{'ok' if r.cpu_seconds < LIMIT_SECONDS else 'MISSED'}",
                flush=True,
            )
    if arguments.json:
        print(json.dumps([asdict(r) for r in results], indent=1))


if __name__ == "__main__":
    main()
