"""What each table and figure of the NDT paper is made of."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.papers.ndt import leak, tables
from sentviz.papers.ndt.answer import BASES, answers_by_rows
from sentviz.papers.ndt.study import DATASETS, configurations
from sentviz.papers.studies.made import Made, Maker, drawn
from sentviz.runs.store import Run


def _results(dataset: str) -> Maker:
    return lambda runs: [tables.results(runs, dataset)] if configurations(runs, dataset) else []


def _lambdas(dataset: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        table = tables.lambdas(runs, dataset)
        return [] if table.frame.empty else [table]

    return make


def _any(runs: Sequence[Run]) -> bool:
    return any(configurations(runs, dataset) for dataset in DATASETS)


def _comparisons(runs: Sequence[Run]) -> list[Made]:
    found = [tables.comparisons(runs, dataset, base) for dataset in DATASETS for base in BASES if base in configurations(runs, dataset)]
    return [table for table in found if not table.frame.empty]


MAKERS: dict[str, Maker] = {
    "table-1": _results("imdb"),
    "table-2": _lambdas("imdb"),
    "table-3": _results("sst2"),
    "table-4": _lambdas("sst2"),
    "table-5": _results("yelp_full"),
    "table-6": _lambdas("yelp_full"),
    "table-7": _results("twitter_financial"),
    "table-8": _lambdas("twitter_financial"),
    "table-9": lambda runs: [tables.silhouettes(runs)] if _any(runs) else [],
    "table-10": lambda runs: [tables.totals(runs)] if _any(runs) else [],
    "table-11": lambda runs: [tables.milliseconds()],
    "figure-1": drawn("confusion-panels"),
    "figure-2": drawn("roc-panels"),
    "figure-3": drawn("tsne-panels"),
    "accuracy": drawn("accuracy-beside-print", "accuracy-grid"),
    "lambda-evolution": lambda runs: [*drawn("lambda-grid")(runs), *drawn("lambda-grid", change=True)(runs)],
    "parameters-latency": drawn("cost"),
    "comparisons": _comparisons,
    "leak": lambda runs: [] if leak.table().empty else [tables.leaked()],
}


def answers(runs: Sequence[Run]) -> list[str]:
    """Whether NDT beats DT and the matched vanilla, a sentence per data set and kind of test rows."""
    return [one.sentence for dataset in DATASETS for one in answers_by_rows(runs, dataset)]
