"""Predictions for the rows of a split, of the demo set, or of a visitor's file, with their source: a run, or a file of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import wilson
from sentviz.data import datasets, demo
from sentviz.data.columns import PREFIX
from sentviz.data.labels import Reading, check_complete, order_of, sides
from sentviz.errors import InputError, RunError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.runs.calibration import LEAST, softmax, tempered, untempered
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Gives = Literal["probabilities", "scores", "classes"]
"""What a source gives besides predicted classes: calibrated or raw probabilities, scores whose order alone has a meaning, or nothing."""
OVER = {
    "test": "test split",
    "official_test": "official test",
    "demo": "demo set",
    "mine": "your file",
}  # names of `Rows.over` for visitors
EVERY = "all"  # phenomenon of all rows together
NAMED = 5  # rows that a sentence names


@dataclass(frozen=True)
class RowsSource:
    """The origin of predictions: a run, or a file of predictions that another program made.

    A source without a run has nothing but its predictions: no weights, vectors or measurements.
    """

    name: str  # name that readers see
    digest: str  # digest that changes if the predictions change
    seed: int | None = None  # seed of the training; None if unknown
    calibration: float | None = None  # temperature that calibrates the probabilities; None if unknown
    run: Run | None = None  # run that made the predictions
    gives: Gives = "probabilities"

    @classmethod
    def of(cls, run: Run) -> RowsSource:
        """Return a run as a source."""
        return cls(run.name, run.digest, run.config["recipe"]["seed"], run.calibration, run)

    @property
    def ask(self) -> Run | None:
        """Run that predicts new texts; None if the source has no weights."""
        return self.run if self.run is not None and self.run.has_weights else None

    @property
    def data(self) -> str:
        """Name of the data set whose splits hold the texts of rows; empty if there is none."""
        return "" if self.run is None else str(self.run.config["data"]["name"])

    def require_run(self, what: str) -> Run:
        """Return the run.

        Args:
            what: plural noun that needs the run, for the message.
        """
        if self.run is None:
            raise InputError(f"{self.name} has predictions but no model, so there are no {what}.")
        return self.run

    def require(self, *gives: Gives, what: str) -> None:
        """Raise InputError if the source gives none of these; `what` is a plural noun that needs it, for the message."""
        if self.gives not in gives:
            has = "only predicted classes" if self.gives == "classes" else "scores that are not probabilities"
            raise InputError(f"{self.name} has {has}, so there are no {what}.")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with predictions.

    ``frame``: id (str), label (class, -1 = no label), predicted (class), confidence (0..1; NaN if the source gives no probabilities),
    right (bool; without a label, it is `False`), loss (cross-entropy in nats; NaN without a label or probabilities), p0 .. p{K-1}; text,
    and text_pair for pairs, if the texts are available; tag if the rows have tags; own:NAME for further columns of the data, as
    `sentviz.data.columns` makes them.
    """

    source: RowsSource
    over: str  # test, official_test, ..., demo, mine
    classes: tuple[str, ...]
    frame: pd.DataFrame
    calibration: float = 1.0  # temperature of the probabilities
    threshold: float = -1.0  # probability from which the second of two classes is predicted; negative = the more probable class
    unread: Mapping[str, str] = field(default_factory=dict)  # id -> reason, for rows that the model cannot read; they are not in the frame
    file: tuple[str, ...] = ()  # key of a visitor's file and its chosen columns; empty for rows that all visitors share
    remarks: tuple[str, ...] = ()  # sentences on how the columns of a file are read
    among: str = ""  # slices that these rows were chosen by, as `sentviz.analysis.testset.subset` writes them; empty for all rows
    described: str = ""  # the same slices in words
    total: int = 0  # rows of the file, also those that are left out; 0 = unknown

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def digest(self) -> str:
        """Digest of the source, the classes, and all columns of the frame, row by row. Equal digests mean equal slices."""
        about = self.source.name, self.source.digest, self.source.data, self.over, self.classes, [*map(str, self.frame)]
        whole = blake2b(repr(about).encode("utf-8", "replace"), digest_size=16)
        whole.update(pd.util.hash_pandas_object(self.frame, index=False).to_numpy().tobytes())
        return whole.hexdigest()

    @property
    def labelled(self) -> bool:
        """True if any row has a label."""
        return bool((self.labels >= 0).any())

    @property
    def has_text(self) -> bool:
        """True if the rows have their texts."""
        return "text" in self.frame

    @property
    def about(self) -> str:
        """Description of the rows for the source of a figure: name, number and threshold."""
        name = "own file" if self.over == "mine" else OVER.get(self.over, self.over)
        suffix = f", {self.classes[1]} said from probability {self.threshold:g} on" if self.threshold >= 0 else ""
        of = f" of {self.total:,}" if self.total > len(self) and not self.among else ""
        return f"{name}{f', {self.described}' if self.among else ''} n = {len(self):,}{of}{suffix}"

    def check_complete(self, reading: Reading) -> None:
        """Raise LeftOutError if more than 2 % of the file's rows have no label or prediction; unchecked without a file or any label."""
        if self.total and self.labelled and not self.among:
            check_complete(int((self.labels >= 0).sum()), self.total, reading, self.source.name)

    def with_classes(self, classes: tuple[str, ...]) -> Rows:
        """Return the rows with other names of the same classes, in the order of these.

        Raises:
            LabelsError: the classes are others.
        """
        if classes == self.classes:
            return self
        order = order_of(self.classes, classes, self.source.name)
        place = np.array([*np.argsort(order), -1])  # new number of each class; -1 stays
        numbers = {name: place[self.frame[name].to_numpy(np.int64)] for name in ("label", "predicted")}
        shares = {f"p{k}": self.frame[f"p{old}"].to_numpy() for k, old in enumerate(order)}
        threshold = self.threshold if self.threshold < 0 or order == sorted(order) else 1 - self.threshold
        return replace(self, classes=classes, frame=self.frame.assign(**numbers, **shares), threshold=threshold)

    @property
    def own(self) -> list[str]:
        """Names of the further columns of the data that form groups."""
        return [name.removeprefix(PREFIX) for name in map(str, self.frame) if name.startswith(PREFIX)]

    @property
    def labels(self) -> Ints:
        """(n,) class of each row, -1 where it has none."""
        return self.frame["label"].to_numpy(np.int64)

    @property
    def predicted(self) -> Ints:
        """(n,) the most probable class."""
        return self.frame["predicted"].to_numpy(np.int64)

    @property
    def probabilities(self) -> Floats:
        """(n, K)."""
        return self.frame[[f"p{k}" for k in range(len(self.classes))]].to_numpy(np.float64)

    def calibrated(self, temperature: float) -> Rows:
        """Return the rows with probabilities and losses at a temperature; 1 gives the raw ones. Stored ones have five decimals."""
        shares = untempered(self.probabilities, self.calibration / temperature)
        columns = {str(name): column.array for name, column in self.frame.items() if name in ("id", "label") or _is_kept(name)}
        rows = predicted_rows(self.source, self.over, self.classes, columns, shares)
        return replace(self, frame=rows.frame, calibration=temperature, threshold=-1.0)

    @property
    def texts(self) -> pd.Series[str]:
        """(n,) what is read of each row: its text, of a pair both with a line break between."""
        first = self.frame["text"].astype(str)
        return first + "\n" + self.frame["text_pair"].astype(str) if "text_pair" in self.frame else first

    def with_text(self, split: pd.DataFrame) -> Rows:
        """Return the same rows with their texts, joined by id from a frame; unchanged if the text of any row is missing."""
        texts_by_id = split.assign(id=split["id"].astype(str)).set_index("id")
        if not self.frame["id"].isin(texts_by_id.index).all():
            return self
        joined = texts_by_id.loc[self.frame["id"]]
        columns = {str(name): joined[name].array for name in joined if name != "tag" and _is_kept(name)}
        if any(columns[name].isna().any() for name in ("text", "text_pair") if name in columns):
            return self
        return replace(self, frame=self.frame.assign(**columns))

    def at_threshold(self, threshold: float) -> Rows:
        """Return the rows with the second class predicted from a probability on; a negative threshold returns them unchanged."""
        if threshold < 0:
            return self
        if len(self.classes) != 2:
            raise InputError(f"A threshold needs two classes, but {self.source.name} has {len(self.classes)}.")
        predicted_class = (self.frame["p1"] >= threshold).astype(np.int64)
        return replace(
            self, frame=self.frame.assign(predicted=predicted_class, right=predicted_class == self.frame["label"]), threshold=threshold
        )


def unread(rows: Rows) -> str:
    """Return sentences that name the rows that a model cannot read, with the reasons."""
    sentences = []
    for reason in dict.fromkeys(rows.unread.values()):
        ids = [name for name, why in rows.unread.items() if why == reason]
        more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
        sentences.append(f"{rows.source.name} cannot read row{'s' * (len(ids) > 1)} {', '.join(ids[:NAMED])}{more}: {reason}")
    return " ".join(sentences)


def with_texts(rows: Rows) -> Rows:
    """Return rows with their texts and further columns; unchanged if they have texts, or no data set has them.

    Raises:
        DataMissingError: the texts are not available; the message names the command that fetches them.
    """
    if rows.has_text or not rows.source.data:
        return rows
    return rows.with_text(datasets.load_split(rows.source.data, rows.over).frame)


def stored(run: Run, split: str = "test") -> Rows:
    """Return the rows of a split that are stored with the run, without texts, with calibrated probabilities.

    Raises:
        RunError: the run has no such split, or its file is damaged.
    """
    frame = run.frame("test.parquet")
    classes = run.labels
    frame = frame[frame["split"] == split]
    if frame.empty:
        raise RunError(f"{run.name} has no stored predictions for the split {split!r}.")
    shares = tempered(frame[list(classes)].to_numpy(np.float64), run.calibration)
    columns = {"id": frame["id"].astype(str).to_numpy(), "label": frame["label"].to_numpy(np.int64)}
    return replace(predicted_rows(RowsSource.of(run), split, classes, columns, shares, LEAST), calibration=run.calibration)


def predicted(model: Model, source: RowsSource, frame: pd.DataFrame, over: str, progress: Progress | None = None) -> Rows:
    """Predict every row of a frame that the model can read; the probabilities are calibrated.

    Args:
        source: of the predictions, the run of the model.
        frame: id, text; optional: text_pair, label (class, -1 = no label), tag, own:NAME.
    """
    if frame.empty:
        raise InputError("There is no row to predict.")
    readings, why = model.sift(frame)
    unread = {str(frame["id"].iloc[place]): reason for place, reason in why.items()}
    if len(why) == len(frame):
        raise InputError(f"{model.name} can read none of these rows. {next(iter(why.values()))}")
    frame = frame[[row is not None for row in readings]]
    logits, _ = model.forward([row for row in readings if row is not None], progress=progress)
    columns: dict[str, Any] = {"id": frame["id"].astype(str).to_numpy(), "label": np.full(len(frame), -1)}
    columns |= {str(name): frame[name].array for name in frame if name == "label" or _is_kept(name)}
    shares = softmax(logits, model.calibration).astype(np.float64)
    rows = predicted_rows(source, over, model.labels, columns, shares)
    return replace(rows, unread=unread, calibration=model.calibration)


def answered(run: Run, over: str, calibrated: bool = True) -> Rows:
    """Return a run's predictions for a stored split; for the demo set, the model is run.

    Raises:
        RunError: there are no stored predictions of the split, or the run has no weights.
    """
    if over != "demo":
        rows = stored(run, over)
        return rows if calibrated else rows.calibrated(1.0)
    from sentviz.models.loading import load

    model, frame = load(run), demo.load()
    frame = frame.assign(label=frame["label"].map(demo.labels_for(run.labels)), tag=frame["phenomenon"])
    return predicted(model if calibrated else model.calibrated(1.0), RowsSource.of(run), frame, "demo")


def predicted_rows(
    source: RowsSource, over: str, classes: tuple[str, ...], columns: Mapping[str, Any], shares: Floats, least: float = 1e-12
) -> Rows:
    """Return the rows of predicted probabilities.

    Args:
        columns: id, label; optional: text, text_pair, tag, own:NAME.
        shares: (n, K) probabilities.
        least: lower bound of the probabilities in the loss.
    """
    labels, predicted_class = np.asarray(columns["label"], dtype=np.int64), shares.argmax(axis=1)
    own = np.where(labels >= 0, shares[np.arange(len(shares)), np.maximum(labels, 0)], np.nan)
    frame = pd.DataFrame(
        {
            "id": columns["id"],
            "label": labels,
            "predicted": predicted_class,
            "confidence": shares.max(axis=1),
            "right": predicted_class == labels,
            "loss": -np.log(np.maximum(own, least)),
        }
        | {f"p{k}": shares[:, k] for k in range(len(classes))}
        | {name: column for name, column in columns.items() if _is_kept(name)}
    )
    return Rows(source, over, classes, frame)


def _is_kept(name: object) -> bool:
    """Return whether a column of the data is kept next to predictions."""
    return name in ("text", "text_pair", "tag") or str(name).startswith(PREFIX)


def accuracy_by_phenomenon(rows_by_run: Mapping[str, Rows], *, sided: bool = False) -> pd.DataFrame:
    """Return the accuracy of each run for each tag of its labelled rows, and for all of them (phenomenon `EVERY`).

    Args:
        sided: whether a prediction on the side of the label is right: "very positive" for "positive"; "neutral" never is.
    Frame:
        run, phenomenon, n, right, accuracy (0..1), low, high (Wilson's 95 % interval).
    """
    measured = []
    for run, rows in rows_by_run.items():
        if "tag" not in rows.frame:
            raise InputError(f"The rows of {run} have no tags. Only the demo set has tags.")
        known = rows.frame[rows.frame["label"] >= 0]
        if sided:
            side = np.array(sides(rows.classes))
            known = known.assign(right=side[known["label"]] == side[known["predicted"]])
        if known.empty:
            raise InputError(f"The classes of {run} ({', '.join(rows.classes)}) are not those of the demo set, so its rows have no labels.")
        parts = [(str(tag), part) for tag, part in known.groupby("tag", sort=False)]
        for phenomenon, part in [*parts, (EVERY, known)]:
            n, right = len(part), int(part["right"].sum())
            low, high = map(float, wilson(right, n))
            measured.append({"run": run, "phenomenon": phenomenon, "n": n, "right": right, "accuracy": right / n, "low": low, "high": high})
    return pd.DataFrame(measured, columns=["run", "phenomenon", "n", "right", "accuracy", "low", "high"])


def aligned(first: Rows, second: Rows) -> Rows:
    """Return the second run's rows in the order of the first's."""
    ids = first.frame["id"]
    second_frame = second.frame.set_index("id", drop=False)
    if not (second_frame.index.is_unique and ids.is_unique) or set(ids) != set(second_frame.index) or first.classes != second.classes:
        raise InputError(f"{first.source.name} and {second.source.name} have predictions for different rows.")
    ordered = replace(second, frame=second_frame.loc[list(ids)].reset_index(drop=True))
    if (ordered.labels != first.labels).any():
        raise InputError(f"{first.source.name} and {second.source.name} have predictions for rows with different labels.")
    return ordered
