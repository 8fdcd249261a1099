"""Count the tokens of data sets that no lexicon entry contains, with `sentviz.papers.fused.coverage`.

`python -m experiments fused coverage nsmc sst2` measures two data sets, and all tokenizers if one of them is a task of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from experiments import parser
from experiments.writing import update, write
from sentviz.data.lexicon import Lexicon, coverage
from sentviz.data.tokenizers import Tokenizer
from sentviz.models.pretrained.base import tokenizer_of
from sentviz.papers.fused.coverage import (
    MEASURED,
    PAPER,
    RECIPES,
    TOKENIZERS,
    WITH_TOKENIZERS,
    measure_coverage,
    test_rows,
    trained_tokenizer,
)
from sentviz.papers.studies.stored import Stored
from sentviz.runs.bases import find_base
from sentviz.training.recipe import Recipe


def measure_tokenizers(datasets: Sequence[str] = PAPER, lexicon: str = "lexicon_ko_knu") -> pd.DataFrame:
    """Return a row per tokenizer and data set, the columns of `WITH_TOKENIZERS`, for one lexicon.

    Raises:
        DataMissingError, RunError: a data set, the lexicon or the base is not on this machine.
    """

    records, terms = [], Lexicon.load(lexicon)
    for name in TOKENIZERS:
        tokenizer: Tokenizer = trained_tokenizer(Recipe.read(name)) if name in RECIPES.values() else tokenizer_of(find_base(name))
        polarity = terms.polarity(tokenizer)
        for dataset in datasets:
            share, total = coverage(test_rows(dataset, tokenizer, Recipe.read(RECIPES[dataset])), polarity)
            records.append((dataset, name, tokenizer.vocab_size, share, total))
    return pd.DataFrame(records, columns=list(WITH_TOKENIZERS.columns))


def main(arguments: Sequence[str], stored: Stored = MEASURED) -> None:
    """Measure data sets, and store them in place of their old rows, in the order of `RECIPES`."""
    commands = parser(__name__, __doc__)
    commands.add_argument("dataset", nargs="*", default=list(RECIPES))
    names = commands.parse_args(arguments).dataset
    frame = update(stored, pd.concat([measure_coverage(name) for name in names]), ("dataset",), "%.5g")
    order = {name: place for place, name in enumerate(RECIPES)}
    write(stored, frame.sort_values("dataset", key=lambda column: column.map(order), kind="stable"), "%.5g")
    if set(names) & set(PAPER):
        write(WITH_TOKENIZERS, measure_tokenizers(), "%.5g")
