"""fwgen: from a compiled neural network to firmware that runs."""

from __future__ import annotations

__version__ = "0.1.0"
