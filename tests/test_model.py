"""A loaded model: predict and trace agree, interventions do what they say, bad input is named, nothing stays behind."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.models.batches import by_length
from sentviz.models.model import Model
from sentviz.runs.calibration import softmax
from tests import kit, slow
from tests.kit import refused, small_model, toy_splits

TEXT = "what a warm, clever song we saw! the soup was cold"


STATE = {name: weights.astype(float) for name, weights in slow.state_of(small_model(components=3, mixing="free").network).items()}


@pytest.fixture(scope="module")
def model() -> Model:
    return small_model(components=3, mixing="free")


def test_predict_is_the_slow_encoder(model: Model) -> None:
    texts = [TEXT, "soup", *toy_splits()["test"].frame["text"][:6]]
    logits = [slow.encode(STATE, model.config, model.encode(text).ids.tolist()).logits for text in texts]
    want = [np.exp(each) / np.exp(each).sum() for each in logits]
    frame = model.predict(texts)
    assert list(frame.columns) == ["text", "label", "negative", "positive", "remark"] and frame["text"].tolist() == texts
    np.testing.assert_allclose(frame[["negative", "positive"]].to_numpy(float), want, atol=1e-5)
    assert frame["label"].tolist() == [("negative", "positive")[int(each.argmax())] for each in want] and not frame["remark"].any()


@pytest.mark.parametrize(
    "change", [{}, {"lambdas": [[1, 0.5, -2], [1, np.nan, 0]]}, {"heads_off": [(0, 1), (1, 0)]}], ids=["as is", "lambdas", "heads off"]
)
def test_trace_equals_predict_and_the_slow_encoder(model: Model, change: dict[str, Any]) -> None:
    trace, frame = model.trace(TEXT, scores=True, **change), model.predict([TEXT], **change)
    np.testing.assert_allclose(trace.probabilities, frame.loc[0, ["negative", "positive"]].to_numpy(float), atol=1e-6)
    wanted = np.array(change.get("lambdas", np.full((2, 3), np.nan)))
    lambdas = np.where(np.isnan(wanted), model.lambdas(), wanted)
    ids, off = model.encode(TEXT).ids.tolist(), change.get("heads_off", ())
    want = slow.encode(STATE, model.config, ids, lambdas=lambdas, heads_off=off)
    effective = np.array(want.effective)
    for layer, head in off:
        effective[layer, head] = 0  # nothing of V passes
    assert trace.change.heads_off == tuple(sorted(off))
    np.testing.assert_allclose(trace.lambdas, lambdas, atol=1e-6)
    np.testing.assert_allclose(trace.attention, effective, atol=1e-4)
    for name, atol in (("logits", 1e-4), ("components", 1e-4), ("pooled", 1e-4), ("scores", 1e-3), ("hidden", 1e-3)):
        np.testing.assert_allclose(getattr(trace, name), np.array(getattr(want, name)), atol=atol)


def test_any_text_gets_an_answer_or_is_named(model: Model) -> None:
    alone, columns = model.predict(["soup", "song"]), list(model.labels)
    for text in ("", " \t\n", "\u200b\u200d\ufeff", "a \ud800 b", None, 3):
        with pytest.raises(InputError, match="text"):
            model.trace(text)  # type: ignore[arg-type]
        predicted = model.predict(["soup", text, "song"])
        assert predicted["label"].tolist() == [alone["label"][0], None, alone["label"][1]]
        assert predicted["remark"].ne("").tolist() == [False, True, False] and "text" in predicted["remark"][1]
        np.testing.assert_allclose(predicted[columns].to_numpy()[[0, 2]], alone[columns].to_numpy(), atol=1e-6)
        assert predicted[columns].loc[1].isna().all() and model.predict([text])["label"].tolist() == [None]
        refused(InputError, r"^Text 2 of 3: ", model.encode_all, ["soup", text, "song"])
    signs = ("a", "?", "שלום עולם, مرحبا", "👩‍👩‍👧 soup 🇰🇷!", "<script>alert('soup')</script>", "[CLS] [PAD] soup [SEP]", "soup\x00song")
    for text in signs:
        trace = model.trace(text)
        assert trace.dropped == 0 and trace.probabilities.sum() == pytest.approx(1, abs=1e-6)
        assert list(trace.tokens) == [text[start:end] for start, end in trace.offsets]
        np.testing.assert_allclose(trace.components.sum(-1), 1, atol=1e-5)
        assert model.predict([text])["positive"][0] == pytest.approx(trace.probabilities[1], abs=1e-5)
    text = "soup song " * 10_000
    trace, frame = model.trace(text), model.predict([text, "soup"])
    assert (len(trace.tokens), trace.dropped, frame.attrs["truncated"]) == (24, 20_000 - 24, 1)
    np.testing.assert_allclose(trace.probabilities[1], frame["positive"][0], atol=1e-6)


def test_rows_are_tokenized_some_at_a_time_with_the_same_outcome(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [*toy_splits()["test"].frame["text"][:9], "soup song " * 30, " ", "soup", "\ud800", "warm"]
    frame = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
    (want, why), seen, steps, tokenizer = model.sift(frame), list[list[str]](), list[int](), type(model.tokenizer)
    monkeypatch.setattr("sentviz.models.batches.CHARACTERS", 60)
    whole = tokenizer.ids_batch
    monkeypatch.setattr(tokenizer, "ids_batch", lambda self, texts, *rest, **more: seen.append(texts) or whole(self, texts, *rest, **more))
    rows, reasons = model.stoppable(lambda: steps.append(1)).sift(frame)
    assert [row and row.ids.tolist() for row in rows] == [row and row.ids.tolist() for row in want]
    assert reasons == why and list(why) == [10, 12]
    assert all(len(some) == 1 or sum(map(len, some)) <= 60 for some in seen) and len(steps) == len(seen)
    assert model.predict(texts).attrs["truncated"] == 1


def test_an_intervention_outside_the_model_is_refused(model: Model) -> None:
    changes: list[tuple[dict[str, Any], str]] = [
        ({"lambdas": [1, 0, 0]}, "2 layers x 3 components, not 3"),
        ({"lambdas": np.ones((3, 2))}, "not 3 x 2"),
        ({"lambdas": [[1, 0], [1]]}, "2 layers x 3 components"),
        ({"lambdas": "much"}, "2 layers x 3 components"),
        ({"lambdas": [[1, np.inf, 0], [1, 0, 0]]}, "finite"),
        ({"heads_off": [(0, 2)]}, "no head 3 in layer 1"),
        ({"heads_off": [(2, 0)]}, "no head 1 in layer 3"),
        ({"heads_off": [(-1, 0)]}, "no head"),
        ({"strength": "much"}, "finite number"),
    ]
    for change, reason in changes:
        for call in (lambda: model.trace("soup", **change), lambda: model.predict(["soup"], **change)):  # noqa: B023
            refused(InputError, reason, call)
    with pytest.raises(InputError, match="mixing cannot be changed"):
        small_model().trace(TEXT, lambdas=[[0.5], [1]])
    for axis in ("layers", "heads", "components", "queries"):
        for index in (-1, 24):
            refused(InputError, r"counted from 0 to \d", model.trace, "a warm song", **{axis: [index]})
    with pytest.raises(RunError, match="do not belong together"):
        Model("x", model.network, Tokenizer.train_words(["quite another vocabulary"], 1), model.labels)


def test_a_chosen_part_is_a_slice_and_traces_from_many_threads_are_those_made_alone(model: Model) -> None:
    whole = model.trace(TEXT, scores=True, projections=True)
    part = model.trace(TEXT, layers=[1], heads=[1, 0], components=[2, 0], queries=[4, 1], scores=True, projections=True)
    assert (part.layer_ids, part.head_ids, part.component_ids, part.query_ids) == ((1,), (1, 0), (2, 0), (4, 1))
    np.testing.assert_allclose(part.attention, whole.attention[1:][:, [1, 0]][:, :, [4, 1]], atol=1e-6)
    for got, full in ((part.components, whole.components), (part.scores, whole.scores)):
        np.testing.assert_allclose(got, full[1:][:, [2, 0]][:, :, [1, 0]][..., [4, 1], :], atol=1e-5)
    np.testing.assert_allclose(part.keys, whole.keys[1:][:, [2, 0]][:, :, [1, 0]], atol=1e-6)
    np.testing.assert_allclose(part.map(1, 1, 2), whole.map(1, 1, 2)[[4, 1]], atol=1e-6)
    assert model.trace(TEXT, maps=False).attention is None is model.trace(TEXT, maps=False, scores=True).attention
    turned = model.trace(TEXT, layers=[1, 0], scores=True, heads_off=[[0, 1]])
    np.testing.assert_allclose(turned.map(1), model.trace(TEXT, heads_off=[(0, 1)]).map(1), atol=1e-6)
    np.testing.assert_allclose(turned.components[1], whole.components[0], atol=1e-6)
    np.testing.assert_allclose(turned.scores[1], whole.scores[0], atol=1e-5)
    assert not turned.map(0, 1).any() and turned.map(1, 1).any()
    refused(InputError, "Each layer can be chosen once", model.trace, TEXT, layers=[1, 1])
    texts, lambdas = list(toy_splits()["test"].frame["text"][:12]), np.random.default_rng(0).normal(size=(12, 2, 3))
    alone = [model.trace(text, lambdas=mix) for text, mix in zip(texts, lambdas, strict=True)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda i: model.trace(texts[i % 12], lambdas=lambdas[i % 12]), range(48)))
    for i, trace in enumerate(together):
        np.testing.assert_allclose(trace.logits, alone[i % 12].logits, atol=1e-6)
        np.testing.assert_allclose(trace.attention, alone[i % 12].attention, atol=1e-6)


def test_columns_and_pairs_are_read_row_by_row(model: Model) -> None:
    reports: list[tuple[int, int]] = []
    texts = ["soup", TEXT, "a song"]
    frame = model.predict(texts, progress=lambda done, total: reports.append((done, total)))
    assert reports[-1] == (3, 3) and frame.equals(model.predict(texts, progress=True))
    model = small_model(segments=2, cls=True, pooling="cls")
    frame = pd.DataFrame({"text": ["a warm song", "cold soup", "a garden"], "pair": ["dull", "a song", "warm soup"]}, index=[2, 1, 0])
    want = model.predict(frame["text"].tolist(), frame["pair"].tolist())
    pd.testing.assert_frame_equal(model.predict(frame["text"], frame["pair"]), want)
    pd.testing.assert_frame_equal(model.predict((text for text in frame["text"]), iter(frame["pair"])), want)
    for texts in (["a song"], "soup"):
        refused(InputError, "a list of texts", model.predict, texts, "soup")
    empty = model.predict([])
    assert list(empty.columns) == list(want.columns) and empty.empty and empty.attrs["truncated"] == 0
    trace, frame = model.trace("a warm song", "cold soup", scores=True), model.predict(["a warm song"])
    assert trace.tokens == ("[CLS]", "a", "warm", "song", "[SEP]", "cold", "soup", "[SEP]")
    ids = [2, *(model.tokenizer.id_of(w) for w in ("a", "warm", "song")), 3, *(model.tokenizer.id_of(w) for w in ("cold", "soup")), 3]
    state = slow.state_of(model.network.double())
    pair, single = (slow.encode(state, model.config, ids[:n], segments=[0] * 5 + [1] * (n - 5)).logits for n in (8, 5))
    np.testing.assert_allclose(trace.logits, pair, atol=1e-4)
    assert frame["positive"][0] == pytest.approx(1 / (1 + np.exp(single[0] - single[1])), abs=1e-5)


def test_batches_by_length_hold_every_row_once_within_the_budget() -> None:
    lengths = [*np.random.default_rng(0).integers(1, 60, size=300).tolist(), 500]
    batches = by_length(lengths, 200)
    assert sorted(i for batch in batches for i in batch) == list(range(301))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 200 for batch in batches if len(batch) > 1)
    assert len(batches) < 100 and by_length([]) == []
    batches = by_length([20] * 10 + [5] * 10, 4_096, padded=0.2)
    assert [len(batch) for batch in batches] == [10, 10] and len(by_length([20] * 10 + [5] * 10, 4_096)) == 1
    short, long = np.array([5, 6]), np.array([7, 8, 9])
    batch = kit.batch([short, long])
    assert kit.batch([short, short]).mask is None and batch.ids.tolist() == [[5, 6, 0], [7, 8, 9]]
    assert batch.mask is not None and batch.mask.tolist() == [[True, True, False], [True, True, True]]
    np.testing.assert_allclose(softmax(np.array([[1000.0, -1000.0], [0.0, 0.0]], np.float32)), [[1, 0], [0.5, 0.5]])
