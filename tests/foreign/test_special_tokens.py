"""Special and added tokens that a text spells: the ids and the answers are those of transformers, wherever a foreign model is opened."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import sentviz
from sentviz import training
from sentviz.analysis.explain.leave_out import removal, words
from sentviz.analysis.explain.notices import notices
from sentviz.api import predict
from sentviz.data.texts import LONGEST, is_blank, word_spans
from sentviz.models import hub
from sentviz.serving.corpus.engines import score
from tests.foreign.models import loaded, refused, saved, theirs
from tests.shipped import often

Change = Callable[[Any], object]


def added(*tokens: Any, special: bool) -> Change:
    """Return a function that adds tokens to a tokenizer, as an owner of a model does."""

    def change(tokenizer: Any) -> None:
        tokenizer.add_tokens(list(tokens), special_tokens=special)

    return change


def cased(tokenizer: Any) -> None:
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    added("[URL]", "[USER]", special=True)(tokenizer)


def masks_with_spaces(tokenizer: Any) -> None:
    tokenizer.add_special_tokens({"mask_token": transformers.AddedToken("<mask>", lstrip=True)})


def split(tokenizer: Any) -> None:
    tokenizer.split_special_tokens = True


def without_padding(tokenizer: Any) -> None:
    tokenizer.pad_token = None


def of_an_owner(tokenizer: Any) -> None:
    """Add tokens of every kind: with spaces on a side, only as whole words, found before or after normalization, short and overlapping."""
    token = transformers.AddedToken
    added(token("[lion]", lstrip=True), token("<gap>", rstrip=True), token("zebra", single_word=True), "song", special=False)(tokenizer)
    added(token("LOUD", normalized=True), token("Quiet", normalized=False), "[[", "😀", "정원", special=False)(tokenizer)


END = "XLM-R with special tokens of its owner, which loses the start of long texts"
OWNERS = "BERT, cased, with special tokens of its owner"
MODELS: dict[str, tuple[str, Change, dict[str, Any]]] = {
    "BERT": ("bert", lambda tokenizer: None, {}),
    OWNERS: ("bert", cased, {}),
    "RoBERTa": ("roberta", masks_with_spaces, {}),
    "DistilBERT with tokens of its owner": ("distilbert", of_an_owner, {}),
    END: ("xlm-roberta", added("<url>", "[SEP]", special=True), {}),
    "GPT-2 without padding": ("gpt2", without_padding, {"pad_token_id": None}),
    "Llama, whose answer is at the last token": ("llama", of_an_owner, {}),
    "ModernBERT that splits special tokens": ("modernbert", split, {}),
}
SPELLED = "[SEP] [CLS] [PAD] [UNK] [MASK] <s> </s> <pad> <unk> <mask> [URL] [USER] <url> [lion] <gap> zebra song LOUD loud Quiet quiet [["
PLAIN = "a warm garden never dull zebras songs 우리 정원은 정말 따뜻하고 ㅎㅎ مرحبا שלום 😀 👍🏽 👨\u200d👩\u200d👧 e\u0301 ﬁ Ⅷ ½ 中文 ß İ"
JOINTS = ("", " ", "  ", "\n", "\t", "\u200b", "\u00a0", "\0", "\u202e", ".", "-", "'", "\ufeff", "\u3000", "\u2029", "\U000e0041")


def hostile(count: int, seed: int = 7) -> list[str]:
    """Return texts of special tokens, whole, halved and doubled, among words of many scripts, joined by visible and invisible signs.

    The first ones end with padding, or are nothing else.
    """
    draw = random.Random(seed)
    spelled, plain = SPELLED.split(), PLAIN.split()
    texts = ["<pad>", "a garden <pad>", "<pad> a song <pad><pad>", "[PAD]warm[PAD]"]
    while len(texts) < count:
        pieces: list[str] = []
        for _ in range(draw.choice((1, 2, 3, 5, 9, 400 if len(texts) % 20 == 0 else 12))):
            token = draw.choice(spelled)
            half = draw.choice((token[: len(token) // 2], token[len(token) // 2 :], token[1:], token[:-1]))
            pieces += [draw.choice((token, token, half, token * 2, token.lower(), token.upper(), f"{token[0]} {token[1:]}", *plain))]
            pieces += [draw.choice((*JOINTS, *" " * 8))]
        text = "".join(pieces if draw.random() < 0.5 else pieces[:-1])
        texts += [] if is_blank(text) or text in texts else [text]
    return texts


def folder_of(name: str, folder: Path) -> Path:
    kind, change, settings = MODELS[name]
    saved(folder / kind, kind, change=change, **settings)
    if name == END:
        file = folder / kind / "tokenizer_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"truncation_side": "left"}))
    return folder / kind


def compare(model: Any, folder: Path, texts: list[str], tolerance: float = 1e-5) -> None:
    """Check that ids and probabilities are those of transformers, text by text, and one by one as in a batch."""
    tokenizer, network = transformers.AutoTokenizer.from_pretrained(folder), theirs(folder)
    room = model.config.max_length
    rows = [tokenizer(text, truncation=True, max_length=room, return_tensors="pt") for text in texts]
    read = model.tokenizer.ids_batch(texts, max_length=room, cls=True)
    for text, row, ids in zip(texts, rows, read, strict=True):
        assert ids.tolist() == row["input_ids"][0].tolist(), text
    some = [(text, row) for text, row in zip(texts, rows, strict=True) if row["input_ids"].shape[1]]
    with torch.no_grad():
        wanted = np.concatenate([network(**row).logits.softmax(-1).numpy() for _, row in some])
    answers = model.predict([text for text, _ in some])[list(model.labels)].to_numpy()
    np.testing.assert_allclose(answers, wanted, atol=tolerance)


@pytest.mark.parametrize("name", often(MODELS, *list(MODELS)[:4]))
def test_texts_are_read_as_transformers_reads_them(name: str, tmp_path: Path) -> None:
    folder = folder_of(name, tmp_path)
    compare(loaded(folder), folder, hostile(40))


@pytest.mark.parametrize("name", ["BERT", "Llama, whose answer is at the last token", END])
def test_pairs_are_read_as_transformers_reads_them(name: str, tmp_path: Path) -> None:
    folder, texts = folder_of(name, tmp_path), hostile(30, seed=8)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(folder), hub.load(folder)
    for limit, text, pair in zip(range(15, 30), texts[:15], texts[15:], strict=True):
        row = tokenizer(text, pair, truncation="longest_first", max_length=limit)
        encoded = model.tokenizer.encode(text, pair, max_length=limit, cls=True)
        assert encoded.ids.tolist() == row["input_ids"]
        assert model.tokenizer.specials_of(encoded.reading, cls=True).tolist() == encoded.specials.tolist()


SPELLING = ["a warm [SEP] song", "dull [URL]garden", "[MASK]", "<pad> a [lion] song <pad>", "zebras zebra LOUD quiet [[SEP]]"]


@pytest.mark.parametrize("name", often([OWNERS, "Llama, whose answer is at the last token", "RoBERTa"], OWNERS))
def test_every_door_reads_them_alike(name: str, tmp_path: Path) -> None:
    folder = folder_of(name, tmp_path)
    tokenizer, network = transformers.AutoTokenizer.from_pretrained(folder), theirs(folder)
    with torch.no_grad():
        wanted = [network(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0].tolist() for text in SPELLING]
    run, file = training.adopt(folder, "", tmp_path / "runs"), tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in SPELLING))
    columns = [f"probability_{label}" for label in run.labels]
    served = predict(run, tuple(SPELLING)).json()["answers"]
    in_memory = sentviz.load(transformers.AutoModelForSequenceClassification.from_pretrained(folder), tokenizer)
    doors = {
        "score": score(run, [file], tmp_path / "scored").part(0, columns).to_pandas().to_numpy(),
        "serve": [list(answer["probabilities"].values()) for answer in served],
        **{type(model).__name__: model.predict(SPELLING)[list(run.labels)].to_numpy() for model in (sentviz.load(run), in_memory)},
    }
    for door, answers in doors.items():
        np.testing.assert_allclose(answers, wanted, atol=2e-5, err_msg=door)


def test_a_model_reads_the_end_of_a_long_text_after_it_was_stored(tmp_path: Path) -> None:
    run = training.adopt(folder_of(END, tmp_path), "", tmp_path / "runs")
    model, text = sentviz.load(run), "a dull garden. " * 200 + "a warm song"
    trace = model.trace(text)
    assert trace.tokens[-2] == "song" and [text[slice(*trace.offsets[place])] for place in (1, -2)] == [trace.tokens[1], "song"]
    (remark,) = [sentence for kind, sentence in notices(trace, run) if kind == "cut"]
    assert f"the first {trace.dropped:,} tokens were not read" in remark and trace.dropped > 100
    refused("reads the end of a long text", model.trace, "a " * LONGEST)
    model = loaded(folder_of("RoBERTa", tmp_path))
    inputs = model.inputs(model.encode("a warm <pad><pad> song"))
    with_vectors = replace(inputs, vectors=model.network.table[inputs.ids])
    torch.testing.assert_close(model.network(with_vectors).logits, model.network(inputs).logits)
    folder = saved(tmp_path / "bert", "bert", change=added("[URL]", special=True))
    model = hub.load(folder)
    text = "a warm [SEP]song[URL][MASK]"
    encoded = model.encode(text)
    assert encoded.tokens[1:-1] == ("a", "warm", "[SEP]", "song", "[URL]", "[MASK]")
    assert [text[start:end] for start, end in encoded.offsets[1:-1]] == list(encoded.tokens[1:-1])
    assert np.flatnonzero(encoded.specials).tolist() == [0, len(encoded) - 1]
    assert [word.text for word in word_spans(text, encoded)][1:-1] == ["a", "warm", "[SEP]", "song", "[URL]", "[MASK]"]
    trace = model.trace(text)
    fall = trace.value - trace.value_of(model.forward([model.encode("a warm song[URL][MASK]").reading])[0])[0]
    assert removal(model, trace)[list(words(trace)[2].indices)] == pytest.approx([fall], abs=1e-4)
