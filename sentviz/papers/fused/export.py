"""What each table and figure of Sentiment-Fused Attention is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sentviz.analysis.maps.heads import CLS_MEASURES
from sentviz.figures.colours import Theme
from sentviz.figures.figure import Figure
from sentviz.figures.gains import gain_dots
from sentviz.figures.heads import layer_lines
from sentviz.figures.lexicon import coverage_bars
from sentviz.gallery import sourced
from sentviz.papers.fused import study as fused
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.fused.study import BASE, CHOSEN, DATASETS, SETTINGS, TASKS, configurations
from sentviz.papers.studies.made import Made, Maker
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.analysis.maps.injection import Row
    from sentviz.runs.trace import Trace

# ---- figures that the page shows too


def gains_figure(runs: Sequence[Run], dataset: str, theme: Theme = "light") -> Figure:
    """Gains of every setting on a data set; the printed ones are NSMC's."""
    measured, printed = fused_tables.gain_rows(runs, dataset)
    title = f"Gain over the baseline on {DATASETS[dataset]}"
    figure = gain_dots(measured, printed if dataset == "nsmc" else None, order=[*SETTINGS.values()][1:], title=title, theme=theme)
    return sourced(figure, *_all(runs, [dataset]))


def tasks_figure(runs: Sequence[Run], theme: Theme = "light") -> Figure:
    """Gains of the paper's best setting on the out-of-domain tasks."""
    measured, printed = fused_tables.task_rows(runs)
    titles = [task.title for task in TASKS]
    figure = gain_dots(measured, printed, order=titles, title=f"Gain of “{SETTINGS[CHOSEN]}” out of domain", theme=theme)
    return sourced(figure, *_all(runs, {task.dataset for task in TASKS}, (BASE, CHOSEN)))


def covered_figure(theme: Theme = "light") -> Figure:
    """The share of tokens that stay neutral."""
    return coverage_bars(fused_tables.covered().frame, theme=theme)


def cls_figure(runs: Sequence[Run], dataset: str, theme: Theme = "light") -> Figure:
    """Figure 5: deviations of the attention from and to [CLS] by layer, baseline dashed, seeds as bands.

    Raises:
        InputError: no run here has its heads measured.
    """
    frames, sources = fused.heads_by_setting(runs, dataset)
    figure = layer_lines(frames, CLS_MEASURES, dashed=[SETTINGS[BASE]], theme=theme)
    seeds = {model: sum(run.configuration == model for run in sources) for model in (BASE, CHOSEN)}
    bands = "bands: least and largest over seeds" if min(seeds.values()) > 1 else "bands: 95% intervals of one run's mean over texts"
    words = f"{DATASETS[dataset]}, mean over heads and {figure.frame['n'].max():,.0f} test texts; dashed: baseline; {bands}"
    counts = ", ".join(f"{SETTINGS[model]} {count}" for model, count in seeds.items())
    return sourced(replace(figure, name=f"cls-{dataset}", caption=f"{words}. Seeds: {counts}."), *sources)


# ---- a sentence


def readable(runs: Sequence[Run]) -> Run | None:
    """A run of the paper's best setting that can be asked, English first."""
    found = [run for dataset in ("sst2", "nsmc") for run in configurations(runs, dataset).get(CHOSEN, []) if run.has_weights]
    return found[0] if found else None


def walk(run: Run) -> tuple[Trace, Trace, Row]:
    """The run's example without and with its lexicon, and the layer-1 row, last head, of its most polar token."""
    from sentviz.analysis.maps.injection import row
    from sentviz.models.loading import load

    model, text = load(run), run.example().text
    before, after = model.trace(text, change="term:lexicon=0"), model.trace(text)
    assert after.polarity is not None
    token = int(np.abs(after.polarity[:, 0] - after.polarity[:, 2]).argmax())
    return before, after, row(model, after, 0, model.capabilities.heads - 1, token)


def _of_sentence(make: Callable[[Trace, Trace, Row], list[Figure]]) -> Maker:
    def made(runs: Sequence[Run]) -> list[Made]:
        run = readable(runs)
        return [] if run is None else [sourced(figure, run) for figure in make(*walk(run))]

    return made


def _drawn_1(_: Trace, after: Trace, row: Row) -> list[Figure]:
    from sentviz.figures.lexicon import attention_row, score_row

    return [score_row(row), attention_row(row)]


def _drawn_2(_: Trace, after: Trace, row: Row) -> list[Figure]:
    from sentviz.figures.lexicon import polarity_bars, polarity_strip

    assert after.polarity is not None
    return [polarity_strip(after), polarity_bars(after.polarity[row.token], after.tokens[row.token])]


def _drawn_3(before: Trace, after: Trace, row: Row) -> list[Figure]:
    from sentviz.analysis.maps.compare import difference
    from sentviz.figures import heatmap
    from sentviz.figures.attention import difference_map
    from sentviz.figures.lexicon import sigma_map

    maps = [replace(heatmap(trace, 0, row.head), name=f"attention-{word}") for trace, word in ((before, "without"), (after, "with"))]
    changed = difference_map(difference(before, after), "itself without its lexicon", 0, row.head)
    return [sigma_map(after), *maps, changed]


# ---- the paper


def _all(runs: Sequence[Run], datasets: Sequence[str] | set[str], models: Sequence[str] = tuple(SETTINGS)) -> list[Run]:
    here = [configurations(runs, dataset) for dataset in datasets]
    return [run for found in here for model in models for run in found.get(model, [])]


def _gains(runs: Sequence[Run]) -> list[Made]:
    return [gains_figure(runs, dataset) for dataset in DATASETS if dataset == "nsmc" or configurations(runs, dataset)]


def _cls(runs: Sequence[Run]) -> list[Made]:
    return [cls_figure(runs, dataset) for dataset in DATASETS if fused.heads_by_setting(runs, dataset)[0]]


MAKERS: dict[str, Maker] = {
    "table-1": lambda runs: [fused_tables.accuracies(runs)],
    "table-2": lambda runs: [fused_tables.statistics()],
    "table-3": lambda runs: [fused_tables.tasks(runs), tasks_figure(runs)],
    "figure-1": _of_sentence(_drawn_1),
    "figure-2": _of_sentence(_drawn_2),
    "figure-3": _of_sentence(_drawn_3),
    "figure-4": lambda runs: [fused_tables.covered(), covered_figure()],
    "figure-5": _cls,
    "gains": _gains,
    "comparisons": lambda runs: [table for table in [fused_tables.comparisons(runs)] if len(table.frame)],
}


def answers(runs: Sequence[Run]) -> list[str]:
    """Whether the injection helps, a sentence per data set that has a baseline."""
    found = [fused.answer(runs, dataset) for dataset in DATASETS]
    return [one.sentence for one in found if one.baseline is not None]
