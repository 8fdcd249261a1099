"""Scores of other tools on the pieces of any tokenizer: byte-level pieces, Hangul, emoji."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

transformers = pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from sentviz.analysis.explain.foreign_scores import fit, read_scores  # noqa: E402
from sentviz.models import hub  # noqa: E402
from tests.foreign.models import OWN, byte_pairs, sentence_pieces, word_pieces  # noqa: E402
from tests.kit import small_model, toy_splits  # noqa: E402

TEXTS = (
    "What a warm, clever garden! 😀 never dull",
    "우리 정원은 정말 따뜻하고 ☂ 밝았다…",
    "👍🏽👨\u200d👩\u200d👧 e\u0301té  Ⅷ½ naïve — 中文",
    "a [SEP] warm <mask> song [UNK]",
)
MAKERS = {"bert": word_pieces, "roberta": byte_pairs, "xlm-roberta": sentence_pieces}


def spellings(tokenizer: Any, text: str) -> dict[str, list[str]]:
    """Return the tokens of a text, with the special ones, as tools write them."""
    encoding = tokenizer(text, return_offsets_mapping=True)
    tokens = tokenizer.convert_ids_to_tokens(encoding["input_ids"])
    framed = tokenizer.get_special_tokens_mask(encoding["input_ids"], already_has_special_tokens=True)
    slices = [
        token if special and start == stop else text[start:stop]
        for token, special, (start, stop) in zip(tokens, framed, encoding["offset_mapping"], strict=True)
    ]
    return {"entries": tokens, "decoded": [tokenizer.decode([index]) for index in encoding["input_ids"]], "slices of the text": slices}


@pytest.mark.parametrize("kind", MAKERS)
def test_numbers_and_pairs_of_the_models_tokens_get_one_verdict(kind: str, folders: dict[str, Path]) -> None:
    """However its tokens are written, each word gets the same value as from bare numbers, with the special tokens and without."""
    model, tokenizer = hub.load(folders[kind]), transformers.AutoTokenizer.from_pretrained(folders[kind])
    for text in TEXTS:
        trace = model.trace(text)
        values = np.random.default_rng(0).normal(size=len(trace.tokens))
        for name, pieces in spellings(tokenizer, text).items():
            for which in (slice(None), slice(1, -1)):
                of_numbers = fit(trace, read_scores(values[which], 0, 3))
                of_pairs = fit(trace, read_scores(list(zip(pieces[which], values[which], strict=True)), 0, 3))
                np.testing.assert_allclose(of_pairs.values, of_numbers.values, err_msg=f"{name}: {pieces}")
                assert of_pairs.notes == of_numbers.notes


@pytest.mark.parametrize("kind", MAKERS)
def test_pieces_of_another_tokenizer_stand_where_its_offsets_say(kind: str) -> None:
    """The witness are the offsets of transformers; the model that is explained has a tokenizer of its own."""
    tokenizer, model = MAKERS[kind]([*toy_splits()["train"].frame["text"], *OWN * 5]), small_model()
    for text in TEXTS[:3]:
        trace = model.trace(text)
        encoding = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)
        pieces = tokenizer.convert_ids_to_tokens(encoding["input_ids"])
        known = [i for i, piece in enumerate(pieces) if piece not in (tokenizer.unk_token, "▁", "Ġ")]
        values = np.random.default_rng(1).normal(size=len(pieces))[known]
        named = {"tokens": [pieces[i] for i in known], "scores": values}
        placed = fit(trace, read_scores(named | {"offsets": [encoding["offset_mapping"][i] for i in known]}, 0, 2))
        np.testing.assert_allclose(fit(trace, read_scores(named, 0, 2)).values, placed.values, atol=1e-9)
        np.testing.assert_allclose(fit(trace, read_scores(list(zip(named["tokens"], values, strict=True)), 0, 2)).values, placed.values)
        assert np.abs(placed.values).sum() > 0
