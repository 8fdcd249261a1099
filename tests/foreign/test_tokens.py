"""Tokens of Hugging Face tokenizers, scores on their pieces, and the errors of models that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers

from sentviz.analysis.explain.foreign_scores import fit, read_scores
from sentviz.data.lexicon import Lexicon
from sentviz.data.texts import word_spans
from sentviz.errors import InputError, RunError
from sentviz.models import hub
from sentviz.models.hub import loading
from tests.foreign.models import OWN, SHORT, TEXT, answers, byte_pairs, changed, refused, sentence_pieces, small, theirs, word_pieces
from tests.kit import small_model, toy_splits


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta"])
def test_korean_tokens_stand_where_they_are_in_the_text(kind: str, folders: dict[str, Path]) -> None:
    text = "우리 정원은  정말 따뜻하고, 밝았다!"
    encoded = hub.load(folders[kind]).encode(text)
    inside = ~encoded.specials
    for (start, end), token in zip(encoded.offsets[inside], np.array(encoded.tokens)[inside], strict=True):
        assert 0 <= start < end <= len(text)
        assert text[start:end] == token or (token in "Ġ▁" and not text[start - 1].strip())
    assert [word.text for word in word_spans(text, encoded)][1:-1] == ["우리", "정원은", "정말", "따뜻하고", ",", "밝았다", "!"]
    covered = {place for start, end in encoded.offsets[inside] for place in range(start, end)}
    assert covered >= {i for i, letter in enumerate(text) if not letter.isspace()}
    assert encoded.tokens[0] in ("[CLS]", "<s>") and encoded.specials[[0, -1]].all()


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta"])
def test_ids_segments_and_cuts_are_those_of_the_tokenizer(kind: str, folders: dict[str, Path]) -> None:
    model, reference = hub.load(folders[kind]), transformers.AutoTokenizer.from_pretrained(folders[kind])
    for pair in (None, OWN[1]):
        for limit in (60, 16, 11):
            own = model.tokenizer.encode(TEXT, pair, max_length=limit, cls=True)
            wanted = reference(TEXT, pair, truncation="longest_first", max_length=limit)
            assert own.ids.tolist() == wanted["input_ids"]
            assert own.dropped == len(reference(TEXT, pair)["input_ids"]) - len(own)
            assert own.specials.tolist() == [i in reference.all_special_ids and i != reference.unk_token_id for i in wanted["input_ids"]]
            if kind == "bert":
                assert own.segments.tolist() == wanted["token_type_ids"]
            [ids] = model.tokenizer.ids_batch([TEXT], None if pair is None else [pair], max_length=limit, cls=True)
            assert ids.tolist() == own.ids.tolist()
    with pytest.raises(InputError, match="leaves no room"):
        model.tokenizer.encode(TEXT, OWN[1], max_length=4, cls=True)
    with pytest.raises(InputError, match="The text is empty"):
        model.encode(" ")


def test_unknown_signs_are_told_and_rows_of_the_table_without_an_entry_have_no_name(folders: dict[str, Path]) -> None:
    model = hub.load(folders["bert"])
    encoded = model.encode("a warm song ☂")
    assert encoded.tokens[-2] == "☂" and encoded.unknown[-2] and not encoded.unknown[1]
    assert model.tokenizer.ids_batch(["\U000e0041a"])  # a sign that the normaliser takes away
    assert "warm" in model.tokenizer and "[CLS]" in model.tokenizer
    big = hub.load(folders["modernbert"])
    assert big.tokenizer.vocab_size == big.config.vocab_size and big.tokenizer.token_of(big.config.vocab_size - 1) == ""
    with pytest.raises(InputError, match="not 999"):
        big.tokenizer.token_of(999)


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_each_foreign_thing_is_one_sentence(folders: dict[str, Path], tmp_path: Path) -> None:
    bert = folders["bert"]
    size = json.loads((bert / "config.json").read_text())["vocab_size"]
    cases = {
        "kind 't5', which cannot be read": changed(bert, tmp_path / "t5", model_type="t5"),
        "it reads from left to right": changed(bert, tmp_path / "decoder", is_decoder=True),
        "has one output, a score": changed(bert, tmp_path / "one"),
        "two of its classes have the same name": changed(bert, tmp_path / "twice", id2label={"0": "a", "1": "a", "2": "b"}),
        "do not fit its configuration": changed(bert, tmp_path / "other", num_hidden_layers=4),
        "There is no folder": tmp_path / "nowhere",
        "config.json is missing": tmp_path,
        "config.json cannot be read": changed(bert, tmp_path / "cut"),
        "model.safetensors is missing": changed(bert, tmp_path / "empty"),
        "its weights cannot be read": changed(bert, tmp_path / "damaged"),
        "has no tokenizer": changed(bert, tmp_path / "wordless"),
    }
    small("bert", size, ("score",)).save_pretrained(tmp_path / "one")
    (tmp_path / "cut" / "config.json").write_text("{")
    (tmp_path / "empty" / "model.safetensors").unlink()
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"nothing")
    for path in (tmp_path / "wordless").glob("*token*"):
        path.unlink()
    for sentence, folder in cases.items():
        with refused(sentence):
            hub.load(folder)


def test_no_classification_head(folders: dict[str, Path], tmp_path: Path) -> None:
    for kind in ("bert", "modernbert"):
        folder = changed(folders[kind], tmp_path / kind)
        theirs(folders[kind]).base_model.save_pretrained(folder)
        with pytest.raises(InputError, match="has no classification head, so it predicts no class"):
            hub.load(folder).predict([TEXT])
        assert loading.opened(folder, labels=("bad", "good")).labels == ("bad", "good")


def test_pickled_weights_are_read_only_where_that_is_allowed(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["bert"], tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save(theirs(folders["bert"]).state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(RunError, match="pickled weights only"):
        hub.load(folder)
    np.testing.assert_allclose(answers(hub.load(folder, allow_pickle=True), TEXT), answers(hub.load(folders["bert"]), TEXT), atol=1e-6)


def test_a_version_whose_attention_cannot_be_seen_is_told(folders: dict[str, Path]) -> None:
    model = hub.load(folders["electra"])
    model.network.model.set_attn_implementation("eager")
    with pytest.raises(RunError, match="computes the attention of ELECTRA in a way that cannot be captured"):
        model.trace(SHORT)


def test_injections_and_lexicons_go_together(folders: dict[str, Path], lexicon: Lexicon) -> None:
    """Special tokens stay neutral, even if a lexicon entry is unknown to the vocabulary and would count for [UNK]."""
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("no lexicon is given", {"injection": "all"}),
        ("A lexicon needs an injection", {"lexicon": lexicon}),
        ("There is no injection 'first'; there are xia, all", {"lexicon": lexicon, "injection": "first"}),
    )
    for sentence, options in cases:
        with refused(sentence):
            hub.load(folders["bert"], **options)
    strange = Lexicon.of("own", pd.DataFrame({"term": ["☂", "warm"], "polarity": [1.0, 2.0]}))
    model = hub.load(folders["bert"], lexicon=strange, injection="all")
    table = model.network.polarity.numpy()
    np.testing.assert_allclose(table[list(model.tokenizer.special_ids)], 1 / 3)
    assert table[model.tokenizer.id_of("warm")].argmax() == 0
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)


def test_the_hub_away_a_name_unknown_and_transformers_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each error that transformers raises is told by its cause; no request is sent for the name of a folder, one for that of a model."""
    from huggingface_hub import constants, errors

    requests: list[str] = []

    def failing(cause: Exception) -> Any:
        def ask(url: str, **_: Any) -> Any:
            requests.append(url)
            raise OSError("long story") from cause

        return ask

    answer = SimpleNamespace(status_code=404, headers={}, request=None)
    for cause, sentence in (
        (errors.LocalEntryNotFoundError("away"), "the hub cannot be reached"),
        (errors.RepositoryNotFoundError("none", response=answer), "the hub has no model of this name"),  # type: ignore[arg-type]
        (errors.GatedRepoError("closed", response=answer), "asks for an agreement"),  # type: ignore[arg-type]
        (OSError("no route"), "cannot be read"),
    ):
        monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", failing(cause))
        with refused(sentence):
            hub.load("someone/model")
    assert requests == [f"{constants.ENDPOINT}/someone/model/resolve/main/config.json"] * 4
    for name, sentence in (("./nowhere", "There is no folder ./nowhere"), ("/no/such", "There is no folder"), ("so/me/where", "no folder")):
        with refused(sentence):
            hub.load(name)
    assert len(requests) == 4
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", lambda *_, **__: None)
    import sentviz.models.hub.encoder as encoder

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(encoder, "import_module", missing)
    encoder.register.cache_clear()
    with refused(r"pip install 'sentviz\[hub\]'"):
        hub.load("someone/model")


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
