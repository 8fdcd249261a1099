"""Measure leaders over a data set: the words around which the other words gather, and after how many layers.

`survey` runs a split through the layers once; `sentviz.runs.writing.attach` stores its frame with the run as FILE. The other functions
read it, so that thresholds can be moved without the model.

    words     name, label, correct, confidence -> value reviews in which the word leads; confidence is the lower end of its step
    reviews   label, correct, confidence -> value reviews
    layers    name (measure), statistic, layer -> value over reviews

Measures, before layer k: `leaders` up to that layer; `clusters`, places more than `NEAR` of the review's largest norm apart (words without
one closer that comes before them in the vocabulary); `at leaders`, the share of tokens that close to a leader, where it is then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.data.datasets import Split
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, torch
from sentviz.io.numbers import percent
from sentviz.runs.configs import Capabilities

if TYPE_CHECKING:
    from sentviz.models.hardmax import HardmaxModel, Ids
    from sentviz.models.model import Model
    from sentviz.runs.store import Run

Doubles = npt.NDArray[np.float64]

NO_LEADERS = "has no leaders. Only hardmax transformers have leaders"
FILE = "leaders.parquet"
NEAR = 0.01
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
MEASURES = ("leaders", "clusters", "at leaders")
STATISTICS: dict[str, Callable[..., Any]] = {"mean": np.mean, **{f"q{q:02}": partial(np.quantile, q=q / 100) for q in (5, 25, 50, 75, 95)}}
COLUMNS = ("table", "name", "statistic", "label", "correct", "confidence", "layer", "value")


@dataclass(frozen=True)
class _Passed:
    """A batch of reviews through the layers; n is the number of different words of the longest."""

    batch: list[int]  # numbers of the rows
    ids: torch.Tensor  # (B, n)
    times: torch.Tensor  # (B, n) how often each word stands in its review, 0 for padding
    states: list[torch.Tensor]  # before layer k, and after the last: (B, n, d)
    leads: list[torch.Tensor]  # (B, n) per layer k: True if a word has led in any layer up to k

    @property
    def reach(self) -> torch.Tensor:
        """(B,) the largest norm of a review's words."""
        largest: torch.Tensor = (self.states[0].norm(dim=-1) * (self.times > 0)).amax(dim=1)
        return largest


def _passed(model: HardmaxModel, rows: Sequence[Ids], progress: Progress | None) -> Iterator[_Passed]:

    from sentviz.models.batches import by_length
    from sentviz.models.hardmax import distinct, shares

    network, done = model.network, 0
    for batch in by_length([len(row) for row in rows]):
        ids, counts = distinct([rows[i] for i in batch])
        mask, times = counts > 0, counts.double()
        with torch.inference_mode():
            z = network.embedding(ids)
            led = torch.zeros_like(mask)
            states, leads = [z], []
            for _ in range(model.config.layers):
                tied = shares(z, z, mask, network.config.tolerance) > 0
                led = led | (tied.diagonal(dim1=1, dim2=2) & (tied.sum(dim=-1) == 1) & mask)
                weights = tied * times[:, None, :]
                z = z + network.pace * (weights @ z / weights.sum(dim=-1, keepdim=True) - z)
                states.append(z)
                leads.append(led)
        yield _Passed(list(batch), ids, times, states, [*leads, led])
        done += len(batch)
        if progress is not None:
            progress(done, len(rows))


def _distances(z: torch.Tensor) -> torch.Tensor:
    return torch.cdist(z, z, compute_mode="donot_use_mm_for_euclid_dist")


def followed(
    model: HardmaxModel, rows: list[Ids], progress: Progress | None = None
) -> tuple[Doubles, list[npt.NDArray[np.int64]], Doubles]:
    """Reviews (ids of their words) through the layers.

    Returns:
        (N, K + 1, 3) the measures; the leading words' ids of each review, each once; (N,) the probability of the second class.
    """
    measures = np.empty((len(rows), model.config.layers + 1, len(MEASURES)))
    words: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(rows)
    probabilities = np.empty(len(rows))
    for passed in _passed(model, rows, progress):
        mask, total = passed.times > 0, passed.times.sum(dim=1)
        with torch.inference_mode():
            near = NEAR * passed.reach[:, None, None]
            for k, (z, leads) in enumerate(zip(passed.states, passed.leads, strict=True)):
                close = (_distances(z) <= near) & mask[:, None, :]
                at_leaders = (close & leads[:, None, :]).any(dim=-1) * passed.times
                measures[passed.batch, k, 0] = leads.sum(dim=1).numpy()
                measures[passed.batch, k, 1] = (mask & ~close.tril(-1).any(dim=-1)).sum(dim=1).numpy()
                measures[passed.batch, k, 2] = (at_leaders.sum(dim=1) / total).numpy()
            odds = model.network.classifier((passed.states[-1] * passed.times[:, :, None]).sum(dim=1) / total[:, None])
        probabilities[passed.batch] = odds.softmax(dim=-1)[:, 1].numpy()
        for place, i in enumerate(passed.batch):
            words[i] = passed.ids[place][passed.leads[-1][place]].numpy()
    return measures, words, probabilities


def at_leaders(model: HardmaxModel, rows: Sequence[Ids], nearness: Sequence[float], progress: Progress | None = None) -> Doubles:
    """(N, T) the share of each review's words that stand, after all layers, so near a leader.

    Args:
        nearness: (T,) in shares of the review's largest norm; `NEAR` is the one of the measure `at leaders`.
    """
    shares = np.empty((len(rows), len(nearness)))
    for passed in _passed(model, rows, progress):
        with torch.inference_mode():
            away = _distances(passed.states[-1]).masked_fill(~passed.leads[-1][:, None, :], torch.inf).amin(dim=-1)
            for column, least in enumerate(nearness):
                is_near = (away <= least * passed.reach[:, None]) * passed.times
                shares[passed.batch, column] = (is_near.sum(dim=1) / passed.times.sum(dim=1)).numpy()
    return shares


def farthest_leader(frame: pd.DataFrame, model: HardmaxModel) -> float:
    """Return the largest distance of a word that leads from the decision line, from a frame of `survey`."""
    words = leading(frame, model.vocabulary)
    return float((words.loc[words["leads"] > 0, "score"].abs() / np.linalg.norm(model.decision[0])).max())


def lacks(has: Capabilities) -> str:
    """Return why the leaders of a model cannot be measured, as a predicate; "" if they can."""
    return "" if has.moving else NO_LEADERS


def survey(model: Model, split: Split, progress: Progress | None = None) -> pd.DataFrame:
    """A split through a hardmax model, as one tidy frame with the columns of COLUMNS; see the module.

    Texts without a known word have no leaders and are left out.
    """

    from sentviz.models.hardmax import HardmaxModel

    if not isinstance(model, HardmaxModel):
        raise InputError(f"{model.name} {NO_LEADERS}.")

    rows = model.tokenizer.ids_batch(split.frame["text"].tolist(), max_length=model.config.max_length)
    readable = [i for i, row in enumerate(rows) if len(row)]
    if not readable:
        raise InputError(f"{model.name} knows no word of these texts, so they have no leaders.")
    measures, words, probabilities = followed(model, [rows[i] for i in readable], progress)
    labels = split.frame["label"].to_numpy(np.int64)[readable]
    predicted = (probabilities > 0.5).astype(np.int64)
    confidence = np.maximum(probabilities, 1 - probabilities)
    steps = np.array(CONFIDENCES)[np.searchsorted(CONFIDENCES, confidence, side="right") - 1]
    names = [split.labels[label] for label in labels]
    reviews = pd.DataFrame({"label": names, "correct": predicted == labels, "confidence": steps})
    keys = ["label", "correct", "confidence"]
    counted = reviews.groupby(keys).size().rename("value").reset_index().assign(table="reviews")
    leading_words = reviews.loc[np.repeat(np.arange(len(reviews)), [len(some) for some in words])].reset_index(drop=True)
    spelt = {int(i): model.tokenizer.token_of(int(i)) for i in np.unique(np.concatenate(words))}
    leading_words["name"] = [spelt[int(i)] for some in words for i in some]
    led = leading_words.groupby(["name", *keys]).size().rename("value").reset_index().assign(table="words")
    layers = pd.DataFrame(
        [
            {"table": "layers", "name": name, "statistic": statistic, "layer": k, "value": float(of(measures[:, k, column]))}
            for column, name in enumerate(MEASURES)
            for k in range(measures.shape[1])
            for statistic, of in STATISTICS.items()
        ]
    )
    frame = pd.concat([counted, led, layers], ignore_index=True)
    frame = frame.assign(layer=frame["layer"].fillna(-1), correct=frame["correct"].eq(True), confidence=frame["confidence"].fillna(0))
    frame[["name", "statistic", "label"]] = frame[["name", "statistic", "label"]].fillna("")
    return frame.astype({"layer": "int8", "value": "float32", "confidence": "float32"})[list(COLUMNS)]


def frequent(
    frame: pd.DataFrame, vocabulary: pd.DataFrame, weight: npt.ArrayLike, *, distance: float = 2.0, confidence: float = 0.95, top: int = 15
) -> pd.DataFrame:
    """The most frequent leaders of correct reviews of at least that confidence, of each class.

    Args:
        frame: of `survey`.
        vocabulary: of the model.
        weight: (d,) the decoder's, of `model.decision`.
        distance: least distance of a word from the decision line, on either side, in units of the embedding.
        confidence: taken down to the next of CONFIDENCES.
    Frame:
        label (the reviews' class), word, count (reviews that it leads), share (of n), score (the decoder's log-odds at the word), distance
        (signed, positive towards the second class), n (correct and confident reviews of that class); the most frequent first.
    """
    if not CONFIDENCES[0] <= confidence <= 1 or not distance >= 0 or top < 1:
        raise InputError("The confidence must be from 0.5 to 1, the distance at least 0, and the number of words at least 1.")
    least = max(step for step in CONFIDENCES if step <= confidence)
    right = frame[frame["correct"] & (frame["confidence"] >= np.float32(least))]
    counts = right[right["table"] == "words"].groupby(["label", "name"], sort=False)["value"].sum().reset_index()
    places = vocabulary.assign(distance=vocabulary["score"] / np.linalg.norm(np.asarray(weight, dtype=np.float64)))
    merged = counts.rename(columns={"name": "word", "value": "count"}).merge(places[["word", "score", "distance"]], on="word")
    merged = merged[merged["distance"].abs() >= distance].sort_values(["count", "word"], ascending=[False, True])
    n = right[right["table"] == "reviews"].groupby("label")["value"].sum()
    parts = []
    for label in n.index:
        part = merged[merged["label"] == label].head(top)
        parts.append(part.assign(count=part["count"].astype(np.int64), share=part["count"] / n[label], n=int(n[label])))
    columns = ["label", "word", "count", "share", "score", "distance", "n"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def leading(frame: pd.DataFrame, vocabulary: pd.DataFrame) -> pd.DataFrame:
    """The vocabulary with `leads`, the number of reviews of the split in which each word leads."""
    counts = frame[frame["table"] == "words"].groupby("name")["value"].sum()
    return vocabulary.assign(leads=vocabulary["word"].map(counts).fillna(0).astype(np.int64))


def per_layer(frame: pd.DataFrame) -> pd.DataFrame:
    """measure, layer (tokens before it; the last is after all), mean, q05, q25, q50, q75, q95 over reviews, n (reviews)."""
    part = frame[frame["table"] == "layers"]
    wide = part.pivot(index=["name", "layer"], columns="statistic", values="value").reset_index().rename(columns={"name": "measure"})
    wide.columns.name = None
    n = int(frame.loc[frame["table"] == "reviews", "value"].sum())
    return wide[["measure", "layer", *STATISTICS]].assign(n=n)


def speed_in_words(run: Run) -> str:
    """Return how far the words of the median review of a surveyed run are clustered after all layers."""
    layers = per_layer(run.frame(FILE))
    steps = int(layers["layer"].max())
    median = layers[layers["layer"] == steps].set_index("measure")["q50"]
    return (
        f"After {steps} layers the words of the median review are at **{median['clusters']:.0f} places**, with"
        f" **{percent(median['at leaders'], 0)} of its words at a leader**."
    )


def distances_in_words(run: Run) -> str:
    """Return how many words lead, and how far those that lead and those that never lead are from the decision line."""
    from sentviz.models.hardmax import HardmaxModel

    model = HardmaxModel.of(run)
    words = leading(run.frame(FILE), model.vocabulary)
    leads, away = words["leads"] > 0, words["score"].abs() / np.linalg.norm(model.decision[0])
    return (
        f"{leads.sum():,} of {len(words):,} words lead at least one review. Their median distance from the decision line is"
        f" {away[leads].median():.2f}; that of words that never lead is {away[~leads].median():.2f}."
    )
