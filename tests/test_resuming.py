"""Resume points: found after a crash, tied to recipe and data, and refused in one sentence where they cannot be gone on from."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from sentviz import datasets, training
from sentviz.errors import RunError
from sentviz.training import Trainer
from tests.makers import toy_recipe, toy_splits, use_toy_data


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every recipe's data set is the made-up one."""
    use_toy_data(monkeypatch)


def test_a_resume_point_of_other_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of train are others than those that it saw; one of an older version says nothing of its data and goes on."""
    Trainer(toy_recipe(), tmp_path / "x").fit(progress=False, until=1)
    splits = toy_splits()
    splits["train"] = replace(splits["train"], digest="1" * 12)
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    with pytest.raises(RunError, match="belongs to other rows of toy"):
        Trainer(toy_recipe(), tmp_path / "x").resume()
    point = tmp_path / ".x.tmp-resume" / "progress.json"
    point.write_text(json.dumps({k: v for k, v in json.loads(point.read_text()).items() if k in ("recipe", "at")}))
    assert Trainer(toy_recipe(), tmp_path / "x").resume()


@pytest.mark.parametrize(
    "name, older",
    [
        ("model.classifier.bias", False),
        ("model.classifier.bias", True),
        ("rng", True),
        ("best.classifier.bias", False),  # of these the list of tensors alone can tell
        ("optimizer.0.exp_avg", False),
    ],
)
def test_a_resume_point_without_one_of_its_tensors_is_damaged(name: str, older: bool, tmp_path: Path) -> None:
    """One sentence, and the trainer does not believe that it went on."""
    Trainer(toy_recipe(), tmp_path / "x").fit(progress=False, until=3)
    state, progress = (tmp_path / ".x.tmp-resume" / name for name in ("state.safetensors", "progress.json"))
    tensors = load_file(state)
    del tensors[name]
    save_file(tensors, state)
    if older:
        progress.write_text(json.dumps({k: v for k, v in json.loads(progress.read_text()).items() if k != "tensors"}))
    trainer = Trainer(toy_recipe(), tmp_path / "x")
    with pytest.raises(RunError, match=r"damaged.*; delete it to start again") as caught:
        trainer.resume()
    assert "\n" not in str(caught.value) and trainer.at.step == 0


def test_a_resume_point_left_aside_by_a_crash_is_found(tmp_path: Path) -> None:
    Trainer(toy_recipe(), tmp_path / "x").fit(progress=False, until=3)
    (tmp_path / ".x.tmp-resume").rename(tmp_path / "..x.tmp-resume.tmp-old-1")
    assert Trainer(toy_recipe(), tmp_path / "x").resume()


def test_ctrl_c_again_does_not_cut_the_resume_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal's SIGINT, and the study's while the point is being written."""
    plain = training.save_file

    def again(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        plain(*args)

    trainer = Trainer(toy_recipe(), tmp_path / "x")
    monkeypatch.setattr(training, "save_file", again)
    monkeypatch.setattr(trainer, "_step", lambda rows: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(progress=False)
    assert Trainer(toy_recipe(), tmp_path / "x").resume()


def test_a_corrected_example_goes_on_from_the_resume_point(tmp_path: Path) -> None:
    """What a run shows and what else it is asked do not decide what it learned."""
    folder = tmp_path / "toy" / "ndt-unit-2"
    Trainer(toy_recipe(), folder).fit(progress=False, until=15)
    trainer = Trainer(toy_recipe(example="a warm song", transfer="elsewhere"), folder)
    assert trainer.resume() and trainer.at.step == 15
