"""Hugging Face models against transformers' own tokens and forward pass, scores on their pieces, and what cannot be read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from huggingface_hub import constants, errors

from sentviz.analysis.causal.direct import direct_attribution
from sentviz.analysis.explain import score
from sentviz.analysis.explain.foreign_scores import fit, read_scores
from sentviz.analysis.explain.rollout import value_zeroing_maps
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.layers import verdict_by_layer
from sentviz.data.lexicon import Lexicon
from sentviz.data.texts import word_spans
from sentviz.models import hub
from sentviz.models.hub import encoder, loading
from sentviz.models.protocol import Capture
from sentviz.runs.presets import injections
from tests.foreign.models import (
    DECODERS,
    KINDS,
    OWN,
    SHORT,
    TEXT,
    answers,
    byte_pairs,
    changed,
    expected_output,
    loaded,
    refused,
    sentence_pieces,
    small,
    theirs,
    word_pieces,
)
from tests.kit import small_model, toy_splits
from tests.shipped import often


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
    refused("leaves no room", model.tokenizer.encode, TEXT, OWN[1], max_length=4, cls=True)
    refused("The text is empty", model.encode, " ")


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
        refused(sentence, hub.load, folder)
    for kind in ("bert", "modernbert"):
        folder = changed(folders[kind], tmp_path / kind)
        theirs(folders[kind]).base_model.save_pretrained(folder)
        refused("has no classification head, so it predicts no class", hub.load(folder).predict, [TEXT])
        assert loading.opened(folder, labels=("bad", "good")).labels == ("bad", "good")
    folder = changed(folders["bert"], tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save(theirs(folders["bert"]).state_dict(), folder / "pytorch_model.bin")
    refused("pickled weights only", hub.load, folder)
    np.testing.assert_allclose(answers(hub.load(folder, allow_pickle=True), TEXT), answers(hub.load(folders["bert"]), TEXT), atol=1e-6)
    model = hub.load(folders["electra"])
    model.network.model.set_attn_implementation("eager")
    refused("computes the attention of ELECTRA in a way that cannot be captured", model.trace, SHORT)


def test_injections_and_lexicons_go_together(folders: dict[str, Path], lexicon: Lexicon) -> None:
    """Special tokens stay neutral, even if a lexicon entry is unknown to the vocabulary and would count for [UNK]."""
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("no lexicon is given", {"injection": "all"}),
        ("A lexicon needs an injection", {"lexicon": lexicon}),
        ("There is no injection 'first'; there are xia, all", {"lexicon": lexicon, "injection": "first"}),
    )
    for sentence, options in cases:
        refused(sentence, hub.load, folders["bert"], **options)
    strange = Lexicon.of("own", pd.DataFrame({"term": ["☂", "warm"], "polarity": [1.0, 2.0]}))
    model = hub.load(folders["bert"], lexicon=strange, injection="all")
    table = model.network.polarity.numpy()
    np.testing.assert_allclose(table[list(model.tokenizer.special_ids)], 1 / 3)
    assert table[model.tokenizer.id_of("warm")].argmax() == 0
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)
    model = hub.load(folders["bert"])
    encoded = model.encode("a warm song ☂")
    assert encoded.tokens[-2] == "☂" and encoded.unknown[-2] and not encoded.unknown[1]
    assert model.tokenizer.ids_batch(["\U000e0041a"])  # a sign that the normaliser takes away
    assert "warm" in model.tokenizer and "[CLS]" in model.tokenizer
    big = hub.load(folders["modernbert"])
    assert big.tokenizer.vocab_size == big.config.vocab_size and big.tokenizer.token_of(big.config.vocab_size - 1) == ""
    refused("not 999", big.tokenizer.token_of, 999)


def test_the_hub_away_a_name_unknown_and_transformers_missing(monkeypatch: pytest.MonkeyPatch) -> None:
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
        refused(sentence, hub.load, "someone/model")
    assert requests == [f"{constants.ENDPOINT}/someone/model/resolve/main/config.json"] * 4
    for name, sentence in (("./nowhere", "There is no folder ./nowhere"), ("/no/such", "There is no folder"), ("so/me/where", "no folder")):
        refused(sentence, hub.load, name)
    assert len(requests) == 4
    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", lambda *_, **__: None)

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(encoder, "import_module", missing)
    encoder.register.cache_clear()
    refused(r"pip install 'sentviz\[hub\]'", hub.load, "someone/model")


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


UNCALLED = ("deberta", "deberta-v2", "mpnet")  # transformers computes their attention without its attention interface


@pytest.mark.parametrize("kind", often(KINDS, "modernbert", "deberta-v2", "llama"))
def test_logits_maps_and_states_are_those_of_transformers(kind: str, folders: dict[str, Path]) -> None:
    model = loaded(folders[kind])
    out = expected_output(folders[kind], TEXT, output_attentions=True, output_hidden_states=True)
    trace = model.trace(TEXT, scores=True, projections=True)
    assert model.encode(TEXT).ids.tolist() == transformers.AutoTokenizer.from_pretrained(folders[kind])(TEXT)["input_ids"]
    np.testing.assert_allclose(trace.logits, out.logits[0], atol=1e-5)
    np.testing.assert_allclose(trace.attention, torch.cat(out.attentions), atol=1e-6)
    for ours, wanted in zip(trace.hidden[:-1], out.hidden_states[:-1], strict=True):
        np.testing.assert_allclose(ours, wanted[0], atol=1e-5)
    np.testing.assert_allclose(verdict_by_layer(model, trace)[-1], trace.probabilities, atol=1e-6)
    for text, one_of_two in zip((TEXT, SHORT), model.traces([TEXT, SHORT]), strict=True):
        alone = model.trace(text)
        np.testing.assert_allclose(one_of_two.logits, alone.logits, atol=1e-5)
        np.testing.assert_allclose(one_of_two.stack(), alone.stack(), atol=1e-5)
    together = expected_output(folders[kind], TEXT, SHORT, how="eager" if kind in UNCALLED else "sdpa").logits
    np.testing.assert_allclose(answers(model, TEXT, SHORT), together, atol=1e-5)
    np.testing.assert_allclose(answers(model, SHORT)[0], together[1], atol=1e-5)
    assert model.predict([TEXT, SHORT])["label"].tolist() == [("NEGATIVE", "NEUTRAL", "POSITIVE")[i] for i in together.argmax(dim=1)]


def by_loops(polarity: np.ndarray[Any, Any], injection: str, strength: float) -> Any:
    """Return an attention function for transformers' own forward pass that follows the papers' formula entry by entry."""

    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **_: Any) -> Any:
        shared = query.shape[1] // key.shape[1]  # query heads that share a key head
        q, k, v = (t.double().numpy() for t in (query, key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)))
        out = np.zeros((*q.shape[:3], v.shape[-1]))
        batch, heads, n, size = q.shape
        for b in range(batch):
            for h in range(heads):
                for i in range(n):
                    row = np.zeros(n)
                    for j in range(n):
                        sigma = sum(polarity[b, i, side] * polarity[b, j, side] for side in range(3))
                        s = q[b, h, i] @ k[b, h, j] / math.sqrt(size)
                        if injection == "xia":
                            s *= strength * sigma + 1 - strength
                        elif not injection.startswith("last") or h == heads - 1:
                            s += strength * sigma / (math.sqrt(size) if injection.endswith("scaled") else 1)
                        row[j] = s if attention_mask is None else s + float(attention_mask[b, 0, i, j])
                    weights = np.exp(row - row.max())
                    out[b, h, i] = weights / weights.sum() @ v[b, h]
        return torch.from_numpy(out).to(query).transpose(1, 2).contiguous(), None

    return attend


@pytest.mark.parametrize("kind", often([kind for kind in KINDS if kind not in UNCALLED], "bert"))
@pytest.mark.parametrize("injection", injections())
def test_injection_is_the_formula_in_transformers_own_forward(
    kind: str, injection: str, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loaded(folders[kind], lexicon=lexicon, injection=injection)
    strength = -0.7 if injection == "all" else 1.6
    texts = ("a warm, dull song", SHORT)
    rows = [model.encode(text).ids for text in texts]
    table = lexicon.polarity(model.tokenizer)
    table[list(model.tokenizer.special_ids)] = 1 / 3
    polarity = np.full((2, max(map(len, rows)), 3), 1 / 3)
    for i, row in enumerate(rows):
        polarity[i, : len(row)] = table[row]
    assert abs(polarity - 1 / 3).max() > 0.1

    package = __import__(f"transformers.models.{kind.replace('-', '_')}.modeling_{kind.replace('-', '_')}", fromlist=["modeling"])
    monkeypatch.setattr(package, "eager_attention_forward", by_loops(polarity, injection, strength))
    wanted = expected_output(folders[kind], *texts).logits
    np.testing.assert_allclose(answers(model, *texts, strength=strength), wanted, atol=2e-5)
    np.testing.assert_allclose(model.trace(texts[0], strength=strength).logits, wanted[0], atol=2e-5)


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_a_silenced_head_is_a_projection_without_its_columns(kind: str, folders: dict[str, Path]) -> None:
    model, reference = loaded(folders[kind]), theirs(folders[kind])
    layer = reference.base_model.encoder.layer[1].attention.output.dense if kind == "bert" else reference.base_model.layers[1].attn.Wo
    with torch.no_grad():
        layer.weight[:, 8:12] = 0
        wanted = reference(torch.from_numpy(model.encode(TEXT).ids)[None]).logits
    np.testing.assert_allclose(answers(model, TEXT, heads_off=[(1, 2)]), wanted, atol=1e-5)
    trace = model.trace(TEXT, heads_off=[(1, 2)])
    np.testing.assert_allclose(trace.logits, wanted[0], atol=1e-5)
    assert not trace.attention[1, 2].any() and trace.attention[1, 1].any()
    refused("no head 5 in layer 1", model.trace, TEXT, heads_off=[(0, 4)])


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_sees_no_later_token_and_is_read_at_its_last_one(kind: str, folders: dict[str, Path]) -> None:
    model = loaded(folders[kind])
    assert model.capabilities.last and not model.capabilities.cls
    trace = model.trace(TEXT)
    assert not np.triu(trace.attention, 1).any() and trace.pooling == "last"
    late = model.trace(TEXT, maps=False, projections=True)
    for layer in range(3):
        np.testing.assert_allclose(late.rows(layer, 4, 9, 2), trace.attention[layer, 2, 4:9], atol=1e-6)
    assert abs(answers(model, TEXT, heads_off=[(1, 2)]) - answers(model, TEXT)).max() > 1e-4
    with_itself = 0.5 * trace.attention.mean(axis=1).astype(np.float64) + 0.5 * np.eye(len(trace.tokens))
    rolled = (with_itself[2] @ with_itself[1] @ with_itself[0])[-1]
    np.testing.assert_allclose(score(trace, "rollout"), rolled * len(rolled) / rolled.sum(), atol=1e-5)
    steps = " ".join(cell(model, trace, 0, 1, 2, 9).steps())
    assert "a later token, which this model does not see" in steps


@pytest.mark.parametrize(("kind", "factor"), [("deberta", 3), ("deberta-v2", 3), ("mpnet", 1)])
def test_distances_are_a_term_that_can_be_removed(kind: str, factor: int, folders: dict[str, Path]) -> None:
    """The scores are q k / sqrt(3 d_k), or sqrt(d_k) in MPNet, plus the term of distances; without it, the products alone are left."""
    model = loaded(folders[kind])
    trace = model.trace(SHORT, scores=True, projections=True)
    products = (trace.queries[0] @ trace.keys[0].swapaxes(-1, -2)) / math.sqrt(factor * 4)
    np.testing.assert_allclose(trace.scores[0] - trace.biases["distance"][0], products, atol=1e-5)
    less = model.trace(SHORT, strength={"distance": 0})
    wanted = np.exp(products[0] - products[0].max(axis=-1, keepdims=True))
    np.testing.assert_allclose(less.attention[0], wanted / wanted.sum(axis=-1, keepdims=True), atol=1e-5)
    assert {3: "/ √12", 1: "/ √4"}[factor] in " ".join(cell(model, trace, 0, 1, 2, 1).steps())


def test_parts_and_zeroed_values_are_those_of_the_whole(folders: dict[str, Path]) -> None:
    model = loaded(folders["modernbert"])
    whole, part = model.trace(TEXT), model.trace(TEXT, layers=(1,), heads=(3, 0), queries=(5, 2))
    np.testing.assert_allclose(part.attention[0], whole.attention[1][[3, 0]][:, [5, 2]], atol=1e-6)
    np.testing.assert_allclose(part.logits, whole.logits, atol=1e-6)
    far = np.abs(np.arange(len(whole.tokens))[:, None] - np.arange(len(whole.tokens))) > 3
    assert not whole.attention[1][:, far].any() and whole.attention[0][:, far].all()
    with torch.inference_mode():
        assert model.network(model.inputs(model.encode(SHORT)), Capture(maps=False)).attention is None
    refused("mixing cannot be changed", model.trace, SHORT, lambdas=[[1], [0.5], [1]])
    refused("3 layers x 1 components", model.trace, SHORT, lambdas=[1, 1])
    model, reference = loaded(folders["bert"]), theirs(folders["bert"])
    trace = model.trace(SHORT)
    maps = value_zeroing_maps(model, trace)
    layer = reference.base_model.encoder.layer[0]
    x, token = torch.from_numpy(trace.hidden[0].copy())[None], 2

    def without(module: Any, inputs: Any, output: Any) -> Any:
        output = output.clone()
        output[:, token] = 0
        return output

    with torch.no_grad():
        whole = layer(x)
        layer.attention.self.value.register_forward_hook(without)
        less = layer(x)
    cosine = torch.nn.functional.cosine_similarity(whole.double(), less.double(), dim=-1)[0]
    np.testing.assert_allclose(maps[0][:, token], 1 - cosine, atol=1e-6)


@pytest.mark.parametrize("kind", often(KINDS, "bert", "qwen3"))
def test_direct_contributions_sum_to_the_logits_of_transformers(kind: str, folders: dict[str, Path]) -> None:
    model = loaded(folders[kind])
    sums = direct_attribution(model, model.trace(TEXT))
    logits = expected_output(folders[kind], TEXT).logits[0]
    wanted = logits[model.labels.index(sums.label)] - logits[model.labels.index(sums.against)]
    assert sums.total == pytest.approx(float(wanted), abs=1e-4) and sums.rest == pytest.approx(0, abs=1e-4)
    assert np.abs(sums.heads).max() > 1e-4 and np.abs(sums.feedforward).max() > 1e-4
