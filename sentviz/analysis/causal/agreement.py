"""Do explanations agree with patching? The scores of a text's words beside the effect of patching these words.

    effect(w) = f(A) - f(A with a mean state in the place of the states of the word w)

f is the log-odds of the class predicted for A; the mean is over all words of texts of the same sample that are predicted to be of another
class (mean patching, Wang et al. 2022, arXiv 2211.00593). After the embedding, the *word* is patched: no layer reads it. After half of the
layers, its *state* is patched, which also holds what the word has read from others, and lacks what others have read from it.

`python -m sentviz.analysis.causal.agreement RUN ...` measures runs on their test rows and stores the table `agreement` in the folder of
`sentviz.analysis.explain.stored`; `methods_of` of `sentviz.analysis.explain.exact_comparison_table` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sentviz.analysis.causal.states import Texts, states
from sentviz.analysis.explain import SCORES, available, explained
from sentviz.analysis.explain.exact_comparison import word_scores
from sentviz.analysis.explain.exact_comparison_table import FROM_SUBSETS, PATCHED
from sentviz.analysis.explain.faithfulness import MIN_WORDS, summary
from sentviz.analysis.explain.judge import Agreement, expected_ranks
from sentviz.analysis.explain.leave_out import words
from sentviz.analysis.explain.scores import LARGER
from sentviz.data.texts import Word
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd, torch
from sentviz.runs.store import Run
from sentviz.runs.target import log_odds
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.float64]

POOL = 400  # texts whose states are averaged
LONGEST = 30  # parts of a text between white space
METRICS = ("patched-word", "patched-state")


def measure_agreement(
    model: Model, texts: Sequence[str], *, sample: int = 200, seed: int = 0, progress: Progress | None = None
) -> pd.DataFrame:
    """Measure how well the scores of every quick method agree with patching, on a seeded sample of texts of at most LONGEST parts.

    Args:
        sample: number of texts. seed: of the sample.
        progress: called with (done, sample) after each text.
    Frame:
        as `sentviz.analysis.explain.exact_comparison.compare_with_exact`. Metrics: METRICS, Spearman's rank correlation of the sizes of
        scores and effects; with "-ranks", the correlation with signs, for methods that have a sign.
    """
    if "state" not in model.capabilities.replaces:
        raise InputError(f"{model.name} has no states of tokens that can be replaced: patching needs a transformer.")
    order = np.random.default_rng(seed).permutation(len(texts))
    short = [texts[i] for i in order if texts[i].strip() and len(texts[i].split()) <= LONGEST][: max(POOL, 2 * sample)]
    uncalibrated, rows = model.calibrated(1.0), list[pd.DataFrame]()
    means = mean_states(uncalibrated, short[:POOL])
    for trace in map(uncalibrated.trace, short):
        players = words(trace)
        if len(rows) == sample or len(players) < MIN_WORDS or trace.dropped or trace.label not in means:
            continue
        effects = effects_of(uncalibrated, trace, means[trace.label], players)
        rows.append(_of_text(effects, _scores(uncalibrated, trace, players)).assign(text=len(rows)))
        if progress is not None:
            progress(len(rows), sample)
    if not rows:
        raise InputError(f"Patching needs texts with different predictions, but {model.name} gives all texts of the sample the same one.")
    return summary(pd.concat(rows, ignore_index=True), seed)


def depths_of(model: Model) -> tuple[int, int]:
    """Return the depths of METRICS: the embedding, and half of the layers."""
    return 0, (model.capabilities.layers + 1) // 2


def mean_states(model: Model, texts: Sequence[str]) -> dict[str, Floats]:
    """Return for each class the mean state (2, d) of the words of texts with another prediction, at `depths_of`."""
    encoded, label = model.encode_all(list(texts)), model.predict(list(texts))["label"].to_numpy()
    places = [np.flatnonzero(~each.specials) for each in encoded]
    owner = np.repeat(np.arange(len(encoded)), [len(each) for each in places])
    sample = Texts(tuple(texts), None, tuple(encoded), np.zeros(len(encoded), dtype=np.int64))
    of_depth = states(model, sample, places, depths_of(model))[1]
    predicted_otherwise = {name: label[owner] != name for name in model.labels}
    return {
        name: np.stack([x[mask].mean(axis=0, dtype=np.float64) for x in of_depth.values()])
        for name, mask in predicted_otherwise.items()
        if mask.any()
    }


def effects_of(model: Model, trace: Trace, means: Floats, players: Sequence[Word]) -> Floats:
    """Return the fall of the log-odds if a mean state stands in for the states of each word, (2, words)."""

    from sentviz.models.batched_replacements import logits_of_copies
    from sentviz.models.protocol import Replacement

    tokens = torch.tensor([i for player in players for i in player.indices])
    owner = torch.tensor([place for place, player in enumerate(players) for _ in player.indices])
    replaced = {
        ("state", depth): Replacement((owner + i * len(players), tokens), torch.from_numpy(means[i]).float().expand(len(tokens), -1))
        for i, depth in enumerate(depths_of(model))
    }
    odds = log_odds(logits_of_copies(model, trace, replaced, 2 * len(players)).double().numpy(), int(trace.logits.argmax()))
    return np.asarray(odds[0] - odds[1:]).reshape(2, len(players))


def _scores(model: Model, trace: Trace, players: Sequence[Word]) -> dict[str, Floats]:
    """Return the scores of each word by method, without exact values, samplers, and scores of larger parts."""
    names = [name for name in available(trace, asking=True) if name not in ("exact", *LARGER, *FROM_SUBSETS)]
    trace = explained(model, trace, names)
    scores: dict[str, Floats] = {}
    for name in names:
        try:
            scores[name] = word_scores(trace, name, players)
        except InputError:
            continue
    return scores


def _of_text(effects: Floats, scores: Mapping[str, Floats]) -> pd.DataFrame:
    """Return both correlations of every method for one text, as `summary` reads them; that of random scores is 0 on average.

    Args:
        effects: (2, words). scores: method -> (words,).
    """
    rows = []
    for metric, effect in zip(METRICS, effects, strict=True):
        for name, line in scores.items():
            size = _ranks(np.abs(line) if SCORES[name].signed else line, np.abs(effect))
            rows.append((name, metric, size, expected_ranks(np.abs(effect))))
            if SCORES[name].signed:
                rows.append((name, f"{metric}-ranks", _ranks(line, effect), expected_ranks(effect)))
    return pd.DataFrame(rows, columns=["method", "metric", "value", "random"])


def _ranks(scores: Floats, effect: Floats) -> float:
    return Agreement.of(scores, effect).ranks


def of_run(run: Run) -> pd.DataFrame:
    """Measure a run on the test rows of its data set, as `measure_agreement` returns it."""
    from sentviz.data.datasets import rows_of_recipe
    from sentviz.models.loading import load

    return measure_agreement(load(run), rows_of_recipe(run.config["recipe"], "test").frame["text"].tolist())


if __name__ == "__main__":
    import sys

    from sentviz.analysis.explain.stored import measure_named

    measure_named(PATCHED, of_run, sys.argv[1:])
