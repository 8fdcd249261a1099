"""Quantised and pruned weights equal those computed by hand, and the stored curves are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sentviz.gallery import make
from sentviz.gallery.subjects import Study
from sentviz.papers.sentiformer import smaller
from tests.studies import made_run, plant

pytestmark = pytest.mark.slow


def test_a_row_is_rounded_to_its_largest_weight() -> None:
    """With 3 bits a row has the levels -3 to 3; the largest weight stays as it is."""
    import torch

    weights = torch.tensor([[0.3, -0.16, 0.04, 0.0], [3.0, 1.4, -2.6, 0.0]])
    assert smaller.quantised(weights, 3).tolist() == [pytest.approx([0.3, -0.2, 0.0, 0.0]), pytest.approx([3.0, 1.0, -3.0, 0.0])]
    error = (smaller.quantised(weights, 8) - weights).abs().amax(dim=1)
    assert bool((error <= weights.abs().amax(dim=1) / 127 / 2 + 1e-7).all())


def test_the_smallest_weights_are_pruned() -> None:
    import torch

    weights = torch.tensor([[0.5, -0.1], [0.2, -0.9]])
    assert smaller.pruned(weights, 0.5).tolist() == [pytest.approx([0.5, 0.0]), pytest.approx([0.0, -0.9])]
    assert smaller.pruned(weights, 0.0).equal(weights)


def test_the_unchanged_model_begins_both_curves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Means are over seeds: 40 and 50 of 100 right are 45 %."""
    row: dict[str, Any] = {"dataset": "sst5_trees", "n": 100, "run": "x"}
    rows = [
        row | {"way": way, "amount": amount, "mib": mib, "right": right + 10 * seed, "seed": seed}
        for way, amount, mib, right in (("none", 0.0, 26.0, 40), ("quantised", 8.0, 7.0, 40), ("pruned", 0.5, 13.0, 20))
        for seed in range(2)
    ]
    plant(monkeypatch, "sentiformer.smaller.COMPRESSED", tmp_path, rows)
    frame = smaller.curve()
    assert frame[frame["rows"] == 26.0]["preset"].tolist() == ["quantised", "pruned"]
    assert frame["value"].tolist() == pytest.approx([0.45, 0.45, 0.45, 0.25]) and set(frame["seeds"]) == {2}


@pytest.mark.parametrize("name", ["sentiformer-smaller", "sentiformer-rows"])
def test_the_stored_curves_are_drawn(name: str) -> None:
    drawn = make(name, Study.of("all", []))
    assert len(drawn.frame) > 2 and "n = " in drawn.caption and "reported" not in drawn.caption


def test_accuracy_by_rows_is_that_of_the_runs(tmp_path: Path) -> None:
    run = made_run(tmp_path, "sst5_trees_binary", "sentiformer", wrong=50, digest="0")
    (row,) = smaller.by_rows([run]).to_dict("records")
    assert row["value"] == pytest.approx(0.75) and row["rows"] == row["n"] == 200 and row["low"] < row["value"] < row["high"]
