"""The contents of a run's files, field by field, and checks against them. Needs no torch.

JSON is declared as types: a `TypedDict` names required and optional fields, and `fits` compares a value with it. Tables are declared by
their columns. Fields that are not declared are never read, so they are not checked.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping
from functools import cache
from typing import Any, BinaryIO, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from sentviz.io.lazy import np, pa, pc, pd, pq

LONGEST = 100_000  # maximum characters of a text
MOST = 10_000  # maximum entries of a list or table
DEEPEST = 16  # maximum nesting of lists and tables in fields of type Any
LARGEST = (1 << 63) - 1  # largest whole number, since tables store 64 bits
LABELS = 1_000  # maximum number of classes
COLDEST, HOTTEST = 1e-3, 1e3  # calibration temperatures; fitted ones are from 0.05 to 20
CELLS, BYTES = 20_000_000, 1 << 28  # maximum cells and bytes of a table
FILE = re.compile(r"(?:\w[\w.-]{0,100}/)?\w[\w.-]{0,100}")  # path of a file in a run's folder, which cannot lead out of it
RUN = re.compile(r"\w[\w.-]{0,100}/\w[\w.-]{0,100}")  # name of a run that can be fetched
DIGEST = re.compile("[0-9a-f]{64}")

NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "a table"}


# ---- config.json


class Split(TypedDict):
    """Rows of a data set that the run was trained or evaluated on."""

    n: int
    digest: str
    dropped: NotRequired[int]


class Data(TypedDict):
    """The data set and its splits."""

    name: str
    splits: dict[str, Split]


class Words(TypedDict):
    """The tokenizer."""

    kind: str
    cls: NotRequired[bool]
    vocab_size: NotRequired[int]


class Version(TypedDict):
    """The versions that wrote the run."""

    sentviz: str
    torch: str


class Best(TypedDict):
    """The training step of the stored weights, with scores on the validation split."""

    epoch: float
    step: NotRequired[float]
    accuracy: NotRequired[float]
    loss: NotRequired[float]
    f1_positive: NotRequired[float]
    f1_macro: NotRequired[float]


class Tagger(TypedDict):
    """The run's own part-of-speech tagger."""

    version: str
    tags: list[str]


class Settings(TypedDict):
    """The settings of a recipe that are read back; `sentviz.training.recipe` defines all of them."""

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
    intercept: NotRequired[bool]
    min_count: NotRequired[int]
    vocab_size: NotRequired[int]
    patience: NotRequired[int]
    keep_epochs: NotRequired[int]
    evaluations: NotRequired[int]
    log_every: NotRequired[int]
    updates: NotRequired[int]
    shape: NotRequired[dict[str, Any]]


class OnBase(TypedDict):
    """The base of a run that is an adapter (`sentviz.runs.bases`)."""

    name: str
    digest: str


class Calibration(TypedDict):
    """The fit of temperature and intercept on validation rows (`sentviz.analysis.calibration`); older runs have no such entry."""

    intercept: list[float]  # one value per class, in the classifier's biases already, divided by the temperature
    n: int
    sources: int  # data sets that the rows come from
    error_before: float  # expected calibration error, 0 to 1
    error_after: float


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
    calibration: NotRequired[Calibration]
    tagger: NotRequired[Tagger]


# ---- metrics.json


class Interval(TypedDict):
    """A metric with its 95 % interval."""

    value: float
    low: float
    high: float
    n: NotRequired[int]


class Answers(TypedDict):
    """Metrics of the predictions on a split."""

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
    silhouette: NotRequired[Interval]  # present if the rows have at least two classes
    precision_positive: NotRequired[Interval]
    recall_positive: NotRequired[Interval]
    f1_positive: NotRequired[Interval]


class Validation(TypedDict):
    """Metrics of the predictions on the validation split."""

    n: int
    accuracy: float
    stored_accuracy: NotRequired[float]
    confusion: NotRequired[list[list[int]]]


OTHER_PARTS = {"validation": Validation, "softmax": dict[str, float]}  # every other part of metrics.json has the type `Answers`


# ---- tables: the kinds of columns are whole numbers (i), numbers (f), texts (s) and truth values (b)

TABLES: dict[str, dict[str, str]] = {
    "history.parquet": {"step": "i", "epoch": "f", "name": "s", "layer": "i", "component": "i", "value": "f"},
    "test.parquet": {"split": "s", "id": "s", "label": "i"},
    "heads.parquet": {"layer": "i", "head": "i", "measure": "s", "value": "f", "low": "f", "high": "f", "n": "i"},
    "faithfulness.parquet": {"method": "s", "metric": "s", "value": "f", "low": "f", "high": "f", "random": "f", "n": "i"},
    "referee.parquet": {"method": "s", "metric": "s", "value": "f", "low": "f", "high": "f", "random": "f", "n": "i"},
    "directions.parquet": {"measure": "s", "depth": "i", "name": "s", "place": "s", "value": "f", "low": "f", "high": "f", "n": "i"},
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
    """Return a type's plain type, the type of its elements and, for a `TypedDict`, the types of its fields and the required ones."""
    if not is_typeddict(kind):
        return get_origin(kind) or kind, next(reversed(get_args(kind)), Any), {}, frozenset()
    needed = (name for name, hint in get_type_hints(kind, include_extras=True).items() if get_origin(hint) is not NotRequired)
    return dict, Any, get_type_hints(kind), frozenset(needed)


def fits(value: Any, kind: Any, where: str = "") -> None:
    """Check a value from JSON: its type (a `TypedDict`, `list[...]`, `dict[str, ...]`, a plain type or `Any`) and this module's limits.

    Raises:
        ValueError: a part does not fit; the message names the first one.
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
    """Check the content of config.json.

    Raises:
        ValueError: a part does not fit `Config`; the message names the first one.
    """
    fits(config, Config)
    labels = config["labels"]
    if len(labels) < 2 or len(labels) > LABELS or len(set(labels)) != len(labels):
        raise ValueError(f"labels must name two to {LABELS:,} classes, each once")
    if not COLDEST <= config["temperature"] <= HOTTEST:
        raise ValueError(f"temperature must be between {COLDEST:g} and {HOTTEST:,}, not {config['temperature']}")
    fits_files(config["files"])


def fits_files(files: Mapping[str, str]) -> None:
    """Check the names of files in a folder and their digests.

    Raises:
        ValueError: a name leads out of the folder, or a digest is invalid.
    """
    for name, digest in files.items():
        if not FILE.fullmatch(name):
            raise ValueError(f"files names {short(name)}, which is not a file of a run")
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"files.{name} must be 64 hex digits, not {short(digest)}")


def fits_metrics(metrics: Any, classes: int, *, tested: bool = True) -> None:
    """Check the content of metrics.json of a run with `classes` classes; `tested` says whether it has test rows.

    Raises:
        ValueError: a part does not fit `Answers` or `Validation`; the message names the first one.
    """
    fits(metrics, dict[str, dict[str, Any]])
    if tested and "test" not in metrics:
        raise ValueError("test is missing")
    for split, part in metrics.items():
        fits(part, OTHER_PARTS.get(split, Answers), split)
        counts = part.get("confusion", [[0] * classes] * classes)
        if [len(row) for row in counts] != [classes] * classes:
            raise ValueError(f"{split}.confusion must have {classes} rows of {classes} counts")


def read_table(file: BinaryIO) -> pd.DataFrame:
    """Read a parquet file with limited memory: a few bytes of the file can stand for millions of cells or very long texts.

    Raises:
        ValueError: the table is too large, or a column contains neither numbers nor texts.
        OSError, TypeError, LookupError, NotImplementedError: the file is damaged.
    """
    stored = pq.ParquetFile(file)
    meta = stored.metadata
    kinds = {field.name: field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in stored.schema_arrow}
    texts = [name for name, kind in kinds.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
    if odd := [name for name, kind in kinds.items() if name not in texts and not pa.types.is_primitive(kind)]:
        raise ValueError(f"its column {short(odd[0])} contains neither numbers nor texts")
    sizes = (meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
    if max(meta.num_rows, 1) * meta.num_columns > CELLS or sum(sizes) > BYTES:
        raise ValueError(f"it has {meta.num_rows:,} rows and {meta.num_columns:,} columns, more than can be read")
    table = pq.ParquetFile(file, metadata=meta, read_dictionary=texts).read(use_threads=False)
    for place, (name, kind) in enumerate(kinds.items()):
        parts = [part for part in table[place].chunks if name in texts and pa.types.is_dictionary(part.type)]
        # each text is stored once, however often it appears
        if sum(pc.sum(pc.binary_length(part.dictionary).take(part.indices)).as_py() or 0 for part in parts) > BYTES:
            raise ValueError(f"the texts of its column {short(name)} are longer than can be read")
        table = table.set_column(place, name, table[place].cast(kind))
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return frame


def fits_table(frame: pd.DataFrame, file: str, labels: tuple[str, ...], *, may_be_empty: bool = False) -> None:
    """Check a table of a run with some classes; without rows it fits only if it may be empty.

    Raises:
        ValueError: a column is missing or of another kind, or there are no rows.
    """
    columns = TABLES.get(file, {}) | (dict.fromkeys(labels, "f") if file == "test.parquet" else {})
    for name, kind in columns.items():
        kinds, kind_name = KINDS[kind]
        if name not in frame:
            raise ValueError(f"it has no column {name!r}")
        column = frame[name]
        if not (_texts(column) if kind == "s" else column.dtype.kind in kinds):
            raise ValueError(f"its column {name!r} must hold {kind_name}")
    if columns and frame.empty and not may_be_empty:
        raise ValueError("it has no rows")
    if file == "test.parquet":
        fits_answers(frame, labels)


def fits_answers(frame: pd.DataFrame, labels: tuple[str, ...]) -> None:
    """Check stored predictions: valid labels, and probabilities that add up to 1, in every row.

    Raises:
        ValueError: a label or a probability is invalid.
    """
    shares, known = frame[list(labels)].to_numpy(np.float64), frame["label"].to_numpy(np.int64)
    if not np.isfinite(shares).all() or (np.abs(shares.sum(axis=1) - 1) > 0.01).any() or (shares < 0).any():
        raise ValueError("some of its probabilities are not between 0 and 1")
    if (known < 0).any() or (known >= len(labels)).any():
        raise ValueError(f"some of its labels are not 0 to {len(labels) - 1}")


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
    """Return a value as text, shortened to at most 40 characters."""
    text = reprlib.repr(value) if isinstance(value, list | tuple | dict) else repr(value[:40] if isinstance(value, str) else value)
    return text if len(text) <= 40 else f"{text[:39]}…"
