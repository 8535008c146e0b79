"""Accelerator families: configurations, register maps, lowering, supported-operator rules."""

from fwgen.accel.protocol import AcceleratorFamily, CheckEntry, CheckReport, RuleText
from fwgen.accel.registry import (
    configurations,
    families,
    family,
    has_hardware,
    runs_models_of,
)

__all__ = [
    "AcceleratorFamily",
    "CheckEntry",
    "CheckReport",
    "RuleText",
    "configurations",
    "families",
    "family",
    "has_hardware",
    "runs_models_of",
]
