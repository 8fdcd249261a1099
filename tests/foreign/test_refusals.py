"""Folders and files that would harm, contradict themselves, take another model's place or never end: each is one sentence."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

import sentviz
from sentviz import training
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import SentvizError
from sentviz.models import hub
from sentviz.models.folder import look_at
from sentviz.models.hub.loading import opened
from sentviz.models.loading import load
from sentviz.runs.store import Run
from sentviz.training import Trainer
from sentviz.training.foreign import ForeignTask
from sentviz.training.recipe import Recipe
from tests.foreign.models import changed, refused, saved

LABELS = ("negative", "positive")


def reshaped(run: Run, **changes: Any) -> Run:
    """Return the run with changed nested entries of config.json."""
    path = run.folder / "config.json"
    config = json.loads(path.read_text())
    for part, entries in changes.items():
        config[part] |= entries
    path.write_text(json.dumps(config))
    return Run.open(run.folder)


CODE = {"AutoConfig": "evil.Config", "AutoModelForSequenceClassification": "someone/evil--modeling.Evil"}
DAMAGED: dict[str, dict[str, Any]] = {
    "code for another kind": {"hub": {"model_type": "timm_backbone", "auto_map": CODE}},
    "code for its own kind": {"hub": {"auto_map": CODE}},
    "a width of letters": {"hub": {"hidden_size": "x"}},
    "heads that do not divide": {"hub": {"num_attention_heads": 3}},
    "two widths": {"model": {"width": 32}},
    "no tokens": {"model": {"max_length": 0}},
}


def test_a_run_runs_no_code_and_does_not_contradict_itself(
    toy_data: dict[str, datasets.Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []
    monkeypatch.setattr("builtins.input", lambda *prompt: questions.append(str(prompt)) or "y")
    adopted, again = (training.adopt(folder, "toy", tmp_path, own_name=True) for folder in [saved(tmp_path / "bert", "bert", LABELS)] * 2)
    assert adopted == again and re.fullmatch("toy/bert-[0-9a-f]{8}", adopted.name)
    best, step, validation = adopted.config["best"], adopted.config["steps"], adopted.metrics()["validation"]
    assert (best["step"], best["epoch"], step, best["accuracy"]) == (0, 0.0, 0, validation["stored_accuracy"])
    rows = [[0, 0.0, f"validation_{name}", -1, -1, pytest.approx(best[name])] for name in ("accuracy", "loss")]
    assert adopted.history().to_numpy().tolist() == rows
    good = (adopted.folder / "config.json").read_text()
    for changes in DAMAGED.values():
        (adopted.folder / "config.json").write_text(good)
        refused(r"toy/bert-\w+: config\.json", lambda changes=changes: hub.HubModel.of(reshaped(adopted, **changes)))
    assert not questions


MODES = {
    "code that config.json names": ("config.json", {"auto_map": CODE}),
    "code of an unknown kind": ("config.json", {"auto_map": CODE, "model_type": "evil"}),
    "code for the tokenizer": ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "tokenizer_class": "Evil"}),
}


@pytest.mark.parametrize("how", MODES)
def test_code_in_a_models_folder_is_never_run(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, trace = saved(tmp_path / "theirs", "bert", LABELS), tmp_path / "it-ran"
    file, settings = MODES[how]
    (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | settings))
    for module in ("evil", "__init__", "modeling", "tokenizer", "sitecustomize", "json"):
        (folder / f"{module}.py").write_text(f"open({str(trace)!r}, 'w').close()\nclass Config: ...\nclass Evil: ...\n")
    monkeypatch.setattr("builtins.input", lambda *prompt: "y")
    monkeypatch.chdir(folder)
    for name in (folder, "."):
        look_at(name)
        for use in (lambda: load(name).trace("a warm song"), lambda: training.adopt(name, "", tmp_path / "runs")):  # noqa: B023
            if file == "config.json":
                refused("needs code of its repository, which is never run here", use)
            else:
                use()
    assert not trace.exists()


def spoilt(folder: Path, value: float) -> Path:
    """Replace one weight of a model folder."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    next(tensor for key, tensor in tensors.items() if "query.weight" in key)[0, 0] = value
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_weights_that_are_no_numbers(tmp_path: Path, folders: dict[str, Path]) -> None:
    for name, value in (("nan", float("nan")), ("inf", float("inf"))):
        refused("its weights hold values that are not numbers", hub.load, spoilt(changed(folders["bert"], tmp_path / name), value))
    for i, setting in enumerate(({"pad_token_id": 0}, {"relative_attention_num_buckets": 31})):
        odd = changed(folders["mpnet"], tmp_path / str(i), **setting)
        refused("padding token is not number 1, or with fewer than 32 distances", hub.load, odd)
    folder = changed(folders["bert"], tmp_path / "deaf")
    words, settings = (json.loads((folder / name).read_text()) for name in ("tokenizer.json", "tokenizer_config.json"))
    words["added_tokens"] = [entry for entry in words["added_tokens"] if entry["content"] != "[UNK]"]
    words["model"]["vocab"]["[GONE]"] = words["model"]["vocab"].pop("[UNK]")
    settings.pop("unk_token")
    (folder / "tokenizer.json").write_text(json.dumps(words))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    refused("its tokenizer cannot read every text", hub.load, folder)


@pytest.mark.parametrize("kind", ["bert", "distilbert", "modernbert"])
def test_a_configuration_that_is_none(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    names = ("n_heads", "dim", "n_layers") if kind == "distilbert" else ("num_attention_heads", "hidden_size", "num_hidden_layers")
    for value in ("x", 0, 3, -4, None):
        for name in names[:2]:
            refused(".", hub.load, changed(folders[kind], tmp_path / f"{name} {value}", **{name: value}))
    refused(
        f"{names[2]} must be at most 1,000, not 10000000", hub.load, changed(folders[kind], tmp_path / "layers", **{names[2]: 10_000_000})
    )


def test_odd_files_settings_and_names(folders: dict[str, Path], tmp_path: Path) -> None:
    for i, text in enumerate((b'{"a":' * 100_000 + b"1" + b"}" * 100_000, b"[1]", b"3", b"\xff\xfe")):
        folder = changed(folders["bert"], tmp_path / str(i))
        (folder / "config.json").write_bytes(text)
        refused(r"config\.json cannot be read", hub.load, folder)
    refused(
        "its labels are not numbered from 0",
        hub.load,
        changed(folders["bert"], tmp_path / "counted", id2label={"1": "a", "2": "b", "3": "c"}),
    )
    for name, match in (("/" + 300 * "a", "There is no folder"), (300 * "a", "the hub has no model")):
        refused(match, hub.load, name)
    broken = changed(folders["bert"], tmp_path / "words")
    settings = json.loads((broken / "tokenizer_config.json").read_text())
    (broken / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": "many"}))
    refused("has no tokenizer that can be read", hub.load, broken)
    for make in (training.finetune, training.adopt):
        refused("korsts has no classes", make, folders["bert"], "korsts", tmp_path)
    refused("seed is 9223372036854775808", training.finetune, folders["bert"], "sst2", tmp_path, seed=1 << 63)
    folder = saved(tmp_path / "bert", "bert")
    digests = set()
    for seed in (0, 1):
        torch.manual_seed(seed)
        digests.add(opened(folder, labels=LABELS).weights)
    assert len(digests) == 1 and opened(spoilt(folder, 0.5), labels=LABELS).weights not in digests


SETTINGS: dict[str, Any] = {"epochs": 1, "batch_size": 32, "max_length": 24}


def namesakes(tmp_path: Path) -> tuple[Path, Path]:
    """Make two folders of the same name with different weights."""
    first, second = (saved(tmp_path / owner / "bert-tiny", "bert", LABELS) for owner in ("alice", "bob"))
    return first, spoilt(second, 0.5)


def test_a_namesake_does_not_take_a_runs_place(toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    alice, bob = namesakes(tmp_path)
    run = training.adopt(alice, "toy", tmp_path / "runs")
    before, config = run.digest, (run.folder / "config.json").read_text()
    for make, settings in ((training.adopt, {}), (training.finetune, SETTINGS | {"progress": False})):
        refused("holds a run of other weights of bert-tiny; move it away", make, bob, "toy", tmp_path / "runs", **settings)
    assert Run.open(run.folder).digest == before
    reshaped(run, recipe={"source": "carol/bert-tiny"})
    refused("holds a run of carol/bert-tiny", training.adopt, alice, "toy", tmp_path / "runs")
    earlier = json.loads(config)
    del earlier["recipe"]["weights"]  # an earlier version did not store them, and its run may be replaced
    (run.folder / "config.json").write_text(json.dumps(earlier))
    assert training.adopt(bob, "toy", tmp_path / "runs").config["recipe"]["weights"]


def test_a_namesake_does_not_go_on_from_a_resume_point(toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    alice, bob = namesakes(tmp_path)

    def trainer(source: Path) -> Trainer:
        recipe = Recipe.of({"dataset": "toy", "model": "bert-tiny", "source": "bert-tiny", "example": "a song"} | SETTINGS)
        return Trainer(ForeignTask(recipe, source), tmp_path / "runs" / "toy" / "bert-tiny")

    trainer(alice).fit(progress=False, until=2)
    refused("belongs to another recipe", trainer(bob).resume)
    assert trainer(alice).resume()


PANICS = "a" * 40 + "b"  # more steps of one match than the library allows
SPLIT = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}


@pytest.fixture(scope="module")
def backtracking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier whose tokenizer cuts texts with a pattern that backtracks."""
    folder = saved(tmp_path_factory.mktemp("hub") / "backtracking", "bert", LABELS)
    stored = json.loads((folder / "tokenizer.json").read_text())
    stored["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [SPLIT, stored["pre_tokenizer"]]}
    (folder / "tokenizer.json").write_text(json.dumps(stored))
    return folder


def test_a_panic_is_one_sentence_in_command_and_python(backtracking: Path, tmp_path: Path) -> None:
    run = training.adopt(backtracking, "", tmp_path)
    for model in (sentviz.load(backtracking), sentviz.load(run)):
        with pytest.raises(SentvizError, match=r"^The tokenizer of this model raised PanicException: .*retry-limit") as error:
            model.trace(PANICS)
        assert "\n" not in str(error.value)
        assert model.trace("a warm song").label in LABELS
    for named in ([str(run.folder)], ["--model", str(backtracking)]):
        refused = CliRunner().invoke(main, ["explain", *named, PANICS])
        assert (refused.exit_code, refused.output.count("\n")) == (1, 1) and refused.output.startswith("Error: The tokenizer of this model")
