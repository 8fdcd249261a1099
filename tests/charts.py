"""Make figures of made-up subjects and pictures of plots, and read the traces that a figure draws, without those of a legend."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from sentviz.analysis.testset import leaders
from sentviz.charts.chart import Drawing
from sentviz.charts.figure import Figure
from sentviz.charts.gallery import find_figure
from sentviz.charts.scene import Scene, scene_of
from sentviz.io.lazy import go
from sentviz.models.clustering import Clustering, simulate
from sentviz.models.hardmax import HardmaxModel

W, B = np.array([1.2, 0.7]), 0.2


def data_traces(figure: Figure) -> list[Any]:
    """Return the traces of a figure that have data."""
    return [trace for trace in figure.plot.data if trace.x is None or not len(trace.x) or trace.x[0] is not None]


def stub(**attributes: Any) -> Any:
    """Return an object with these attributes, in place of a subject, a run or a model."""
    return SimpleNamespace(**attributes)


def figure_of(name: str, of: Any, **options: Any) -> Figure:
    """Return the registered figure of a subject, which may be a stub, without its origin."""
    return find_figure(name).make(of, **options)


def answers(counts: npt.ArrayLike, classes: Sequence[str], name: str = "") -> Any:
    """Return rows of a source with these counts, in place of `Rows`.

    Args:
        counts: (K, K), rows = label, columns = prediction.
    """
    table = np.asarray(counts)
    labels, predicted = np.indices(table.shape).reshape(2, -1).repeat(table.ravel(), axis=1)
    return stub(labels=labels, predicted=predicted, classes=list(classes), source=stub(name=name))


def history(start: float = 0.2, names: tuple[str, ...] = ("lambda",)) -> pd.DataFrame:
    """Return recorded scalars of two layers, losses, and accuracies with a tied best."""
    rows = [
        (10 * k, float(k), name, layer, c, start + 0.1 * layer - 0.04 * c + 0.01 * k)
        for name in names
        for layer in (0, 1)
        for c in (0, 1, 2)
        for k in (2, 0, 1)
    ]
    rows += [(5 * k, k / 2, "train_loss", -1, -1, 1 - k / 8) for k in range(5)]
    rows += [(10 * k, float(k), name, -1, -1, 0.8) for name in ("validation_accuracy", "alpha") for k in (1, 2)]
    return pd.DataFrame(rows, columns=["step", "epoch", "name", "layer", "component", "value"])


def of_leaders(monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, decision: tuple[npt.ArrayLike, float]) -> Any:
    """Return a hardmax run of two classes with this decision; each table of its leaders is the frame."""
    for name in ("frequent", "leading", "per_layer"):
        monkeypatch.setattr(leaders, name, lambda *arguments, **options: frame)
    monkeypatch.setattr(HardmaxModel, "of", lambda run: stub(vocabulary=[], decision=decision))
    return stub(run=stub(labels=("negative", "positive"), frame=lambda file: frame))


def picture(plot: go.Figure) -> Drawing:
    """Return a picture that is a given plot in every look."""
    return Drawing(lambda look: go.Figure(plot), {})


def clustered(n: int = 24, d: int = 2, seed: int = 0, **options: Any) -> Clustering:
    """Return a simulated run of random tokens."""
    return simulate(np.random.default_rng(seed).normal(size=(n, d)), **options)


def decided(clustering: Clustering, words: tuple[str, ...] = (), **options: Any) -> Scene:
    """Return a scene with a decoder."""
    d = clustering.positions.shape[-1]
    w = np.resize(W, d)
    means = clustering.positions.mean(axis=1)
    names = words or tuple(f"word{i}" for i in range(clustering.positions.shape[1]))
    options |= {"decision": (w, B), "means": means, "probabilities": 1 / (1 + np.exp(-(means @ w + B)))}
    return scene_of(clustering, names, "A made-up review", **options)
