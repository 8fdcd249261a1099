"""A damaged folder of a model hides no other one, and what cannot be opened is refused before anything is loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.models.folder import is_model_folder, look_at, model_folders

BERT = {
    "model_type": "bert",
    "num_hidden_layers": 3,
    "architectures": ["BertForSequenceClassification"],
    "id2label": {"0": "bad", "1": "good"},
}
DEEP = "[" * 20_000 + "]" * 20_000
ODD: dict[str, bytes] = {
    **{f"architectures {value!r}": json.dumps(BERT | {"architectures": value}).encode() for value in (5, {"a": 1})},
    **{f"id2label {value!r}": json.dumps(BERT | {"id2label": value}).encode() for value in (5, ["a", "b"])},
    **{f"model_type {value!r}": json.dumps(BERT | {"model_type": value}).encode() for value in (None, ["bert"], "x" * 100_000)},
    **{f"num_labels {value!r}": json.dumps({"model_type": "bert", "num_labels": value}).encode() for value in ("2", True, 10**300)},
    "a number without end": b'{"model_type": "bert", "num_hidden_layers": ' + b"9" * 5_000 + b"}",
    "a label number without end": json.dumps(BERT | {"id2label": {"9" * 5_000: "a", "1": "b"}}).encode(),
    "a huge number": json.dumps(BERT | {"num_hidden_layers": 10**12}).encode(),
    "null": b"null",
    "empty": b"",
    "deep": f'{{"model_type": "bert", "more": {DEEP}}}'.encode(),
    "not UTF-8": b'{"model_type": "b\xe9rt"}',
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(BERT).encode(),
    "NUL": b"\0" * 100,
    "too large": json.dumps(BERT | {"more": "x" * (2 << 20)}).encode(),
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another architecture": ({"model_type": "albert"}, "of the kind 'albert', which cannot be read"),
    "one output": ({"id2label": {"0": "LABEL_0"}}, "has one output, a score"),
    "several labels at once": ({"problem_type": "multi_label_classification"}, "trained for multi label classification"),
    "a number": ({"problem_type": "regression"}, "trained for regression"),
    "sigmoids": ({"sentence_transformers": {"activation_fn": "torch.nn.Sigmoid"}}, "with a sigmoid for each label"),
    "code": ({"auto_map": {"AutoModel": "own.Own"}}, "needs code of its repository"),
    "a decoder": ({"is_decoder": True}, "is a decoder"),
    "no head": ({"architectures": ["BertModel"]}, "has no classification head"),
}


def written(folder: Path, config: bytes | dict[str, Any], files: tuple[str, ...] = ("model.safetensors", "tokenizer.json")) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())
    for file in files:
        (folder / file).touch()
    return folder


def is_sentence(text: str) -> bool:
    return text.endswith(".") and "\n" not in text and len(text) < 600


@pytest.mark.parametrize("how", ODD)
def test_a_damaged_folder_is_its_own_sentence_and_the_others_are_listed(how: str, tmp_path: Path) -> None:
    folder, good = written(tmp_path / "all" / "damaged", ODD[how]), written(tmp_path / "all" / "good", BERT)
    assert model_folders(tmp_path / "all") in ([folder, good], [good])
    if folder in model_folders(tmp_path / "all"):
        look = look_at(folder)
        assert is_sentence(look.no_run) and look.no_run.startswith("damaged") and len(str(look)) < 1_000
    assert look_at(good).no_run == ""
    refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
    assert refused.exit_code == 1 and refused.output.startswith("Error: ") and is_sentence(refused.output.strip())


def test_what_is_no_model_or_cannot_be_entered_hides_no_other_folder(tmp_path: Path) -> None:
    good = written(tmp_path / "good", BERT)
    (tmp_path / "file.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "odd \udcff").mkdir()
    written(tmp_path / "run", {"format": 2, "model_type": "bert"})
    (written(tmp_path / "pipe", b"") / "config.json").unlink()
    os.mkfifo(tmp_path / "pipe" / "config.json")
    assert model_folders(tmp_path) == [good] and model_folders(tmp_path / "nowhere") == [] == model_folders(tmp_path / "file.txt")
    assert is_model_folder(good) and not is_model_folder(tmp_path / "run")


@pytest.mark.parametrize("how", REFUSED)
def test_the_look_refuses_with_the_sentence_of_the_loader(how: str, tmp_path: Path) -> None:
    settings, why = REFUSED[how]
    folder = written(tmp_path / "theirs", BERT | settings)
    look = look_at(folder)
    assert why in look.no_run and is_sentence(look.no_run)
    if how != "no head":  # The loader finds the empty files first.
        refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
        assert refused.output == f"Error: {look.no_run}\n"


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (("pytorch_model.bin", "tokenizer.json"), "has pickled weights only"),
        (("tokenizer.json",), "has no weights: model.safetensors is missing"),
        (("model.safetensors",), "has no tokenizer"),
    ],
)
def test_missing_files_are_refused_with_the_sentence_of_the_loader(files: tuple[str, ...], why: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "theirs", BERT, files)
    refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
    assert why in look_at(folder).no_run and refused.output == f"Error: {look_at(folder).no_run}\n"


def test_an_encoder_in_a_folder_of_its_own_is_looked_at(tmp_path: Path) -> None:
    """In the older layout of sentence-transformers, only the encoder's folder has config.json; paths out of the folder are not followed."""
    folder = tmp_path / "sentences"
    written(folder / "0_Transformer", BERT | {"architectures": ["BertModel"]})
    (folder / "model_head.safetensors").touch()
    (folder / "modules.json").write_text(json.dumps([{"path": "0_Transformer"}]))
    assert look_at(folder).no_run == ""
    (folder / "model_head.safetensors").rename(folder / "model_head.pkl")
    assert "has its classifier in model_head.pkl, a pickle" in look_at(folder).no_run
    written(tmp_path / "outside", BERT)
    (folder / "modules.json").write_text(json.dumps([{"path": "../outside"}]))
    assert "of the kind 'unknown'" in look_at(folder).no_run
