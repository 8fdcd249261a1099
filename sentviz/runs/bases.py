"""A base: a pretrained encoder, stored once, on which runs are trained as adapters. Needs no torch.

base.json                  settings of the encoder, source, licence, bits, digests of the files below
tokenizer.json
weights-<i>.safetensors    matrices in 8 or 4 bits (`sentviz.models.weights`), all other weights without loss; each file below 50
MB

A base is in the folder `bases` next to the runs (`checkpoints/bases/<name>`), or in a folder that SENTVIZ_MODELS names. Its weights are
rounded before anything is trained on it, so a run computes with the weights on which it was trained.
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

from sentviz.errors import RunError, nearest
from sentviz.io.documents import read_json
from sentviz.io.files import inside
from sentviz.io.typed import fitted
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.run_files import CONFIG_MOST, checked_path
from sentviz.runs.schema import Files
from sentviz.runs.store import BASES, roots

FORMAT = 1
CARD = "base.json"


class Card(TypedDict):
    """base.json."""

    format: int
    name: str
    source: str
    license: str
    remark: str
    weights_sha256: str  # digest of the original file of weights
    bits: int
    settings: dict[str, Any]  # settings of `EncoderConfig`, without classes
    files: Files


@dataclass(frozen=True)
class Base:
    """A stored base. If a file is missing or damaged, every accessor raises an error that names the file and the reason."""

    name: str
    folder: Path

    @cached_property
    def card(self) -> Card:
        """The content of base.json.

        Raises:
            RunError: it is missing or damaged.
        """
        try:
            card: Card = read_json(inside(self.folder, CARD), CONFIG_MOST, CARD)
            fitted(Card, card)
            if card["format"] != FORMAT:
                raise ValueError(f"its format is {card['format']}, this version reads {FORMAT}")
            EncoderConfig(classes=2, **card["settings"])
        except (ValueError, TypeError) as error:
            raise RunError(f"The base {self.name}: {CARD} cannot be read ({str(error).rstrip('.')}).") from error
        return card

    @cached_property
    def digest(self) -> str:
        """Twelve hex digits that change if a weight, the tokenizer or a setting changes, but not if a remark does."""
        decisive = {"settings": self.card["settings"], "files": self.card["files"]}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of `EncoderConfig`, without classes."""
        return dict(self.card["settings"])

    def path(self, file: str) -> Path:
        """Return the path of a file of the base, after checking its digest.

        Raises:
            RunError: the file is missing, or is not the file that was written with this base.
        """
        digest, remedy = self.card["files"].get(file), "; fetch the base again"
        if digest is None:
            raise RunError(f"The base {self.name}: {file} is missing{remedy}.")
        return checked_path(self.folder, file, digest, f"The base {self.name}", CARD, remedy)


def _folders() -> Iterator[Path]:
    """Yield the folders of bases: first that of SENTVIZ_MODELS, then those next to the runs."""
    if named := os.environ.get("SENTVIZ_MODELS"):
        yield Path(named)
    yield from (root / BASES for root in roots())


def bases(root: Path | None = None) -> dict[str, Base]:
    """Return every base by name, by default from all folders. If several folders have a base of one name, the first is used.

    Args:
        root: read only the bases next to the runs of this folder.
    """
    by_name: dict[str, Base] = {}
    for folder in _folders() if root is None else [root / BASES]:
        for path in sorted(folder.glob(f"*/{CARD}")):
            by_name.setdefault(path.parent.name, Base(path.parent.name, path.parent))
    return by_name


def find_base(name: str, digest: str = "") -> Base:
    """Return a base by name.

    Args:
        digest: digest that the base must have; "" = any.
    Raises:
        RunError: there is no such base, or none with this digest.
    """
    same_name = [Base(name, folder / name) for folder in _folders() if Path(name).name == name and (folder / name / CARD).is_file()]
    if not same_name:
        how = "`sentviz runs get` fetches it with its runs, `sentviz base add` makes a base."
        raise RunError(f"The base {name!r} is not installed; {nearest(name, list(bases()))}{how}")
    for base in same_name:
        if digest in ("", base.digest):
            return base
    raise RunError(f"The installed base {name!r} is a different base (digest {same_name[0].digest}, not {digest}).")
