"""The share of words at a leader, by what counts as near: against one review after the other, and as drawn."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset.leaders import MEASURES, NEAR, at_leaders, followed
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.models.hardmax import HardmaxModel
from sentviz.papers.hardmax import figures, study
from tests.kit import random_model


def test_shares_are_those_of_each_review() -> None:
    model: HardmaxModel = random_model()
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, model.config.vocab_size, size=n).astype(np.int32) for n in (1, 3, 8, 20)]
    wanted = (0.001, NEAR, 0.1, 0.5)
    measured = at_leaders(model, rows, wanted)
    for i, row in enumerate(rows):
        review = model.follow(" ".join(model.tokenizer.token_of(int(j)) for j in row))
        last, reach = review.positions[-1], np.linalg.norm(review.positions[0], axis=1).max()
        for column, near in enumerate(wanted):
            there = [min((float(np.linalg.norm(x - last[j])) for j in review.leaders), default=np.inf) <= near * reach for x in last]
            assert measured[i, column] == pytest.approx(np.mean(there))
    measures, _, _ = followed(model, rows)
    np.testing.assert_allclose(measured[:, 1], measures[:, -1, MEASURES.index("at leaders")])


def test_the_curve_is_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve is sorted by nearness, whatever the order of the rows, and the wanted share is marked."""
    frame = pd.DataFrame({"nearness": [0.1, 0.001, 0.01], "mean": [1, 0.5, 0.9], "q05": [0.9, 0.1, 0.6], "q50": [1.0, 0.6, 0.95], "n": 7})
    run = SimpleNamespace(digest="a", capabilities=SimpleNamespace(layers=8))
    monkeypatch.setattr(study, "NEARNESS", SimpleNamespace(read=lambda: frame.assign(d=2, run="r", digest="a"), command="measure"))
    monkeypatch.setattr(figures, "trained", lambda runs: {2: [run]})
    monkeypatch.setattr(figures, "sourced", lambda figure, *runs: figure)
    figure = make("hardmax-nearness", Study.of("all", []))
    assert figure.frame["nearness"].tolist() == [0.001, 0.01, 0.1]
    assert [list(line.y) for line in figure.plot.data] == [figure.frame[name].tolist() for name in ("q50", "mean", "q05")]
    assert "95\u00a0% of the words within 1\u00a0% (the poster names no number)" in figure.caption and "n = 7" in figure.caption
    assert {shape.x0 for shape in figure.plot.layout.shapes} >= {0.01}
