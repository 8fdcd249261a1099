"""Measure on shipped runs how many of the most suspicious labels were flipped on purpose: `sentviz.analysis.testset.label_errors`.

The table holds numbers and no texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.writing import write
from sentviz.analysis.embeddings.cache import stored_sample
from sentviz.analysis.testset import label_errors as library
from sentviz.analysis.testset.label_errors import planted, summarised
from sentviz.analysis.testset.rows import stored
from sentviz.io.spreadsheet import read_csv
from sentviz.runs.store import find

RUNS = ("sst2/ndt-unit-2", "english/minilm", "tweeteval_sentiment/minilm", "imdb/ndt-unit-2")
FILE = Path(library.__file__).parent / "measured" / "planted.csv"


def measured() -> pd.DataFrame:
    """Return the stored table: run, digest, rows (test split, sample with vectors), columns of `summarised`."""
    return read_csv(FILE, dtype={"digest": str})


def measure() -> pd.DataFrame:
    """Measure the stored test splits of `RUNS`, and the samples whose vectors they have."""
    tables = []
    for name in RUNS:
        run = find(name)
        rows = stored(run)
        tables.append(summarised(planted(rows.labels, rows.probabilities)).assign(run=name, digest=run.digest, rows="test split"))
        if "embeddings.safetensors" in run.config["files"]:
            places, vectors = stored_sample(run, len(rows))
            table = summarised(planted(rows.labels[places], rows.probabilities[places], vectors.astype(np.float64), share=0.1))
            tables.append(table.assign(run=name, digest=run.digest, rows="sample with vectors"))
    return pd.concat(tables)[["run", "digest", "rows", *tables[0].columns[:-3]]]


def main(arguments: Sequence[str] = ()) -> None:
    """Measure all of `RUNS`."""
    write(FILE, measure())
