"""Store a pretrained encoder as a base (`sentviz.runs.bases`), and read its tokenizer and weights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.errors import InputError, RunError
from sentviz.io.files import sha256, writing
from sentviz.runs.bases import CARD, FORMAT, Base, Card

if TYPE_CHECKING:
    from torch import Tensor

    from sentviz.models.grid import Coded
    from sentviz.models.pretrained.tokens import PretrainedTokenizer

MOST = 45_000_000  # maximum bytes of a file of weights


def tokenizer_of(base: Base) -> PretrainedTokenizer:
    """Return the tokenizer of a base.

    Raises:
        RunError: it is missing or damaged, or has another vocabulary.
    """
    from sentviz.models.pretrained.tokens import PretrainedTokenizer

    try:
        return PretrainedTokenizer.of_file(base.path("tokenizer.json"), base.card["settings"]["vocab_size"])
    except RunError as error:
        raise error if str(error).startswith("The base") else RunError(f"The base {base.name}: {error}") from error


def weights_of(base: Base) -> Iterator[tuple[str, Tensor | Coded]]:
    """Yield the weights by the names of our encoder, one at a time, so that no weight is in memory twice.

    Raises:
        RunError: a file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open

    from sentviz.models.grid import Coded

    for file in base.card["files"]:
        if not file.endswith(".safetensors"):
            continue
        try:
            with safe_open(base.path(file), framework="pt") as stored:
                for name in stored.keys():  # noqa: SIM118
                    if name.endswith(".codes"):
                        name = name.removesuffix(".codes")
                        yield name, Coded(stored.get_tensor(f"{name}.codes"), stored.get_tensor(f"{name}.scale"))
                    elif not name.endswith(".scale"):
                        yield name, stored.get_tensor(name).float()
        except (OSError, SafetensorError) as error:
            raise RunError(f"The base {base.name}: {file} cannot be read ({error}).") from error


def source_folder(name: str | Path) -> Path:
    """Return a folder in the Hugging Face layout, given by its path or by its name below SENTVIZ_MODELS.

    Raises:
        InputError: there is no such folder with a config.json.
    """
    places = [Path(name), *([Path(os.environ["SENTVIZ_MODELS"]) / name] if os.environ.get("SENTVIZ_MODELS") else [])]
    for place in places:
        if (place / "config.json").is_file():
            return place
    raise InputError(f"There is no pretrained encoder {str(name)!r}. Name a folder with config.json, or one below SENTVIZ_MODELS.")


def add_base(
    folder: str | Path, name: str, out: Path, *, bits: int, pooling: str = "mean", source: str = "", license: str = "", remark: str = ""
) -> Base:
    """Round a pretrained encoder and store it as the base `out/<name>`.

    Args:
        folder: a folder in the Hugging Face layout (config.json, model.safetensors, tokenizer.json), or its name below SENTVIZ_MODELS.
        name: name of the base.
        out: folder of bases.
        bits: 8, with one scale per row, or 4, with one scale per 32 weights.
        pooling: input of a classifier on the base: "mean" over the tokens, or "cls", the first token.
        source, license, remark: origin, licence and further remarks.
    Raises:
        RunError: a file is missing or damaged, or our encoder cannot compute this one. InputError: bits or pooling are invalid.
    """
    from safetensors.torch import save_file

    from sentviz.models.grid import code, exact
    from sentviz.models.pretrained.checkpoint import read_checkpoint
    from sentviz.models.pretrained.tokens import PretrainedTokenizer
    from sentviz.runs.configs import EncoderConfig

    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"A base cannot be called {name!r}. Its name must be a file name that does not begin with a dot.")
    folder = source_folder(folder)
    read = read_checkpoint(folder)
    settings = read.settings | {"key_width": read.settings["width"], "pooling": pooling}
    try:
        EncoderConfig(classes=2, **settings)
    except ValueError as error:
        raise InputError(f"{folder.name} cannot be a base: {error}") from error
    tokenizer = PretrainedTokenizer.of_file(read.tokenizer, settings["vocab_size"])
    parts: list[dict[str, Tensor]] = [{}]
    room = MOST
    for weight, tensor in read.weights.items():
        coded = tensor.ndim == 2 and weight.endswith(".weight") and weight != "segment.weight"
        stored = code(tensor, bits).stored(weight) if coded else {weight: exact(tensor)}
        size = sum(each.nbytes for each in stored.values())
        if size > room and parts[-1]:
            parts.append({})
            room = MOST
        room -= size
        parts[-1] |= {key: each.contiguous() for key, each in stored.items()}
    with writing(out / name) as fresh:
        tokenizer.save(fresh / "tokenizer.json")
        for i, part in enumerate(parts, start=1):
            save_file(part, path := fresh / f"weights-{i}.safetensors")
            path.chmod(0o644)
        card: Card = {
            "format": FORMAT,
            "name": name,
            "source": source or folder.name,
            "license": license,
            "remark": remark,
            "weights_sha256": sha256(folder / "model.safetensors"),
            "bits": bits,
            "settings": settings,
            "files": {path.name: sha256(path) for path in sorted(fresh.iterdir())},
        }
        (fresh / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Base(name, out / name)
