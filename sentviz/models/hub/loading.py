"""Open Hugging Face models by name or folder, or models that are in memory. Only safetensors are read by default, and a repository's code
is never run.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, RunError
from sentviz.io.foreign import contained
from sentviz.io.lazy import torch
from sentviz.models.architectures import ARCHITECTURES
from sentviz.models.folder import CLASSIFIER, is_classifier
from sentviz.models.hub.encoder import IMPLEMENTATION, HubEncoder, register, transformers
from sentviz.models.hub.files import (
    auto_class,
    check_configuration,
    check_shape,
    checked_kind,
    checked_tokenizer,
    checked_weights,
    is_folder,
    no_model,
    quiet,
    reachable,
    read_model,
    read_settings,
    read_tokenizer,
)
from sentviz.models.hub.heads import LinearHead, Sentences, named, read_sentences, stored_head
from sentviz.models.hub.model import HubModel, fuse, injected, shape
from sentviz.models.pretrained.checkpoint import brief
from sentviz.models.pretrained.tokens import PretrainedTokenizer


@dataclass(frozen=True)
class Opened:
    """A checkpoint as read: the transformers model with our attention, its tokenizer and its labels."""

    name: str
    model: Any
    tokenizer: PretrainedTokenizer
    tokenizer_limit: int
    labels: tuple[str, ...]
    source: str  # full name on the hub, or the folder's last part: local paths are private
    weights: str  # 12 hex digits of the weights that were read
    head: LinearHead | None = None  # head on the pooled states; None = the checkpoint's own

    def wrapped(self, lexicon: Lexicon | None, injection: str, **changes: Any) -> HubModel:
        """Return the checkpoint as a model of the library, with or without an injection.

        Raises:
            RunError: the configuration is invalid.
        """
        settings = injected(injection)
        if injection and lexicon is None:
            raise InputError(f"{injection} injects a lexicon, but no lexicon is given.")
        if lexicon is not None and not injection:
            raise InputError("A lexicon needs an injection, last-scaled for example.")
        head = self.head
        settings |= {} if head is None else head.settings
        try:
            encoder = HubEncoder(shape(self.model.config, self.tokenizer_limit, **(settings | changes)), self.model)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise no_model(self.name, error) from error
        if head is not None:
            with torch.no_grad():
                encoder.classifier.weight.copy_(head.weight)  # type: ignore[operator]
                encoder.classifier.bias.copy_(head.bias)  # type: ignore[operator]
                for layer, (weight, bias) in enumerate(head.dense):
                    encoder.get_submodule(f"dense.{layer}").load_state_dict({"weight": weight, "bias": bias})
        if lexicon is not None:
            fuse(encoder, self.tokenizer, lexicon)
        return HubModel(self.name, encoder, self.tokenizer, self.labels)


def load(
    source: Any,
    tokenizer: Any = None,
    *,
    classes: Sequence[str] = (),
    head: Any = None,
    lexicon: Lexicon | None = None,
    injection: str = "",
    allow_pickle: bool = False,
) -> HubModel:
    """Open a Hugging Face model: BERT, ELECTRA, RoBERTa, XLM-R, DistilBERT, ModernBERT, MPNet, DeBERTa, GPT-2, Llama, Qwen2 or Qwen3.

    A model without a classification head opens as an encoder: it has maps, vectors and states, but no classes. Texts are read as by the
    model's own tokenizer: a text that spells a special token, such as [SEP], has this token. In runs trained here it is plain text.

    Args:
        source: a folder, a name on the hub such as ``"user/model"``, or a model of transformers, which is copied and stays as it is.
        tokenizer: the tokenizer of a model that is in memory.
        classes: class names in the model's order; needed if its own are LABEL_0, LABEL_1 and so on.
        head: classifier on the pooled vectors of an encoder: a fitted linear classifier of scikit-learn, a `torch.nn.Linear`, or a file in
            safetensors format; by default model_head.safetensors of the folder, if there is one.
        lexicon, injection: polarities to put into the scores, and how: a key of `sentviz.runs.presets.injections`.
        allow_pickle: also read pickled weights; transformers reads them as plain tensors only.
    Raises:
        RunError: the model is unknown, of another kind, pickled, without tokenizer, or needs its repository's code.
    """
    if isinstance(source, str | Path):
        return opened(source, classes=classes, head=head, allow_pickle=allow_pickle).wrapped(lexicon, injection)
    return copied(source, tokenizer, classes=classes, head=head).wrapped(lexicon, injection)


def short_name(name_or_folder: str | Path) -> str:
    """Return the short name of a model: the last part of its name or folder."""
    return Path(name_or_folder).resolve().name if is_folder(name_or_folder) else str(name_or_folder).rpartition("/")[2]


def opened(
    name_or_folder: str | Path, *, labels: Sequence[str] = (), classes: Sequence[str] = (), head: Any = None, allow_pickle: bool = False
) -> Opened:
    """Read a checkpoint.

    Args:
        labels: classes of a data set, for fine-tuning: the checkpoint gets a new head if its own does not fit them.
        classes, head: as for `load`.
    Raises:
        RunError, InputError: as for `load`.
    """
    source = str(name_or_folder)
    reachable(source)
    register()
    parts = read_sentences(Path(source)) if is_folder(source) else Sentences()
    name = str(Path(source) / parts.body) if parts.body else source
    settings = read_settings(name)
    files = {file.name for place in {source, name} for file in Path(place).iterdir()} if is_folder(source) else None
    kind = checked_kind(short_name(source), settings, files, classifies=not labels and head is None, allow_pickle=allow_pickle)
    has_head = bool(labels) or is_classifier(settings)
    with quiet(), contained(short_name(source)):
        check_configuration(name)
        backend, limit = read_tokenizer(name)
        model, digest = read_model(name, labels, allow_pickle, has_head=has_head)
    assert kind == model.config.model_type
    if not has_head and head is None and is_folder(source):
        head = stored_head(Path(source))
    short, names = short_name(source), labels or classes
    place = short if is_folder(source) else source
    return _assembled(short, model, backend, min(limit, parts.limit), parts, has_head, names, head, source=place, weights=digest)


def copied(model: Any, tokenizer: Any, *, classes: Sequence[str] = (), head: Any = None) -> Opened:
    """Copy a model of transformers that is in memory, with its tokenizer; the model itself is not changed.

    Raises:
        RunError, InputError: as for `load`.
    """
    register()
    kind, config = type(model), getattr(model, "config", None)
    if tokenizer is None:
        raise InputError("A model in memory needs its tokenizer: sentviz.load(model, tokenizer).")
    if not isinstance(model, transformers().PreTrainedModel) or not kind.__module__.startswith("transformers."):
        raise InputError(
            f"{kind.__name__} is not a model class of transformers. Give a function of a list of texts that returns class probabilities."
        )
    assert config is not None
    name = short_name(getattr(config, "_name_or_path", "") or kind.__name__)
    has_head = kind.__name__.endswith(CLASSIFIER)
    checked_kind(name, config.to_dict(), classifies=has_head)
    source = model if has_head else model.base_model
    with quiet():
        check_shape(name, config)
        backend, limit = checked_tokenizer(name, tokenizer)
        try:
            network = auto_class(has_head).from_config(
                copy.deepcopy(config), trust_remote_code=False, attn_implementation=IMPLEMENTATION, dtype=torch.float32
            )
            state = {key: tensor for key, tensor in source.state_dict().items() if has_head or not key.startswith("pooler.")}
            missing, unexpected = network.load_state_dict(state, strict=False)
        except (RuntimeError, ValueError, TypeError) as error:
            raise RunError(f"{name}: its weights do not fit its configuration ({brief(error)}).") from error
    if lost := [*(key for key in missing if has_head or not key.startswith("pooler.")), *unexpected]:
        raise RunError(f"{name}: its weights do not fit its configuration ({lost[0]}).")
    digest = checked_weights(name, {key: tensor for key, tensor in network.state_dict().items() if key in state})
    return _assembled(name, network.eval(), backend, limit, Sentences(), has_head, classes, head, source=name, weights=digest)


def _assembled(
    name: str,
    model: Any,
    backend: Any,
    limit: int,
    parts: Sentences,
    has_head: bool,
    classes: Sequence[str],
    head: Any,
    *,
    source: str,
    weights: str,
) -> Opened:
    """Put a model, its tokenizer, its classes and perhaps a head together.

    Raises:
        RunError: model and tokenizer do not belong together. InputError: the classes have no names, or the head does not fit.
    """
    words = backend.backend_tokenizer
    rows = model.get_input_embeddings().num_embeddings
    if words.get_vocab_size(with_added_tokens=True) > rows:
        raise RunError(f"{name}: its tokenizer knows {words.get_vocab_size():,} tokens, its model {rows:,}; they do not belong together.")
    try:
        tokenizer = PretrainedTokenizer(
            words,
            vocab_size=rows,
            special_ids=backend.all_special_ids,
            unknown=backend.unk_token_id,
            split_special_tokens=bool(backend.split_special_tokens),
            truncation_side=backend.truncation_side,
        )
    except RunError as error:
        raise RunError(f"{name}: {error}") from error
    end, known = tokenizer.specials.stop, ARCHITECTURES[model.config.model_type]
    if known.causal and end >= 0 and end == model.config.pad_token_id:
        raise RunError(f"{name} ends its texts with the token that also fills them up, so its last token is not known.")
    linear: LinearHead | None = None
    if has_head:
        if head is not None:
            raise InputError(f"{name} has a classification head, so it takes no other one.")
        own = tuple(str(model.config.id2label.get(k, "")) for k in range(model.config.num_labels))
        if not all(own) and not classes:
            raise RunError(f"{name}: its labels are not numbered from 0 ({', '.join(map(str, model.config.id2label))}).")
        labels = named(own, classes, name)
    else:
        width = model.config.hidden_size
        linear = parts.empty(width, name) if head is None else parts.with_head(head, width, name)
        if head is None and classes:
            raise InputError(f"{name} has no classification head, so it has no classes to name. Give it a head: head=...")
        labels = named(linear.labels or ("",) * len(linear.weight), classes, name)
    return Opened(name, model, tokenizer, limit, labels, source, weights, linear)
