"""KernelSHAP and LIME of the packages `shap` and `lime`, on our texts: they choose subsets of the words, and we predict these in batches.

    kernel   shap.KernelExplainer   weighted least squares on sampled subsets, without selection of words     Lundberg & Lee 2017
    lime     lime.lime_text         ridge regression on sampled subsets, weighted by their cosine distance    Ribeiro et al. 2016

Both fit the log-odds of the trace's target; absent words are deleted. The packages are the extra `judges`.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.leave_out import spread
from sentviz.analysis.explain.permutation import SAMPLES, longest
from sentviz.analysis.explain.value_function import Doubles, Game, Valued, fitting, numbered
from sentviz.errors import InputError
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

_SEEDED = threading.Lock()  # shap draws from NumPy's global generator, which is put back afterwards


@dataclass(frozen=True, eq=False)
class Fitted:
    """Scores that a package computed."""

    scores: npt.NDArray[np.float32]  # (m,) log-odds
    places: npt.NDArray[np.int64]  # (m,) number of the token's part; each special token has a separate number


def is_installed(package: str) -> bool:
    """Return whether a package can be imported."""
    return find_spec(package) is not None


def kernel_shap(model: Model, trace: Trace) -> Fitted:
    """Return KernelSHAP's values of the words of a text, computed by `shap`."""
    return _fitted(model, trace, kernel_values)


def lime(model: Model, trace: Trace) -> Fitted:
    """Return LIME's weights of the words of a text, computed by `lime`."""
    return _fitted(model, trace, lime_weights)


def kernel_values(game: Valued, n: int, samples: int = SAMPLES, seed: int = 0) -> Doubles:
    """Return KernelSHAP's values of n players (n,) from `samples` subsets; `game` maps coalitions (N, n) to their values (N,)."""
    shap = _package("shap")
    with _SEEDED:
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        try:
            explainer = shap.KernelExplainer(lambda rows: game(rows > 0), np.zeros((1, n)))
            values = explainer.shap_values(np.ones((1, n)), nsamples=samples, l1_reg=0, silent=True)
        finally:
            np.random.set_state(state)  # noqa: NPY002
    return np.asarray(values, dtype=np.float64).reshape(n)


def lime_weights(game: Valued, n: int, samples: int = SAMPLES, seed: int = 0) -> Doubles:
    """Return LIME's weights of n players (n,) from `samples` subsets; `game` maps coalitions (N, n) to their values (N,)."""
    text = _package("lime.lime_text")
    names = [f"w{i}" for i in range(n)]  # LIME removes these names from a line; we predict the text without their parts

    def predict(lines: Sequence[str]) -> Doubles:
        there = [set(line.split()) for line in lines]
        odds = game(np.array([[name in some for name in names] for some in there]))
        return np.stack([-odds, odds], axis=1)

    explainer = text.LimeTextExplainer(split_expression=r"\s+", bow=False, random_state=seed)
    explanation = explainer.explain_instance(" ".join(names), predict, labels=(1,), num_features=n, num_samples=samples)
    weights = np.zeros(n)
    for place, weight in explanation.local_exp[1]:
        weights[place] = weight
    return weights


def _package(name: str) -> Any:
    package = name.partition(".")[0]
    if not is_installed(package):
        raise InputError(f"This explanation is computed by the package {package}: python -m pip install 'sentviz[judges]' installs it.")
    with warnings.catch_warnings():  # their own imports warn
        warnings.simplefilter("ignore")
        return import_module(name)


def _fitted(model: Model, trace: Trace, fit: Callable[[Valued, int], Doubles]) -> Fitted:
    _, players = fitting(model, trace, longest(len(trace.tokens) - trace.padding))
    game, n = Game(model, trace, players), len(players)
    whole = float(np.diff(game(np.array([[False] * n, [True] * n])))[0])
    values = np.array([whole]) if n < 2 else fit(game, n)  # one word has the complete value
    return Fitted(spread(players, values, len(trace.tokens)), numbered(trace, players))
