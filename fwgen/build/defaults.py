"""Numbers that a build has where the user gives none: `fwgen build`, fwgen.toml and the library."""

from __future__ import annotations

TASK_PRIORITY = 5
STACK_WORDS = 2048
LINK_STACK_WORDS = 512
MAX_PRIORITIES = 8
TICK_HZ = 1000
QUEUE_LENGTH = 8
