"""Probabilities: softmax of logits at the temperature that a run was calibrated with."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

LEAST = 5e-6  # stored probabilities have five decimals: a stored 0 counts as half of the last decimal


def softmax(logits: npt.NDArray[np.floating[Any]], temperature: float = 1.0) -> npt.NDArray[np.float32]:
    """Return the softmax of logits / temperature over the last axis, computed without overflow."""
    e = np.exp((logits - logits.max(axis=-1, keepdims=True, initial=-np.inf)) / temperature)  # no class is possible, too
    return np.asarray(e / e.sum(axis=-1, keepdims=True), dtype=np.float32)


def tempered(probabilities: npt.NDArray[np.float64], temperature: float, least: float = LEAST) -> npt.NDArray[np.float64]:
    """Return softmax(log p / T) of probabilities (n, K); a probability below `least` counts as `least`. This calibrates stored ones."""
    if temperature == 1:
        return probabilities
    logs = np.log(np.maximum(probabilities, least)) / temperature
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), dtype=np.float64)


def untempered(probabilities: npt.NDArray[np.float64], temperature: float) -> npt.NDArray[np.float64]:
    """Return the raw probabilities (n, K) of probabilities at a temperature, the inverse of `tempered`."""
    return tempered(probabilities, 1 / temperature, np.finfo(np.float64).tiny)
