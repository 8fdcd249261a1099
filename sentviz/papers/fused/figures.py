"""Figures of the Sentiment-Fused study, from all runs that studies read, and of a sentence through an injected lexicon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sentviz.analysis.maps.heads import CLS_MEASURES
from sentviz.charts import gallery
from sentviz.charts.chart import Axis, Chart, Panels, Rule, bars, line, points
from sentviz.charts.figure import Figure, file_safe
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Sentence, Study, sourced
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent
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
from sentviz.papers.studies.items import of_first
from sentviz.runs.store import Run

SCORES = (2.0, 1.0, 0.0, -1.0, -2.0)  # scores of the pair that is drawn, before the injection
OTHERS = 9  # other keys of the row: their score is 0, their similarity that of neutral tokens
MOST_SHARES = 0.5  # centre of most shares of neutral tokens in the paper


def _of_settings(runs: Sequence[Run], datasets: Sequence[str], models: Sequence[str]) -> list[Run]:
    """Return the runs of these data sets and settings on each of our encoders, in this order."""
    from sentviz.papers.fused.study import configurations, encoders

    by_dataset = [configurations(runs, dataset, encoder) for dataset in datasets for encoder in encoders(runs, dataset)]
    return [run for by_model in by_dataset for model in models for run in by_model.get(model, [])]


@figure("gains", "Gain of every setting over the baseline", Study, sets=DATASETS.keys)
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


@figure("cls-lines", "Attention from and to [CLS] by layer", Study, sets=DATASETS.keys)
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
    """Draw figure 4: a bar per data set and lexicon with the share of tokens that no entry contains; a dotted line marks the middle of the
    paper's rates.
    """
    from sentviz.papers.fused.tables import covered

    frame = covered()
    lexicons = list(dict.fromkeys(frame["lexicon"]))
    drawn = frame.assign(row=frame.index, series=frame["lexicon"].map(lexicons.index))
    hover = "{neutral:.2%} of {tokens:,} tokens stay neutral"
    shares = bars(drawn, "neutral", "row", tint="series", text="{neutral:.1%}", hover=hover)
    groups = {str(name): list(rows) for name, rows in frame.groupby("dataset", sort=False).groups.items()}
    rows = Axis(rows=frame["lexicon"].to_dict(), groups=groups)
    chart = Chart("", [shares], Axis("tokens that stay neutral", ".0%", zero=True), rows, [Rule(x=MOST_SHARES)])
    tokens = f"{int(frame['tokens'].min()):,} to {int(frame['tokens'].max()):,}"
    caption = (
        "Share of a test split's tokens that no lexicon entry contains. These tokens are neutral: (1/3, 1/3, 1/3). Tokens are those of the"
        f" data set's tokenizer, without special and unknown ones; {tokens} tokens. Dotted: the centre of most shares in the paper."
    )
    return Figure(file_safe("neutral-tokens"), chart, frame, caption)


@figure("coverage-tokenizers", "Share of neutral tokens by tokenizer", Study)
def _tokenizers(of: Study) -> Figure:
    """Draw figure 4 with its second axis: the share of tokens that no entry of KNU contains, by task and tokenizer."""
    frame = coverage.WITH_TOKENIZERS.require()
    rows = frame.assign(dataset=frame["dataset"].map(coverage.TITLES), tokenizer=frame["tokenizer"].map(coverage.TOKENIZERS))
    hover = "{tokenizer}: {neutral:.1%} of {tokens:,} tokens"
    dots = points(rows, "neutral", "dataset", by="tokenizer", hover=hover)
    across = Axis("tokens that stay neutral", ".0%", span=(0, 0.7))
    named = Axis(rows={title: title for title in rows["dataset"]})
    chart = Chart("Tokens that stay neutral, by tokenizer", [dots], across, named, rules=[Rule(x=MOST_SHARES)])
    caption = (
        "Share of a test split's tokens that no entry of KNU contains, with the tokenizers of our encoders; each tokenizer reads every data"
        " set. Special and unknown tokens are left out. Dotted: the centre of most shares in the paper."
    )
    return Figure(file_safe("neutral-by-tokenizer"), chart, rows, caption)


@figure("product-and-sum", "The product of Xia et al. beside the sum", Study)
def _product(of: Study) -> Figure:
    """Draw the attention weight of one pair against its similarity σ, under the product of Xia et al. and under the sum, a line per score.

    Frame:
        way (product or sum), score, sigma, weight, without (weight without a lexicon).
    """
    sigma = np.linspace(0, 1, 41)
    records = [
        (way, score, s, _weight(raised), _weight(score))
        for way in ("product", "sum")
        for score in SCORES
        for s in sigma.tolist()
        for raised in [score * s if way == "product" else score + s - 1 / 3]
    ]
    frame = pd.DataFrame(records, columns=["way", "score", "sigma", "weight", "without"])
    named = frame.assign(name=[f"score {number(score, 0)}" for score in frame["score"]])
    without = named.drop_duplicates(["way", "score"]).assign(sigma=1 / 3)
    marks = [
        line(named, "sigma", "weight", by="name", symbol="", hover="{name}, σ {sigma:.2f}: weight {weight:.3f}"),
        points(without, "sigma", "without", by="name", symbol="circle-open", hover="{name}, without a lexicon: {without:.3f}"),
    ]
    panels = Panels("way", {"product": "Product of Xia et al.", "sum": "Sum, as in the paper"}, 2)
    ticks = {share: percent(share, 0) for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)}
    across, down = Axis("similarity σ of the pair", span=(-0.02, 1.02)), Axis(log=True, span=(0.009, 0.75), ticks=ticks)
    chart = Chart("Attention weight of one pair", marks, across, down, panels=panels, rules=[Rule(x=1 / 3)])
    caption = (
        f"Attention of one query to a key (log scale), against their similarity. {OTHERS} other keys have a score of 0 and are neutral"
        " (σ = 1/3, dotted). Open circles are the weights without a lexicon. Under the product, a more similar pair with a negative score"
        " loses weight, and neutral pairs change too. Under the sum, every more similar pair gains, and neutral pairs stay."
    )
    return Figure(file_safe("product-and-sum"), chart, frame, caption)


def _weight(score: float) -> float:
    """Return the attention weight of a key among `OTHERS` keys with a score of 0."""
    return float(np.exp(score) / (np.exp(score) + OTHERS))


# ---- the paper's figures 1 to 3, drawn of a run's example


def _figure_3(run: Run) -> list[Figure]:
    last, injected = run.capabilities.heads - 1, Sentence(run)
    sentences = {"without": Sentence(run, change="term:lexicon=0"), "with": injected}
    maps = [replace(gallery.make("attention", of, head=last), name=f"attention-{word}") for word, of in sentences.items()]
    return [gallery.make("sigma", injected), *maps, gallery.make("lexicon-difference", injected, head=last)]


MAKERS = {
    "figure-1": of_first(readable, lambda run: [gallery.make(name, Sentence(run)) for name in ("lexicon-scores", "lexicon-attention")]),
    "figure-2": of_first(readable, lambda run: [gallery.make(name, Sentence(run)) for name in ("polarity", "polarity-of-token")]),
    "figure-3": of_first(readable, _figure_3),
}
