"""Where the parts that are no Python lie: boards, templates, runtime, emulator.

An installed package carries them in `fwgen/_data`; in a checkout (and so in an
editable install) they lie beside the package. Every other module asks here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2
from typing import Literal

from fwgen.errors import UsageError

Resource = Literal["boards", "templates", "rtos", "emulator", "examples"]

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: Resource) -> Path:
    """Absolute path of one resource folder.

    Raises:
        UsageError: the installation is incomplete.
    """
    for root in (_PACKAGE / "_data", _PACKAGE.parent):
        path = root / name
        if path.is_dir():
            return path
    raise UsageError(
        f"the installed fwgen lacks its '{name}' folder",
        where=str(_PACKAGE),
        expected=f"{_PACKAGE / '_data' / name}",
        hints=("Install fwgen again: pip install --force-reinstall fwgen.",),
    )


def template_environment(folder: str = "", *, html: bool = False) -> jinja2.Environment:
    """The templates of a folder below templates/: a name that a template is not given is an
    error, and lines that hold only a statement leave no line behind. `html` escapes values."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource_dir("templates") / folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=html,
    )
