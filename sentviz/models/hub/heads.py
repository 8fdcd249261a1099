"""Linear heads on the pooled states of an encoder, and the files with which sentence-transformers and SetFit describe them.

    modules.json               the encoder, its pooling, dense layers, and whether the vectors get length 1
    config_setfit.json         class names
    model_head.safetensors     the head: weight (K, d) and bias (K,); `store_head` writes it, with the class names
    model_head.pkl             the head as SetFit writes it: a pickle, which is never read, since reading it may run any code

The probabilities are softmax(W x + b) for the vector x, so gradients reach the words through the pooling. A dense layer changes the pooled
vector to x = f(A x + a).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sentviz.errors import InputError, RunError
from sentviz.io.documents import parse_json, read_json
from sentviz.models.folder import HEAD
from sentviz.models.pretrained.checkpoint import SIZES, brief

POOLINGS = {"mean_tokens": "mean", "cls_token": "cls", "lasttoken": "last", "mean": "mean", "cls": "cls"}  # name in modules.json -> ours
ACTIVATIONS = {"Identity": "none", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu"}  # class of torch -> f of a dense layer
PARTS = ("Transformer", "Pooling")  # first modules of an encoder of sentences
PROBES, NEAR = 32, 1e-4  # random vectors on which a classifier is compared with its weights, and allowed difference of a probability


@dataclass(frozen=True)
class LinearHead:
    """A linear layer on the pooled states of an encoder."""

    weight: Tensor  # (K, d)
    bias: Tensor  # (K,)
    labels: tuple[str, ...] = ()  # (K,) class names; () = unnamed
    pooling: str = "mean"  # "mean" over the tokens, or "cls", the first token
    normalized: bool = False  # the vectors have length 1
    dense: tuple[tuple[Tensor, Tensor], ...] = ()  # A (e, d) and a (e,) of each dense layer between pooling and head
    activation: str = "none"  # f of the dense layers

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `HubConfig` that describe it."""
        settings = {"head": "linear", "classes": len(self.weight), "pooling": self.pooling, "normalized": self.normalized}
        return settings | {"dense": tuple(len(bias) for _, bias in self.dense), "dense_activation": self.activation}


@dataclass(frozen=True)
class Sentences:
    """An encoder of sentences: the parts that follow its layers."""

    body: str = ""  # folder of the encoder inside the model's folder
    pooling: str = "mean"
    normalized: bool = False
    limit: int = 1 << 30  # maximum number of tokens
    labels: tuple[str, ...] = ()
    dense: tuple[tuple[Tensor, Tensor], ...] = ()
    activation: str = "none"

    def empty(self, width: int, name: str) -> LinearHead:
        """Return the head of an encoder of a width without classes.

        Raises:
            RunError: a dense layer does not fit.
        """
        for weight, bias in self.dense:
            if weight.shape != (len(bias), width) or not (torch.isfinite(weight).all() and torch.isfinite(bias).all()):
                raise RunError(f"{name}: a dense layer has the shape {tuple(weight.shape)} for vectors of width {width}, or is damaged.")
            width = len(bias)
        return LinearHead(torch.zeros(0, width), torch.zeros(0), (), self.pooling, self.normalized, self.dense, self.activation)

    def with_head(self, head: Any, width: int, name: str) -> LinearHead:
        """Return the head of an encoder of a width: a linear classifier of scikit-learn, a `torch.nn.Linear`, or a safetensors file."""
        empty = self.empty(width, name)
        width = empty.weight.shape[1]
        weight, bias, labels = _stored(Path(head)) if isinstance(head, str | Path) else _parts(head)
        weight, bias = weight.to(torch.float32, copy=True), bias.to(torch.float32, copy=True)
        if weight.ndim != 2 or bias.shape != weight.shape[:1] or weight.shape[1] != width or len(weight) < 2:
            raise InputError(
                f"The head of {name} needs a weight of (classes, {width}) and a bias of (classes,), with two classes or more,"
                f" not {tuple(weight.shape)} and {tuple(bias.shape)}."
            )
        if not (torch.isfinite(weight).all() and torch.isfinite(bias).all()):
            raise InputError(f"The head of {name} holds values that are not numbers.")
        labels = labels or (self.labels if len(self.labels) == len(weight) else ())
        return replace(empty, weight=weight, bias=bias, labels=labels)


def store_head(head: Any, folder: str | Path) -> Path:
    """Write a fitted linear classifier into the folder of its encoder, where `sentviz.load` and `sentviz adopt` find it.

    Args:
        head: linear classifier of scikit-learn, or a `torch.nn.Linear`.
    Returns:
        The file model_head.safetensors.
    """
    from safetensors.torch import save_file

    if not Path(folder).is_dir():
        raise InputError(f"There is no folder {folder}.")
    weight, bias, labels = _parts(head)
    path = Path(folder) / HEAD
    save_file({"weight": weight.contiguous(), "bias": bias.contiguous()}, path, metadata={"labels": json.dumps(labels)})
    return path


def read_sentences(folder: Path) -> Sentences:
    """Return what a folder says of the parts after the encoder's layers; the mean of the tokens if it says nothing.

    Raises:
        RunError: a file is damaged, or a part cannot be computed here.
    """
    modules = _json(folder, "modules.json", list) or []
    kinds = [str(each.get("type", "")).rpartition(".")[2] for each in modules if isinstance(each, dict)]
    dense = kinds.count("Dense")
    if modules and kinds not in ([*PARTS, *["Dense"] * dense, *end] for end in ([], ["Normalize"])):
        raise RunError(
            f"{folder.name}: modules.json names the parts {', '.join(kinds)}. Parts that can be read, in this order: Transformer, Pooling,"
            " Dense and Normalize."
        )
    labels = (_json(folder, "config_setfit.json", dict) or {}).get("labels") or ()
    if not modules:
        return Sentences(labels=_names(labels))
    body, pooled, *paths = (str(each.get("path", "")) for each in modules)
    if any(part.startswith((".", "/", "~")) or ".." in part or "\\" in part for part in (body, pooled, *paths)):
        raise RunError(f"{folder.name}: modules.json names a folder outside the model's.")
    settings = _json(folder / pooled, "config.json", dict) or {}
    modes = [str(settings["pooling_mode"])] if "pooling_mode" in settings else []
    modes += [name.removeprefix("pooling_mode_") for name, value in settings.items() if name.startswith("pooling_mode_") and value is True]
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise RunError(
            f"{folder.name} pools by {', '.join(modes) or 'an unknown rule'}. Poolings that can be read: the mean, or the first token."
        )
    limit = (_json(folder / body, "sentence_bert_config.json", dict) or {}).get("max_seq_length")
    most = limit if isinstance(limit, int) and limit > 0 else 1 << 30
    layers = [_dense(folder, part) for part in paths[:dense]]
    if len(activations := {activation for *_, activation in layers} or {"none"}) > 1:
        raise RunError(f"{folder.name} has dense layers with several activations ({', '.join(sorted(activations))}), which cannot be read.")
    weights = tuple((weight, bias) for weight, bias, _ in layers)
    return Sentences(body, POOLINGS[modes[0]], kinds[-1] == "Normalize", most, _names(labels), weights, activations.pop())


def _dense(folder: Path, part: str) -> tuple[Tensor, Tensor, str]:
    """Return weight (e, d), bias (e,) and activation of a dense layer, which is a folder of a model's folder."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    named = str((_json(folder / part, "config.json", dict) or {}).get("activation_function", "Tanh")).rpartition(".")[2]
    if named not in ACTIVATIONS:
        raise RunError(f"{folder.name}: {part} has the activation {named}. Activations that can be read: {', '.join(ACTIVATIONS)}.")
    try:
        tensors = load_file(folder / part / "model.safetensors")
        weight = tensors["linear.weight"].float()
        return weight, tensors.get("linear.bias", torch.zeros(len(weight))).float(), ACTIVATIONS[named]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise RunError(
            f"{folder.name}: the dense layer {part} cannot be read: its weights must be in model.safetensors ({brief(error)})."
        ) from error


def stored_head(folder: Path) -> Path | None:
    """Return the file of a folder's head; None if there is none."""
    return folder / HEAD if (folder / HEAD).is_file() else None


def _names(labels: object) -> tuple[str, ...]:
    return tuple(map(str, labels)) if isinstance(labels, list | tuple) else ()


def _json(folder: Path, file: str, kind: type[Any]) -> Any:
    """Return the content of a JSON file; None if there is no such file."""
    if not (folder / file).is_file():
        return None
    try:
        content = read_json(folder / file, SIZES[".json"], file)
    except InputError as error:
        raise RunError(f"{folder.name}: {file} cannot be read ({brief(error)}).") from error
    if not isinstance(content, kind):
        raise RunError(f"{folder.name}: {file} cannot be read (it is not a {'list' if kind is list else 'table'}).")
    return content


def _stored(path: Path) -> tuple[Tensor, Tensor, tuple[str, ...]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            labels = parse_json((file.metadata() or {}).get("labels", "[]"), "its list of labels")
            return file.get_tensor("weight"), file.get_tensor("bias"), _names(labels)
    except (OSError, SafetensorError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path.name} is not a head: it needs the tensors weight and bias in safetensors format ({brief(error)})."
        ) from error


def _parts(head: Any) -> tuple[Tensor, Tensor, tuple[str, ...]]:
    """Return weight (K, d), bias (K,) and class names, or (), of a fitted linear classifier."""
    if isinstance(head, torch.nn.Linear):
        return head.weight.detach(), torch.zeros(head.out_features) if head.bias is None else head.bias.detach(), ()
    classes = list(getattr(head, "classes_", ()))
    return *_fitted(head), tuple(map(str, classes)) if all(isinstance(each, str) for each in classes) else ()


def _fitted(classifier: Any) -> tuple[Tensor, Tensor]:
    """Return weight (K, d) and bias (K,) of a fitted classifier, after a comparison of its probabilities with theirs."""
    kind = type(classifier).__name__
    coefficients, intercept = (getattr(classifier, name, None) for name in ("coef_", "intercept_"))
    if coefficients is None or intercept is None or not hasattr(classifier, "predict_proba"):
        raise InputError(
            f"The head is a {kind}. A head is a fitted linear classifier with probabilities, for example scikit-learn's LogisticRegression,"
            " a torch.nn.Linear, or a safetensors file."
        )
    weight, bias = (np.asarray(part, dtype=np.float64) for part in (coefficients, intercept))
    bias = np.atleast_1d(bias)
    if weight.ndim == 2 and len(weight) == 1:
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    probes = np.random.default_rng(0).normal(size=(PROBES, weight.shape[-1]))
    logits = probes @ weight.T + bias
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    theirs = np.asarray(classifier.predict_proba(probes))
    if theirs.shape != shares.shape or not np.allclose(theirs, shares, atol=NEAR):
        raise InputError(f"The probabilities of the {kind} are not softmax(W x + b) of its weights, so it cannot be opened as a head.")
    return torch.from_numpy(weight), torch.from_numpy(bias)


def named(own: Sequence[str], classes: Sequence[str], name: str) -> tuple[str, ...]:
    """Return the class names of a model: `classes` if they are given, otherwise its own."""
    if isinstance(classes, str):
        raise InputError(f"classes must be a list of names, one for each class of {name}, not one text.")
    names = tuple(map(str, classes or own))
    if len(names) != len(own):
        raise InputError(
            f"{name} has {len(own)} classes ({', '.join(own)}), but {len(names)} are given ({', '.join(names)})."
            " Name one for each class, in its order."
        )
    if not classes and own and all(label.upper() == f"LABEL_{k}" or not label for k, label in enumerate(own)):
        example = ("negative", "positive") if len(own) == 2 else ("negative", "neutral", "positive") if len(own) == 3 else ("first", "...")
        unnamed = ", ".join(filter(None, own)) or "they have no names"
        raise InputError(
            f"{name} does not say what its {len(own)} classes mean ({unnamed}). Name them in this order: classes={list(example)},"
            f" or --classes {','.join(example)}."
        )
    if not all(names) or len(set(names)) < len(names):
        raise RunError(f"{name}: two of its classes have the same name, or one has none ({', '.join(names)}).")
    return names
