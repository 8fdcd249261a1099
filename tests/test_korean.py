"""A Korean sentence on a run of byte-level pieces: words are put together, removed, explained and swapped as they are written."""

from __future__ import annotations

import re

import pytest

from sentviz.analysis.explain import explained
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.explain.word_swaps import neighbours
from sentviz.data.texts import word_spans
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.store import find
from sentviz.runs.trace import Trace
from tests.kit import SHIPPED

pytestmark = SHIPPED
RUN, SYLLABLE = "nsmc/cls-last-scaled", "뷁"  # a syllable of no text of the training
SENTENCE = "뷁같은 음악은 따뜻하고, 결말은 지루하고 길었다"


@pytest.fixture(scope="module")
def model() -> Model:
    return load(find(RUN))


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    return explained(model, model.trace(SENTENCE))


def test_a_word_is_written_and_removed_as_a_whole(model: Model, trace: Trace) -> None:
    """The pieces of a word share its score. A letter's bytes are shown as the letter."""
    words, scores = word_spans(SENTENCE, trace), trace.token_scores["removal"]
    assert [word.text for word in words] == ["[CLS]", "뷁같은", "음악은", "따뜻하고", ",", "결말은", "지루하고", "길었다", "[SEP]"]
    assert trace.tokens[1:4] == (SYLLABLE,) * 3
    assert all(len(set(scores[list(word.indices)].tolist())) == 1 for word in words)
    assert len(set(scores.tolist())) == len(words) - 1 and not scores[trace.specials].any()


def test_a_letter_read_in_bytes_is_explained_and_words_to_swap_are_words(model: Model, trace: Trace) -> None:
    messages = [remark for _, remark in notices(trace, find(RUN))]
    assert sum(f"“{SYLLABLE}”" in remark and "bytes" in remark for remark in messages) == 1
    assert not any("bytes" in remark for _, remark in notices(model.trace("음악은 따뜻하고 길었다"), find(RUN)))
    nearest = neighbours(model, int(model.encode("음악").ids[1]), 8)
    assert nearest and all(re.fullmatch("[가-힣]+", word) for word, _ in nearest)
