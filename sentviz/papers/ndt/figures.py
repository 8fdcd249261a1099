"""Figures of the NDT study, drawn from all available runs. Each takes a data set of the study, or "all", instead of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from sentviz.charts.chart import Axis, Chart, Panels, Rule, line, points
from sentviz.charts.figure import SYMBOLS, Figure, file_safe, sentence
from sentviz.charts.measured_vs_printed import measured_beside_printed
from sentviz.charts.options import choice
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study, sourced
from sentviz.charts.text import subscript
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent, span
from sentviz.papers.ndt import panels, study, tables, tsne
from sentviz.papers.ndt.lambdas import SETTINGS_OF, lambda_frames
from sentviz.papers.ndt.specialisation import habits
from sentviz.papers.ndt.study import DATASETS, PRESETS, STUDIES, beside, configurations, settings_of, summary
from sentviz.runs.presets import CONSTRAINT_SIGNS, range_in_words
from sentviz.runs.store import Run

__all__ = ["panels", "tsne"]  # modules that register further figures of the paper

METRIC_TITLES = {
    "accuracy": "Accuracy",
    "precision_weighted": "Precision, weighted",
    "f1_weighted": "F1, weighted",
    "auc": "AUC",
    "silhouette": "Silhouette",
    "precision_macro": "Precision, macro",
    "f1_macro": "F1, macro",
}
SPLITS = {"test": "Test split of the paper", "official_test": "Official test sentences"}
Split = Annotated[str, choice(SPLITS)]
BASELINE_DASHES = ("dot", "dash", "solid")
BESIDE = {
    "vanilla": "middle right",
    "vanilla-matched": "middle right",
    "diff": "bottom right",
    "ndt-unit-2": "top left",
}  # places of labels whose points nearly coincide
MIXINGS = {"unit": "adds", "nonneg": "adds", "free": "adds", "symmetric": "subtracts", "differential": "subtracts"}  # order of the rows


def _runs(of: Study) -> list[Run]:
    """Return the runs of a data set of the NDT study by configuration, seeds in order."""
    on_dataset = [run for seeds in configurations(of.runs, of.name).values() for run in seeds]
    if not on_dataset:
        raise InputError(f"No run on {DATASETS[of.name]} is installed: `sentviz study ndt --dataset {of.name}` trains them.")
    return on_dataset


def _rows(split: str) -> str:
    return "" if split == "test" else ", official test"


@figure("accuracy-beside-print", "Measured and reported values", Study, sets=DATASETS.keys)
def _beside(of: Study, *, metric: Annotated[str, choice(METRIC_TITLES)] = "accuracy", split: Split = "test") -> Figure:
    used, title = _runs(of), DATASETS[of.name]
    frame = beside(summary(of.runs, of.name, split), of.name, metric, split)
    single, (first, _, how) = study.points(of.runs, of.name, metric, split), metric.partition("_")
    named = ", ".join(filter(None, ({"auc": "AUC", "f1": "F1"}.get(first, first.capitalize()), how)))
    result = measured_beside_printed(frame, single, title=f"{named} on {title}{_rows(split)}", percent=metric == "accuracy")
    return sourced(result, *used, split=split)


@figure("accuracy-grid", "Accuracy by constraint and number of components", Study, sets=DATASETS.keys)
def _grid(of: Study, *, split: Split = "test") -> Figure:
    """Draw accuracy in a panel for each constraint, over C; baselines are horizontal lines through all panels, reported values open
    diamonds.
    """
    used, title = _runs(of), f"{DATASETS[of.name]}{_rows(split)}"
    frame = tables.grid(beside(summary(of.runs, of.name, split), of.name, "accuracy", split))
    known = frame.dropna(subset="value")
    if known.empty:
        raise InputError("No run of this data set is installed.")
    baselines, measured = known[known["constraint"] == ""], known[known["constraint"] != ""]
    reported = frame[frame["constraint"] != ""].dropna(subset="printed")
    marks = [
        line(pd.DataFrame({"C": [1.5, 4.5], "value": base["value"], "model": base["model"]}), "C", "value", role=k + 2, symbol="",
             dash=BASELINE_DASHES[k % 3], name=f"{base['model']} {percent(base['value'], 2)}", hover="{model} {value:.2%}")
        for k, base in enumerate(baselines.to_dict("records"))
    ]  # fmt: skip
    hover = "C = {components}: {value:.2%} [{low:.2%}, {high:.2%}], seeds: {seeds:.0f}"
    marks.append(points(measured, "components", "value", low="low", high="high", name="NDT, measured, 95 % interval", hover=hover))
    if len(reported):
        diamonds: Any = {"role": 1, "symbol": "diamond-open", "name": "NDT, reported", "hover": "reported {printed:.2%}"}
        marks.append(points(reported.assign(components=reported["components"] + 0.2), "components", "printed", **diamonds))
    constraints = frame.loc[frame["constraint"] != "", "constraint"].unique()
    panels = Panels("constraint", {name: range_in_words(name) for name in constraints}, len(constraints), alike=True)
    across, down = Axis("C", ticks={2.0: "2", 3.0: "3", 4.0: "4"}, span=(1.5, 4.6)), Axis(form=".1%")
    chart = Chart(f"Accuracy by constraint and number of maps, {title}", marks, across, down, panels=panels)
    caption = sentence(
        [
            "Accuracy of each constraint over the number of maps C. Dots are measured; bars are 95 % intervals over test rows, and over"
            " seeds if a configuration has several.",
            "Diamonds are reported in the paper." if frame["printed"].notna().any() else "",
            f"Lines are the measured baselines. Seeds per configuration: {span(known['seeds'])}; n = {int(known['n'].max()):,}.",
        ]
    )
    return sourced(Figure(file_safe("accuracy-grid", title), chart, frame.reset_index(drop=True), caption), *used, split=split)


@figure("lambda-grid", "Lambda of all configurations over training", Study, sets=DATASETS.keys)
def _lambda_grid(of: Study, *, change: bool = False) -> Figure:
    return _lambdas(of, DATASETS[of.name], PRESETS, change=change, settings=False)


@figure(
    "lambda-settings",
    "Lambda of one NDT with other starts, rates and decays",
    Study,
    sets=lambda: STUDIES["ndt-controls"].datasets,
)
def _lambda_settings(of: Study, *, change: bool = False) -> Figure:
    title = f"{DATASETS[of.name]}, settings of {SETTINGS_OF}"
    return _lambdas(of, title, settings_of(SETTINGS_OF), change=change, settings=True)


def _lambdas(of: Study, title: str, models: Iterable[str], *, change: bool, settings: bool) -> Figure:
    """Draw a panel for each layer and constraint. Colour is the component, dash the number of components C.

    Lines are means over seeds, bands their range; an open circle marks the start, a filled one the end, a diamond the paper's final value.

    Args:
        change: draw the change from the start, without diamonds, since their starts are unknown.
    """
    frame, marks = lambda_frames(of.runs, of.name, settings=settings)
    if frame.empty:
        raise InputError("No installed run of this data set has a learned lambda.")
    constraints, layers = list(frame["constraint"].unique()), sorted(frame["layer"].unique())
    value, low, high = ("change", "change_low", "change_high") if change else ("value", "low", "high")
    has_marks, last = not change and not marks.empty, int(frame["step"].max())
    drawn = _placed(frame).sort_values("step", kind="stable")
    drawn[[low, high]] = drawn[[low, high]].where(drawn["seeds"] > 1)
    by_line = drawn.groupby(["panel", "total", "label"], sort=False)
    pictures = [
        line(drawn, "step", value, low=low, high=high, by="label", dashes="total", symbol="",
             hover=f"{{model}}, {{label}}<br>step {{step}}: {{{value}:.4f}}"),
        points(by_line.head(1), "step", value, by="label", symbol="circle-open", size=0.7),
        points(by_line.tail(1), "step", value, by="label", symbol="circle", size=0.7),
    ]  # fmt: skip
    if has_marks:
        reported = _placed(marks).assign(step=last * (1.02 + 0.05 * (marks["components"].to_numpy(float) - 1)))
        diamonds: Any = {"symbol": "diamond-open", "size": 0.9}
        pictures += [
            points(reported, "step", "value", by="label", hover="reported, C = {components}: {value:.4f}", **diamonds),
            points(reported.iloc[:0], "step", "value", role="muted", name="reported", **diamonds),
        ]
    titles = {f"{name} {layer}": f"{range_in_words(name)}, layer\u00a0{layer + 1}" for layer in layers for name in constraints}
    numbers = {f"λ{subscript(component + 1)}": i for i, component in enumerate(sorted(frame["component"].unique()))}
    numbers |= {f"C = {total}": at for at, total in enumerate((2, 3, 4))}
    crosses = change or bool(frame["low"].min() < 0 < frame["high"].max())
    chart = Chart(
        f"λ while training, {'change from the start, ' if change else ''}{title}",
        pictures,
        Axis("step", span=(-0.05 * last, 1.27 * last if has_marks else 1.05 * last)),
        Axis(form=".2f"),
        rules=[Rule(y=0)] if crosses else (),
        panels=Panels("panel", titles, len(constraints), alike=True, small=True),
        series=numbers,
    )
    seeds = frame.groupby("model")["seeds"].max()
    caption = sentence(
        [
            f"Learned λ of {len(seeds)} configurations over the training steps; open circles are the start, filled ones the end.",
            f"Seeds per configuration: {span(seeds)}" + ("; lines are their means, bands their range." if seeds.max() > 1 else "."),
            "Values are changes from the start, because the initialisation sets the start." if change else "",
            "Diamonds are the paper's final values." if has_marks else "",
            "For DT, −λ is drawn, which DT learns in another form." if "DT, −λ" in constraints else "",
        ]
    )
    name = file_safe("lambda-grid-change" if change else "lambda-grid", title)
    used = [run for model, of_model in configurations(of.runs, of.name, tuple(models)).items() if model in seeds for run in of_model]
    return sourced(Figure(name, chart, frame, caption), *used)


def _placed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with their panel, the label of their lambda and their number of components in words."""
    return rows.assign(
        panel=[f"{name} {layer}" for name, layer in zip(rows["constraint"], rows["layer"], strict=True)],
        label=[f"λ{subscript(int(component) + 1)}" for component in rows["component"]],
        total=[f"C = {total}" for total in rows["components"]],
    )


@figure("cost", "Parameters and latency", Study, sets=DATASETS.keys)
def _cost(of: Study) -> Figure:
    """Draw each model at its parameters (millions) and its time per test batch as a multiple of vanilla's, measured and reported."""
    frame, printed = tables.costs(of.name)
    if frame.empty and printed.empty:
        raise InputError("There is neither a measured nor a reported time.")
    names = frame.assign(
        label=[model.replace("ndt-unit-", "NDT, C = ") for model in frame["model"]],
        place=[BESIDE.get(model, "middle left") for model in frame["model"]],
    )
    hover = "{model}: {parameters:.2f} M, {value:.2f} × vanilla"
    ends: Any = {"low": "low", "high": "high", "hover": hover}
    marks = [
        points(names, "parameters", "value", name="measured, 95 % interval over rounds", text="{label}", text_at="place", **ends),
        points(printed, "parameters", "value", role=1, symbol="diamond-open", name="reported, with its rounding", **ends),
    ]
    across, down = Axis("parameters, millions"), Axis("× vanilla", zero=True)
    with_rows = [mark for mark in marks if len(mark.frame)]
    chart = Chart(f"Parameters against time per batch, {DATASETS[of.name]}", with_rows, across, down, height=1.2)
    caption = sentence(
        [
            "Time of the same test batches as a multiple of vanilla's time. The models are measured in turns in one process;"
            " bars are 95 % intervals over rounds."
            if len(frame)
            else "",
            "The paper reports whole seconds for all batches; the bars of its diamonds are the range that rounding to whole seconds allows."
            if len(printed)
            else "",
            "The constraint of lambda changes neither the parameters nor the time." if len(frame) else "",
        ]
    )
    together = pd.concat([frame.assign(source="measured"), printed.assign(source="printed")], ignore_index=True)
    return Figure(file_safe("parameters-latency", DATASETS[of.name]), chart, together, caption)


@figure("component-habits", "Habits in which the components of each run differ", Study)
def _component_habits(of: Study) -> Figure:
    """Draw a panel per data set: rows are ranges of lambda, x is the number of habits that differ beyond every baseline.

    Marks show the number of components; green runs add their maps, purple runs subtract. Grey: what chance allows.
    """
    frame, by_name = habits(of.runs), {run.name: run for run in of.runs}
    if frame.empty:
        raise InputError("No installed run of the study has measured components: `sentviz specialise RUN` measures those of a run.")
    sets = [name for name in DATASETS if name in set(frame["data"])]
    rows = {mixing: _label(mixing) for mixing in MIXINGS if mixing in set(frame["mixing"])}
    sizes, tones = sorted(frame["components"].unique()), {"adds": "plus", "subtracts": "minus", "both": "muted"}
    steps = frame.groupby(["data", "components", "mixing", "habits"]).cumcount()
    place = frame["components"].map({size: k for k, size in enumerate(sizes)})
    drawn = frame.assign(tint=frame["kind"].map(tones), lift=0.28 * (place - (len(sizes) - 1) / 2) + 0.12 * steps)
    words = {"adds": "adds its maps", "subtracts": "subtracts maps", "both": "λ of both signs"}
    marks = [
        *(points(drawn.iloc[:0], "habits", "mixing", role=tones[kind], name=name)
          for kind, name in words.items() if kind in set(frame["kind"])),
        *(points(drawn[drawn["components"] == size], "habits", "mixing", role="muted", tint="tint", lift="lift", symbol=SYMBOLS[k],
                 name=f"C = {size}", hover="{run}: {habits} of {of} habits") for k, size in enumerate(sizes)),
    ]  # fmt: skip
    most = int(frame["of"].max())
    chance = [Rule(low=-0.6, high=int(part["needed"].max()) - 0.5, panel=name, note="chance") for name, part in frame.groupby("data")]
    ticks = {float(n): str(n) for n in range(0, most + 1, 3)}
    panels = Panels("data", {name: DATASETS[name] for name in sets}, len(sets))
    across = Axis(f"habits of {most}", span=(-0.6, most + 0.6), ticks=ticks)
    title = "Habits in which the components differ beyond every baseline"
    chart = Chart(title, marks, across, Axis(rows=rows), rules=chance, panels=panels)
    result = Figure("component-habits", chart, frame, _habits_in_words(frame, sets))
    return sourced(result, *(by_name[name] for name in frame["run"]))


def _label(mixing: str) -> str:
    if mixing == "differential":
        return "DT, −λ"
    return "λ in " + range_in_words(CONSTRAINT_SIGNS[mixing])


def _habits_in_words(frame: pd.DataFrame, sets: Sequence[str]) -> str:
    sentences = [
        "A mark is a run. A habit is the entropy of a component's attention, or its attention to a class of words, in one layer, as a mean"
        " over heads. Components differ if their difference exceeds shuffled labels, shuffled heads and untrained models.",
        f"Grey: up to {int(frame['needed'].max()) - 1} habits, which chance allows at 5 % per habit.",
    ]
    for kind, words in {"adds": "add their maps", "subtracts": "subtract maps"}.items():
        part = frame[frame["kind"] == kind]
        if len(part):
            sentences.append(f"Of the runs that {words}, {int((part['habits'] >= part['needed']).sum())} of {len(part)} reach more.")
    counts = ", ".join(f"{DATASETS[name]} {int((frame['data'] == name).sum())}" for name in sets)
    seeds = int(frame.groupby(["data", "model"]).size().max())
    size, deals = min(zip(frame["components"], frame["deals"], strict=True), key=lambda pair: pair[1])
    return sentence(
        [
            *sentences,
            f"Not to differ is not to be equal: a difference in single heads is not seen, and with C = {size} the heads of"
            f" a layer can be dealt in {deals:,} ways, so p is at least {1 / deals:.2g}.",
            f"Measured runs: {counts}; at most {seeds} seed{'s' * (seeds > 1)} per configuration.",
        ]
    )
