"""Resume points, the same for every kind of model and refused in one sentence; what a recipe's run may replace, and stored recipes."""

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, RunError
from sentviz.models.loading import load
from sentviz.models.weights import pack, unpack
from sentviz.papers.studies.runner import light
from sentviz.runs import store
from sentviz.runs.registry import papers
from sentviz.runs.writing import attach
from sentviz.training import Trainer, finishing, resuming, task_of, train
from sentviz.training.recipe import Recipe, finished, recipe_names, recipe_of_paper
from tests.kit import hardmax_recipe, no_room, refused, small_model, toy_pairs, toy_recipe, toy_splits, toy_trainer
from tests.shipped import ROOT, often
from tests.stored import compare, summary

pytestmark = pytest.mark.usefixtures("toy_data")

Make = Callable[..., Trainer]
UNINTERRUPTED: dict[str, Trainer] = {}  # the key is a model; its folder may be deleted


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.foreign.models import saved

    return saved(tmp_path_factory.mktemp("hub") / "bert", "bert", ("negative", "positive"))


@pytest.fixture(params=often(["ndt-unit-2", "diff", "vanilla", "hardmax-d2", "bert-all"], "vanilla", "hardmax-d2"))
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a trainer of 20 to 40 steps for a kind of model, which keeps its last two epochs."""
    model: str = request.param
    if model == "bert-all":
        pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")
        monkeypatch.setattr(Lexicon, "load", lambda name: Lexicon.of("own", pd.DataFrame({"term": ["warm"], "polarity": [3.0]})))
    source: Path | None = request.getfixturevalue("bert") if model == "bert-all" else None

    def build(folder: Path) -> Trainer:
        if source is not None:
            from sentviz.training.foreign import ForeignTask

            values: dict[str, Any] = {"dataset": "toy", "model": model, "source": "bert", "lexicon": "own", "example": "a warm song"}
            values |= {"epochs": 2, "batch_size": 16, "learning_rate": 3e-3, "max_length": 24, "log_every": 5, "keep_epochs": 2}
            return Trainer(ForeignTask(Recipe.of(values), source, "all"), folder)
        hard = model.startswith("hardmax")
        recipe = hardmax_recipe(epochs=2, keep_epochs=2) if hard else toy_recipe(model, dropout=0.3, epochs=2, keep_epochs=2)
        return Trainer(task_of(recipe), folder)

    return build


def same(first: Trainer, two: Trainer) -> None:
    """Check that weights, best and kept weights, optimizer, history and progress are equal bit for bit."""
    assert first.epochs.keys() == two.epochs.keys()
    states: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = [(first.best_state, two.best_state)]
    states += [(dict(first.task.network.state_dict()), dict(two.task.network.state_dict()))]
    states += [(first.epochs[epoch], two.epochs[epoch]) for epoch in first.epochs]
    for ours, theirs in states:
        assert ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)
    moments = [t.task.optimizer.state_dict()["state"] for t in (first, two)]
    assert all(torch.equal(moments[0][i][k], moments[1][i][k]) for i in moments[0] for k in moments[0][i])
    assert first.at.history == two.at.history
    for name in ("step", "best", "since_best", "stopped"):
        assert getattr(first.at, name) == getattr(two.at, name)


@pytest.fixture
def straight(make: Make, tmp_path: Path, request: pytest.FixtureRequest) -> Trainer:
    """Return the uninterrupted trainer of `make`, trained once for all tests."""
    model = request.node.callspec.params["make"]
    if model not in UNINTERRUPTED:
        UNINTERRUPTED[model] = make(tmp_path / "straight")
        UNINTERRUPTED[model].fit(progress=False)
    return UNINTERRUPTED[model]


def test_resumed_is_uninterrupted_bit_for_bit(make: Make, straight: Trainer, tmp_path: Path) -> None:
    for until in (0, 3, 10, None):
        torch.rand(7)  # numbers that the rest of the process may draw
        broken = make(tmp_path / "broken")
        assert broken.resume() == (until != 0)
        broken.fit(progress=False, until=until)
        assert broken.at.step == (broken.total if until is None else until)
    same(straight, broken)
    assert len(broken.epochs) == 2


def test_ctrl_c_within_a_step_loses_nothing(make: Make, straight: Trainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, calls, before = F.cross_entropy, list[int](), signal.getsignal(signal.SIGINT)

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return plain(*args, **kwargs)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(F, "cross_entropy", interrupted)
        make(tmp_path / "broken").fit(progress=False)
    again = make(tmp_path / "broken")
    assert signal.getsignal(signal.SIGINT) is before and again.resume() and again.at.step == 3
    again.fit(progress=False)
    same(straight, again)


def test_a_run_that_cannot_be_written_leaves_its_resume_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_trainer(tmp_path / "toy" / "ndt-unit-2", epochs=1).fit(progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "save", lambda trainer: None)
        with no_room(1_000), pytest.raises(RunError, match=r"toy/ndt-unit-2 cannot be written to .*File too large"):
            train(toy_recipe(epochs=1), tmp_path, progress=False)
    assert [path.name for path in (tmp_path / "toy").iterdir()] == [".ndt-unit-2.tmp-resume"]
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_step", lambda *_: pytest.fail("trained"))
        run = train(toy_recipe(epochs=1), tmp_path, progress=False)
    assert run.config["steps"] == 10 and [path.name for path in (tmp_path / "toy").iterdir()] == ["ndt-unit-2"]


@pytest.mark.exhaustive
def test_kept_epochs_are_the_states_after_them(make: Make, tmp_path: Path, tiny_run: Path) -> None:
    seen: dict[int, dict[str, Tensor]] = {}
    for epoch in (1, 2):
        part = make(tmp_path / "toy" / "x")
        part.resume()
        part.fit(progress=False, until=10 * epoch)
        seen[epoch] = unpack(pack(part.task.network.state_dict()))
    part.total = 20  # it ends here
    run = part.finish()
    assert run.epochs == (1, 2) and set(run.config["files"]) >= {"epochs/1.safetensors", "epochs/2.safetensors"}
    for number, state in seen.items():
        restored = dict(load(run, epoch=number).network.state_dict())
        polarity = restored.pop("polarity", None)  # made to sum to 1 when it is loaded
        assert polarity is None or torch.allclose(polarity, state["polarity"], atol=1e-3)
        assert all(torch.equal(restored[k].float(), state[k]) for k in restored)
    assert run.at(1).digest != run.at(2).digest != run.digest
    for known, epoch, why in (
        (run, 3, "of epoch 3 are not stored; stored epochs: 1, 2"),
        (tiny_run, 1, "not stored; its recipe keeps none"),
    ):
        refused(RunError, why, load, known, epoch=epoch)


@pytest.mark.exhaustive
def test_the_last_epochs_are_kept(kept_epochs: Path, tmp_path: Path) -> None:
    run = store.Run.open(Path(shutil.copytree(kept_epochs, tmp_path / "toy" / kept_epochs.name)))
    frame = pd.DataFrame({"value": [1.0]})
    again = attach(run, "words.parquet", frame)
    assert again.epochs == (2, 3, 4) and load(again, epoch=3).predict(["a warm song"])["label"][0]
    (run.folder / "epochs" / "notes.txt").write_text("mine")
    refused(RunError, r"contains epochs/notes\.txt", attach, again, "words.parquet", frame)
    path = run.folder / "epochs" / "3.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    refused(RunError, r"epochs/3\.safetensors is damaged", load, again, epoch=3)


def test_a_resume_point_that_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_trainer(tmp_path / "x").fit(progress=False, until=1)
    with pytest.raises(RunError, match="another recipe"):
        toy_trainer(tmp_path / "x", seed=1).resume()
    point = tmp_path / ".x.tmp-resume" / "progress.json"
    stored = json.loads(point.read_text())
    for damage in ("{", "[]", "{}", json.dumps(stored | {"at": {"walk": 1}})):
        point.write_text(damage)
        with pytest.raises(RunError, match="delete it to start again"):
            toy_trainer(tmp_path / "x").resume()
    toy_trainer(tmp_path / "x").fit(progress=False, until=1)
    splits = toy_splits()
    splits["train"] = replace(splits["train"], digest="1" * 12)
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    with pytest.raises(RunError, match="belongs to other rows of toy"):
        toy_trainer(tmp_path / "x").resume()
    point = tmp_path / ".x.tmp-resume" / "progress.json"
    point.write_text(json.dumps({k: v for k, v in json.loads(point.read_text()).items() if k in ("recipe", "at")}))
    assert toy_trainer(tmp_path / "x").resume()
    toy_trainer(tmp_path / "x").fit(progress=False, until=1)
    state, progress = (tmp_path / ".x.tmp-resume" / name for name in ("state.safetensors", "progress.json"))
    tensors, stored = load_file(state), json.loads(progress.read_text())
    for name, known in (
        ("model.classifier.bias", stored),
        ("rng", {k: v for k, v in stored.items() if k != "tensors"}),
        ("best.classifier.bias", stored),  # of these the list of tensors alone can tell
        ("optimizer.0.exp_avg", stored),
    ):
        save_file({k: v for k, v in tensors.items() if k != name}, state)
        progress.write_text(json.dumps(known))
        trainer = toy_trainer(tmp_path / "x")
        with pytest.raises(RunError, match=r"damaged.*; delete it to start again") as caught:
            trainer.resume()
        assert "\n" not in str(caught.value) and trainer.at.step == 0
    toy_trainer(tmp_path / "x").fit(progress=False, until=3)
    (tmp_path / ".x.tmp-resume").rename(tmp_path / "..x.tmp-resume.tmp-old-1")
    trainer = toy_trainer(tmp_path / "x", example="a warm song", transfer="elsewhere")
    assert trainer.resume() and trainer.at.step == 3


def test_ctrl_c_again_does_not_cut_the_resume_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = resuming.save_file

    def again(*args: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        plain(*args)

    trainer = toy_trainer(tmp_path / "x")
    monkeypatch.setattr(resuming, "save_file", again)
    monkeypatch.setattr(trainer, "_step", lambda rows: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        trainer.fit(progress=False)
    assert toy_trainer(tmp_path / "x").resume()


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


def test_a_run_that_is_written_is_as_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    model, best = small_model(cls=True), {"accuracy": 0.25, "loss": 2.0, "step": 3, "epoch": 1.5}
    model.name, weights = "toy/a", pack(model.network.state_dict())
    splits = {name: replace(split, frame=split.frame.head(9)) for name, split in toy_splits().items()}
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    monkeypatch.setattr(finishing, "EMBEDDINGS", 4)
    run = finishing.finish(
        tmp_path / "a",
        model,
        weights,
        recipe={"dataset": "toy", "model": "a", "seed": 0, "intercept": True},
        preset="p",
        seen=(splits["train"],),
        validation=splits["validation"],
        tests=(splits["test"],),
        history=[[0, 0.5, "lambda", -1, 2, 0.25]],
        best=best,
        example=("a warm song", None),
        steps=3,
        seconds=1.6,
        hardware="a machine",
        epochs={2: weights},
        entries={"version": {"more": "1"}},
        measures=lambda loaded: {"softmax": {"temperature": loaded.calibration}},
    )
    refused(RunError, "has an intercept in its weights already", finishing.calibrate, run)
    bias = load(run).network.state_dict()["classifier.bias"] - unpack(weights)["classifier.bias"]
    np.testing.assert_allclose(bias, np.array(run.config["calibration"]["intercept"]) * run.config["temperature"], atol=2e-3)
    changes = {"recipe": run.config["recipe"] | {"dataset": "other", "intercept": False}}
    for name in ("finished", "measured again"):
        config = {part: value for part, value in run.config.items() if part not in ("version", "files")}
        tables = [run.frame("test.parquet").to_dict("list"), run.history().to_dict("list"), run.example().text, run.metrics()]
        vectors = {part: tensor.tolist() for part, tensor in load_file(run.folder / "embeddings.safetensors").items()}
        now = {"run": summary([config, sorted(run.config["files"]), run.config["version"]["more"], run.epochs]), "tables": summary(tables)}
        compare("outputs.json", name, now | {"vectors": summary(vectors)}, request, 2e-3)
        if name == "finished":
            run = finishing.measure_again(run, changes, None, (splits["test"],))


@pytest.mark.exhaustive
@pytest.mark.skipif(not ROOT.is_dir(), reason="checkpoints/ is not here")
def test_every_run_that_ships_is_known_by_its_recipe() -> None:
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
        wanted = Recipe.read(source, model=stored["model"], seed=stored["seed"], variant=stored.get("variant") or None).pinned()
        if stored.get("teacher", "").partition("@")[0] == wanted.teacher.partition("@")[0]:  # taught by an earlier run of this name
            wanted = replace(wanted, teacher=stored.get("teacher", ""))
        run = finished(wanted, ROOT)
        assert run is not None and run.folder == folder
        refused(RunError, "another recipe", finished, replace(wanted, batch_size=wanted.batch_size + 1), ROOT)
    assert folders


def test_recipes_of_other_papers_and_of_hardmax_models_are_read(tmp_path: Path) -> None:
    named = {"cnn": "sentiformer_imdb", "sentiformer-full": "sentiformer_imdb", "ndt-unit-2": "", "7ess-v1-rope": "", "unknown": ""}
    assert {model: recipe_of_paper("imdb", model) for model in named} == named
    assert recipe_of_paper("sentiformer_imdb", "cnn") == "" and recipe_of_paper("sentiformer_imdb", "vanilla") == "ndt_imdb"
    assert recipe_of_paper("english", "cnn") == "" and recipe_of_paper("own.toml", "cnn") == ""
    plain = {"dataset": "imdb", "model": "hardmax-d4-straight", "example": "a song"}
    old = plain | {"width": 4, "layers": 8, "training": "hardmax", "training_temperature": 0.001, "cleaning": True, "epochs": 5}
    assert Recipe.of(old) == Recipe.of(plain)
    another = Recipe.of(old | {"layers": 3, "training_temperature": 0.1, "epochs": 2})
    assert (another.shape, another.epochs) == ({"layers": 3, "training_temperature": 0.1}, 2)
    assert Recipe.of(another.as_dict()) == another
    path = tmp_path / "own.toml"
    path.write_text('dataset = "toy"\nmodel = "hardmax-d8-raw"\nepochs = 2\n[shape]\nlayers = 3\n')
    recipe = Recipe.read(path, seed=1)
    assert recipe.name == "toy/hardmax-d8-raw-s1" and recipe.shape == {"layers": 3}
    assert (recipe.epochs, recipe.learning_rate, recipe.patience, recipe.log_every) == (2, 1e-2, 0, 50)
    for values, reason in [
        ({"model": "hardmax-3"}, "no model 'hardmax-3'"),
        ({"shape": {"heads": 2}}, "model has no setting 'heads'"),
        ({"shape": {"layers": 0}}, "hardmax-d2 cannot be made: layers must be a whole number from 1"),
        ({"cls": True}, "hardmax-d2 does not take cls"),
    ]:
        refused(InputError, reason, Recipe.of, {"dataset": "toy", "model": "hardmax-d2"} | values)
