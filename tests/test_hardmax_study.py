"""The hardmax paper: accuracies by setting and dimension, leaders over a split and their words, its panels and its table of matrices."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.hardmax import matrices
from sentviz.analysis.testset.leaders import CONFIDENCES, MEASURES, NEAR, followed, frequent, leading, per_layer, survey
from sentviz.charts.look import Look
from sentviz.charts.scene import scene_of
from sentviz.data.lexicon import LEXICONS, Lexicon
from sentviz.errors import DataMissingError, InputError
from sentviz.models.clustering import simulate
from sentviz.models.hardmax import HardmaxModel
from sentviz.papers.hardmax import claims, figures, study
from sentviz.papers.hardmax.study import PUBLIC, beside, by_row, by_setting, trained
from sentviz.papers.studies.compare_configurations import points
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests import kit
from tests.charts import figure_of, of_leaders, stub
from tests.shipped import SHIPPED
from tests.studies import made_run, made_seeds, plant

HERE = [run for run in SHIPPED if run.config["model"].get("kind") == "hardmax"]
shipped = pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
SHORT, WIDE = "128 words", "512 words, wide start"

# ---- accuracies


def width(root: Path, d: int, wrong: int, seeds: int = 1, variant: str = "") -> list[Run]:
    return made_seeds(root / f"{variant}", "imdb", f"hardmax-d{d}", seeds, wrong=wrong, variant=variant)


def test_no_seed_is_lost(tmp_path: Path) -> None:
    """The mean of a dimension is taken over all its seeds, in any order of the runs; a run with another name is ignored."""
    two, single = width(tmp_path, 2, 20, 2), width(tmp_path, 4, 60)
    unlisted = made_run(tmp_path, "imdb", "hardmax-d2", 3, wrong=90, name="tried-out")
    seeds = {d: [run.config["recipe"]["seed"] for run in each] for d, each in trained([*single, *two[::-1], unlisted]).items()}
    assert seeds == {2: [0, 1], 4: [0]} and beside([]).empty
    assert beside([*two, *single]).set_index("d")[["value", "seeds"]].to_numpy().tolist() == [[0.9, 2], [0.7, 1]]
    assert points(by_row(two))["value"].tolist() == [0.9, 0.9]


def test_leaders_are_read_of_runs_that_have_weights_and_were_counted(tmp_path: Path) -> None:
    """Of two dimensions unless another is asked for, and of every seed."""

    def holding(run: Run, *files: str) -> Run:
        changed = Run(run.name, run.folder)
        vars(changed)["config"] = run.config | {"files": dict.fromkeys(files, "")}
        return changed

    both, (first, second), four = ("model.safetensors", "leaders.parquet"), width(tmp_path, 2, 20, 2), width(tmp_path, 4, 60)
    whole, wide = [holding(run, *both) for run in (first, second)], [holding(run, *both) for run in four]
    assert study.surveyed([*whole, *wide]) == whole and study.surveyed(wide, 4) == wide and study.surveyed([]) == []
    for file in both:
        assert study.surveyed([whole[0], holding(second, file)]) == whole[:1]


@shipped
def test_numbers_beside_the_public_ones_are_the_runs_own() -> None:
    table = beside(HERE).set_index("model")
    assert set(table.dropna(subset="printed")["d"]) == set(PUBLIC) and len(table) == 2 * len(PUBLIC)
    for variant, by_d in by_setting(HERE).items():
        for d, own in by_d.items():
            row = table.loc[f"d = {d}, {WIDE if variant else SHORT}"].to_dict()
            seeds = [run.metrics()["test"] for run in own]
            mean = sum(metrics["accuracy"]["value"] for metrics in seeds) / len(seeds)
            assert (row["value"], row["n"], row["seeds"]) == (pytest.approx(mean), seeds[0]["n"], len(seeds))
            assert {run.shape.max_length for run in own} == {512 if variant else 128}


# ---- words of leaders


def test_polar_words_are_compared_at_the_same_frequency() -> None:
    """If frequent words lead and are polar more often, but within a tenth of the vocabulary leading makes no difference, there is none."""
    frequent = [(f"{'p' if i % 2 else 'n'}{i}", i // 2 % 10 < 9) for i in range(200)]
    rare = [(f"{'p' if i % 10 == 0 else 'n'}{i + 200}", i // 10 % 10 == 0) for i in range(1800)]
    frame = pd.DataFrame([*frequent, *rare], columns=["word", "leads"]).astype({"leads": int})
    polar = {word for word in frame["word"] if word.startswith("p")}
    led, rest = (frame.loc[frame["leads"] == leads, "word"].isin(polar).mean() for leads in (1, 0))
    gap, low, high = claims.more_polar(frame, polar)
    assert led - rest > 0.15 and abs(gap) < 0.02 and low < 0 < high
    assert claims.more_polar(frame.assign(leads=1), polar)[1:] == (float("-inf"), float("inf"))


def test_how_far_a_leader_has_to_be_from_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share is of the reach of words that lead, if only once: 8 log-odds are 4 from a line of slope 2, words that never lead further."""
    words = pd.DataFrame({"word": ["far", "near", "never"], "score": [-8.0, 3.0, 90.0]})
    rows = [("reviews", "", 2.0), ("words", "far", 1.0), ("words", "near", 5.0)]
    counted = pd.DataFrame(rows, columns=["table", "name", "value"]).assign(label="negative", correct=True, confidence=0.95)
    monkeypatch.setattr("sentviz.models.loading.load", lambda run: SimpleNamespace(vocabulary=words, decision=([0.0, 2.0], 0.0)))
    run: Any = SimpleNamespace(frame=lambda file: counted.astype({"confidence": "float32"}))
    for wanted, distance, named in ((-0.5, 2.0, ["far"]), (-0.25, 1.0, ["near", "far"]), (3.0, 3.0, ["far"]), (0.5, 0.5, ["near", "far"])):
        leaders, least = claims.frequent_leaders(run, wanted)
        assert least == distance and leaders["word"].tolist() == named


def test_sides_are_those_of_the_first_lexicon_that_has_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one fills in, a third one is not read; a lexicon that is not installed is passed over."""
    each = {"warm": (0.7, 0.2, 0.1)}, {"warm": (0.1, 0.2, 0.7), "dull": (0.2, 0.2, 0.6)}, {"soup": (1.0, 0.0, 0.0)}
    lexicons = dict(zip(LEXICONS["en"], each, strict=True))

    def load(name: str) -> Any:
        if name not in lexicons:
            raise DataMissingError(name)
        return SimpleNamespace(terms=tuple(lexicons[name]), weights=list(lexicons[name].values()))

    monkeypatch.setattr(Lexicon, "load", load)
    assert claims._polarities() == pytest.approx({"warm": 0.6, "dull": -0.4})
    del lexicons[LEXICONS["en"][0]]
    assert claims._polarities() == pytest.approx({"warm": -0.6, "dull": -0.4})
    lexicons.clear()
    assert claims._polarities() == {}


# ---- leaders over a split


@pytest.fixture(scope="module")
def model() -> HardmaxModel:
    return kit.random_model()


@pytest.fixture(scope="module")
def frame(model: HardmaxModel) -> pd.DataFrame:
    return survey(model, kit.toy_splits()["test"])


def test_measures_and_leaders_are_those_of_each_review(model: HardmaxModel) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, model.config.vocab_size, size=n).astype(np.int32) for n in (1, 2, 7, 12, 30)]
    measures, words, probabilities = followed(model, rows)
    for i, row in enumerate(rows):
        review = model.follow(" ".join(model.tokenizer.token_of(int(j)) for j in row))
        np.testing.assert_array_equal(np.sort(words[i]), np.sort(row[review.leaders]))
        assert probabilities[i] == pytest.approx(review.probabilities[-1, 1], abs=1e-9)
        since = np.full(len(row), 99)
        since[review.leaders] = review.since
        since = since[[list(row).index(word) for word in row]]  # equal words lead together
        for k, places in enumerate(review.positions):
            close = np.linalg.norm(places[:, None] - places[None], axis=-1) <= NEAR * np.linalg.norm(review.positions[0], axis=1).max()
            leads = since < (k + 1 if k < model.config.layers else 99)
            order = [list(row).index(word) for word in np.unique(row)]
            clusters = sum(not close[j, order[:place]].any() for place, j in enumerate(order))
            at_leaders = np.mean([close[j][leads].any() for j in range(len(row))])
            leading_words = len({word for word, lead in zip(row, leads, strict=True) if lead})
            assert measures[i, k].tolist() == pytest.approx([leading_words, clusters, at_leaders])


def test_the_survey_counts_reviews(model: HardmaxModel, frame: pd.DataFrame) -> None:
    """Leaders and reviews by label, answer and confidence equal counts over single reviews; a table per layer equals means over all."""
    split = kit.toy_splits()["test"].frame
    counts: Counter[tuple[str, str, bool]] = Counter()
    answers = model.predict(split["text"].tolist())
    for text, label, answer in zip(split["text"], split["label"], answers["label"], strict=True):
        review = model.follow(text)
        counts.update((review.words[i], kit.LABELS[label], kit.LABELS[label] == answer) for i in review.leaders)
    words = frame[frame["table"] == "words"].groupby(["name", "label", "correct"])["value"].sum()
    assert {key: int(value) for key, value in words.items()} == counts
    reviews = frame[frame["table"] == "reviews"]
    assert reviews["value"].sum() == len(split) and set(np.round(reviews["confidence"].astype(float), 4)) <= set(CONFIDENCES)
    sure = [reviews.loc[reviews["confidence"] >= np.float32(least), "value"].sum() for least in (0.6, 0.95)]
    assert sure == [(answers[["negative", "positive"]].max(axis=1) >= least).sum() for least in (0.6, 0.95)]
    measures, _, _ = followed(model, list(model.tokenizer.ids_batch(split["text"].tolist())))
    table = per_layer(frame).set_index(["measure", "layer"])
    for column, name in enumerate(MEASURES):
        for k in (0, 3, model.config.layers):
            of_layer = measures[:, k, column]
            want = [of_layer.mean(), np.quantile(of_layer, 0.25), len(split)]
            assert table.loc[(name, k), ["mean", "q25", "n"]].tolist() == pytest.approx(want, rel=1e-5)


def test_the_most_frequent_leaders(model: HardmaxModel, frame: pd.DataFrame) -> None:
    weight, _ = model.decision
    leaders = frequent(frame, model.vocabulary, weight, distance=0, confidence=0.5, top=3)
    words = frame[(frame["table"] == "words") & frame["correct"]]
    for label, part in leaders.groupby("label"):
        totals = words[words["label"] == label].groupby("name")["value"].sum().sort_values(ascending=False)
        assert part["count"].tolist() == totals.head(3).astype(int).tolist()
        np.testing.assert_allclose(part["share"], part["count"] / part["n"])
    np.testing.assert_allclose(leaders["distance"], leaders["score"] / np.linalg.norm(weight))
    middle = float(leaders["distance"].abs().median())
    far = frequent(frame, model.vocabulary, weight, distance=middle, confidence=0.5, top=100)
    assert (far["distance"].abs() >= middle).all() and frequent(frame, model.vocabulary, weight, distance=1e9).empty
    wrong: Any
    for wrong in ({"confidence": 0.2}, {"distance": -1.0}, {"distance": float("nan")}, {"top": 0}):
        with pytest.raises(InputError):
            frequent(frame, model.vocabulary, weight, **wrong)
    table = leading(frame, model.vocabulary)
    assert table["word"].tolist() == model.vocabulary["word"].tolist() and "leads" not in model.vocabulary
    assert table["leads"].sum() == frame.loc[frame["table"] == "words", "value"].sum()


def test_texts_without_a_known_word_are_left_out(model: HardmaxModel, frame: pd.DataFrame) -> None:
    split = kit.toy_splits()["test"]
    strange = split.frame.head(2).assign(text="the unheard-of")
    pd.testing.assert_frame_equal(survey(model, replace(split, frame=pd.concat([strange, split.frame], ignore_index=True))), frame)
    with pytest.raises(InputError, match="knows no word of these texts"):
        survey(model, replace(split, frame=strange))


# ---- pictures

WORDS = ("amazing", "cast", "plot", "torture", "dull")
POINTS = np.array([[1.0, 1.0], [0.2, 0.1], [-0.1, -0.2], [0.6, -0.9], [-1.2, -1.0]])


def test_three_panels_show_words_clusters_and_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    """The panels are below each other in a narrow figure; without the decoder there are two."""
    run = simulate(POINTS, None, 1.5, 8)
    means = run.positions.mean(axis=1)
    odds = 1 / (1 + np.exp(-(means @ [2.0, 2.0] - 0.5)))
    scene = scene_of(run, WORDS, "five words", decision=([2.0, 2.0], -0.5), means=means, probabilities=odds)
    monkeypatch.setattr(figures, "with_weights", lambda runs: [stub()])
    monkeypatch.setattr(figures, "scene_of_review", lambda run, model, review: scene)
    monkeypatch.setattr(figures, "sourced", lambda figure, run: figure)
    monkeypatch.setattr(HardmaxModel, "of", lambda run: stub(follow=lambda text: None))
    drawn, two = (figure_of("hardmax-components", stub(runs=[]), **options) for options in ({}, {"decoder": False}))
    assert drawn.frame.groupby("panel", sort=False).size().to_dict() == {"embedding": 5, "transformer": 5, "decoder": 5}
    for panel, layer in (("embedding", 0), ("transformer", 8)):
        rows = drawn.frame[drawn.frame["panel"] == panel]
        np.testing.assert_allclose(rows[["x", "y"]].to_numpy(), run.positions[layer])
        assert rows["word"].tolist() == list(WORDS) and set(np.flatnonzero(rows["leader"])) == set(run.leaders)
    np.testing.assert_allclose(drawn.frame["x"].tail(5), (run.positions[-1] @ [2.0, 2.0] - 0.5) / np.sqrt(8))
    assert two.frame["panel"].tolist() == ["embedding"] * 5 + ["transformer"] * 5 and two.name == "hardmax-clusters"
    for pixels, across in ((990, 3), (400, 1)):
        layout = replace(drawn, look=Look(width=pixels)).plot.layout
        assert len({round(layout[axis].domain[0], 2) for axis in ("xaxis", "xaxis2", "xaxis3")}) == across
        assert (layout.height > 600) == (across == 1)


def test_marked_words_have_a_ring_and_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    words = pd.DataFrame({"word": [*WORDS, "rest"], "x0": [*POINTS[:, 0], 0.0], "x1": [*POINTS[:, 1], 0.1], "leads": [5, 0, 2, 0, 9, 0]})
    of = of_leaders(monkeypatch, words.assign(score=2 * words["x0"] + 2 * words["x1"]), ([2.0, 2.0], 0.0))
    drawn = figure_of("vocabulary", of, marked=("torture", "absent"))
    assert "<b>torture (−0.21)</b>" in [str(note.text) for note in drawn.plot.layout.annotations]
    assert "Rings" in drawn.caption and "Rings" not in figure_of("vocabulary", of).caption
    assert [list(trace.x) for trace in drawn.plot.data if trace.marker.symbol == "circle-open"] == [[0.6]]


# ---- other matrices


def test_kinds_of_matrices_are_what_their_names_say() -> None:
    rng = np.random.default_rng(1)
    for d in (2, 4):
        by_kind = {name: make_one(rng, d) for name, make_one in matrices.KINDS.items()}
        for name, a in by_kind.items():
            assert a.shape == (d, d) and np.allclose(a, a.T) == name.startswith("symmetric")
            assert (np.linalg.matrix_rank(a) == 1) == name.endswith("rank 1")
        values = {name: np.linalg.eigvalsh(a) for name, a in by_kind.items() if name.startswith("symmetric")}
        assert (values["symmetric positive definite"] > 0).all() and (values["symmetric negative definite"] < 0).all()
        assert np.ptp(np.sign(values["symmetric, with negative eigenvalues"])) == 2
    row, negative = (matrices.count(f"symmetric {sign} definite", runs=6) for sign in ("positive", "negative"))
    assert all(row[name] == 1 for name in matrices.STATEMENTS) and (row["single"], negative["single"]) == (0, 1)


def test_the_table_of_matrices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = make_table(find_paper("hardmax"), "matrices", []).frame
    assert frame["kind"].tolist() == list(matrices.KINDS) and frame.iloc[0][list(matrices.STATEMENTS)].eq(1).all()
    plant(monkeypatch, "hardmax.study.MATRICES", tmp_path, frame.iloc[:0])
    with pytest.raises(InputError, match="python -m experiments hardmax matrices"):
        make_table(find_paper("hardmax"), "matrices", [])
