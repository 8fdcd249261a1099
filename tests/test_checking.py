"""Runs without weights, trained again, and the controls of lambda's start."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import InputError, RunError
from sentviz.papers.ndt.study import controlled_lambdas, describe_controls
from sentviz.papers.studies.runner import Checked, beside, checked, drawn, light
from sentviz.runs.catalog import study_runs
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run
from sentviz.training import train
from tests.kit import SHIPPED, refused, toy_recipe, use_toy_data
from tests.studies import answering, made_run


def test_runs_are_drawn_from_those_without_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    available = [made_run(tmp_path, "sst2", model, seed) for model in ("vanilla", "diff") for seed in (0, 1)]
    available.append(made_run(tmp_path, "imdb", "vanilla"))
    monkeypatch.setattr(Run, "has_weights", property(lambda run: run.name == "sst2/diff"))
    assert sorted(run.name for run in drawn(available, "ndt", "sst2", 9)) == ["sst2/diff-s1", "sst2/vanilla", "sst2/vanilla-s1"]
    some = [[run.name for run in drawn(available, "ndt", "sst2", 2, seed=seed)] for seed in (0, 0, 1, 2, 3)]
    assert some[0] == some[1] and all(len(set(each)) == 2 for each in some) and len({tuple(each) for each in some}) > 1
    assert {run.name for run in drawn(available, "ndt", "sst2", 9, models=["vanilla"])} == {"sst2/vanilla", "sst2/vanilla-s1"}
    for runs, count, message in (([], 1, "without weights"), (available, 0, "at least one")):
        refused(InputError, message, drawn, runs, "ndt", "sst2", count)


def test_answers_are_compared_row_by_row(tmp_path: Path) -> None:
    first = answering(tmp_path, "a", [True] * 6)
    assert beside(first, answering(tmp_path, "b", [True] * 6, order=[3, 1, 0, 2, 5, 4])) == Checked("a", 6, 0, 0.0)
    difference = beside(first, answering(tmp_path, "c", [True, False, True, True, False, True]))
    assert (difference.differ, difference.largest) == (2, pytest.approx(0.7))
    refused(RunError, "other rows", beside, first, answering(tmp_path, "d", [True] * 5))
    refused(RunError, "other classes", beside, first, made_run(tmp_path, "sst2", "vanilla"))


@pytest.mark.exhaustive
def test_a_run_trained_again_gives_its_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run trained again by its recipe gives its predictions. The command passes such a copy and fails one with changed predictions."""
    use_toy_data(monkeypatch)
    run = train(toy_recipe("vanilla", epochs=1), tmp_path / "whole", progress=False)
    light(run, tmp_path / "toy" / "vanilla")
    copy = Run.open(tmp_path / "toy" / "vanilla", "toy/vanilla")
    comparison = checked(copy, tmp_path / "again")
    assert not copy.has_weights and (comparison.differ, comparison.n) == (0, len(copy.frame("test.parquet"))) and comparison.largest < 1e-6
    stored = copy.frame("test.parquet")
    labels = list(copy.labels)
    wrong = SimpleNamespace(name=copy.name, labels=copy.labels, config=copy.config)
    wrong.frame = lambda name: pd.DataFrame(stored).assign(**{labels[0]: stored[labels[1]], labels[1]: stored[labels[0]]})
    for planted, code, message in (
        (copy, 0, f"{comparison.n:,} of {comparison.n:,} predictions equal"),
        (wrong, 1, "1 of these runs give different predictions"),
    ):
        monkeypatch.setattr("sentviz.papers.studies.runner.drawn", lambda *_, planted=planted, **__: [planted])
        result = CliRunner().invoke(main, ["study", "ndt", "--dataset", "sst2", "--check", "1"])
        assert result.exit_code == code and message in result.output


def varied(run: Path, folder: Path, variant: str, model: str = "ndt-free-2") -> Run:
    """Copy a run and mark it as a variant of another preset."""
    shutil.copytree(run, folder)
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    config["recipe"] |= {"variant": variant, "model": model}
    (folder / "config.json").write_text(json.dumps(config))
    return Run.open(folder, f"toy/{folder.name}")


def test_every_lambda_is_there_with_its_start_end_and_change(tiny_run: Path, tmp_path: Path) -> None:
    first, second = varied(tiny_run, tmp_path / "as-is", ""), varied(tiny_run, tmp_path / "frozen", "frozen")
    second_run = varied(tiny_run, tmp_path / "other", "", "ndt-unit-2")
    frame = controlled_lambdas([first, second, second_run], first.config["data"]["name"])
    assert controlled_lambdas([second_run], first.config["data"]["name"]).empty and describe_controls(Studied("ndt", [], "sst2")) == []
    assert set(frame["run"]) == {first.name, second.name}
    assert frame["variant"].unique().tolist() == ["", "frozen"]
    history = first.history()
    for row in frame.itertuples():
        values = [v for name, layer, c, v in history[["name", "layer", "component", "value"]].to_numpy() if name == "lambda"
                  and layer == row.layer and c == row.component]  # fmt: skip
        assert row.start == pytest.approx(values[0])
        assert row.change == pytest.approx(values[-1] - values[0])
        assert row.accuracy == first.metrics()["test"]["accuracy"]["value"]
    lines = describe_controls(Studied("ndt", [first, second, second_run], first.config["data"]["name"]))
    assert len(lines) == 2
    assert "every lambda stays at the preset's start" in lines[1]


@SHIPPED
def test_which_setting_ends_near_the_printed_lambdas() -> None:
    """The rate 1e-4 ends nearest to table IV on average; no training raises layer 2 more than layer 1."""
    frame = controlled_lambdas(study_runs().runs, "sst2")
    frame = frame[(frame["model"] == "ndt-free-3") & (frame["seed"] == 0)]
    apart = (frame["end"] - frame["printed"]).abs().groupby(frame["variant"]).mean().round(3).to_dict()
    assert apart == {
        "1e-4": 0.146, "frozen": 0.160, "slow-lambda": 0.163, "no-decay": 0.179, "": 0.196, "high": 0.205, "equal": 0.273, "swapped": 0.647
    }  # fmt: skip
    by_layer = frame.groupby(["variant", "layer"])["change"].mean().unstack()
    assert (by_layer[1] <= by_layer[0]).all()
    accuracy = frame.groupby("variant")["accuracy"].first()
    assert 100 * (accuracy[""] - accuracy["1e-4"]) == pytest.approx(1.71, abs=0.01)
