"""See how sentiment transformers decide.

    import sentviz
    model = sentviz.load("sst2/ndt-unit-2")
    model.predict(["A quiet delight."])
    trace = model.trace("A quiet delight.")

Importing the package loads neither torch nor scikit-learn; what needs them does so on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sentviz.late import PLACES

if TYPE_CHECKING:
    from sentviz.errors import DataMissingError, InputError, RunError, SentvizError
    from sentviz.models.loading import load
    from sentviz.models.model import Model
    from sentviz.presets import preset
    from sentviz.recipe import Recipe
    from sentviz.runs import Run, find
    from sentviz.shelf import catalog
    from sentviz.trace import Trace
    from sentviz.training import train

__all__ = [
    "DataMissingError",
    "InputError",
    "Model",
    "Recipe",
    "Run",
    "RunError",
    "SentvizError",
    "Trace",
    "catalog",
    "find",
    "load",
    "preset",
    "train",
]

_HOME = {
    "DataMissingError": "errors",
    "InputError": "errors",
    "Model": "models.model",
    "Recipe": "recipe",
    "Run": "runs",
    "RunError": "errors",
    "SentvizError": "errors",
    "Trace": "trace",
    "catalog": "shelf",
    "find": "runs",
    "load": "models.loading",
    "preset": "presets",
    "train": "training",
}


PLACES.update(
    {
        "figure in a notebook": "sentviz.notebook:figure_bundle",
        "figures of every paper": "sentviz.studies.figures",
        "papers": "sentviz.papers",
        "trace in a notebook": "sentviz.notebook:trace_bundle",
    }
)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sentviz.{_HOME[name]}"), name)
    raise AttributeError(f"module 'sentviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
