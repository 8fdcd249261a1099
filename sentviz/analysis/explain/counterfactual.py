"""Search the smallest edit that reaches a goal: up to three words are removed or replaced until the model predicts another class.

The goal follows from the trace's target. For a class that is not predicted, the model has to predict it. For one class against another,
the less probable of the two has to become the more probable. In these cases, "flips" means: reaches the goal.

The search begins with all removals of one word, and for each word the swaps that lower the log-odds f most to first order,

    (e_c - e_w) . df/de_w        HotFlip, Ebrahimi et al. 2018, arXiv 1712.06751

where f is that of the predicted class, of all other classes against the goal's class, or of the more probable of the two classes.
Only plausible swaps are predicted: c is a word of the model's vocabulary that is a known neighbour of both neighbouring words
(`sentviz.analysis.explain.bigrams`), and the tagger (`sentviz.data.tags`) gives it the part of speech of w, in its place and alone. The
tagger gives all words without Latin letters the same part of speech. If none of these edits flips the prediction, all other plausible swaps
of one word follow, in the same order, until one flips it. Then a beam search extends the best edits of k words by one word. The model
predicts each edited text. A black box has no gradients: its words are in the order of their removal scores, and the swaps in that of the
vocabulary, the words of the tagger.

For comparison, the same number of random plausible edits of as many words is predicted, and the share that flips the prediction is
returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, islice, pairwise, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain.bigrams import Bigrams, hashed, read_words
from sentviz.analysis.explain.gradients import along
from sentviz.analysis.explain.leave_out import removal
from sentviz.analysis.explain.word_groups import spaced_words
from sentviz.analysis.explain.word_swaps import in_case, whole_words
from sentviz.data.tags import Tagger, tags_instead
from sentviz.errors import InputError
from sentviz.models.budget import Spent
from sentviz.runs.calibration import softmax
from sentviz.runs.headline_evidence import MOST, Edit, Flip
from sentviz.runs.target import PREDICTED, Target
from sentviz.runs.trace import Trace

if TYPE_CHECKING:
    from sentviz.models.model import Model

Floats = npt.NDArray[np.floating[Any]]
Edits = tuple[Edit, ...]  # in the order of the text
Prediction = tuple[bool, float]  # True if an edited text reaches the goal; the log-odds that the search lowers

BEAM_WIDTH, BRANCHES = 8, 32  # edits that are extended, and further words tried with each
MAX_PLACES = 40  # words of a long text that are edited, those with the strongest gradients
EXTRA_CHARACTERS = 1_000  # characters kept after the part of a long text that the model reads: removed words make room for them
SWAPS_PER_WORD = 8  # replacements of each word that are tried first
MAX_PASSES, MAX_BEAM, RANDOM_EDITS = 8000, 1000, 100  # edited texts that are predicted, those of several words, and random edits
CHUNK = 256  # edits of one word that are predicted before looking for a flip among them


def smallest_flip(
    model: Model, trace: Trace, *, most: int = MOST, passes: int = MAX_PASSES, drawn: int = RANDOM_EDITS, seed: int = 0
) -> Flip:
    """Return an edit of as few words as the search finds that makes the model predict another class, or reaches the trace's target.

    Edits that only remove words come first, then the edit with the lowest log-odds of the old class. If no edit is returned, one may still
    exist: rare words and most edits of several words are not tried. If the time of a `Budget` ends, the result is that of the edits
    tested until then, and `Flip.untested` counts those that would have been next.

    Args:
        most: maximum number of edited words.
        passes: maximum number of edited texts that the search predicts; at most half of them have one edited word.
        drawn: number of random edits.
        seed: seed of the random edits.
    Raises:
        Spent: the time ended before an edit was tested.
    """
    if trace.change.gates_open or trace.change.gates_shut:
        raise InputError("Gates that were set manually belong to the words of this text, so an edited text cannot be predicted with them.")
    text = _EditableText(model, trace)
    try:
        return _searched(text, most, passes, drawn, np.random.default_rng(seed))
    except Spent:
        if not text.tested:
            raise
        flips, known = text.flips(text.tested), Flip(most=max(map(len, text.tested)), goal=text.goal)
        if flips:
            text.model = model.stoppable(lambda: None)  # one more text, for the probability after the edit
            known = text.flip(text.best(flips, text.tested))
        return replace(
            known, passes=len(text.tested), singles=sum(len(edits) == 1 for edits in text.tested), untested=max(1, text.untested)
        )


def _searched(text: _EditableText, most: int, passes: int, drawn: int, random: np.random.Generator) -> Flip:
    """Return the result of `smallest_flip` for an editable text."""
    singles: list[Edits] = [(edit,) for edit in text.removals() + text.swaps(text.by_gradient, SWAPS_PER_WORD)]
    predictions: dict[Edits, Prediction] = {}
    limit, reached, tried, complete = passes, 0, 0, False
    level, further = singles, singles
    for size in range(1, most + 1):
        untested = [edits for edits in level if edits not in predictions and text.leaves_words(edits)][: limit - len(predictions)]
        if not untested:
            break
        of_level, reached = text.predict(untested), size
        if size == 1:
            further_singles, complete = text.other_singles(of_level, passes // 2)
            of_level |= further_singles
            tried, limit = len(of_level), min(passes, len(of_level) + MAX_BEAM)
        predictions |= of_level
        if flips := text.flips(of_level):
            flip = replace(text.flip(text.best(flips, predictions)), passes=len(predictions), singles=tried, complete=complete, most=most)
            flipping, times = text.chance(size, drawn, random)
            return replace(flip, random=flipping, drawn=times)
        if size == 1:
            further = sorted(of_level, key=lambda edits: of_level[edits][1])[:BRANCHES]
        best_edits = sorted(of_level, key=lambda edits: of_level[edits][1])[:BEAM_WIDTH]
        level = text.adjacent_removals(size + 1) + text.join(best_edits, further)
    return Flip(passes=len(predictions), singles=tried, complete=complete, most=reached, goal=text.goal)


class _EditableText:
    """A text, its words, and the edits that can be made."""

    def __init__(self, model: Model, trace: Trace) -> None:
        self.model, self.trace = model, trace
        self.tested: dict[Edits, Prediction] = {}  # edits that the search predicted, without the random ones
        self.untested = 0  # further edits that it wanted to predict when it was ended
        self.words, self.target = spaced_words(trace), trace.target_places
        self.goal, self.sign = _goal(trace)
        ends = (int(trace.offsets[trace.segments == each, 1].max(initial=0)) for each in (0, 1))
        self.read = [text[: end + EXTRA_CHARACTERS] for text, end in zip((trace.text, trace.text_pair or ""), ends, strict=True)]
        self.vocabulary, self.bigrams, self.tagger = whole_words(model.tokenizer), Bigrams.load(), Tagger.load()
        self.ids, self.hashes = np.array(list(self.vocabulary), dtype=np.int64), hashed(self.vocabulary.values())
        lettered = [i for i, word in enumerate(self.words) if any(letter.isalnum() for letter in word.text)]
        segment = trace.segments[[word.indices[0] for word in self.words]]
        self.lettered = [{i for i in lettered if segment[i] == each} for each in np.unique(segment)]
        effects, gains = self._to_first_order([self.words[i].indices[0] for i in lettered])
        strongest = sorted(range(len(lettered)), key=lambda at: -abs(float(effects[list(self.words[lettered[at]].indices)].sum())))
        chosen = sorted(strongest[:MAX_PLACES])
        self.places = {lettered[at]: column for column, at in enumerate(chosen)}  # word -> column of the gains
        self.gains = gains[:, chosen]  # a copy: those of all words of a long text take 30 MB

    def _to_first_order(self, firsts: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the effect of each token (m,), and the change of the log-odds for each vocabulary entry in some tokens' places, (V, k)."""
        model, trace = self.model, self.trace
        if not model.capabilities.layers:  # a black box
            scores = trace.token_scores.get("removal")
            return removal(model, trace) if scores is None else scores, np.zeros((model.tokenizer.vocab_size, len(firsts)))
        ((_, slopes, path),) = along(model, trace, np.ones(1))
        gains = self.sign * np.concatenate([(part @ slopes[0, firsts].T).numpy() for part in model.network.table_parts()])
        return (slopes[0] * path).sum(dim=-1).numpy(), gains

    def removals(self) -> list[Edit]:
        """Return the removal of each word."""
        return [Edit(place, self.words[place].text) for place in self.places]

    def by_gradient(self, place: int) -> Floats:
        """Return the first-order change of the log-odds for each vocabulary word in a place, (V,)."""
        return np.asarray(self.gains[self.ids, self.places[place]])

    def other_singles(self, tried: Mapping[Edits, Prediction], most: int) -> tuple[dict[Edits, Prediction], bool]:
        """Predict the plausible edits of one word that were not tried, the best swaps of each word first, until one flips the prediction.

        Args:
            most: maximum number of edits, those that were tried included.
        Returns:
            The predictions, and whether all plausible edits of every word were predicted. If an edit flips already, none is predicted.
        """
        predictions: dict[Edits, Prediction] = {}
        if self.flips(tried):
            return predictions, False
        by_word = [list(edits) for _, edits in groupby(self.swaps(self.by_gradient, None), key=lambda edit: edit.place)]
        in_order = [(edit,) for rank in (self.removals(), *zip_longest(*by_word)) for edit in rank if edit is not None]
        untested = [edits for edits in in_order if edits not in tried and self.leaves_words(edits)]
        room = max(0, most - len(tried))
        for start in range(0, min(len(untested), room), CHUNK):
            predicted = self.predict(untested[start : min(start + CHUNK, room)])
            predictions |= predicted
            if self.flips(predicted):
                return predictions, False
        return predictions, len(untested) <= room and len(self.places) == sum(map(len, self.lettered))

    def flips(self, predictions: Mapping[Edits, Prediction]) -> list[Edits]:
        """Return the edits that flip the prediction."""
        return [edits for edits, (is_reached, _) in predictions.items() if is_reached]

    def swaps(self, order: Callable[[int], Floats], most: int | None) -> list[Edit]:
        """Return plausible replacements for each word, the first `most` in an order of the vocabulary; None = all."""
        edits: list[Edit] = []
        for place in self.places:
            self.model.check()
            old = self.words[place].text
            fitting = np.flatnonzero(self.bigrams.fits(self.hashes, *self._neighbours(place)))
            known = (self.vocabulary[int(self.ids[i])] for i in fitting[np.argsort(order(place)[fitting], kind="stable")])
            replacements = (word for word in known if len(word) > 1 and word.lower() != old.lower() and word.isascii() == old.isascii())
            candidates = [Edit(place, old, in_case(word, old)) for word in islice(replacements, most and 3 * most)]
            edits += islice((edit for edit, same in zip(candidates, self._same_tags(place, candidates), strict=True) if same), most)
        return edits

    def adjacent_removals(self, size: int) -> list[Edits]:
        """Return the removals of `size` neighbouring words."""
        rows = [range(place, place + size) for place in self.places]
        return [tuple(Edit(i, self.words[i].text) for i in row) for row in rows if all(i in self.places for i in row)]

    def join(self, some: Sequence[Edits], further: Sequence[Edits]) -> list[Edits]:
        """Return the plausible combinations of some edits with a further edit of another word."""
        pairs = ((edits, addition) for edits in some for addition in further if all(edit.place != addition[0].place for edit in edits))
        joint = dict.fromkeys(tuple(sorted(edits + addition)) for edits, addition in pairs)
        return [edits for edits in joint if self._plausible(edits)]

    def drawn(self, size: int, times: int, random: np.random.Generator) -> list[Edits]:
        """Return random edits of `size` words.

        Each word is removed or replaced with equal chances; without a plausible swap it is removed.
        """
        swaps = self.swaps(lambda place: random.random(len(self.ids)), SWAPS_PER_WORD)
        of_place = {place: [edit for edit in swaps if edit.place == place] for place in self.places}
        places, drawn_edits = list(self.places), []
        for _ in range(4 * times):
            chosen = sorted(random.choice(places, size, replace=False).tolist())
            ways = ((of_place[place], Edit(place, self.words[place].text)) for place in chosen)
            drawn_edits.append(
                tuple(some[int(random.integers(len(some)))] if some and random.random() < 0.5 else gone for some, gone in ways)
            )
        return [edits for edits in drawn_edits if self.leaves_words(edits)][:times]

    def leaves_words(self, edits: Edits) -> bool:
        """Return whether the edits leave at least one word of each text."""
        gone = {edit.place for edit in edits if not edit.new}
        return all(some - gone for some in self.lettered)

    @staticmethod
    def best(flips: Sequence[Edits], predictions: Mapping[Edits, Prediction]) -> Edits:
        """Return the first of some edits that flip the prediction: removals before swaps, then the lowest log-odds."""
        return min(flips, key=lambda edits: (any(edit.new for edit in edits), predictions[edits][1], edits))

    def chance(self, size: int, times: int, random: np.random.Generator) -> tuple[int, int]:
        """Return how many random edits flip the prediction, and how many edits leave a word, at most `times`."""
        some = self.drawn(size, times, random)
        predictions = self._read(distinct := list(dict.fromkeys(some)), self._logits(distinct))
        return sum(predictions[edits][0] for edits in some), len(some)

    def _neighbours(self, place: int) -> tuple[str, str]:
        """Return the words before and after a word, in lower case."""
        text, start, end = self._position(place)
        return read_words(text[:start])[-2], read_words(text[end:])[1]

    def _position(self, place: int) -> tuple[str, int, int]:
        """Return the text of a word, and the word's start and end in it, in characters."""
        indices, trace = self.words[place].indices, self.trace
        text = (trace.text, trace.text_pair or "")[int(trace.segments[indices[0]])]
        return text, int(trace.offsets[indices[0], 0]), int(trace.offsets[indices[-1], 1])

    def _same_tags(self, place: int, swaps: Sequence[Edit]) -> list[bool]:
        """Return whether each new word for a word has its part of speech, in its place and alone."""
        at, words = self._position(place), (self.words[place].text, *(edit.new for edit in swaps))
        before, *tagged = tags_instead(self.tagger, [(*at, word) for word in words])
        return [tags == before for tags in tagged]

    def _plausible(self, edits: Edits) -> bool:
        """Return whether the new words are known neighbours of the words next to them after all edits."""
        texts = [read_words(text or "") for text in self.edited(edits)]
        new = {edit.new.lower() for edit in edits if edit.new}
        pairs = [pair for words in texts for pair in pairwise(words) if new & set(pair)]
        return not pairs or bool(self.bigrams.seen(*(hashed(words) for words in zip(*pairs, strict=True))).all())

    def edited(self, edits: Edits, *, whole: bool = False) -> tuple[str, str | None]:
        """Return both texts with the edits: the part that the model reads, or the complete texts.

        A removed word takes one space with it.
        """
        texts = [self.trace.text, self.trace.text_pair or ""] if whole else list(self.read)
        for edit in reversed(edits):
            _, start, end = self._position(edit.place)
            segment = int(self.trace.segments[self.words[edit.place].indices[0]])
            before, after = texts[segment][:start], texts[segment][end:]
            if not edit.new and (not before or before[-1].isspace()):
                after = after.lstrip() if not before else after.removeprefix(" ")
            texts[segment] = before + edit.new + after
        return texts[0], None if self.trace.text_pair is None else texts[1]

    def predict(self, some: Iterable[Edits]) -> dict[Edits, Prediction]:
        """Return whether each edited text reaches the goal, and the log-odds that the search lowers."""
        some = list(some)
        self.untested = len(some)
        try:
            predictions = self._read(some, self._logits(some))
        except Spent as spent:
            if spent.partial is not None:
                done = np.flatnonzero(~np.isnan(spent.partial).any(axis=1))
                self.tested |= self._read([some[i] for i in done], spent.partial[done])
                self.untested -= len(done)
            raise
        self.tested |= predictions
        self.untested = 0
        return predictions

    def _read(self, some: Sequence[Edits], logits: Floats) -> dict[Edits, Prediction]:
        """Return the predictions that the logits (N, K) of some edited texts give."""
        k, against = self.target
        values = self.sign * self.trace.value_of(logits)
        reached = values < 0 if against is not None else (logits.argmax(axis=1) == k) == (self.sign < 0)
        return dict(zip(some, zip(reached.tolist(), values.tolist(), strict=True), strict=True))

    def _logits(self, some: Sequence[Edits]) -> npt.NDArray[np.float32]:
        if not some:
            return np.empty((0, len(self.trace.labels)), dtype=np.float32)
        texts, pairs = zip(*map(self.edited, some), strict=True)
        encoded = self.model.encode_all(texts, None if self.trace.text_pair is None else pairs)
        change = self.model.intervention(self.trace.change)
        return self.model.forward([text.reading for text in encoded], change, what="edited texts")[0]

    def flip(self, edits: Edits) -> Flip:
        """Return the flip of an edit with the prediction for the edited text."""
        logits, (_, against) = self._logits([edits])[0], self.target
        if against is not None:
            share = float(self.trace.share_of(logits))
            return Flip(edits, *self.edited(edits, whole=True), self.goal.label, share if self.sign < 0 else 1 - share, goal=self.goal)
        shares = softmax(logits, self.trace.calibration)
        best = int(shares.argmax())
        return Flip(edits, *self.edited(edits, whole=True), self.trace.labels[best], float(shares[best]), goal=self.goal)


def _goal(trace: Trace) -> tuple[Target, int]:
    """Return the class that an edit has to reach, and the sign with which the search lowers the log-odds of the trace's target."""
    k, against = trace.target_places
    if against is None:
        return trace.target, 1 if trace.target == PREDICTED else -1
    first, second = trace.labels[k], trace.labels[against]
    return (Target(second, first), 1) if trace.value > 0 else (Target(first, second), -1)
