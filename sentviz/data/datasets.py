"""The data sets that sentviz knows, and the papers' splits of them.

Files are read from ``<root>/<name>/<part>.parquet``; ``sentviz.data.fetch.hub`` puts them there. What is known of each set (labels,
licence, source, checksums, how splits are cut, where a public hub has it) stands in ``datasets.toml``.
"""

from __future__ import annotations

import hashlib
import json
import os
import pkgutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.data.cleaning import cleaned
from sentviz.data.tokenizers import is_blank
from sentviz.errors import DataMissingError, InputError, SentvizError
from sentviz.io.paths import home

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["classification", "regression", "lexicon"]
LEFT_OUT, MIDDLE = -1, -2  # labels of rows that are not taken, and that are between the classes
_SEED = 0


@dataclass(frozen=True)
class Part:
    """One file of a data set."""

    rows: int
    sha256: str = ""  # of the file as it lies in the folder of the papers' runs
    content: str = ""  # `content` of its rows, whatever the file's bytes; empty where no other copy is known
    counts: tuple[int, ...] = ()  # rows of each label, with `content`


@dataclass(frozen=True)
class HubFile:
    """Where the public hub has one part, and how its columns become ours."""

    path: str
    repo: str
    revision: str
    text: str = "text"
    text_pair: str = ""
    label: str = "label"
    labels: tuple[int, ...] = ()  # our label for each of the hub's; empty where they are the same
    id: str = "{row}"  # a column, or a pattern of the row's number
    strip: bool = False  # outer white space away, line ends as \n
    without: str = ""  # rows are left out that have this text on either side
    checked: bool = True  # whether repository and path were seen in public sources


@dataclass(frozen=True)
class Hub:
    """What the public hub has of a data set."""

    files: Mapping[str, HubFile]  # by part
    why: str = ""  # why parts are missing there; a half sentence
    megabytes: float = 0.0  # to download, about


@dataclass(frozen=True)
class Cut:
    """Some parts, joined, and the splits they are divided into. A part may be another data set's, as in ``"sst5/dev"``.

    Rows of the split "" are left out. With `even` only as many rows of each label are taken, drawn at random, as the rarest has.
    Where several cuts go into one split, it is a mixture: the ids of its rows begin with the data set that they are from.
    """

    parts: tuple[str, ...]
    into: Mapping[str, int]  # split -> rows
    relabel: tuple[int, ...] = ()  # our label for each of those that the parts have, LEFT_OUT and MIDDLE too; empty = as they are
    even: bool = False


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set, whether or not its files are here."""

    name: str
    title: str
    language: str  # "en" or "ko"
    kind: Kind
    labels: tuple[str, ...]  # names of the classes 0..K-1; empty for regression and lexicons
    pair: bool  # whether rows have a text_pair
    licence: str
    citation: str
    source: str  # public repository@commit, several separated by "; "
    remark: str
    parts: Mapping[str, Part]
    cuts: tuple[Cut, ...]
    hub: Hub
    made: str = ""  # "package.module:function" that makes the rows of its one part, or of the part it is given; it needs no file then
    cleaning: str = ""  # one of sentviz.data.cleaning, of which something has to be left of a row; "" = anything that can be seen will do

    @property
    def splits(self) -> dict[str, int]:
        """Rows of every split that `load_split` gives; empty for lexicons."""
        found: dict[str, int] = {}
        for cut in self.cuts:
            for split, rows in ((split, rows) for split, rows in cut.into.items() if split):
                found[split] = found.get(split, 0) + rows
        return found

    def needed(self, split: str = "") -> tuple[str, ...]:
        """The parts that a split is cut from, by default those of all splits; all parts of a lexicon. `known` finds a part by its name."""
        cuts = [cut for cut in self.cuts if split in ("", *cut.into)]
        return tuple(dict.fromkeys(part for cut in cuts for part in cut.parts)) or tuple(self.parts)

    def missing(self, split: str = "") -> tuple[str, ...]:
        """The needed parts that are not on this machine."""
        return tuple(part for part in self.needed(split) if not is_available(self.name, part))

    @property
    def sources(self) -> str:
        """Its public sources in words: the first, and how many more there are."""
        first, *more = self.source.split("; ")
        return f"{first} and {len(more)} more in datasets.toml" if more else first

    @property
    def available(self) -> bool:
        """Whether its needed files are on this machine."""
        return not self.missing()


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of one split, ready for use."""

    name: str
    split: str
    frame: pd.DataFrame  # id (str, unique within the data set), text, [text_pair], label (int64, MIDDLE in train, or float64 similarity)
    labels: tuple[str, ...]
    dropped: int  # rows without a text to read in the files the split is cut from; they are in none of its splits
    digest: str  # 12 hex digits of the ids and labels in their order

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def sources(self) -> npt.NDArray[np.str_]:
        """(n,) the data set that each row of a mixture is from; else all alike, empty."""
        return np.array([key.partition("/")[0] if "/" in key else "" for key in self.frame["id"]], dtype=np.str_)


# ---- registry ------------------------------------------------------------------------------------------------------


def info(name: str) -> DatasetInfo:
    """What is known of the data set `name`.

    Raises:
        InputError: there is no such data set; the message lists the known ones.
    """
    registry = _registry()
    if name not in registry:
        raise InputError(f"There is no data set {name!r}; known are {', '.join(registry)}.")
    return registry[name]


def datasets() -> pd.DataFrame:
    """All data sets, a row each: name, title, language, kind, labels and splits (as text), available (bool)."""
    import pandas as pd

    return pd.DataFrame(
        {
            "name": item.name,
            "title": item.title,
            "language": item.language,
            "kind": item.kind,
            "labels": ", ".join(item.labels),
            "splits": ", ".join(f"{split} {rows:,}" for split, rows in item.splits.items()),
            "available": item.available,
        }
        for item in _registry().values()
    )


@cache
def _registry() -> Mapping[str, DatasetInfo]:
    stored = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: _info(name, **entry) for name, entry in stored.items()}


def _cut() -> frozenset[tuple[str, str]]:
    """The files that splits are cut from, each by the data set that has it and its part; others are side tables."""
    items = _registry().values()
    return frozenset(origin(item.name, part) for item in items for cut in item.cuts for part in cut.parts)


def _info(
    name: str,
    labels: list[str],
    parts: dict[str, dict[str, Any]] | None = None,
    cuts: list[dict[str, Any]] | None = None,
    hub: dict[str, Any] | None = None,
    **rest: Any,
) -> DatasetInfo:
    return DatasetInfo(
        name=name,
        labels=tuple(labels),
        parts={part: Part(**_fixed(entry)) for part, entry in (parts or {}).items()},
        cuts=tuple(Cut(**_fixed(cut)) for cut in cuts or ()),
        hub=_hub(**hub or {}),
        **rest,
    )


def _hub(files: dict[str, dict[str, Any]] | None = None, why: str = "", megabytes: float = 0.0, **shared: Any) -> Hub:
    return Hub({part: HubFile(**_fixed(shared | entry)) for part, entry in (files or {}).items()}, why, megabytes)


def _fixed(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


# ---- files ---------------------------------------------------------------------------------------------------------


def folders() -> list[Path]:
    """The folders searched, in order: ``$SENTVIZ_DATA`` if set, then ``data`` in the user's cache, where downloads go."""
    given = os.environ.get("SENTVIZ_DATA")
    return [*([Path(given)] if given else []), home() / "data"]


def origin(name: str, part: str) -> tuple[str, str]:
    """The data set that a part of `name` belongs to, and the part's name there."""
    other, _, own = part.rpartition("/")
    return other or name, own


def known(name: str, part: str) -> Part:
    """What is known of one part of a data set, or of a data set that it is made of, as in ``known("sst5_trees", "sst5/dev")``.

    Raises:
        InputError: there is no such data set or part.
    """
    name, part = origin(name, part)
    if part not in (parts := info(name).parts):
        raise InputError(f"The data set {name} has no part {part!r}; it has {', '.join(parts) or 'none of its own'}.")
    return parts[part]


def where(name: str, part: str) -> Path | None:
    """The file of one part; None where it is not on this machine."""
    name, part = origin(name, part)
    return next((path for root in folders() if (path := root / name / f"{part}.parquet").is_file()), None)


def is_available(name: str, part: str) -> bool:
    """Whether the rows of one part can be had on this machine."""
    return bool(info(origin(name, part)[0]).made) or where(name, part) is not None


def require(name: str) -> None:
    """Refuse to go on without the files of a data set.

    Raises:
        InputError: there is no such data set.
        DataMissingError: one of its files is not on this machine; the message says how to get it.
    """
    for part in info(name).missing():
        _path(*origin(name, part))


def load_file(name: str, part: str) -> pd.DataFrame:
    """One file as it was released: id, text, [text_pair], label; every column of lexicons and side tables.

    Ids are strings, unique within the data set: where the file's own do not begin with its name, it goes before them,
    as in ``"train-123"``. Empty texts are kept.

    Raises:
        InputError: there is no such data set or part.
        DataMissingError: the file is not on this machine or cannot be read; the message says how to get it.
    """
    import pandas as pd
    import pyarrow

    name, part = origin(name, part)
    item = info(name)
    if item.made:
        return with_row_names(pkgutil.resolve_name(item.made)(*[part] * (len(item.parts) > 1)), part)
    path = _path(name, part)
    if (name, part) not in _cut():
        columns, types = None, {}
    else:
        columns = ["id", "text", *(["text_pair"] if item.pair else []), "label"]
        types = {"id": "str", "label": "float64" if item.kind == "regression" else "int64"}
    try:
        frame = pd.read_parquet(path, columns=columns).astype(types)
        if types and frame.isna().to_numpy().any():
            raise ValueError("missing values")
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise DataMissingError(f"{path} is damaged or incomplete; {_remedy(item, part)}.") from error
    return with_row_names(frame, part) if types else frame


def with_row_names(frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """The frame with ids that begin with the name of their part."""
    prefix = f"{part}-"
    return frame.assign(id=[key if key.startswith(prefix) else prefix + key for key in frame["id"]])


def content(frame: pd.DataFrame) -> str:
    """SHA-256 of the rows of one part in their order, as 64 hex digits; the same for every file that holds the same rows.

    Each row is hashed as the UTF-8 JSON array ``[id, text, label]``, with a text_pair ``[id, text, text_pair, label]``, and
    a line feed: non-ASCII characters as they are, ``", "`` between the elements, ids as `load_file` gives them, similarities
    rounded to three decimals. Order and ids count because splits and the runs' stored predictions refer to them.
    """
    columns = [column for column in ("id", "text", "text_pair", "label") if column in frame]
    rows = frame[columns].assign(label=frame["label"].round(3))
    whole = hashlib.sha256()
    for row in zip(*(rows[column].tolist() for column in columns), strict=True):
        whole.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return whole.hexdigest()


def digest(name: str, part: str) -> str:
    """SHA-256 of the file on this machine, as 64 hex digits.

    Raises:
        InputError: there is no such data set or part.
        DataMissingError: the file is not on this machine.
    """
    with _path(name, part).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(name: str) -> None:
    """Compare every file of a data set with what is known: its checksum, else its rows.

    Side tables that are not here are passed over.

    Raises:
        InputError: there is no such data set.
        DataMissingError: a file is not on this machine, or is not the known one.
    """
    item = info(name)
    for other in sorted({origin(name, part)[0] for part in item.needed()} - {name}):
        verify(other)
    for part, expected in item.parts.items():
        if part not in item.needed() and not is_available(name, part):
            continue
        if not item.made and digest(name, part) == expected.sha256:
            continue
        if expected.content and content(load_file(name, part)) == expected.content:
            continue
        what = "makes other rows than those known" if item.made else f"is not the known file (its SHA-256 differs); {_remedy(item, part)}"
        raise DataMissingError(f"{item.made or _path(name, part)} {what}.")


def _path(name: str, part: str) -> Path:
    known(name, part)
    if (path := where(name, part)) is None:
        raise DataMissingError(f"The data set {name} is not on this machine: {_remedy(info(name), part)}.")
    return path


def _remedy(item: DatasetInfo, part: str) -> str:
    get = f", or run `sentviz data get {item.name}`" if part in item.hub.files else ""
    return f"set SENTVIZ_DATA to a folder that holds {item.name}/{part}.parquet (public source: {item.sources}){get}"


# ---- splits --------------------------------------------------------------------------------------------------------


def load_split(name: str, split: str) -> Split:
    """One split as the papers use it, the same rows in the same order every time.

    Classification splits cut from shared files are stratified by label. Train is shuffled; other splits keep the order
    of their files. Cuts that are sentviz's own are said in the data set's ``remark``.

    Args:
        name: data set.
        split: ``"train"``, ``"validation"``, ``"test"``, where the data set has it; sst2 and sentiment140 also ``"official_test"``.
    Raises:
        InputError: there is no such data set or split.
        DataMissingError: a file is not on this machine or cannot be read.
        SentvizError: the files do not hold what they should (rows, labels, unique ids).
    """
    import pandas as pd

    item = info(name)
    found = [_rows(item, cut, split) for cut in item.cuts if split in cut.into and split]
    if not found:
        raise InputError(f"The data set {name} has no split {split!r}; it has {', '.join(item.splits) or 'none'}.")
    frame = pd.concat([rows for rows, _ in found], ignore_index=True) if len(found) > 1 else found[0][0]
    if not frame["id"].is_unique:
        raise SentvizError(f"{name} would hold the same id twice; {_remedy(item, item.needed()[0])}.")
    return Split(name, split, frame, item.labels, sum(dropped for _, dropped in found), _mark(frame))


def _rows(item: DatasetInfo, cut: Cut, split: str) -> tuple[pd.DataFrame, int]:
    """What one cut gives to a split, and how many rows without a text its parts have."""
    import pandas as pd

    mixture = sum(split in other.into for other in item.cuts) > 1
    whole = pd.concat([_file(item, part, mixture) for part in cut.parts], ignore_index=True)
    seen = ~whole["text"].map(is_blank)
    if item.pair:
        seen &= ~whole["text_pair"].map(is_blank)
    if item.cleaning:
        seen &= whole["text"].map(lambda text: bool(cleaned(text, item.cleaning)))
    frame = whole[seen].reset_index(drop=True)
    if cut.relabel:
        frame = frame.assign(label=np.array(cut.relabel, dtype=np.int64)[frame["label"]])
        frame = frame[frame["label"] != LEFT_OUT].reset_index(drop=True)
    if cut.even:
        kept = _even(frame["label"].to_numpy(), np.random.default_rng(_SEED))
        frame = frame.iloc[kept].reset_index(drop=True)
    _check(item, cut, frame)

    rng = np.random.default_rng(_SEED)
    rows = np.arange(len(frame))
    if len(cut.into) > 1:
        sizes = list(cut.into.values())
        rows = stratified(frame["label"].to_numpy(), sizes, rng)[list(cut.into).index(split)]
    if split == "train":
        rows = rng.permutation(rows)
    return frame.iloc[rows].reset_index(drop=True), int((~seen).sum())


def _even(labels: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Ascending row numbers, as many of each label as the rarest has."""
    pools = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    return np.sort(np.concatenate([pool[: min(map(len, pools))] for pool in pools]))


def _file(item: DatasetInfo, part: str, mixture: bool) -> pd.DataFrame:
    frame = load_file(item.name, part)
    return frame.assign(id=f"{origin(item.name, part)[0]}/" + frame["id"]) if mixture else frame


def fewer(split: Split, rows: int) -> Split:
    """The first rows of a split in its order, as many of each class: what is fewer is part of what is more.

    Raises:
        InputError: a class has not so many, or the classes cannot have as many each.
    """
    each, rest = divmod(rows, len(split.labels))
    kept = split.frame[(split.frame["label"] >= 0) & (split.frame.groupby("label").cumcount() < each)].reset_index(drop=True)
    if rest or len(kept) < rows:
        counts = ", ".join(f"{count:,}" for count in split.frame["label"].value_counts(sort=False).sort_index())
        raise InputError(f"{rows:,} rows, as many of each class, cannot be taken from the {split.split} split of {split.name} ({counts}).")
    return replace(split, frame=kept, digest=_mark(kept))


def _mark(frame: pd.DataFrame) -> str:
    lines = "".join(f"{key}\t{label}\n" for key, label in zip(frame["id"], frame["label"], strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


def stratified(labels: npt.NDArray[np.integer[Any]], sizes: list[int], rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Row numbers of disjoint random parts of exactly the given sizes, each with the labels' proportions.

    Shares are rounded by largest remainder: of any label, the k-th part holds its exact share up to less than k rows.

    Args:
        labels: (n,) one label per row.
        sizes: rows of each part, n altogether.
        rng: where the randomness comes from.
    Returns:
        Ascending row numbers of each part.
    Raises:
        SentvizError: the sizes do not add up to n.
    """
    if sum(sizes) != len(labels):
        raise SentvizError(f"Parts of {sum(sizes):,} rows altogether cannot be cut from {len(labels):,} rows.")
    pools = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    parts = []
    for size in sizes:
        left = np.array([len(pool) for pool in pools])
        shares = left * size / max(left.sum(), 1)
        counts = shares.astype(np.int64)
        short = size - counts.sum()
        counts[np.argsort(counts - shares, kind="stable")[:short]] += 1
        parts.append(np.sort(np.concatenate([pool[:count] for pool, count in zip(pools, counts, strict=True)])))
        pools = [pool[count:] for pool, count in zip(pools, counts, strict=True)]
    return parts


def _check(item: DatasetInfo, cut: Cut, frame: pd.DataFrame) -> None:
    files = " and ".join("/".join(origin(item.name, part)) + ".parquet" for part in cut.parts)
    if len(frame) != (expected := sum(cut.into.values())):
        raise SentvizError(f"{files} should hold {expected:,} texts, not {len(frame):,}; {_remedy(item, cut.parts[0])}.")
    if item.labels and not frame["label"].isin({*range(len(item.labels)), *({MIDDLE} & {*cut.relabel})}).all():
        raise SentvizError(f"{files} holds labels other than 0 to {len(item.labels) - 1}; {_remedy(item, cut.parts[0])}.")
    if not frame["id"].is_unique:
        raise SentvizError(f"{files} holds the same id twice; {_remedy(item, cut.parts[0])}.")
