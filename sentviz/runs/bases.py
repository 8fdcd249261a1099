"""A base: a pretrained encoder, stored once, on which runs are adapters. Needs no torch.

base.json                  settings of the encoder, source, licence, bits, digests of the files below
tokenizer.json
weights-<i>.safetensors    matrices in 8 or 4 bits (`sentviz.models.grid`), everything else exactly; each below 50 MB

A base lies in the folder `bases` beside the runs (`checkpoints/bases/<name>`), or in a folder that SENTVIZ_MODELS names. It is rounded
before anything is trained on it, so a run computes with the weights on which it was trained.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

from sentviz.errors import InputError, RunError
from sentviz.io.files import inside, read_regular
from sentviz.runs.schema import fits, fits_files
from sentviz.runs.store import BASES, CONFIG_MOST, hashed, roots

FORMAT = 1
CARD = "base.json"


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
            card = json.loads(read_regular(inside(self.folder, CARD), CONFIG_MOST, CARD))
            fits(card, Card)
            fits_files(card["files"])
            if card["format"] != FORMAT:
                raise ValueError(f"its format is {card['format']}, this version reads {FORMAT}")
        except (ValueError, RecursionError) as error:
            raise RunError(f"The base {self.name}: {CARD} cannot be read ({str(error).rstrip('.')}).") from error
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
        wanted = self.card["files"].get(file)
        if wanted is None:
            raise RunError(f"The base {self.name}: {file} is missing; fetch the base again.")
        try:
            path, digest = hashed(self.folder, file)
        except InputError as error:
            raise RunError(f"The base {self.name}: {str(error).rstrip('.')}; fetch the base again.") from error
        if digest != wanted:
            raise RunError(f"The base {self.name}: {file} is damaged (its digest differs from {CARD}); fetch the base again.")
        return path


def _folders() -> Iterator[Path]:
    """Folders of bases: that of SENTVIZ_MODELS, then those beside the runs."""
    if named := os.environ.get("SENTVIZ_MODELS"):
        yield Path(named)
    yield from (root / BASES for root in roots())


def bases(root: Path | None = None) -> dict[str, Base]:
    """Every base by name, by default of all folders; of several folders of a name the first counts.

    Args:
        root: only the bases beside the runs of this folder.
    """
    found: dict[str, Base] = {}
    for folder in _folders() if root is None else [root / BASES]:
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
    there = [Base(name, folder / name) for folder in _folders() if Path(name).name == name and (folder / name / CARD).is_file()]
    if not there:
        raise RunError(f"The base {name!r} is not here: `sentviz runs get` fetches it with its runs; `sentviz base add` makes one.")
    for base in there:
        if digest in ("", base.digest):
            return base
    raise RunError(f"The base {name!r} here is another one (digest {there[0].digest}, not {digest}).")


def sha256(path: Path) -> str:
    """Hexadecimal digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
