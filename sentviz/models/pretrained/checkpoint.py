"""Read a pretrained encoder in the Hugging Face layout as settings and weights of our own encoder. Needs no transformers.

All of them are post-norm with learned positions and exact GELU or ReLU. Differences are switches of `EncoderConfig` or are removed here:
positions that begin after that of the padding (RoBERTa, MPNet) are cut to those of tokens, and a single token type (RoBERTa) is added to
the positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from sentviz.errors import InputError, RunError
from sentviz.io.documents import read_json
from sentviz.io.files import open_regular
from sentviz.models.architectures import PRETRAINED, Architecture

SIZES = {".json": 1 << 27, ".txt": 1 << 27, ".model": 1 << 27, ".safetensors": 1 << 34, ".bin": 1 << 34}  # maximum bytes of a file
TIMEOUT = 10.0  # seconds to wait for the first response of the hub
LAYERS = 1_000  # maximum layers of an encoder
NUMBERS = {  # our setting -> names in config.json
    "vocab_size": ("vocab_size",),
    "width": ("hidden_size", "dim"),
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "ffn_width": ("intermediate_size", "hidden_dim"),
    "max_length": ("max_position_embeddings",),
}


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A pretrained encoder: settings of `EncoderConfig`, weights by the names of our encoder, and the file of its tokenizer."""

    settings: dict[str, Any]  # without classes; with "head" if the checkpoint has a classification head
    weights: dict[str, Tensor]
    tokenizer: Path


def read_checkpoint(folder: str | Path, *, head: bool = False, title: str = "") -> Checkpoint:
    """Read a Hugging Face folder: config.json, model.safetensors and tokenizer.json.

    Args:
        folder: folder with the three files.
        head: also read the classification head. title: name of the encoder in error messages, by default that of the folder.
    Raises:
        RunError: a file is missing or damaged, the architecture is unknown, or a tensor is missing, of another shape or not finite.
    """
    folder = Path(folder)
    title = title or folder.name
    try:
        readable(folder)
        config = read_json(folder / "config.json", SIZES[".json"], "config.json")
        if not isinstance(config, dict):
            raise InputError("config.json cannot be read (it is not a table).")
    except InputError as error:
        raise RunError(f"{title}: {error}") from error
    try:
        settings = settings_of(config)
        with safe_open(folder / "model.safetensors", framework="pt") as file:
            names = set(file.keys())
            weights = weights_of(config, settings, lambda name: file.get_tensor(name) if name in names else None, head=head)
    except (OSError, SafetensorError) as error:
        raise RunError(f"{title}: model.safetensors cannot be read ({error}).") from error
    except ValueError as error:
        raise RunError(f"{title}: {error}") from error
    if not (folder / "tokenizer.json").is_file():
        raise RunError(f"{title}: tokenizer.json is missing.")
    return Checkpoint(settings | ({"head": PRETRAINED[config["model_type"]].head} if head else {}), weights, folder / "tokenizer.json")


def readable(folder: Path) -> None:
    """Check that all files that a Hugging Face library would read of a folder are regular files of a usual size."""
    for path in sorted(folder.glob("*")):
        if path.suffix in SIZES and not path.is_dir():
            open_regular(path, SIZES[path.suffix], path.name).close()


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of `EncoderConfig` from the content of config.json, without classes and head.

    Raises:
        ValueError: our encoder cannot compute this one; the message is a sentence.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in PRETRAINED:
        known = ", ".join(dict.fromkeys(each.title for each in PRETRAINED.values()))
        raise ValueError(f"config.json describes a model of the kind {kind!r}; a base is one of {known}.")
    if config.get("is_decoder") or config.get("position_embedding_type", "absolute") != "absolute":
        raise ValueError(
            "config.json describes a decoder, or positions that are not learned. A base must be an encoder with learned positions."
        )
    architecture, settings = PRETRAINED[kind], {}
    for name, theirs in NUMBERS.items():
        settings[name] = _number(config, theirs)
    if settings["layers"] > LAYERS:
        raise ValueError(f"config.json names {settings['layers']:,} layers; a base has at most {LAYERS:,}.")
    bend = config.get("hidden_act", config.get("activation", "gelu"))
    if bend not in ("gelu", "relu"):
        raise ValueError(f"config.json names the activation {bend!r}; a base has gelu or relu.")
    settings["max_length"] -= _offset(config, architecture)
    if settings["max_length"] < 1:
        raise ValueError("config.json leaves no position for a token.")
    relative = _number(config, ("relative_attention_num_buckets",)) if kind == "mpnet" else 0
    return settings | {
        "ffn": bend,
        "norm": "layer",
        "norm_first": False,
        "norm_eps": float(config.get("layer_norm_eps", 1e-12)),
        "embedding_scale": 1.0,
        "embedding_norm": True,
        "embedding_width": _number(config, ("embedding_size",)) if kind == "electra" else settings["width"],
        "segments": _number(config, ("type_vocab_size",)) if architecture.types else 1,
        "relative": relative,
        "pooling": "cls",
        "dropout": 0.0,
    }


def weights_of(
    config: Mapping[str, Any], settings: Mapping[str, Any], tensor: Callable[[str], Tensor | None], *, head: bool = False
) -> dict[str, Tensor]:
    """Return the weights by the names of our encoder, in single precision (double precision is kept).

    Args:
        config: content of the checkpoint's config.json. settings: result of `settings_of`.
        tensor: returns a tensor of the checkpoint by its name, or None.
        head: also return the classification head, with as many classes as the checkpoint has.
    Raises:
        ValueError: a tensor is missing, has another shape or contains NaN or infinity; the message is a sentence.
    """
    known = PRETRAINED[config["model_type"]]
    words = "embeddings.word_embeddings.weight"
    prefix = "" if tensor(words) is not None else f"{known.prefix}."
    d, e, wide, length = (settings[name] for name in ("width", "embedding_width", "ffn_width", "max_length"))

    def take(name: str, *shape: int) -> Tensor:
        value = tensor(name)
        if value is None:
            raise ValueError(f"model.safetensors has no tensor {name}, which config.json asks for.")
        if len(value.shape) != len(shape) or any(want not in (-1, have) for have, want in zip(value.shape, shape, strict=True)):
            expected = " x ".join("K" if want < 0 else str(want) for want in shape)
            raise ValueError(f"{name} is {' x '.join(map(str, value.shape))}; config.json asks for {expected}.")
        if not bool(torch.isfinite(value).all()):
            raise ValueError(f"{name} holds values that are not numbers.")
        return value if value.dtype == torch.float64 else value.float()

    def both(name: str, ours: str, *shape: int) -> dict[str, Tensor]:
        return {f"{ours}.weight": take(f"{name}.weight", *shape), f"{ours}.bias": take(f"{name}.bias", shape[0])}

    offset = _offset(config, known)
    weights = {
        "embedding.weight": take(prefix + words, settings["vocab_size"], e),
        "position": take(f"{prefix}embeddings.position_embeddings.weight", length + offset, e)[offset:],
        **both(f"{prefix}embeddings.LayerNorm", "embedding_norm", e),
    }
    if known.types:
        types = take(f"{prefix}embeddings.token_type_embeddings.weight", settings["segments"], e)
        if settings["segments"] > 1:
            weights["segment.weight"] = types
        else:
            weights["position"] = weights["position"] + types
    if e != d:
        weights |= both(f"{prefix}embeddings_project", "widen", d, e)
    if settings["relative"]:
        weights["relative"] = take(f"{prefix}encoder.relative_attention_bias.weight", settings["relative"], settings["heads"])
    for layer in range(settings["layers"]):
        theirs, ours = prefix + known.layer.format(layer), f"blocks.{layer}."
        projected = [both(theirs + name, "x", d, d) for name in known.attention[:3]]
        weights |= {
            f"{ours}attention.project.{part}": torch.cat([matrix[f"x.{part}"] for matrix in projected]) for part in ("weight", "bias")
        }
        weights |= both(theirs + known.attention[3], f"{ours}attention.output", d, d)
        weights |= both(theirs + known.attention_norm, f"{ours}attention_norm", d)
        weights |= both(theirs + known.ffn[0], f"{ours}ffn.up", wide, d)
        weights |= both(theirs + known.ffn[1], f"{ours}ffn.down", d, wide)
        weights |= both(theirs + known.ffn_norm, f"{ours}ffn_norm", d)
    if head:
        weights |= both(known.dense, "dense", d, d)
        weights["classifier.weight"] = take(f"{known.classifier}.weight", -1, d)
        weights["classifier.bias"] = take(f"{known.classifier}.bias", len(weights["classifier.weight"]))
    return weights


def _offset(config: Mapping[str, Any], architecture: Architecture) -> int:
    return _number(config, ("pad_token_id",), least=0) + 1 if architecture.behind_padding else 0


def _number(config: Mapping[str, Any], names: tuple[str, ...], least: int = 1) -> int:
    """Return a whole number of config.json, under the first of some names that it has."""
    value = next((config[name] for name in names if name in config), None)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"config.json must name {names[0]}, a whole number of at least {least}, not {value!r}.")
    return value


# ---- errors of the hub


def unreachable(name: str, error: BaseException) -> str:
    """Return why a name leads to no model, from the types of an error and its causes."""
    kinds: set[str] = set()
    cause: BaseException | None = error
    while cause is not None:
        kinds |= {kind.__name__ for kind in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    if "GatedRepoError" in kinds:
        return f"{name} asks for an agreement on the hub: accept it there, and set HF_TOKEN."
    if kinds & {"RepositoryNotFoundError", "HFValidationError", "EntryNotFoundError"} and "LocalEntryNotFoundError" not in kinds:
        return f"{name!r} is not a folder, and the hub has no model of this name, or it is private."
    if kinds & {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionError", "TransportError", "TimeoutError"}:
        return f"{name!r} is not a folder, it was not downloaded earlier, and the hub cannot be reached."
    return f"{name}: config.json cannot be read ({brief(error)})."


def brief(error: BaseException) -> str:
    """Return an error message on one line, shortened to at most 200 characters."""
    message = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename and error.strerror else str(error)
    return " ".join(message.split())[:200].rstrip(".") or type(error).__name__
