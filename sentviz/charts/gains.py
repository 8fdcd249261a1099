"""Gains over a baseline: measured gains with intervals, and reported ones next to them."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.charts.chart import Axis, Chart, Rule, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import in_points, signed, span

_KINDS = {"one seed": ("measured, one seed of each", "circle"), "over seeds": ("measured", "square")}


def gain_dots(
    frame: pd.DataFrame,
    printed: pd.DataFrame | None = None,
    *,
    order: Sequence[str],
    title: str,
    base: str = "the baseline",
    each: str = "one pretrained encoder each",
) -> Figure:
    """Draw a row per comparison in percentage points: filled marks with 95 % intervals are measured, open diamonds reported, one per
    encoder.

    Args:
        frame: row, kind ("one seed" or "over seeds"), difference, low, high (shares), n, seeds.
        printed: row, encoder, value (shares); if the paper can be read in several ways, also reading, in words.
        order: the rows, from top to bottom.
        title: of the figure.
        base: name of the baseline. each: the model of a reported diamond, for the legend; "" for none.
    Frame:
        row, kind (or "printed"), encoder, reading (if there are several), value, low, high, n, seeds, in shares.
    """
    theirs = pd.DataFrame(columns=["row", "encoder", "value"]) if printed is None else printed
    if frame.empty and theirs.empty:
        raise InputError("There is neither a reported nor a measured gain to draw.")
    ours = frame.rename(columns={"difference": "value"})[["row", "kind", "value", "low", "high", "n", "seeds"]]
    readings = theirs.groupby(theirs.get("reading", pd.Series("", theirs.index)), sort=False)
    measured = [
        points(_in_points(ours[ours["kind"] == kind]), "value", "row", low="low", high="high", name=name, symbol=symbol,
               hover="{value:+.2f} points [{low:+.2f}, {high:+.2f}]<br>n = {n:,.0f}, seeds: {seeds:.0f}")
        for kind, (name, symbol) in _KINDS.items() if (ours["kind"] == kind).any()
    ]  # fmt: skip
    reported = [
        points(_in_points(part), "value", "row", role=1 + place, symbol="diamond-open", shift=(-0.25 if measured else 0) - 0.2 * place,
               name=", ".join(filter(None, ("reported", str(reading) or each))), hover="{encoder}, reported: {value:+.2f} points")
        for place, (reading, part) in enumerate(readings)
    ]  # fmt: skip
    together = pd.concat([part for part in (ours, theirs.assign(kind="printed")) if len(part)], ignore_index=True)
    caption = sentence(
        [
            f"{title}: difference of accuracy on the same test rows, in percentage points, with 95 % intervals."
            if len(frame)
            else f"{title}, in percentage points.",
            "Filled marks are measured, open diamonds are reported." if len(frame) and len(theirs) else "",
            "The paper can be read in two ways, each with its own colour." if len(readings) > 1 else "",
            "With one seed of each model, the intervals do not cover retraining." if (frame["kind"] == "one seed").any() else "",
            f"Reported gains range from {signed(100 * theirs['value'].min())} to {in_points(theirs['value'].max())}."
            if len(theirs)
            else "",
            f"n = {span(frame['n'])}." if len(frame) else "No run is installed.",
        ]
    )
    across, down = Axis(f"percentage points over {base}"), Axis(rows={row: row for row in order})
    chart = Chart(title, [*measured, *reported], across, down, rules=[Rule(x=0, solid=True)])
    return Figure(file_safe(title), chart, together, caption)


def _in_points(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the values and intervals in percentage points."""
    columns = [name for name in ("value", "low", "high") if name in shares]
    return shares.assign(**{name: 100 * shares[name].astype(float) for name in columns})
