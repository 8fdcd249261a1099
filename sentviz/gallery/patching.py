"""Figures of two sentences whose states are exchanged."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from sentviz.analysis.causal.average import PatchAverage
from sentviz.analysis.causal.circuit import Circuit, circuit
from sentviz.analysis.causal.patching import TITLES, Pair, PatchMap, Progress, patch
from sentviz.analysis.explain.headline import edit_sentence
from sentviz.data.behaviour import minimal_pairs
from sentviz.errors import InputError
from sentviz.figures.text import subscript
from sentviz.gallery.registry import RunRequirement, capability, figure
from sentviz.gallery.subjects import Sentence
from sentviz.runs.catalog import language
from sentviz.runs.target import PREDICTED

if TYPE_CHECKING:
    from sentviz.analysis.causal.direct import DirectAttribution
    from sentviz.figures.figure import Figure

REPLACES = capability("replaces", "states that can be replaced", "{run} has no states of tokens that can be replaced.")
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
SUMS = ("part", "token", "head")
SUMMED = 1e-4  # difference of the logits and their sum below which nothing is missing
BY_TOKEN, BY_PART = ("state", "residual", "feedforward"), ("head", "value", "component")


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
    from sentviz.analysis.explain.flip import smallest_flip

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


@figure("patch", "States that carry the prediction to a second sentence", Sentence, "patching:signed_map", REPLACES)
def _patch(
    of: Sentence,
    *,
    second: str = "",
    what: str = "state",
    layer: int | None = None,
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
    return _drawn(of, pair, result, title, rows, columns, kind, selected)


@figure("attribution-direct", "The log-odds as a sum over the parts of the model", Sentence, "contributions:contribution_bars", REPLACES)
def _attribution_direct(of: Sentence, *, by: str = "part", selected: Any = ()) -> Figure:
    """Draw the parts as bars beside the logit lens, or the contributions by token or by head."""
    from sentviz.figures.contributions import contribution_bars
    from sentviz.figures.patching import signed_map

    if by not in SUMS:
        raise InputError(f"Contributions are shown by {', '.join(SUMS)}, not by {by!r}.")
    sums = direct_of(of)
    layers, components, heads, _ = sums.read.shape
    if by == "part":
        rows, values, lens = ["embedding"], [sums.embedding.sum()], [sums.lens[0]]
        for layer in range(layers):
            rows += [f"layer {layer + 1} heads", f"layer {layer + 1} feed-forward"]
            values += [sums.read[layer].sum(), sums.feedforward[layer].sum()]
            lens += [np.nan, sums.lens[layer + 1]]
        rest = [("biases of norms", sums.norms), ("other biases", sums.biases)] + [("not known", sums.rest)] * (abs(sums.rest) > SUMMED)
        rows += [name for name, _ in rest]
        values += [value for _, value in rest]
        ends = [*lens, *[np.nan] * len(rest)]
        return contribution_bars(rows, values, ends, label=sums.label, against=sums.against, about=sums.complete)
    about = (
        f"Log-odds of {sums.label} over {sums.against}: what each part adds directly, with the factors of all norms frozen. {sums.complete}"
    )
    if by == "head":
        rows = [f"layer {layer + 1}" for layer in range(layers)]
        columns = [f"head {h + 1}" + f" A{subscript(c + 1)}" * (components > 1) for h in range(heads) for c in range(components)]
        cells = sums.read.sum(axis=3).transpose(0, 2, 1).reshape(layers, -1)
    else:
        rows, cells = ["embedding"], np.concatenate([sums.embedding[None], np.zeros((2 * layers, len(sums.tokens)))])
        cells[1::2], cells[2::2] = sums.read.sum(axis=(1, 2)), sums.feedforward
        for layer in range(layers):
            rows += [f"L{layer + 1} heads", f"L{layer + 1} feed-fwd."]
        columns = list(sums.tokens)
        about += " A head counts at the tokens that it reads, a feed-forward network at the token whose state it changes."
    return signed_map(
        cells,
        rows,
        columns,
        name=f"attribution-direct-{by}s",
        title=f"What adds to {sums.label} over {sums.against}, by {by}",
        about=about,
        notes=[[""] * len(columns)] * len(rows),
        more={},
        unit="log-odds",
        first_row=int(by == "head"),
        kind=by,
        chosen=selected or (),
    )


@figure("patch-average", "States that carry the difference of minimal pairs", Sentence, "patching:signed_map", REPLACES)
def _patch_average(of: Sentence, *, minimal: str = "negation", what: str = "state", count: int = 40) -> Figure:
    """Draw layers by places in the sentence, or by heads or components, over minimal pairs of one kind."""
    from sentviz.figures.patching import signed_map

    result = average_of(of, minimal, what, count)
    rows = ["embedding"] * (what == "state") + [f"layer {i + 1}" for i in range(of.run.capabilities.layers)]
    some = np.isfinite(result.share).any(axis=0)  # no sentence may have a token at a place, such as a special first token
    share, low, high = (values[:, some] for values in (result.share, result.low, result.high))
    return signed_map(
        share,
        rows,
        [result.columns[column] for column in np.flatnonzero(some)],
        name=f"patch-average-{what}",
        title=f"{TITLES[what]}, {SWAPS[minimal]}",
        about=f"Share of the difference that comes over, mean of {result.says} A number is written where its 95% interval excludes 0.",
        notes=_intervals(low, high),
        more={"low": low, "high": high},
        sure=_away_from_0(low, high),
        first_row=int(what != "state"),
        kind="place" if result.by_place else "component" if what == "component" else "head",
    )


@figure("circuit", "Few parts that keep the difference of minimal pairs", Sentence, "circuits:circuit_graph", REPLACES)
def _circuit(of: Sentence, *, minimal: str = "negation", count: int = 40, selected: Any = ()) -> Figure:
    from sentviz.figures.circuits import circuit_graph

    result, has = circuit_of(of, minimal, count), of.run.capabilities
    return circuit_graph(
        [(part.layer, -1 if part.head is None else part.head) for part in result.parts],
        result.lost,
        result.links,
        layers=has.layers,
        heads=has.heads,
        title=f"A circuit, {SWAPS[minimal]}",
        about=f"{result.says} Parts outside give what they gave on the other sentence of the pair.",
        chosen=selected or (),
    )


@figure("patch-epochs", "Heads that carry the difference of minimal pairs, by epoch", Sentence, "patching:signed_map", REPLACES, KEEPS)
def _patch_epochs(of: Sentence, *, minimal: str = "negation", count: int = 40) -> Figure:
    """Draw heads by epochs, with the weights that the run kept after each epoch."""
    from sentviz.figures.patching import signed_map

    averages = epochs_of(of, minimal, count)
    share, low, high = (np.stack([getattr(each, name).ravel() for each in averages.values()], axis=1) for name in ("share", "low", "high"))
    has, sure = of.run.capabilities, _away_from_0(low, high)
    rows = [f"L{layer + 1} head {h + 1}" for layer in range(has.layers) for h in range(has.heads)]
    best = int(np.argmax(share[:, -1]))
    known = sure[best] & (share[best] > 0)
    matters = [epoch for place, epoch in enumerate(averages) if known[place]]
    begin = f" {rows[best]} carries most in the end; its share is above 0 from epoch {matters[0]} on." if matters else ""
    return signed_map(
        share,
        rows,
        [f"epoch {epoch}" for epoch in averages],
        name="patch-epochs",
        title=f"Heads by epoch, {SWAPS[minimal]}",
        about=f"Share of the difference that comes over, after each epoch. Last epoch: {list(averages.values())[-1].says}{begin}",
        notes=_intervals(low, high),
        more={"low": low, "high": high},
        sure=sure,
        kind="epoch",
    )


def _intervals(low: Any, high: Any) -> list[list[str]]:
    return [
        [f"95% interval {a:+.0%} to {b:+.0%}".replace("-", "−") if np.isfinite(a) else "" for a, b in zip(*row, strict=True)]
        for row in zip(low, high, strict=True)
    ]


def _away_from_0(low: Any, high: Any) -> Any:
    return np.isfinite(low) & ((low > 0) | (high < 0))


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


def circuit_of(of: Sentence, minimal: str, count: int = 40, progress: Progress | None = None) -> Circuit:
    """Return a circuit of minimal pairs, computed once."""
    result: Circuit = of.once(("circuit", minimal, count), lambda: circuit(of.model, pairs_of(of, minimal, count), progress=progress))
    return result


def direct_of(of: Sentence) -> DirectAttribution:
    """Return the direct attribution of a sentence, computed once."""

    def compute() -> DirectAttribution:
        from sentviz.analysis.causal.direct import direct_attribution

        return direct_attribution(of.model, of.trace)

    result: DirectAttribution = of.once("direct", compute)
    return result


def column_names(pair: Pair) -> list[str]:
    """Return the tokens of the first sentence, with the partner if it differs, as in "dull ← bright"."""
    names = []
    for token, partner in zip(pair.first.tokens, pair.partners, strict=True):
        source = "none" if partner is None else pair.second.tokens[partner]
        names.append(token if source == token and partner is not None else f"{token} ← {source}")
    return names


def _drawn(of: Sentence, pair: Pair, result: PatchMap, title: str, rows: list[str], columns: list[str], kind: str, selected: Any) -> Figure:
    from sentviz.figures.patching import signed_map

    about = (
        f"Share of the difference in log-odds of {pair.label} ({pair.goal - pair.start:+.2f}) that comes over if the vectors of one cell"
        f" are replaced by those of the second sentence. 100% is the complete difference; a negative share moves the prediction away."
    )
    return signed_map(
        result.share,
        rows,
        columns,
        name="-".join(["patch", result.what, *["tokens"] * (kind == "token" and result.what not in BY_TOKEN)]),
        title=title,
        about=" ".join(filter(None, [about, result.note, *pair.notes()])).replace("+-", "−").replace("-0", "−0"),
        notes=[
            [f"probability of {pair.label} then {p:.1%}" if np.isfinite(p) else "estimated by the gradient" for p in row]
            for row in result.probability
        ],
        more={"probability": result.probability, "exact": result.exact},
        sure=result.exact,
        first_row=int(result.what != "state"),
        kind=kind,
        chosen=selected or (),
    )
