"""Quantised and pruned weights and opened gates equal those computed by hand, and the stored numbers are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.sentiformer import lexicon_gates, smaller
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.data.lexicon import Lexicon
from sentviz.models.loading import load
from sentviz.papers.sentiformer import measured
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from sentviz.runs.store import find
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
    plant(monkeypatch, "sentiformer.measured.COMPRESSED", tmp_path, rows)
    frame = measured.sizes()
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


@pytest.mark.exhaustive
def test_gates_of_lexicon_words_are_opened() -> None:
    """Predictions equal those with the gates opened by hand; a lexicon without words of the texts changes none."""
    model = load(find("sst5_trees/sentiformer"))
    texts = ["The film is dull but warm.", "A warm film."]
    mine = Lexicon.of("mine", pd.DataFrame({"term": ["warm", "dull"], "polarity": [1.0, -1.0]}))
    frame = pd.DataFrame({"text": texts, "label": [0, 4]})
    pieces = [[model.tokenizer.token_of(int(i)) for i in model.encode(text).ids] for text in texts]
    of_words = {piece for word in ("warm", "dull") for piece in map(model.tokenizer.token_of, model.encode(word).ids)} - {"<s>", "</s>"}
    places = [[i for i, piece in enumerate(row) if piece in of_words and i not in (0, len(row) - 1)] for row in pieces]
    opened = [
        model.predict([text], change="~".join(f"gate:{i + 1}=1" for i in each))["label"].item()
        for text, each in zip(texts, places, strict=True)
    ]
    own = list(model.predict(texts)["label"])
    name, n, share, changed, accuracy, difference, *_ = lexicon_gates.measure(model, frame, mine)
    assert (name, n) == ("mine", 2) and all(places)
    assert share == pytest.approx(sum(map(len, places)) / sum(len(row) - 2 for row in pieces))
    assert changed == sum(a != b for a, b in zip(own, opened, strict=True)) / 2
    right = [[model.labels.index(label) == gold for label, gold in zip(each, (0, 4), strict=True)] for each in (own, opened)]
    assert accuracy == sum(right[0]) / 2 and difference == (sum(right[1]) - sum(right[0])) / 2
    nothing = Lexicon.of("nothing", pd.DataFrame({"term": ["zebra"], "polarity": [1.0]}))
    assert lexicon_gates.measure(model, frame.head(1).assign(text="The film is dull."), nothing)[3] == 0


def test_the_stored_gates_are_shown() -> None:
    table = make_table(find_paper("sentiformer"), "lexicon-gates", [])
    assert list(table.frame["lexicon"]) == ["VADER", "Opinion Lexicon", "SentiWordNet"]
    assert (table.frame["low"] <= table.frame["difference"]).all() and "one seed" in table.caption
