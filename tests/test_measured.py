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
from sentviz.analysis.explain.scores import LARGER
from tests.kit import SHIPPED, small_model, toy_splits
from tests.shipped import ROOT
from tests.shipped import SHIPPED as RUNS

TEXTS = toy_splits()["test"].frame["text"].tolist()


@pytest.mark.exhaustive
def test_flips_over_a_sample_are_those_of_each_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares and means equal those of each text. A text counts as equal if no edit of one word flips it or the search found one."""
    model, few = small_model(1), 2
    traces = list(sampled(model, TEXTS, sample=6, seed=0))
    assert [trace.text for trace in traces] == [TEXTS[i] for i in np.random.default_rng(0).permutation(len(TEXTS))[:6]]
    frame = flips_over(model, TEXTS, sample=6).set_index("metric")
    flips = [smallest_flip(model, each, seed=i) for i, each in enumerate(traces)]
    single = [len(flip.edits) == 1 for flip in flips]
    wanted = {"found": np.mean([bool(flip.edits) for flip in flips]), "one": np.mean(single),
              "known": np.mean([is_single or flip.complete for is_single, flip in zip(single, flips, strict=True)]),
              "passes": np.mean([flip.passes + flip.drawn for flip in flips])}  # fmt: skip
    assert {name: frame.loc[name, "value"] for name in wanted} == pytest.approx(wanted, abs=1e-3)
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all() and frame.loc["passes", "n"] == 6
    monkeypatch.setattr(
        measured, "smallest_flip", lambda model, trace, **options: smallest_flip(model, trace, **({"passes": few} | options))
    )
    frame = flips_over(model, [*TEXTS, "word " * 31], sample=20).set_index("metric")
    traces = list(sampled(model, TEXTS, sample=20, seed=0))
    early = [len(smallest_flip(model, trace, passes=few).edits) == 1 for trace in traces]
    every = [bool(smallest_flip(model, trace, most=1, passes=10**6).edits) for trace in traces]
    equal = [is_single or not exists for is_single, exists in zip(early, every, strict=True)]
    assert 0 < np.mean(equal) < 1 and frame.loc["equal", ["value", "n"]].tolist() == pytest.approx([np.mean(equal), 20], abs=1e-5)
    times = times_over(small_model(), TEXTS, sample=2)
    names = {name for name in SCORES if not SCORES[name].package} - {"difference", *LARGER}
    assert set(times["method"]) - {"clauses"} == names and set(times["n"]) == {2} and (times["value"] > 0).all()


def test_a_row_is_of_the_run_with_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements are added to the table of the run with that digest; without a table there are no rows."""
    own = over_split(small_model(), TEXTS, ["received"], sample=2)
    beside = own.assign(method="units", run="toy/one", digest="abc")
    monkeypatch.setattr(stored, "read_measured", {"faithfulness": beside, "flips": beside.iloc[:0]}.__getitem__)

    def run(digest: str, files: dict[str, str]) -> Any:
        return SimpleNamespace(name="toy/one", digest=digest, files=files, frame=lambda file: own)

    both, alone = (faithfulness_of(run(digest, {FILE: ""})) for digest in ("abc", "abd"))
    assert set(both["method"]) == {"received", "random", "units"} and list(both.columns) == list(own.columns)
    assert set(alone["method"]) == {"received", "random"}
    assert faithfulness_of(run("abd", {})).empty and flips_of(run("abc", {})).empty


@SHIPPED
def test_what_ships_is_of_runs_that_ship() -> None:
    """Rows are of a run with that digest, random explanations those of its own table; searches find 98 % of the edits of one word."""
    by_name, tables = {run.name: run for run in RUNS}, {file: pd.read_csv(FOLDER / f"{file}.csv") for file in ("faithfulness", "flips")}
    for table in tables.values():
        assert all(set(part["digest"]) == {by_name[name].digest} for name, part in table.groupby("run"))
    for name, part in tables["faithfulness"].groupby("run"):
        if FILE in by_name[name].config["files"]:
            own, new = by_name[name].frame(FILE), part[part["metric"] != "milliseconds"]
            random = [each.drop_duplicates("metric").set_index("metric")["random"].to_dict() for each in (new, own)]
            assert random[0] == pytest.approx(random[1], abs=2e-3) and not set(new["method"]) & set(own["method"])
    flips = tables["flips"]
    equal = flips[flips["metric"] == "equal"]
    assert set(flips["run"]) == set(equal["run"]) == {run.name for run in RUNS if run.has_weights} and ROOT.is_dir()
    assert equal["value"].min() >= 0.98
