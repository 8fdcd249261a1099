"""What a model's folder says about itself and why it cannot be opened, without torch and before anything of it is loaded."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.errors import InputError
from sentviz.io.documents import parse_json, read_json
from sentviz.io.files import read_regular
from sentviz.io.typed import short
from sentviz.models.architectures import ARCHITECTURES
from sentviz.runs.configs import LISTED
from sentviz.runs.run_files import CONFIG_MOST
from sentviz.runs.schema import LABELS

CLASSIFIER = "ForSequenceClassification"  # ending of the names of transformers' classes with a classification head
HEAD, PICKLED = "model_head.safetensors", "model_head.pkl"  # files of a head on the vectors of an encoder
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
WORDS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "spm.model", "sentencepiece.bpe.model", "tokenizer.model")
MOST = {"num_labels": LABELS} | dict.fromkeys(("num_hidden_layers", "n_layers"), LISTED)
SHOWN = 20  # class names of a folder that are shown
TYPES: dict[str, type] = {"model_type": str, "architectures": list, "id2label": dict, "num_labels": int, "problem_type": str}

ONE_OUTPUT = "{} has one output, a score, but a text needs at least two classes."
NO_HEAD = "{} has no classification head. sentviz.load opens it as an encoder; a run needs classes: give it a head."


@dataclass(frozen=True)
class ModelFolder:
    """A folder in the layout of Hugging Face or sentence-transformers."""

    path: Path
    kind: str  # for example "bert"; "" = its configuration is damaged or in a folder of its own
    layers: int  # 0 = unknown
    classes: tuple[str, ...]  # names in the folder; () = it has none
    megabytes: float  # size of all files
    has_head: bool  # it predicts classes
    refused: str = ""  # why it cannot be opened, as one sentence; "" = nothing speaks against it
    is_damaged: bool = False  # its configuration cannot be read

    @property
    def is_unnamed(self) -> bool:
        """Return whether the names of the classes say nothing, as LABEL_0 does."""
        return all(name.upper() == f"LABEL_{k}" for k, name in enumerate(self.classes))

    @property
    def no_run(self) -> str:
        """Return why no run can be made of it, as one sentence; "" if nothing speaks against it."""
        return self.refused or ("" if self.has_head else NO_HEAD.format(self.path.name))

    def __str__(self) -> str:
        """Return a sentence on the model."""
        what = ", ".join(filter(None, (self.kind, f"{self.layers} layers" if self.layers else "", f"{self.megabytes:,.1f} MB")))
        named = [name if len(name) <= 40 else f"{name[:39]}…" for name in self.classes[:SHOWN]] + ["…"] * (len(self.classes) > SHOWN)
        classes = f"classes {', '.join(named)}" if named else "no names of classes"
        return f"{self.path.name}: {what}; {classes}."


def look_at(folder: str | Path) -> ModelFolder:
    """Return what a model's folder says about itself. A damaged folder of a model is one that is refused."""
    path = Path(folder).expanduser()
    try:
        if not path.is_dir():
            raise InputError(f"There is no folder {folder}.")
        path = path.resolve()
        files = {file.name: file.stat().st_size for file in path.iterdir() if file.is_file()}
        settings, labels, damage = _read(path, files)
        if not damage and "modules.json" not in files and ("model_type" not in settings or "format" in settings):
            raise InputError(f"{path.name} is not the folder of a Hugging Face model: it has no config.json with a model_type.")
        body = _body(path)
        if body != path:
            settings = _table(body, "config.json")
        inside = {*files, *(file.name for file in body.iterdir())}
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The folder {folder} cannot be read ({error}).") from error
    refused = damage or refusal(path.name, settings, inside)
    has_head = is_classifier(settings) or HEAD in files
    layers = next((n for name in ("num_hidden_layers", "n_layer", "n_layers") if type(n := settings.get(name)) is int), 0)
    kind, size = settings.get("model_type", ""), sum(files.values()) / 1e6
    kind = kind[:40] if isinstance(kind, str) else ""
    return ModelFolder(path, kind, layers if 0 < layers < 1 << 24 else 0, labels, size, has_head, refused, bool(damage))


def is_model_folder(name: str | Path) -> bool:
    """Return whether a name is that of a folder in the layout of Hugging Face or sentence-transformers, and not of a run."""
    try:
        return not look_at(name).is_damaged
    except InputError:
        return False


def model_folders(root: str | Path) -> list[Path]:
    """Return the folders of models in a folder, also damaged ones, by name."""
    folders = []
    try:
        inner = sorted(Path(root).iterdir())
    except OSError:
        return []
    for folder in inner:
        try:
            look_at(folder)
        except InputError:
            continue
        folders.append(folder)
    return folders


# ---- reasons


def refusal(
    name: str,
    settings: Mapping[str, Any],
    files: Collection[str] | None = None,
    *,
    classifies: bool = True,
    allow_pickle: bool = False,
) -> str:
    """Return why a model cannot be opened, as one sentence; "" if nothing in its configuration or its files speaks against it.

    Args:
        settings: content of config.json. files: names of the files in its folder; None = unknown.
        classifies: False if the model gets a new head.
        allow_pickle: accept pickled weights.
    """
    for key, wanted in TYPES.items():
        value = settings.get(key)
        if value is not None and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
            what = {str: "a text", list: "a list", dict: "a table", int: "a number"}[wanted]
            return f"{name}: config.json is damaged: {key} must be {what}, not {short(value)}."
    if odd := [key for key in settings.get("id2label") or () if not str(key).isdecimal() or len(str(key)) > 9]:
        return f"{name}: config.json is damaged: id2label must number the labels from 0, but it names {short(odd[0])}."
    known = ", ".join(dict.fromkeys(each.title for each in ARCHITECTURES.values()))
    kind = settings.get("model_type") or ""
    if settings.get("auto_map"):
        return f"{name} needs code of its repository, which is never run here. Models that can be read: {known}."
    if kind not in ARCHITECTURES:
        return f"{name} is a model of the kind {short(kind or 'unknown')}, which cannot be read. Kinds that can be read: {known}."
    try:
        check_sizes(settings)
    except ValueError as error:
        return f"{name}: config.json describes a model that cannot be read ({error})."
    if (settings.get("is_decoder") and not ARCHITECTURES[kind].causal) or settings.get("is_encoder_decoder"):
        return f"{name} is a decoder: it reads from left to right."
    if classifies and (problem := _other_problem(settings)):
        return f"{name} does not choose one of several labels (it was trained for {problem})."
    if classifies and is_classifier(settings) and _outputs(settings) == 1:
        return ONE_OUTPUT.format(name)
    return "" if files is None else _missing(name, settings, files, classifies, allow_pickle)


def _missing(name: str, settings: Mapping[str, Any], files: Collection[str], classifies: bool, allow_pickle: bool) -> str:
    """Return which file is missing, as one sentence."""
    has_pickles = any(file in files for file in PICKLES)
    has_weights = any(file.endswith((".safetensors", ".safetensors.index.json")) and file != HEAD for file in files)
    if not (has_weights or (has_pickles and allow_pickle)):
        return no_weights(name, has_pickles)
    if not any(file in files for file in WORDS):
        return f"{name} has no tokenizer: tokenizer.json or its vocabulary is missing."
    if classifies and not is_classifier(settings) and PICKLED in files and HEAD not in files:
        return (
            f"{name} has its classifier in {PICKLED}, a pickle, which can run code when it is read, so it is not read."
            f" Give the classifier as an object, head=..., or store its weight and bias in {HEAD}."
        )
    return ""


def no_weights(name: str, has_pickles: bool) -> str:
    """Return the sentence for a model without weights that are read."""
    if has_pickles:
        return f"{name} has pickled weights only, which can hide code; save it as safetensors, or allow pickle if you trust its author."
    return f"{name} has no weights: model.safetensors is missing."


def is_classifier(settings: Mapping[str, Any]) -> bool:
    """Return whether a configuration is that of a model with a classification head; so is one that does not say it."""
    kinds = settings.get("architectures")
    return not kinds or (isinstance(kinds, list) and any(str(kind).endswith(CLASSIFIER) for kind in kinds))


def check_sizes(settings: Mapping[str, Any]) -> None:
    """Check the numbers of a configuration before transformers allocates lists and tables of these sizes.

    Raises:
        ValueError: a number is too large for any model.
    """
    for name, value in settings.items():
        most = MOST.get(name, 1 << 24)
        if isinstance(value, int) and abs(value) > most:
            raise ValueError(f"{name} must be at most {most:,}, not {short(value)}")


def _other_problem(settings: Mapping[str, Any]) -> str:
    """Return for what a head was trained if it does not choose one class; "" if its configuration does not say so."""
    problem = settings.get("problem_type")
    if problem in ("regression", "multi_label_classification"):
        return str(problem).replace("_", " ")
    more = settings.get("sentence_transformers")
    functions = [settings.get("function_to_apply"), settings.get("sbert_ce_default_activation_function")]
    functions += [more.get("activation_fn")] if isinstance(more, dict) else []
    is_sigmoid = any(str(each).rpartition(".")[2].lower() == "sigmoid" for each in functions)
    return "multi label classification, with a sigmoid for each label" if is_sigmoid else ""


def _outputs(settings: Mapping[str, Any]) -> int:
    """Return the number of outputs that a configuration names; transformers leaves out two classes without names."""
    named = settings.get("id2label")
    return len(named) if isinstance(named, dict) else settings.get("num_labels") or 2


# ---- files


def _read(path: Path, files: Collection[str]) -> tuple[dict[str, Any], tuple[str, ...], str]:
    """Return the content of config.json, the class names, and what cannot be read, as one sentence."""
    settings: dict[str, Any] = {}
    try:
        if "config.json" in files:
            settings = _table(path, "config.json")
        labels = _table(path, "config_setfit.json").get("labels") if "config_setfit.json" in files else None
    except InputError as error:
        return settings, (), str(error)
    if not isinstance(labels, list):
        labels = _classes(settings)
    return settings, tuple(map(str, labels)), ""


def _classes(settings: dict[str, Any]) -> list[Any]:
    """Return the names of the classes of a classifier's configuration. transformers leaves out LABEL_0 and LABEL_1."""
    if not settings.get("architectures") or not is_classifier(settings):
        return []
    named = settings.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    return [named[key] for key in sorted(named, key=_number)] if isinstance(named, dict) else []


def _number(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdecimal() and len(key) < 10 else (1 << 30, key)


def _body(path: Path) -> Path:
    """Return the folder of the encoder inside a folder of sentence-transformers; the folder itself if it names no other one."""
    try:
        modules = read_json(path / "modules.json", CONFIG_MOST, "modules.json")
        inner = str(modules[0].get("path", ""))
    except (InputError, LookupError, TypeError, AttributeError):
        return path
    body = path / inner
    return body if ".." not in inner and body.is_relative_to(path) and (body / "config.json").is_file() else path


def _table(folder: Path, file: str) -> dict[str, Any]:
    """Return the content of a JSON file. A byte order mark is refused, because transformers cannot read the folder then."""
    try:
        data = read_regular(folder / file, CONFIG_MOST, file)
        if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise InputError(f"{file} begins with a byte order mark. Save it as UTF-8 without one.")
        content = parse_json(data, file)
    except InputError as error:
        raise InputError(f"{folder.name}: {error}") from error
    if not isinstance(content, dict):
        raise InputError(f"{folder.name}: {file} is not a table.")
    return content
