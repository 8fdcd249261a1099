"""What a recipe's run may take the place of, and what of a recipe is refused before its training."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sentviz.data import datasets
from sentviz.errors import InputError, RunError
from sentviz.papers.studies.runner import light
from sentviz.runs.registry import papers
from sentviz.runs.writing import attach
from sentviz.training import task_of, train
from sentviz.training.recipe import Recipe, finished, recipe_names, recipe_of_paper
from tests.kit import refused, toy_pairs, toy_recipe, toy_splits

pytestmark = pytest.mark.usefixtures("toy_data")


@pytest.mark.exhaustive
def test_a_finished_run_is_given_back_and_nothing_of_it_lost(tmp_path: Path) -> None:
    run = train(toy_recipe(), str(tmp_path), progress=False)
    attach(run, "heads.parquet", run.history())
    (run.folder / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    again = train(toy_recipe(example="another one"), tmp_path, progress=False)
    assert again.metrics() == run.metrics()
    for changes in ({"dropout": 0.2}, {"transfer": "elsewhere"}):
        refused(RunError, "trained by another recipe; move it away", train, toy_recipe(**changes), tmp_path, progress=False)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before


def test_training_replaces_nothing_that_it_did_not_make(tmp_path: Path) -> None:
    folder = tmp_path / "toy" / "ndt-unit-2"
    folder.mkdir(parents=True)
    run = train(toy_recipe(epochs=1), tmp_path, progress=False)
    light(run, tmp_path / "light" / "toy" / "ndt-unit-2")
    refused(RunError, r"without its weights. Choose another folder", train, toy_recipe(epochs=1), tmp_path / "light", progress=False)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config[:50])
    refused(RunError, r"config.json is not JSON", train, toy_recipe(epochs=1), tmp_path, progress=False)
    (folder / "config.json").unlink()
    refused(RunError, "contains no run; move it away", train, toy_recipe(epochs=1), tmp_path, progress=False)
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
def test_what_the_end_would_refuse_is_refused_at_the_start(changes: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = toy_splits()
    unlike_sets = {"three": replace(splits["test"], labels=("a", "b", "c")), "pairs": toy_pairs()["test"]}

    def load_split(name: str, split: str) -> datasets.Split:
        if name == "nowhere":
            raise InputError("There is no data set 'nowhere'.")
        return unlike_sets.get(name, splits[split])

    monkeypatch.setattr(datasets, "load_split", load_split)
    refused(InputError, reason, task_of, toy_recipe(**changes))


# ---- stored recipes of other versions


ROOT = Path(__file__).parents[1] / "checkpoints"


@pytest.mark.exhaustive
@pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")
def test_every_run_that_ships_is_known_by_its_recipe() -> None:
    """Every shipped run belongs to its recipe, for any version that wrote it; a changed setting is another recipe."""
    folders = [path.parent for path in ROOT.glob("*/*/config.json")]
    for folder in folders:
        config = json.loads((folder / "config.json").read_text())
        stored = config["recipe"]
        model = stored["model"].partition("-")[0] if stored["model"].startswith("cls") else stored["model"]  # without its injection
        whose = next((paper.name for paper in papers().values() if paper.preset(model)), "")
        own = f"{stored['dataset']}_{stored['model']}"  # a recipe for this model alone
        house = f"{stored.get('folder')}_{stored['model']}"  # a recipe whose data set has another name than the folder of its runs
        based = f"{stored['dataset']}_{stored.get('base')}"  # a recipe for all models on a base
        fused = f"fused_{based}" if config["model"].get("lexicon", "none") != "none" else based
        epochs = f"{based}_{stored.get('variant')}"
        sources = (epochs, own, house, fused, based, f"{whose}_{stored['dataset']}", stored["dataset"])
        source = next(name for name in sources if name in recipe_names())
        wanted = Recipe.read(source, model=stored["model"], seed=stored["seed"], variant=stored.get("variant") or None)
        wanted = wanted.pinned()
        if stored.get("teacher", "").partition("@")[0] == wanted.teacher.partition("@")[0]:  # taught by an earlier run of this name
            wanted = replace(wanted, teacher=stored.get("teacher", ""))
        run = finished(wanted, ROOT)
        assert run is not None and run.folder == folder
        refused(RunError, "another recipe", finished, replace(wanted, batch_size=wanted.batch_size + 1), ROOT)
    assert folders


def test_a_model_of_another_paper_is_told_its_own_recipe() -> None:
    named = {"cnn": "sentiformer_imdb", "sentiformer-full": "sentiformer_imdb", "ndt-unit-2": "", "7ess-v1-rope": "", "unknown": ""}
    assert {model: recipe_of_paper("imdb", model) for model in named} == named
    assert recipe_of_paper("sentiformer_imdb", "cnn") == "" and recipe_of_paper("sentiformer_imdb", "vanilla") == "ndt_imdb"
    assert recipe_of_paper("english", "cnn") == "" and recipe_of_paper("own.toml", "cnn") == ""


def test_an_old_recipe_of_a_hardmax_run_is_read() -> None:
    """Old recipes list the model's shape among the settings; values equal to the preset's are dropped."""
    plain = {"dataset": "imdb", "model": "hardmax-d4-straight", "example": "a song"}
    old = plain | {"width": 4, "layers": 8, "training": "hardmax", "training_temperature": 0.001, "cleaning": True, "epochs": 5}
    assert Recipe.of(old) == Recipe.of(plain)
    another = Recipe.of(old | {"layers": 3, "training_temperature": 0.1, "epochs": 2})
    assert (another.shape, another.epochs) == ({"layers": 3, "training_temperature": 0.1}, 2)
    assert Recipe.of(another.as_dict()) == another


@pytest.mark.parametrize(
    "values, reason",
    [
        ({"model": "hardmax-3"}, "no model 'hardmax-3'"),
        ({"shape": {"heads": 2}}, "model has no setting 'heads'"),
        ({"shape": {"layers": 0}}, "hardmax-d2 cannot be made: layers must be a whole number from 1"),
        ({"cls": True}, "hardmax-d2 does not take cls"),
    ],
)
def test_what_a_hardmax_model_does_not_have_is_refused(values: dict[str, Any], reason: str) -> None:
    refused(InputError, reason, Recipe.of, {"dataset": "toy", "model": "hardmax-d2"} | values)


def test_a_file_may_name_a_hardmax_model(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('dataset = "toy"\nmodel = "hardmax-d8-raw"\nepochs = 2\n[shape]\nlayers = 3\n')
    recipe = Recipe.read(path, seed=1)
    assert recipe.name == "toy/hardmax-d8-raw-s1" and recipe.shape == {"layers": 3}
    assert (recipe.epochs, recipe.learning_rate, recipe.patience, recipe.log_every) == (2, 1e-2, 0, 50)
