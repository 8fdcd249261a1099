"""Figures of the SentiFormer paper: of its study, from all runs that studies read, and of measurements that need no run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from sentviz.charts import gallery
from sentviz.charts.chart import Axis, Chart, Rule, line
from sentviz.charts.figure import Figure, sentence
from sentviz.charts.options import choice
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Runs, Sentence, Study, sourced
from sentviz.data.demo import FAILURES, labels_for
from sentviz.errors import InputError
from sentviz.io.table import Column, Table
from sentviz.papers.sentiformer import measured
from sentviz.papers.sentiformer.printed_tables import SARCASTIC
from sentviz.papers.sentiformer.study import ABLATIONS, DATASETS, READINGS, with_weights
from sentviz.papers.studies.compare_configurations import points
from sentviz.papers.studies.items import Maker, PaperItem, make_table, of_first
from sentviz.papers.studies.rates import chosen
from sentviz.papers.studies.stored import Stored
from sentviz.runs.presets import without_training
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.papers.sentiformer.solvers import Separation

POSITIONS = {"aware": "SentiFormer's", "learned": "learned", "sinusoid": "sinusoid", "rotary": "rotary"}
PARTS = {"attention": "one layer's attention", "model": "the whole model"}
MARKOV = "functions of the last words"  # series of all Markov models
Positions = Annotated[str, choice(POSITIONS)]


@figure("sentiformer-accuracy", "SentiFormer and its baselines, measured and reported", Study, sets=DATASETS.keys)
def _accuracy(of: Study) -> Figure:
    """Draw table I on a data set: dots next to the printed diamonds."""
    from sentviz.charts.measured_vs_printed import measured_beside_printed
    from sentviz.papers.sentiformer.study import MODELS, beside, configurations, rows_of_table_1

    by_model = {name: seeds for name, seeds in configurations(of.runs, of.name).items() if without_training(name) not in ABLATIONS}
    if not by_model:
        raise InputError(f"No run on {DATASETS[of.name]} is installed: `sentviz study sentiformer --dataset {of.name}` trains them.")
    single = points(by_model, "accuracy")
    single["model"] = single["model"].map(MODELS)
    title = f"Accuracy on {DATASETS[of.name]}"
    rows = rows_of_table_1(beside(of.runs, of.name), of.name).dropna(subset=["printed", "value"], how="all")
    drawn = measured_beside_printed(rows, single, title=title, percent=True)
    return sourced(drawn, *(run for seeds in by_model.values() for run in seeds))


@figure("sentiformer-parts", "SentiFormer without each of its parts", Study, sets=READINGS.keys)
def _parts(of: Study) -> Figure:
    """Draw table II: differences from the complete model."""
    from sentviz.charts.gains import gain_dots
    from sentviz.papers.sentiformer.study import UNPRINTED, ablations, configurations

    frame = ablations(of.runs, of.name)
    if frame.empty:
        command = f"sentviz study sentiformer-ablations --dataset {of.name}"
        raise InputError(f"No ablation is installed on {DATASETS[of.name]}: `{command}` trains them.")
    if of.name in UNPRINTED:
        frame = frame.assign(printed=float("nan"))
    frame = frame.assign(row=frame["title"], kind=frame["test"].map({"over seeds": "over seeds", "McNemar": "one seed"}))
    drawn = gain_dots(
        frame,
        frame.rename(columns={"printed": "value"})[["row", "value"]].dropna().assign(encoder="SentiFormer"),
        order=list(frame["row"]),
        title=f"Accuracy without each part on {DATASETS[of.name]}",
        base="the whole",
        each="",
    )
    by_model = configurations(of.runs, of.name)
    return sourced(drawn, *(run for name in [chosen(by_model, "sentiformer"), *frame["preset"]] for run in by_model[name]))


@figure("separation", "Proposition 2: which models can use the first word", Study)
def _separation(
    of: Study,
    *,
    positions: Positions = "aware",
    longest: int = 24,
    seed: int = 0,
    rows: int = 6_000,
    epochs: int = 3,
) -> Figure:
    from sentviz.papers.sentiformer.solvers import Setting, separate

    return separated(separate(Setting(positions, longest, seed, rows, epochs)))  # type: ignore[arg-type]


def separated(separation: Separation) -> Figure:
    """Draw a line for each model over the length of sequences whose class depends on the first word "not" and the last word "good"; longer
    sequences than those of the training stand on a shaded ground. Markov models have thin lines of one colour, with a dash each.

    Frame:
        model, order (0 = no Markov model), length, n, accuracy, low, high.
    """
    frame, trained = separation.accuracy, separation.setting.longest
    most, longest, shortest = (int(value) for value in (frame["order"].max(), frame["length"].max(), frame["length"].min()))
    hover = "{model}<br>{length} words: {accuracy:.1%} [{low:.1%}, {high:.1%}], n = {n}"
    ends: Any = {"low": "low", "high": "high", "whiskers": True, "by": "model", "hover": hover}
    markov = frame[frame["order"] > 0].assign(kind=MARKOV)
    marks = [
        line(markov, "length", "accuracy", dashes="model", faint=True, symbol="circle", size=0.55, **ends | {"by": "kind"}),
        line(frame[frame["order"] == 0], "length", "accuracy", **ends),
    ]
    ticks = [length for length in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128) if shortest <= length <= longest]
    across = Axis(
        "length of the sequence in words", log=True, span=(shortest / 1.1, longest * 1.1), ticks={float(tick): str(tick) for tick in ticks}
    )
    least = min(0.4, float(frame["low"].min()) - 0.02)
    rules = [Rule(y=0.5)]
    if trained < longest:
        rules.append(Rule(low=trained * 1.05, high=longest * 1.1, note="longer than in training"))
    trained_here = frame.loc[frame["order"] == 0, "model"].unique()
    series = {MARKOV: 0} | {name: place for place, name in enumerate(trained_here, start=1)}
    across, down = across, Axis(form=".0%", span=(max(0.0, least), 1.09))
    marks = [mark for mark in marks if len(mark.frame)]
    chart = Chart("Accuracy by the length of the sequence", marks, across, down, rules=rules, series=series, height=1.2)
    caption = sentence(
        [
            f"Share of right predictions among {int(frame['n'].max()):,} new sequences of each length that end in “good”; half of them"
            " begin with “not”."
            " Bars are Wilson's 95 % intervals.",
            "Dotted: guessing, which is also the best that a function of the last k words can reach in longer sequences." if most else "",
            f"All models learned from the same sequences of 2 to {trained} words.",
        ]
    )
    return learned_by(Figure("separation", chart, frame.reset_index(drop=True), caption), separation.setting)


def learned_by(figure: Figure, setting: Any) -> Figure:
    """Return the figure with the setting of the models that were trained for it, a `solvers.Setting`."""
    source = f"trained on request: {setting.rows:,} sequences, {setting.epochs} epochs, {setting.positions} positions, seed {setting.seed}"
    return replace(figure, source=source)


@figure("time-by-length", "Time of one text by its length, full and sparse", Study)
def _time_by_length(of: Study, *, threads: int = 1) -> Figure:
    """Draw the stored milliseconds of one text over its number of tokens on log scales: full attention dashed, sparse attention solid. A
    line marks the number of tokens from which full attention takes longer.
    """
    from sentviz.papers.sentiformer import throughput

    about, frame = make_table(find_paper("sentiformer"), "growth", []).caption, throughput.curves(threads)
    marks, rules, statements = [], [], []
    for place, (of_part, rows) in enumerate(frame.groupby("of", sort=True)):
        name, times = PARTS[str(of_part)], rows.sort_values("tokens")
        for way, dash in (("full", "dash"), ("sparse", "solid")):
            drawn = times.assign(milliseconds=1e3 * times[way], name=f"{name}, {way}")
            hover = "{name}<br>{tokens:,} tokens: {milliseconds:.3g} ms"
            marks.append(line(drawn, "tokens", "milliseconds", role=place, dash=dash, size=0.7, name=f"{name}, {way}", hover=hover))
        if at := throughput.crossing(rows["tokens"].to_numpy(), rows["times"].to_numpy()):
            rules.append(Rule(x=at, note=f"{at:,.0f}", role=place))
        where = "at no length measured" if at is None else f"from about {at:,.0f} tokens on" if at else "at every length"
        statements.append(f"{name}: {where}")
    ticks = {float(n): f"{n:,}" for n in sorted(frame["tokens"].unique())}
    across, down = Axis("tokens", log=True, ticks=ticks), Axis("milliseconds", ",", log=True, step=1)
    chart = Chart("Time of one text by its length", marks, across, down, rules=rules, height=1.1)
    caption = sentence([f"Full attention takes longer for {'; for '.join(statements)}.", about])
    return Figure("time-by-length", chart, frame, caption)


@figure("sentiformer-smaller", "SentiFormer quantised and pruned", Study)
def _smaller(of: Study) -> Figure:
    """Draw accuracy on SST-5 by the size of the weights, quantised and pruned without further training."""
    from sentviz.charts.learning import learning_curve

    frame = measured.sizes()
    note = (
        "Quantised to 8, 4 and 3 bits, pruned by 30, 50, 70 and 90 %; the largest size is the unchanged model. Nothing is trained again."
        " The size of a pruned model leaves out zeros, and the room for the places of the other weights."
    )
    titles = {"quantised": "quantised", "pruned": "pruned"}
    drawn = learning_curve(frame, titles, title="Accuracy on SST-5 by size of the weights", unit="MiB", note=note)
    return _measured_on(drawn, measured.COMPRESSED)


@figure("sentiformer-rows", "SentiFormer on fewer training rows", Study)
def _by_rows(of: Study) -> Figure:
    """Draw accuracy on SST-5 as two classes by the number of training rows, with equal updates."""
    from sentviz.charts.learning import learning_curve

    frame = measured.ROWS.require().assign(preset="sentiformer", seeds=1, printed=float("nan"))
    note = "All points have the updates of one epoch of all rows."
    titles, title = {"sentiformer": "SentiFormer"}, "Accuracy on SST-5 as two classes by training rows"
    return _measured_on(learning_curve(frame, titles, title=title, note=note), measured.ROWS)


def _measured_on(figure: Figure, stored: Stored) -> Figure:
    """Return a figure of stored measurements with the names of the measured runs."""
    return replace(figure, source=f"measured on {', '.join(stored.read()['run'].unique())}")


# ---- items that show one run, or measurements without a run


def _proposition(runs: Sequence[Run]) -> list[PaperItem]:
    """Return the stored shares of right predictions by model and length, over all seeds and positions; nothing if none are stored."""
    from sentviz.papers.sentiformer.separation import MEASURED

    frame = MEASURED.read()
    if frame.empty:
        return []
    sums = frame.groupby(["model", "order", "length"], as_index=False, sort=False, dropna=False)[["right", "n"]].sum()
    shares = sums.assign(right=sums["right"] / sums["n"])
    words = (
        "The share of random sequences that each model predicts right, by length in words, over all stored seeds and positions. A sequence"
        " is positive if its first word is “not” and its last is “good”."
    )
    columns = [Column("model"), Column("order"), Column("length"), Column("right", form="{:.1f}", percent=True), Column("n")]
    return [Table("proposition-2", "Proposition 2: transformer, Markov models and a GRU", shares, words, columns)]


def _english(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with weights whose classes those of the demo set fit."""
    return [run for run in with_weights(runs) if min(labels_for(run.labels).values()) >= 0]


MAKERS: dict[str, Maker] = {
    "example": of_first(with_weights, lambda run: [gallery.make(name, Sentence(run, SARCASTIC)) for name in ("gates", "overview")]),
    "proposition-2": _proposition,
    "failure-modes": of_first(_english, lambda run: [gallery.make("phenomena", Runs.of(run), only=(*FAILURES, "plain"), sided=True)]),
}
