"""A loaded Hugging Face encoder, usable as any `Model`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, RunError
from sentviz.io.lazy import torch
from sentviz.models.architectures import ARCHITECTURES
from sentviz.models.folder import check_sizes
from sentviz.models.hub.encoder import IMPLEMENTATION, HubEncoder, register, transformers
from sentviz.models.model import Model, filled
from sentviz.models.pretrained.checkpoint import brief
from sentviz.models.pretrained.tokens import PretrainedTokenizer
from sentviz.runs.configs import HubConfig
from sentviz.runs.presets import injections
from sentviz.runs.store import Run

LINEAR = ("head", "classes", "pooling", "normalized", "dense", "dense_activation")  # settings of an encoder with a linear head
LONGEST = 512  # maximum number of tokens, even if a model can read more: the maps of all layers must fit into memory


class HubModel(Model):
    """A Hugging Face classifier with its tokenizer and labels. It has one attention map per head, so there is no lambda."""

    tokenizer: PretrainedTokenizer
    network: HubEncoder

    def __init__(
        self, name: str, network: HubEncoder, tokenizer: PretrainedTokenizer, labels: Sequence[str], *, calibration: float = 1.0
    ) -> None:
        super().__init__(name, network, tokenizer, labels, calibration=calibration, cls=True)

    @classmethod
    def of(cls, run: Run) -> HubModel:
        """Return the model of a run folder that `adopt` or `finetune` wrote.

        Raises:
            RunError: the run is damaged, is not a Hugging Face model or needs code of its repository, or transformers is missing.
        """
        register()
        config, words = run.shape, run.config["tokenizer"]
        if not isinstance(config, HubConfig):
            raise RunError(f"{run.name} is not a Hugging Face model.")
        try:
            settings = dict(run.config["hub"])
            kind = settings.pop("model_type")
            if "auto_map" in settings or kind not in ARCHITECTURES or kind != config.architecture:
                raise RunError(f"{run.name}: config.json asks for the model {kind!r}, which was not written by sentviz and is not loaded.")
            check_sizes(settings)
            inner = transformers().AutoConfig.for_model(kind, **settings)
            chosen = {field: getattr(config, field) for field in ("lexicon", "lexicon_heads", "lexicon_scaled")}
            if config.head == "linear":
                chosen |= {field: getattr(config, field) for field in LINEAR}
            if shape(inner, config.max_length, **chosen) != config:
                raise ValueError("its parts model and hub differ")
            reads = {"special_ids": words["special_ids"], "unknown": words["unknown"]}
            reads["split_special_tokens"] = bool(words.get("split_special_tokens"))
            reads["truncation_side"] = str(words.get("truncation_side"))
            network = filled(lambda: _network(config, inner), run)
        except RunError:
            raise
        except Exception as error:  # transformers has many error types, and invalid numbers raise further ones
            raise RunError(
                f"{run.name}: config.json describes a Hugging Face model that this version does not know ({brief(error)})."
            ) from error
        tokenizer = PretrainedTokenizer.read(run.path("tokenizer.json"), vocab_size=config.vocab_size, **reads)
        return cls(run.name, network, tokenizer, run.labels, calibration=run.calibration)


def _network(config: HubConfig, inner: Any) -> HubEncoder:
    package = transformers()
    kind = package.AutoModelForSequenceClassification if config.head == "own" else package.AutoModel
    model = kind.from_config(inner, trust_remote_code=False, attn_implementation=IMPLEMENTATION, dtype=torch.float32)
    return HubEncoder(config, model)


def injected(injection: str) -> dict[str, Any]:
    """Return the settings of an injection by name; empty for ""."""
    if injection and injection not in injections():
        raise InputError(f"There is no injection {injection!r}; there are {', '.join(injections())}.")
    return dict(injections()[injection]) if injection else {}


def shape(inner: Any, tokenizer_limit: int, **changes: Any) -> HubConfig:
    """Return the library's configuration for a transformers configuration.

    Args:
        tokenizer_limit: maximum number of tokens of the tokenizer.
        changes: fields to set, for example those of an injection.
    Raises:
        ValueError: a number is invalid.
    """
    kind, layers = inner.model_type, inner.num_hidden_layers
    known, modern = ARCHITECTURES[kind], kind == "modernbert"
    if min(inner.hidden_size, layers, inner.num_attention_heads, inner.vocab_size) < 1 or inner.hidden_size % inner.num_attention_heads:
        raise ValueError(f"{layers} layers of {inner.num_attention_heads} heads and a width of {inner.hidden_size}")
    offset = inner.pad_token_id + 1 if known.behind_padding else 0  # positions begin after that of the padding
    windows: tuple[int, ...] = ()
    if getattr(inner, "talking_head", False) or getattr(inner, "z_steps", 0) > 1:
        raise ValueError("talking heads or repeated last layers, which cannot be read")
    if kind == "mpnet" and (inner.pad_token_id != 1 or inner.relative_attention_num_buckets < 32):
        raise ValueError("an MPNet whose padding token is not number 1, or with fewer than 32 distances")
    if kind.startswith("qwen") and "sliding_attention" in (getattr(inner, "layer_types", None) or ()):
        windows = tuple(2 * inner.sliding_window - 2 if layer == "sliding_attention" else 0 for layer in inner.layer_types)
    if modern:  # each side sees half of local_attention, rounded down
        windows = tuple(inner.local_attention // 2 * 2 if layer == "sliding_attention" else 0 for layer in inner.layer_types)
    settings: dict[str, Any] = {
        "architecture": kind,
        "vocab_size": inner.vocab_size,
        "classes": inner.num_labels,
        "max_length": min(inner.max_position_embeddings - offset, tokenizer_limit, LONGEST),
        "width": inner.hidden_size,
        "layers": layers,
        "heads": inner.num_attention_heads,
        "windows": windows,
        "pooling": inner.classifier_pooling if modern else "last" if known.causal else "cls",
        "segments": max(1, inner.type_vocab_size) if known.types else 1,
        "positions": "rotary" if modern or (known.causal and kind != "gpt2") else "learned",
    }
    if settings["max_length"] < 1:
        raise ValueError(f"{settings['max_length']} tokens at most")
    return HubConfig(**(settings | changes))


def fuse(network: HubEncoder, tokenizer: PretrainedTokenizer, lexicon: Lexicon) -> None:
    """Put a lexicon's polarities into a network that was made with an injection; special tokens stay neutral."""
    network.polarity.copy_(torch.from_numpy(lexicon.polarity(tokenizer)))
