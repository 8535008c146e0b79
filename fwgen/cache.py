"""Where fwgen keeps what can be made again: fetched sources, built modules.

`FWGEN_CACHE` names another directory; otherwise `XDG_CACHE_HOME/fwgen` or
`~/.cache/fwgen`.
"""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """The per-user cache; not necessarily there yet."""
    own = os.environ.get("FWGEN_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fwgen"
