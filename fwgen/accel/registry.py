"""The accelerator families that this version knows.

A family's module brings its lowering and its models' reader with it, so it is
imported when somebody asks for the family. The names of its configurations are in
a module of their own: checking a board profile needs no more.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from fwgen.errors import UsageError

if TYPE_CHECKING:
    from fwgen.accel.protocol import AcceleratorFamily


class _Entry(NamedTuple):
    """Where a family is: modules, and the attributes in them."""

    module: str
    attribute: str  # an AcceleratorFamily without arguments
    configurations_module: str
    configurations: str  # a mapping whose keys are the names
    models: tuple[str, ...]  # families whose models it runs
    has_hardware: bool = True  # registers and an interrupt, which boards state


_FAMILIES = {
    "cpu": _Entry(
        "fwgen.accel.cpu.family",
        "CpuFamily",
        "fwgen.accel.cpu.configurations",
        "CONFIGURATIONS",
        models=("nvdla",),
        has_hardware=False,
    ),
    "nvdla": _Entry(
        "fwgen.accel.nvdla.family",
        "NvdlaFamily",
        "fwgen.accel.nvdla.configurations",
        "CONFIGURATIONS",
        models=("nvdla",),
    ),
    "vip": _Entry(
        "fwgen.accel.vip.family",
        "VipFamily",
        "fwgen.accel.vip.configurations",
        "CONFIGURATIONS",
        models=("vip",),
    ),
}


def families() -> tuple[str, ...]:
    """Names of all families, sorted."""
    return tuple(sorted(_FAMILIES))


@cache
def family(name: str) -> AcceleratorFamily:
    """The family of that name; UsageError if there is none."""
    entry = _entry(name)
    found: AcceleratorFamily = getattr(import_module(entry.module), entry.attribute)()
    return found


def configurations(name: str) -> tuple[str, ...]:
    """Names of a family's configurations, without importing the family.

    Raises UsageError if there is no such family.
    """
    entry = _entry(name)
    return tuple(getattr(import_module(entry.configurations_module), entry.configurations))


def runs_models_of(name: str, model_family: str) -> bool:
    """Whether family `name` runs models that were compiled for `model_family`.

    Raises UsageError if there is no family `name`.
    """
    return model_family in _entry(name).models


def has_hardware(name: str) -> bool:
    """Whether a family's accelerators have registers and an interrupt.

    Raises UsageError if there is no such family.
    """
    return _entry(name).has_hardware


def configuration_facts(name: str, config: str) -> dict[str, object]:
    """The properties of a family's configuration, without importing the family.

    Raises UsageError if there is no such family, KeyError if no such configuration.
    """
    entry = _entry(name)
    known = getattr(import_module(entry.configurations_module), entry.configurations)
    facts: dict[str, object] = known[config].facts()
    return facts


def _entry(name: str) -> _Entry:
    found = _FAMILIES.get(name)
    if found is None:
        near = difflib.get_close_matches(name, _FAMILIES, n=1)
        raise UsageError(
            f"unknown accelerator family {name!r}",
            expected="one of " + ", ".join(families()),
            hints=(f"Did you mean {near[0]!r}?",) if near else (),
        )
    return found
