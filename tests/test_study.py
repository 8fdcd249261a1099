"""Studies: their runner, the runs that they read, runs on sentences of other kinds, and speed as studies measure it."""

import json
import math
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.data.datasets import Split
from sentviz.errors import InputError, RunError
from sentviz.io.files import hold
from sentviz.papers.ndt import study
from sentviz.papers.ndt.study import PRESETS
from sentviz.papers.sentiformer import throughput
from sentviz.papers.studies import cross_domain, runner, timing
from sentviz.papers.studies.cross_domain import Texts
from sentviz.papers.studies.items import make_table
from sentviz.papers.studies.runner import collect, light, plan, run_study
from sentviz.runs import store
from sentviz.runs.catalog import _same_rows, faults, study_runs
from sentviz.runs.convergence import verified
from sentviz.runs.registry import find_paper
from sentviz.runs.store import SHIPPED, Run, runs
from sentviz.training import train
from sentviz.training.recipe import Recipe, finished
from tests.kit import refused, toy_recipe, use_toy_data
from tests.studies import made_run, plant

STUB = """
import json, shutil, sys
source, target, recipe, fail = sys.argv[1:]
if fail == "1":
    print("something broke"); sys.exit(3)
shutil.copytree(source, target)
path = target + "/config.json"
config = json.load(open(path))
config["recipe"] = json.loads(recipe)
json.dump(config, open(path, "w"))
"""
SAVING = """
import pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
def save(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(0.5)
    (folder / "saved").touch()
    sys.exit(143)
signal.signal(signal.SIGTERM, save if sys.argv[2] == "saves" else signal.SIG_IGN)
(folder / "ready").touch()
for _ in range(3000):
    time.sleep(0.02)  # a signal that arrives just before a long sleep would be handled only after it
"""
PLANTED = Texts("planted", "Planted", "toy", "test", {0: 0, 2: 1, 1: -1})


def commands(run: Run, failing: str = ""):  # type: ignore[no-untyped-def]
    """Return processes that copy a finished run instead of training one; the failing model's ends with code 3."""

    def command(recipe: Recipe, root: Path) -> list[str]:
        fail = "1" if recipe.model == failing else "0"
        return [sys.executable, "-c", STUB, str(run.folder), str(root / recipe.name), json.dumps(recipe.as_dict()), fail]

    return command


def test_a_plan_has_every_configuration_and_a_run_is_held_by_one_process(tmp_path: Path) -> None:
    recipes = plan("ndt", "sst2", seeds=2)
    assert [(r.seed, r.model) for r in recipes] == [(seed, model) for seed in (0, 1) for model in PRESETS] and len(PRESETS) == 15
    assert len({(r.epochs, r.batch_size, r.learning_rate, r.dropout, r.max_length, r.patience) for r in recipes}) == 1
    for arguments in (("xyz", "sst2"), ("ndt", "nsmc"), ("ndt", "sst2", 0)):
        with pytest.raises(InputError):
            plan(*arguments)
    folder = tmp_path / "sst2" / "diff"
    with hold(folder) as mine, hold(folder) as again:
        assert mine and not again
    (tmp_path / "sst2" / ".diff.tmp-lock").write_text("999999999")
    with hold(folder) as mine:
        assert mine
    assert not list(folder.parent.iterdir())


def test_a_failure_is_named_and_the_rest_goes_on_and_the_next_try_does_only_that(run: Run, tmp_path: Path) -> None:
    recipes = plan("ndt", "sst2", models=("vanilla", "diff", "ndt-unit-2"))
    first = run_study(recipes, tmp_path, jobs=2, poll=0.02, quiet=True, command=commands(run, failing="diff"))
    assert sorted(first.done) == ["sst2/ndt-unit-2", "sst2/vanilla"] and first.failed == {"sst2/diff": "something broke"}
    second = run_study(recipes, tmp_path, poll=0.02, quiet=True, command=commands(run))
    assert second.done == ["sst2/diff"] and sorted(second.skipped) == ["sst2/ndt-unit-2", "sst2/vanilla"]
    assert not list(tmp_path.rglob("*.tmp-*"))
    frame = collect(recipes, tmp_path)
    assert sorted(frame["model"]) == ["diff", "ndt-unit-2", "vanilla"] and (frame["accuracy_low"] <= frame["accuracy"]).all()
    recipe = recipes[-1]
    assert finished(recipe, tmp_path)
    with pytest.raises(RunError, match="another recipe"):
        finished(Recipe.of(recipe.as_dict() | {"dropout": 0.5}), tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there the terminal alone can interrupt")
@pytest.mark.parametrize("kind", ["saves", "hangs"])
def test_ctrl_c_gives_time_to_save_and_ends_what_does_not(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, started, plain = plan("ndt", "sst2", models=("diff",))[0], [], subprocess.Popen
    monkeypatch.setattr(runner, "PATIENCE", 30.0 if kind == "saves" else 0.3)
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: started.append(plain(*args, **kwargs)) or started[-1])

    def interrupted(_: float) -> None:
        while not (tmp_path / "ready").exists():
            assert started[0].poll() is None
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(runner, "time", SimpleNamespace(sleep=interrupted, monotonic=time.monotonic))
        run_study([recipe], tmp_path, quiet=True, command=lambda *_: [sys.executable, "-c", SAVING, str(tmp_path), kind])
    assert started[0].poll() is not None and (tmp_path / "saved").exists() == (kind == "saves")
    assert not list(tmp_path.rglob("*.tmp-log"))


def test_a_light_copy_keeps_the_numbers_without_the_weights(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_toy_data(monkeypatch)
    trained = train(toy_recipe(epochs=1, keep_epochs=1), tmp_path, progress=False)
    for each, epochs in ((trained, (1,)), (run, ())):
        light(each, tmp_path / "light" / "toy" / each.folder.name)
        copy = Run.open(tmp_path / "light" / "toy" / each.folder.name)
        assert (each.epochs, copy.epochs, copy.has_weights) == (epochs, (), False)
        assert copy.metrics() == each.metrics() and len(copy.history()) == len(each.history())
        refused(RunError, "stored without weights", copy.path, "model.safetensors")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Provide an empty folder of shipped runs and one of private runs, and no other."""
    for name in ("ships", "own"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "ships")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "own"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "ships", tmp_path / "own"


def test_a_private_run_does_not_stand_for_one_that_ships(places: tuple[Path, Path]) -> None:
    ships, own = places
    shipped, private = made_run(ships, "sst2", "vanilla", digest="a"), made_run(own, "sst2", "vanilla", wrong=50, digest="b")
    made_run(ships, "sst2", "diff", digest="a")
    shutil.copytree(ships / "sst2" / "diff", own / "sst2" / "diff")
    assert store.find("sst2/vanilla").digest == private.digest != shipped.digest
    catalog = study_runs()
    assert {run.name: run.digest for run in catalog.runs}["sst2/vanilla"] == shipped.digest and len(catalog.runs) == 2
    assert catalog.left_out == {"sst2/vanilla": "since another run ships under this name and is read"}


def test_runs_of_other_rows_are_left_out(places: tuple[Path, Path]) -> None:
    ships, own = places
    made_run(ships, "sst2", "vanilla", digest="a")
    made_run(own, "sst2", "vanilla", 1, digest="a")
    made_run(own, "sst2", "vanilla", 2, digest="b")
    made_run(own, "sst2", "vanilla", name="my-own-try", digest="b")
    made_run(own, "imdb", "vanilla", digest="c")
    catalog = study_runs()
    assert {run.name for run in catalog.runs} == {"sst2/vanilla", "sst2/vanilla-s1", "sst2/my-own-try", "imdb/vanilla"}
    assert catalog.left_out == {"sst2/vanilla-s2": "trained on other rows than sst2/vanilla"}
    assert {name: [run.name for run in seeds] for name, seeds in study.configurations(catalog.runs, "sst2").items()} == {
        "vanilla": ["sst2/vanilla", "sst2/vanilla-s1"]
    }


def test_splits_of_which_recipes_take_different_numbers_of_rows_are_not_compared() -> None:
    def run(settings: dict[str, int], changed: str = "") -> Any:
        digests = {name: "b" if name in changed.split() else "a" for name in ("train", "validation", "test", "transfer")}
        return SimpleNamespace(config={"recipe": settings, "data": {"splits": {name: {"digest": of} for name, of in digests.items()}}})

    rows, test_rows = {"rows": 500}, {"test_rows": 500}
    for settings, changed, same in (
        *(({}, "", True), ({}, "train", False), ({}, "test", False)),
        *((rows, "train", True), (rows, "test", False), (rows, "validation", False)),
        *((test_rows, "test transfer", True), (test_rows, "train", False), (rows | test_rows, "train test", True)),
    ):
        first, second = run({}), run(settings, changed)
        assert _same_rows(first, second) is _same_rows(second, first) is same, (settings, changed)


@pytest.mark.parametrize("file", ["config.json", "metrics.json", "history.parquet", "test.parquet"])
def test_a_damaged_seed_is_left_out_and_said(places: tuple[Path, Path], file: str) -> None:
    ships, _ = places
    for seed in (0, 1):
        made_run(ships, "sst2", "vanilla", seed)
    assert len(study_runs().runs) == 2 and not study_runs().left_out
    (ships / "sst2" / "vanilla-s1" / file).write_bytes(b"{")
    catalog = study_runs()
    assert [run.name for run in catalog.runs] == ["sst2/vanilla"] and file in catalog.left_out["sst2/vanilla-s1"]


@pytest.mark.skipif(not (SHIPPED / "sst2" / "vanilla").is_dir(), reason="sst2/vanilla is not in checkpoints/")
def test_what_was_read_before_is_checked_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SHIPPED / "sst2" / "vanilla", tmp_path / "sst2" / "vanilla")
    known, second = Run.open(tmp_path / "sst2" / "vanilla", "sst2/vanilla"), made_run(tmp_path, "sst2", "diff")
    assert known.digest in verified()
    read: list[str] = []
    frame = Run.frame
    monkeypatch.setattr(Run, "frame", lambda self, file: (read.append(self.name), frame(self, file))[1])
    assert faults([known, second], studied=True) == {} and set(read) == {second.name}
    for file in ("history.parquet", "heads.parquet", "test.parquet"):  # measured tables too: verdicts read them
        whole = (known.folder / file).read_bytes()
        content = bytearray(whole)
        content[len(content) // 2] ^= 1
        (known.folder / file).write_bytes(bytes(content))
        assert f"{file} is damaged" in faults([known], studied=True)["sst2/vanilla"]
        (known.folder / file).write_bytes(whole)


def test_answers_are_judged_as_by_hand_and_nobody_is_asked_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"id": list("abcdefg"), "text": list("abcdefg"), "label": [0, 0, 2, 2, 1, 1, 3]})
    monkeypatch.setattr(cross_domain.datasets, "load_split", lambda name, split: Split(name, split, frame, (), 0, ""))
    shares = dict(zip("abcdef", [0.1, 0.9, 0.6, np.nan, 0.7, 0.8], strict=True))
    (row,) = cross_domain.evaluate_on_sets("me", "0", lambda frame: np.array([shares[name] for name in frame["id"]]), [PLANTED]).to_dict(
        "records"
    )
    assert (row["n"], row["right"], row["tag"]) == (6, 3, cross_domain.EVERY)
    assert row["calibration"] == pytest.approx((2 / 3) * abs(0.5 - 0.9) + (1 / 3) * abs(1 - 0.6))
    assert row["low"] < 0.5 < row["high"]
    calls: list[str] = []

    def answer(who: str) -> cross_domain.Answer:
        return lambda frame: calls.append(who) or np.full(len(frame), 0.9)  # type: ignore[func-returns-value]

    monkeypatch.setattr(cross_domain, "BASELINES", {"one": ("1", lambda: answer("one"))})
    monkeypatch.setattr(cross_domain, "runs", lambda folders: {})
    file = tmp_path / "standing.csv"
    cross_domain.measure_cross_domain(file=file, sets=[PLANTED], say=lambda who: None)
    assert cross_domain.measure_cross_domain(file=file, sets=[PLANTED], say=lambda who: None).equals(cross_domain.stored_accuracies(file))
    assert calls == ["one"]
    cross_domain.measure_cross_domain(file=file, sets=[PLANTED], say=lambda who: None, again=True)
    assert calls == ["one", "one"]
    further = replace(PLANTED, name="further")
    table = cross_domain.measure_cross_domain(file=file, sets=[PLANTED, further], say=lambda who: None)
    assert calls == ["one"] * 3 and table["set"].tolist() == ["planted", "further"]
    file.write_text("who,set\n")
    refused(RunError, "missing or damaged", cross_domain.stored_accuracies, file)


def test_the_demo_set_is_judged_by_phenomenon_and_what_ships_is_of_the_runs_that_ship() -> None:
    table = cross_domain.evaluate_on_sets("me", "0", lambda frame: np.ones(len(frame)), cross_domain.SETS[:1])
    assert set(table["accuracy"]) == {0.5} and table["n"].sum() == 2 * 270 and list(table) == cross_domain.COLUMNS
    available = {name: run for name, run in runs().items() if isinstance(run, Run)}
    expected = {name: run for name, run in available.items() if not cross_domain.why_not_evaluated(run)}
    table = cross_domain.current(cross_domain.stored_accuracies(), expected)
    assert set(table["who"]) == {*expected, *cross_domain.BASELINES} and table.groupby("who").size().nunique() == 1
    assert table.loc[(table["who"] == "imdb/diff") & table["home"], "set"].tolist() == ["imdb"]
    assert cross_domain.current(table.assign(digest="other"), expected).empty
    assert {"sst2/ndt-unit-2", "yelp_full/vanilla-matched", "twitter_financial/diff"} <= expected.keys()
    assert "English" in cross_domain.why_not_evaluated(available["nsmc/cls-last-scaled"])


def test_turns_medians_formula_and_crossing_by_hand() -> None:
    order: list[str] = []
    seconds = timing.interleaved({name: lambda name=name: order.append(name) for name in "abc"}, 5)
    assert [len(values) for values in seconds.values()] == [5, 5, 5]
    for i in range(6):  # a warm-up and five rounds
        assert sorted(order[3 * i : 3 * i + 3]) == ["a", "b", "c"]
    assert len({tuple(order[3 * i : 3 * i + 3]) for i in range(1, 6)}) > 1 and timing.median(np.full(5, 3.0)) == (3, 3, 3)
    value, low, high = timing.median(np.array([1.0, 2.0, 3.0, 4.0, 50.0]))
    assert 1 <= low <= value == 3 <= high <= 50 and throughput.promised(2048) == pytest.approx(2048 / 68)
    assert throughput.promised(2048, 128, 2) == pytest.approx(2048 / 130)
    printed = throughput.printed_times()
    assert printed == pytest.approx({"SentiFormer": 1, "BERT-base": 16 / 3, "DistilBERT": 40 / 11})
    cases = [([0.5, 2.0, 4.0], math.sqrt(100 * 200)), ([0.5, 1.0, 4.0], 200), ([2.0, 0.25, 16.0], 200 * 2 ** (1 / 3)), ([2.0, 3.0, 4.0], 0)]
    cases += [([0.5, 2.0, 0.9], None)]
    for times, wanted in cases:
        lengths = throughput.crossing(np.array([100, 200, 400]), np.array(times))
        assert lengths == (None if wanted is None else pytest.approx(wanted))


def test_nothing_measured_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPEEDS", "GROWTH", "STEPS"):
        plant(monkeypatch, f"sentiformer.throughput.{name}", tmp_path)
    table = make_table(find_paper("sentiformer"), "speeds", [])
    assert table.frame["printed_per_second"].tolist() == [8000, 1500, 2200] and table.frame["times"].isna().all()
    assert "SentiFormer's speed is not measured: `python -m experiments sentiformer throughput --what speeds`" in table.caption
    refused(InputError, "--what steps` measures it", throughput.steps_table)
    refused(InputError, "The time against length is not measured", make, "time-by-length", Study.of("all", []))
