"""Resume points: the same for every kind of model, found after a crash, tied to recipe and data, and refused in one sentence."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.errors import RunError
from sentviz.models.loading import load
from sentviz.models.weights import pack, unpack
from sentviz.runs import store
from sentviz.runs.writing import attach
from sentviz.training import Trainer, resuming, task_of, train
from sentviz.training.recipe import Recipe
from tests.kit import hardmax_recipe, no_room, toy_recipe, toy_splits, toy_trainer
from tests.shipped import often

pytestmark = pytest.mark.usefixtures("toy_data")

Make = Callable[..., Trainer]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a random BERT."""
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
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[k], theirs[k]) for k in ours)
    moments = [t.task.optimizer.state_dict()["state"] for t in (first, two)]
    assert all(torch.equal(moments[0][i][k], moments[1][i][k]) for i in moments[0] for k in moments[0][i])
    assert first.at.history == two.at.history
    for name in ("step", "best", "since_best", "stopped"):
        assert getattr(first.at, name) == getattr(two.at, name)


@pytest.fixture(scope="module")
def uninterrupted() -> dict[str, Trainer]:
    """Return the uninterrupted trainers by model; their folders may be deleted."""
    return {}


@pytest.fixture
def straight(make: Make, tmp_path: Path, request: pytest.FixtureRequest, uninterrupted: dict[str, Trainer]) -> Trainer:
    """Return the uninterrupted trainer of `make`, trained once for all tests."""
    model = request.node.callspec.params["make"]
    if model not in uninterrupted:
        uninterrupted[model] = make(tmp_path / "straight")
        uninterrupted[model].fit(progress=False)
    return uninterrupted[model]


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
    """Training that a SIGINT stops in a step, after the dropout, and that is resumed, is the same as uninterrupted training."""
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
    """Each stored epoch is the trainer's state in stored precision; an epoch that is not stored is refused."""
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
        with pytest.raises(RunError, match=why):
            load(known, epoch=epoch)


@pytest.mark.exhaustive
def test_the_last_epochs_are_kept(kept_epochs: Path, tmp_path: Path) -> None:
    run = store.Run.open(Path(shutil.copytree(kept_epochs, tmp_path / "toy" / kept_epochs.name)))
    frame = pd.DataFrame({"value": [1.0]})
    again = attach(run, "words.parquet", frame)
    assert again.epochs == (2, 3, 4) and load(again, epoch=3).predict(["a warm song"])["label"][0]
    (run.folder / "epochs" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"contains epochs/notes\.txt"):
        attach(again, "words.parquet", frame)
    path = run.folder / "epochs" / "3.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RunError, match=r"epochs/3\.safetensors is damaged"):
        load(again, epoch=3)


def test_a_resume_point_of_another_recipe_is_refused(tmp_path: Path) -> None:
    toy_trainer(tmp_path / "x").fit(progress=False, until=1)
    with pytest.raises(RunError, match="another recipe"):
        toy_trainer(tmp_path / "x", seed=1).resume()
    point = tmp_path / ".x.tmp-resume" / "progress.json"
    stored = json.loads(point.read_text())
    for damage in ("{", "[]", "{}", json.dumps(stored | {"at": {"walk": 1}})):
        point.write_text(damage)
        with pytest.raises(RunError, match="delete it to start again"):
            toy_trainer(tmp_path / "x").resume()


def test_a_resume_point_of_other_data_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy_trainer(tmp_path / "x").fit(progress=False, until=1)
    splits = toy_splits()
    splits["train"] = replace(splits["train"], digest="1" * 12)
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    with pytest.raises(RunError, match="belongs to other rows of toy"):
        toy_trainer(tmp_path / "x").resume()
    point = tmp_path / ".x.tmp-resume" / "progress.json"
    point.write_text(json.dumps({k: v for k, v in json.loads(point.read_text()).items() if k in ("recipe", "at")}))
    assert toy_trainer(tmp_path / "x").resume()


def test_a_resume_point_without_one_of_its_tensors_is_damaged(tmp_path: Path) -> None:
    """One sentence, and the trainer does not believe that it went on. A point of an older version has no list of tensors."""
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


def test_a_resume_point_left_aside_by_a_crash_is_found(tmp_path: Path) -> None:
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
