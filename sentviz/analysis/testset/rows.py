"""Predicted rows: what a run said of every row of a split, of the demo set, or of a visitor's own file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError, RunError
from sentviz.runs.store import Run

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.models.model import Model, Progress

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
OVER = {"test": "test split", "official_test": "official test", "demo": "demo set", "mine": "your file"}  # as a visitor reads `Rows.over`
NAMED = 5  # rows that a sentence names
STORED = 5e-6  # stored probabilities have five decimals: a smaller one is known to be smaller, no more


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with what a run said of them.

    ``frame``: id (str), label (class, -1 = unlabelled), predicted (class), confidence (0..1), right (bool, False where unlabelled),
    loss (cross-entropy in nats, NaN where unlabelled, of stored answers 12.2 at most), p0 .. p{K-1}; text, of pairs text_pair too, where it
    is at hand; tag where the rows have one.
    """

    run: str
    digest: str
    over: str  # test, official_test, ..., demo, mine
    classes: tuple[str, ...]
    frame: pd.DataFrame
    threshold: float = -1.0  # probability from which the second of two classes is said; negative = the more probable one
    unread: Mapping[str, str] = field(default_factory=dict)  # id of each row that the run cannot read, which is not in the frame -> why

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def labelled(self) -> bool:
        """Whether any row has a label."""
        return bool((self.labels >= 0).any())

    @property
    def has_text(self) -> bool:
        """Whether the texts are at hand."""
        return "text" in self.frame

    @property
    def about(self) -> str:
        """Which rows these are, how many, and what was asked of their answers, for the source of a figure."""
        name = "own file" if self.over == "mine" else OVER.get(self.over, self.over)
        said = f", {self.classes[1]} said from probability {self.threshold:g} on" if self.threshold >= 0 else ""
        return f"{name} n = {len(self):,}{said}"

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

    @property
    def texts(self) -> pd.Series[str]:
        """(n,) what is read of each row: its text, of a pair both with a line break between."""
        first = self.frame["text"].astype(str)
        return first + "\n" + self.frame["text_pair"].astype(str) if "text_pair" in self.frame else first

    def with_text(self, split: pd.DataFrame) -> Rows:
        """The same rows with their texts, of pairs both, by id from a frame; as they are where any is missing."""
        held = split.assign(id=split["id"].astype(str)).set_index("id")
        found = {name: self.frame["id"].map(held[name]) for name in ("text", "text_pair") if name in held}
        return self if any(column.isna().any() for column in found.values()) else replace(self, frame=self.frame.assign(**found))

    def at_threshold(self, threshold: float) -> Rows:
        """The same rows of two classes, the second one said from that probability on; negative = the more probable class.

        Raises:
            InputError: more or fewer than two classes.
        """
        if threshold < 0:
            return self
        if len(self.classes) != 2:
            raise InputError(f"A threshold decides between two classes; {self.run} has {len(self.classes)}.")
        said = (self.frame["p1"] >= threshold).astype(np.int64)
        return replace(self, frame=self.frame.assign(predicted=said, right=said == self.frame["label"]), threshold=threshold)


def unread(rows: Rows) -> str:
    """Which rows a run cannot read, and why, in sentences."""
    said = []
    for reason in dict.fromkeys(rows.unread.values()):
        ids = [name for name, why in rows.unread.items() if why == reason]
        more = f" and {len(ids) - NAMED:,} more" if len(ids) > NAMED else ""
        said.append(f"{rows.run} cannot read row{'s' * (len(ids) > 1)} {', '.join(ids[:NAMED])}{more}: {reason}")
    return " ".join(said)


def stored(run: Run, split: str = "test") -> Rows:
    """The rows of a split as stored with the run, without texts.

    Raises:
        RunError: the run has no such split, or its file is damaged.
    """
    frame = run.frame("test.parquet")
    classes = run.labels
    frame = frame[frame["split"] == split]
    if frame.empty:
        raise RunError(f"{run.name} has no stored answers for the split {split!r}.")
    shares = frame[list(classes)].to_numpy(np.float64)
    labels = frame["label"].to_numpy(np.int64)
    return predicted_rows(run.name, run.digest, split, classes, {"id": frame["id"].astype(str).to_numpy(), "label": labels}, shares, STORED)


def predicted(model: Model, digest: str, frame: pd.DataFrame, over: str, progress: Progress | None = None) -> Rows:
    """Ask a model about every row of a frame that it can read: id, text and, where there are any, label (class, -1 = none) and tag.

    Raises:
        InputError: no row at all, or none that can be read.
    """
    from sentviz.models.model import softmax

    if frame.empty:
        raise InputError("There is no row to ask about.")
    readings, why = model.sift(frame)
    unread = {str(frame["id"].iloc[place]): reason for place, reason in why.items()}
    if len(why) == len(frame):
        raise InputError(f"{model.name} can read none of these rows. {next(iter(why.values()))}")
    frame = frame[[row is not None for row in readings]]
    logits, _ = model.forward([row for row in readings if row is not None], progress=progress)
    columns: dict[str, Any] = {"id": frame["id"].astype(str).to_numpy(), "label": np.full(len(frame), -1)}
    columns |= {name: frame[name].array for name in ("label", "text", "text_pair", "tag") if name in frame}
    rows = predicted_rows(model.name, digest, over, model.labels, columns, softmax(logits).astype(np.float64))
    return replace(rows, unread=unread)


def predicted_rows(
    run: str, digest: str, over: str, classes: tuple[str, ...], columns: Mapping[str, Any], shares: Floats, least: float = 1e-12
) -> Rows:
    """Rows from what a run said of them.

    Args:
        columns: id, label, and text, text_pair, tag where they are known.
        shares: (n, K) probabilities, of which none is known to be smaller than `least`.
    """
    import pandas as pd

    labels, said = np.asarray(columns["label"], dtype=np.int64), shares.argmax(axis=1)
    own = np.where(labels >= 0, shares[np.arange(len(shares)), np.maximum(labels, 0)], np.nan)
    frame = pd.DataFrame(
        {
            "id": columns["id"],
            "label": labels,
            "predicted": said,
            "confidence": shares.max(axis=1),
            "right": said == labels,
            "loss": -np.log(np.maximum(own, least)),
        }
        | {f"p{k}": shares[:, k] for k in range(len(classes))}
        | {name: columns[name] for name in ("text", "text_pair", "tag") if name in columns}
    )
    return Rows(run, digest, over, classes, frame)
