"""Figures of two sentences whose states are exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError
from sentviz.gallery.registry import capability, figure
from sentviz.gallery.subjects import Sentence

if TYPE_CHECKING:
    from sentviz.analysis.causal import Pair, PatchMap
    from sentviz.analysis.causal.patching import Progress
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure

REPLACES = capability("replaces", "states that can be replaced", "{run} has no states of tokens that can be replaced.")
BY_TOKEN, BY_PART = ("state", "residual", "feedforward"), ("head", "value", "component")


def pair_of(of: Sentence, second: str, second_pair: str | None = None, align: str = "", reverse: bool = False) -> Pair:
    """Return the sentence with a second one, by default its smallest edit that changes the predicted class.

    Args:
        align: chosen partners of tokens, counted from 1, as in "4=5~6=-".
        reverse: put states of the sentence into the second one.
    Raises:
        InputError: no edit changes the predicted class, or the two cannot be patched.
    """
    from sentviz.analysis.causal import patch

    def make() -> Pair:
        text, of_pair = (second, second_pair) if second else flipped(of)
        pair = patch(of.model, of.trace, text, partners=read_alignment(align), pairs=(None, of_pair))
        return pair.reverse() if reverse else pair

    result: Pair = of.once(("patch", second, second_pair, align, reverse), make)
    return result


def flipped(of: Sentence) -> tuple[str, str | None]:
    """Return the text, and the second text of a pair, with the smallest edit that changes the predicted class.

    Raises:
        InputError: no small edit changes it.
    """
    from sentviz.analysis.explain.flip import smallest_flip

    flip = of.once("flip", lambda: smallest_flip(of.model, of.trace))
    if not flip.edits:
        raise InputError("No small edit changes the predicted class of this sentence. Give a second sentence.")
    return flip.text, flip.text_pair


def read_alignment(align: str) -> dict[int, int | None]:
    """Return partners of tokens from a text such as "4=5~6=-"; a minus sign stands for no partner, and tokens count from 1.

    Raises:
        InputError: the text has another form.
    """
    try:
        parts = [part.split("=") for part in align.split("~") if part]
        return {int(i) - 1: None if j == "-" else int(j) - 1 for i, j in parts}
    except ValueError:
        raise InputError(f"Write an alignment as 4=5~6=-, not {align[:60]!r}.") from None


def map_of(of: Sentence, pair: Pair, what: str, tokens: bool | None = None, progress: Progress | None = None) -> PatchMap:
    """Return a map, computed once for each sentence."""
    result: PatchMap = of.once(("patched", id(pair), what, tokens), lambda: pair.map(what, tokens=tokens, progress=progress))
    return result


@figure("patch", "States that carry the prediction to a second sentence", Sentence, "patching:share_map", REPLACES)
def _patch(
    of: Sentence,
    *,
    second: str = "",
    what: str = "state",
    layer: int | None = None,
    align: str = "",
    reverse: bool = False,
    theme: Theme = "light",
    selected: Any = (),
) -> Figure:
    """Draw layers by tokens, or by heads or components; with a layer, its heads or components by tokens."""
    from dataclasses import replace

    from sentviz.analysis.causal.patching import TITLES
    from sentviz.figures.text import subscript

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
    return _drawn(of, pair, result, title, rows, columns, kind, selected, theme)


def column_names(pair: Pair) -> list[str]:
    """Return the tokens of the first sentence, with the partner if it differs, as in "dull ← bright"."""
    names = []
    for token, partner in zip(pair.first.tokens, pair.partners, strict=True):
        source = "none" if partner is None else pair.second.tokens[partner]
        names.append(token if source == token and partner is not None else f"{token} ← {source}")
    return names


def _drawn(
    of: Sentence, pair: Pair, result: PatchMap, title: str, rows: list[str], columns: list[str], kind: str, selected: Any, theme: Theme
) -> Figure:
    from sentviz.figures.patching import share_map

    about = (
        f"Share of the difference in log-odds of {pair.label} ({pair.goal - pair.start:+.2f}) that comes over if the vectors of one cell"
        f" are replaced by those of the second sentence. 100% is the complete difference; a negative share moves the prediction away."
    )
    return share_map(
        result.share,
        rows,
        columns,
        what=result.what if kind != "token" or result.what in BY_TOKEN else f"{result.what}-tokens",
        title=title,
        about=" ".join(filter(None, [about, result.note, *pair.notes()])).replace("+-", "−").replace("-0", "−0"),
        probability=result.probability,
        label=pair.label,
        first_row=int(result.what != "state"),
        kind=kind,
        chosen=selected or (),
        theme=theme,
    )
