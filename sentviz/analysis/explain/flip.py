"""The smallest edit that flips the answer: up to three words left out or written otherwise, until the model says another class.

Search: all removals of one word, and for each word the swaps that lower the answer's log-odds most to first order,

    (e_c - e_w) . df/de_w        HotFlip, Ebrahimi et al. 2018, arXiv 1712.06751

Only plausible swaps are asked about: c is a word of the model's own vocabulary that was seen beside both neighbours
(`sentviz.analysis.explain.bigrams`), and the tagger (`sentviz.data.tags`) gives it the part of speech of w, in its place and alone. All
words without Latin letters have the same part of speech to it. Then a beam search: the best edits of k words, each with one more. The model
itself decides, on the edited text.

For comparison: the share of random edits that flip the answer, as many edits of as many words, drawn from all plausible ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.bigrams import Bigrams, hashed, read_words
from sentviz.analysis.explain.gradients import along
from sentviz.analysis.explain.leave_out import log_odds
from sentviz.analysis.explain.swap import in_case, whole_words
from sentviz.analysis.explain.units import spaced_words
from sentviz.data.tags import Tagger, tags_instead
from sentviz.errors import InputError
from sentviz.runs.evidence import MOST, Edit, Flip
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.floating[Any]]
Edits = tuple[Edit, ...]  # in the order of the text

BEAM, BRANCHES = 8, 32  # edits that go on, and further words tried with each
PLACES = 40  # words of a long text that are edited: those with the strongest gradients
AHEAD = 1_000  # characters of a long text behind what is read of it: words that go make room for those
SWAPS = 8  # words tried in each place
PASSES, DRAWN = 1000, 100  # edited texts that are asked about, and random edits


def smallest_flip(
    model: Model, trace: Trace, *, most: int = MOST, passes: int = PASSES, drawn: int = DRAWN, seed: int = 0, **change: Any
) -> Flip:
    """An edit of as few words as the search finds that makes the model say another class; one that only leaves out first, then the surest.

    That none was found does not mean that there is none: rare words and most edits of several words are never asked about.

    Args:
        most: words that are edited at most. passes: edited texts that the search asks about at most.
        drawn, seed: of the random edits.
        change: lambdas, heads_off and strength, the same that the trace was made with.
    Raises:
        InputError: gates were changed by hand.
    """
    if change.pop("gates_open", ()) or change.pop("gates_shut", ()):
        raise InputError("Gates changed by hand belong to the words of this text, so no edited text can be asked with them.")
    of = _Text(model, trace, change)
    random = np.random.default_rng(seed)
    singles: list[Edits] = [(edit,) for edit in of.removals() + of.swaps(of.by_gradient)]
    asked: dict[Edits, tuple[int, float]] = {}
    reached = 0
    level = singles
    for size in range(1, most + 1):
        new = [edits for edits in level if edits not in asked and of.leaves(edits)][: passes - len(asked)]
        if not new:
            break
        asked, reached = asked | of.ask(new), size
        if flips := [edits for edits in new if asked[edits][0] != of.answer]:
            best = min(flips, key=lambda edits: (any(edit.new for edit in edits), asked[edits][1], edits))
            flipping, times = of.chance(size, drawn, random)
            return replace(of.flip(best), passes=len(asked), most=most, random=flipping, drawn=times)
        further = sorted((edits for edits in singles if edits in asked), key=lambda edits: asked[edits][1])[:BRANCHES]
        going = sorted(new, key=lambda edits: asked[edits][1])[:BEAM]
        level = of.in_a_row(size + 1) + of.joined(going, further)
    return Flip(passes=len(asked), most=reached)


class _Text:
    """One text, its words, and what may be edited."""

    def __init__(self, model: Model, trace: Trace, change: Mapping[str, Any]) -> None:
        self.model, self.trace, self.change = model, trace, change
        self.words, self.answer = spaced_words(trace), int(trace.probabilities.argmax())
        ends = (int(trace.offsets[trace.segments == each, 1].max(initial=0)) for each in (0, 1))
        self.read = [text[: end + AHEAD] for text, end in zip((trace.text, trace.text_pair or ""), ends, strict=True)]
        self.vocabulary, self.bigrams, self.tagger = whole_words(model.tokenizer), Bigrams.load(), Tagger.load()
        self.ids, self.hashes = np.array(list(self.vocabulary), dtype=np.int64), hashed(self.vocabulary.values())
        lettered = [i for i, word in enumerate(self.words) if any(letter.isalnum() for letter in word.text)]
        segment = trace.segments[[word.indices[0] for word in self.words]]
        self.lettered = [{i for i in lettered if segment[i] == each} for each in np.unique(segment)]
        _, slopes, path = along(model, trace, np.ones(1), change)
        effects = (slopes[0] * path).sum(dim=-1).numpy()  # (m,) to first order
        firsts = [self.words[i].indices[0] for i in lettered]
        self.gains = (model.network.table.detach() @ slopes[0, firsts].T).numpy()  # (V, places)
        strongest = sorted(range(len(lettered)), key=lambda at: -abs(float(effects[list(self.words[lettered[at]].indices)].sum())))
        self.places = {lettered[at]: at for at in sorted(strongest[:PLACES])}  # word -> column of the gains

    # ---- edits

    def removals(self) -> list[Edit]:
        """Each word left out."""
        return [Edit(place, self.words[place].text) for place in self.places]

    def by_gradient(self, place: int) -> Floats:
        """(V,) the vocabulary's words, lowest those that lower the answer most to first order."""
        return np.asarray(self.gains[self.ids, self.places[place]])

    def swaps(self, order: Callable[[int], Floats]) -> list[Edit]:
        """Plausible words for each word, the first few of an order of the vocabulary."""
        found = []
        for place in self.places:
            old = self.words[place].text
            fitting = np.flatnonzero(self.bigrams.fits(self.hashes, *self._beside(place)))
            known = (self.vocabulary[int(self.ids[i])] for i in fitting[np.argsort(order(place)[fitting], kind="stable")])
            those = (word for word in known if len(word) > 1 and word.lower() != old.lower() and word.isascii() == old.isascii())
            found += [Edit(place, old, in_case(word, old)) for word in islice(those, 3 * SWAPS)]
        kept = [edit for edit, same in zip(found, self._alike(found), strict=True) if same]
        return [edit for _, some in groupby(kept, key=lambda edit: edit.place) for edit in islice(some, SWAPS)]

    def in_a_row(self, size: int) -> list[Edits]:
        """Words in a row left out."""
        rows = [range(place, place + size) for place in self.places]
        return [tuple(Edit(i, self.words[i].text) for i in row) for row in rows if all(i in self.places for i in row)]

    def joined(self, some: Sequence[Edits], further: Sequence[Edits]) -> list[Edits]:
        """Each of some edits with each further one of another word, as far as they are plausible together."""
        pairs = ((edits, one) for edits in some for one in further if all(edit.place != one[0].place for edit in edits))
        joint = dict.fromkeys(tuple(sorted(edits + one)) for edits, one in pairs)
        return [edits for edits in joint if self._plausible(edits)]

    def drawn(self, size: int, times: int, random: np.random.Generator) -> list[Edits]:
        """Random edits of some words: each left out or written otherwise with even chances, where anything plausible was drawn for it."""
        swaps = self.swaps(lambda place: random.random(len(self.ids)))
        of_place = {place: [edit for edit in swaps if edit.place == place] for place in self.places}
        places, found = list(self.places), []
        for _ in range(4 * times):
            chosen = sorted(random.choice(places, size, replace=False).tolist())
            ways = ((of_place[place], Edit(place, self.words[place].text)) for place in chosen)
            found.append(tuple(some[int(random.integers(len(some)))] if some and random.random() < 0.5 else gone for some, gone in ways))
        return [edits for edits in found if self.leaves(edits)][:times]

    def leaves(self, edits: Edits) -> bool:
        """Whether a word of each text is left."""
        gone = {edit.place for edit in edits if not edit.new}
        return all(some - gone for some in self.lettered)

    def chance(self, size: int, times: int, random: np.random.Generator) -> tuple[int, int]:
        """How many of so many random edits flip the answer, and how many there are: fewer where most would leave nothing."""
        some = self.drawn(size, times, random)
        said = self.ask(dict.fromkeys(some))
        return sum(said[edits][0] != self.answer for edits in some), len(some)

    # ---- what is plausible

    def _beside(self, place: int) -> tuple[str, str]:
        """The words on both sides of one, lower-cased."""
        text, start, end = self._at(place)
        return read_words(text[:start])[-2], read_words(text[end:])[1]

    def _at(self, place: int) -> tuple[str, int, int]:
        """The text that a word is of, and where it begins and ends."""
        indices, trace = self.words[place].indices, self.trace
        text = (trace.text, trace.text_pair or "")[int(trace.segments[indices[0]])]
        return text, int(trace.offsets[indices[0], 0]), int(trace.offsets[indices[-1], 1])

    def _alike(self, swaps: Sequence[Edit]) -> list[bool]:
        """Whether each new word is tagged as the old one, in its place and alone."""
        places = list(self.places)
        words = [(place, self.words[place].text) for place in places] + [(edit.place, edit.new) for edit in swaps]
        tagged = tags_instead(self.tagger, [(*self._at(place), word) for place, word in words])
        before = dict(zip(places, tagged, strict=False))
        return [tags == before[edit.place] for edit, tags in zip(swaps, tagged[len(before) :], strict=True)]

    def _plausible(self, edits: Edits) -> bool:
        """Whether words that were swapped fit those that stand beside them after all edits."""
        texts = [read_words(text or "") for text in self.edited(edits)]
        new = {edit.new.lower() for edit in edits if edit.new}
        pairs = [pair for words in texts for pair in pairwise(words) if new & set(pair)]
        return not pairs or bool(self.bigrams.seen(*(hashed(words) for words in zip(*pairs, strict=True))).all())

    # ---- the model

    def edited(self, edits: Edits, *, whole: bool = False) -> tuple[str, str | None]:
        """Both texts with the edits, as far as they are read unless whole; a word that goes takes a space along."""
        texts = [self.trace.text, self.trace.text_pair or ""] if whole else list(self.read)
        for edit in reversed(edits):
            _, start, end = self._at(edit.place)
            segment = int(self.trace.segments[self.words[edit.place].indices[0]])
            before, after = texts[segment][:start], texts[segment][end:]
            if not edit.new and (not before or before[-1].isspace()):
                after = after.lstrip() if not before else after.removeprefix(" ")
            texts[segment] = before + edit.new + after
        return texts[0], None if self.trace.text_pair is None else texts[1]

    def ask(self, some: Iterable[Edits]) -> dict[Edits, tuple[int, float]]:
        """The class that the model says to each edited text, read anew, and the log-odds of the answer as it was."""
        if not (some := list(some)):
            return {}
        logits = self._logits(some)
        return dict(zip(some, zip(logits.argmax(axis=1).tolist(), log_odds(logits, self.answer).tolist(), strict=True), strict=True))

    def _logits(self, some: Sequence[Edits]) -> npt.NDArray[np.float32]:
        texts, pairs = zip(*map(self.edited, some), strict=True)
        encoded = self.model.encode_all(texts, None if self.trace.text_pair is None else pairs)
        return self.model.forward([one.reading for one in encoded], self.model.change(**self.change))[0]

    def flip(self, edits: Edits) -> Flip:
        """What the model says to the edited text."""
        from sentviz.models.model import softmax

        shares = softmax(self._logits([edits]))[0]
        best = int(shares.argmax())
        return Flip(edits, *self.edited(edits, whole=True), self.trace.labels[best], float(shares[best]))
