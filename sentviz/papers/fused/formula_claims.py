"""Claims of Sentiment-Fused Attention on its formulas, in random attention, and on its lexicon, in data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sentviz.analysis.claim import Board, Finding, not_testable, settled, strictest_finding
from sentviz.io.numbers import percent
from sentviz.papers.fused import coverage, tables
from sentviz.papers.fused.study import DATASETS
from sentviz.papers.studies.judging import needed
from sentviz.runs.store import Run

Floats = npt.NDArray[np.float64]
OF_FIGURE_4 = "figure 4 counts the paper's own lexicon with the tokenizers of its five encoders. In ours, with KNU:"
COMMON = 0.1  # share from which on something is common
SIMULATED = 60  # random cases
BOARD = Board(DATASETS)
proved = partial(BOARD.claim, against="simulated runs", kind="theorem", where="ours")
of_product = partial(proved, section="method", figure="product-and-sum")
of_figure_4 = partial(
    BOARD.claim, against="data sets", kind="counted", where="section 4.5, figure 4", section="coverage", figure="coverage-tokenizers"
)


def _softmax(scores: Floats) -> Floats:
    """Return the softmax of each row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def raised(seed: int = 0, trials: int = 10 * SIMULATED) -> tuple[Floats, Floats, Floats]:
    """Return what a larger similarity of one pair does to its attention weight, in random attention.

    Returns:
        (trials,) scores of the pair, changes of its weight under Xia et al.'s product, and changes under the sum.
    """
    rng = np.random.default_rng(seed)
    scores, product, added = np.empty(trials), np.empty(trials), np.empty(trials)
    for k in range(trials):
        row = rng.normal(size=int(rng.integers(5, 40)))
        similar = rng.uniform(0, 0.7, size=len(row))
        more = similar.copy()
        more[0] += rng.uniform(0.05, 0.3)
        scores[k] = row[0]
        product[k], added[k] = (
            _softmax(inject(row, more)[None])[0, 0] - _softmax(inject(row, similar)[None])[0, 0] for inject in (np.multiply, np.add)
        )
    return scores, product, added


@of_product("9a5d17", "Where a score is negative, Xia et al.'s product lowers the weight of a more similar pair, and the sum does not",
    "Negative scores turn the product around", where="section 3.1")  # fmt: skip
def judge_negative_product() -> Finding:
    scores, product, added = raised()
    below = scores < 0
    evidence = (
        f"under the product, a larger similarity lowers the weight of {percent((product[below] < 0).mean(), 0)} of {below.sum()} random"
        f" pairs with a negative score, and of {percent((product[~below] < 0).mean(), 0)} with a positive one; under the sum, it lowers"
        f" that of {percent((added < 0).mean(), 0)} of all"
    )
    return settled((product[below] < 0).all() and (added > 0).all(), evidence)


@BOARD.claim({"nsmc": "71c4ae", "sst2": "a0d359"}, "On {} a tenth or more of the scores between alike words are negative",
    "Scores between alike words are often negative", where="section 3.1", section="method", against="runs here", kind="counted",
    how="counted in the baselines with weights, over all layers and heads")  # fmt: skip
def judge_negative_scores(dataset: str, runs: Sequence[Run]) -> Finding:
    frame = tables.NEGATIVE.read()
    means = (
        frame[(frame["dataset"] == dataset) & frame["run"].isin([run.name for run in runs])]
        .groupby("run", sort=False)[["negative_alike", "negative", "texts"]]
        .mean()
    )
    needed(means, "the share of negative scores was not measured")
    parts = {
        str(run): settled(
            bool(row["negative_alike"] >= COMMON),
            f"{percent(row['negative_alike'], 0)} of the scores between alike words, {percent(row['negative'], 0)} of all;"
            f" {row['texts']:.0f} test texts",
        )
        for run, row in means.iterrows()
    }
    return strictest_finding(parts)


def flattened(seed: int = 0, trials: int = SIMULATED) -> tuple[Floats, Floats]:
    """Return the largest change of a weight in rows of neutral tokens only, under the product and under the sum, (trials,) each."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(1, int(rng.integers(5, 40)))) for _ in range(trials)]
    changes = [[float(np.abs(_softmax(inject(row, 1 / 3)) - _softmax(row)).max()) for row in rows] for inject in (np.multiply, np.add)]
    return np.array(changes[0]), np.array(changes[1])


@of_product("e17b60", "Xia et al.'s product changes texts without words of the lexicon, and the sum does not",
    "Xia et al.'s product changes neutral texts")  # fmt: skip
def judge_flattened() -> Finding:
    product, added = flattened()
    evidence = (
        f"in {len(product)} random rows whose tokens are all neutral, the product divides every score by three and changes a weight by"
        f" {product.mean():.2g} in the mean; the sum changes no weight by more than {added.max():.0e}"
    )
    return settled(product.min() > 1e-3 and added.max() < 1e-12, evidence)


def simulated(seed: int = 0, trials: int = SIMULATED) -> tuple[Floats, Floats]:
    """Return the largest change of an attention weight when σ / √d is added to random scores of a text with a neutral first token.

    Returns:
        (trials,) changes in the first token's row, and (trials,) changes towards the first token.
    """
    rng, width = np.random.default_rng(seed), 16
    own, towards = np.empty(trials), np.empty(trials)
    for k in range(trials):
        n = int(rng.integers(5, 40))
        polarity = rng.dirichlet([1, 1, 1], size=n)
        polarity[rng.random(n) < 0.5] = 1 / 3
        polarity[0] = 1 / 3
        polarity[1] = 0.8, 0.1, 0.1
        scores = rng.normal(size=(n, width)) @ rng.normal(size=(width, n)) / np.sqrt(width)
        change = _softmax(scores + polarity @ polarity.T / np.sqrt(width)) - _softmax(scores)
        own[k], towards[k] = np.abs(change[0]).max(), np.abs(change[1:, 0]).max()
    return own, towards


@proved("2dc53c", "With the same Q and K, σ cannot change the row of a neutral [CLS]", "σ cannot change the row of [CLS]", section="cls")
def judge_fixed_row() -> Finding:
    own, towards = simulated()
    evidence = f"largest change of a weight over {len(own)} random cases: {own.max():.0e} in the row of [CLS]"
    return settled(own.max() < 1e-12, f"{evidence}, {towards.max():.2g} towards it")


@proved("8ea1d6", "[CLS] has no polarity, so attention to [CLS] hardly changes, but the attention of [CLS] does",
    "Attention to [CLS] hardly changes", where="section 6", section="cls")  # fmt: skip
def judge_untouched_column() -> Finding:
    own, towards = simulated()
    evidence = (
        f"with the same Q and K the opposite is true: over {len(own)} random cases the weights of other tokens on [CLS] change by up to"
    )
    return settled(towards.min() <= own.max(), f"{evidence} {towards.max():.2g}, the row of [CLS] by {own.max():.0e}")


# ---- the lexicon in data sets


@of_figure_4({"nsmc": "f3d150"}, "About half of {}'s tokens stay neutral", "About half of the tokens stay neutral", figure="coverage")
def judge_neutral_share() -> Finding:
    """Return the share of NSMC's tokens that are neutral in KNU, the lexicon of the runs, with the tokenizer of each of our encoders.

    The claim is about the paper's figure 4, so our tokenizers and lexicons do not decide it.
    """
    frame, stored = coverage.WITH_TOKENIZERS.read(), coverage.MEASURED.read()
    rows = {row["tokenizer"]: row for row in frame[frame["dataset"] == "nsmc"].to_dict("records")}
    ours = needed([name for name in ("e5", coverage.RECIPES["nsmc"]) if name in rows], "coverage was not measured")
    shares = ", ".join(
        f"{percent(rows[name]['neutral'])} of {rows[name]['tokens']:,} tokens with {coverage.TOKENIZERS[name]}" for name in ours
    )
    by_lexicon = {row["lexicon"]: row["neutral"] for row in stored[stored["dataset"] == "nsmc"].to_dict("records")}
    also = ", ".join(f"{coverage.LEXICON_TITLES[name]} {percent(share)}" for name, share in by_lexicon.items() if name != "lexicon_ko_knu")
    return not_testable(f"{OF_FIGURE_4} {shares}{f'; by other lexicons, with the tokenizer of NSMC: {also}' if also else ''}")


def _spans(by: str, titles: Mapping[str, str], named: Mapping[str, str]) -> Finding:
    """Return the smallest and the largest neutral share in each group of the rows that are measured with several tokenizers.

    Args:
        by: column of the groups. titles: words for its values. named: values of the other column, with their words.
    """
    frame = coverage.WITH_TOKENIZERS.read()
    every = len(coverage.TOKENIZERS) * len(coverage.PAPER)
    needed(frame, "coverage was not measured on all five tasks with all tokenizers", least=every)
    column, spans = "dataset" if by == "tokenizer" else "tokenizer", []
    for name, part in frame.groupby(by, sort=False):
        ordered = part.sort_values("neutral").to_dict("records")
        least, most = ordered[0], ordered[-1]
        spans.append(
            f"{titles[str(name)]} {percent(least['neutral'])} ({named[least[column]]})"
            f" to {percent(most['neutral'])} ({named[most[column]]})"
        )
    return not_testable(f"{OF_FIGURE_4} {'; '.join(spans)}")


@of_figure_4("288c6c", "The share hardly differs between the five tasks", "The share hardly differs between tasks")
def judge_neutral_share_of_tasks() -> Finding:
    return _spans("tokenizer", coverage.TOKENIZERS, coverage.TITLES)


@of_figure_4("d4c05b", "The share hardly differs between the tokenizers of five models", "The share hardly differs between models")
def judge_neutral_share_of_models() -> Finding:
    return _spans("dataset", coverage.TITLES, coverage.TOKENIZERS)
