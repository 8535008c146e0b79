"""Accelerator families: configurations, register maps, lowering, supported-operator rules."""

from fwgen.accel.protocol import AcceleratorFamily, CheckEntry, CheckReport, RuleText
from fwgen.accel.registry import configurations, families, family

__all__ = [
    "AcceleratorFamily",
    "CheckEntry",
    "CheckReport",
    "RuleText",
    "configurations",
    "families",
    "family",
]
