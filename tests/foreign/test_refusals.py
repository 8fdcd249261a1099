"""Folders and files that would harm, contradict themselves or take another model's place: each is one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from sentviz import training  # noqa: E402
from sentviz.data import datasets  # noqa: E402
from sentviz.errors import InputError, RunError  # noqa: E402
from sentviz.models import hub  # noqa: E402
from sentviz.models.folder import look_at  # noqa: E402
from sentviz.models.loading import load  # noqa: E402
from sentviz.runs.store import Run  # noqa: E402
from sentviz.training import Trainer  # noqa: E402
from sentviz.training.foreign import ForeignTask  # noqa: E402
from sentviz.training.recipe import Recipe  # noqa: E402
from tests.foreign.models import KINDS, changed, saved  # noqa: E402
from tests.shipped import often  # noqa: E402

pytestmark = pytest.mark.slow

LABELS = ("negative", "positive")


def sentence(error: pytest.ExceptionInfo[Any]) -> str:
    message = str(error.value)
    assert message.endswith(".") and "\n" not in message
    return message


def reshaped(run: Run, **changes: Any) -> Run:
    """Return the run with changed nested entries of config.json."""
    path = run.folder / "config.json"
    config = json.loads(path.read_text())
    for part, entries in changes.items():
        config[part] |= entries
    path.write_text(json.dumps(config))
    return Run.open(run.folder)


# ---- run folders ----------------------------------------------------------------------------------------------------


CODE = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "someone/evil--modeling.Evil"}
DAMAGED: dict[str, dict[str, Any]] = {
    "code for another kind": {"hub": {"model_type": "timm_backbone", "auto_map": CODE}},
    "code for its own kind": {"hub": {"auto_map": CODE}},
    "another kind": {"hub": {"model_type": "electra"}},
    "an unknown kind": {"hub": {"model_type": "timm_backbone"}, "model": {"architecture": "timm_backbone"}},
    "a width of letters": {"hub": {"hidden_size": "x"}},
    "no heads": {"hub": {"num_attention_heads": 0}},
    "heads that do not divide": {"hub": {"num_attention_heads": 3}},
    "a million million labels": {"hub": {"num_labels": 10**12}},
    "a million million layers": {"hub": {"num_hidden_layers": 10**12}},
    "numbers without end": {"hub": {"intermediate_size": 10**300}},
    "two widths": {"model": {"width": 32}},
    "two numbers of layers": {"model": {"layers": 2}},
    "no tokens": {"model": {"max_length": 0}},
}


@pytest.mark.parametrize("how", often(DAMAGED, *list(DAMAGED)[:4]))
def test_a_run_runs_no_code_and_does_not_contradict_itself(
    how: str, toy_data: dict[str, datasets.Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with code of its own is refused without a question on the terminal, and its two descriptions must agree."""
    questions: list[str] = []
    monkeypatch.setattr("builtins.input", lambda *prompt: questions.append(str(prompt)) or "y")
    adopted = training.adopt(saved(tmp_path / "bert", "bert", LABELS), "toy", tmp_path)
    with pytest.raises(RunError, match=r"toy/bert: config\.json") as error:
        hub.HubModel.of(reshaped(adopted, **DAMAGED[how]))
    sentence(error)
    assert not questions


MODES = {
    "code that config.json names": ("config.json", {"auto_map": CODE}),
    "code of an unknown kind": ("config.json", {"auto_map": CODE, "model_type": "evil"}),
    "code for the tokenizer": ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "tokenizer_class": "Evil"}),
}


@pytest.mark.parametrize("how", MODES)
def test_code_in_a_models_folder_is_never_run(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is looked at, opened and adopted, by its name and as the current folder; none of its Python files is imported."""
    folder, trace = saved(tmp_path / "theirs", "bert", LABELS), tmp_path / "it-ran"
    file, settings = MODES[how]
    (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | settings))
    for module in ("evil", "__init__", "modeling", "tokenizer", "sitecustomize", "json"):
        (folder / f"{module}.py").write_text(f"open({str(trace)!r}, 'w').close()\nclass Config: ...\nclass Evil: ...\n")
    monkeypatch.setattr("builtins.input", lambda *prompt: "y")
    for place in (tmp_path, folder):
        monkeypatch.chdir(place)
        name = folder if place == tmp_path else "."
        look_at(name)
        for use in (lambda: load(name).trace("a warm song"), lambda: training.adopt(name, "", tmp_path / "runs")):  # noqa: B023
            if file == "config.json":
                with pytest.raises(RunError, match=r"needs code of its repository, which is never run here") as error:
                    use()
                sentence(error)
            else:
                use()
    assert not trace.exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_read(kind: str, toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    """Both descriptions of a model agree for every architecture, also when they are read from disk."""
    run = training.adopt(saved(tmp_path / kind, kind, LABELS), "toy", tmp_path)
    assert hub.HubModel.of(Run.open(run.folder)).config.architecture == kind


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def spoilt(folder: Path, value: float) -> Path:
    """Replace one weight of a model folder."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    next(tensor for key, tensor in tensors.items() if "query.weight" in key)[0, 0] = value
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.exhaustive
def test_weights_that_are_no_numbers(tmp_path: Path, folders: dict[str, Path]) -> None:
    for name, value in (("nan", float("nan")), ("inf", float("inf"))):
        with pytest.raises(RunError, match="its weights hold values that are not numbers") as error:
            hub.load(spoilt(changed(folders["bert"], tmp_path / name), value))
        sentence(error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", ["x", 0, 3, -4, None])
def test_a_configuration_that_is_none(kind: str, value: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    heads = "n_heads" if kind == "distilbert" else "num_attention_heads"
    with pytest.raises(RunError) as error:
        hub.load(changed(folders[kind], tmp_path / "heads", **{heads: value}))
    sentence(error)
    width = "dim" if kind == "distilbert" else "hidden_size"
    with pytest.raises(RunError) as error:
        hub.load(changed(folders[kind], tmp_path / "width", **{width: value}))
    sentence(error)


@pytest.mark.parametrize("setting", [{"pad_token_id": 0}, {"relative_attention_num_buckets": 31}])
def test_an_mpnet_that_transformers_would_compute_otherwise(setting: dict[str, int], folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="padding token is not number 1, or with fewer than 32 distances") as error:
        hub.load(changed(folders["mpnet"], tmp_path / "odd", **setting))
    sentence(error)


def test_odd_files_and_names(folders: dict[str, Path], tmp_path: Path) -> None:
    cases: dict[str, Callable[[Path], object]] = {
        "nested": lambda path: path.write_text('{"a":' * 100_000 + "1" + "}" * 100_000),
        "a list": lambda path: path.write_text("[1]"),
        "a number": lambda path: path.write_text("3"),
        "letters that are none": lambda path: path.write_bytes(b"\xff\xfe"),
    }
    for name, write in cases.items():
        folder = changed(folders["bert"], tmp_path / name)
        write(folder / "config.json")
        with pytest.raises(RunError, match=r"config\.json cannot be read") as error:
            hub.load(folder)
        sentence(error)
    with pytest.raises(RunError, match="its labels are not numbered from 0"):
        hub.load(changed(folders["bert"], tmp_path / "counted", id2label={"1": "a", "2": "b", "3": "c"}))
    with pytest.raises(RunError, match="There is no folder"):
        hub.load("/" + 300 * "a")
    with pytest.raises(RunError, match="the hub has no model") as error:
        hub.load(300 * "a")
    sentence(error)
    broken = changed(folders["bert"], tmp_path / "words")
    settings = json.loads((broken / "tokenizer_config.json").read_text())
    (broken / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": "many"}))
    with pytest.raises(RunError, match="has no tokenizer that can be read") as error:
        hub.load(broken)
    sentence(error)


# ---- namesakes ------------------------------------------------------------------------------------------------------


SETTINGS: dict[str, Any] = {"epochs": 1, "batch_size": 32, "max_length": 24}


def namesakes(tmp_path: Path) -> tuple[Path, Path]:
    """Make two folders of the same name with different weights."""
    first, second = (saved(tmp_path / owner / "bert-tiny", "bert", LABELS) for owner in ("alice", "bob"))
    return first, spoilt(second, 0.5)


def test_ten_million_layers_are_not_built(folders: dict[str, Path], tmp_path: Path) -> None:
    for kind, setting in (("bert", "num_hidden_layers"), ("distilbert", "n_layers"), ("modernbert", "num_hidden_layers")):
        with pytest.raises(RunError, match=f"{setting} must be at most 1,000, not 10000000") as caught:
            hub.load(changed(folders[kind], tmp_path / kind, **{setting: 10_000_000}))
        sentence(caught)


def test_a_tokenizer_without_a_word_for_the_unknown(folders: dict[str, Path], tmp_path: Path) -> None:
    """A tokenizer without an unknown token is refused when it is loaded; it would fail on the first unknown letter of a text."""
    folder = changed(folders["bert"], tmp_path / "deaf")
    path = folder / "tokenizer.json"
    words = json.loads(path.read_text())
    words["added_tokens"] = [entry for entry in words["added_tokens"] if entry["content"] != "[UNK]"]
    words["model"]["vocab"]["[GONE]"] = words["model"]["vocab"].pop("[UNK]")
    path.write_text(json.dumps(words))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings.pop("unk_token")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(RunError, match="its tokenizer cannot read every text") as caught:
        hub.load(folder)
    sentence(caught)


def test_a_namesake_does_not_take_a_runs_place(toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    alice, bob = namesakes(tmp_path)
    run = training.adopt(alice, "toy", tmp_path / "runs")
    before = run.digest
    for make in (training.adopt, training.finetune):
        with pytest.raises(RunError, match="holds a run of other weights of bert-tiny; move it away") as error:
            make(bob, "toy", tmp_path / "runs", **({} if make is training.adopt else SETTINGS | {"progress": False}))
        sentence(error)
    assert Run.open(run.folder).digest == before
    reshaped(run, recipe={"source": "carol/bert-tiny"})
    with pytest.raises(RunError, match="holds a run of carol/bert-tiny"):
        training.adopt(alice, "toy", tmp_path / "runs")


def test_a_run_of_an_earlier_version_may_be_replaced(toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    alice, bob = namesakes(tmp_path)
    run = training.adopt(alice, "toy", tmp_path / "runs")
    path = run.folder / "config.json"
    config = json.loads(path.read_text())
    del config["recipe"]["weights"]
    path.write_text(json.dumps(config))
    assert training.adopt(bob, "toy", tmp_path / "runs").config["recipe"]["weights"]


def test_a_namesake_does_not_go_on_from_a_resume_point(toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    alice, bob = namesakes(tmp_path)

    def trainer(source: Path) -> Trainer:
        recipe = Recipe.of({"dataset": "toy", "model": "bert-tiny", "source": "bert-tiny", "example": "a song"} | SETTINGS)
        return Trainer(ForeignTask(recipe, source), tmp_path / "runs" / "toy" / "bert-tiny")

    stopped = trainer(alice)
    stopped.fit(progress=False, until=2)
    with pytest.raises(RunError, match="belongs to another recipe") as error:
        trainer(bob).resume()
    sentence(error)
    assert trainer(alice).resume()


def test_what_cannot_be_trained_is_told_first(tmp_path: Path, folders: dict[str, Path]) -> None:
    """The error is raised before the data set is read."""
    with pytest.raises(InputError, match="korsts has no classes"):
        training.finetune(folders["bert"], "korsts", tmp_path)
    with pytest.raises(InputError, match="korsts has no classes"):
        training.adopt(folders["bert"], "korsts", tmp_path)
    with pytest.raises(InputError, match="seed is 9223372036854775808"):
        training.finetune(folders["bert"], "sst2", tmp_path, seed=1 << 63)


def test_a_new_head_does_not_change_the_digest(tmp_path: Path) -> None:
    """A random new head leaves the digest of the checkpoint as it was; a changed weight gives another digest."""
    from sentviz.models.hub.loading import opened

    folder = saved(tmp_path / "bert", "bert")
    digests = set()
    for seed in (0, 1):
        torch.manual_seed(seed)
        digests.add(opened(folder, labels=LABELS).weights)
    assert len(digests) == 1 and opened(spoilt(folder, 0.5), labels=LABELS).weights not in digests
