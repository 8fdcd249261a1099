"""A base: a pretrained encoder, stored once, on which runs are adapters.

base.json                  settings of the encoder, source, licence, bits, digests of the files below
tokenizer.json
weights-<i>.safetensors    matrices in 8 or 4 bits (`sentviz.models.pretrained.grid`), everything else exactly; each below 50 MB

A base lies in the folder `bases` beside the runs (`checkpoints/bases/<name>`), or in a folder that SENTVIZ_MODELS names. It is rounded
before anything is trained on it, so a run computes with the weights on which it was trained. Finding a base needs no torch.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from sentviz.atomic import writing
from sentviz.errors import InputError, RunError
from sentviz.runs import BASES, roots
from sentviz.schema import fits

if TYPE_CHECKING:
    from torch import Tensor

    from sentviz.models.pretrained.grid import Coded
    from sentviz.models.pretrained.tokens import PretrainedTokenizer

__all__ = ["Base", "add_base", "bases", "find_base", "source_folder"]

FORMAT = 1
CARD = "base.json"
MOST = 45_000_000  # bytes of a file of weights


class Card(TypedDict):
    """base.json."""

    format: int
    name: str
    source: str
    license: str
    remark: str
    weights_sha256: str  # of the file that was rounded
    bits: int
    settings: dict[str, Any]  # of `EncoderConfig`, without classes
    files: dict[str, str]


@dataclass(frozen=True)
class Base:
    """A base on disk. Reading is strict: every accessor says in one sentence what is wrong with which file."""

    name: str
    folder: Path

    @cached_property
    def card(self) -> Card:
        """base.json as written.

        Raises:
            RunError: it is missing or damaged.
        """
        try:
            card = json.loads((self.folder / CARD).read_text(encoding="utf-8"))
            fits(card, Card)
            if card["format"] != FORMAT:
                raise ValueError(f"its format is {card['format']}, this version reads {FORMAT}")
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"The base {self.name}: {CARD} cannot be read ({error}).") from error
        found: Card = card
        return found

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits that change when a weight, the tokenizer or a setting changes; remarks may be corrected."""
        decisive = {"settings": self.card["settings"], "files": self.card["files"]}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of `EncoderConfig`, without classes."""
        return dict(self.card["settings"])

    def path(self, file: str) -> Path:
        """A file of the base, its digest checked.

        Raises:
            RunError: missing, or not the file that was written with this base.
        """
        path, wanted = self.folder / file, self.card["files"].get(file)
        if wanted is None or not path.is_file():
            raise RunError(f"The base {self.name}: {file} is missing; fetch the base again.")
        if _sha256(path) != wanted:
            raise RunError(f"The base {self.name}: {file} is damaged (its digest differs from {CARD}); fetch the base again.")
        return path

    def tokenizer(self) -> PretrainedTokenizer:
        """Its tokenizer.

        Raises:
            RunError: missing, damaged, or of another vocabulary.
        """
        from sentviz.models.pretrained.tokens import PretrainedTokenizer

        try:
            return PretrainedTokenizer.of_file(self.path("tokenizer.json"), self.card["settings"]["vocab_size"])
        except RunError as error:
            raise error if str(error).startswith("The base") else RunError(f"The base {self.name}: {error}") from error

    def weights(self) -> Iterator[tuple[str, Tensor | Coded]]:
        """Weights by the names of our encoder, one after the other, so that nothing is held twice.

        Raises:
            RunError: a file is missing or damaged.
        """
        from safetensors import SafetensorError, safe_open

        from sentviz.models.pretrained.grid import Coded

        for file in self.card["files"]:
            if not file.endswith(".safetensors"):
                continue
            try:
                with safe_open(self.path(file), framework="pt") as stored:
                    for name in stored.keys():  # noqa: SIM118
                        if name.endswith(".codes"):
                            name = name.removesuffix(".codes")
                            yield name, Coded(stored.get_tensor(f"{name}.codes"), stored.get_tensor(f"{name}.scale"))
                        elif not name.endswith(".scale"):
                            yield name, stored.get_tensor(name).float()
            except (OSError, SafetensorError) as error:
                raise RunError(f"The base {self.name}: {file} cannot be read ({error}).") from error


def _folders() -> Iterator[Path]:
    """Folders of bases: that of SENTVIZ_MODELS, then those beside the runs."""
    if named := os.environ.get("SENTVIZ_MODELS"):
        yield Path(named)
    yield from (root / BASES for root in roots())


def bases() -> dict[str, Base]:
    """Every base by name; of several folders of a name the first counts."""
    found: dict[str, Base] = {}
    for folder in _folders():
        for path in sorted(folder.glob(f"*/{CARD}")):
            found.setdefault(path.parent.name, Base(path.parent.name, path.parent))
    return found


def find_base(name: str, digest: str = "") -> Base:
    """A base by name.

    Args:
        digest: the one that a run names; "" = any.
    Raises:
        RunError: there is no such base, or none with this digest.
    """
    there = [Base(name, folder / name) for folder in _folders() if (folder / name / CARD).is_file()]
    if not there:
        raise RunError(f"The base {name!r} is not here: `sentviz runs get` fetches it with its runs; `sentviz base add` makes one.")
    for base in there:
        if digest in ("", base.digest):
            return base
    raise RunError(f"The base {name!r} here is another one (digest {there[0].digest}, not {digest}).")


def source_folder(named: str | Path) -> Path:
    """A folder in the Hugging Face layout, by its path or by its name below SENTVIZ_MODELS.

    Raises:
        InputError: there is none.
    """
    places = [Path(named), *([Path(os.environ["SENTVIZ_MODELS"]) / named] if os.environ.get("SENTVIZ_MODELS") else [])]
    for place in places:
        if (place / "config.json").is_file():
            return place
    raise InputError(f"There is no pretrained encoder {str(named)!r}: a folder with config.json, or one of those below SENTVIZ_MODELS.")


def add_base(
    folder: str | Path, name: str, out: Path, *, bits: int, pooling: str = "mean", source: str = "", license: str = "", remark: str = ""
) -> Base:
    """Round a pretrained encoder and store it as the base `out/<name>`.

    Args:
        folder: in the Hugging Face layout: config.json, model.safetensors, tokenizer.json; or its name below SENTVIZ_MODELS.
        name: of the base.
        out: a folder of bases.
        bits: 8, with one scale per row, or 4, with one per 32 weights.
        pooling: what a classifier on it reads: "mean" over the tokens, or "cls", the first one.
        source, license, remark: where it comes from, under which licence, and what else there is to say.
    Raises:
        RunError: a file is missing or damaged, or the encoder is none that ours computes. InputError: bits or pooling that do not exist.
    """
    from safetensors.torch import save_file

    from sentviz.models.pretrained.checkpoint import read_checkpoint
    from sentviz.models.pretrained.grid import code, exact
    from sentviz.models.pretrained.tokens import PretrainedTokenizer
    from sentviz.shapes import EncoderConfig

    if not name or Path(name).name != name or name.startswith("."):
        raise InputError(f"A base cannot be called {name!r}; give it one word.")
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
            "weights_sha256": _sha256(folder / "model.safetensors"),
            "bits": bits,
            "settings": settings,
            "files": {path.name: _sha256(path) for path in sorted(fresh.iterdir())},
        }
        (fresh / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Base(name, out / name)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
