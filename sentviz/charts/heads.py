"""Measures of attention heads over many texts: lines over layers for several runs, and one cell per head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from sentviz.charts.chart import Axis, Chart, Panels, cells, line, numbered, points
from sentviz.charts.figure import Figure, file_safe
from sentviz.charts.options import Series, choice, several
from sentviz.charts.registry import figure, table
from sentviz.charts.requirements import MAPS
from sentviz.charts.subjects import Runs
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.runs.store import Run

HEADS = table("heads.parquet", "heads", "sentviz heads")

MEASURE_TITLES = {
    "from_cls": "CLS attention std, from [CLS] to others",
    "to_cls": "CLS attention std, from others to [CLS]",
    "entropy": "Entropy, share of its maximum",
    "previous": "Attention to the token before",
    "next": "Attention to the token after",
    "same": "Attention to the token itself",
    "specials": "Attention to [CLS] and [SEP]",
    "first": "Attention to the first token",
}


def layer_lines(
    frames: Mapping[str, pd.DataFrame],
    measures: Sequence[str],
    *,
    dashed: Sequence[str] = (),
    series: Sequence[int] = (),
    sentence: pd.DataFrame | None = None,
    title: str = "",
) -> Figure:
    """Draw measures by layer, mean over heads, with a line and a band for each run.

    Args:
        frames: name -> layer, head (-1 = mean over heads), measure, value, low, high, n, as `sentviz.analysis.maps.heads` gives it.
        measures: keys of `MEASURE_TITLES`, one panel each.
        dashed: names with dashed lines (the baselines); all others have solid lines.
        series: number of the colour and symbol of each run of `frames`; by default 0, 1, 2 ...
        sentence: layer, head, measure, value of one sentence, drawn as rings.
        title: of the figure; "" for none.
    Frame:
        run, layer (counted from 0), measure, value, low, high, n.
    """
    columns = ["run", "layer", "measure", "value", "low", "high", "n"]
    rows = [frame[(frame["head"] < 0) & frame["measure"].isin(measures)].assign(run=name)[columns] for name, frame in frames.items()]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    if table.empty:
        raise InputError("None of these runs has these measures. Measures of [CLS] need runs with [CLS].")
    drawn = {measure: MEASURE_TITLES[measure] for measure in measures if (table["measure"] == measure).any()}
    shared, parts = {name.partition(", ")[0] for name in drawn.values()}, {key: name.partition(", ")[2] for key, name in drawn.items()}
    if len(drawn) > len(shared) == 1 and all(parts.values()):  # The figure says what its panels share.
        title, drawn = ", ".join(filter(None, [f"{shared.pop()} by layer", title])), parts
    hover = "{run}, layer {place}<br>{value:.4f} [{low:.4f}, {high:.4f}]"
    marks = [line(_counted(table), "place", "value", low="low", high="high", by="run", hover=hover)]
    if sentence is not None:
        own = _counted(sentence[(sentence["head"] < 0) & sentence["measure"].isin(list(drawn))])
        hover = "this sentence, layer {place}: {value:.4f}"
        marks.append(points(own, "place", "value", role="ink", symbol="circle-open", size=1.4, name="this sentence", hover=hover))
    layers = {float(layer) + 1: str(layer + 1) for layer in sorted(table["layer"].unique())}
    across, down = Axis("layer", ticks=layers), Axis(zero=True)
    chart = Chart(title, marks, across, down, panels=Panels("measure", drawn, 2), series=numbered(frames, series), dashed=dashed)
    counts = sorted({int(table["n"].min()), int(table["n"].max())})
    caption = (
        f"Lines are means over heads and {' to '.join(f'{n:,}' for n in counts)} texts; bands are 95 % intervals of the mean over texts."
        + (" Dashed: without a lexicon, solid: with it." if dashed else "")
        + (" Rings: your sentence." if sentence is not None else "")
    )
    return Figure(file_safe("by-layer", *list(drawn)[:2], *list(dict.fromkeys(table["run"]))[:2]), chart, table, caption)


def _counted(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows by layer with the layer as people count it."""
    return rows.sort_values("layer", kind="stable").assign(place=lambda frame: frame["layer"].astype(int) + 1)


def head_grid(frame: pd.DataFrame, measure: str) -> Figure:
    """Draw one measure of every head: layers down, heads across.

    Args:
        frame: layer, head (-1 is left out), measure, value, as `sentviz.analysis.maps.heads` gives it.
    Frame:
        layer, head (counted from 0), measure, value (and the other columns of `frame`).
    """
    title = MEASURE_TITLES.get(measure, measure)
    part = frame[(frame["measure"] == measure) & (frame["head"] >= 0)].reset_index(drop=True)
    if part.empty:
        raise InputError(f"This run has no {title.lower()}.")
    top = float(part["value"].max()) or 1.0
    layers, heads = ({int(i): f"{axis} {i + 1}" for i in sorted(part[axis].astype(int).unique())} for axis in ("layer", "head"))
    text = "{value:.2f}" if top >= 0.1 else "{value:.3f}"
    hover = "{row}, {column}: {value:.4f}"
    named = part.assign(row=part["layer"].map(layers), column=part["head"].map(heads))
    shades = cells(named, "head", "layer", "value", span=(0, top), text=text, hover=hover)
    chart = Chart(title, [shades], Axis(rows=heads), Axis(rows=layers))
    caption = f"{title}, mean over texts (n = {int(part['n'].max()):,})." if "n" in part else ""
    return Figure(file_safe("heads", measure), chart, part, caption)


@figure("head-lines", "What heads attend to, by layer", Runs, MAPS, HEADS)
def _head_lines(
    of: Runs,
    *,
    measures: Annotated[Sequence[str], several(choice(MEASURE_TITLES))] = ("entropy", "same", "previous", "next"),
    series: Series = (),
) -> Figure:
    if why := next((why for run in of.sources if (why := HEADS.lacks(run))), ""):
        raise InputError(why)
    frames = {run.name: run.frame("heads.parquet") for run in of.sources}
    dashed = [run.name for run in of.sources if not run.capabilities.lexicon] if with_lexicon(of) else []
    return layer_lines(frames, tuple(measures), dashed=dashed, series=series, sentence=of.sentence)


def with_lexicon(of: Runs) -> bool:
    """Return whether some of the runs inject a lexicon into their attention, and others do not."""
    return {run.capabilities.lexicon for run in of.sources} == {True, False}


def with_cls(of: Runs) -> bool:
    """Return whether some run reads [CLS]."""
    return any(map(has_cls, of.sources))


def without_cls(of: Runs) -> str:
    """Return which runs have no measures of [CLS]; "" if all have them."""
    names = [run.name for run in of.sources if not has_cls(run)]
    return f"Without [CLS], so not in this figure: {', '.join(names)}." if names else ""


def has_cls(run: Run) -> bool:
    """Return whether a run's texts begin with [CLS]."""
    return bool(run.config.get("tokenizer", {}).get("cls"))


@figure("head-grid", "One measure of every head", Runs, MAPS, HEADS)
def _head_grid(of: Runs, *, measure: Annotated[str, choice(MEASURE_TITLES)] = "entropy") -> Figure:
    return head_grid(of.run.frame("heads.parquet") if of.sentence is None else of.sentence, measure)
