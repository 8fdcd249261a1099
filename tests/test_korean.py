"""A Korean sentence on a run of byte-level pieces: tokens as written, words put together, pictures and files with their letters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from app import cache
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.explain.word_swaps import neighbours
from sentviz.data import datasets
from sentviz.data.examples import examples_for
from sentviz.data.texts import word_spans
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from sentviz.training import train
from tests.kit import toy_recipe

RUN = "nsmc/cls-last-scaled"
GOOD, BAD = ("따뜻하고", "훌륭하고", "신나고"), ("지루하고", "엉성하고", "차갑고")
NOUNS, ENDS = ("이야기는", "음악은", "결말은"), ("길었다", "짧았다", "밝았다", "어두웠다")
SENTENCE = "뷁같은 음악은 따뜻하고, 결말은 지루하고 길었다"  # the first syllable stands in no text of the training
SYLLABLE = "뷁"


def splits() -> dict[str, datasets.Split]:
    rows = [(f"{noun} {word} {end}", label) for label, some in enumerate((BAD, GOOD)) for word, noun, end in product(some, NOUNS, ENDS)]
    parts = {}
    for split in ("train", "validation", "test"):
        frame = pd.DataFrame(rows, columns=["text", "label"]).assign(id=[f"{split}-{i}" for i in range(len(rows))])
        parts[split] = datasets.Split("nsmc", split, frame, ("negative", "positive"), 0, "0" * 12)
    return parts


@pytest.fixture(scope="module", autouse=True)
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Return a small run of NSMC's shape on made-up sentences, with a made-up Korean lexicon."""
    root, data = tmp_path_factory.mktemp("korean"), splits()
    lexicon = root / "data" / "lexicon_ko_knu"
    lexicon.mkdir(parents=True)
    pd.DataFrame({"term": [*GOOD, *BAD], "polarity": [2, 1, 2, -2, -1, -1]}).to_parquet(lexicon / "lexicon.parquet", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_DATA", str(root / "data"))
        patch.setenv("SENTVIZ_HOME", str(root / "home"))
        patch.setenv("SENTVIZ_RUNS", str(root / "runs"))
        patch.setattr(datasets, "load_split", lambda name, split: data[split])
        changes = {"dataset": "nsmc", "tokenizer": "bpe", "vocab_size": 340, "max_length": 60, "cls": True, "lexicon": "lexicon_ko_knu"}
        recipe = toy_recipe("cls-last-scaled", example=examples_for(("negative", "positive"), "ko")["Contrast"].text, **changes)
        train(recipe, root / "runs", progress=False)
        st.cache_resource.clear()
        yield load(cache.runs()[RUN])
    st.cache_resource.clear()


@pytest.fixture(scope="module")
def trace(model: Model) -> Trace:
    from sentviz.analysis.explain import explained

    return explained(model, model.trace(SENTENCE))


def test_a_word_is_removed_as_a_whole(model: Model, trace: Trace) -> None:
    """The pieces of a word share its score: the change of the prediction without the word."""
    from sentviz.analysis.explain import log_odds

    k = int(trace.probabilities.argmax())
    for word in word_spans(SENTENCE, trace)[1:-1]:
        scores = trace.token_scores["removal"][list(word.indices)]
        without = model.trace(SENTENCE.replace(word.text, "", 1))
        np.testing.assert_allclose(scores, log_odds(trace.logits, k) - log_odds(without.logits, k), atol=1e-4)


def test_a_letter_read_in_bytes_is_explained(model: Model, trace: Trace) -> None:
    messages = [remark for _, remark in notices(trace, cache.runs()[RUN])]
    assert sum(f"“{SYLLABLE}”" in remark and "bytes" in remark for remark in messages) == 1
    known = model.trace("음악은 따뜻하고 길었다")
    assert len(set(map(tuple, known.offsets[1:-1].tolist()))) == len(known.tokens) - 2
    assert not any("bytes" in remark for _, remark in notices(known, cache.runs()[RUN]))


def test_words_to_swap_are_words(model: Model, trace: Trace) -> None:
    """Words to swap are written in letters and begin words of the vocabulary's texts; byte names are left out."""
    token = trace.tokens.index("음악은")
    nearest_words = neighbours(model, int(model.encode(SENTENCE).ids[token]), 8)
    texts = [f" {text}" for text in splits()["train"].frame["text"]]
    assert nearest_words and all(any(f" {word}" in text for text in texts) for word, _ in nearest_words)
