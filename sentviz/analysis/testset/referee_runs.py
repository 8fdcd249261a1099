"""Compare the explanations of runs with exact values on the test split, and store what `sentviz.analysis.explain.referee` measures.

`python -m sentviz.analysis.testset.referee_runs RUN ...` stores the table `referee` in the folder of `sentviz.analysis.explain.stored`;
each run is stored when it is finished. The table holds numbers and no texts.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sentviz.analysis.causal import agreement
from sentviz.analysis.explain.refereed import TABLE
from sentviz.analysis.testset.groups import RULES
from sentviz.analysis.testset.word_counts import plain
from sentviz.errors import InputError
from sentviz.io.lazy import np, pa, pc, pd
from sentviz.runs.catalog import language
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sentviz.models.model import Model, Progress

SHORT_ROWS = {"en": "sst5_trees_binary", "ko": "nsmc"}  # test rows for runs whose own test split has too few short texts
SEED = 0


def sample_of(model: Model) -> int:
    """Return the number of texts: 300 for models of up to four layers, 150 for up to 50 million parameters, 40 for larger ones."""
    if model.capabilities.layers <= 4:
        return 300
    return 150 if model.network.parameters_count() < 50_000_000 else 40


def compare(model: Model, texts: Sequence[str], *, sample: int = 0, seed: int = SEED, progress: Progress | None = None) -> pd.DataFrame:
    """Compare every method of a model with exact values on short texts, as `sentviz.analysis.explain.referee.measure` returns it.

    If its states can be replaced and its predictions differ, `sentviz.analysis.causal.agreement.measure` is added.

    Args:
        sample: number of texts; 0 = `sample_of`.
    """

    from sentviz.analysis.explain.referee import measure

    sample = sample or sample_of(model)
    parts = [measure(model, texts, negations(texts), sample=sample, seed=seed, progress=progress)]
    with suppress(InputError):
        parts.append(agreement.measure(model, texts, sample=sample, seed=seed))
    return pd.concat(parts, ignore_index=True)


def short_rows(run: Run, sample: int) -> tuple[str, Sequence[str]]:
    """Return the data set whose test split is asked, and its texts: the run's own, unless that has too few short texts."""

    from sentviz.analysis.explain.referee import LEAST, MOST
    from sentviz.data.datasets import load_split

    for name in (run.config["data"]["name"], SHORT_ROWS[language(run)]):
        texts = load_split(name, "test").frame["text"]
        if int(pd.Series(texts).str.count(r"\w+(?:['’\-]\w+)*|[^\w\s]+").between(LEAST, MOST).sum()) >= sample:
            break
    return name, texts.tolist()


def negations(texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which texts have a negation (`sentviz.analysis.testset.groups`), (n,)."""

    matches = pc.match_substring_regex(plain(pa.array(texts, type=pa.large_string())), RULES["negation"], ignore_case=True)
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=bool)


def compare_run(run: Run) -> pd.DataFrame:
    """Compare a run on `short_rows`, as `measure` of `sentviz.analysis.explain.referee`, with the data set in the column rows."""
    from sentviz.analysis.explain.referee import measure
    from sentviz.models.loading import load

    model = load(run)
    sample = sample_of(model)
    data, texts = short_rows(run, sample)
    return measure(model, texts, negations(texts), sample=sample, seed=SEED).assign(rows=data)


if __name__ == "__main__":
    from sentviz.analysis.explain.stored import measure_named

    measure_named(TABLE, compare_run)
