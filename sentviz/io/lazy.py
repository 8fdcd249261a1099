"""Import large libraries, the names of a package, and names of higher modules when they are first used.

`from sentviz.io.lazy import pd, torch` gives libraries. They do not stand in `sys.modules` before they are used, in contrast to
`importlib.util.LazyLoader`: SciPy asks there whether torch was imported, and would import it. A module whose classes inherit from those of
a library imports it as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["PLACES", "go", "late", "np", "pa", "package_names", "pc", "pd", "pq", "sparse", "special", "stats", "subplots", "torch"]

PLACES: dict[str, str] = {}
"""Purpose -> "package.module:name", or "package.module". `sentviz/__init__.py`, which is above all modules, fills it."""


class LazyModule(ModuleType):
    """A module that is imported when one of its names is first asked for. Safe in threads, as `import` is."""

    def __getattr__(self, name: str) -> Any:
        """Return a name of the module."""
        module = self.__dict__.get("_module")
        if module is None:
            module = self.__dict__["_module"] = import_module(self.__name__)
        return getattr(module, name)


if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    import torch
    from plotly import subplots
    from scipy import sparse, special, stats
else:
    np = LazyModule("numpy")
    pd = LazyModule("pandas")
    go = LazyModule("plotly.graph_objects")
    subplots = LazyModule("plotly.subplots")
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    pq = LazyModule("pyarrow.parquet")
    torch = LazyModule("torch")
    sparse = LazyModule("scipy.sparse")
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")


def package_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
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


def late(need: str) -> Any:
    """Import and return the object that `PLACES` names for a purpose, so that no module imports a higher one."""
    return resolve_name(PLACES[need])
