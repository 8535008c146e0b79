"""Lets the tests of this folder and of tests/model import the helpers that lie here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
