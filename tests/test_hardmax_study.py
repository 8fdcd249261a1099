"""The hardmax paper: accuracies, leaders and their words, its panels, its table of matrices, and its playground."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from app.components.browser import Picked, new_point, picked_token
from experiments.hardmax import matrices
from sentviz.analysis.testset.leaders import CONFIDENCES, MEASURES, NEAR, followed, frequent, leading, per_layer, survey
from sentviz.data.lexicon import LEXICONS, Lexicon
from sentviz.errors import DataMissingError, InputError
from sentviz.models.clustering.playground import DEFAULTS, MATRICES, linked, matrix_of, pasted, settings, starts
from sentviz.models.hardmax import HardmaxModel
from sentviz.papers.hardmax import claims, study
from sentviz.papers.hardmax.study import PUBLIC, beside, by_row, by_setting, trained
from sentviz.papers.studies.compare_configurations import points
from sentviz.papers.studies.items import make_table
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run
from tests import kit
from tests.charts import figure_of, of_leaders
from tests.kit import opened, page_text, refused
from tests.shipped import SHIPPED
from tests.studies import made_run, made_seeds, plant

HERE = [run for run in SHIPPED if run.config["model"].get("kind") == "hardmax"]
shipped = pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
SHORT, WIDE = "128 words", "512 words, wide start"


def width(root: Path, d: int, wrong: int, seeds: int = 1, variant: str = "") -> list[Run]:
    return made_seeds(root / f"{variant}", "imdb", f"hardmax-d{d}", seeds, wrong=wrong, variant=variant)


def test_no_seed_is_lost(tmp_path: Path) -> None:
    two, single = width(tmp_path, 2, 20, 2), width(tmp_path, 4, 60)
    unlisted = made_run(tmp_path, "imdb", "hardmax-d2", 3, wrong=90, name="tried-out")
    seeds = {d: [run.config["recipe"]["seed"] for run in each] for d, each in trained([*single, *two[::-1], unlisted]).items()}
    assert seeds == {2: [0, 1], 4: [0]} and beside([]).empty
    assert beside([*two, *single]).set_index("d")[["value", "seeds"]].to_numpy().tolist() == [[0.9, 2], [0.7, 1]]
    assert points(by_row(two))["value"].tolist() == [0.9, 0.9]

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


def test_polar_words_and_their_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    frequent = [(f"{'p' if i % 2 else 'n'}{i}", i // 2 % 10 < 9) for i in range(200)]
    rare = [(f"{'p' if i % 10 == 0 else 'n'}{i + 200}", i // 10 % 10 == 0) for i in range(1800)]
    frame = pd.DataFrame([*frequent, *rare], columns=["word", "leads"]).astype({"leads": int})
    polar = {word for word in frame["word"] if word.startswith("p")}
    led, rest = (frame.loc[frame["leads"] == leads, "word"].isin(polar).mean() for leads in (1, 0))
    gap, low, high = claims.more_polar(frame, polar)
    assert led - rest > 0.15 and abs(gap) < 0.02 and low < 0 < high
    assert claims.more_polar(frame.assign(leads=1), polar)[1:] == (float("-inf"), float("inf"))
    words = pd.DataFrame({"word": ["far", "near", "never"], "score": [-8.0, 3.0, 90.0]})
    rows = [("reviews", "", 2.0), ("words", "far", 1.0), ("words", "near", 5.0)]
    counted = pd.DataFrame(rows, columns=["table", "name", "value"]).assign(label="negative", correct=True, confidence=0.95)
    monkeypatch.setattr("sentviz.models.loading.load", lambda run: SimpleNamespace(vocabulary=words, decision=([0.0, 2.0], 0.0)))
    run: Any = SimpleNamespace(frame=lambda file: counted.astype({"confidence": "float32"}))
    for wanted, distance, named in ((-0.5, 2.0, ["far"]), (-0.25, 1.0, ["near", "far"]), (3.0, 3.0, ["far"]), (0.5, 0.5, ["near", "far"])):
        leaders, least = claims.frequent_leaders(run, wanted)
        assert least == distance and leaders["word"].tolist() == named
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


def test_the_survey_and_its_leaders_are_counted(model: HardmaxModel, frame: pd.DataFrame) -> None:
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
    for wrong in ({"confidence": 0.2}, {"distance": -1.0}, {"distance": float("nan")}, {"top": 0}):
        refused(InputError, ".", frequent, frame, model.vocabulary, weight, **wrong)
    table = leading(frame, model.vocabulary)
    assert table["word"].tolist() == model.vocabulary["word"].tolist() and "leads" not in model.vocabulary
    assert table["leads"].sum() == frame.loc[frame["table"] == "words", "value"].sum()
    split = kit.toy_splits()["test"]
    strange = split.frame.head(2).assign(text="the unheard-of")
    pd.testing.assert_frame_equal(survey(model, replace(split, frame=pd.concat([strange, split.frame], ignore_index=True))), frame)
    refused(InputError, "knows no word of these texts", survey, model, replace(split, frame=strange))


def test_marked_words_have_a_ring_and_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    words = pd.DataFrame({"word": ["cast", "torture", "dull"], "x0": [0.2, 0.6, -1.2], "x1": [0.1, -0.9, -1.0], "leads": [5, 0, 9]})
    of = of_leaders(monkeypatch, words.assign(score=2 * words["x0"] + 2 * words["x1"]), ([2.0, 2.0], 0.0))
    drawn = figure_of("vocabulary", of, marked=("torture", "absent"))
    assert "<b>torture (−0.21)</b>" in [str(note.text) for note in drawn.plot.layout.annotations]
    assert [list(trace.x) for trace in drawn.plot.data if trace.marker.symbol == "circle-open"] == [[0.6]]


def test_the_table_of_matrices_needs_its_measurements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = make_table(find_paper("hardmax"), "matrices", []).frame
    assert frame["kind"].tolist() == list(matrices.KINDS) and frame.iloc[0][list(matrices.STATEMENTS)].eq(1).all()
    plant(monkeypatch, "hardmax.study.MATRICES", tmp_path, frame.iloc[:0])
    refused(InputError, "python -m experiments hardmax matrices", make_table, find_paper("hardmax"), "matrices", [])


def test_without_a_run_the_page_teaches_and_the_playground_works(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("review", "leaders"):
        monkeypatch.setattr(f"app.views.hardmax.{part}.runs", dict)
        assert "sentviz train imdb" in page_text(opened("hardmax", run="", lab=part))
    assert "holds" in page_text(opened("hardmax", run="", lab="playground"))


@pytest.mark.parametrize("link", ["", "n:51", "n", "start:odd~dimension:4", "seed:-1~layers:61~angle:7", "alpha:nan~e1:inf", "x:1", "~~:"])
def test_settings_that_cannot_be_are_the_default(link: str) -> None:
    assert settings(link) == DEFAULTS
    for changed in MATRICES.values():
        assert settings(linked(DEFAULTS | changed | {"alpha": 0.5})) == DEFAULTS | changed | {"alpha": 0.5}
    assert linked(settings("n:50~alpha:0.25")) == "n:50~alpha:0.25"


def test_points_that_cannot_be_are_one_sentence() -> None:
    assert pasted("[1, 2]\n(3;4)\n\n 5\t6 ", 2).tolist() == [[1, 2], [3, 4], [5, 6]]
    for text, fault in (("1 2\n3", "Line 2"), ("1, x", "not a number"), ("nan 1", "not finite"), ("1 1\n" * 2001, "2,000")):
        refused(InputError, fault, pasted, text, 2)
    axis = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    np.testing.assert_allclose(matrix_of([2.0, 2.0], 30.0, 90.0), [[0, -2], [2, 0]], atol=1e-12)
    np.testing.assert_allclose(matrix_of([3.0, 1.0], 30.0) @ axis, 3 * axis)
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix_of([3.0, 1.0], 30.0)), [1, 3])
    for kind in ("gauss", "disc", "sphere", "clusters", "grid"):
        z = starts(kind, 50, 3, 1)
        assert z.shape[1] == 3 and 0 < len(z) <= 50 and (z == starts(kind, 50, 3, 1)).all()
    np.testing.assert_allclose(np.linalg.norm(starts("sphere", 20, 3, 0), axis=1), 1)


def test_what_the_browser_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    data, state = {"id": "abc", "words": ["a", "b", "c"], "layers": 8}, dict[str, Any]()
    monkeypatch.setattr(st, "session_state", {"canvas": state})
    tokens: list[tuple[Any, Picked | None]] = [({"id": "abc", "index": 2, "layer": 8}, Picked(2, 8))]
    tokens += [({"id": "abc", "index": index, "layer": layer}, None)
               for index, layer in ((3, 0), (-1, 0), (0, 9), (True, 0), (1.0, 0), ("1", 0), (None, 0), (1, None))]  # fmt: skip
    for answer, wanted in (*tokens, ({"id": "another", "index": 0, "layer": 0}, None), (None, None), ([1, 2], None), ("token", None)):
        state["token"] = answer
        assert picked_token("canvas", data) == wanted, answer
    for at in ([1], ["1", 2], [float("nan"), 0], [True, 0], None, [1e9, 0]):
        state["point"] = at
        assert new_point("canvas") is None
    state["point"] = [1, 2.5]
    assert new_point("canvas") == (1.0, 2.5)
