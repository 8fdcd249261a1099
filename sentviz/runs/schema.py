"""The contents of a run's files, field by field, and checks against them. Needs no torch.

JSON is declared as types: a `TypedDict` names required and optional fields (`sentviz.io.typed`). Tables are declared by their columns.
Fields that are not declared are never read, so they are not checked.
"""

from __future__ import annotations

from typing import Annotated, Any, BinaryIO, NotRequired, TypedDict

from sentviz.io.lazy import np, pa, pc, pd, pq
from sentviz.io.typed import Misfit, Whole, fitted, short, sized, spelled, within

LABELS = 1_000  # maximum number of classes
CELLS, BYTES = 20_000_000, 1 << 28  # maximum cells and bytes of a table
FileName = Annotated[str, spelled(r"(?:\w[\w.-]{0,100}/)?\w[\w.-]{0,100}", "a file of a run")]  # it cannot lead out of the folder
RunName = Annotated[str, spelled(r"\w[\w.-]{0,100}/\w[\w.-]{0,100}", "the name of a run")]  # one that can be fetched
Digest = Annotated[str, spelled("[0-9a-f]{64}", "64 hex digits")]
Files = dict[FileName, Digest]
Text = Annotated[str, sized(None, 100_000)]


# ---- config.json


class Split(TypedDict):
    """Rows of a data set that the run was trained or evaluated on."""

    n: Whole
    digest: Text
    dropped: NotRequired[Whole]


class Data(TypedDict):
    """The data set and its splits."""

    name: Text
    splits: dict[str, Split]


class Words(TypedDict):
    """The tokenizer."""

    kind: Text
    cls: NotRequired[bool]
    vocab_size: NotRequired[Whole]


class Version(TypedDict):
    """The versions that wrote the run."""

    sentviz: Text
    torch: Text


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

    version: Text
    tags: list[str]


class Settings(TypedDict):
    """The settings of a recipe that are read back; `sentviz.training.recipe` defines all of them."""

    dataset: Text
    model: Text
    seed: Whole
    variant: NotRequired[Text]
    example: NotRequired[Text]
    example_pair: NotRequired[Text]
    lexicon: NotRequired[Text]
    source: NotRequired[Text]
    transfer: NotRequired[Text]
    rows: NotRequired[Whole]
    epochs: NotRequired[Whole]
    batch_size: NotRequired[Whole]
    learning_rate: NotRequired[float]
    lambda_rate: NotRequired[float]
    max_length: NotRequired[Whole]
    intercept: NotRequired[bool]
    min_count: NotRequired[Whole]
    vocab_size: NotRequired[Whole]
    patience: NotRequired[Whole]
    keep_epochs: NotRequired[Whole]
    evaluations: NotRequired[Whole]
    log_every: NotRequired[Whole]
    updates: NotRequired[Whole]
    shape: NotRequired[dict[str, Any]]


class OnBase(TypedDict):
    """The base of a run that is an adapter (`sentviz.runs.bases`)."""

    name: Text
    digest: Text


class Calibration(TypedDict):
    """The fit of temperature and intercept on validation rows (`sentviz.analysis.calibration`); older runs have no such entry."""

    intercept: list[float]  # one value per class, in the classifier's biases already, divided by the temperature
    n: Whole
    sources: Whole  # data sets that the rows come from
    error_before: float  # expected calibration error, 0 to 1
    error_after: float


class Config(TypedDict):
    """config.json."""

    format: Whole
    preset: Text
    model: dict[str, Any]
    parameters: Whole
    labels: Annotated[list[str], sized(2, LABELS)]
    tokenizer: Words
    data: Data
    recipe: Settings
    best: Best
    temperature: Annotated[float, within(1e-3, 1e3)]  # fitted ones are from 0.05 to 20
    steps: Whole
    seconds: float
    hardware: Text
    version: Version
    created: Text
    files: Files
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
    n: NotRequired[Whole]


class Answers(TypedDict):
    """Metrics of the predictions on a split."""

    n: Whole
    confusion: list[list[Whole]]
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

    n: Whole
    accuracy: float
    stored_accuracy: NotRequired[float]
    confusion: NotRequired[list[list[Whole]]]


OTHER_PARTS: dict[str, Any] = {"validation": Validation, "softmax": dict[str, float]}  # every other part of metrics.json is `Answers`


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


def fits_config(content: Any) -> None:
    """Check the content of config.json.

    Raises:
        Misfit: a part does not fit `Config`.
    """
    labels = fitted(Config, content)["labels"]
    if len(set(labels)) < len(labels):
        raise Misfit(("labels",), "labels must name each class once")


def fits_metrics(content: Any, classes: int, *, tested: bool = True) -> None:
    """Check the content of metrics.json of a run with `classes` classes; `tested` says whether it has test rows.

    Raises:
        Misfit: a part does not fit `Answers` or `Validation`.
    """
    metrics = fitted(dict[str, dict[str, Any]], content)
    if tested and "test" not in metrics:
        raise Misfit(("test",), "test is missing")
    for split, part in metrics.items():
        checked: Any = fitted(OTHER_PARTS.get(split, Answers), part, (split,))
        counts = checked.get("confusion", [[0] * classes] * classes)
        if [len(row) for row in counts] != [classes] * classes:
            raise Misfit((split, "confusion"), f"{split}.confusion must have {classes} rows of {classes} counts")


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
