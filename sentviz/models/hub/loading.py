"""Load Hugging Face models by name or folder. Only safetensors are read by default, and a repository's code is never run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from sentviz.errors import InputError, RunError
from sentviz.io.paths import is_path
from sentviz.models.hub.encoder import ARCHITECTURES, IMPLEMENTATION, HubEncoder, register, transformers
from sentviz.models.hub.model import LONGEST, HubModel, check_sizes, fuse, injected, shape
from sentviz.models.pretrained.checkpoint import TIMEOUT, brief, readable, unreachable
from sentviz.models.pretrained.tokens import PretrainedTokenizer

if TYPE_CHECKING:
    from sentviz.data.lexicon import Lexicon

PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")


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

    def wrapped(self, lexicon: Lexicon | None, injection: str, **changes: Any) -> HubModel:
        """Return the checkpoint as a model of the library, with or without an injection.

        Raises:
            InputError: an injection without a lexicon, or a lexicon without an injection.
            RunError: the configuration is invalid.
        """
        settings = injected(injection)
        if injection and lexicon is None:
            raise InputError(f"{injection} injects a lexicon, but no lexicon is given.")
        if lexicon is not None and not injection:
            raise InputError("A lexicon needs an injection, last-scaled for example.")
        try:
            encoder = HubEncoder(shape(self.model.config, self.tokenizer_limit, **settings, **changes), self.model)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise _no_model(self.name, error) from error
        if lexicon is not None:
            fuse(encoder, self.tokenizer, lexicon)
        return HubModel(self.name, encoder, self.tokenizer, self.labels)


def load(name_or_folder: str | Path, *, lexicon: Lexicon | None = None, injection: str = "", allow_pickle: bool = False) -> HubModel:
    """Load a Hugging Face sequence classifier: BERT, ELECTRA, RoBERTa, XLM-R, DistilBERT or ModernBERT.

    Args:
        name_or_folder: a folder, or a name on the hub such as ``"user/model"``.
        lexicon, injection: polarities to put into the scores, and how: a key of `sentviz.runs.presets.injections`.
        allow_pickle: also read pickled weights; transformers reads them as plain tensors only.
    Raises:
        RunError: the model is unknown, of another kind, pickled, without classification head or tokenizer, or needs its repository's code.
        InputError: the injection does not exist, or has no lexicon.
    """
    return opened(name_or_folder, allow_pickle=allow_pickle).wrapped(lexicon, injection)


def short_name(name_or_folder: str | Path) -> str:
    """Return the short name of a model: the last part of its name or folder."""
    return Path(name_or_folder).resolve().name if _is_folder(name_or_folder) else str(name_or_folder).rpartition("/")[2]


def opened(name_or_folder: str | Path, *, labels: Sequence[str] = (), allow_pickle: bool = False) -> Opened:
    """Read a checkpoint. With `labels` it gets a new head if its own does not fit them, for fine-tuning.

    Raises:
        RunError: as for `load`.
    """
    name = str(name_or_folder)
    reachable(name)
    register()
    kind = _checked(name, _settings(name), classifies=not labels)
    with _quiet():
        _configured(name)
        backend, limit = _tokenizer(name)
        model, digest = _model(name, labels, allow_pickle)
    words = backend.backend_tokenizer
    rows = model.get_input_embeddings().num_embeddings
    if words.get_vocab_size(with_added_tokens=True) > rows:
        raise RunError(f"{name}: its tokenizer knows {words.get_vocab_size():,} tokens, its model {rows:,}; they do not belong together.")
    try:
        tokenizer = PretrainedTokenizer(words, vocab_size=rows, special_ids=backend.all_special_ids, unknown=backend.unk_token_id)
    except RunError as error:
        raise RunError(f"{name}: {error}") from error
    class_names = tuple(str(model.config.id2label.get(k, "")) for k in range(model.config.num_labels))
    if not all(class_names):
        raise RunError(f"{name}: its labels are not numbered from 0 ({', '.join(map(str, model.config.id2label))}).")
    if len(set(class_names)) < len(class_names):
        raise RunError(f"{name}: two of its labels have the same name ({', '.join(class_names)}).")
    assert kind == model.config.model_type
    short = short_name(name)
    return Opened(short, model, tokenizer, limit, class_names, source=short if _is_folder(name) else name, weights=digest)


def _is_folder(name: str | Path) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # too long for a path
        return False


def reachable(name_or_folder: str | Path) -> None:
    """Check, before anything is loaded, that a name leads to a model. The hub is asked once; transformers would retry for half a minute.

    Raises:
        RunError: a path without a folder, a folder without config.json, or a name that the hub does not have or does not give now.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

    name = str(name_or_folder)
    if _is_folder(name):
        try:
            readable(Path(name))
        except InputError as error:
            raise RunError(f"{name}: {error}") from error
        if not (Path(name) / "config.json").is_file():
            raise RunError(f"{name} is not a Hugging Face model: config.json is missing.")
        return
    if is_path(name):
        raise RunError(f"There is no folder {name}.")
    try:
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=TIMEOUT)
    except Exception as error:  # the hub cannot be used, for many possible reasons
        raise RunError(unreachable(name, error)) from error


def _settings(name: str) -> dict[str, Any]:
    """Return the content of config.json, without running code of the repository."""
    try:
        with _quiet():
            settings, _ = transformers().PreTrainedConfig.get_config_dict(name)
        return dict(settings)
    except Exception as error:  # the file may hold anything
        raise RunError(unreachable(name, error)) from error


def _configured(name: str) -> None:
    """Check the configuration with transformers and with our own rules before the rest of the model is read."""
    try:
        shape(transformers().AutoConfig.from_pretrained(name, trust_remote_code=False), LONGEST)
    except Exception as error:  # transformers has many error types
        raise _no_model(name, error) from error


def _no_model(name: str, error: BaseException) -> RunError:
    return RunError(f"{name}: config.json describes a model that cannot be read ({brief(error)}).")


def _checked(name: str, settings: dict[str, Any], *, classifies: bool) -> str:
    """Return the model's kind, after checking that it can be read."""
    readable = ", ".join(dict.fromkeys(known.title for known in ARCHITECTURES.values()))
    kind = str(settings.get("model_type", ""))
    if settings.get("auto_map"):
        raise RunError(f"{name} needs code of its repository, which is never run here. Models that can be read: {readable}.")
    if kind not in ARCHITECTURES:
        raise RunError(f"{name} is a model of the kind {kind or 'unknown'!r}, which cannot be read. Kinds that can be read: {readable}.")
    try:
        check_sizes(settings)
    except ValueError as error:
        raise _no_model(name, error) from error
    if settings.get("is_decoder") or settings.get("is_encoder_decoder"):
        raise RunError(f"{name} is a decoder: it reads from left to right.")
    if classifies and settings.get("problem_type") in ("regression", "multi_label_classification"):
        raise RunError(f"{name} does not choose one of several labels (it was trained for {settings['problem_type'].replace('_', ' ')}).")
    return kind


def _tokenizer(name: str) -> tuple[Any, int]:
    try:
        tokenizer = transformers().AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        limit = min(int(tokenizer.model_max_length), 1 << 30)
    except Exception as error:  # the tokenizers library raises bare Exception
        raise RunError(f"{name} has no tokenizer that can be read ({brief(error)}).") from error
    if not getattr(tokenizer, "is_fast", False):
        raise RunError(f"{name} has no fast tokenizer (tokenizer.json), which is needed to find the characters of each token.")
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise RunError(f"{name} has no tokenizer: tokenizer.json or its vocabulary is missing.")
    return tokenizer, limit


def _model(name: str, labels: Sequence[str], allow_pickle: bool) -> tuple[Any, str]:
    """Return the model in single precision and a digest of its weights. Only the weights of a new head are not from the checkpoint."""
    head: dict[str, Any] = {}
    if labels:
        head = {"id2label": dict(enumerate(labels)), "label2id": {label: k for k, label in enumerate(labels)}}
        head |= {"num_labels": len(labels), "problem_type": "single_label_classification", "ignore_mismatched_sizes": True}
    try:
        model, info = transformers().AutoModelForSequenceClassification.from_pretrained(
            name,
            attn_implementation=IMPLEMENTATION,
            dtype=torch.float32,
            trust_remote_code=False,
            use_safetensors=None if allow_pickle else True,
            output_loading_info=True,
            **head,
        )
    except OSError as error:
        raise RunError(_no_weights(name, error, allow_pickle)) from error
    except Exception as error:  # safetensors and torch have error types of their own
        raise RunError(f"{name}: its weights cannot be read ({brief(error)}).") from error
    known, layers = ARCHITECTURES[model.config.model_type], model.config.num_hidden_layers
    lost = sorted({*info["missing_keys"], *(entry[0] for entry in info["mismatched_keys"])})
    body = tuple(f"{model.base_model_prefix}.{part}" for part in ("embeddings.", *map(known.layer.format, range(layers))))
    if broken := [key for key in lost if key.startswith(body)]:
        raise RunError(f"{name}: its weights do not fit its configuration ({broken[0]} is missing or of another shape).")
    if lost and not labels:
        raise RunError(f"{name} has no classification head ({lost[0]} is not in its weights); `sentviz train` with --hub gives it one.")
    if not labels and model.config.num_labels < 2:
        raise RunError(f"{name} has one output, a score, but a text needs at least two classes.")
    state = {key: tensor for key, tensor in model.state_dict().items() if key not in lost}
    if broken := [key for key, tensor in state.items() if not torch.isfinite(tensor).all()]:
        raise RunError(f"{name}: its weights hold values that are not numbers ({broken[0]}).")
    return model, _digest(state)


def _digest(state: Mapping[str, torch.Tensor]) -> str:
    seen = hashlib.sha256()
    for key in sorted(state):
        seen.update(key.encode() + b"\0")
        seen.update(state[key].contiguous().numpy().reshape(-1).view("uint8").data)
    return seen.hexdigest()[:12]


def _no_weights(name: str, error: BaseException, allow_pickle: bool) -> str:
    if _is_folder(name):
        pickled = any((Path(name) / file).is_file() for file in PICKLES)
    else:
        from huggingface_hub import file_exists

        try:
            pickled = any(file_exists(name, file) for file in PICKLES)
        except Exception:  # the hub cannot be used, for many possible reasons
            return unreachable(name, error)
    if pickled and not allow_pickle:
        return f"{name} has pickled weights only, which can hide code; save it as safetensors, or allow pickle if you trust its author."
    return f"{name} has no weights: model.safetensors is missing."


@contextmanager
def _quiet() -> Iterator[None]:
    """Switch off reports and progress bars of transformers; everything important in them is checked here."""
    logging = transformers().utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
