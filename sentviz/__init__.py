"""See how sentiment transformers decide.

    import sentviz
    model = sentviz.load("sst2/ndt-unit-2")
    model.predict(["A quiet delight."])
    trace = model.trace("A quiet delight.")

Importing the package loads neither torch nor scikit-learn; both are loaded when they are first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.io.lazy import PLACES, package_names

if TYPE_CHECKING:
    from sentviz.analysis.causal.direct import direct_attribution
    from sentviz.analysis.causal.directions import directions
    from sentviz.analysis.causal.patching import patch
    from sentviz.analysis.explain.headline import smallest_edit
    from sentviz.analysis.explain.judge import judge
    from sentviz.analysis.testset.compare import compare
    from sentviz.analysis.testset.predictions_file import predictions
    from sentviz.analysis.testset.weak import weak_slices
    from sentviz.charts.gallery import draw
    from sentviz.data.user_datasets import add_data
    from sentviz.errors import DataMissingError, InputError, RunError, SentvizError
    from sentviz.export.files import save
    from sentviz.export.notebook import widget
    from sentviz.models.loading import load
    from sentviz.models.model import Model
    from sentviz.runs.catalog import catalog
    from sentviz.runs.presets import preset
    from sentviz.runs.store import Run, find
    from sentviz.runs.trace import Trace
    from sentviz.training import train
    from sentviz.training.recipe import Recipe

__all__ = [
    "DataMissingError",
    "InputError",
    "Model",
    "Recipe",
    "Run",
    "RunError",
    "SentvizError",
    "Trace",
    "add_data",
    "catalog",
    "compare",
    "direct_attribution",
    "directions",
    "draw",
    "find",
    "judge",
    "load",
    "patch",
    "predictions",
    "preset",
    "save",
    "smallest_edit",
    "train",
    "weak_slices",
    "widget",
]

_MODULES = {
    "DataMissingError": "errors",
    "InputError": "errors",
    "Model": "models.model",
    "Recipe": "training.recipe",
    "Run": "runs.store",
    "RunError": "errors",
    "SentvizError": "errors",
    "Trace": "runs.trace",
    "add_data": "data.user_datasets",
    "catalog": "runs.catalog",
    "compare": "analysis.testset.compare",
    "direct_attribution": "analysis.causal.direct",
    "directions": "analysis.causal.directions",
    "draw": "charts.gallery",
    "find": "runs.store",
    "judge": "analysis.explain.judge",
    "load": "models.loading",
    "patch": "analysis.causal.patching",
    "predictions": "analysis.testset.predictions_file",
    "preset": "runs.presets",
    "save": "export.files",
    "smallest_edit": "analysis.explain.headline",
    "train": "training",
    "weak_slices": "analysis.testset.weak",
    "widget": "export.notebook",
}

PLACES.update(
    {
        "plot of a chart": "sentviz.charts.chart_plot:draw",
        "style of a drawing": "sentviz.charts.drawing:in_style",
        "figure in a notebook": "sentviz.export.notebook:figure_bundle",
        "figures of every paper": "sentviz.papers.studies.figures",
        "trace in a notebook": "sentviz.export.notebook:trace_bundle",
    }
)

__getattr__ = package_names(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
