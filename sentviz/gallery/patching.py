"""Figures of two sentences whose states are exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sentviz.errors import InputError
from sentviz.gallery.registry import capability, figure
from sentviz.gallery.subjects import Sentence

if TYPE_CHECKING:
    from sentviz.analysis.causal import Pair, PatchMap
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


def map_of(of: Sentence, pair: Pair, what: str, tokens: bool | None = None) -> PatchMap:
    """Return a map, computed once for each sentence."""
    result: PatchMap = of.once(("patched", id(pair), what, tokens), lambda: pair.map(what, tokens=tokens))
    return result


@figure(
    "patch-tokens", "States by layer and token that carry the prediction to a second sentence", Sentence, "patching:share_map", REPLACES
)
def _patch_tokens(
    of: Sentence,
    *,
    second: str = "",
    what: str = "state",
    align: str = "",
    reverse: bool = False,
    theme: Theme = "light",
    selected: Any = (),
) -> Figure:
    from sentviz.analysis.causal.patching import TITLES

    if what not in BY_TOKEN:
        raise InputError(f"The figure patch-tokens shows {', '.join(BY_TOKEN)}, not {what!r}.")
    pair = pair_of(of, second, align=align, reverse=reverse)
    names = ["embedding"] * (what == "state") + [f"layer {layer + 1}" for layer in range(pair.model.capabilities.layers)]
    return _drawn(of, pair, map_of(of, pair, what), TITLES[what], names, column_names(pair), "token", selected, theme)


@figure("patch-heads", "Heads that carry the prediction to a second sentence", Sentence, "patching:share_map", REPLACES)
def _patch_heads(
    of: Sentence,
    *,
    second: str = "",
    what: str = "head",
    align: str = "",
    reverse: bool = False,
    theme: Theme = "light",
    selected: Any = (),
) -> Figure:
    from sentviz.analysis.causal.patching import TITLES
    from sentviz.figures.text import subscript

    if what not in BY_PART:
        raise InputError(f"The figure patch-heads shows {', '.join(BY_PART)}, not {what!r}.")
    pair = pair_of(of, second, align=align, reverse=reverse)
    has = pair.model.capabilities
    columns = [f"head {i + 1}" for i in range(has.heads)]
    if what == "component":
        columns = [f"A{subscript(i + 1)}" for i in range(has.components)]
    rows = [f"layer {layer + 1}" for layer in range(has.layers)]
    return _drawn(of, pair, map_of(of, pair, what), TITLES[what], rows, columns, what if what == "component" else "head", selected, theme)


@figure("patch-head-tokens", "Tokens at which the heads of a layer carry the prediction", Sentence, "patching:share_map", REPLACES)
def _patch_head_tokens(
    of: Sentence, *, second: str = "", layer: int = 0, align: str = "", reverse: bool = False, theme: Theme = "light", selected: Any = ()
) -> Figure:
    from dataclasses import replace

    pair = pair_of(of, second, align=align, reverse=reverse)
    has = pair.model.capabilities
    if not 0 <= layer < has.layers:
        raise InputError(f"{of.run.name} has {has.layers} layers.")
    whole = map_of(of, pair, "head", True)
    parts = {name: getattr(whole, name)[layer] for name in ("share", "logits", "probability")}
    estimate = None if whole.estimate is None else whole.estimate[layer]
    part = replace(whole, **parts, estimate=estimate, axes=("head", "token"))
    rows = [f"head {i + 1}" for i in range(has.heads)]
    return _drawn(of, pair, part, f"Heads of layer {layer + 1} by token", rows, column_names(pair), "token", selected, theme)


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
    if result.estimate is not None:
        rho = result.agreement
        about += f" Cells are estimated by one gradient; the {int(result.exact.sum())} largest are exact" + (
            "." if rho is None else f" (rank correlation of both: {rho:+.2f})."
        )
    return share_map(
        result.share,
        rows,
        columns,
        what=result.what if kind != "token" or result.what != "head" else "head-tokens",
        title=title,
        about=" ".join([about, *pair.notes()]).replace("+-", "−").replace("-0", "−0"),
        probability=result.probability,
        label=pair.label,
        first_row=int(result.what != "state"),
        kind=kind,
        chosen=selected or (),
        theme=theme,
    )
