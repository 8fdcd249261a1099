"""The paper's figure: accuracies, measured and printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study, sourced
from sentviz.errors import InputError

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure


@figure("example-accuracy", "Accuracies of the example", Study)
def _accuracy(of: Study) -> Figure:
    """Draw the accuracies of both models, measured and printed.

    Raises:
        InputError: there is no run.
    """
    from example_paper.tables import DATASET, MODELS, TRAIN, accuracies
    from sentviz.charts.measured_vs_printed import measured_beside_printed
    from sentviz.papers.studies.compare_configurations import configurations, points

    by_model = configurations(of.runs, DATASET, MODELS)
    if not by_model:
        raise InputError(f"There is no run of Example: {TRAIN}")
    single = points(by_model, "accuracy")
    drawn = measured_beside_printed(accuracies(of.runs), single, title="Accuracy of the example", percent=True)
    return sourced(drawn, *(run for seeds in by_model.values() for run in seeds))
