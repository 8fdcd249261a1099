"""The study runner: plans, resumes, survives a failure, leaves other processes' runs alone."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from sentviz.errors import InputError, RunError
from sentviz.io.files import hold
from sentviz.papers.ndt.study import PRESETS
from sentviz.papers.studies import runner
from sentviz.papers.studies.runner import collect, light, plan, run_study
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe, finished
from tests.kit import toy_recipe, use_toy_data

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


@pytest.fixture
def whole(tiny_run: Path) -> Run:
    return Run.open(tiny_run)


def commands(run: Run, failing: str = ""):  # type: ignore[no-untyped-def]
    """Return processes that copy a finished run instead of training one; the failing model's ends with code 3."""
    import json

    def command(recipe: Recipe, root: Path) -> list[str]:
        fail = "1" if recipe.model == failing else "0"
        return [sys.executable, "-c", STUB, str(run.folder), str(root / recipe.name), json.dumps(recipe.as_dict()), fail]

    return command


def test_a_plan_has_every_configuration_and_the_control() -> None:
    """The plan has 15 configurations per seed, one seed after the other, with one budget."""
    recipes = plan("ndt", "sst2", seeds=2)
    assert [r.model for r in recipes[:15]] == list(PRESETS)
    assert [r.seed for r in recipes] == [0] * 15 + [1] * 15
    budgets = {(r.epochs, r.batch_size, r.learning_rate, r.dropout, r.max_length, r.patience) for r in recipes}
    assert len(budgets) == 1


@pytest.mark.parametrize("arguments", [("xyz", "sst2"), ("ndt", "nsmc"), ("ndt", "sst2", 0)])
def test_what_is_no_study_is_named(arguments: tuple[str, str, int]) -> None:
    with pytest.raises(InputError):
        plan(*arguments)


def test_a_failure_is_named_and_the_rest_goes_on_and_the_next_try_does_only_that(whole: Run, tmp_path: Path) -> None:
    recipes = plan("ndt", "sst2", models=("vanilla", "diff", "ndt-unit-2"))
    first = run_study(recipes, tmp_path, jobs=2, poll=0.02, quiet=True, command=commands(whole, failing="diff"))
    assert sorted(first.done) == ["sst2/ndt-unit-2", "sst2/vanilla"]
    assert first.failed == {"sst2/diff": "something broke"}
    second = run_study(recipes, tmp_path, poll=0.02, quiet=True, command=commands(whole))
    assert second.done == ["sst2/diff"]
    assert sorted(second.skipped) == ["sst2/ndt-unit-2", "sst2/vanilla"]
    assert not list(tmp_path.rglob("*.tmp-*"))
    frame = collect(recipes, tmp_path)
    assert sorted(frame["model"]) == ["diff", "ndt-unit-2", "vanilla"]
    assert (frame["accuracy_low"] <= frame["accuracy"]).all()


def test_a_run_of_another_recipe_is_not_taken_for_this_one(whole: Run, tmp_path: Path) -> None:
    recipe = plan("ndt", "sst2", models=("diff",))[0]
    run_study([recipe], tmp_path, poll=0.02, quiet=True, command=commands(whole))
    assert finished(recipe, tmp_path)
    with pytest.raises(RunError, match="another recipe"):
        finished(Recipe.of(recipe.as_dict() | {"dropout": 0.5}), tmp_path)


def test_a_run_is_held_by_one_living_process(tmp_path: Path) -> None:
    """A second lock fails while the first is held; the lock of a dead process is taken over."""
    folder = tmp_path / "sst2" / "diff"
    with hold(folder) as mine, hold(folder) as again:
        assert mine and not again
    (tmp_path / "sst2" / ".diff.tmp-lock").write_text("999999999")
    with hold(folder) as mine:
        assert mine
    assert not list(folder.parent.iterdir())


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


@pytest.mark.skipif(sys.platform == "win32", reason="there the terminal alone can interrupt")
@pytest.mark.parametrize("kind", ["saves", "hangs"])
@pytest.mark.slow
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


def test_a_light_copy_keeps_the_numbers_without_the_weights(whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy has neither the weights of the best state nor those of epochs."""
    use_toy_data(monkeypatch)
    trained = train(toy_recipe(epochs=1, keep_epochs=1), tmp_path, progress=False)
    for run, epochs in ((trained, (1,)), (whole, ())):
        light(run, tmp_path / "light" / "toy" / run.folder.name)
        copy = Run.open(tmp_path / "light" / "toy" / run.folder.name)
        assert (run.epochs, copy.epochs, copy.has_weights) == (epochs, (), False)
        assert copy.metrics() == run.metrics() and len(copy.history()) == len(run.history())
        with pytest.raises(RunError, match="stored without weights"):
            copy.path("model.safetensors")
