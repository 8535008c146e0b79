"""The six published int8 configurations of NVDLA, as far as data depends on them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes that shape memory layouts.

    `atom_c` and `atom_k` are the channels and kernels of one MAC step, `atom`
    is the channels (bytes) of one memory atom; the convolution buffer has
    `banks` banks of `depth` entries of `width` bytes.
    """

    name: str
    atom_c: int
    atom_k: int
    atom: int
    banks: int
    width: int
    depth: int
    has_sram: bool


CONFIGS = {
    config.name: config
    for config in (
        Config("nv_small", 8, 8, 8, 32, 8, 512, False),
        Config("nv_small_256", 32, 8, 8, 32, 32, 128, False),
        Config("nv_small_256_full", 32, 8, 8, 32, 32, 128, True),
        Config("nv_medium_512", 32, 16, 16, 32, 32, 512, False),
        Config("nv_medium_1024_full", 32, 32, 32, 32, 32, 512, True),
        Config("nv_large", 64, 32, 32, 16, 64, 512, True),
    )
}
