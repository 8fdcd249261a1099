"""Runs on sentences of other kinds: planted answers are judged as by hand, and what was asked of another version is not shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sentviz.data.datasets import Split
from sentviz.errors import RunError
from sentviz.papers.studies import cross_domain as module
from sentviz.papers.studies.cross_domain import (
    BASELINES,
    COLUMNS,
    EVERY,
    SETS,
    Texts,
    current,
    evaluate_on_sets,
    measure_cross_domain,
    stored_accuracies,
    why_not_evaluated,
)
from sentviz.runs.store import Run, runs

PLANTED = Texts("planted", "Planted", "toy", "test", {0: 0, 2: 1, 1: -1})


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register four polar and two neutral rows of a data set with three classes."""
    frame = pd.DataFrame({"id": list("abcdefg"), "text": list("abcdefg"), "label": [0, 0, 2, 2, 1, 1, 3]})
    monkeypatch.setattr(module.datasets, "load_split", lambda name, split: Split(name, split, frame, (), 0, ""))


def test_answers_are_judged_as_by_hand(planted: None) -> None:
    """Of six rows a is right, b wrong, c right, d unread, e near the middle and f far from it; g has a label that is left out."""
    shares = dict(zip("abcdef", [0.1, 0.9, 0.6, np.nan, 0.7, 0.8], strict=True))
    (row,) = evaluate_on_sets("me", "0", lambda frame: np.array([shares[name] for name in frame["id"]]), [PLANTED]).to_dict("records")
    assert (row["n"], row["right"], row["tag"]) == (6, 3, EVERY)
    assert row["calibration"] == pytest.approx((2 / 3) * abs(0.5 - 0.9) + (1 / 3) * abs(1 - 0.6))
    assert row["low"] < 0.5 < row["high"]


def test_the_demo_set_is_judged_by_phenomenon() -> None:
    """A model that always predicts positive is right on half of each phenomenon."""
    table = evaluate_on_sets("me", "0", lambda frame: np.ones(len(frame)), SETS[:1])
    assert set(table["accuracy"]) == {0.5} and table["n"].sum() == 2 * 270 and list(table) == COLUMNS


def test_nobody_is_asked_twice(planted: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def answer(who: str) -> module.Answer:
        return lambda frame: calls.append(who) or np.full(len(frame), 0.9)  # type: ignore[func-returns-value]

    monkeypatch.setattr(module, "BASELINES", {"one": ("1", lambda: answer("one"))})
    monkeypatch.setattr(module, "runs", lambda folders: {})
    file = tmp_path / "standing.csv"
    measure_cross_domain(file=file, sets=[PLANTED], say=lambda who: None)
    assert measure_cross_domain(file=file, sets=[PLANTED], say=lambda who: None).equals(stored_accuracies(file)) and calls == ["one"]
    measure_cross_domain(file=file, sets=[PLANTED], say=lambda who: None, again=True)
    assert calls == ["one", "one"]
    further = replace(PLANTED, name="further")
    table = measure_cross_domain(file=file, sets=[PLANTED, further], say=lambda who: None)
    assert calls == ["one"] * 3 and table["set"].tolist() == ["planted", "further"]
    file.write_text("who,set\n")
    with pytest.raises(RunError, match="missing or damaged"):
        stored_accuracies(file)


def test_what_ships_is_of_the_runs_that_ship() -> None:
    """The shipped table has every run with weights that reads English by its digest, and the baselines."""
    available = {name: run for name, run in runs().items() if isinstance(run, Run)}
    expected = {name: run for name, run in available.items() if not why_not_evaluated(run)}
    table = current(stored_accuracies(), expected)
    assert set(table["who"]) == {*expected, *BASELINES} and table.groupby("who").size().nunique() == 1
    assert table.loc[(table["who"] == "imdb/diff") & table["home"], "set"].tolist() == ["imdb"]
    assert current(table.assign(digest="other"), expected).empty
    assert {"sst2/ndt-unit-2", "yelp_full/vanilla-matched", "twitter_financial/diff"} <= expected.keys()
    assert "English" in why_not_evaluated(available["nsmc/cls-last-scaled"])
