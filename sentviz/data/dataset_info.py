"""Descriptions of data sets: parts, splits, licences, sources and files on the public hub.

`datasets.toml` describes the known data sets, a file ``dataset.toml`` next to the parts each data set of the user.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from sentviz.errors import InputError
from sentviz.io.documents import read_toml
from sentviz.io.typed import fitted

MINE = "mine"  # first part of the names of the user's own data sets
CARD = "dataset.toml"  # description of a data set of the user, next to its parts

Kind = Literal["classification", "regression", "lexicon"]


@dataclass(frozen=True)
class Part:
    """One file of a data set."""

    rows: int
    sha256: str = ""  # digest of the file's bytes, as used for the papers' runs
    content: str = ""  # digest of the rows (`sentviz.data.datasets.content`), equal for any file format; "" if no other copy is known
    counts: tuple[int, ...] = ()  # rows per label; set if `content` is set


@dataclass(frozen=True)
class HubFile:
    """Location of one part on the public hub, and the mapping from its columns to ours."""

    path: str
    repo: str
    revision: str
    text: str = "text"
    text_pair: str = ""
    label: str = "label"
    labels: tuple[int, ...] = ()  # our label for each of the hub's labels; empty if both are the same
    id: str = "{row}"  # a column name, or a pattern that contains the row number
    strip: bool = False  # strip outer white space and write line ends as \n
    without: str = ""  # rows with exactly this text or second text are left out
    checked: bool = True  # repository and path were confirmed by a public source


@dataclass(frozen=True)
class Hub:
    """The parts of a data set that the public hub has."""

    files: Mapping[str, HubFile]  # part name -> file
    why: str = ""  # reason why parts are missing there, as half a sentence
    megabytes: float = 0.0  # approximate size of the download


@dataclass(frozen=True)
class Cut:
    """Some parts, joined, and the splits they are divided into. A part may belong to another data set, for example ``"sst5/dev"``.

    Rows of the split "" are left out. With `even`, each label keeps as many rows as the rarest label has; the rows are drawn at random.
    If several cuts fill one split, the data set is a mixture: its row ids begin with the name of the data set that they come from.
    """

    parts: tuple[str, ...]
    into: Mapping[str, int]  # split name -> number of rows
    relabel: tuple[int, ...] = ()  # our label for each label of the parts, possibly LEFT_OUT or MIDDLE; empty = labels are unchanged
    even: bool = False


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set, whether or not its files are installed."""

    name: str
    title: str
    language: str  # "en" or "ko"
    kind: Kind
    labels: tuple[str, ...]  # names of the classes 0..K-1; empty for regression and lexicons
    pair: bool  # rows have a second text, `text_pair`
    licence: str
    citation: str
    source: str  # public repository@commit; several are separated by "; "
    remark: str
    parts: Mapping[str, Part]
    cuts: tuple[Cut, ...]
    hub: Hub
    maker: str = (
        ""  # "package.module:function" that generates the rows, with the part's name as argument if there are several; no file needed
    )
    short: str = ""  # title in a list of runs; "" = the name
    cleaning: str = ""  # key of `sentviz.data.cleaning.CLEANINGS`: rows that it makes empty are dropped; "" = only blank rows are dropped

    @property
    def splits(self) -> dict[str, int]:
        """Rows of every split that `load_split` returns; empty for lexicons."""
        rows_of: dict[str, int] = {}
        for cut in self.cuts:
            for split, rows in cut.into.items():
                if split:
                    rows_of[split] = rows_of.get(split, 0) + rows
        return rows_of

    def needed(self, split: str = "") -> tuple[str, ...]:
        """Return the parts that a split is cut from, by default the parts of all splits; for a lexicon, all parts."""
        cuts = [cut for cut in self.cuts if split in ("", *cut.into)]
        return tuple(dict.fromkeys(part for cut in cuts for part in cut.parts)) or tuple(self.parts)

    @property
    def sources(self) -> str:
        """The first public source, and the number of further ones."""
        first, *more = self.source.split("; ")
        return f"{first} and {len(more)} more in datasets.toml" if more else first


def origin(name: str, part: str) -> tuple[str, str]:
    """Return the data set that a part of `name` belongs to, and the part's name there."""
    owner, _, own = part.rpartition("/")
    return owner or name, own


def read_descriptions() -> dict[str, DatasetInfo]:
    """Return the descriptions in `datasets.toml` by name."""
    stored = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
    return {name: _info(name, **entry) for name, entry in stored.items()}


def read_own(folder: Path) -> dict[str, DatasetInfo | InputError]:
    """Return the descriptions of the user's own data sets in a folder of data sets by name; for a damaged one, the error."""
    cards = sorted((folder / MINE).glob(f"[!.]*/{CARD}"))
    return {f"{MINE}/{path.parent.name}": _own(path, path.stat().st_mtime_ns) for path in cards if path.is_file()}


@lru_cache(maxsize=256)
def _own(path: Path, stamp: int) -> DatasetInfo | InputError:
    """Return one of them. Cached until the file changes."""
    name = f"{MINE}/{path.parent.name}"
    try:
        return _info(name, **read_toml(path, 1 << 20, CARD))
    except (ValueError, TypeError, AttributeError) as error:
        return InputError(f"The data set {name} is damaged: {CARD} cannot be read ({str(error).rstrip('.')}). Add its file again.")


def _info(name: str, hub: Any = None, **entry: Any) -> DatasetInfo:
    """Return a description. The settings in the table of the hub, beside its files, hold for each file."""
    own = dict(hub) if isinstance(hub, dict) else {}
    files, rest = own.pop("files", {}), {key: own.pop(key) for key in ("why", "megabytes") if key in own}
    on_hub = {"files": {part: own | file for part, file in files.items()}, **rest}
    return fitted(DatasetInfo, {"name": name, "parts": {}, "cuts": [], "hub": on_hub, **entry})
