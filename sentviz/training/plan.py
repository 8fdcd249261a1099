"""The plan of a training run: batches of an epoch, when it is evaluated, the rate of each step, which state is the best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from sentviz.analysis.evaluation import confusion, from_confusion

if TYPE_CHECKING:
    from sentviz.analysis.evaluation import Evaluation


def batches(
    lengths: npt.NDArray[np.int64], size: int, seed: int, epoch: int, mixture: Mixture | None = None
) -> list[npt.NDArray[np.int64]]:
    """Length-bucketed batches of one epoch: shuffled, sorted by length within pools of 50 batches, batches shuffled again."""
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(lengths)) if mixture is None else mixture.draw(rng)
    pools = [order[i : i + 50 * size] for i in range(0, len(order), 50 * size)]
    cut = [pool[np.argsort(lengths[pool], kind="stable")] for pool in pools]
    made = [pool[i : i + size] for pool in cut for i in range(0, len(pool), size)]
    return [made[i] for i in rng.permutation(len(made))]


class Mixture:
    """As many rows as there are, drawn from n of each source in proportion to n^(1/T): no row again before all of its source were drawn.

    Source: the temperature-scaled mixing of Raffel et al. 2020, section 3.5.2, T = 1 being the proportions as they are.
    """

    def __init__(self, sources: npt.NDArray[np.str_], temperature: float) -> None:
        self.rows = [np.flatnonzero(sources == source) for source in np.unique(sources)]
        wanted = np.array([len(rows) for rows in self.rows]) ** (1 / temperature)
        exact = wanted / wanted.sum() * len(sources)
        self.counts = exact.astype(np.int64)
        short = len(sources) - self.counts.sum()
        self.counts[np.argsort(self.counts - exact, kind="stable")[:short]] += 1

    def draw(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """The rows of an epoch, shuffled."""
        drawn = [
            np.concatenate([*[rows] * (count // len(rows)), rng.permutation(rows)[: count % len(rows)]])
            for rows, count in zip(self.rows, self.counts, strict=True)
        ]
        return rng.permutation(np.concatenate(drawn))


def evaluation_due(step: int, steps: int, evaluations: int) -> bool:
    """Whether the model is evaluated after a step, counted from 1: `evaluations` times in so many steps, evenly, the last at their end."""
    place = step % steps or steps
    return place in {math.ceil(steps * (i + 1) / evaluations) for i in range(evaluations)}


def rate(schedule: str, step: int, total: int, warmup: float) -> float:
    """The factor on the learning rate of a step, counted from 0.

    Args:
        schedule: cosine or linear, to 0; constant.
        total: steps of the whole training.
        warmup: share of the steps in which the rate rises linearly to 1, at least one; 0 = none.
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
    """The share of rows answered right."""
    return float((evaluation.logits.argmax(axis=1) == evaluation.labels).mean())


def scores(evaluation: Evaluation, select: str = "accuracy") -> dict[str, float]:
    """Accuracy, loss (cross-entropy, nats) and what is selected by: any metric of the confusion matrix."""
    loss = F.cross_entropy(torch.from_numpy(evaluation.logits), torch.from_numpy(evaluation.labels))
    found = {"accuracy": accuracy(evaluation), "loss": float(loss)}
    if select not in found:
        counts = confusion(evaluation.labels, evaluation.logits.argmax(axis=1).astype(np.int64), evaluation.logits.shape[1])
        found[select] = float(from_confusion(counts[None])[select][0])
    return found


def better(scores: Mapping[str, float], best: Mapping[str, float], select: str) -> bool:
    """Whether scores are better than the best so far (empty: there is none): by the metric selected, ties by loss."""
    return not best or _rank(scores, select) > _rank(best, select)


def _rank(scores: Mapping[str, float], select: str) -> tuple[float, float]:
    return (-scores["loss"] if select == "loss" else scores[select], -scores["loss"])
