"""What each table and figure of the SentiFormer paper is made of."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.errors import InputError
from sentviz.figures.colours import Theme
from sentviz.figures.figure import Figure
from sentviz.gallery import sourced
from sentviz.papers.sentiformer import prints, tables, throughput
from sentviz.papers.sentiformer.study import DATASETS, MODELS, READINGS, ablations, beside, configurations
from sentviz.papers.studies.collected import points
from sentviz.papers.studies.made import Made, Maker
from sentviz.runs.store import Run


def accuracy_figure(runs: Sequence[Run], dataset: str, theme: Theme = "light") -> Figure:
    """Table I on a data set as dots beside the printed diamonds.

    Raises:
        InputError: nothing measured.
    """
    from sentviz.figures.beside import measured_beside_printed

    here = {name: seeds for name, seeds in configurations(runs, dataset).items() if MODELS[name] not in prints.TITLES.values()}
    if not here:
        raise InputError(f"There is no run of {dataset} here: `sentviz study sentiformer --dataset {dataset}` trains them.")
    single = points(here, "accuracy")
    single["model"] = single["model"].map(MODELS)
    made = measured_beside_printed(
        tables.main(beside(runs, dataset)), single, title=f"Accuracy on {DATASETS[dataset]}", percent=True, theme=theme
    )
    return sourced(made, *(run for seeds in here.values() for run in seeds))


def ablation_figure(runs: Sequence[Run], dataset: str, theme: Theme = "light") -> Figure:
    """Table II as differences from the whole.

    Raises:
        InputError: no ablation beside a whole model is here.
    """
    from sentviz.figures.gains import gain_dots

    frame = ablations(runs, dataset)
    if frame.empty:
        raise InputError(f"There is no ablation here: `sentviz study sentiformer-ablations --dataset {dataset}` trains them.")
    frame = frame.assign(row=frame["title"], kind=frame["test"].map({"over seeds": "over seeds", "McNemar": "one seed"}))
    printed = frame.rename(columns={"printed": "value"})[["row", "value"]].dropna().assign(encoder="SentiFormer")
    made = gain_dots(
        frame,
        printed,
        order=list(frame["row"]),
        title=f"Accuracy without each part on {DATASETS[dataset]}",
        base="the whole",
        each="",
        theme=theme,
    )
    here = configurations(runs, dataset)
    return sourced(made, *(run for name in ["sentiformer", *frame["model"]] for run in here[name]))


def growth_figure(threads: int = 1, theme: Theme = "light") -> Figure:
    """Time of one text by its length, full and sparse attention, as measured and stored.

    Raises:
        InputError: nothing was, or not with so many threads.
    """
    from sentviz.figures.crossing import crossing_curves

    frame = throughput.curves(threads)
    crossings = {
        str(of): throughput.crossing(rows["tokens"].to_numpy(), rows["times"].to_numpy()) for of, rows in frame.groupby("of", sort=True)
    }
    return crossing_curves(frame, crossings, about=throughput.growth_table().caption, theme=theme)


def _throughput(runs: Sequence[Run]) -> list[Made]:
    return [throughput.speeds_table(), throughput.growth_table(), growth_figure(), throughput.steps_table()]


def _accuracy(runs: Sequence[Run]) -> list[Made]:
    return [tables.accuracy(runs), *(accuracy_figure(runs, dataset) for dataset in DATASETS if configurations(runs, dataset))]


def _ablation(runs: Sequence[Run]) -> list[Made]:
    return [tables.ablation(runs), *(ablation_figure(runs, dataset) for dataset in READINGS if len(ablations(runs, dataset)))]


MAKERS: dict[str, Maker] = {"accuracy": _accuracy, "ablation": _ablation, "throughput": _throughput}
