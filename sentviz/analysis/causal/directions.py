"""The direction in which a model writes a class: found in five ways at each depth, taken away, and added.

Row vectors x (`sentviz.analysis.causal.states`) of rows of two sides give unit vectors u, which point from side 0 to side 1:

    difference    mean of side 1 minus mean of side 0
    logistic      weights of a logistic regression
    pca           first principal component of all rows
    kmeans        difference of the two centres that k-means finds; labels only order them, as for pca
    lda           linear discriminant analysis, with the covariance of Ledoit and Wolf

Taking a direction away sets the component of each state to the mean of the rows: x - u u . (x - m). LEACE (Belrose et al. 2023, arXiv
2306.03819, theorem 4.3) erases a concept with the smallest change. For two sides its projection has rank one:

    x - s (w . (x - m)) / (w . s),     s = difference of means, w = C^-1 s, C = covariance of all rows

C needs many rows: with about one row per dimension, the accuracy that is left depends on how C is shrunk. LEACE is left out of a
measurement with fewer than `ROWS_OF_LEACE` rows per dimension.

Adding is called steering: x + t u, of which the norm t is stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.causal.states import EVERY, LEAST, PLACES, Floats, Texts, check, halves, moved_sides, places, poles, states
from sentviz.analysis.evaluation import bounds, mean_draws, wilson
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, torch
from sentviz.runs.calibration import softmax

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.protocol import Shift

WAYS: Mapping[str, str] = {
    "difference": "difference of means",
    "logistic": "logistic regression",
    "pca": "first principal component",
    "kmeans": "k-means",
    "lda": "discriminant analysis",
}
ERASED: Mapping[str, str] = {**WAYS, "leace": "LEACE", "random": "random directions"}
DEEP = 4  # layers above which a model is measured at three depths and on fewer rows
ROWS = {False: (600, 300), True: (400, 200)}  # rows for directions and rows for measurements, of shallow and of deep models
SHORT = 30  # words of a text for deep models at most, if there are enough such texts
RANDOM = 20  # random directions
ROWS_OF_LEACE = 10  # rows per dimension that LEACE needs, since it inverts a covariance
ELSEWHERE = ("difference", "leace")  # directions that are taken away at some tokens only
FEW = 5  # random directions at every depth of a deep model, for which all its layers are run again
RESAMPLES = 2_000
FARTHEST = 100.0  # largest norm of an added vector, as a multiple of the mean norm of the states


def directions(
    model: Model,
    frame: pd.DataFrame | None = None,
    *,
    fit: int = 0,
    sample: int = 0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Directions:
    """Find the direction between the two sides of a model's classes at every depth.

    Args:
        frame: rows with text, [text_pair], label (numbers of the model's classes); by default the test rows of the run's data set.
        fit, sample: rows from which directions are found, and other rows on which they are measured; 0 = by the model's size.
        progress: called with finished and total rows.
    Raises:
        DataMissingError: the data set is not installed.
    """
    check(model)
    poles(model.labels, model.name)
    if frame is None:
        from sentviz.data.datasets import rows_of_recipe
        from sentviz.runs.store import find

        frame = rows_of_recipe(find(model.name).config["recipe"], "test").frame
    deep = model.capabilities.layers > DEEP
    fits, measures = ROWS[deep]
    first, second = halves(model, frame, fit or fits, sample or measures, seed, SHORT if deep else 0)
    total = len(first) + len(second)
    rows, _ = states(model, first, progress=_within(progress, 0, total))
    measured_rows, _ = states(model, second, progress=_within(progress, len(first), total))
    return Directions(model, first, second, rows, measured_rows, seed)


def _within(progress: Progress | None, start: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(start + done, total)


@dataclass(eq=False)
class Directions:
    """Directions between the two sides at every depth, and the rows that they were found on and are measured on."""

    model: Model
    fitted: Texts
    measured: Texts
    rows: Floats  # (L + 1, N, d) row vectors of `fitted`
    measured_rows: Floats  # (L + 1, M, d) row vectors of `measured`
    seed: int
    _found: dict[tuple[str, int], Floats] = field(default_factory=dict, repr=False)

    @property
    def sides(self) -> tuple[str, str]:
        """Names of side 0 and side 1."""
        of_class = poles(self.model.labels, self.model.name)
        first, second = (" or ".join(name for name, of in zip(self.model.labels, of_class, strict=True) if of == side) for side in (0, 1))
        return first, second

    @property
    def depths(self) -> range:
        """Depths from the embedding, 0, to the last layer."""
        return range(len(self.rows))

    @property
    def some_depths(self) -> list[int]:
        """Depths that are measured by default: all of a shallow model, a third, two thirds and the end of a deep one."""
        layers = len(self.rows) - 1
        return list(self.depths) if layers <= DEEP else sorted({round(layers / 3), round(2 * layers / 3), layers})

    def at(self, way: str, depth: int) -> Floats:
        """Return a direction as a unit vector (d,), from side 0 to side 1."""
        if way not in WAYS:
            raise InputError(f"There is no direction {way!r}; there are {', '.join(WAYS)}.")
        self._check_depth(depth)
        if (way, depth) not in self._found:
            x, side = self.rows[depth], self.fitted.side
            apart = x[side == 1].mean(axis=0) - x[side == 0].mean(axis=0)
            vector = _WAYS[way](x, side, self.seed)
            length = float(np.linalg.norm(vector))
            if not length > 0 or not np.isfinite(length):
                raise InputError(f"At depth {depth} of {self.model.name}, all rows have the same state, so there is no direction.")
            self._found[way, depth] = vector / length * (1.0 if vector @ apart >= 0 else -1.0)
        return self._found[way, depth]

    def _check_depth(self, depth: int) -> None:
        if depth not in self.depths:
            raise InputError(f"There is no depth {depth} in {self.model.name}: 0 is the embedding, {len(self.rows) - 1} the last layer.")

    # ---- agreement

    def cosines(self, depth: int) -> pd.DataFrame:
        """Return the cosine of each pair of directions at a depth, (5, 5)."""
        vectors = np.stack([self.at(way, depth) for way in WAYS])
        return pd.DataFrame(vectors @ vectors.T, index=list(WAYS), columns=list(WAYS))

    def projected(self, way: str, depth: int) -> Floats:
        """Return the measured rows along a direction, (M,), scaled so that the means of the fitted rows are -1 and 1."""
        along, side = self.rows[depth] @ self.at(way, depth), self.fitted.side
        low, high = along[side == 0].mean(), along[side == 1].mean()
        return np.asarray((self.measured_rows[depth] @ self.at(way, depth) - (low + high) / 2) / max((high - low) / 2, 1e-12))

    def separated(self, way: str, depth: int) -> float:
        """Return the share of measured rows that lie on the side of their label, with the middle of the two fitted means as the border."""
        return float(np.mean((self.projected(way, depth) > 0) == (self.measured.side == 1)))

    # ---- removal

    def erase(self, way: str, depth: int, rng: np.random.Generator | None = None) -> Shift:
        """Return the move that takes a direction away at a depth: one of `ERASED`; a random direction needs `rng`."""

        from sentviz.models.protocol import Shift

        self._check_depth(depth)
        x, side = self.rows[depth], self.fitted.side
        if way == "leace":
            if why := too_few_for_leace(*x.shape):
                raise InputError(why)
            by, along = leace(x, side)
        elif way == "random":
            assert rng is not None
            by = rng.normal(size=x.shape[1])
            by = along = by / np.linalg.norm(by)
        else:
            by = along = self.at(way, depth)
        goal = float(along @ x.mean(axis=0))
        return Shift(torch.from_numpy(by).float(), torch.from_numpy(along).float(), goal)

    def removal(
        self,
        depths: Sequence[int] = (),
        ways: Sequence[str] = tuple(ERASED),
        where: Sequence[str] = tuple(PLACES),
        *,
        random: int = RANDOM,
        elsewhere: Sequence[str] = ELSEWHERE,
        progress: Progress | None = None,
    ) -> pd.DataFrame:
        """Take directions away, and return the accuracy of the measured rows.

        Args:
            depths: by default `some_depths` and `EVERY`, which takes away the direction of each depth at this depth.
            ways: of `ERASED`; LEACE is left out if `too_few_for_leace`. where: of `PLACES`; places that no text has are left out.
            random: random directions, at all tokens only. elsewhere: ways at other places and, of a deep model, at `EVERY`.
            progress: called with finished and total rows.
        Frame:
            measure ("accuracy" or "lost", the share of the accuracy above 50 % that is lost), depth, name (a way or "unchanged"), place,
            value, low, high, n. Intervals are over rows, Wilson's or paired bootstrap; of random directions the 95 % of directions.
        """
        depths = list(depths) or [*self.some_depths, EVERY]
        for kind, wanted, known in (("direction", ways, ERASED), ("place", where, PLACES)):
            if unknown := [name for name in wanted if name not in known]:
                raise InputError(f"There is no {kind} {unknown[0]!r}; there are {', '.join(known)}.")
        if too_few_for_leace(*self.rows.shape[1:]):
            ways = [way for way in ways if way != "leace"]
        masks_of = places(self.measured)
        rng = np.random.default_rng(self.seed)
        moves: dict[str, Mapping[int, Shift]] = {"unchanged": {}}
        masks: dict[str, Any] = {"unchanged": None}
        jobs: list[tuple[str, int, str, str]] = []
        for depth in depths:
            for place in (name for name in where if name in masks_of):
                short = depth == EVERY and len(self.rows) - 1 > DEEP
                allowed = (*elsewhere, *["random"] * (place == "all")) if short or place != "all" else ways
                for way in (way for way in ways if way in allowed):
                    number = 1 if way != "random" else min(random, FEW) if short else random
                    for i in range(number):
                        key = f"{depth} {place} {way} {i}"
                        moves[key] = {each: self.erase(way, each, rng) for each in (self.depths if depth == EVERY else [depth])}
                        masks[key] = None if place == "all" else masks_of[place]
                        jobs.append((key, depth, place, way))
        predicted = moved_sides(self.model, self.measured, moves, masks, progress)
        right = {key: side == (self.measured.side == 1) for key, side in predicted.items()}
        return self._table(right, jobs)

    def _table(self, right: Mapping[str, Any], jobs: Sequence[tuple[str, int, str, str]]) -> pd.DataFrame:
        before, n = right["unchanged"].astype(float), len(self.measured)
        low, high = (float(end) for end in wilson(before.sum(), n))
        table: list[tuple[str, int, str, str, float, float, float]] = [
            ("accuracy", EVERY, "unchanged", "all", before.mean(), low, high),
        ]
        grouped: dict[tuple[int, str, str], list[str]] = {}
        for key, depth, place, way in jobs:
            grouped.setdefault((depth, place, way), []).append(key)
        for (depth, place, way), keys in grouped.items():
            after = np.stack([right[key] for key in keys]).astype(float)
            if way == "random":
                accuracies = after.mean(axis=1)
                lost = _lost(before.mean(), accuracies)
                rows = [("accuracy", accuracies), ("lost", lost)]
                table += [(measure, depth, way, place, values.mean(), *bounds(values)) for measure, values in rows]
                continue
            low, high = (float(end) for end in wilson(after.sum(), n))
            draws = mean_draws(np.stack([before, after[0]], axis=1), np.random.default_rng(self.seed), RESAMPLES)
            table.append(("accuracy", depth, way, place, after.mean(), low, high))
            table.append(("lost", depth, way, place, float(_lost(before.mean(), after.mean())), *bounds(_lost(draws[:, 0], draws[:, 1]))))
        columns = ["measure", "depth", "name", "place", "value", "low", "high"]
        return pd.DataFrame(table, columns=columns).assign(n=n)

    # ---- steering

    @cached_property
    def norms(self) -> Floats:
        """Mean norm of the row vectors at each depth, (L + 1,)."""
        return np.asarray(np.linalg.norm(self.rows, axis=2).mean(axis=1))

    def apart(self, way: str, depth: int) -> float:
        """Return the distance of the two means along a direction: the norm that moves a row from one side to the other."""
        along = self.rows[depth] @ self.at(way, depth)
        return float(along[self.fitted.side == 1].mean() - along[self.fitted.side == 0].mean())

    def steer(
        self, text: str, depth: int, norms: Sequence[float], text_pair: str | None = None, *, way: str = "difference"
    ) -> pd.DataFrame:
        """Add a direction to all tokens of a text at a depth, and return what the model then predicts.

        Args:
            norms: norms of the added vector; negative ones point to side 0.
        Frame:
            norm, share (of the mean norm of the states), label, one probability per class.
        """

        from sentviz.models.batched_replacements import logits_of_copies
        from sentviz.models.protocol import Replacement

        u, mean = torch.from_numpy(self.at(way, depth)).float(), float(self.norms[depth])
        steps = np.asarray(norms, dtype=np.float64)
        if not np.isfinite(steps).all() or (np.abs(steps) > FARTHEST * mean).any():
            worst = steps[~np.isfinite(steps)] if not np.isfinite(steps).all() else steps[np.abs(steps).argmax()][None]
            raise InputError(
                f"A vector of norm {abs(float(worst[0])):g} is too long to be added: states at depth {depth} of {self.model.name} have a"
                f" mean norm of {mean:.3g}, and at most {FARTHEST:g} times as much is added, {FARTHEST * mean:.3g}."
            )
        trace = self.model.trace(text, text_pair, maps=False)
        assert trace.hidden is not None
        x, n = torch.from_numpy(trace.hidden[depth].copy()), len(trace.tokens)
        values = x[None] + torch.from_numpy(steps).float()[:, None, None] * u
        copies = torch.arange(len(steps)).repeat_interleave(n)
        replaced = {("state", depth): Replacement((copies, torch.arange(n).repeat(len(steps))), values.reshape(-1, x.shape[1]))}
        logits = logits_of_copies(self.model, trace, replaced, len(steps)).float().numpy()[1:]
        shares = softmax(logits, trace.calibration)
        return pd.DataFrame(
            {"norm": steps, "share": np.abs(steps) / mean, "label": [trace.labels[i] for i in shares.argmax(axis=1)]}
            | {label: shares[:, k] for k, label in enumerate(trace.labels)}
        )


def _lost(before: Any, after: Any) -> Any:
    """Return the share of the accuracy above 50 % that is lost; 0 if there is none."""
    above = np.asarray(before) - 0.5
    return np.where(above > 0, (np.asarray(before) - np.asarray(after)) / np.where(above > 0, above, 1), 0.0)


# ---- ways; each takes row vectors (N, d), sides (N,) and a seed, and returns a vector (d,) of any length and sign


def _difference(x: Floats, side: Any, _: int) -> Floats:
    return np.asarray(x[side == 1].mean(axis=0) - x[side == 0].mean(axis=0))


def _logistic(x: Floats, side: Any, _: int) -> Floats:
    from sklearn.linear_model import LogisticRegression

    centred = x - x.mean(axis=0)
    scale = centred.std() or 1.0
    return np.asarray(LogisticRegression(max_iter=1_000).fit(centred / scale, side).coef_[0])


def _pca(x: Floats, _: Any, seed: int) -> Floats:
    from sklearn.decomposition import PCA

    return np.asarray(PCA(1, random_state=seed).fit(x).components_[0])


def _kmeans(x: Floats, _: Any, seed: int) -> Floats:
    from sklearn.cluster import KMeans

    first, second = KMeans(2, n_init=10, random_state=seed).fit(x).cluster_centers_
    return np.asarray(second - first)


def _lda(x: Floats, side: Any, _: int) -> Floats:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return np.asarray(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, side).coef_[0])


_WAYS: Mapping[str, Callable[[Floats, Any, int], Floats]] = {
    "difference": _difference,
    "logistic": _logistic,
    "pca": _pca,
    "kmeans": _kmeans,
    "lda": _lda,
}


def too_few_for_leace(rows: int, width: int) -> str:
    """Return in a sentence why this number of rows is too small for LEACE; "" if it is large enough."""
    if rows >= ROWS_OF_LEACE * width:
        return ""
    return (
        f"LEACE is not shown: it inverts a covariance, which needs at least {ROWS_OF_LEACE} rows for each of the {width:,} dimensions, but"
        f" the directions were found on {rows:,} rows."
    )


def leace(x: Floats, side: Any) -> tuple[Floats, Floats]:
    """Return the two vectors (d,) of LEACE's projection for two sides, x - by (along . (x - mean)), where by . along = 1.

    The covariance is that of Ledoit and Wolf, so that it has an inverse. With any covariance, no linear function of the erased rows
    differs between the means of the two sides.
    """
    from sklearn.covariance import ledoit_wolf

    by = _difference(x, side, 0)
    along = np.linalg.solve(ledoit_wolf(x)[0], by)
    return by, along / (along @ by)


__all__ = ["ERASED", "EVERY", "LEAST", "PLACES", "WAYS", "Directions", "directions", "leace"]
