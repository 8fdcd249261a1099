"""Stored measurements of shipped runs: they belong to the run with their digest, and measuring again gives the same numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.explain import SCORES, measured, stored
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.analysis.explain.faithfulness import FILE, over_split, sampled
from sentviz.analysis.explain.measured import FOLDER, faithfulness_of, flips_of, flips_over, times_over
from sentviz.models.model import Model
from sentviz.runs.headline_evidence import Flip
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.kit import small_model, toy_splits
from tests.shipped import ROOT

TEXTS = toy_splits()["test"].frame["text"].tolist()


@pytest.mark.exhaustive
def test_flips_over_a_sample_are_those_of_each_text() -> None:
    """Shares and means equal those of each text in the sample, inside their intervals."""
    model = small_model(1)
    frame = flips_over(model, TEXTS, sample=6).set_index("metric")
    traces = list(sampled(model, TEXTS, sample=6, seed=0))
    assert [trace.text for trace in traces] == [TEXTS[i] for i in np.random.default_rng(0).permutation(len(TEXTS))[:6]]
    flips = [smallest_flip(model, trace, seed=i) for i, trace in enumerate(traces)]
    assert frame.loc["found", "value"] == pytest.approx(np.mean([bool(flip.edits) for flip in flips]), abs=1e-5)
    assert frame.loc["one", "value"] == pytest.approx(np.mean([len(flip.edits) == 1 for flip in flips]), abs=1e-5)
    known = [len(flip.edits) == 1 or flip.complete for flip in flips]
    assert frame.loc["known", "value"] == pytest.approx(np.mean(known), abs=1e-5)
    assert frame.loc["passes", "value"] == pytest.approx(np.mean([flip.passes + flip.drawn for flip in flips]), abs=1e-3)
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all() and frame.loc["passes", "n"] == 6
    times = times_over(small_model(), TEXTS, sample=2)
    assert (
        set(times["method"]) - {"clauses"} == {name for name in SCORES if not SCORES[name].package} - {"difference", "clauses", "sentences"}
        and set(times["n"]) == {2}
        and (times["value"] > 0).all()
    )


@pytest.mark.exhaustive
def test_a_search_that_stops_early_is_compared_with_all_edits_of_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text counts as equal if no edit of one word flips it or the search found one; only texts of at most 30 words are searched."""
    model, few = small_model(1), 2

    def stopped_early(model: Model, trace: Trace, **options: Any) -> Flip:
        return smallest_flip(model, trace, **({"passes": few} | options))

    monkeypatch.setattr(measured, "smallest_flip", stopped_early)
    frame = flips_over(model, [*TEXTS, "word " * 31], sample=20).set_index("metric")
    traces = list(sampled(model, TEXTS, sample=20, seed=0))
    early = [len(smallest_flip(model, trace, passes=few).edits) == 1 for trace in traces]
    every = [bool(smallest_flip(model, trace, most=1, passes=10**6).edits) for trace in traces]
    equal = [is_single or not exists for is_single, exists in zip(early, every, strict=True)]
    assert 0 < np.mean(equal) < 1 and frame.loc["equal", "n"] == len(traces)
    assert frame.loc["equal", "value"] == pytest.approx(np.mean(equal), abs=1e-5)
    assert frame.loc["known", "value"] <= frame.loc["equal", "value"]


def test_a_row_is_of_the_run_with_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements are added to the table of the run with that digest, not to another run of the same name; without a table there are no
    rows.
    """
    own = over_split(small_model(), TEXTS, ["received"], sample=2)
    beside = own.assign(method="units", run="toy/one", digest="abc")
    tables = {"faithfulness": beside, "flips": beside.iloc[:0]}
    monkeypatch.setattr(stored, "read_measured", tables.__getitem__)

    def run(digest: str, files: dict[str, str]) -> Any:
        return SimpleNamespace(name="toy/one", digest=digest, files=files, frame=lambda file: own)

    both = faithfulness_of(run("abc", {FILE: ""}))
    assert set(both["method"]) == {"received", "random", "units"} and list(both.columns) == list(own.columns)
    assert set(faithfulness_of(run("abd", {FILE: ""}))["method"]) == {"received", "random"}
    assert faithfulness_of(run("abd", {})).empty and flips_of(run("abc", {})).empty


@pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")
def test_what_ships_is_of_runs_that_ship() -> None:
    """Every row's run ships with that digest, and random explanations are those of the run's own table."""
    for file in ("faithfulness", "flips"):
        table = pd.read_csv(FOLDER / f"{file}.csv")
        for name, part in table.groupby("run"):
            run = Run.open(ROOT / str(name), str(name))
            assert set(part["digest"]) == {run.digest}
            if file == "faithfulness" and FILE in run.config["files"]:
                own = run.frame(FILE).drop_duplicates("metric").set_index("metric")["random"]
                new = part[part["metric"] != "milliseconds"].drop_duplicates("metric").set_index("metric")["random"]
                assert new.to_dict() == pytest.approx(own.to_dict(), abs=2e-3)
                assert not set(part.loc[part["metric"] != "milliseconds", "method"]) & set(run.frame(FILE)["method"])


@pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")
def test_the_smallest_edits_of_every_run_with_weights_are_measured() -> None:
    """The search finds an edit of one word, if there is one, in at least 98 % of the texts."""
    flips = pd.read_csv(FOLDER / "flips.csv")
    names = {f"{config.parts[-3]}/{config.parts[-2]}" for config in ROOT.glob("*/*/config.json")}
    assert set(flips["run"]) == {name for name in names if Run.open(ROOT / name, name).has_weights}
    equal = flips[flips["metric"] == "equal"]
    assert set(equal["run"]) == set(flips["run"]) and equal["value"].min() >= 0.98
