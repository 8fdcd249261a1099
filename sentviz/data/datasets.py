"""Read the data sets that sentviz knows, the papers' splits of them, and the user's own data sets.

Files are read from ``<root>/<name>/<part>.parquet``; `sentviz.data.fetch.hub` downloads known ones there, `sentviz.data.user_datasets`
stores those of the user under names that begin with ``mine/``. `sentviz.data.dataset_info` describes each data set.
"""

from __future__ import annotations

import hashlib
import json
import os
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.data.cleaning import cleaned
from sentviz.data.columns import PREFIX
from sentviz.data.dataset_info import MINE, Cut, DatasetInfo, Part, origin, read_descriptions, read_own
from sentviz.data.texts import is_blank
from sentviz.errors import DataMissingError, InputError, SentvizError, nearest
from sentviz.io.files import home, sha256
from sentviz.io.lazy import pd

LEFT_OUT, MIDDLE = -1, -2  # labels of rows that are left out, and of rows between the classes
_SEED = 0


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of one split."""

    name: str
    split: str
    frame: pd.DataFrame  # id (str, unique within the data set), text, [text_pair], label (int64, MIDDLE in train, or float64 similarity)
    labels: tuple[str, ...]
    dropped: int  # blank rows in the files that the split is cut from; no split contains them
    digest: str  # 12 hex digits of the ids and labels, in order

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def sources(self) -> npt.NDArray[np.str_]:
        """(n,) name of the data set that each row of a mixture comes from; empty strings if the data set is not a mixture."""
        return np.array([key.partition("/")[0] if "/" in key else "" for key in self.frame["id"]], dtype=np.str_)


# ---- registry ------------------------------------------------------------------------------------------------------


def info(name: str) -> DatasetInfo:
    """Return the description of the data set `name`."""
    if (item := _registry().get(name)) is not None:
        return item
    own = _own()
    match own.get(name):
        case DatasetInfo() as item:
            return item
        case InputError() as error:
            raise error
        case None:
            known = [*_registry(), *own]
            raise InputError(f"There is no data set {name!r}; {nearest(name, known)}`sentviz data list` lists all {len(known)}.")


def is_own(name: str) -> bool:
    """Return whether a name is that of a data set of the user, installed or not."""
    return name.startswith(f"{MINE}/")


def run_group(name: str) -> str:
    """Return the first part of the names of runs on a data set: its name, without ``mine/``."""
    return name.removeprefix(f"{MINE}/")


def datasets() -> pd.DataFrame:
    """Return a table with one data set per row: name, title, language, kind, labels and splits (as text), available (bool)."""
    return pd.DataFrame(
        {
            "name": item.name,
            "title": item.title,
            "language": item.language,
            "kind": item.kind,
            "labels": ", ".join(item.labels),
            "splits": ", ".join(f"{split} {rows:,}" for split, rows in item.splits.items()),
            "available": not missing_parts(item),
        }
        for item in (*_registry().values(), *(item for item in _own().values() if isinstance(item, DatasetInfo)))
    )


@cache
def _registry() -> Mapping[str, DatasetInfo]:
    return read_descriptions()


def _own() -> dict[str, DatasetInfo | InputError]:
    """Return the user's data sets by name; the first folder that has a name decides."""
    return {name: item for folder in reversed(folders()) for name, item in read_own(folder).items()}


def _cut() -> frozenset[tuple[str, str]]:
    """Return the files that splits are cut from, each as (data set, part); all other files are side tables."""
    items = (*_registry().values(), *(item for item in _own().values() if isinstance(item, DatasetInfo)))
    return frozenset(origin(item.name, part) for item in items for cut in item.cuts for part in cut.parts)


# ---- files ---------------------------------------------------------------------------------------------------------


def folders() -> list[Path]:
    """Return the searched folders, in order: ``$SENTVIZ_DATA`` if set, then ``data`` in the user's cache, the target of downloads."""
    named = os.environ.get("SENTVIZ_DATA")
    return [*([Path(named)] if named else []), home() / "data"]


def part_info(name: str, part: str) -> Part:
    """Return the description of one part; the part may belong to another data set, as in ``known("sst5_trees", "sst5/dev")``."""
    name, part = origin(name, part)
    if part not in (parts := info(name).parts):
        raise InputError(f"The data set {name} has no part {part!r}; its parts are: {', '.join(parts) or 'none'}.")
    return parts[part]


def part_file(name: str, part: str) -> Path | None:
    """Return the file of one part; None if it is not installed."""
    name, part = origin(name, part)
    return next((path for root in folders() if (path := root / name / f"{part}.parquet").is_file()), None)


def is_available(name: str, part: str) -> bool:
    """Return whether the rows of one part can be loaded on this machine."""
    return bool(info(origin(name, part)[0]).maker) or part_file(name, part) is not None


def missing_parts(item: DatasetInfo, split: str = "") -> tuple[str, ...]:
    """Return the parts that a split needs, by default all splits, and that are not installed."""
    return tuple(part for part in item.needed(split) if not is_available(item.name, part))


def require(name: str) -> None:
    """Check that the files of a data set are installed.

    Raises:
        DataMissingError: a file is not installed; the message says how to get it.
    """
    for part in missing_parts(info(name)):
        _path(*origin(name, part))


def load_file(name: str, part: str) -> pd.DataFrame:
    """Return one file as it was released: id, text, [text_pair], label, [own:NAME]; for lexicons and side tables, every column.

    Ids are strings, unique within the data set: the name of the part is put before an id that does not begin with it, as in
    ``"train-123"``. Empty texts are included.

    Raises:
        DataMissingError: the file is not installed or cannot be read; the message says how to get it.
    """
    import pyarrow
    import pyarrow.parquet

    name, part = origin(name, part)
    item = info(name)
    if item.maker:
        return with_row_names(pkgutil.resolve_name(item.maker)(*[part] * (len(item.parts) > 1)), part)
    path = _path(name, part)
    if (name, part) not in _cut():
        columns, types = None, {}
    else:
        columns = ["id", "text", *(["text_pair"] if item.pair else []), "label"]
        types = {"id": "str", "label": "float64" if item.kind == "regression" else "int64"}
    try:
        own = [each for each in pyarrow.parquet.read_schema(path).names if each.startswith(PREFIX)] if types else []
        frame = pd.read_parquet(path, columns=[*columns, *own] if columns else None).astype(types)
        if columns and frame[columns].isna().to_numpy().any():
            raise ValueError("missing values")
    except (OSError, ValueError, TypeError, pyarrow.ArrowException) as error:
        raise DataMissingError(f"{path} is damaged or incomplete; {_remedy(item, part)}.") from error
    return with_row_names(frame, part) if types else frame


def with_row_names(frame: pd.DataFrame, part: str) -> pd.DataFrame:
    """Return the frame with ids that begin with the name of their part."""
    prefix = f"{part}-"
    return frame.assign(id=[key if key.startswith(prefix) else prefix + key for key in frame["id"]])


def content(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the rows of one part, as 64 hex digits: equal for every file with the same rows in the same order.

    Each row is hashed as the UTF-8 JSON array ``[id, text, label]`` (with a second text: ``[id, text, text_pair, label]``) and a line feed.
    Non-ASCII characters are not escaped, ``", "`` separates the elements, ids are those of `load_file`, similarities are rounded to three
    decimals. Order and ids are included because splits and the runs' stored predictions refer to them.
    """
    columns = [column for column in ("id", "text", "text_pair", "label") if column in frame]
    rows = frame[columns].assign(label=frame["label"].round(3))
    hashed = hashlib.sha256()
    for row in zip(*(rows[column].tolist() for column in columns), strict=True):
        hashed.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return hashed.hexdigest()


def digest(name: str, part: str) -> str:
    """Return the SHA-256 of an installed file, as 64 hex digits.

    Raises:
        DataMissingError: the file is not installed.
    """
    return sha256(_path(name, part))


def verify(name: str) -> None:
    """Check the SHA-256 of every file of a data set or, if it differs, the digest of the file's rows.

    Side tables that are not installed are skipped.

    Raises:
        DataMissingError: a file is not installed, or neither its bytes nor its rows are the known ones.
    """
    item = info(name)
    for owner in sorted({origin(name, part)[0] for part in item.needed()} - {name}):
        verify(owner)
    for part, expected in item.parts.items():
        if part not in item.needed() and not is_available(name, part):
            continue
        if not item.maker and digest(name, part) == expected.sha256:
            continue
        if expected.content and content(load_file(name, part)) == expected.content:
            continue
        fault = (
            "makes other rows than the known ones" if item.maker else f"is not the known file (its SHA-256 differs); {_remedy(item, part)}"
        )
        raise DataMissingError(f"{item.maker or _path(name, part)} {fault}.")


def _path(name: str, part: str) -> Path:
    part_info(name, part)
    if (path := part_file(name, part)) is None:
        raise DataMissingError(f"The data set {name} is not on this machine: {_remedy(info(name), part)}.")
    return path


def _remedy(item: DatasetInfo, part: str) -> str:
    if is_own(item.name):
        return f"add its file {item.source} again: `sentviz data add {item.source} --name {run_group(item.name)} --replace`"
    get = f", or run `sentviz data get {item.name}`" if part in item.hub.files else ""
    return f"set SENTVIZ_DATA to a folder that holds {item.name}/{part}.parquet (public source: {item.sources}){get}"


# ---- splits --------------------------------------------------------------------------------------------------------


def load_split(name: str, split: str) -> Split:
    """Return one split as the papers use it: always the same rows in the same order.

    Classification splits that share files are stratified by label. Train is shuffled; other splits keep the order of their files. The
    data set's ``remark`` says which splits are our own.

    Args:
        split: ``"train"``, ``"validation"`` or ``"test"``, if the data set has it; for sst2 and sentiment140 also ``"official_test"``.
    Raises:
        DataMissingError: a file is not installed or cannot be read.
        SentvizError: the files do not have the expected rows, labels or unique ids.
    """
    item = info(name)
    parts = [_rows(item, cut, split) for cut in item.cuts if split in cut.into and split]
    if not parts:
        raise InputError(f"The data set {name} has no split {split!r}; it has {', '.join(item.splits) or 'none'}.")
    frame = pd.concat([rows for rows, _ in parts], ignore_index=True) if len(parts) > 1 else parts[0][0]
    if not frame["id"].is_unique:
        raise SentvizError(f"{name} would hold the same id twice; {_remedy(item, item.needed()[0])}.")
    return Split(name, split, frame, item.labels, sum(dropped for _, dropped in parts), _mark(frame))


def _rows(item: DatasetInfo, cut: Cut, split: str) -> tuple[pd.DataFrame, int]:
    """Return the rows that one cut gives to a split, and the number of blank rows in the cut's parts."""
    mixture = sum(split in each.into for each in item.cuts) > 1
    rows = pd.concat([_file(item, part, mixture) for part in cut.parts], ignore_index=True)
    seen = ~rows["text"].map(is_blank)
    if item.pair:
        seen &= ~rows["text_pair"].map(is_blank)
    if item.cleaning:
        seen &= rows["text"].map(lambda text: bool(cleaned(text, item.cleaning)))
    frame = rows[seen].reset_index(drop=True)
    if cut.relabel:
        frame = frame.assign(label=np.array(cut.relabel, dtype=np.int64)[frame["label"]])
        frame = frame[frame["label"] != LEFT_OUT].reset_index(drop=True)
    if cut.even:
        frame = frame.iloc[_even(frame["label"].to_numpy(), np.random.default_rng(_SEED))].reset_index(drop=True)
    _check(item, cut, frame)

    rng = np.random.default_rng(_SEED)
    indices = np.arange(len(frame))
    if len(cut.into) > 1:
        sizes = list(cut.into.values())
        indices = stratified(frame["label"].to_numpy(), sizes, rng)[list(cut.into).index(split)]
    if split == "train":
        indices = rng.permutation(indices)
    return frame.iloc[indices].reset_index(drop=True), int((~seen).sum())


def _even(labels: npt.NDArray[np.integer[Any]], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return row numbers in ascending order, with as many rows of each label as the rarest label has."""
    pools = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    return np.sort(np.concatenate([pool[: min(map(len, pools))] for pool in pools]))


def _file(item: DatasetInfo, part: str, mixture: bool) -> pd.DataFrame:
    frame = load_file(item.name, part)
    return frame.assign(id=f"{origin(item.name, part)[0]}/" + frame["id"]) if mixture else frame


def first_rows(split: Split, rows: int) -> Split:
    """Return the first rows of a split, the same number of each class. A smaller result is always a part of a larger one."""
    each, rest = divmod(rows, len(split.labels))
    frame = split.frame[(split.frame["label"] >= 0) & (split.frame.groupby("label").cumcount() < each)].reset_index(drop=True)
    if rest or len(frame) < rows:
        counts = ", ".join(f"{count:,}" for count in split.frame["label"].value_counts(sort=False).sort_index())
        raise InputError(
            f"{rows:,} rows with equal numbers per class cannot be drawn from the {split.split} split of {split.name} ({counts})."
        )
    return replace(split, frame=frame, digest=_mark(frame))


def rows_of_recipe(recipe: Mapping[str, Any], name: str) -> Split:
    """Return a split of a recipe's data set; of a test split, the rows that the recipe draws.

    Raises:
        DataMissingError: the data set is not installed. InputError: it has no such split.
    """
    if not recipe["dataset"]:
        raise InputError(f"{recipe['model']} was adopted without data. `sentviz evaluate RUN --data DATASET` adds test rows.")
    split, rows = load_split(recipe["dataset"], name), recipe.get("test_rows", 0)
    return drawn_rows(split, rows) if rows and name not in ("train", "validation") else split


def drawn_rows(split: Split, rows: int) -> Split:
    """Return rows of a split drawn at random with seed 0, in the split's order; the complete split if it has no more rows."""
    if len(split) <= rows:
        return split
    frame = split.frame.sample(rows, random_state=0).sort_index().reset_index(drop=True)
    return replace(split, frame=frame, digest=_mark(frame))


def _mark(frame: pd.DataFrame) -> str:
    lines = "".join(f"{key}\t{label}\n" for key, label in zip(frame["id"], frame["label"], strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


def stratified(labels: npt.NDArray[np.integer[Any]], sizes: list[int], rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """Return row numbers of disjoint random parts of exactly the given sizes, each with the same proportions of labels.

    Shares are rounded by largest remainder: for any label, the k-th part differs from its exact share by less than k rows.

    Args:
        labels: (n,) one label per row.
        sizes: rows of each part; their sum is n.
        rng: random number generator.
    Returns:
        Row numbers of each part, ascending.
    Raises:
        SentvizError: the sum of the sizes is not n.
    """
    if sum(sizes) != len(labels):
        raise SentvizError(f"The parts have {sum(sizes):,} rows in total, but there are {len(labels):,} rows.")
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
