"""A run that somebody else wrote: whatever is in its folder is refused in one sentence, and no other run notices."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from sentviz.data.tags import Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import RunError, SentvizError
from sentviz.io.typed import bare, fields_of
from sentviz.models.pretrained.checkpoint import read_checkpoint
from sentviz.models.pretrained.tokens import PretrainedTokenizer
from sentviz.runs import store
from sentviz.runs.catalog import catalog, faults
from sentviz.runs.configs import CONFIGS, read_config
from sentviz.runs.releases import read_index
from sentviz.runs.store import Run, runs
from sentviz.serving.onnx.session import read_card
from sentviz.training.recipe import Recipe

HUGE = 10**12


def model(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda config: config["model"].update(changes)


def nested(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


CONFIGURATIONS: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (model(layers=HUGE), "layers must be a whole number from 1 to 1,000, not 1000000000000"),
    (model(layers=HUGE, lambda_start=[]), "layers must be a whole number from 1 to 1,000"),
    (model(width=10**4_000), "has more than 40 digits"),
    (model(global_tokens=[0] * 1_001), "global_tokens must be a list of at most 1,000 entries, not"),
    (model(global_tokens=[1 << 40]), "global_tokens[0] must be a whole number from -131,072 to 131,072, not 1099511627776"),
    (model(lambda_start=nested(200)), "its lists are nested too deeply; 100 levels are read"),
    (model(kind=["encoder"]), "it is of the kind ['encoder']"),
    (lambda config: config.update(temperature=10**400), "the value of temperature has more than 40 digits"),
    (lambda config: config.update(labels=[str(i) for i in range(1_001)]), "must be a list of 2 to 1,000 entries, not"),
    (lambda config: config.update(hardware="x" * 100_001), "hardware must be a text of at most 100,000 characters, not"),
    *(
        (lambda config, name=name: config["files"].update({name: "0" * 64}), "which is not a file of a run")
        for name in ("../model.safetensors", "/etc/passwd", "a\\b")
    ),
    (lambda config: config["files"].update({"metrics.json": "0"}), "files.metrics.json must be 64 hex digits, not '0'"),
]


@pytest.fixture
def shelf(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide two runs only: one to damage, and another one."""
    monkeypatch.setattr(store, "SHIPPED", tmp_path / "none")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in ("victim", "neighbour"):
        shutil.copytree(tiny_run, tmp_path / "runs" / "toy" / name)
    return tmp_path / "runs" / "toy"


def alone(reason: str) -> None:
    """Check that the damaged run gives one sentence and that the other run is unchanged."""
    available = runs()
    assert isinstance(available["toy/neighbour"], Run) and set(available) == {"toy/neighbour", "toy/victim"}
    message = str(available["toy/victim"])
    assert isinstance(available["toy/victim"], RunError) and reason in message and "\n" not in message and len(message) < 400
    assert message.count("toy/victim") == 1, message
    assert catalog().set_index("run").loc["toy/victim", "problem"] == message


def test_a_configuration_that_no_machine_could_hold(shelf: Path) -> None:
    path = shelf / "victim" / "config.json"
    good = path.read_text()
    for change, reason in CONFIGURATIONS:
        config = json.loads(good)
        change(config)
        path.write_text(json.dumps(config))
        alone(reason)


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_size_of_every_kind_has_bounds(kind: str) -> None:
    limits = {name: get_args(hint)[1] for name, hint in fields_of(CONFIGS[kind]).items() if bare(hint) is int}
    usual = {"architecture": "bert", "vocab_size": 9, "classes": 2, "max_length": 9, "width": 8, "layers": 1, "heads": 1}
    known = {name: usual[name] for name in usual if name in CONFIGS[kind].__annotations__}
    assert read_config({"kind": kind} | known)
    for name, limit in limits.items():
        with pytest.raises(ValueError, match=f"{name} must be a whole number from {limit.ge} to {limit.le:,}, not {limit.le + 1}"):
            read_config({"kind": kind} | known | {name: limit.le + 1})


def test_a_configuration_that_is_none(shelf: Path) -> None:
    for text in (b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b'{"format": 1e999}', b"", b"\0", b"\xed\xa0\x80"):
        (shelf / "victim" / "config.json").write_bytes(text)
        alone("config.json")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (os.mkfifo, "{file} is a pipe, not a file."),
        (Path.mkdir, "{file} is a folder, not a file."),
        (lambda path: path.symlink_to("/dev/zero"), "{file} is a link to another folder"),
        (lambda path: path.symlink_to("../../../it"), "{file} is a link to another folder"),
        (lambda path: path.touch() or os.truncate(path, 1 << 40), "{file} has 1,099,512 MB; at most"),
    ],
)
def test_a_file_that_is_none(damage: Callable[[Path], object], reason: str, shelf: Path) -> None:
    """Such a file is refused before it is read, even if a link leads to a file with the listed digest."""
    for run, file in (("neighbour", "model.safetensors"), ("victim", "config.json")):
        (shelf / run / file).rename(shelf.parents[1] / "it")
        damage(shelf / run / file)
    messages = faults([run for run in runs().values() if isinstance(run, Run)], ["model.safetensors"])
    assert set(messages) == {"toy/neighbour"} and reason.format(file="model.safetensors") in messages["toy/neighbour"]
    alone(reason.format(file="config.json"))
    with pytest.raises(RunError):
        store.find(shelf / "victim")


@pytest.mark.parametrize("error", [MemoryError, RecursionError, ZeroDivisionError])
def test_any_fault_of_a_run_is_its_own(error: type[Exception], shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any exception while a run is read is the fault of that run alone, also an unforeseen one."""
    (shelf / "victim" / "config.json").write_text((shelf / "victim" / "config.json").read_text() + "\n")
    (shelf / "victim" / "metrics.json").write_text((shelf / "victim" / "metrics.json").read_text() + "\n")
    whole = Run.open(shelf / "victim", "toy/victim")
    usual = Run.shape.func

    def broken(run: Run) -> Any:
        if run.name == "toy/victim":
            raise error
        return usual(run)

    monkeypatch.setattr(Run.shape, "func", broken)
    alone(f"toy/victim: config.json cannot be read ({error.__name__}).")
    monkeypatch.setattr(Run, "metrics", lambda run: broken(run))
    assert faults([whole], ["metrics.json"]) == {"toy/victim": f"toy/victim: metrics.json cannot be read ({error.__name__})."}


def listed(folder: Path, file: str) -> None:
    """Write the present digest of a file in config.json."""
    config = json.loads((folder / "config.json").read_text())
    config["files"][file] = hashlib.sha256((folder / file).read_bytes()).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))


# ---- other files that a user names


def test_a_pipe_blocks_no_reader(tmp_path: Path) -> None:
    """Recipes, indexes, tokenizers, exported models and Hugging Face folders name a pipe instead of reading it."""
    readers: dict[str, Callable[[Path], object]] = {
        "recipe.toml": Recipe.read,
        "index.json": read_index,
        "tokenizer.json": Tokenizer.load,
        "words.json": lambda path: PretrainedTokenizer.read(path, vocab_size=3, special_ids=(), unknown=None),
        "tagger.json.gz": Tagger.load,
        "model.json": lambda path: read_card(path.parent),
        "config.json": lambda path: read_checkpoint(path.parent),
        "model.safetensors": lambda path: read_checkpoint(path.parent),
    }
    for name, read in readers.items():
        os.mkfifo(tmp_path / name)
        with pytest.raises(SentvizError, match=r"is a pipe, not a file"):
            read(tmp_path / name)
        (tmp_path / name).unlink()


def packed(table: object) -> bytes:
    return gzip.compress(json.dumps(table).encode())


TABLE = {"version": "x", "labels": ["NOUN"], "weights": {"bias": [0, 1.0]}, "certain": {}}
TAGGERS = (
    gzip.compress(b" " * (1 << 27)),
    packed(TABLE)[:-9],
    packed(TABLE)[:12] + b"\xff" * 20,
    gzip.compress(b"[" * 100_000),
    packed(TABLE | {"weights": {"bias": [0, 10**400]}}),
    packed(TABLE | {"labels": ["NOUN"] * 101}),
    packed([]),
    packed(TABLE | {"weights": {"bias": [7, 1.0]}}),
)


def test_a_tagger_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "t.gz").write_bytes(packed(TABLE))
    assert Tagger.load(tmp_path / "t.gz").labels == ("NOUN",)
    for text in TAGGERS:
        (tmp_path / "t.gz").write_bytes(text)
        with pytest.raises(RunError, match=r"t\.gz is not a table of tags"):
            Tagger.load(tmp_path / "t.gz")
