"""Names that a module needs from modules above it, found when they are used.

`sentviz/__init__.py` stands above all modules and fills the table, so no module of the library imports upward.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

PLACES: dict[str, str] = {}
"""What is needed -> "package.module:name", or "package.module"."""


def late(need: str) -> Any:
    """Import and return what `PLACES` names for a need."""
    return resolve_name(PLACES[need])
