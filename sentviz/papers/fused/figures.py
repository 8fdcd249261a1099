"""Figures of the Sentiment-Fused study, from all runs that studies read, and of a sentence through an injected lexicon."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sentviz.analysis.maps.heads import CLS_MEASURES
from sentviz.charts import gallery
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Sentence, Study, sourced
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.papers.fused import coverage
from sentviz.papers.fused.study import (
    BASE,
    CHOSEN,
    DATASETS,
    ENCODER_TITLES,
    PRINTED,
    SETTINGS,
    TASKS,
    encoders_on_cls,
    heads_by_setting,
    readable,
    reads_mean,
)
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure
    from sentviz.papers.studies.items import Maker, PaperItem


def _sets() -> Sequence[str]:
    return list(DATASETS)


def _of_settings(runs: Sequence[Run], datasets: Sequence[str], models: Sequence[str]) -> list[Run]:
    """Return the runs of these data sets and settings on each of our encoders, in this order."""
    from sentviz.papers.fused.study import configurations, encoders

    by_dataset = [configurations(runs, dataset, encoder) for dataset in datasets for encoder in encoders(runs, dataset)]
    return [run for by_model in by_dataset for model in models for run in by_model.get(model, [])]


@figure("gains", "Gain of every setting over the baseline", Study, sets=_sets)
def _gains(of: Study) -> Figure:
    """Draw the gains of every setting on a data set; the paper prints those of one data set only."""
    from sentviz.charts.gains import gain_dots
    from sentviz.papers.fused.tables import gain_rows

    runs = _of_settings(of.runs, [of.name], list(SETTINGS))
    if of.name != PRINTED and not runs:
        raise InputError(f"No run on {DATASETS[of.name]} is installed: `sentviz study fused --dataset {of.name}` trains them.")
    measured, printed, order = gain_rows(of.runs, of.name)
    title = f"Gain over the baseline on {DATASETS[of.name]}"
    return sourced(gain_dots(measured, printed if of.name == PRINTED else None, order=order, title=title), *runs)


@figure("gains-out-of-domain", "Gain on the out-of-domain tasks", Study)
def _tasks(of: Study) -> Figure:
    """Draw the gains of the paper's best setting on the out-of-domain tasks."""
    from sentviz.charts.gains import gain_dots
    from sentviz.papers.fused.tables import task_rows

    measured, printed, order = task_rows(of.runs)
    drawn = gain_dots(measured, printed, order=order, title=f"Gain of “{SETTINGS[CHOSEN]}” out of domain")
    datasets = list(dict.fromkeys(task.dataset for task in TASKS))
    return sourced(drawn, *_of_settings(of.runs, datasets, (BASE, CHOSEN)))


@figure("cls-lines", "Attention from and to [CLS] by layer", Study, sets=_sets)
def _cls(of: Study) -> Figure:
    """Draw figure 5: deviations of the attention from and to [CLS] by layer, the baseline dashed, seeds as bands."""
    from sentviz.charts.heads import layer_lines

    ours = encoders_on_cls(of.runs, of.name)
    frames: dict[str, pd.DataFrame] = {}
    runs: list[Run] = []
    counts, fewest, texts = [], [], []
    means: list[str] = []
    for encoder in ours:
        ending = f", {ENCODER_TITLES[encoder]}" if len(ours) > 1 else ""
        by_setting, sources = heads_by_setting(of.runs, of.name, encoder)
        frames |= {setting + ending: frame for setting, frame in by_setting.items()}
        runs += sources
        seeds = {model: sum(run.configuration == encoder + model.removeprefix(BASE) for run in sources) for model in (BASE, CHOSEN)}
        counts += [f"{SETTINGS[model]}{ending} {count}" for model, count in seeds.items() if sources]
        if sources:
            fewest.append(min(seeds.values()))
            texts.append(_read(by_setting) + (f" ({ENCODER_TITLES[encoder]})" if ending else ""))
            means += filter(None, [reads_mean(of.runs, of.name, encoder)])
    if not frames:
        raise InputError(
            f"No run on {DATASETS[of.name]} has measured heads."
            f" `sentviz heads {of.name}/{BASE}` and `sentviz heads {of.name}/{CHOSEN}` measure them."
        )
    dashed = [name for name in frames if name.startswith(SETTINGS[BASE])]
    drawn = layer_lines(frames, CLS_MEASURES, dashed=dashed, title=DATASETS[of.name])
    bands = "bands: least and largest over seeds" if min(fewest) > 1 else "bands: 95 % intervals of one run's mean over texts"
    words = f"{DATASETS[of.name]}, mean over heads and test texts, {' and '.join(texts)}; dashed: baseline; {bands}"
    remarks = "".join(f" {why[0].upper()}{why[1:]}." for why in means)
    return sourced(replace(drawn, name=f"cls-{of.name}", caption=f"{words}. Seeds: {', '.join(counts)}.{remarks}"), *runs)


def _read(by_setting: Mapping[str, pd.DataFrame]) -> str:
    """Return the number of texts behind the lines of an encoder; a range if its settings have different numbers."""
    counts = sorted({int(frame["n"].max()) for frame in by_setting.values()})
    return " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))


@figure("coverage", "The share of tokens that the lexicon leaves neutral", Study)
def _coverage(of: Study) -> Figure:
    """Draw figure 4: the share of tokens that no lexicon entry contains."""
    from sentviz.charts.lexicon import coverage_bars
    from sentviz.papers.fused.tables import covered

    return coverage_bars(covered().frame)


@figure("coverage-tokenizers", "Share of neutral tokens by tokenizer", Study)
def _tokenizers(of: Study) -> Figure:
    """Draw figure 4 with its second axis: the share of tokens that no entry of KNU contains, by task and tokenizer."""
    from sentviz.charts.injection import neutral_by_tokenizer

    return neutral_by_tokenizer(coverage.WITH_TOKENIZERS.require(), coverage.TITLES, coverage.TOKENIZERS)


@figure("product-and-sum", "The product of Xia et al. beside the sum", Study)
def _product(of: Study) -> Figure:
    """Draw what a lexicon does to the weight of one pair, by its score, multiplied and added."""
    from sentviz.charts.injection import product_and_sum

    return product_and_sum()


# ---- the paper's figures 1 to 3, drawn of a run's example


def _of_example(draw: Callable[[Run], list[Figure]]) -> Maker:
    """Return a maker of figures of a run with the paper's best setting; it makes nothing if no such run has weights."""

    def make_figures(runs: Sequence[Run]) -> list[PaperItem]:
        run = readable(runs)
        return [] if run is None else [*draw(run)]

    return make_figures


def _figure_1(run: Run) -> list[Figure]:
    of = Sentence(run)
    return [gallery.make("lexicon-scores", of), gallery.make("lexicon-attention", of)]


def _figure_2(run: Run) -> list[Figure]:
    of = Sentence(run)
    return [gallery.make("polarity", of), gallery.make("polarity-of-token", of)]


def _figure_3(run: Run) -> list[Figure]:
    last, injected = run.capabilities.heads - 1, Sentence(run)
    sentences = {"without": Sentence(run, change="term:lexicon=0"), "with": injected}
    maps = [replace(gallery.make("attention", of, head=last), name=f"attention-{word}") for word, of in sentences.items()]
    return [gallery.make("sigma", injected), *maps, gallery.make("lexicon-difference", injected, head=last)]


MAKERS = {"figure-1": _of_example(_figure_1), "figure-2": _of_example(_figure_2), "figure-3": _of_example(_figure_3)}
