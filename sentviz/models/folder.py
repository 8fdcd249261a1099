"""What a model's folder says about itself, without torch and before anything of it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentviz.errors import InputError
from sentviz.io.documents import read_json
from sentviz.runs.store import CONFIG_MOST

CLASSIFIER = "ForSequenceClassification"  # ending of the names of transformers' classes with a classification head


@dataclass(frozen=True)
class ModelFolder:
    """A folder in the layout of Hugging Face or sentence-transformers."""

    path: Path
    kind: str  # for example "bert"; "" = its configuration is in a folder of its own
    layers: int  # 0 = unknown
    classes: tuple[str, ...]  # names in the folder; () = it has none
    megabytes: float  # size of all files

    @property
    def is_unnamed(self) -> bool:
        """Return whether the names of the classes say nothing, as LABEL_0 does."""
        return all(name.upper() == f"LABEL_{k}" for k, name in enumerate(self.classes))

    def __str__(self) -> str:
        """Return a sentence on the model."""
        what = ", ".join(filter(None, (self.kind, f"{self.layers} layers" if self.layers else "", f"{self.megabytes:,.1f} MB")))
        classes = f"classes {', '.join(self.classes)}" if self.classes else "no names of classes"
        return f"{self.path.name}: {what}; {classes}."


def look_at(folder: str | Path) -> ModelFolder:
    """Return what a model's folder says about itself.

    Raises:
        InputError: there is no such folder, or it is not that of a model.
    """
    path = Path(folder).expanduser()
    try:
        if not path.is_dir():
            raise InputError(f"There is no folder {folder}.")
        config = _json(path, "config.json", dict)
        if (config is None or "model_type" not in config or "format" in config) and _json(path, "modules.json", list) is None:
            raise InputError(f"{path.name} is not the folder of a Hugging Face model: it has no config.json with a model_type.")
        size = sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    except (OSError, ValueError) as error:
        raise InputError(f"The folder {folder} cannot be read ({error}).") from error
    settings = config or {}
    labels = (_json(path, "config_setfit.json", dict) or {}).get("labels")
    if not isinstance(labels, list):
        labels = _classes(settings)
    layers = next((settings[name] for name in ("num_hidden_layers", "n_layer", "n_layers") if isinstance(settings.get(name), int)), 0)
    return ModelFolder(path.resolve(), str(settings.get("model_type", "")), layers, tuple(map(str, labels)), size / 1e6)


def is_model_folder(name: str | Path) -> bool:
    """Return whether a name is that of a folder in the layout of Hugging Face or sentence-transformers, and not of a run."""
    try:
        look_at(name)
    except InputError:
        return False
    return True


def _classes(settings: dict[str, Any]) -> list[Any]:
    """Return the names of the classes of a classifier's configuration. transformers leaves out LABEL_0 and LABEL_1."""
    if not any(str(kind).endswith(CLASSIFIER) for kind in settings.get("architectures") or ()):
        return []
    named = settings.get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    return [named[key] for key in sorted(named, key=_number)] if isinstance(named, dict) else []


def _number(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdecimal() else (1 << 30, key)


def _json(folder: Path, file: str, kind: type[Any]) -> Any:
    """Return the content of a file; None if there is no such file, or it holds something else."""
    if not (folder / file).is_file():
        return None
    try:
        content = read_json(folder / file, CONFIG_MOST, file)
    except InputError:
        return None
    return content if isinstance(content, kind) else None
