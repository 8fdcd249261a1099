"""Deeper NDTs: the variants with four and six layers, and the figure and the sentence that are drawn once their runs are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sentviz.errors import InputError
from sentviz.figures.by_depth import by_depth
from sentviz.papers.ndt import depth
from sentviz.papers.studies.runner import plan
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe
from tests.studies import made_run


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    """Return one seed of NDT and its control at each depth; NDT is wrong on 10 rows, its control on 20."""
    return [
        made_run(tmp_path, "sst2", model, variant=ending.removeprefix("-"), wrong=wrong)
        for model, wrong in (("vanilla-matched", 20), ("ndt-unit-3", 10))
        for ending in depth.VARIANTS
    ]


@pytest.mark.parametrize("layers", [4, 6])
def test_a_variant_sets_the_number_of_layers_and_nothing_else(layers: int) -> None:
    """Deeper layers start at the lambdas of layer 2."""
    deep, usual = (Recipe.read("sst2", model="ndt-unit-3", variant=variant).as_dict() for variant in (f"{layers}-layers", ""))
    assert {key for key in deep if deep[key] != usual[key]} == {"variant", "shape"} and deep["shape"] == {"layers": layers}


def test_the_study_has_the_paper_s_best_ndt_and_its_control_at_three_depths() -> None:
    planned = {(recipe.model, recipe.shape.get("layers", 2)) for recipe in plan("ndt-depth", "sst2")}
    assert planned == {(model, layers) for model in ("vanilla-matched", depth.MODEL) for layers in depth.VARIANTS.values()}


def test_depths_are_compared_at_the_same_depth(runs: list[Run]) -> None:
    frame, lambdas = depth.accuracies(runs), depth.lambdas(runs)
    assert sorted(set(frame["layers"])) == [2, 4, 6] and len(frame) == 6
    text = depth.describe(frame, lambdas)
    assert text.startswith("NDT minus its control, in points: 2 layers +5.00, 4 layers +5.00, 6 layers +5.00.")
    assert text.endswith("one seed, so whether more layers help NDT cannot be told.")
    assert depth.accuracies(runs[:2])["layers"].tolist() == [2, 4] and depth.lambdas(runs[:2]).empty


def test_lambda_of_the_deepest_model_is_compared_with_its_start(runs: list[Run]) -> None:
    lambdas = depth.lambdas(runs)
    lambdas = lambdas[lambdas["layers"] == 6]
    third = lambdas.tail(1).assign(layer=3, start=0.16, end=0.11)
    layered = type(lambdas)([*lambdas.assign(start=[0.15, 0.16], end=[0.15, 0.18]).to_dict("records"), *third.to_dict("records")])
    text = depth.describe(depth.accuracies(runs), layered)
    assert "ends at 0.180 in layer 2 and at 0.110 in layer 3. Both start at 0.160" in text and "+0.020 and −0.050" in text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_draws_both(runs: list[Run], theme: Any) -> None:
    figure = by_depth(depth.accuracies(runs), depth.lambdas(runs), theme=theme)
    assert [trace.name for trace in figure.plot.data][:2] == ["vanilla-matched", "ndt-unit-3"]
    assert [trace.name for trace in figure.plot.data][2:] == [*(f"{n} layers, after training" for n in (2, 4, 6)), "start"]
    assert "Seeds per configuration: 1" in figure.caption
    with pytest.raises(InputError, match="ndt-depth"):
        by_depth(depth.accuracies([]), depth.lambdas([]))
