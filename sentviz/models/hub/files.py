"""Read and check the files of a Hugging Face model. A repository's code is never run."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sentviz.errors import InputError, RunError
from sentviz.io.files import is_path
from sentviz.io.lazy import torch
from sentviz.models.folder import ONE_OUTPUT, PICKLES, no_weights, refusal
from sentviz.models.hub.encoder import IMPLEMENTATION, transformers
from sentviz.models.hub.model import LONGEST, shape
from sentviz.models.pretrained.checkpoint import TIMEOUT, brief, readable, unreachable


def is_folder(name: str | Path) -> bool:
    """Return whether a name is that of a folder."""
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
    if is_folder(name):
        try:
            readable(Path(name))
        except InputError as error:
            raise RunError(f"{name}: {error}") from error
        if not any((Path(name) / file).is_file() for file in ("config.json", "modules.json")):
            raise RunError(f"{name} is not a Hugging Face model: config.json is missing.")
        return
    if is_path(name):
        raise RunError(f"There is no folder {name}.")
    try:
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            get_hf_file_metadata(hf_hub_url(name, "config.json"), timeout=TIMEOUT)
    except Exception as error:  # the hub cannot be used, for many possible reasons
        raise RunError(unreachable(name, error)) from error


def read_settings(name: str) -> dict[str, Any]:
    """Return the content of config.json, without running code of the repository."""
    try:
        with quiet():
            settings, _ = transformers().PreTrainedConfig.get_config_dict(name)
        return dict(settings)
    except Exception as error:  # the file may hold anything
        raise RunError(unreachable(name, error)) from error


def check_configuration(name: str) -> None:
    """Check the configuration with transformers and with our own rules before the rest of the model is read."""
    try:
        config = transformers().AutoConfig.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # transformers has many error types
        raise no_model(name, error) from error
    check_shape(name, config)


def check_shape(name: str, config: Any) -> None:
    """Check a configuration of transformers with our own rules.

    Raises:
        RunError: a number is missing or invalid.
    """
    try:
        shape(config, LONGEST)
    except Exception as error:  # attributes of any type
        raise no_model(name, error) from error


def no_model(name: str, error: BaseException) -> RunError:
    """Return the error for a configuration from which no model can be made."""
    return RunError(f"{name}: config.json describes a model that cannot be read ({brief(error)}).")


def checked_kind(
    name: str, settings: dict[str, Any], files: Collection[str] | None = None, *, classifies: bool, allow_pickle: bool = False
) -> str:
    """Return the model's kind, after checking with `refusal` that nothing speaks against it.

    Raises:
        RunError: something does.
    """
    if why := refusal(name, settings, files, classifies=classifies, allow_pickle=allow_pickle):
        raise RunError(why)
    return str(settings["model_type"])


def read_tokenizer(name: str) -> tuple[Any, int]:
    """Return the tokenizer of a model and its maximum number of tokens.

    Raises:
        RunError: it is missing, damaged, or has no fast form.
    """
    try:
        tokenizer = transformers().AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception as error:  # the tokenizers library raises bare Exception
        raise RunError(f"{name} has no tokenizer that can be read ({brief(error)}).") from error
    return checked_tokenizer(name, tokenizer)


def checked_tokenizer(name: str, tokenizer: Any) -> tuple[Any, int]:
    """Return a tokenizer and its maximum number of tokens.

    Raises:
        RunError: it has no fast form, or no vocabulary.
    """
    try:
        limit = min(int(tokenizer.model_max_length), 1 << 30)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise RunError(f"{name} has no tokenizer that can be read ({brief(error)}).") from error
    if not getattr(tokenizer, "is_fast", False):
        raise RunError(f"{name} has no fast tokenizer (tokenizer.json), which is needed to find the characters of each token.")
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        raise RunError(f"{name} has no tokenizer: tokenizer.json or its vocabulary is missing.")
    return tokenizer, limit


def auto_class(has_head: bool) -> Any:
    """Return the class of transformers that makes models with or without a classification head."""
    return transformers().AutoModelForSequenceClassification if has_head else transformers().AutoModel


def read_model(name: str, labels: Sequence[str], allow_pickle: bool, *, has_head: bool) -> tuple[Any, str]:
    """Return the model in single precision and a digest of its weights. Only the weights of a new head are not from the checkpoint."""
    head: dict[str, Any] = {}
    if labels:
        head = {"id2label": dict(enumerate(labels)), "label2id": {label: k for k, label in enumerate(labels)}}
        head |= {"num_labels": len(labels), "problem_type": "single_label_classification", "ignore_mismatched_sizes": True}
    try:
        model, info = auto_class(has_head).from_pretrained(
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
    lost = sorted({*info["missing_keys"], *(entry[0] for entry in info["mismatched_keys"])})
    prefix = f"{model.base_model_prefix}." if has_head else ""
    if broken := [key for key in lost if key.startswith(prefix) and not key.startswith(f"{prefix}pooler.")]:
        raise RunError(f"{name}: its weights do not fit its configuration ({broken[0]} is missing or of another shape).")
    if lost and has_head and not labels:
        raise RunError(f"{name} has no classification head ({lost[0]} is not in its weights); `sentviz train` with --hub gives it one.")
    if has_head and not labels and model.config.num_labels < 2:
        raise RunError(ONE_OUTPUT.format(name))
    return model, checked_weights(name, {key: tensor for key, tensor in model.state_dict().items() if key not in lost})


def checked_weights(name: str, state: Mapping[str, torch.Tensor]) -> str:
    """Return a digest of weights.

    Raises:
        RunError: a weight is not a number.
    """
    if broken := [key for key, tensor in state.items() if not torch.isfinite(tensor).all()]:
        raise RunError(f"{name}: its weights hold values that are not numbers ({broken[0]}).")
    return _digest(state)


def _digest(state: Mapping[str, torch.Tensor]) -> str:
    seen = hashlib.sha256()
    for key in sorted(state):
        seen.update(key.encode() + b"\0")
        seen.update(state[key].contiguous().numpy().reshape(-1).view("uint8").data)
    return seen.hexdigest()[:12]


def _no_weights(name: str, error: BaseException, allow_pickle: bool) -> str:
    if is_folder(name):
        pickled = any((Path(name) / file).is_file() for file in PICKLES)
    else:
        from huggingface_hub import file_exists

        try:
            pickled = any(file_exists(name, file) for file in PICKLES)
        except Exception:  # the hub cannot be used, for many possible reasons
            return unreachable(name, error)
    return no_weights(name, pickled and not allow_pickle)


@contextmanager
def quiet() -> Iterator[None]:
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
