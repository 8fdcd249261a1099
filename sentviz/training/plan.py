"""The plan of a training run: batches of an epoch, times of evaluations, learning rates, and the choice of the best state."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch.nn.functional as F

from sentviz.analysis.evaluation import Evaluation, confusion, from_confusion
from sentviz.io.lazy import torch


def batches(
    lengths: npt.NDArray[np.int64], size: int, seed: int, epoch: int, mixture: Mixture | None = None
) -> list[npt.NDArray[np.int64]]:
    """Return the batches of one epoch, of rows of similar length: shuffled, sorted in pools of 50 batches, shuffled again."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)) if mixture is None else mixture.draw(rng)
    pools = [order[i : i + 50 * size] for i in range(0, len(order), 50 * size)]
    cut = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    parts = [pool[i : i + size] for pool in cut for i in range(0, len(pool), size)]
    return [parts[i] for i in rng.permutation(len(parts))]


class Mixture:
    """Draws the rows of an epoch from a mixture: in total as many as there are, from n rows of a source in proportion to n^(1/T).

    No row is drawn twice before all rows of its source were drawn. Source: the temperature-scaled mixing of Raffel et al. 2020, section
    3.5.2; T = 1 keeps the proportions.
    """

    def __init__(self, sources: npt.NDArray[np.str_], temperature: float) -> None:
        self.rows = [np.flatnonzero(sources == source) for source in np.unique(sources)]
        weights = np.array([len(rows) for rows in self.rows]) ** (1 / temperature)
        exact = weights / weights.sum() * len(sources)
        self.counts = exact.astype(np.int64)
        short = len(sources) - self.counts.sum()
        self.counts[np.argsort(self.counts - exact, kind="stable")[:short]] += 1

    def draw(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return the rows of an epoch, shuffled."""
        drawn = [
            np.concatenate([*[rows] * (count // len(rows)), rng.permutation(rows)[: count % len(rows)]])
            for rows, count in zip(self.rows, self.counts, strict=True)
        ]
        return rng.permutation(np.concatenate(drawn))


def evaluation_due(step: int, steps: int, evaluations: int) -> bool:
    """Return whether to evaluate after a step, counted from 1: evenly, `evaluations` times per `steps` steps, the last at their end."""
    place = step % steps or steps
    return place in {math.ceil(steps * (i + 1) / evaluations) for i in range(evaluations)}


def rate(schedule: str, step: int, total: int, warmup: float) -> float:
    """Return the factor on the learning rate of a step, counted from 0.

    Args:
        schedule: "cosine" or "linear" (both end at 0), or "constant".
        total: steps of the complete training.
        warmup: share of the steps in which the factor rises linearly to 1, at least one step; 0 = none.
    """
    warm = max(1, round(warmup * total)) if warmup else 0
    if step < warm:
        return (step + 1) / warm
    rest = max(1, total - warm)
    if schedule == "linear":
        return (total - step) / rest
    return 1.0 if schedule == "constant" else 0.5 * (1 + math.cos(math.pi * (step - warm) / rest))


# ---- selection


def accuracy(evaluation: Evaluation) -> float:
    """Return the share of rows that are predicted correctly."""
    return float((evaluation.logits.argmax(axis=1) == evaluation.labels).mean())


def scores(evaluation: Evaluation, select: str = "accuracy") -> dict[str, float]:
    """Return accuracy, loss (cross-entropy, nats) and the metric `select`, which may be any metric of the confusion matrix."""
    loss = F.cross_entropy(torch.from_numpy(evaluation.logits), torch.from_numpy(evaluation.labels))
    values = {"accuracy": accuracy(evaluation), "loss": float(loss)}
    if select not in values:
        counts = confusion(evaluation.labels, evaluation.logits.argmax(axis=1).astype(np.int64), evaluation.logits.shape[1])
        values[select] = float(from_confusion(counts[None])[select][0])
    return values


def better(scores: Mapping[str, float], best: Mapping[str, float], select: str) -> bool:
    """Return whether scores are better than the best so far (empty if there is none): by the metric `select`, ties by loss."""
    return not best or _rank(scores, select) > _rank(best, select)


def _rank(scores: Mapping[str, float], select: str) -> tuple[float, float]:
    return (-scores["loss"] if select == "loss" else scores[select], -scores["loss"])
