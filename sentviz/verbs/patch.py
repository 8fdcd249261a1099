"""The verb `patch`: which states carry the prediction from one sentence to another."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sentviz.io.arguments import Arg, Progress
from sentviz.io.lazy import np, pd
from sentviz.io.numbers import percent, signed
from sentviz.verbs.door import OptionError, Outcome, Result, drawing, verb
from sentviz.verbs.sources import StoredRun

if TYPE_CHECKING:
    from sentviz.analysis.causal.patching import Joint, Pair
    from sentviz.charts.figure import Figure
    from sentviz.models.model import Model

SHOWN = 5  # cells of a quantity that are printed


@dataclass(frozen=True, eq=False)
class Patching(Result):
    """Shares of the difference of two predictions that single states carry over."""

    pair: Pair
    maps: dict[str, Any]  # quantity -> its map of shares
    strongest: str
    back: str  # the strongest, with states of the first sentence in the second
    edits: tuple[Any, ...] = ()  # cells that are replaced together, too
    joint: Joint | None = None
    picture: Callable[[], Figure] | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """One row per cell that was computed: quantity, place counted from 0, share, and probability of the class."""
        rows = [
            (what, tuple(map(int, at)), float(result.share[at]), float(result.probability[at]))
            for what, result in self.maps.items()
            for at in map(tuple, np.argwhere(result.exact))
        ]
        return pd.DataFrame(rows, columns=["quantity", "place", "share", "probability"])

    def json(self) -> dict[str, Any]:
        """Return both predictions, the difference, and the strongest cells of each quantity; places count from 0."""
        pair, frame = self.pair, self.frame
        cells = frame.sort_values("share", ascending=False, kind="stable").groupby("quantity", sort=False).head(SHOWN)
        return {
            "texts": [pair.first.text, pair.second.text],
            "labels": [pair.first.label, pair.second.label],
            "class": pair.label,
            "difference": round(float(pair.goal - pair.start), 6),
            "strongest": self.strongest,
            "other way": self.back,
            "cells": cells.round(6).to_dict("records"),
            "together": None if self.joint is None else {"share": float(self.joint.share), "sum": float(self.joint.total)},
        }

    def text(self) -> str:
        """Return both sentences, the strongest cells of each quantity, and the other way."""
        from sentviz.charts.text import visible

        pair = self.pair
        lines = [
            f"{trace.label:>10} {percent(float(trace.probabilities.max())):>6}  {visible(trace.text)}"
            for trace in (pair.first, pair.second)
        ]
        lines += ["Aligned: " + " ".join(_alignment(pair)), *pair.notes(), ""]
        lines += [f"Difference: {signed(pair.goal - pair.start, 3)} log-odds of {pair.label}. Shares of the difference that come over:"]
        lines.append(self.strongest)
        for what, result in self.maps.items():
            lines += _of_map(pair, what, result)
        lines += ["", f"The other way, with states of the first sentence in the second: {self.back}"]
        if (joint := self.joint) is not None:
            share, total = (percent(value, write=signed) for value in (joint.share, joint.total))
            lines += ["", f"Together {share}, sum of the single shares {total}:"]
            for edit, share_alone in zip(self.edits, joint.singles, strict=True):
                lines.append(f"  {percent(share_alone, write=signed):>7}  {pair.says(edit.what, edit.at)}")
        return "\n".join(lines)


@verb("Model", remote=True)
def patch(
    of: StoredRun,
    first: Annotated[str | None, Arg("Sentence whose prediction is changed.", size=2000, example="Not bad.")] = None,
    second: Annotated[str | None, Arg("Sentence whose states are taken.", size=2000)] = None,
    *,
    minimal: Annotated[
        Literal["adjective", "negation", "intensifier", "name"] | None,
        Arg("Average over minimal pairs that exchange this word; no sentences."),
    ] = None,
    circuit: Annotated[bool, Arg("With --minimal: find few heads and feed-forward networks that keep 90 %.")] = False,
    count: Annotated[int, Arg("Number of minimal pairs.", least=2, most=200)] = 40,
    pairs: Annotated[tuple[str, str] | None, Arg("Second sentences of FIRST and SECOND, for runs that read pairs.", size=2000)] = None,
    align: Annotated[
        tuple[str, ...], Arg("Take the states of token J of SECOND for token I of FIRST. May be repeated.", metavar="I=J")
    ] = (),
    cells: Annotated[
        tuple[str, ...], Arg("Cell of a path, as in head:4.7.3 or state:2.5. May be repeated.", flags=("--cell",), metavar="CELL")
    ] = (),
    exact: Annotated[bool, Arg("Compute every cell, also if a map is large. By default large maps are estimated first.")] = False,
    progress: Annotated[Progress | None, "Parts"] = None,
) -> Patching | Outcome:
    """Replace states of RUN on sentence FIRST by those on SECOND, and print which of them carry the prediction over.

    Without SECOND, the smallest edit of FIRST that changes the predicted class is searched and used. Layers, heads and tokens count from 1;
    `state:0.3` is the embedding of the third token. With --cell, the cells are also replaced together. With --minimal, shares are averaged
    over pairs of sentences that differ in one word, with 95 % intervals over pairs.
    """
    from sentviz.analysis.causal.patching import patch as pair_of

    if (first is None) == (minimal is None):
        raise OptionError("Give either a sentence or --minimal with the word that is exchanged.")
    run, model = StoredRun.of(of).open()
    if first is None:
        from sentviz.runs.catalog import language

        return _average(model, str(minimal), language(run), count, circuit, progress)
    pair = pair_of(model, first, second or _flip(model, first), partners=dict(map(_aligned, align)), pairs=pairs or (None, None))
    strongest, _ = pair.strongest(progress=progress)
    maps = {what: pair.map(what, exact=exact or None) for what in model.capabilities.replaces}
    edits = tuple(_cell(pair, cell) for cell in cells)
    texts = {"text": pair.first.text, "second": pair.second.text} | ({"pair": pairs[0]} if pairs and pairs[0] else {})
    joint = pair.joint(edits) if edits else None
    return Patching(pair, maps, strongest, pair.reverse().strongest()[0], edits, joint, drawing(model, "patch", **texts))


def _average(model: Model, minimal: str, language: str, count: int, with_circuit: bool, progress: Progress | None) -> Outcome:
    from sentviz.analysis.causal.average import averages
    from sentviz.analysis.causal.circuit import circuit
    from sentviz.analysis.causal.patching import TITLES
    from sentviz.data.behaviour import minimal_pairs

    sentences = minimal_pairs(minimal, language, count=count)
    whats = [what for what in ("state", "head", "component") if what in model.capabilities.replaces]
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    for what, result in averages(model, sentences, whats, progress=progress).items():
        lines += ["", f"{TITLES[what]}: {result.says}"]
        for place in np.argsort(-np.nan_to_num(result.share, nan=-np.inf).ravel(), kind="stable")[:SHOWN]:
            at = np.unravel_index(place, result.share.shape)
            layer = f"layer {at[0] + (what != 'state')}" if at[0] or what != "state" else "embedding"
            share, low, high = (float(values[at]) for values in (result.share, result.low, result.high))
            interval = f"[{percent(low, write=signed)}, {percent(high, write=signed)}]"
            lines.append(f"  {percent(share, write=signed):>7}  {interval:<18} {layer}, {result.columns[at[1]]}")
            rows.append({"quantity": what, "place": f"{layer}, {result.columns[at[1]]}", "share": share, "low": low, "high": high})
    numbers: dict[str, Any] = {"pairs": len(sentences), "cells": rows}
    if with_circuit:
        small = circuit(model, sentences, progress=progress)
        lines += ["", f"Circuit: {small.says}"]
        for part, (lost, low, high) in zip(small.parts, small.lost.tolist(), strict=True):
            ends = f"[{percent(low, write=signed)}, {percent(high, write=signed)}]"
            lines.append(f"  {percent(lost, write=signed):>7}  {ends} is lost without {part.name}")
        parts = zip(small.parts, small.lost.tolist(), strict=True)
        numbers["circuit"] = [{"part": part.name, "lost": lost, "low": low, "high": high} for part, (lost, low, high) in parts]
    return Outcome(tuple(lines), numbers)


def _flip(model: Model, text: str) -> str:
    from sentviz.analysis.explain.counterfactual import smallest_flip

    flip = smallest_flip(model, model.trace(text, maps=False))
    if not flip.edits:
        raise OptionError("No small edit changes the predicted class of this sentence. Give the second sentence.")
    return flip.text


def _aligned(text: str) -> tuple[int, int | None]:
    if (match := re.fullmatch(r"(\d{1,6})=(\d{1,6}|-)", text)) is None:
        raise OptionError(f"Write --align as I=J, for example 4=5, or 4=- for no token, not {text!r}.")
    return int(match[1]) - 1, None if match[2] == "-" else int(match[2]) - 1


def _cell(pair: Pair, text: str) -> Any:
    from sentviz.runs.intervention import Edit

    target = Edit.parse(f"{text}=0")
    return pair.edit(target.what, target.at)


def _alignment(pair: Pair) -> list[str]:
    """Return the tokens of the first sentence, with their partners if they differ."""
    from sentviz.charts.text import visible

    first, second = (tuple(map(visible, trace.tokens)) for trace in (pair.first, pair.second))
    both = ((first[i], None if j is None else second[j]) for i, j in enumerate(pair.partners))
    return [mine if mine == theirs else f"[{mine} ← {theirs or '-'}]" for mine, theirs in both]


def _of_map(pair: Pair, what: str, result: Any) -> list[str]:
    from sentviz.analysis.causal.patching import TITLES
    from sentviz.charts.text import visible

    lines = ["", f"{TITLES[what]}: {result.note}".rstrip()]
    for place in np.argsort(-np.where(result.exact, result.share, -np.inf).ravel(), kind="stable")[:SHOWN]:
        at = tuple(int(i) for i in np.unravel_index(place, result.share.shape))
        if result.exact[at]:
            share, probability = percent(result.share[at], write=signed), percent(result.probability[at])
            lines.append(f"  {share:>7}  {pair.label} {probability}  {visible(pair.says(what, at))}")
    return lines
