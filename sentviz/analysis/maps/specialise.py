"""Measure whether the components A_1 .. A_C specialise: compare their maps over test sentences with chance and with untrained models.

Of each sentence, the special tokens left out and the rows of every map summing to 1 again; means over rows and heads:

    cosine            of the rows of two components, head by head                                        1 = alike
    jensen_shannon    divergence of the same rows, in bits (Lin 1991)                                    0 = alike, 1 = nothing in common
    entropy           of the rows, as a share of the largest possible, log n                             1 = even
    attention         to the words of a class, divided by their share of the tokens                      1 = even

The likeness of component c with itself is that of its different heads: the yardstick for two components.

The difference of the components, the largest minus the smallest of their means, is compared with three baselines:

    shuffled     component labels shuffled within each sentence: the difference of equal components by chance
    untrained    the same configuration before its first step, with several seeds: the difference by random weights
    dealt        the C x H maps of the layer shuffled between components, the same for all sentences: the difference of any two groups of
                 heads, which is not a property of a component
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import bounds, holm, interval
from sentviz.analysis.maps.wordclasses import CLASSES, WordClasses
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, special, torch
from sentviz.io.numbers import number
from sentviz.runs.configs import Capabilities

if TYPE_CHECKING:
    from sentviz.models.model import Model

Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]

FILE = "components.parquet"
LEAST_TOKENS = 5  # tokens of a sentence; shorter ones give attention little choice
RESAMPLES = 2_000
ALPHA = 0.05
COLUMNS = ["measure", "word_class", "layer", "component", "other", "value", "low", "high", "n"]
COLUMNS += ["shuffled_low", "shuffled_high", "p", "p_holm", "dealt_low", "dealt_high", "p_dealt"]
COLUMNS += ["untrained", "untrained_low", "untrained_high", "p_untrained"]


def lacks(has: Capabilities) -> str:
    """Return why the components of a model cannot be measured, as a predicate; "" if they can."""
    return "" if has.components > 1 else f"has {has.attention}: there are no components to compare"


def over_split(
    model: Model,
    texts: Sequence[str],
    classes: WordClasses,
    *,
    sample: int = 300,
    seed: int = 0,
    inits: int = 20,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Every measure of every component over a seeded sample of texts of at least LEAST_TOKENS tokens, with its baselines.

    Args:
        inits: untrained models to compare with.
        progress: called with (done, total) after each sentence of each model.
    Frame:
        measure, word_class ("" but for attention), layer, component, other (the second component of a likeness, -1 elsewhere), value, low,
        high (95 % percentile bootstrap over sentences), n (sentences; of a class those that have such a word). Component -1 is what the
        components differ by, largest minus smallest.
        shuffled_low, shuffled_high, dealt_low, dealt_high: 95 % of the values under that baseline; NaN for likeness, which neither changes.
        untrained, untrained_low, untrained_high: mean, smallest and largest of `inits` untrained models.
        p (shuffled), p_holm (the same for the number of differences tested), p_dealt: of differences. p_untrained: the share of untrained
        models, the trained one counted with them, that differ as much or are as unlike. inits, lexicon, seed.
    """
    if why := lacks(model.capabilities):
        raise InputError(f"{model.name} {why}.")
    chosen: list[tuple[str, Bools]] = []
    for place in np.random.default_rng(seed).permutation(len(texts)):
        encoded = model.encode(texts[place])
        if int((~encoded.specials).sum()) >= LEAST_TOKENS:
            chosen.append((texts[place], classes.members(texts[place], encoded)))
        if len(chosen) == sample:
            break
    if not chosen:
        raise InputError(f"None of the texts has {LEAST_TOKENS} tokens.")
    total = len(chosen) * (1 + inits)

    def measured(network: Model, before: int) -> _Measured:
        return _measure(network, chosen, lambda done: progress(before + done, total) if progress is not None else None)

    own = measured(model, 0)
    fresh = [_means(measured(untrained(model, seed + k), (1 + k) * len(chosen))) for k in range(inits)]
    return _table(own, fresh, seed).assign(inits=inits, lexicon=classes.lexicon, seed=seed)


def untrained(model: Model, seed: int) -> Model:
    """The same configuration and tokenizer before the first step of training."""

    from sentviz.models.model import Model

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = type(model.network)(model.config)
    return Model(f"{model.name}, untrained", network, model.tokenizer, model.labels, cls=model.cls, tagger=model.tagger)


def differences(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the table on what the components differ by, one per habit."""
    cells = frame[frame["component"] == -1]
    if cells.empty:
        raise InputError("The table of components is incomplete. `sentviz specialise` measures it again.")
    return cells


def beyond_baselines(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the `differences` that are larger than shuffled labels, shuffled heads and, if there are any, untrained models give."""
    cells = differences(frame)
    fresh = (cells["value"] > cells["untrained_high"]) | (cells["inits"] == 0)
    return cells[(cells["p_holm"] < ALPHA) & (cells["p_dealt"] < ALPHA) & fresh]


def deals(components: int, heads: int) -> int:
    """Return in how many ways the heads of a layer can be dealt to its components; 1 / this number is the smallest p of a deal."""
    from math import factorial

    alike = int(factorial(heads) ** components) * factorial(components)
    return factorial(components * heads) // alike


def head_by_head(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the cosine of two components, head by head, and that of two heads of one component; both are means over layers.

    The second is NaN for a single head.
    """
    cosines = frame[frame["measure"] == "cosine"]
    same = cosines["component"] == cosines["other"]
    return float(cosines.loc[~same, "value"].mean()), float(cosines.loc[same, "value"].mean())


def layers_apart(frame: pd.DataFrame) -> tuple[int, int]:
    """Return in how many layers all components are less alike, head by head, than two heads of one component, and the number of layers.

    Less alike: the 95 % interval of each cosine of two components lies below those of two heads of each component.
    """
    cosines = frame[frame["measure"] == "cosine"]
    apart = [
        bool(rows.loc[rows["component"] != rows["other"], "high"].max() < rows.loc[rows["component"] == rows["other"], "low"].min())
        for _, rows in cosines.groupby("layer")
    ]
    return sum(apart), len(apart)


def verdict(frame: pd.DataFrame) -> list[str]:
    """Return the result of the table as sentences; the first sentence is the main result."""
    cells, passed = differences(frame), beyond_baselines(frame)
    n, inits = len(cells), int(cells["inits"].max())
    chance, dealt = cells["p_holm"] < ALPHA, cells["p_dealt"] < ALPHA
    fresh = cells["value"] > cells["untrained_high"]
    passed = passed.assign(habit=passed["word_class"].where(passed["word_class"] != "", "entropy"))
    habits_by_layer = [f"layer {int(str(layer)) + 1}: {', '.join(rows['habit'])}" for layer, rows in passed.groupby("layer")]
    layers_passed = f" ({'; '.join(habits_by_layer)})" if habits_by_layer else ""
    lines = [
        f"The components differ beyond every baseline in {len(passed)} of {n} habits{layers_passed}.",
        f"Labels shuffled within each sentence: the components differ by more in {int(chance.sum())} of {n} habits (p < {ALPHA}, Holm).",
    ]
    if inits:
        lines.append(f"{inits} untrained models: the components differ by more than in any of them in {int(fresh.sum())} of {n} habits.")
    lines.append(
        f"Heads shuffled randomly between components: they differ by more than in 95 % of the shuffles in {int(dealt.sum())} of {n}"
        f" habits; chance alone would give up to {ALPHA * n:.1f}."
    )
    return [*lines, _likeness_said(frame)]


def _likeness_said(frame: pd.DataFrame) -> str:
    cosines = frame[frame["measure"] == "cosine"]
    parts = []
    for layer, rows in cosines.groupby("layer"):
        between = rows[rows["component"] != rows["other"]]
        heads = rows.loc[rows["component"] == rows["other"], "value"].mean()
        untrained = between["untrained"].mean()
        beside = [f"{number(value)} between {of}" for value, of in ((heads, "heads of one component"), (untrained, "untrained components"))]
        known = [text for text, value in zip(beside, (heads, untrained), strict=True) if np.isfinite(value)]
        parts.append(f"{number(between['value'].mean())} in layer {int(str(layer)) + 1}" + (f" ({', '.join(known)})" if known else ""))
    return f"Cosine between two components: {'; '.join(parts)}."


# ---- one sentence


@dataclass(frozen=True, eq=False)
class _Measured:
    """Measures of N sentences."""

    likeness: Doubles  # (N, 2, L, C, C) cosine and Jensen-Shannon divergence
    habits: Doubles  # (N, 1 + K, L, C, H) entropy and the K word classes


def _likeness(maps: Doubles) -> Doubles:
    """(L, C, H, n, m) -> (2, L, C, C), upper triangle with the diagonal."""
    layers, components, heads = maps.shape[:3]
    norms, entropies = np.linalg.norm(maps, axis=-1), special.entr(maps).sum(axis=-1)
    likeness = np.full((2, layers, components, components), np.nan)
    first, second = np.triu_indices(heads, 1)
    same = np.arange(heads)
    for c, d in combinations_with_replacement(range(components), 2):
        i, j = (same, same) if c < d else (first, second)
        if not len(i):
            continue
        left, right = maps[:, c, i], maps[:, d, j]
        cosine = (left * right).sum(axis=-1) / (norms[:, c, i] * norms[:, d, j])
        both = special.entr((left + right) / 2).sum(axis=-1) - (entropies[:, c, i] + entropies[:, d, j]) / 2
        likeness[0, :, c, d], likeness[1, :, c, d] = cosine.mean(axis=(1, 2)), both.mean(axis=(1, 2)) / np.log(2)
    return likeness


def _habits(maps: Doubles, members: Bools) -> Doubles:
    """(L, C, H, n, m) and (K, m) -> (1 + K, L, C, H)."""
    entropy = special.entr(maps).sum(axis=-1).mean(axis=-1) / np.log(maps.shape[-1])
    shares = members.mean(axis=1)
    received = np.einsum("lchm,km->klch", maps.mean(axis=-2), members.astype(np.float64))
    even = np.where(shares > 0, shares, np.nan)[:, None, None, None]
    return np.concatenate([entropy[None], received / even])


def _measure(model: Model, texts: Sequence[tuple[str, Bools]], tick: Callable[[int], object]) -> _Measured:
    """Texts with the members of their classes, one at a time: only numbers are kept."""
    likeness, habits = [], []
    for done, (text, members) in enumerate(texts, start=1):
        trace = model.trace(text)
        assert trace.components is not None
        words = np.flatnonzero(~trace.specials)
        maps = trace.components[..., words[:, None], words].astype(np.float64)
        maps /= maps.sum(axis=-1, keepdims=True)
        likeness.append(_likeness(maps))
        habits.append(_habits(maps, members[:, words]))
        tick(done)
    return _Measured(np.stack(likeness), np.stack(habits))


# ---- over sentences


def _means(measured: _Measured) -> tuple[Doubles, Doubles]:
    """(2, L, C, C) and (1 + K, L, C)."""
    return _mean(measured.likeness), _mean(measured.habits.mean(axis=-1))


def _mean(values: Doubles, weights: Doubles | None = None) -> Doubles:
    """Means over axis 0 without NaN, or (R, ..) under (R, N) weights; NaN where nothing is known."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0)
    if weights is None:
        total, counts = filled.sum(axis=0), known.sum(axis=0).astype(np.float64)
    else:
        total, counts = (np.tensordot(weights, part, axes=1) for part in (filled, known.astype(np.float64)))
    means: Doubles = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    return means


def _spread(means: Doubles) -> Doubles:
    """Largest minus smallest over the last axis."""
    return np.asarray(means.max(axis=-1) - means.min(axis=-1))


def _shuffled(habits: Doubles, rng: np.random.Generator) -> Doubles:
    """(R, M, L, C) means of (N, M, L, C) habits when the labels of each sentence are shuffled."""
    n, components = len(habits), habits.shape[-1]
    known = ~np.isnan(habits)
    by_label, counts = np.where(known, habits, 0).transpose(0, 3, 1, 2), known.sum(axis=0)
    rows, labels = np.arange(n)[:, None], np.tile(np.arange(components), (n, 1))
    sums = np.stack([by_label[rows, rng.permuted(labels, axis=1)].sum(axis=0).transpose(1, 2, 0) for _ in range(RESAMPLES)])
    return np.asarray(sums / np.where(counts > 0, counts, np.nan), dtype=np.float64)


def _dealt(heads: Doubles, rng: np.random.Generator) -> Doubles:
    """(R, M, L, C) means of (M, L, C, H) heads when they are dealt to the components at random."""
    components, size = heads.shape[-2:]
    deals = rng.permuted(np.tile(np.arange(components * size), (RESAMPLES, 1)), axis=1)
    flat = heads.reshape(*heads.shape[:2], -1)[..., deals]
    return np.moveaxis(flat.reshape(*flat.shape[:3], components, size).mean(axis=-1), 2, 0)


def _share(draws: Doubles, value: float) -> float:
    """The share of draws at least as large, the observed one counted with them."""
    return float((1 + (draws >= value - 1e-12).sum()) / (1 + len(draws)))


def _against_untrained(fresh: Doubles) -> dict[str, float]:
    if not len(fresh):
        return dict.fromkeys(("untrained", "untrained_low", "untrained_high"), float("nan"))
    return {"untrained": float(fresh.mean()), "untrained_low": float(fresh.min()), "untrained_high": float(fresh.max())}


def _table(own: _Measured, fresh: Sequence[tuple[Doubles, Doubles]], seed: int) -> pd.DataFrame:

    n = len(own.likeness)
    resampled = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    likeness, habits = ([pair[part] for pair in fresh] for part in (0, 1))
    rows = [
        *_likeness_rows(own.likeness, resampled, np.array(likeness).reshape(-1, *own.likeness.shape[1:])),
        *_habit_rows(own.habits, resampled, np.array(habits).reshape(-1, *own.habits.shape[1:-1]), seed),
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    tested = frame["p"].dropna()
    frame.loc[tested.index, "p_holm"] = list(holm({str(i): p for i, p in tested.items()}).values())
    return frame


def _likeness_rows(likeness: Doubles, resampled: Doubles, fresh: Doubles) -> Iterator[dict[str, Any]]:
    means, draws = _mean(likeness), _mean(likeness, resampled)
    components = means.shape[-1]
    for (k, measure), layer in product(enumerate(("cosine", "jensen_shannon")), range(means.shape[1])):
        for c, d in combinations_with_replacement(range(components), 2):
            at = (k, layer, c, d)
            if np.isnan(means[at]):
                continue
            base, sign = fresh[:, *at], (-1, 1)[k]  # less alike: a smaller cosine, a larger divergence
            yield {
                "measure": measure,
                "word_class": "",
                "layer": layer,
                "component": c,
                "other": d,
                **interval(float(means[at]), draws[:, *at]),
                "n": len(likeness),
                **_against_untrained(base),
                "p_untrained": _share(sign * base, sign * float(means[at])) if len(base) else np.nan,
            }


def _habit_rows(by_head: Doubles, resampled: Doubles, fresh: Doubles, seed: int) -> Iterator[dict[str, Any]]:
    habits = by_head.mean(axis=-1)
    means, draws, counts = _mean(habits), _mean(habits, resampled), (~np.isnan(habits)).sum(axis=0)
    rng = np.random.default_rng(seed)
    shuffled, dealt = _shuffled(habits, rng), _dealt(_mean(by_head), rng)
    for k, layer in product(range(means.shape[0]), range(means.shape[1])):
        at = (k, layer)
        if not counts[at].all():
            continue
        for c in range(-1, means.shape[-1]):
            pick = _spread if c < 0 else partial(np.take, indices=c, axis=-1)
            value, chance, deals, base = (pick(part) for part in (means[at], shuffled[:, *at], dealt[:, *at], fresh[:, *at]))
            line = {
                "measure": "attention" if k else "entropy",
                "word_class": CLASSES[k - 1] if k else "",
                "layer": layer,
                "component": c,
                "other": -1,
                **interval(float(value), pick(draws[:, *at])),
                "n": int(counts[at].max()),
                **dict(zip(("shuffled_low", "shuffled_high"), bounds(chance), strict=True)),
                **dict(zip(("dealt_low", "dealt_high"), bounds(deals), strict=True)),
                **_against_untrained(base),
            }
            if c < 0:
                line |= {"p": _share(chance, float(value)), "p_dealt": _share(deals, float(value))}
                line["p_untrained"] = _share(base, float(value)) if len(base) else np.nan
            yield line
