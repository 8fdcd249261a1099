"""Import names of higher modules when they are used.

`sentviz/__init__.py` is above all modules and fills `PLACES`, so no module of the library imports a higher one.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

PLACES: dict[str, str] = {}
"""Purpose -> "package.module:name", or "package.module"."""


def late(need: str) -> Any:
    """Import and return the object that `PLACES` names for a purpose."""
    return resolve_name(PLACES[need])
