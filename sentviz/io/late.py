"""Import names when they are used: names of higher modules, and the names that a package offers from its modules.

`sentviz/__init__.py` is above all modules and fills `PLACES`, so no module of the library imports a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

PLACES: dict[str, str] = {}
"""Purpose -> "package.module:name", or "package.module"."""


def late(need: str) -> Any:
    """Import and return the object that `PLACES` names for a purpose."""
    return resolve_name(PLACES[need])


def lazy(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`, which imports a module of the package when one of its names is used.

    Args:
        package: name of the package.
        modules: name -> module, without the package's name.
    """

    def attribute(name: str) -> Any:
        if name in modules:
            return getattr(import_module(f"{package}.{modules[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute
