"""Open an exported ONNX folder as a model that can predict."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import Tensor

from sentviz.data.tags import TAGGER, Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.io.documents import read_json
from sentviz.io.files import inside, open_regular
from sentviz.io.typed import Form, Misfit, above, fitted
from sentviz.models.loading import model_class
from sentviz.models.model import Model
from sentviz.models.pretrained.tokens import load_tokenizer
from sentviz.models.protocol import Capture, Inputs, InterventionTensors, Network, Output
from sentviz.runs.configs import ModelConfig, read_config
from sentviz.runs.run_files import most
from sentviz.serving.onnx.graph import require_package

CARD, WHOLE, SMALL = "model.json", "model.onnx", "model.int8.onnx"
FORMAT = 1
PLAIN = InterventionTensors()


class Card(Form):
    """Content of `model.json` that opening needs."""

    run: str
    labels: list[str]
    calibration: Annotated[float, above(0)]
    cls: bool
    tokens: dict[str, Any]
    model: dict[str, Any]
    files: dict[str, str]


class Session(Network):
    """ONNX graph with the interface of a network. It predicts; activations and interventions are not available, except exported maps."""

    def __init__(self, config: ModelConfig, path: Path, *, threads: int = 0) -> None:
        """Open the graph; `threads` is the number of threads per request, 0 = onnxruntime decides.

        Raises:
            RunError: onnxruntime is missing, or cannot read the file.
        """
        super().__init__()
        runtime = require_package("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self.config = config
        try:
            self.session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has its own exception classes.
            raise RunError(f"{path.name} cannot be read ({' '.join(str(error).split())[:200]}).") from error
        self.names = tuple(each.name for each in self.session.get_inputs())
        self.outputs = tuple(each.name for each in self.session.get_outputs())

    def forward(self, inputs: Inputs, capture: Capture | None = None, change: InterventionTensors | None = None) -> Output:
        """Return logits and pooled vectors."""
        if capture is not None or (change is not None and change != PLAIN):
            raise InputError("An exported model only predicts. Open its run to see activations or to make interventions.")
        logits, pooled = self.run_graph(inputs, "logits", "pooled")
        return Output(torch.from_numpy(logits), torch.from_numpy(pooled))

    def run_graph(self, inputs: Inputs, *outputs: str) -> list[Any]:
        """Return some outputs of the graph as arrays."""
        if missing := [name for name in outputs if name not in self.outputs]:
            raise InputError(f"This file does not return {missing[0]}. Export the run with --maps.")
        ids, mask = inputs.ids, inputs.mask
        if not ids.shape[1]:  # Without any known word, the graph gets one masked token.
            ids, mask = ids.new_zeros(len(ids), 1), torch.zeros(len(ids), 1, dtype=torch.bool)
        zeros, ones = torch.zeros_like(ids), torch.ones_like(ids, dtype=torch.bool)
        tensors: dict[str, Tensor] = {
            "ids": ids,
            "mask": ones if mask is None else mask,
            "segments": zeros if inputs.segments is None else inputs.segments,
            "tags": zeros if inputs.tags is None else inputs.tags,
        }
        return list(self.session.run(list(outputs), {name: tensors[name].numpy() for name in self.names}))


def load(folder: str | Path, *, int8: bool = False, threads: int = 0) -> Model:
    """Open a folder that `export` wrote as a model for `predict` and `forward`.

    Args:
        int8: use the graph in 8 bits.
        threads: threads per request; 0 = onnxruntime decides.
    Raises:
        RunError: the folder is missing or damaged, has no 8-bit graph, or the packages are missing.
    """
    folder = Path(folder)
    card, file = read_card(folder), SMALL if int8 else WHOLE
    if int8 and SMALL not in card["files"]:
        raise RunError(f"{folder.name} holds no graph in 8 bits. Export the run with --int8.")
    for name in {*card["files"], file, "tokenizer.json"} - ({WHOLE, SMALL} - {file}):
        _check_digest(folder, name, card["files"].get(name))
    try:
        config = read_config(card["model"])
    except ValueError as error:
        raise RunError(f"{folder.name}: {CARD} describes a model that this version does not know ({str(error).rstrip('.')}).") from error
    kind = model_class(config)
    words, reads = folder / "tokenizer.json", card["tokens"]
    tokenizer: Tokenizer = (
        kind.TOKENIZER.load(words)
        if kind.TOKENIZER is not Tokenizer
        else load_tokenizer(
            words,
            config.vocab_size,
            split_special_tokens=reads.get("split_special_tokens", True) is True,
            truncation_side=str(reads.get("truncation_side")),
        )
    )
    tagger = Tagger.load(folder / TAGGER) if config.capabilities.tags else None
    network = Session(config, folder / file, threads=threads)
    return Model(card["run"], network, tokenizer, card["labels"], calibration=card["calibration"], cls=card["cls"], tagger=tagger)


def read_card(folder: Path) -> Card:
    """Return the content of `model.json` after a check of its types.

    Raises:
        RunError: the file is missing, or `export` did not write it.
    """
    try:
        card = read_json(folder / CARD, most(CARD), CARD)
        stored = fitted(Form, card)["format"]
        if stored != FORMAT:
            raise RunError(f"{folder.name}: {CARD} has format {stored}, this version reads {FORMAT}.")
        return fitted(Card, card)
    except Misfit as fault:
        raise RunError(f"{folder.name}: {CARD} was not written by sentviz: {fault}.") from fault
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise RunError(f"{folder} holds no exported model: {CARD} is missing.") from None
        raise RunError(f"{folder.name}: {error}") from error


def _check_digest(folder: Path, name: str, digest: object) -> None:
    """Raise RunError if a file is missing or has another digest."""
    try:
        with open_regular(inside(folder, name), most(name), name) as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == digest
    except InputError as error:
        raise RunError(str(error)) from error
    if not same:
        raise RunError(f"{name} is damaged or belongs to another export (its digest differs from {CARD}).")
