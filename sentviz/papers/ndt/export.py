"""What each table and figure of the NDT paper is made of."""

from __future__ import annotations

from collections.abc import Container, Sequence

from sentviz.gallery import sourced
from sentviz.papers.ndt import leak, panels, tables
from sentviz.papers.ndt.answer import BASES, answers_by_rows
from sentviz.papers.ndt.study import DATASETS, beside, configurations, points, summary
from sentviz.runs import Run
from sentviz.studies import tsne
from sentviz.studies.made import Made, Maker

__all__ = ["MAKERS", "answers"]


def _results(dataset: str) -> Maker:
    return lambda runs: [tables.results(runs, dataset)] if configurations(runs, dataset) else []


def _lambdas(dataset: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        table = tables.lambdas(runs, dataset)
        return [] if table.frame.empty else [table]

    return make


def _any(runs: Sequence[Run]) -> bool:
    return any(configurations(runs, dataset) for dataset in DATASETS)


def _sources(runs: Sequence[Run], dataset: str, models: Container[str] | None = None) -> list[Run]:
    here = configurations(runs, dataset)
    return [run for model, seeds in here.items() if models is None or model in models for run in seeds]


def _confusions(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.confusion_panels import confusion_panels

    figure = confusion_panels(panels.confusions(runs), missing=panels.missing(runs))
    return [sourced(figure, *panels.shown(runs).values())]


def _rocs(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.roc_panels import roc_panels

    figure = roc_panels(panels.rocs(runs), order=tuple(DATASETS.values()), missing=panels.missing(runs))
    return [sourced(figure, *panels.shown(runs, "diff").values(), *panels.shown(runs).values())]


def _tsne(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.tsne_panels import tsne_panels

    able = panels.with_vectors(runs)
    lost = [title for dataset, title in DATASETS.items() if dataset not in able]
    figure = tsne_panels(tsne.frame({DATASETS[dataset]: tsne.picture(run) for dataset, run in able.items()}), missing=lost)
    return [sourced(figure, *able.values())]


def _beside(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.accuracy_grid import accuracy_grid
    from sentviz.figures.beside import measured_beside_printed

    made: list[Made] = []
    for dataset, title in DATASETS.items():
        if sources := _sources(runs, dataset):
            frame = beside(summary(runs, dataset), dataset, "accuracy")
            single = points(runs, dataset, "accuracy")
            both = (
                measured_beside_printed(frame, single, title=f"Accuracy on {title}", percent=True),
                accuracy_grid(tables.grid(frame), title=title),
            )
            made += [sourced(figure, *sources) for figure in both]
    return made


def _lambda_grids(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.lambda_grid import lambda_grid

    made: list[Made] = []
    for dataset, title in DATASETS.items():
        frame, marks = panels.lambda_frames(runs, dataset)
        if not frame.empty:
            both = lambda_grid(frame, title=title, printed=marks), lambda_grid(frame, title=title, change=True)
            made += [sourced(figure, *_sources(runs, dataset, set(frame["model"]))) for figure in both]
    return made


def _costs(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.tradeoff import tradeoff

    found = {title: tables.costs(dataset) for dataset, title in DATASETS.items()}
    return [tradeoff(*frames, title=title) for title, frames in found.items() if not all(frame.empty for frame in frames)]


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
    "figure-1": _confusions,
    "figure-2": _rocs,
    "figure-3": _tsne,
    "accuracy": _beside,
    "lambda-evolution": _lambda_grids,
    "parameters-latency": _costs,
    "comparisons": _comparisons,
    "leak": lambda runs: [] if leak.table().empty else [tables.leaked()],
}


def answers(runs: Sequence[Run]) -> list[str]:
    """Whether NDT beats DT and the matched vanilla, a sentence per data set and kind of test rows."""
    return [one.sentence for dataset in DATASETS for one in answers_by_rows(runs, dataset)]
