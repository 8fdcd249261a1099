"""A folder of ONNX opened as a model: whatever only asks a model takes it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sentviz.data.tags import TAGGER, Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.io.files import inside, open_regular, read_regular
from sentviz.models.loading import model_class
from sentviz.models.model import Model
from sentviz.models.pretrained.tokens import load_tokenizer
from sentviz.models.protocol import Change, Inputs, Network, Output, Watch
from sentviz.runs.configs import ModelConfig, read_config
from sentviz.runs.store import most
from sentviz.serving.onnx.graph import needed

CARD, WHOLE, SMALL = "model.json", "model.onnx", "model.int8.onnx"
FORMAT = 1
PLAIN = Change()


class Session(Network):
    """An ONNX graph behind the protocol of networks: it answers, and nothing inside can be changed or seen but maps that it was given."""

    def __init__(self, config: ModelConfig, path: Path, *, threads: int = 0) -> None:
        """`threads`: of one question; 0 = onnxruntime decides.

        Raises:
            RunError: onnxruntime is missing, or cannot read the file.
        """
        super().__init__()
        runtime = needed("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self.config = config
        try:
            self.session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises kinds of its own
            raise RunError(f"{path.name} cannot be read ({' '.join(str(error).split())[:200]}).") from error
        self.names = tuple(each.name for each in self.session.get_inputs())
        self.outputs = tuple(each.name for each in self.session.get_outputs())

    def forward(self, inputs: Inputs, watch: Watch | None = None, change: Change | None = None) -> Output:
        """Logits and pooled vectors.

        Raises:
            InputError: something was to be changed or watched.
        """
        if watch is not None or (change is not None and change != PLAIN):
            raise InputError("An exported model answers; to look inside or to change it, open its run.")
        logits, pooled = self.ask(inputs, "logits", "pooled")
        return Output(torch.from_numpy(logits), torch.from_numpy(pooled))

    def ask(self, inputs: Inputs, *outputs: str) -> list[Any]:
        """Some outputs of the graph, as arrays.

        Raises:
            InputError: the graph was written without one of them.
        """
        if missing := [name for name in outputs if name not in self.outputs]:
            raise InputError(f"This file does not give {missing[0]}; export the run with --maps.")
        ids, mask = inputs.ids, inputs.mask
        if not ids.shape[1]:  # no known word: one place that is not there
            ids, mask = ids.new_zeros(len(ids), 1), torch.zeros(len(ids), 1, dtype=torch.bool)
        zeros, whole = torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool)
        given: dict[str, Tensor] = {
            "ids": ids,
            "mask": whole if mask is None else mask,
            "segments": zeros if inputs.segments is None else inputs.segments,
            "tags": zeros if inputs.tags is None else inputs.tags,
        }
        return list(self.session.run(list(outputs), {name: given[name].numpy() for name in self.names}))


def load(folder: str | Path, *, int8: bool = False, threads: int = 0) -> Model:
    """A folder that `export` wrote as a model that answers: `predict`, `forward` and whatever needs no more of a model.

    Args:
        int8: the graph in 8 bits, where it was written.
        threads: of one question; 0 = onnxruntime decides.
    Raises:
        RunError: no such folder, damaged, or the packages are missing.
    """
    folder = Path(folder)
    card, file = read_card(folder), SMALL if int8 else WHOLE
    if int8 and SMALL not in card["files"]:
        raise RunError(f"{folder.name} holds no graph in 8 bits; export the run with --int8.")
    for name in {*card["files"], file, "tokenizer.json"} - ({WHOLE, SMALL} - {file}):
        _whole(folder, name, card["files"].get(name))
    try:
        config = read_config(card["model"])
    except ValueError as error:
        raise RunError(f"{folder.name}: {CARD} describes no model that this version knows ({str(error).rstrip('.')}).") from error
    kind = model_class(config)
    words = folder / "tokenizer.json"
    tokenizer = load_tokenizer(words, config.vocab_size) if kind.TOKENIZER is Tokenizer else kind.TOKENIZER.load(words)
    tagger = Tagger.load(folder / TAGGER) if config.capabilities.tags else None
    network = Session(config, folder / file, threads=threads)
    return Model(card["run"], network, tokenizer, card["labels"], calibration=card["calibration"], cls=card["cls"], tagger=tagger)


def read_card(folder: Path) -> dict[str, Any]:
    """What `model.json` says, its shape checked.

    Raises:
        RunError: it is missing, or not what `export` writes.
    """
    try:
        card = json.loads(read_regular(folder / CARD, most(CARD), CARD))
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise RunError(f"{folder} holds no exported model: {CARD} is missing.") from None
        raise RunError(f"{folder.name}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{folder.name}: {CARD} cannot be read ({error}).") from error
    wanted: dict[str, Any] = {
        "format": int,
        "run": str,
        "labels": list,
        "calibration": (int, float),
        "cls": bool,
        "model": dict,
        "files": dict,
    }
    if not isinstance(card, dict) or any(not isinstance(card.get(name), kind) for name, kind in wanted.items()):
        raise RunError(f"{folder.name}: {CARD} was not written by sentviz.")
    if card["format"] != FORMAT:
        raise RunError(f"{folder.name}: {CARD} has format {card['format']}, this version reads {FORMAT}.")
    return card


def _whole(folder: Path, name: str, digest: object) -> None:
    """Raises RunError where a file is missing or another."""
    try:
        with open_regular(inside(folder, name), most(name), name) as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == digest
    except InputError as error:
        raise RunError(str(error)) from error
    if not same:
        raise RunError(f"{name} is damaged or belongs to another export (its digest differs from {CARD}).")
