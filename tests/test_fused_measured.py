"""Coverage, negative scores and published numbers of Sentiment-Fused Attention, against counts by hand."""

from __future__ import annotations

import csv
import math
import statistics as slow
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from experiments.fused import negative
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.models.loading import load
from sentviz.papers.fused import coverage
from sentviz.papers.fused import study as fused
from sentviz.papers.fused import tables as fused_tables
from sentviz.runs.store import find
from tests.charts import data_traces
from tests.studies import N, made_seeds

pytestmark = pytest.mark.slow  # reads runs of the shelf


def softmax(scores: Sequence[float]) -> list[float]:
    raised = [math.exp(score) for score in scores]
    return [each / sum(raised) for each in raised]


def test_shipped_coverage_by_tokenizer_is_whole() -> None:
    """Each tokenizer reads each of the paper's tasks; the tokenizer of NSMC's encoder has the share of the other table."""
    frame = coverage.WITH_TOKENIZERS.read()
    assert set(zip(frame["dataset"], frame["tokenizer"], strict=True)) == {(d, t) for d in coverage.PAPER for t in coverage.TOKENIZERS}
    by, by_lexicon = (
        frame.set_index(["dataset", "tokenizer"])["neutral"],
        coverage.MEASURED.read().set_index(["dataset", "lexicon"])["neutral"],
    )
    for name in coverage.PAPER:
        assert by[name, coverage.RECIPES[name]] == by_lexicon[name, "lexicon_ko_knu"]
    table = fused_tables.tokenizers()
    assert table.loc[table["dataset"] == "NSMC", "e5"].item() == by["nsmc", "e5"]
    figure = make("coverage-tokenizers", Study.of("all", []))
    assert [len(marks.x) for marks in data_traces(figure)] == [len(coverage.PAPER)] * len(coverage.TOKENIZERS)


def test_joined_lexicons_know_what_one_of_them_knows() -> None:
    """An entry is neutral if it is neutral in all; else it has the mean of those that know it."""
    third = [1 / 3, 1 / 3, 1 / 3]
    a, b = np.array([third, third, [0.6, 0.2, 0.2]]), np.array([third, [0.2, 0.2, 0.6], [0.2, 0.2, 0.6]])
    both = coverage.joined({"a": a.astype(np.float32), "b": b.astype(np.float32)})
    assert both.tolist() == [pytest.approx(row) for row in (third, [0.2, 0.2, 0.6], [0.4, 0.2, 0.4])]


# ---- the product beside the sum


def test_lines_of_product_and_sum_are_the_formulas() -> None:
    """Weights equal the softmax of ten scores; only under the sum does the neutral similarity leave every weight as it is."""
    frame = make("product-and-sum", Study.of("all", [])).frame
    for row in frame.sample(40, random_state=0).to_dict("records"):
        scores = [row["score"], *[0.0] * 9]
        similar = [row["sigma"], *[1 / 3] * 9]
        raised = [s * t if row["way"] == "product" else s + t for s, t in zip(scores, similar, strict=True)]
        assert row["weight"] == pytest.approx(softmax(raised)[0])
        assert row["without"] == pytest.approx(softmax(scores)[0])
    down = frame[(frame["score"] == -2) & (frame["way"] == "product")]["weight"]
    assert (down.diff().dropna() < 0).all() and (frame[frame["way"] == "sum"].groupby("score")["weight"].diff().dropna() > 0).all()


# ---- negative scores


def test_negative_scores_are_counted_pair_by_pair() -> None:
    """Counts over layers and heads equal loops over the scores of the traces."""
    run = find("sst2/cls")
    model, texts = load(run), ["A warm, clever film.", "The plot is dull and the jokes are bad."]
    polarity = np.full((model.tokenizer.vocab_size, 3), 1 / 3, dtype=np.float32)
    polarity[::2] = 0.6, 0.2, 0.2
    frame = negative.measure(model, texts, polarity).set_index("layer")
    for layer in range(model.capabilities.layers):
        pairs = alike = below = below_alike = 0
        for text in texts:
            trace, ids = model.trace(text, scores=True), model.encode(text).ids
            words = [i for i in range(len(ids)) if not trace.specials[i]]
            for scores in trace.scores[layer].reshape(-1, len(ids), len(ids)):
                for i in words:
                    for j in (j for j in words if j != i):
                        same = sum(a * b for a, b in zip(polarity[ids[i]].tolist(), polarity[ids[j]].tolist(), strict=True)) > 0.335
                        pairs, alike = pairs + 1, alike + same
                        below, below_alike = below + (scores[i, j] < 0), below_alike + (same and scores[i, j] < 0)
        row = frame.loc[layer]
        assert (row["pairs"], row["alike"]) == (pairs, alike)
        assert row["negative"] == pytest.approx(below / pairs) and row["negative_alike"] == pytest.approx(below_alike / alike)


def test_shipped_negative_scores_are_those_of_the_baselines() -> None:
    frame = fused_tables.NEGATIVE.read()
    assert set(frame["run"]) == set(negative.RUNS) and set(frame["texts"]) == {negative.TEXTS}
    for name, rows in frame.groupby("run"):
        assert list(rows["layer"]) == list(range(find(str(name)).capabilities.layers))


# ---- our gains over encoders


def test_our_mean_and_spread_are_over_encoders(tmp_path: Path) -> None:
    """Two encoders with gains of 10 and 5 points have a mean of 7.5 and the deviation of the standard library; one has no deviation."""
    runs = []
    for encoder, gain in (("cls", 20), ("e5", 10)):
        base = None if encoder == "cls" else encoder
        for model, wrong in (("cls", 60), ("cls-all", 60 - gain)):
            runs += made_seeds(tmp_path / encoder, "nsmc", model, 2, wrong=wrong, **({"base": base} if base else {}))
    ours = fused.statistics_here(runs).set_index("model").loc["cls-all"]
    gains = [100 * 20 / N, 100 * 10 / N]
    assert ours["ours"] == pytest.approx(slow.mean(gains)) and ours["ours_deviation"] == pytest.approx(slow.stdev(gains))
    alone = fused.statistics_here(runs[:4]).set_index("model").loc["cls-all"]
    assert alone["encoders"] == 1 and np.isnan(alone["ours_deviation"])
    assert np.isnan(fused.statistics_here([]).set_index("model").loc["cls-all", "ours"])


# ---- what was published before


def test_the_nearest_published_number_stands_beside_a_baseline() -> None:
    """Of several numbers for an encoder and a task the nearest is shown; equal means equal to two decimals."""
    table = fused.published().set_index(["task", "encoder"])
    assert len(table) == 5 * 5
    with (fused.FOLDER / "published.csv").open(encoding="utf-8") as file:
        known = [row for row in csv.DictReader(file) if row["encoder"]]
    for (task, encoder), row in table.iterrows():
        values = [float(each["value"]) for each in known if (each["task"], each["encoder"]) == (task, encoder)]
        if not values:
            assert np.isnan(row["published"]) and not row["equal"]
            continue
        nearest = min(values, key=lambda value: abs(value - 100 * row["baseline"]))
        assert 100 * row["published"] == pytest.approx(nearest)
        assert row["equal"] == (f"{nearest:.2f}" == f"{100 * row['baseline']:.2f}")
