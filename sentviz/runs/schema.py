"""What stands in the files of a run, field by field, and the check that it does. Needs no torch.

JSON is declared as types: a `TypedDict` names what is needed and what may be there, and `fits` holds a value against it. Tables are
declared by their columns. What is not declared is read by nothing, so it is not checked.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 100_000  # characters of a text
MOST = 10_000  # entries of a list or a table
DEEPEST = 16  # lists and tables inside each other, where nothing is declared
LARGEST = (1 << 63) - 1  # of whole numbers, which tables store in 64 bits
LABELS = 1_000  # classes
CELLS, BYTES = 20_000_000, 1 << 28  # of a table
FILE = re.compile(r"(?:\w[\w.-]{0,100}/)?\w[\w.-]{0,100}")  # a name in a run's folder: it leads nowhere else
RUN = re.compile(r"\w[\w.-]{0,100}/\w[\w.-]{0,100}")  # the name of a run that can be fetched
DIGEST = re.compile("[0-9a-f]{64}")

NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a table"}


# ---- config.json


class Split(TypedDict):
    """Rows of a data set that the run has seen."""

    n: int
    digest: str
    dropped: NotRequired[int]


class Data(TypedDict):
    """The data set and its splits."""

    name: str
    splits: dict[str, Split]


class Words(TypedDict):
    """How texts become tokens."""

    kind: str
    cls: NotRequired[bool]
    vocab_size: NotRequired[int]


class Version(TypedDict):
    """What wrote the run."""

    sentviz: str
    torch: str


class Best(TypedDict):
    """Where the stored weights stood, with scores on the validation split."""

    epoch: float
    step: NotRequired[float]
    accuracy: NotRequired[float]
    loss: NotRequired[float]
    f1_positive: NotRequired[float]
    f1_macro: NotRequired[float]


class Tagger(TypedDict):
    """The run's own tagger."""

    version: str
    tags: list[str]


class Settings(TypedDict):
    """What is read of a recipe; `sentviz.training.recipe` knows all of it."""

    dataset: str
    model: str
    seed: int
    variant: NotRequired[str]
    example: NotRequired[str]
    example_pair: NotRequired[str]
    lexicon: NotRequired[str]
    source: NotRequired[str]
    transfer: NotRequired[str]
    rows: NotRequired[int]
    epochs: NotRequired[int]
    batch_size: NotRequired[int]
    learning_rate: NotRequired[float]
    lambda_rate: NotRequired[float]
    max_length: NotRequired[int]
    min_count: NotRequired[int]
    vocab_size: NotRequired[int]
    patience: NotRequired[int]
    keep_epochs: NotRequired[int]
    evaluations: NotRequired[int]
    log_every: NotRequired[int]
    updates: NotRequired[int]
    shape: NotRequired[dict[str, Any]]


class OnBase(TypedDict):
    """The base of a run that is an adapter (`sentviz.models.pretrained.base`)."""

    name: str
    digest: str


class Config(TypedDict):
    """config.json."""

    format: int
    preset: str
    model: dict[str, Any]
    parameters: int
    labels: list[str]
    tokenizer: Words
    data: Data
    recipe: Settings
    best: Best
    temperature: float
    steps: int
    seconds: float
    hardware: str
    version: Version
    created: str
    files: dict[str, str]
    hub: NotRequired[dict[str, Any]]
    base: NotRequired[OnBase]
    tagger: NotRequired[Tagger]


# ---- metrics.json


class Interval(TypedDict):
    """A metric with its 95 % interval."""

    value: float
    low: float
    high: float
    n: NotRequired[int]


class Answers(TypedDict):
    """What a split was answered."""

    n: int
    confusion: list[list[int]]
    accuracy: Interval
    precision_macro: Interval
    precision_weighted: Interval
    recall_macro: Interval
    recall_weighted: Interval
    f1_macro: Interval
    f1_weighted: Interval
    auc: Interval
    loss: Interval
    silhouette: NotRequired[Interval]  # needs rows of two classes
    precision_positive: NotRequired[Interval]
    recall_positive: NotRequired[Interval]
    f1_positive: NotRequired[Interval]


class Validation(TypedDict):
    """What the validation split was answered."""

    n: int
    accuracy: float
    stored_accuracy: NotRequired[float]
    confusion: NotRequired[list[list[int]]]


OTHER_PARTS = {"validation": Validation, "softmax": dict[str, float]}  # of metrics.json; every other part is a split's answers


# ---- tables: a column's kind is a whole number (i), a number (f), a text (s) or true and false (b)

TABLES: dict[str, dict[str, str]] = {
    "history.parquet": {"step": "i", "epoch": "f", "name": "s", "layer": "i", "component": "i", "value": "f"},
    "test.parquet": {"split": "s", "id": "s", "label": "i"},
    "heads.parquet": {"layer": "i", "head": "i", "measure": "s", "value": "f", "low": "f", "high": "f", "n": "i"},
    "faithfulness.parquet": {"method": "s", "metric": "s", "value": "f", "low": "f", "high": "f", "random": "f", "n": "i"},
    "words.parquet": {"word": "s", "label": "i", "predicted": "i", "count": "i", "rows": "i"},
    "leaders.parquet": {"table": "s", "name": "s", "statistic": "s", "label": "s", "correct": "b", "confidence": "f"}
    | {"layer": "i", "value": "f"},
    "gates.parquet": {"kind": "s", "name": "s", "against": "s", "layer": "i", "value": "f", "low": "f", "high": "f", "p": "f"}
    | {"shuffled_low": "f", "shuffled_high": "f", "tokens": "i", "n": "i", "lexicon": "s", "tagger": "s"},
    "components.parquet": {"measure": "s", "word_class": "s", "layer": "i", "component": "i", "other": "i", "value": "f", "low": "f"}
    | {"high": "f", "n": "i", "p": "f", "p_holm": "f", "p_dealt": "f", "inits": "i"}
    | {f"{chance}_{end}": "f" for chance in ("dealt", "untrained") for end in ("low", "high")},
}
KINDS = {"i": ("iu", "whole numbers"), "f": ("fiu", "numbers"), "b": ("b", "true or false"), "s": ("", "texts")}


# ---- checks


@cache
def _declared(kind: Any) -> tuple[type, Any, dict[str, Any], frozenset[str]]:
    """Its plain type, the type of what is in it, and of a table of fields their types and which are needed."""
    if not is_typeddict(kind):
        return get_origin(kind) or kind, next(reversed(get_args(kind)), Any), {}, frozenset()
    needed = (name for name, hint in get_type_hints(kind, include_extras=True).items() if get_origin(hint) is not NotRequired)
    return dict, Any, get_type_hints(kind), frozenset(needed)


def fits(value: Any, kind: Any, where: str = "") -> None:
    """Check a value of JSON: its type (a `TypedDict`, `list[...]`, `dict[str, ...]`, a plain type or `Any`) and the bounds of this module.

    Raises:
        ValueError: the first place that does not fit, in a sentence.
    """
    _bounded(value, where or "it")
    if kind is Any:
        _shallow(value, where or "it")
        return
    plain, inner, hints, needed = _declared(kind)
    if not _is(value, plain):
        raise ValueError(f"{where or 'it'} must be {NAMES[plain]}, not {short(value)}")
    if hints:
        if missing := sorted(needed - value.keys()):
            raise ValueError(f"{_at(where, missing[0])} is missing")
        for name, each in hints.items():
            if name in value:
                fits(value[name], each, _at(where, name))
    elif plain in (dict, list):
        for place, each in value.items() if plain is dict else enumerate(value):
            fits(each, inner, _at(where, str(place)))


def _bounded(value: Any, where: str) -> None:
    if isinstance(value, str) and len(value) > LONGEST:
        raise ValueError(f"{where} has {len(value):,} characters, more than {LONGEST:,}")
    if isinstance(value, list | dict) and len(value) > MOST:
        raise ValueError(f"{where} has {len(value):,} entries, more than {MOST:,}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{where} is {short(value)}, a number that is too large")


def _shallow(value: Any, where: str, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise ValueError(f"{where} is nested more than {DEEPEST} times")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _bounded(each, where)
        _shallow(each, where, depth + 1)


def fits_config(config: Any) -> None:
    """config.json.

    Raises:
        ValueError: the first place that is not as `Config` says.
    """
    fits(config, Config)
    labels = config["labels"]
    if len(labels) < 2 or len(labels) > LABELS or len(set(labels)) != len(labels):
        raise ValueError(f"labels must name two or more classes, at most {LABELS:,}, each once")
    if not 0 < config["temperature"] < math.inf:
        raise ValueError(f"temperature must be above 0, not {config['temperature']}")
    fits_files(config["files"])


def fits_files(files: Mapping[str, str]) -> None:
    """Names of files in a folder, each with its digest.

    Raises:
        ValueError: a name that leads elsewhere, or a digest that is none.
    """
    for name, digest in files.items():
        if not FILE.fullmatch(name):
            raise ValueError(f"files names {short(name)}, which is not a file of a run")
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"files.{name} must be 64 hex digits, not {short(digest)}")


def fits_metrics(metrics: Any, classes: int) -> None:
    """metrics.json of a run with so many classes.

    Raises:
        ValueError: the first place that is not as `Answers` and `Validation` say.
    """
    fits(metrics, dict[str, dict[str, Any]])
    if "test" not in metrics:
        raise ValueError("test is missing")
    for split, part in metrics.items():
        fits(part, OTHER_PARTS.get(split, Answers), split)
        counts = part.get("confusion", [[0] * classes] * classes)
        if [len(row) for row in counts] != [classes] * classes:
            raise ValueError(f"{split}.confusion must have {classes} rows of {classes} counts")


def read_table(file: BinaryIO) -> pd.DataFrame:
    """Read a parquet file that takes no more memory than its size promises: a few bytes can stand for millions of cells or long texts.

    Raises:
        ValueError: it does not, or is no table of plain columns.
        OSError, TypeError, LookupError, NotImplementedError: it is damaged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    stored = pq.ParquetFile(file)
    meta = stored.metadata
    kinds = {field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in stored.schema_arrow}
    texts = [name for name, kind in kinds.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
    if odd := [name for name, kind in kinds.items() if name not in texts and not pa.types.is_primitive(kind)]:
        raise ValueError(f"its column {short(odd[0])} holds neither numbers nor texts")
    sizes = (meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if max(meta.num_rows, 1) * meta.num_columns > CELLS or sum(sizes) > BYTES:
        raise ValueError(f"it has {meta.num_rows:,} rows and {meta.num_columns:,} columns, more than can be read")
    table = pq.ParquetFile(file, metadata=meta, read_dictionary=texts).read(use_threads=False)
    for place, (name, kind) in enumerate(kinds.items()):
        parts = [part for part in table[place].chunks if name in texts and pa.types.is_dictionary(part.type)]
        # a text is stored once, however often it stands there
        if sum(pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() or 0 for part in parts) > BYTES:
            raise ValueError(f"the texts of its column {short(name)} are longer than can be read")
        table = table.set_column(place, name, table[place].cast(kind))
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def fits_table(frame: pd.DataFrame, file: str, labels: tuple[str, ...]) -> None:
    """A table of a run with these classes.

    Raises:
        ValueError: the first column that is missing or of another kind, or no rows at all.
    """
    columns = TABLES.get(file, {}) | (dict.fromkeys(labels, "f") if file == "test.parquet" else {})
    for name, kind in columns.items():
        kinds, said = KINDS[kind]
        if name not in frame:
            raise ValueError(f"it has no column {name!r}")
        column = frame[name]
        if not (_texts(column) if kind == "s" else column.dtype.kind in kinds):
            raise ValueError(f"its column {name!r} must hold {said}")
    if columns and frame.empty:
        raise ValueError("it has no rows")
    if file == "test.parquet":
        fits_answers(frame, labels)


def fits_answers(frame: pd.DataFrame, labels: tuple[str, ...]) -> None:
    """Stored answers: a label that there is, and probabilities that add up, in every row.

    Raises:
        ValueError: they are not.
    """
    import numpy as np

    shares, known = frame[list(labels)].to_numpy(np.float64), frame["label"].to_numpy(np.int64)
    if not np.isfinite(shares).all() or (np.abs(shares.sum(axis=1) - 1) > 0.01).any() or (shares < 0).any():
        raise ValueError("some of its probabilities are not between 0 and 1")
    if (known < 0).any() or (known >= len(labels)).any():
        raise ValueError(f"some of its labels are none of the {len(labels)} classes")


def _texts(column: pd.Series[Any]) -> bool:
    return bool(column.map(type).isin((str,)).all()) if column.dtype == object else column.dtype.name in ("str", "string")


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, Mapping) if kind is dict else isinstance(value, kind)


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def short(value: Any) -> str:
    """A value as it is written, cut where a sentence has no room for it."""
    said = reprlib.repr(value) if isinstance(value, list | tuple | dict) else repr(value[:40] if isinstance(value, str) else value)
    return said if len(said) <= 40 else f"{said[:39]}…"
