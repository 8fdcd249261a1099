"""Number of habits in which the components of each run differ: a row per range of lambda, a mark per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sentviz.charts.chart import Axis, Chart, Panels, Rule, points
from sentviz.charts.figure import SYMBOLS, Figure, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.runs.presets import CONSTRAINT_SIGNS, range_in_words

MIXINGS = {"unit": "adds", "nonneg": "adds", "free": "adds", "symmetric": "subtracts", "differential": "subtracts"}  # order of the rows


def component_habits(frame: pd.DataFrame, *, titles: Mapping[str, str]) -> Figure:
    """Draw a panel per data set: rows are ranges of lambda, x is the number of habits that differ beyond every baseline.

    Marks show the number of components; green runs add their maps, purple runs subtract. Grey: what chance allows.

    Args:
        frame: the columns of `sentviz.papers.ndt.specialisation.COLUMNS`; one row per run.
        titles: titles of the data sets, in order.
    """
    if frame.empty:
        raise InputError("No installed run of the study has measured components: `sentviz specialise RUN` measures those of a run.")
    sets = [name for name in titles if name in set(frame["data"])]
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
    panels = Panels("data", {name: titles[name] for name in sets}, len(sets))
    across = Axis(f"habits of {most}", span=(-0.6, most + 0.6), ticks=ticks)
    title = "Habits in which the components differ beyond every baseline"
    chart = Chart(title, marks, across, Axis(rows=rows), rules=chance, panels=panels)
    return Figure("component-habits", chart, frame.reset_index(drop=True), _caption(frame, sets, titles))


def _label(mixing: str) -> str:
    if mixing == "differential":
        return "DT, −λ"
    return "λ in " + range_in_words(CONSTRAINT_SIGNS[mixing])


def _caption(frame: pd.DataFrame, sets: Sequence[str], titles: Mapping[str, str]) -> str:
    sentences = [
        "A mark is a run. A habit is the entropy of a component's attention, or its attention to a class of words, in one layer, as a mean"
        " over heads. Components differ if their difference exceeds shuffled labels, shuffled heads and untrained models.",
        f"Grey: up to {int(frame['needed'].max()) - 1} habits, which chance allows at 5 % per habit.",
    ]
    for kind, words in {"adds": "add their maps", "subtracts": "subtract maps"}.items():
        part = frame[frame["kind"] == kind]
        if len(part):
            sentences.append(f"Of the runs that {words}, {int((part['habits'] >= part['needed']).sum())} of {len(part)} reach more.")
    counts = ", ".join(f"{titles[name]} {int((frame['data'] == name).sum())}" for name in sets)
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
