"""Compare every explanation of shipped runs with exact values, and store what the comparison measures.

`python -m experiments general referee_runs RUN ...` stores the table `referee` in the folder of `sentviz.analysis.explain.stored`; each run
is stored when it is finished. The table holds numbers and no texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sentviz.analysis.explain.exact_comparison import LEAST, MOST, compare_with_exact
from sentviz.analysis.explain.exact_comparison_table import TABLE
from sentviz.analysis.explain.stored import measure_named
from sentviz.analysis.measurements import negations, sample_of
from sentviz.data.datasets import load_split
from sentviz.models.loading import load
from sentviz.runs.catalog import language
from sentviz.runs.store import Run

SHORT_ROWS = {"en": "sst5_trees_binary", "ko": "nsmc"}  # test rows for runs whose own test split has too few short texts
SEED = 0


def short_rows(run: Run, sample: int) -> tuple[str, Sequence[str]]:
    """Return the data set whose test split is asked, and its texts: the run's own, unless that has too few short texts."""
    for name in (run.config["data"]["name"], SHORT_ROWS[language(run)]):
        texts = load_split(name, "test").frame["text"]
        if int(pd.Series(texts).str.count(r"\w+(?:['’\-]\w+)*|[^\w\s]+").between(LEAST, MOST).sum()) >= sample:
            break
    return name, texts.tolist()


def compare_run(run: Run) -> pd.DataFrame:
    """Compare a run on `short_rows`, as `measure` of `sentviz.analysis.explain.exact_comparison`, with the data set in the column rows."""
    model = load(run)
    sample = sample_of(model)
    data, texts = short_rows(run, sample)
    return compare_with_exact(model, texts, negations(texts), sample=sample, seed=SEED).assign(rows=data)


def main(arguments: Sequence[str]) -> None:
    """Compare the named runs."""
    measure_named(TABLE, compare_run, arguments)
