"""Run folders: written whole or not at all, read strictly, and one bad run never hides the good ones."""

import hashlib
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from sentviz.analysis.measurements import measure_run
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import RunError
from sentviz.io.files import hold
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs import store
from sentviz.runs import writing as run_writing
from sentviz.runs.catalog import catalog
from sentviz.runs.run_files import most
from sentviz.runs.store import Run, find, runs
from sentviz.runs.writing import attach
from tests.kit import LABELS, refused, toy_splits

HEADS = pd.DataFrame({"layer": [0], "head": [0], "measure": ["entropy"], "value": [1.0], "low": [1.0], "high": [1.0], "n": [1]})
WORDS = pd.DataFrame({"word": ["warm"], "label": [0], "predicted": [0], "count": [1], "rows": [1]})


@pytest.fixture
def root(tiny_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the two small runs into an otherwise empty folder."""
    monkeypatch.delenv("SENTVIZ_RUNS", raising=False)
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(tiny_runs, tmp_path / "mine"))


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


def resealed(folder: Path, file: str) -> None:
    """Make config.json vouch for a file as it is now."""
    digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    edit(folder, lambda config: config["files"].update({file: digest}))


def test_a_run_comes_back_as_it_was_trained(tiny_run: Path, tiny_model: Model) -> None:
    run, test = Run.open(tiny_run), toy_splits()["test"]
    frame = run.frame("test.parquet")
    assert list(frame.columns) == ["split", "id", "label", *LABELS] and "text" not in frame.columns
    predicted = tiny_model.calibrated(1.0).predict(test.frame["text"].tolist())
    np.testing.assert_allclose(frame["positive"], predicted["positive"], atol=2e-5)
    assert frame["label"].tolist() == test.frame["label"].tolist() and frame["id"].tolist() == test.frame["id"].tolist()
    right = (predicted["label"] == [LABELS[i] for i in test.frame["label"]]).mean()
    assert run.metrics()["test"]["accuracy"]["value"] == pytest.approx(right, abs=1e-5)
    assert run.metrics()["test"]["n"] == len(test)
    trace, example = tiny_model.trace("what a warm, clever song we saw!"), run.example()
    np.testing.assert_allclose(example.attention, trace.attention, atol=1e-3)
    assert example.tokens == trace.tokens and set(example.token_scores) == {"removal"}
    logged = {"train_loss", "validation_accuracy", "validation_loss", "lambda", "learning_rate"}
    assert set(run.history()["name"]) == logged
    stored = load_file(run.path("embeddings.safetensors"))
    assert stored["pooled"].shape == (60, 16) and stored["rows"].tolist() == list(range(60))


def test_a_catalog_has_a_row_per_run_and_one_folder_needs_no_list(root: Path) -> None:
    frame = catalog([root])
    frame = frame[frame["run"].str.startswith("toy/")].set_index("run")
    assert list(frame.index) == ["toy/ndt-unit-2", "toy/vanilla-matched"]
    row, metrics = frame.loc["toy/ndt-unit-2"], Run.open(root / "toy/ndt-unit-2").metrics()["test"]
    assert (row["data"], row["model"], row["constraint"], row["components"]) == ("toy", "ndt-unit-2", "[0,1]", 2)
    assert row["accuracy"] == metrics["accuracy"]["value"] and row["low"] <= row["accuracy"] <= row["high"]
    assert row["n"] == 60 and row["problem"] == "" and row["seed"] == 0
    assert frame.loc["toy/vanilla-matched", "constraint"] == ""
    for folder in (root, str(root)):
        assert {"toy/ndt-unit-2", "toy/vanilla-matched"} <= set(catalog(folder)["run"])
        assert find("toy/ndt-unit-2", folder).configuration == "ndt-unit-2" and root in store.roots(folder)
    assert Run.open(str(root / "toy/ndt-unit-2")).config["preset"] == "ndt-unit-2"
    first = Run.open(root / "toy/ndt-unit-2").digest
    assert first != Run.open(root / "toy/vanilla-matched").digest and len(first) == 12
    (root / "toy/ndt-unit-2" / "metrics.json").write_text("{}")
    resealed(root / "toy/ndt-unit-2", "metrics.json")
    assert Run.open(root / "toy/ndt-unit-2").digest != first


def _cut(folder: Path, file: str) -> None:
    path = folder / file
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _nan(folder: Path) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["classifier.bias"][0] = float("nan")
    save_file(tensors, path)
    resealed(folder, path.name)


def _other_vocabulary(folder: Path) -> None:
    Tokenizer.train_words(["quite another vocabulary"], 1).save(folder / "tokenizer.json")
    resealed(folder, "tokenizer.json")


def _foreign(folder: Path, file: str, content: bytes) -> None:
    (folder / file).write_bytes(content)
    resealed(folder, file)


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut weights": (lambda f: _cut(f, "model.safetensors"), "model.safetensors is damaged"),
    "cut tokenizer": (lambda f: _cut(f, "tokenizer.json"), "tokenizer.json is damaged"),
    "weights of another run": (lambda f: shutil.copy(f.parent / "vanilla-matched/model.safetensors", f), "is damaged or was replaced"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "model.safetensors is missing"),
    "weights that are no numbers": (_nan, "model.safetensors holds values that are not numbers"),
    "weights that are a pickle": (lambda f: _foreign(f, "model.safetensors", b"\x80\x04}q\x00."), "model.safetensors cannot be read"),
    "weights of another shape": (lambda f: edit(f, lambda c: c["model"].update(ffn_width=30)), "model.safetensors does not fit"),
    "another vocabulary": (_other_vocabulary, "do not belong together"),
    "a foreign tokenizer": (lambda f: _foreign(f, "tokenizer.json", b'{"model": {"type": "Unigram"}}'), "is not a tokenizer"),
    "no config": (lambda f: (f / "config.json").unlink(), "ndt-unit-2"),
    "another format": (lambda f: edit(f, lambda c: c.update(format=99)), "format 99"),
    "labels that are none": (lambda f: edit(f, lambda c: c.update(labels=None)), "labels must be a list of 2 to 1,000 entries, not None"),
    "too few labels": (lambda f: edit(f, lambda c: c.update(labels=["one"])), "labels must be a list of 2 to 1,000 entries"),
    "an unknown model setting": (lambda f: edit(f, lambda c: c["model"].update(magic=1)), "config.json"),
    "a missing model setting": (lambda f: edit(f, lambda c: c["model"].pop("vocab_size")), "vocab_size"),
    "an unknown mixing": (lambda f: edit(f, lambda c: c["model"].update(mixing="magic")), "mixing must be none"),
    "a start for too few layers": (lambda f: edit(f, lambda c: c["model"].update(layers=3)), "lambda_start needs"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_says_file_and_reason_and_hides_no_other(name: str, root: Path) -> None:
    damage, reason = DAMAGES[name]
    folder = root / "toy" / "ndt-unit-2"
    damage(folder)
    with pytest.raises(RunError) as caught:
        load("toy/ndt-unit-2", folders=[root])
    assert reason in str(caught.value) and "\n" not in str(caught.value)
    assert load("toy/vanilla-matched", folders=[root]).predict(["a warm song"])["label"][0] in LABELS
    frame = catalog([root]).set_index("run")
    assert {"toy/ndt-unit-2", "toy/vanilla-matched"} <= set(frame.index) and frame.loc["toy/vanilla-matched", "problem"] == ""


def _measured(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Rewrite metrics.json with a right digest."""
    path = folder / "metrics.json"
    metrics = json.loads(path.read_text())
    change(metrics)
    path.write_text(json.dumps(metrics))
    resealed(folder, path.name)


@pytest.mark.parametrize(
    "damage, reason",
    [
        (lambda f: edit(f, lambda c: c.pop("best")), "best"),
        (lambda f: edit(f, lambda c: c["data"].pop("name")), "name"),
        (lambda f: ((f / "metrics.json").write_text("{}"), resealed(f, "metrics.json")), "test"),
        (lambda f: (f / "metrics.json").unlink(), "metrics.json is missing"),
        (lambda f: _measured(f, lambda m: m["test"]["accuracy"].update(value="high")), "test.accuracy.value must be a number, not 'high'"),
        (lambda f: edit(f, lambda c: c["recipe"].update(seed="abc")), "recipe.seed must be a whole number, not 'abc'"),
        (lambda f: edit(f, lambda c: c.update(seconds=0.5)), "0.5 is not a whole number"),
        (lambda f: edit(f, lambda c: c["best"].update(epoch=10**400)), "more than 40 digits"),
        (lambda f: ((f / "metrics.json").write_text("[" * 100_000), resealed(f, "metrics.json")), "metrics.json "),
    ],
)
def test_a_catalog_survives_a_run_without_its_numbers(damage: Callable[[Path], Any], reason: str, root: Path) -> None:
    damage(root / "toy" / "ndt-unit-2")
    frame = catalog([root]).set_index("run")
    assert reason in frame.loc["toy/ndt-unit-2", "problem"] and frame.loc["toy/vanilla-matched", "n"] == 60


def test_tables_are_kept_side_by_side_or_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = root / "toy/ndt-unit-2"
    first, second = Run.open(folder), Run.open(folder)
    attach(first, "heads.parquet", HEADS)
    assert {"heads.parquet", "words.parquet"} <= attach(second, "words.parquet", WORDS).config["files"].keys()
    assert len(Run.open(folder).frame("heads.parquet")) == 1
    run = Run.open(root / "toy/ndt-unit-2")
    monkeypatch.setattr(run_writing, "PATIENCE", 0.1)
    with hold(run.folder) as mine, pytest.raises(RunError, match="being written by another process"):
        assert mine
        attach(run, "heads.parquet", HEADS)
    monkeypatch.setattr("sentviz.analysis.maps.heads.over_split", lambda *_: pytest.fail("measured"))
    folder = root / "toy/ndt-unit-2"
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"contains notes\.txt"):
        measure_run("heads", find(folder))
    (folder / "notes.txt").unlink()
    with monkeypatch.context() as patch, pytest.raises(RunError, match="cannot be written"):
        patch.setattr(os, "access", lambda *_: False)
        measure_run("heads", find(folder))
    run = Run.open(root / "toy/ndt-unit-2")
    _nan(run.folder)
    refused(RunError, "trained again", attach, run, "heads.parquet", HEADS)


def test_other_files_are_checked_when_they_are_read_and_no_pickle_is_opened(root: Path, tmp_path: Path) -> None:
    folder, predictions = root / "toy" / "ndt-unit-2", lambda run: run.frame("test.parquet")
    for file, read in (("history.parquet", Run.history), ("example.safetensors", Run.example), ("test.parquet", predictions)):
        _cut(folder, file)
        with pytest.raises(RunError, match=f"{file} is damaged"):
            read(Run.open(folder))
        resealed(folder, file)
        with pytest.raises(RunError, match=file):
            read(Run.open(folder))

    class Mark:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "marked"),)

    folder, bomb = root / "toy" / "ndt-unit-2", pickle.dumps(Mark())
    for file in ("model.safetensors", "example.safetensors", "history.parquet", "embeddings.safetensors"):
        (folder / file).write_bytes(bomb)
        resealed(folder, file)
    for extra in ("model.bin", "pytorch_model.bin", "model.pt", "model.pkl"):
        (folder / extra).write_bytes(bomb)
    for read in (lambda: load(folder), Run.open(folder).example, Run.open(folder).history):
        with pytest.raises(RunError):
            read()
    catalog([root])
    assert not (tmp_path / "marked").exists()


def test_find_by_name_by_folder_and_not_at_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(root / "toy/ndt-unit-2", root / "toy" / ".ndt-unit-2.tmp-abc")
    (root / "toy" / "notes.txt").write_text("x")
    (root / "toy" / "empty").mkdir()
    listed = store.runs([root])
    assert {"toy/ndt-unit-2", "toy/vanilla-matched", "toy/empty"} == {n for n in listed if n.startswith("toy/")}
    assert isinstance(listed["toy/empty"], RunError)
    assert find("toy/ndt-unit-2", [root]).folder == (root / "toy/ndt-unit-2").resolve()
    assert all(find(name) is run for name, run in runs().items() if isinstance(run, Run))
    assert find(root / "toy/ndt-unit-2").name == "toy/ndt-unit-2"
    assert find(str(root / "toy/vanilla-matched")).config["preset"] == "vanilla-matched"
    with pytest.raises(RunError, match=r"no run 'toy/ndt-unti-2'; similar names: toy/ndt-unit-2.*`sentviz catalog` lists all"):
        find("toy/ndt-unti-2", [root])
    with pytest.raises(RunError, match=r"no run 'ndt-unit-2'; similar names: (\S+/ndt-unit-2[,;] )+`sentviz catalog`") as error:
        find("ndt-unit-2", [root])
    assert len(str(error.value)) < 300
    refused(RunError, r"no run in \./toy/none: there is no such folder", find, "./toy/none", [root])
    monkeypatch.setenv("SENTVIZ_RUNS", f"{root / 'nowhere'}{os.pathsep}{root}")
    assert find("toy/ndt-unit-2").configuration == "ndt-unit-2"
    for strange in ("", "../..", "x" * 3000, "/" + "x" * 3000, "a\x00b"):
        refused(RunError, "no run", find, strange)
    assert most("tokenizer.json") >= 2 * 17_082_660 > most("metrics.json")
