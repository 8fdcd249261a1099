"""Hugging Face encoders, on small random models made on the spot: against transformers' own forward, loops and numpy."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

transformers = pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

from sentviz import datasets, hub  # noqa: E402
from sentviz.arithmetic import cell  # noqa: E402
from sentviz.encoder import Batch, Watch  # noqa: E402
from sentviz.errors import InputError, RunError  # noqa: E402
from sentviz.explain import SCORES, explained, score  # noqa: E402
from sentviz.gradients import integrate  # noqa: E402
from sentviz.hub import loading, tuning  # noqa: E402
from sentviz.hub.encoder import HubConfig  # noqa: E402
from sentviz.hub.runs import _order as order  # noqa: E402
from sentviz.layers import verdict_by_layer  # noqa: E402
from sentviz.lexicon import NEUTRAL, Lexicon  # noqa: E402
from sentviz.presets import INJECTIONS  # noqa: E402
from sentviz.runs import Run, catalog  # noqa: E402
from sentviz.text import words_of  # noqa: E402
from tests.makers import toy_splits, use_toy_data  # noqa: E402

KINDS = ("bert", "electra", "roberta", "xlm-roberta", "distilbert", "modernbert")
OWN = ("우리 마을 정원은 정말 따뜻하고 밝았다", "노래가 차갑고 지루해서 실망했다", "Was für ein schöner Leuchtturm!")
TEXT = "What a warm, clever garden; 우리 정원은 정말 따뜻하고 밝았다, never a dull song!"
SHORT = "a cold soup"


def word_pieces(texts: list[str]) -> Any:
    """BERT's tokenizer, trained on a few sentences."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=150, special_tokens=names, show_progress=False))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **special
    )


def byte_pairs(texts: list[str]) -> Any:
    """RoBERTa's tokenizer, or a like one."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names, letters = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=names, initial_alphabet=letters, show_progress=False)
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def sentence_pieces(texts: list[str]) -> Any:
    """XLM-R's kind: a unigram model behind spaces written as a low bar."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    backend.train_from_iterator(
        texts, trainers.UnigramTrainer(vocab_size=200, special_tokens=names, unk_token="<unk>", show_progress=False)
    )
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def small(kind: str, size: int, labels: tuple[str, ...]) -> Any:
    """A random model: three layers, four heads, every weight other than where it starts, biases and norms too."""
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
    shape |= {"vocab_size": size, "max_position_embeddings": 130, "id2label": dict(enumerate(labels))}
    ends = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = {
        "bert": lambda: transformers.BertConfig(**shape),
        "electra": lambda: transformers.ElectraConfig(embedding_size=8, **shape),
        "roberta": lambda: transformers.RobertaConfig(type_vocab_size=1, **ends, **shape),
        "xlm-roberta": lambda: transformers.XLMRobertaConfig(type_vocab_size=1, **ends, **shape),
        "distilbert": lambda: transformers.DistilBertConfig(
            dim=16, n_layers=3, n_heads=4, hidden_dim=24, **{k: shape[k] for k in ("vocab_size", "max_position_embeddings", "id2label")}
        ),
        "modernbert": lambda: transformers.ModernBertConfig(  # a window of 7 tokens in the second layer, a table with rows to spare
            **(shape | {"vocab_size": size + 7}), **ends, cls_token_id=0, sep_token_id=2, local_attention=6, global_attn_every_n_layers=2
        ),
    }[kind]()
    torch.manual_seed(3)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return model.eval()


def saved(folder: Path, kind: str, labels: tuple[str, ...] = ("NEGATIVE", "NEUTRAL", "POSITIVE")) -> Path:
    """A model folder as Hugging Face writes it."""
    texts = [*toy_splits()["train"].frame["text"], *OWN * 5]
    make = {"roberta": byte_pairs, "modernbert": byte_pairs, "xlm-roberta": sentence_pieces}.get(kind, word_pieces)
    tokenizer = make(texts)
    small(kind, len(tokenizer), labels).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    transformers.utils.logging.disable_progress_bar()
    yield
    transformers.utils.logging.enable_progress_bar()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One model folder for each architecture."""
    root = tmp_path_factory.mktemp("hub")
    return {kind: saved(root / kind, kind) for kind in KINDS}


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    terms = {"warm": 3.0, "clever": 1.5, "dull": -2.5, "cold": -1.0, "정말": 2.0, "따뜻하고": 3.0, "지루해서": -3.0, "garden": 0.5}
    return Lexicon.of("own", pd.DataFrame({"term": list(terms), "polarity": list(terms.values())}))


def theirs(folder: Path, how: str = "eager") -> Any:
    return transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation=how).eval().double()


def asked(folder: Path, *texts: str, how: str = "eager", **options: Any) -> Any:
    """Transformers' own answer, its own tokenizer and padding included."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return theirs(folder, how)(**tokenizer(list(texts), return_tensors="pt", padding=True), **options)


def loaded(folder: Path, **options: Any) -> hub.HubModel:
    """In double precision: random weights make rounding large."""
    model = hub.load(folder, **options)
    model.encoder.double()
    return model


def answers(model: hub.HubModel, *texts: str, **change: Any) -> np.ndarray[Any, Any]:
    return model.forward([model.encode(text).ids for text in texts], model.change(**change))[0]


# ---- the same model -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_logits_maps_and_states_are_those_of_transformers(kind: str, folders: dict[str, Path]) -> None:
    """Traced and untraced, alone and padded; against eager and against its fused kernels."""
    model = loaded(folders[kind])
    out = asked(folders[kind], TEXT, output_attentions=True, output_hidden_states=True)
    trace = model.trace(TEXT, scores=True, projections=True)
    assert model.encode(TEXT).ids.tolist() == transformers.AutoTokenizer.from_pretrained(folders[kind])(TEXT)["input_ids"]
    np.testing.assert_allclose(trace.logits, out.logits[0], atol=1e-5)
    np.testing.assert_allclose(trace.attention, torch.cat(out.attentions), atol=1e-6)
    for ours, wanted in zip(trace.hidden[:-1], out.hidden_states[:-1], strict=True):
        np.testing.assert_allclose(ours, wanted[0], atol=1e-5)
    np.testing.assert_allclose(verdict_by_layer(model, trace)[-1], trace.probabilities, atol=1e-6)

    together = asked(folders[kind], TEXT, SHORT, how="sdpa").logits
    np.testing.assert_allclose(answers(model, TEXT, SHORT), together, atol=1e-5)
    np.testing.assert_allclose(answers(model, TEXT)[0], trace.logits, atol=1e-5)
    np.testing.assert_allclose(answers(model, SHORT)[0], together[1], atol=1e-5)
    assert model.labels == ("NEGATIVE", "NEUTRAL", "POSITIVE")
    assert model.predict([TEXT, SHORT])["label"].tolist() == [model.labels[i] for i in together.argmax(dim=1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("injection", INJECTIONS)
def test_neutral_polarities_or_no_strength_change_nothing(kind: str, injection: str, folders: dict[str, Path], lexicon: Lexicon) -> None:
    """sigma of neutral tokens is 1/3 everywhere: added, softmax cancels it; at strength 0 nothing is injected at all."""
    plain, fused = loaded(folders[kind]), loaded(folders[kind], lexicon=lexicon, injection=injection)
    np.testing.assert_allclose(answers(fused, TEXT, SHORT, strength=0), answers(plain, TEXT, SHORT), atol=1e-5)
    np.testing.assert_allclose(fused.trace(TEXT, strength=0).attention, plain.trace(TEXT).attention, atol=1e-6)
    moved = abs(answers(fused, TEXT) - answers(plain, TEXT)).max()
    assert moved > 1e-5
    if injection != "xia":
        thirds = torch.full((1, len(fused.encode(TEXT)), 3), 1 / 3)
        batch = Batch(torch.from_numpy(fused.encode(TEXT).ids)[None], polarity=thirds)
        with torch.inference_mode():
            np.testing.assert_allclose(fused.encoder(batch).logits, answers(plain, TEXT), atol=1e-5)


# ---- injected -------------------------------------------------------------------------------------------------------


def by_loops(polarity: np.ndarray[Any, Any], injection: str, strength: float) -> Any:
    """An attention function for transformers' own forward that follows the papers' formula entry by entry, in double precision."""

    def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float, **_: Any) -> Any:
        q, k, v = (t.double().numpy() for t in (query, key, value))
        out = np.zeros_like(v)
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("injection", INJECTIONS)
def test_injection_is_the_formula_in_transformers_own_forward(
    kind: str, injection: str, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two texts, one padded; strengths of either sign."""
    model = loaded(folders[kind], lexicon=lexicon, injection=injection)
    strength = -0.7 if injection == "all" else 1.6
    texts = ("a warm, dull song", SHORT)
    rows = [model.encode(text).ids for text in texts]
    table = lexicon.polarity(model.tokenizer)
    table[list(model.tokenizer.special_ids)] = NEUTRAL
    polarity = np.full((2, max(map(len, rows)), 3), 1 / 3)
    for i, row in enumerate(rows):
        polarity[i, : len(row)] = table[row]
    assert abs(polarity - 1 / 3).max() > 0.1

    package = __import__(f"transformers.models.{kind.replace('-', '_')}.modeling_{kind.replace('-', '_')}", fromlist=["modeling"])
    monkeypatch.setattr(package, "eager_attention_forward", by_loops(polarity, injection, strength))
    wanted = asked(folders[kind], *texts).logits
    np.testing.assert_allclose(answers(model, *texts, strength=strength), wanted, atol=2e-5)
    np.testing.assert_allclose(model.trace(texts[0], strength=strength).logits, wanted[0], atol=2e-5)


def test_bert_with_a_lexicon_written_out_in_numpy(folders: dict[str, Path], lexicon: Lexicon) -> None:
    """The whole model from its safetensors file: embeddings, three layers, pooler, classifier."""
    from safetensors.numpy import load_file
    from scipy.special import erf, softmax

    weights = {k: v.astype(np.float64) for k, v in load_file(folders["bert"] / "model.safetensors").items()}
    model = loaded(folders["bert"], lexicon=lexicon, injection="last-scaled")
    encoded = model.encode(TEXT, SHORT)
    table = lexicon.polarity(model.tokenizer)
    lam = table[encoded.ids].astype(np.float64)
    lam[encoded.specials] = 1 / 3

    def linear(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    names = [f"bert.embeddings.{part}_embeddings.weight" for part in ("word", "position", "token_type")]
    word, place, kind = (weights[name] for name in names)
    x = norm(word[encoded.ids] + place[: len(encoded)] + kind[encoded.segments], "bert.embeddings.LayerNorm")
    maps = []
    for layer in range(3):
        at = f"bert.encoder.layer.{layer}"
        q, k, v = (linear(x, f"{at}.attention.self.{part}").reshape(-1, 4, 4).transpose(1, 0, 2) for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / 2
        scores[-1] += lam @ lam.T / 2
        maps.append(softmax(scores, axis=-1))
        out = (maps[-1] @ v).transpose(1, 0, 2).reshape(-1, 16)
        x = norm(x + linear(out, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        x = norm(x + linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    pooled = np.tanh(linear(x[0], "bert.pooler.dense"))

    trace = model.trace(TEXT, SHORT, scores=True)
    np.testing.assert_allclose(trace.attention, maps, atol=1e-5)
    np.testing.assert_allclose(trace.pooled, pooled, atol=1e-5)
    np.testing.assert_allclose(trace.logits, linear(pooled, "classifier"), atol=1e-5)
    assert list(trace.biases) == ["lexicon"] and trace.scores is not None
    np.testing.assert_allclose(trace.biases["lexicon"][:, 0, -1], np.broadcast_to(lam @ lam.T / 2, (3, *scores.shape[1:])), atol=1e-6)
    assert not trace.biases["lexicon"][:, 0, :-1].any()


@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_a_silenced_head_is_a_projection_without_its_columns(kind: str, folders: dict[str, Path]) -> None:
    model, other = loaded(folders[kind]), theirs(folders[kind])
    layer = other.base_model.encoder.layer[1].attention.output.dense if kind == "bert" else other.base_model.layers[1].attn.Wo
    with torch.no_grad():
        layer.weight[:, 8:12] = 0
        wanted = other(torch.from_numpy(model.encode(TEXT).ids)[None]).logits
    np.testing.assert_allclose(answers(model, TEXT, heads_off=[(1, 2)]), wanted, atol=1e-5)
    trace = model.trace(TEXT, heads_off=[(1, 2)])
    np.testing.assert_allclose(trace.logits, wanted[0], atol=1e-5)
    assert not trace.attention[1, 2].any() and trace.attention[1, 1].any()
    with pytest.raises(InputError, match="no head 5 in layer 1"):
        model.trace(TEXT, heads_off=[(0, 4)])


def test_there_is_no_lambda_to_change(folders: dict[str, Path]) -> None:
    model = loaded(folders["bert"])
    trace = model.trace(SHORT)
    np.testing.assert_array_equal(model.trace(SHORT, **trace.change).logits, trace.logits)
    with pytest.raises(InputError, match="no lambda to change"):
        model.trace(SHORT, lambdas=[[1], [0.5], [1]])
    with pytest.raises(InputError, match="3 layers x 1 components"):
        model.trace(SHORT, lambdas=[1, 1])


def test_threads_with_different_strengths_do_not_disturb_each_other(folders: dict[str, Path], lexicon: Lexicon) -> None:
    model = loaded(folders["roberta"], lexicon=lexicon, injection="all")
    strengths = (0.0, 1.0, 4.0, -2.0)
    alone = {s: (answers(model, TEXT, SHORT, strength=s), model.trace(TEXT, strength=s).attention) for s in strengths}
    assert abs(alone[0.0][0] - alone[4.0][0]).max() > 1e-3
    wrong: list[float] = []
    start = threading.Barrier(len(strengths))

    def visit(strength: float) -> None:
        start.wait()
        for _ in range(12):
            same = np.array_equal(answers(model, TEXT, SHORT, strength=strength), alone[strength][0])
            if not same or not np.array_equal(model.trace(TEXT, strength=strength).attention, alone[strength][1]):
                wrong.append(strength)

    threads = [threading.Thread(target=visit, args=(s,)) for s in strengths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- what the library asks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_explanation_and_the_arithmetic_of_a_cell(kind: str, folders: dict[str, Path], lexicon: Lexicon) -> None:
    model = loaded(folders[kind], lexicon=lexicon, injection="last")
    text = "What a warm, clever garden!"
    trace = explained(model, model.trace(text), [name for name, how in SCORES.items() if not how.needs_components])
    n = len(trace.tokens)
    for name, how in SCORES.items():
        if not how.needs_components:
            assert score(trace, name).shape == (n,) and np.isfinite(score(trace, name)).all()
    assert not trace.token_scores["removal"][trace.specials].any()
    whole = integrate(model, trace, steps=64)
    assert abs(whole.gap) < 0.02 * max(1, abs(whole.rise))
    found = cell(model, trace, 0, 3, 1, 2)
    assert found.attention == pytest.approx(float(trace.attention[0, 3, 1, 2]), abs=1e-6)
    part = found.parts[0]
    assert part.scaled + part.biases["lexicon"] == pytest.approx(part.score, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_transformers_own_embeddings(kind: str, folders: dict[str, Path]) -> None:
    """Gradient x input by autograd through its own forward from `inputs_embeds`; ModernBERT's behind the norm of its embeddings."""
    model, other = loaded(folders[kind]), theirs(folders[kind])
    text = "a warm, clever song"
    trace = explained(model, model.trace(text), ["gradient"])
    k, ids = int(trace.probabilities.argmax()), torch.from_numpy(model.encode(text).ids)
    tokens = other.get_input_embeddings().weight[ids].detach()
    if kind == "modernbert":
        tokens = other.base_model.embeddings.norm(tokens).detach()
        other.base_model.embeddings.norm = torch.nn.Identity()
    tokens.requires_grad_()
    logits = other(inputs_embeds=tokens[None]).logits[0]
    (logits[k] - torch.cat([logits[:k], logits[k + 1 :]]).logsumexp(dim=0)).backward()
    wanted = (tokens.grad * tokens).sum(dim=-1).detach().numpy() * ~trace.specials
    np.testing.assert_allclose(trace.token_scores["gradient"], wanted, atol=1e-5)
    assert abs(wanted).max() > 1e-3


def test_value_zeroing_of_a_layer_with_its_own_module(folders: dict[str, Path]) -> None:
    """BERT's first layer with the value vectors of one token taken out by hand."""
    from sentviz.flow import value_zeroing_maps

    model, other = loaded(folders["bert"]), theirs(folders["bert"])
    trace = model.trace(SHORT)
    maps = value_zeroing_maps(model, trace)
    layer = other.base_model.encoder.layer[0]
    x = torch.from_numpy(trace.hidden[0].copy())[None]
    token = 2

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


def test_watching_a_part_is_the_part_of_the_whole(folders: dict[str, Path]) -> None:
    model = loaded(folders["modernbert"])
    whole, part = model.trace(TEXT), model.trace(TEXT, layers=(1,), heads=(3, 0), queries=(5, 2))
    np.testing.assert_allclose(part.attention[0], whole.attention[1][[3, 0]][:, [5, 2]], atol=1e-6)
    np.testing.assert_allclose(part.logits, whole.logits, atol=1e-6)
    far = np.abs(np.arange(len(whole.tokens))[:, None] - np.arange(len(whole.tokens))) > 3
    assert not whole.attention[1][:, far].any() and whole.attention[0][:, far].all()
    assert model.config.windows == (0, 6, 0)
    with torch.inference_mode():
        assert model.encoder(model.batch(model.encode(SHORT)), Watch(maps=False)).attention is None


# ---- tokens ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta"])
def test_korean_tokens_stand_where_they_are_in_the_text(kind: str, folders: dict[str, Path]) -> None:
    model = hub.load(folders[kind])
    text = "우리 정원은  정말 따뜻하고, 밝았다!"
    encoded = model.encode(text)
    inside = ~encoded.specials
    for (start, end), token in zip(encoded.offsets[inside], np.array(encoded.tokens)[inside], strict=True):
        assert 0 <= start < end <= len(text)
        assert text[start:end] == token or (token in "Ġ▁" and not text[start - 1].strip())
    words = [word.text for word in words_of(text, encoded)][1:-1]
    assert words == ["우리", "정원은", "정말", "따뜻하고", ",", "밝았다", "!"]
    covered = {place for start, end in encoded.offsets[inside] for place in range(start, end)}
    assert covered >= {i for i, letter in enumerate(text) if not letter.isspace()}
    assert encoded.tokens[0] in ("[CLS]", "<s>") and encoded.specials[[0, -1]].all()


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta"])
def test_ids_segments_and_cuts_are_those_of_the_tokenizer(kind: str, folders: dict[str, Path]) -> None:
    model, other = hub.load(folders[kind]), transformers.AutoTokenizer.from_pretrained(folders[kind])
    for pair in (None, OWN[1]):
        for limit in (60, 16, 11):
            own = model.tokenizer.encode(TEXT, pair, max_length=limit, cls=True)
            wanted = other(TEXT, pair, truncation="longest_first", max_length=limit)
            assert own.ids.tolist() == wanted["input_ids"]
            assert own.dropped == len(other(TEXT, pair)["input_ids"]) - len(own)
            assert own.specials.tolist() == [i in other.all_special_ids and i != other.unk_token_id for i in wanted["input_ids"]]
            if kind == "bert":
                assert own.segments.tolist() == wanted["token_type_ids"]
            [ids] = model.tokenizer.ids_batch([TEXT], None if pair is None else [pair], max_length=limit, cls=True)
            assert ids.tolist() == own.ids.tolist()
    with pytest.raises(InputError, match="leaves no room"):
        model.tokenizer.encode(TEXT, OWN[1], max_length=4, cls=True)
    with pytest.raises(InputError, match="The text is empty"):
        model.encode(" ")


def test_a_text_that_spells_a_special_is_plain_text_and_unknown_signs_are_told(folders: dict[str, Path]) -> None:
    model = hub.load(folders["bert"])
    encoded = model.encode("a warm [SEP] song ☂")
    assert model.tokenizer.frame_ids == tuple(sorted(model.tokenizer.id_of(name) for name in ("[CLS]", "[SEP]")))
    assert encoded.specials.sum() == 2 and (encoded.ids == model.tokenizer.id_of("[SEP]")).sum() == 1
    assert encoded.tokens[-2] == "☂" and encoded.unknown[-2] and not encoded.unknown[1]
    assert model.tokenizer.ids_batch(["\U000e0041a"])  # a sign that the normaliser takes away
    assert "warm" in model.tokenizer and "[CLS]" in model.tokenizer
    big = hub.load(folders["modernbert"])
    assert big.tokenizer.vocab_size == big.config.vocab_size and big.tokenizer.token_of(big.config.vocab_size - 1) == ""
    with pytest.raises(InputError, match="not 999"):
        big.tokenizer.token_of(999)


def test_specials_stay_neutral(folders: dict[str, Path]) -> None:
    """Also where an entry of the lexicon is unknown to the vocabulary and would give its polarity to [UNK]."""
    strange = Lexicon.of("own", pd.DataFrame({"term": ["☂", "warm"], "polarity": [1.0, 2.0]}))
    model = hub.load(folders["bert"], lexicon=strange, injection="all")
    table = model.encoder.polarity.numpy()
    np.testing.assert_allclose(table[list(model.tokenizer.special_ids)], 1 / 3)
    assert table[model.tokenizer.id_of("warm")].argmax() == 0
    np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-6)


# ---- bad input ------------------------------------------------------------------------------------------------------


def changed(folder: Path, to: Path, **settings: Any) -> Path:
    """A copy with another config.json."""
    import shutil

    shutil.copytree(folder, to)
    config = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps(config | settings))
    return to


def test_each_foreign_thing_is_one_sentence(folders: dict[str, Path], tmp_path: Path) -> None:
    bert = folders["bert"]
    cases = {
        "needs code of its own repository": changed(bert, tmp_path / "code", auto_map={"AutoModel": "modeling.Own"}),
        "kind 'gpt2', no encoder": changed(bert, tmp_path / "gpt", model_type="gpt2"),
        "it reads from left to right": changed(bert, tmp_path / "decoder", is_decoder=True),
        "multi label classification": changed(bert, tmp_path / "multi", problem_type="multi_label_classification"),
        "has one output, a score": small_one(bert, tmp_path / "one"),
        "two of its labels": changed(bert, tmp_path / "twice", id2label={"0": "a", "1": "a", "2": "b"}),
        "do not fit its configuration": changed(bert, tmp_path / "other", num_hidden_layers=4),
        "There is no folder": tmp_path / "nowhere",
        "config.json is missing": tmp_path,
        "config.json cannot be read": changed(bert, tmp_path / "cut"),
        "model.safetensors is missing": changed(bert, tmp_path / "empty"),
        "its weights cannot be read": changed(bert, tmp_path / "damaged"),
        "has no tokenizer": changed(bert, tmp_path / "wordless"),
    }
    (tmp_path / "cut" / "config.json").write_text("{")
    (tmp_path / "empty" / "model.safetensors").unlink()
    (tmp_path / "damaged" / "model.safetensors").write_bytes(b"nothing")
    for path in (tmp_path / "wordless").glob("*token*"):
        path.unlink()
    for sentence, folder in cases.items():
        with pytest.raises(RunError, match=sentence) as error:
            hub.load(folder)
        assert str(error.value).endswith(".") and "\n" not in str(error.value)


def small_one(bert: Path, to: Path) -> Path:
    """A regression head, its problem type not said."""
    changed(bert, to)
    size = json.loads((bert / "config.json").read_text())["vocab_size"]
    small("bert", size, ("score",)).save_pretrained(to)
    return to


def test_no_classification_head(folders: dict[str, Path], tmp_path: Path) -> None:
    """A body alone is refused by what the loading says of it, and may be fine-tuned."""
    for kind in ("bert", "modernbert"):
        folder = changed(folders[kind], tmp_path / kind)
        theirs(folders[kind]).base_model.save_pretrained(folder)
        with pytest.raises(RunError, match="has no classification head"):
            hub.load(folder)
        assert loading.opened(folder, labels=("bad", "good")).labels == ("bad", "good")


def test_pickled_weights_are_read_only_where_that_is_allowed(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = changed(folders["bert"], tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save(theirs(folders["bert"]).state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(RunError, match="pickled weights only"):
        hub.load(folder)
    np.testing.assert_allclose(answers(hub.load(folder, allow_pickle=True), TEXT), answers(hub.load(folders["bert"]), TEXT), atol=1e-6)


def test_a_version_whose_attention_cannot_be_seen_is_told(folders: dict[str, Path]) -> None:
    """Nothing is shown that was not computed: here the layers go back to transformers' own attention."""
    model = hub.load(folders["electra"])
    model.encoder.model.set_attn_implementation("eager")
    with pytest.raises(RunError, match="computes the attention of ELECTRA in a way that cannot be seen"):
        model.trace(SHORT)


def test_injections_and_lexicons_go_together(folders: dict[str, Path], lexicon: Lexicon) -> None:
    with pytest.raises(InputError, match="none is given"):
        hub.load(folders["bert"], injection="all")
    with pytest.raises(InputError, match="A lexicon needs an injection"):
        hub.load(folders["bert"], lexicon=lexicon)
    with pytest.raises(InputError, match="There is no injection 'first'; there are xia, all"):
        hub.load(folders["bert"], lexicon=lexicon, injection="first")


def test_the_hub_away_a_name_unknown_and_transformers_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors that transformers raises, told apart by what stands behind them; no network is asked."""
    from huggingface_hub import errors

    def refuse(cause: Exception) -> Any:
        def ask(*_: Any, **__: Any) -> Any:
            raise OSError("long story") from cause

        return ask

    answer = SimpleNamespace(status_code=404, headers={}, request=None)
    for cause, sentence in (
        (errors.LocalEntryNotFoundError("away"), "the hub cannot be reached"),
        (errors.RepositoryNotFoundError("none", response=answer), "The hub has no model 'someone/model'"),  # type: ignore[arg-type]
        (errors.GatedRepoError("closed", response=answer), "asks for an agreement"),  # type: ignore[arg-type]
    ):
        monkeypatch.setattr(transformers.PreTrainedConfig, "get_config_dict", refuse(cause))
        with pytest.raises(RunError, match=sentence):
            hub.load("someone/model")

    import sentviz.hub.encoder as encoder

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(encoder, "import_module", missing)
    encoder.register.cache_clear()
    with pytest.raises(RunError, match=r"pip install 'sentviz\[hub\]'"):
        hub.load("someone/model")


# ---- runs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> dict[str, datasets.Split]:
    """Every data set is the made-up one."""
    return use_toy_data(monkeypatch)


def test_a_foreign_model_becomes_a_run(
    toy: dict[str, datasets.Split], tmp_path: Path, lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its classes in the data set's order, whatever its own; the same answers from the folder; one row of the catalogue."""
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    folder = saved(tmp_path / "own model", "modernbert", ("POS", "NEG"))
    run = hub.adopt(folder, "toy", tmp_path / "runs", lexicon="own", injection="last-scaled")
    assert run.name == "toy/own-model-last-scaled" and run.labels == ("negative", "positive")
    model, first = hub.HubModel.of(Run.open(run.folder)), hub.load(folder, lexicon=lexicon, injection="last-scaled")
    texts = toy["test"].frame["text"].tolist()
    np.testing.assert_allclose(answers(model, *texts), answers(first, *texts)[:, ::-1], atol=1e-5)
    np.testing.assert_allclose(model.trace(TEXT).attention, first.trace(TEXT).attention, atol=1e-6)
    stored = run.frame("test.parquet")
    np.testing.assert_allclose(stored["positive"], model.predict(texts)["positive"], atol=1e-5)
    right = (stored["positive"] > 0.5).to_numpy(int) == toy["test"].frame["label"].to_numpy()
    assert run.metrics()["test"]["accuracy"]["value"] == pytest.approx(right.mean(), abs=1e-5)
    assert HubConfig(**run.config["model"]) == model.config and model.config.windows == (0, 6, 0)
    row = catalog([tmp_path / "runs"]).set_index("run").loc[run.name]
    assert row["problem"] == "" and row["components"] == 1 and row["data"] == "toy"
    assert run.example().text and set(run.history()["name"]) == {"validation_accuracy", "validation_loss"}
    assert str(tmp_path) not in (run.folder / "config.json").read_text()

    (run.folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RunError, match=r"tokenizer\.json is damaged"):
        hub.HubModel.of(Run.open(run.folder))


def test_classes_that_cannot_be_told(toy: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(RunError, match="tells NEGATIVE, NEUTRAL, POSITIVE apart, the data set negative, positive"):
        hub.adopt(folders["bert"], "toy", tmp_path)
    folder = saved(tmp_path / "stars", "distilbert", ("one star", "five stars"))
    with pytest.raises(RunError, match="say which is which with labels"):
        hub.adopt(folder, "toy", tmp_path)
    run = hub.adopt(folder, "toy", tmp_path, labels=("negative", "positive"))
    np.testing.assert_allclose(answers(hub.HubModel.of(run), TEXT), answers(hub.load(folder), TEXT), atol=1e-6)
    assert order(("LABEL_0", "LABEL_1"), ("negative", "positive"), "counted") == [0, 1]
    assert order(("Pos", "neu", "NEG"), ("negative", "neutral", "positive"), "short") == [2, 1, 0]
    with pytest.raises(RunError, match="say which"):
        order(("pos", "positive"), ("negative", "positive"), "twice the same")


SETTINGS: dict[str, Any] = {"epochs": 4, "batch_size": 16, "learning_rate": 3e-3, "max_length": 24, "log_every": 5, "patience": 9}


def test_fine_tuning_learns_and_its_run_answers(toy: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    """From a checkpoint with another number of classes: a new head; metrics are those of the stored weights."""
    folder = changed(folders["bert"], tmp_path / "bert")
    config = transformers.AutoConfig.from_pretrained(folder)
    torch.manual_seed(0)
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    run = hub.finetune(folder, "toy", tmp_path, progress=False, **{**SETTINGS, "epochs": 8})
    assert run.name == "toy/bert"
    assert run.metrics()["test"]["accuracy"]["value"] > 0.9
    model = hub.HubModel.of(run)
    assert model.config.max_length == 24 and model.labels == ("negative", "positive")
    texts = toy["test"].frame["text"].tolist()
    np.testing.assert_allclose(run.frame("test.parquet")["positive"], model.predict(texts)["positive"], atol=1e-5)
    assert run.config["recipe"]["source"] == "bert" and run.config["temperature"] > 0
    assert {"train_loss", "validation_accuracy", "learning_rate"} <= set(run.history()["name"])


def test_resumed_is_uninterrupted_bit_for_bit(
    toy: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a lexicon: its polarities are constants, so no step changes them; dropout's random numbers go on where they were."""
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    made: list[tuning.HubTrainer] = []

    def trainer(folder: Path) -> tuning.HubTrainer:
        values = {**SETTINGS, "epochs": 1, "dataset": "toy", "model": "bert-all", "lexicon": "own", "cls": True, "example": SHORT}
        made.append(tuning.HubTrainer(tuning.Recipe(**values), folder, folders["bert"], "all"))
        return made[-1]

    straight = trainer(tmp_path / "straight" / "toy" / "bert")
    straight.fit(progress=False)
    stopped = trainer(tmp_path / "stopped" / "toy" / "bert")
    stopped.fit(progress=False, until=4)
    again = trainer(tmp_path / "stopped" / "toy" / "bert")
    assert again.resume()
    again.fit(progress=False)
    ours, theirs = again.encoder.state_dict(), straight.encoder.state_dict()
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)
    assert again.at.history == straight.at.history
    table = lexicon.polarity(again.words)
    table[list(again.words.special_ids)] = NEUTRAL
    assert torch.equal(again.encoder.polarity, torch.from_numpy(table))


def test_warm_up_and_decay_are_linear(toy: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    recipe = tuning.Recipe(dataset="toy", model="m", epochs=2, batch_size=16, warmup=0.25, max_length=24, cls=True)
    trainer = tuning.HubTrainer(recipe, tmp_path / "toy" / "m", folders["distilbert"], "")
    assert trainer.total == 20
    found = [trainer._schedule(step) for step in range(20)]
    np.testing.assert_allclose(found, [*(np.arange(1, 6) / 5), *(np.arange(15, 0, -1) / 15)])


def test_attention_dropout_acts_in_training_only(folders: dict[str, Path]) -> None:
    """With dropout on the weights alone, the mean over many draws is the answer without."""
    model = hub.load(folders["bert"])
    batch = model.batch(model.encode(SHORT))
    for module in model.encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    attention = model.encoder.blocks[0].module.attention.self
    attention.dropout.p = 0.5
    model.encoder.train()
    with torch.inference_mode():
        draws = [model.encoder(batch, Watch(maps=False, layers=(2,))).hidden[1] for _ in range(3)]
        assert not torch.equal(draws[0], draws[1])
        model.encoder.eval()
        same = [model.encoder(batch, Watch(maps=False, layers=(2,))).hidden[1] for _ in range(2)]
    assert torch.equal(same[0], same[1])


def test_settings_are_checked(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="no setting 'speed'"):
        hub.finetune(folders["bert"], "toy", tmp_path, speed=3)
    with pytest.raises(InputError, match="batch_size cannot be 0"):
        hub.finetune(folders["bert"], "toy", tmp_path, batch_size=0)
