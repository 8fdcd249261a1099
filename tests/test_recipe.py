"""What a recipe's run may take the place of, and what of a recipe is refused before its training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentviz import datasets
from sentviz.errors import InputError, RunError
from sentviz.runs import attach
from sentviz.studies.runner import light
from sentviz.training import Trainer, train
from tests.makers import toy_pairs, toy_recipe, toy_splits, use_toy_data


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every recipe's data set is the made-up one."""
    use_toy_data(monkeypatch)


def test_a_finished_run_is_given_back_and_nothing_of_it_lost(tmp_path: Path) -> None:
    """Same recipe: its folder stays as it is, with what was attached and what is foreign; another recipe is refused; text as root."""
    run = train(toy_recipe(), str(tmp_path), progress=False)
    attach(run, "heads.parquet", run.history())
    (run.folder / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    again = train(toy_recipe(example="another one"), tmp_path, progress=False)
    assert again.metrics() == run.metrics()
    for changes in ({"dropout": 0.2}, {"transfer": "elsewhere"}):
        with pytest.raises(RunError, match="trained by another recipe; move it away"):
            train(toy_recipe(**changes), tmp_path, progress=False)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before


def test_training_replaces_nothing_that_it_did_not_make(tmp_path: Path) -> None:
    """A folder of something else, a damaged run, a run without its weights; an empty folder is no obstacle."""
    folder = tmp_path / "toy" / "ndt-unit-2"
    folder.mkdir(parents=True)
    run = train(toy_recipe(epochs=1), tmp_path, progress=False)
    light(run, tmp_path / "light" / "toy" / "ndt-unit-2")
    with pytest.raises(RunError, match="without its weights; choose another folder"):
        train(toy_recipe(epochs=1), tmp_path / "light", progress=False)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config[:50])
    with pytest.raises(RunError, match=r"config.json cannot be read"):
        train(toy_recipe(epochs=1), tmp_path, progress=False)
    (folder / "config.json").unlink()
    with pytest.raises(RunError, match="holds no run; move it away"):
        train(toy_recipe(epochs=1), tmp_path, progress=False)
    assert (folder / "model.safetensors").is_file()


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"example": "  "}, "The recipe's example cannot be used"),
        ({"example_pair": " "}, "The recipe's example cannot be used"),
        ({"transfer": "three"}, "transfer three has other classes"),
        ({"transfer": "pairs"}, "transfer pairs has other classes or kinds of texts"),
        ({"transfer": "nowhere"}, "no data set 'nowhere'"),
    ],
)
def test_what_the_end_would_refuse_is_refused_at_the_start(
    changes: dict[str, Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example that cannot be read, a data set that cannot be asked."""
    test, splits = toy_splits()["test"], toy_splits()
    others = {"three": replace(test, labels=("a", "b", "c")), "pairs": toy_pairs()["test"]}

    def load_split(name: str, split: str) -> datasets.Split:
        if name == "nowhere":
            raise InputError("There is no data set 'nowhere'.")
        return others.get(name, splits[split])

    monkeypatch.setattr(datasets, "load_split", load_split)
    with pytest.raises(InputError, match=reason):
        Trainer(toy_recipe(**changes), tmp_path / "x")
