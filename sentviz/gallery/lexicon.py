"""Figures of a lexicon in one sentence: polarities, what is put into the scores, and what that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sentviz.gallery.registry import capability, figure
from sentviz.gallery.sentence import MAPS
from sentviz.gallery.subjects import Sentence

if TYPE_CHECKING:
    from sentviz.analysis.maps.injection import Entries, Row
    from sentviz.figures.colours import Theme
    from sentviz.figures.figure import Figure
    from sentviz.runs.trace import Trace

LEXICON = capability("lexicon", "a lexicon", "{run} has no lexicon: a run of the preset cls-last-scaled has one.")


def _polar(of: Sentence) -> Trace:
    """The trace with its polarities, which old stored examples lack."""
    return of.trace if of.trace.polarity is not None else of.fresh


def _token(trace: Trace, token: int | None) -> int:
    """The token that was named; the one with the strongest polarity unless one was."""
    if token is not None:
        return range(len(trace.tokens))[token]
    assert trace.polarity is not None
    return int(np.abs(trace.polarity[:, 0] - trace.polarity[:, 2]).argmax())


@figure("polarity", "The sentence coloured by polarity", Sentence, "lexicon:polarity_strip", LEXICON)
def _polarity(of: Sentence, *, token: int | None = None, theme: Theme = "light") -> Figure:
    from sentviz.figures.lexicon import polarity_strip

    return polarity_strip(_polar(of), token=token, theme=theme)


@figure("polarity-of-token", "The three shares of one token", Sentence, "lexicon:polarity_bars", LEXICON)
def _polarity_of_token(of: Sentence, *, token: int | None = None, theme: Theme = "light") -> Figure:
    from sentviz.figures.lexicon import polarity_bars

    trace = _polar(of)
    place = _token(trace, token)
    assert trace.polarity is not None
    found = of.once(("entries", place), lambda: _entries(of, place, bool(trace.specials[place])))
    return polarity_bars(trace.polarity[place], trace.tokens[place], found, theme=theme)


def _entries(of: Sentence, token: int, special: bool) -> Entries | None:
    """What the lexicon says of a token; None of marks, and where it is not on this machine."""
    from sentviz.analysis.maps.injection import entries_of
    from sentviz.data.lexicon import Lexicon
    from sentviz.errors import SentvizError

    if special:
        return None
    try:
        found = Lexicon.load(of.run.config["recipe"]["lexicon"])
        return entries_of(found, of.model.tokenizer, int(of.model.encode(*of.texts).ids[token]))
    except SentvizError:
        return None


@figure("sigma", "What the lexicon puts in, for every pair of tokens", Sentence, "lexicon:sigma_map", LEXICON)
def _sigma(of: Sentence, *, side: int = 400, theme: Theme = "light") -> Figure:
    from sentviz.figures.lexicon import sigma_map

    return sigma_map(_polar(of), side=side, theme=theme)


@figure("lexicon-scores", "One token's scores with what is put in", Sentence, "lexicon:score_row", LEXICON)
def _scores(
    of: Sentence, *, layer: int = 0, head: int = -1, component: int = 0, token: int | None = None, theme: Theme = "light"
) -> Figure:
    from sentviz.figures.lexicon import score_row

    return score_row(row_of(of, layer, head, component, token), theme=theme)


@figure("lexicon-attention", "One token's attention without and with the lexicon", Sentence, "lexicon:attention_row", LEXICON)
def _attention(
    of: Sentence, *, layer: int = 0, head: int = -1, component: int = 0, token: int | None = None, theme: Theme = "light"
) -> Figure:
    from sentviz.figures.lexicon import attention_row

    return attention_row(row_of(of, layer, head, component, token), theme=theme)


def row_of(of: Sentence, layer: int, head: int, component: int, token: int | None) -> Row:
    """One query's row; of the last head that the lexicon reaches unless one was named."""
    from sentviz.analysis.maps.injection import reached, row

    trace = _polar(of)
    head = reached(of.run.shape)[-1] if head < 0 else head
    place = _token(trace, token)
    made: Row = of.once(("row", layer, head, component, place), lambda: row(of.model, trace, layer, head, place, component))
    return made


@figure("lexicon-difference", "What the lexicon changes in a map", Sentence, "difference:difference_map", LEXICON, MAPS)
def _difference(
    of: Sentence,
    *,
    layer: int = 0,
    head: int | str = "mean",
    component: int | str = "effective",
    side: int = 400,
    theme: Theme = "light",
) -> Figure:
    from sentviz.analysis.maps.compare import difference
    from sentviz.figures.difference import difference_map

    changed = difference(of.once("without the lexicon", lambda: of.asked(strength=0.0)), of.trace)
    return difference_map(changed, "itself without its lexicon", layer, head, component, side=side, theme=theme)
