"""Measure what the claims read: `python -m attention_debate.measure` reads 300 sentences of the test split of SST-2 with four models.

Writes `measured/agreement.csv` and `measured/attention.csv`. For each sentence, attention is the mean over the heads of the last layer of
the row that the classifier reads: that of [CLS], or the mean of all rows. New attention of a head is made by moving its value vectors, the
same for every query: a permutation of the values is a permutation of the weights, and equal values are equal weights.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy import stats
from scipy.special import softmax

from attention_debate.claims import MODELS, SAME
from sentviz import load
from sentviz.analysis.explain import explained
from sentviz.analysis.explain.leave_out import words
from sentviz.data.datasets import load_split
from sentviz.models.model import Model
from sentviz.models.protocol import InterventionTensors, Replacement, Site
from sentviz.runs.store import find
from sentviz.runs.trace import Trace

Floats = npt.NDArray[np.float64]
FOLDER = Path(__file__).parent / "measured"
TEXTS, SEED = 300, 0
SHORTEST = 5  # words; fewer have hardly any order
PERMUTATIONS = 100
METHODS = ("removal", "gradient", "integrated-gradients")


def weights_of(trace: Trace) -> Floats:
    """Return the attention of the last layer that the classifier reads, (n,), the mean over the heads."""
    *_, (_, _, maps, _) = trace.bands()
    rows = maps.mean(axis=0, dtype=np.float64)
    return np.asarray(rows[0] if trace.pooling == "cls" else rows.mean(axis=0))


class Moved:
    """The answers of a model for one text with other attention in some layers."""

    def __init__(self, model: Model, text: str) -> None:
        self.model, self.row = model, model.read(pd.DataFrame({"text": [text]}))[0]

    def probabilities(self, layers: int, make: Callable[[torch.Tensor], torch.Tensor]) -> Floats:
        """Return the probabilities (P, K) with the values of the last `layers` layers replaced by copies of them, layer by layer.

        Args:
            make: from values (P, H, n, size), or (1, H, n, size) in the first of these layers, to (P, H, n, size).
        """
        last = self.model.capabilities.layers
        replaced: dict[Site, tuple[Replacement]] = {}
        count = 1
        for layer in range(last - layers, last):
            record: dict[Site, torch.Tensor] = {}
            self._logits(count, InterventionTensors(replaced=replaced, record=record))
            copies = make(record["value", layer])
            count, heads, n, _ = copies.shape
            at = torch.cartesian_prod(torch.arange(count), torch.arange(heads), torch.arange(n)).T
            replaced["value", layer] = (Replacement(tuple(at), copies.flatten(0, 2)),)
        return np.asarray(torch.softmax(self._logits(count, InterventionTensors(replaced=replaced)).double(), dim=1).numpy())

    def _logits(self, count: int, change: InterventionTensors) -> torch.Tensor:
        with torch.inference_mode():
            return self.model.outputs([self.row] * count, change).logits


def equal_weights(values: torch.Tensor) -> torch.Tensor:
    """Return values (P, H, n, size) that make all weights of a map equal: the mean over the tokens at each of them."""
    return values.mean(dim=2, keepdim=True).expand_as(values)


def of_text(
    model: Model, text: str, label: int, draw: np.random.Generator
) -> tuple[list[dict[str, object]], list[dict[str, object]]] | None:
    """Return what is measured of one sentence: rows of pairs of methods, and rows of changes; None if it has too few words."""
    trace = model.trace(text)
    spans = [list(word.indices) for word in words(trace) if not trace.specials[word.indices[0]]]
    if len(spans) < SHORTEST:
        return None
    trace, attention = explained(model, trace, METHODS), weights_of(trace)
    scores = {"attention": attention} | {name: np.abs(trace.token_scores[name].astype(np.float64)) for name in METHODS}
    by_word = {name: np.array([values[places].mean() for places in spans]) for name, values in scores.items()}
    pairs: list[dict[str, object]] = []
    for first, second in combinations(by_word, 2):
        tau = stats.kendalltau(by_word[first], by_word[second]).statistic
        same_top = int(by_word[first].argmax() == by_word[second].argmax())
        pairs.append({"first": first, "second": second, "tau": tau, "top": same_top, "chance": 1 / len(spans)})
    orders = np.stack([draw.permutation(len(attention)) for _ in range(PERMUTATIONS)])
    moved, before = Moved(model, text), softmax(trace.logits.astype(np.float64))

    def permuted(values: torch.Tensor) -> torch.Tensor:
        return values[0][:, torch.from_numpy(orders)].transpose(0, 1)

    changes: list[dict[str, object]] = []
    for name, layers, make in (
        ("permuted", 1, permuted),
        ("equal", 1, equal_weights),
        ("equal everywhere", len(trace.layer_ids), equal_weights),
    ):
        after = moved.probabilities(layers, make)
        distance = np.abs(after - before).sum(axis=1) / 2
        median = int(np.argsort(distance)[len(distance) // 2])
        changes.append(
            {
                "change": name,
                "distance": float(np.median(distance)),
                "right": int(after[median].argmax() == label),
                "was right": int(before.argmax() == label),
            }
        )
        if name == "permuted":
            new = attention[np.argsort(orders, axis=1)]  # the weight that each token has now
            elsewhere = (new.argmax(axis=1) != attention.argmax()) & (distance <= SAME)
            changes[-1]["other"] = int(elsewhere.any())
    return pairs, changes


def main() -> None:
    """Measure all models and write one row a text: the claims count and average."""
    split = load_split("sst2", "test").frame
    long_enough = split[split["text"].str.count(r"\w+") >= SHORTEST]
    chosen = long_enough.sample(n=TEXTS, random_state=SEED).sort_index()
    every: dict[str, list[dict[str, object]]] = {"agreement": [], "attention": []}
    for name in MODELS:
        run = find(name)
        model, draw = load(run), np.random.default_rng(SEED)
        for place, text, label in zip(chosen.index, chosen["text"], chosen["label"], strict=True):
            measured = of_text(model, text, int(label), draw)
            for table, rows in zip(every, measured or ([], []), strict=True):
                every[table] += [{"run": name, "digest": run.digest, "row": place} | row for row in rows]
        print(f"{name} is measured", flush=True)  # noqa: T201
    FOLDER.mkdir(exist_ok=True)
    for table, rows in every.items():
        pd.DataFrame(rows).to_csv(FOLDER / f"{table}.csv", index=False, float_format="%.3g")


if __name__ == "__main__":
    main()
