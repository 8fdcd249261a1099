"""A model on a split: probabilities, pooled vectors, and metrics with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

    from sentviz.datasets import Split
    from sentviz.models.model import Model, Progress

__all__ = ["Evaluation", "confusion", "evaluate", "fit_temperature", "interval", "metrics"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
RESAMPLES = 2_000
SILHOUETTE_SAMPLE = 2_000


@dataclass(frozen=True)
class Evaluation:
    """What a model does with a split. Never the texts: ids, labels, numbers."""

    split: str
    ids: tuple[str, ...]
    labels: Ints  # (N,)
    logits: npt.NDArray[np.float32]  # (N, K)
    pooled: npt.NDArray[np.float32]  # (N, d)
    classes: tuple[str, ...]

    @property
    def probabilities(self) -> npt.NDArray[np.float32]:
        """(N, K)."""
        from sentviz.models.model import softmax

        return softmax(self.logits)

    def frame(self) -> pd.DataFrame:
        """split, id, label and one probability per class: five decimals, where two would be alike the answer's one more in the last."""
        import pandas as pd

        frame = pd.DataFrame({"split": self.split, "id": list(self.ids), "label": self.labels.astype(np.int8)})
        shares, said = self.probabilities.astype(np.float32).round(5), self.probabilities.argmax(axis=1)
        lost = np.flatnonzero(shares.argmax(axis=1) != said)
        shares[lost, said[lost]] = (shares[lost, said[lost]] + np.float32(1e-5)).round(5)
        return frame.assign(**dict(zip(self.classes, shares.T, strict=True)))

    def sample(self, size: int = SILHOUETTE_SAMPLE, seed: int = 0) -> Ints:
        """Row numbers of a seeded sample, in order."""
        rows = np.random.default_rng(seed).permutation(len(self.labels))[:size]
        return np.sort(rows)


def evaluate(model: Model, split: Split, progress: Progress | None = None) -> Evaluation:
    """Run a split through a model."""
    logits, pooled = model.forward(model.read(split.frame), progress=progress)
    return Evaluation(
        split.split,
        tuple(split.frame["id"].astype(str)),
        split.frame["label"].to_numpy(np.int64, copy=True),
        logits,
        pooled,
        tuple(split.labels),
    )


def confusion(labels: Ints, predicted: Ints, classes: int) -> Ints:
    """(K, K) counts, rows = label, columns = prediction."""
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes)


def metrics(evaluation: Evaluation, *, seed: int = 0, resamples: int = RESAMPLES) -> dict[str, Any]:
    """Metrics of a split, each `{value, low, high}` with a 95 % percentile bootstrap interval over its rows, and `n`.

    accuracy; precision, recall and F1 as macro and weighted means and, with two classes, of the positive class; AUC (one-vs-rest, macro,
    for more than two classes); silhouette of the pooled vectors (euclidean, on a stated seeded sample); loss (cross-entropy, nats).
    """
    from sklearn.metrics import silhouette_samples

    rng = np.random.default_rng(seed)
    labels, probabilities = evaluation.labels, evaluation.probabilities.astype(np.float64)
    classes, n = len(evaluation.classes), len(labels)
    counts = confusion(labels, probabilities.argmax(axis=1), classes)
    draws = rng.multinomial(n, counts.ravel() / n, size=resamples).reshape(-1, classes, classes)
    result: dict[str, Any] = {"n": n, "confusion": counts.tolist()}
    values, spread = from_confusion(counts[None]), from_confusion(draws)
    for name, value in values.items():
        result[name] = interval(float(value[0]), spread[name])
    result["auc"] = interval(_auc(labels, probabilities), np.array([_auc_draw(labels, probabilities, rng) for _ in range(200)]))
    losses = -np.log(np.maximum(probabilities[np.arange(n), labels], 1e-12))
    result["loss"] = interval(float(losses.mean()), _mean_draws(losses, rng, resamples))
    rows = evaluation.sample()
    if 1 < len(set(labels[rows])) < len(rows):
        s = silhouette_samples(evaluation.pooled[rows], labels[rows])
        result["silhouette"] = interval(float(s.mean()), _mean_draws(s, rng, resamples)) | {
            "n": len(rows),
            "sample_seed": 0,
        }
    return result


def interval(value: float, draws: Floats) -> dict[str, Any]:
    """`{value, low, high}`: the estimate with the 2.5 % and 97.5 % percentiles of its bootstrap draws."""
    low, high = (np.nan, np.nan) if np.isnan(draws).all() else np.nanpercentile(draws, [2.5, 97.5])
    return {"value": round(value, 5), "low": round(float(low), 5), "high": round(float(high), 5)}


def fit_temperature(logits: npt.NDArray[np.float32], labels: Ints) -> float:
    """The T that minimises the cross-entropy of softmax(logits / T) (Guo et al. 2017); looked for from e⁻³ to e³."""
    from scipy.optimize import minimize_scalar

    z = logits.astype(np.float64)

    def loss(log_t: float) -> float:
        s = z / np.exp(log_t)
        s = s - s.max(axis=1, keepdims=True)
        return float((np.log(np.exp(s).sum(axis=1)) - s[np.arange(len(s)), labels]).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-7}).x))


def from_confusion(counts: Ints) -> dict[str, Floats]:
    """Metrics of (R, K, K) confusion matrices; a class never predicted has precision 0, as in scikit-learn."""
    right = np.diagonal(counts, axis1=1, axis2=2).astype(np.float64)
    support, predicted = counts.sum(axis=2), counts.sum(axis=1)
    precision = right / np.maximum(predicted, 1)
    recall = right / np.maximum(support, 1)
    f1 = 2 * right / np.maximum(support + predicted, 1)
    weight = support / counts.sum(axis=(1, 2))[:, None]
    result = {"accuracy": right.sum(axis=1) / counts.sum(axis=(1, 2))}
    for name, value in (("precision", precision), ("recall", recall), ("f1", f1)):
        result[f"{name}_macro"], result[f"{name}_weighted"] = value.mean(axis=1), (value * weight).sum(axis=1)
        if counts.shape[1] == 2:
            result[f"{name}_positive"] = value[:, 1]
    return result


def _auc(labels: Ints, probabilities: Floats, weights: Floats | None = None) -> float:
    from sklearn.metrics import roc_auc_score

    present = [k for k in range(probabilities.shape[1]) if 0 < (labels == k).sum() < len(labels)]
    if not present:
        return float("nan")
    if probabilities.shape[1] == 2:
        present = [1]
    return float(np.mean([roc_auc_score(labels == k, probabilities[:, k], sample_weight=weights) for k in present]))


def _auc_draw(labels: Ints, probabilities: Floats, rng: np.random.Generator) -> float:
    weights = rng.multinomial(len(labels), np.full(len(labels), 1 / len(labels)))
    kept = weights > 0
    return _auc(labels[kept], probabilities[kept], weights[kept].astype(np.float64))


def _mean_draws(values: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Bootstrap means, in blocks so that memory stays bounded."""
    block = max(1, 2_000_000 // len(values))
    parts = [
        values[rng.integers(0, len(values), size=(min(block, resamples - start), len(values)))].mean(axis=1)
        for start in range(0, resamples, block)
    ]
    return np.concatenate(parts)
