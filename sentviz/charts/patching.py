"""Maps with signs of layers by tokens, heads or components: shares that patching brings over, contributions to the log-odds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from sentviz.analysis.causal.average import PatchAverage
from sentviz.analysis.causal.patching import TITLES, Pair, PatchMap, patch
from sentviz.analysis.explain.headline import edit_sentence
from sentviz.charts.chart import Axis, Chart, cells
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.options import Layer, choice
from sentviz.charts.registry import RunRequirement, figure
from sentviz.charts.requirements import REPLACES
from sentviz.charts.subjects import Sentence, sourced
from sentviz.charts.text import shortened, subscript
from sentviz.data.behaviour import minimal_pairs
from sentviz.errors import InputError
from sentviz.io.arguments import Progress
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent, signed, span
from sentviz.runs.catalog import language
from sentviz.runs.target import PREDICTED

KEEPS = RunRequirement(
    "weights of its epochs",
    lambda run: "" if run.epochs else f"{run.name} keeps no weights of its epochs: `{run.keeping}` trains a run that does.",
)
SWAPS = {
    "adjective": "adjective exchanged",
    "negation": "negation added",
    "intensifier": "degree exchanged",
    "name": "name exchanged (control)",
}
What = Annotated[str, choice(TITLES)]
Swap = Annotated[str, choice(SWAPS)]
BY_TOKEN, BY_PART = ("state", "residual", "feedforward"), ("head", "value", "component")

Unit = Literal["share", "log-odds"]
MOST_COLUMNS = 40  # columns that are drawn


def signed_map(
    values: npt.ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    name: str,
    title: str,
    about: str,
    notes: Sequence[Sequence[str]] = (),
    more: Mapping[str, npt.ArrayLike] | None = None,
    sure: npt.ArrayLike | None = None,
    ends: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    unit: Unit = "share",
    first_row: int = 1,
    kind: str = "token",
    chosen: Sequence[tuple[int, int]] = (),
) -> Figure:
    """Draw a cell for each layer and token, head or component, coloured by its value.

    Args:
        values: (rows, columns); NaN for a cell without a value.
        rows, columns: their names; of tokens with the partner if it differs. name: of the file. title: of the figure.
        about: beginning of the caption.
        notes: (rows, columns) last line of what a cell says under the cursor; by default the interval, if there is one.
        more: further columns of the frame, (rows, columns) each.
        sure: (rows, columns) True for cells whose number is written; by default all, or those whose interval excludes 0.
        ends: low and high, (rows, columns) each, of the intervals.
        unit: "share" of the difference between two sentences, or "log-odds".
        first_row: number of the first row: 0 if it is the embedding.
        kind: name of a column in the frame: token, head, component or place.
        chosen: (row, column) of cells that get a frame.
    Frame:
        layer (counted from 0; of states the depth, 0 = embedding), `kind` (counted from 0), name, the unit as the name of the value, and
        the columns of `more`, or low and high.
    """
    values = np.asarray(values, dtype=np.float64)
    if ends is not None:
        low, high = map(np.asarray, ends)
        sure, more = np.isfinite(low) & ((low > 0) | (high < 0)), {"low": low, "high": high}
        notes = [[_interval(*cell) for cell in zip(*row, strict=True)] for row in zip(low, high, strict=True)]
    known = np.ones(values.shape, dtype=bool) if sure is None else np.asarray(sure, dtype=bool)
    if not np.isfinite(values).any():
        raise InputError("No cell of this map has a value.")
    strongest = np.nan_to_num(np.abs(values)).max(axis=0)
    names = {int(place): shortened(columns[place], 24) for place in np.sort(np.argsort(-strongest, kind="stable")[:MOST_COLUMNS])}
    places = np.indices(values.shape).reshape(2, -1)
    frame = pd.DataFrame(
        {
            "layer": places[0],
            kind: places[1],
            "name": [columns[place] for place in places[1]],
            unit.replace("-", "_"): values.ravel(),
            **{key: np.asarray(value).ravel() for key, value in (more or {}).items()},
        }
    )
    scale, digits = (100, 0) if unit == "share" else (1, 2)
    table = pd.DataFrame({"row": places[0], "column": places[1], "value": values.ravel(), "written": scale * values.ravel()})
    table["where"] = [f"{rows[i]}, {columns[j]}" for i, j in places.T]
    table["said"] = [_number(value, unit) for value in table["value"]]
    table["note"] = [note or "no interval" for row in notes for note in row] or ""
    numbered = known.ravel() & (table["written"].abs() >= 0.5 * 10**-digits)  # numbers that round to 0 are left out
    drawn = table["column"].isin(names) & np.isfinite(table["value"])
    top = float(table["value"][drawn].abs().max()) or 1.0
    ticks = [_number(-top, unit).partition("%")[0] + "%" if unit == "share" else number(-top), "0", _number(top, unit).removeprefix("+")]
    marks = [
        cells(
            part,
            "column",
            "row",
            "value",
            scale="signed",
            span=(-top, top),
            ticks=ticks,
            hover="{where}<br>{said}" + "<br>{note}" * any(map(any, notes)),
            text=text,
            click=("said", "row", "column"),
            chosen=[(j, i) for i, j in chosen],
        )
        for part, text in ((table[drawn & numbered], f"{{written:.{digits}f}}"), (table[drawn & ~numbered], ""))
    ]
    chart = Chart(title, marks, Axis(rows=names), Axis(rows=dict(enumerate(rows))))
    caption = sentence(
        [
            about,
            f"The {len(names)} {kind}s with the largest values of {len(columns):,} are drawn." if len(names) < len(columns) else "",
        ]
    )
    return Figure(file_safe(name), chart, frame, caption, from_zero=("layer",) if first_row == 0 else ())


def _interval(low: float, high: float) -> str:
    return f"95 % interval {span((low, high), partial(percent, digits=0, write=signed))}" if np.isfinite(low) else ""


def _number(value: float, unit: Unit) -> str:
    """Return a value with its unit and sign."""
    return (
        f"{percent(value, write=signed)} of the difference" if unit == "share" else signed(value, unit=" log-odds" * (unit == "log-odds"))
    )


def pair_of(of: Sentence, second: str, second_pair: str | None = None, align: str = "", reverse: bool = False) -> Pair:
    """Return the sentence with a second one, by default its smallest edit that changes the predicted class.

    Args:
        align: chosen partners of tokens, counted from 1, as in "4=5~6=-".
        reverse: put states of the sentence into the second one.
    """

    def make() -> Pair:
        text, of_pair = (second, second_pair) if second else flipped(of)
        pair = patch(of.model, of.trace, text, partners=read_alignment(align), pairs=(None, of_pair))
        return pair.reverse() if reverse else pair

    result: Pair = of.once(("patch", second, second_pair, align, reverse), make)
    return result


def flipped(of: Sentence) -> tuple[str, str | None]:
    """Return the text, and the second text of a pair, with the smallest edit that changes the predicted class."""
    from sentviz.analysis.explain.counterfactual import smallest_flip

    flip = of.once("flip", lambda: smallest_flip(of.model, of.trace.for_target(PREDICTED)))
    if not flip.edits and flip.untested:
        raise InputError(f"{edit_sentence(flip)} Give a second sentence.")
    if not flip.edits:
        raise InputError("No small edit changes the predicted class of this sentence. Give a second sentence.")
    return flip.text, flip.text_pair


def read_alignment(align: str) -> dict[int, int | None]:
    """Return partners of tokens from a text such as "4=5~6=-"; a minus sign stands for no partner, and tokens count from 1."""
    try:
        parts = [part.split("=") for part in align.split("~") if part]
        return {int(i) - 1: None if j == "-" else int(j) - 1 for i, j in parts}
    except ValueError:
        raise InputError(f"Write an alignment as 4=5~6=-, not {align[:60]!r}.") from None


def map_of(of: Sentence, pair: Pair, what: str, tokens: bool | None = None, progress: Progress | None = None) -> PatchMap:
    """Return a map, computed once for each sentence."""
    result: PatchMap = of.once(("patched", id(pair), what, tokens), lambda: pair.map(what, tokens=tokens, progress=progress))
    return result


@figure("patch", "States that carry the prediction to a second sentence", Sentence, REPLACES)
def _patch(
    of: Sentence,
    *,
    second: str = "",
    what: What = "state",
    layer: Layer | None = None,
    align: str = "",
    reverse: bool = False,
    selected: Any = (),
) -> Figure:
    """Draw layers by tokens, or by heads or components; with a layer, its heads or components by tokens."""
    from dataclasses import replace

    pair = pair_of(of, second, align=align, reverse=reverse)
    has = pair.model.capabilities
    if what in BY_TOKEN and layer is not None:
        raise InputError(f"One layer is shown for {', '.join(BY_PART)}; leave the layer out for {what}.")
    if layer is not None and not 0 <= layer < has.layers:
        raise InputError(f"{of.run.name} has {has.layers} layers.")
    result = map_of(of, pair, what, True if layer is not None else None)
    parts = [f"A{subscript(i + 1)}" for i in range(has.components)] if what == "component" else [f"head {i + 1}" for i in range(has.heads)]
    rows = ["embedding"] * (what == "state") + [f"layer {i + 1}" for i in range(has.layers)]
    columns, kind, title = parts, what if what == "component" else "head", TITLES[what]
    if layer is not None:
        cells = {name: getattr(result, name)[layer] for name in ("share", "logits", "probability")}
        estimate = None if result.estimate is None else result.estimate[layer]
        result = replace(result, **cells, estimate=estimate, axes=result.axes[1:])
        rows, title = parts, f"{title}, layer {layer + 1}, by token"
    if layer is not None or what in BY_TOKEN:
        columns, kind = column_names(pair), "token"
    about = (
        f"Share of the difference in log-odds of {pair.label} ({signed(pair.goal - pair.start)}) that comes over if the vectors of one cell"
        " are replaced by those of the second sentence. 100 % is the complete difference; a negative share moves the prediction away."
    )
    return signed_map(
        result.share,
        rows,
        columns,
        name="-".join(["patch", what, *["tokens"] * (kind == "token" and what not in BY_TOKEN)]),
        title=title,
        about=" ".join(filter(None, [about, result.note, *pair.notes()])),
        notes=[
            [f"probability of {pair.label} then {percent(p)}" if np.isfinite(p) else "estimated by the gradient" for p in row]
            for row in result.probability
        ],
        more={"probability": result.probability, "exact": result.exact},
        sure=result.exact,
        first_row=int(what != "state"),
        kind=kind,
        chosen=selected or (),
    )


@figure("patch-average", "States that carry the difference of minimal pairs", Sentence, REPLACES)
def _patch_average(of: Sentence, *, minimal: Swap = "negation", what: What = "state", count: int = 40) -> Figure:
    """Draw layers by places in the sentence, or by heads or components, over minimal pairs of one kind."""
    result = average_of(of, minimal, what, count)
    rows = ["embedding"] * (what == "state") + [f"layer {i + 1}" for i in range(of.run.capabilities.layers)]
    some = np.isfinite(result.share).any(axis=0)  # no sentence may have a token at a place, such as a special first token
    share, low, high = (values[:, some] for values in (result.share, result.low, result.high))
    drawn = signed_map(
        share,
        rows,
        [result.columns[column] for column in np.flatnonzero(some)],
        name=f"patch-average-{what}",
        title=f"{TITLES[what]}, {SWAPS[minimal]}",
        about=f"Share of the difference that comes over, mean of {result.says} A number is written where its 95 % interval excludes 0.",
        ends=(low, high),
        first_row=int(what != "state"),
        kind="place" if result.by_place else "component" if what == "component" else "head",
    )
    return sourced(drawn, of.run, read=f"{result.pairs} minimal pairs")


@figure("patch-epochs", "Heads that carry the difference of minimal pairs, by epoch", Sentence, REPLACES, KEEPS)
def _patch_epochs(of: Sentence, *, minimal: Swap = "negation", count: int = 40) -> Figure:
    """Draw heads by epochs, with the weights that the run kept after each epoch."""
    averages = epochs_of(of, minimal, count)
    share, low, high = (np.stack([getattr(each, name).ravel() for each in averages.values()], axis=1) for name in ("share", "low", "high"))
    has = of.run.capabilities
    rows = [f"L{layer + 1} head {h + 1}" for layer in range(has.layers) for h in range(has.heads)]
    best = int(np.argmax(share[:, -1]))
    matters = [epoch for place, epoch in enumerate(averages) if low[best, place] > 0]
    begin = f" {rows[best]} carries most in the end; its share is above 0 from epoch {matters[0]} on." if matters else ""
    drawn = signed_map(
        share,
        rows,
        [f"epoch {epoch}" for epoch in averages],
        name="patch-epochs",
        title=f"Heads by epoch, {SWAPS[minimal]}",
        about="Share of the difference that comes over, after each epoch; the pointer shows 95 % intervals over pairs. Last epoch:"
        f" {list(averages.values())[-1].says}{begin}",
        ends=(low, high),
        kind="epoch",
    )
    return sourced(drawn, of.run, read=f"{list(averages.values())[-1].pairs} minimal pairs")


def pairs_of(of: Sentence, minimal: str, count: int) -> list[tuple[str, str]]:
    """Return minimal pairs in the language of the run."""
    return minimal_pairs(minimal, language(of.run), count=count)


def average_of(of: Sentence, minimal: str, what: str, count: int = 40, progress: Progress | None = None) -> PatchAverage:
    """Return an average over minimal pairs, computed once."""
    from sentviz.analysis.causal.average import averages

    result: PatchAverage = of.once(
        ("average", minimal, what, count), lambda: averages(of.model, pairs_of(of, minimal, count), (what,), progress=progress)[what]
    )
    return result


def epochs_of(of: Sentence, minimal: str, count: int = 40) -> dict[int, PatchAverage]:
    """Return an average over minimal pairs of the heads after each kept epoch, computed once, without epochs that have no difference."""
    from sentviz.analysis.causal.average import averages
    from sentviz.models.loading import load

    def compute() -> dict[int, PatchAverage]:
        pairs, by_epoch = pairs_of(of, minimal, count), {}
        for epoch in of.run.epochs:
            with suppress(InputError):
                by_epoch[epoch] = averages(load(of.run, epoch=epoch), pairs, ("head",))["head"]
        if not by_epoch:
            raise InputError(f"After no epoch do the predictions of {of.run.name} differ within these pairs.")
        return by_epoch

    result: dict[int, PatchAverage] = of.once(("epochs", minimal, count), compute)
    return result


def column_names(pair: Pair) -> list[str]:
    """Return the tokens of the first sentence, with the partner if it differs, as in "dull ← bright"."""
    names = []
    for token, partner in zip(pair.first.tokens, pair.partners, strict=True):
        source = "none" if partner is None else pair.second.tokens[partner]
        names.append(token if source == token and partner is not None else f"{token} ← {source}")
    return names
