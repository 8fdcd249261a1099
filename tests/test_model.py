"""A loaded model: predict and trace agree, interventions do what they say, bad input is named, nothing stays behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sentviz.data.tokenizers
import sentviz.models.tracing
from sentviz.errors import InputError, RunError
from sentviz.models.batches import by_length
from sentviz.models.model import Model
from sentviz.runs.calibration import softmax
from tests import kit, slow
from tests.kit import small_model, toy_splits

TEXT = "what a warm, clever song we saw! the soup was cold"
NAN = float("nan")


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a model with random weights and three components."""
    return small_model(components=3, mixing="free")


def state_of(model: Model) -> dict[str, slow.Array]:
    """Return the weights as double-precision arrays."""
    return {name: tensor.double().numpy() for name, tensor in model.network.state_dict().items()}


def test_predict_is_the_slow_encoder(model: Model) -> None:
    """Probabilities of batched and padded texts of many lengths equal loops over one text at a time, to 1e-5."""
    texts = [TEXT, "soup", *toy_splits()["test"].frame["text"][:6]]
    frame = model.predict(texts)
    assert list(frame.columns) == ["text", "label", "negative", "positive", "remark"] and frame["text"].tolist() == texts
    for row, text in enumerate(texts):
        logits = slow.encode(state_of(model), model.config, model.encode(text).ids.tolist()).logits
        want = np.exp(logits) / np.exp(logits).sum()
        np.testing.assert_allclose(frame.loc[row, ["negative", "positive"]].to_numpy(float), want, atol=1e-5)
        assert frame.loc[row, "label"] == ("negative", "positive")[int(want.argmax())]


@pytest.mark.parametrize(
    "change",
    [{}, {"lambdas": [[1, 0.5, -2], [1, NAN, 0]]}, {"heads_off": [(0, 1), (1, 0)]}],
    ids=["as is", "lambdas", "heads off"],
)
def test_trace_equals_predict_and_the_slow_encoder(model: Model, change: dict[str, Any]) -> None:
    """`trace` and `predict` agree, and states, maps and mixing equal the slow encoder's."""
    trace, frame = model.trace(TEXT, scores=True, **change), model.predict([TEXT], **change)
    np.testing.assert_allclose(trace.probabilities, frame.loc[0, ["negative", "positive"]].to_numpy(float), atol=1e-6)
    learned, wanted = model.lambdas(), np.array(change.get("lambdas", np.full((2, 3), NAN)))
    lambdas = np.where(np.isnan(wanted), learned, wanted)
    ids, off = model.encode(TEXT).ids.tolist(), change.get("heads_off", ())
    want = slow.encode(state_of(model), model.config, ids, lambdas=lambdas, heads_off=off)
    np.testing.assert_allclose(trace.lambdas, lambdas, atol=1e-6)
    np.testing.assert_allclose(trace.logits, want.logits, atol=1e-4)
    effective = np.array(want.effective)
    for layer, head in off:
        effective[layer, head] = 0  # nothing of V passes
    np.testing.assert_allclose(trace.attention, effective, atol=1e-4)
    assert trace.change.heads_off == tuple(sorted(off))
    np.testing.assert_allclose(trace.components, np.array(want.components), atol=1e-4)
    np.testing.assert_allclose(trace.scores, np.array(want.scores), atol=1e-3)
    np.testing.assert_allclose(trace.hidden, np.array(want.hidden), atol=1e-3)
    np.testing.assert_allclose(trace.pooled, want.pooled, atol=1e-4)


def test_lambdas_of_zero_leave_the_first_component(model: Model) -> None:
    """With lambda_2 and lambda_3 at 0 the effective map is A_1; with a flipped sign it is A_1 - l_2 A_2 - l_3 A_3."""
    off = model.trace(TEXT, lambdas=[[1, 0, 0], [1, 0, 0]])
    np.testing.assert_allclose(off.attention, off.components[:, 0], atol=1e-6)
    learned = model.lambdas()
    flipped = model.trace(TEXT, lambdas=learned * [1, -1, -1])
    first, *rest = np.moveaxis(flipped.components, 1, 0)
    moved = sum(learned[:, c, None, None, None] * maps for c, maps in enumerate(rest, 1))
    np.testing.assert_allclose(flipped.attention, first - moved, atol=1e-5)
    plain = model.trace(TEXT)
    np.testing.assert_allclose(plain.components[0], flipped.components[0], atol=1e-6)
    assert np.abs(plain.logits - flipped.logits).max() > 1e-3


def test_a_head_that_is_off_is_a_zeroed_slice_of_the_output_matrix(model: Model) -> None:
    """`heads_off` equals a second model whose W_O has zeros in that head's columns, to 1e-5."""
    zeroed = small_model(components=3, mixing="free")
    zeroed.network.blocks[1].attention.output.weight[:, 4:8] = 0
    np.testing.assert_allclose(model.trace(TEXT, heads_off=[(1, 1)]).logits, zeroed.trace(TEXT).logits, atol=1e-5)


def test_a_model_is_untouched_by_its_use(model: Model) -> None:
    """Weights and predictions are the same bits after traces, interventions and failed calls."""
    before, state = model.predict([TEXT]), {k: v.clone() for k, v in model.network.state_dict().items()}
    model.trace(TEXT, lambdas=np.zeros((2, 3)), heads_off=[(0, 0)], scores=True, projections=True)
    with pytest.raises(InputError):
        model.trace(TEXT, layers=[9], lambdas=np.zeros((2, 3)))
    assert model.predict([TEXT]).equals(before)
    assert all((v == state[k]).all() for k, v in model.network.state_dict().items())


def test_traces_from_many_threads_are_those_made_alone(model: Model) -> None:
    """Traces of different texts and lambdas from eight threads on one model equal those computed one by one, to 1e-6."""
    texts = list(toy_splits()["test"].frame["text"][:12])
    lambdas = np.random.default_rng(0).normal(size=(12, 2, 3))
    alone = [model.trace(text, lambdas=mix) for text, mix in zip(texts, lambdas, strict=True)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda i: model.trace(texts[i % 12], lambdas=lambdas[i % 12]), range(48)))
    for i, trace in enumerate(together):
        np.testing.assert_allclose(trace.logits, alone[i % 12].logits, atol=1e-6)
        np.testing.assert_allclose(trace.attention, alone[i % 12].attention, atol=1e-6)


BAD_TEXTS = {
    "empty": "",
    "blank": " \t\n",
    "zero width": "\u200b\u200d\ufeff",
    "half a character": "a \ud800 b",
    "None": None,
    "number": 3,
}
GOOD_TEXTS = {
    "one character": "a",
    "punctuation": "?",
    "right to left": "שלום עולם, مرحبا",
    "emoji": "👩‍👩‍👧 soup 🇰🇷!",
    "markup": "<script>alert('soup')</script>",
    "special names": "[CLS] [PAD] soup [SEP]",
    "null": "soup\x00song",
}


@pytest.mark.parametrize("text", BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_a_text_that_cannot_be_read_is_named(model: Model, text: Any) -> None:
    """`trace` raises one sentence; `predict` answers the other texts as it does alone."""
    with pytest.raises(InputError, match="text"):
        model.trace(text)
    predicted, alone = model.predict(["soup", text, "song"]), model.predict(["soup", "song"])
    assert predicted["label"].tolist() == [alone["label"][0], None, alone["label"][1]]
    assert predicted["remark"].ne("").tolist() == [False, True, False] and "text" in predicted["remark"][1]
    np.testing.assert_allclose(predicted[list(model.labels)].to_numpy()[[0, 2]], alone[list(model.labels)].to_numpy(), atol=1e-6)
    assert predicted[list(model.labels)].loc[1].isna().all()
    assert model.predict([text])["label"].tolist() == [None]
    with pytest.raises(InputError, match=r"^Text 2 of 3: "):
        model.encode_all(["soup", text, "song"])


@pytest.mark.parametrize("text", GOOD_TEXTS.values(), ids=GOOD_TEXTS)
def test_any_visible_text_gets_an_answer(model: Model, text: str) -> None:
    """Numbers are finite, tokens are parts of the text, and rows of every component sum to 1."""
    trace = model.trace(text)
    assert trace.dropped == 0 and trace.probabilities.sum() == pytest.approx(1, abs=1e-6)
    for token, (start, end) in zip(trace.tokens, trace.offsets, strict=True):
        assert token == text[start:end]
    np.testing.assert_allclose(trace.components.sum(-1), 1, atol=1e-5)
    assert model.predict([text])["positive"][0] == pytest.approx(trace.probabilities[1], abs=1e-5)


def test_rows_are_tokenized_some_at_a_time_with_the_same_outcome(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 60 characters per batch no batch holds more unless it is one row; ids, reasons and counts of long texts stay the same."""
    texts = [*toy_splits()["test"].frame["text"][:9], "soup song " * 30, " ", "soup", "\ud800", "warm"]
    frame = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
    (want, why), seen, steps = model.sift(frame), list[list[str]](), list[int]()
    whole = type(model.tokenizer).ids_batch
    monkeypatch.setattr("sentviz.models.batches.CHARACTERS", 60)
    monkeypatch.setattr(
        type(model.tokenizer), "ids_batch", lambda self, texts, *rest, **more: seen.append(texts) or whole(self, texts, *rest, **more)
    )
    rows, reasons = model.stoppable(lambda: steps.append(1)).sift(frame)
    assert [row if row is None else row.ids.tolist() for row in rows] == [row if row is None else row.ids.tolist() for row in want]
    assert reasons == why and list(why) == [10, 12]
    assert all(len(some) == 1 or sum(map(len, some)) <= 60 for some in seen) and len(steps) == len(seen)
    assert model.predict(texts).attrs["truncated"] == 1


def test_a_trace_keeps_what_was_tokenized_of_a_text(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sentviz.data.tokenizers, sentviz.models.tracing):
        monkeypatch.setattr(module, "LONGEST", 30)
    trace, want = model.trace("soup song " * 10), model.trace("soup song " * 3)
    assert trace.text == "soup song " * 3 and trace.dropped == want.dropped
    np.testing.assert_array_equal(trace.logits, want.logits)


def test_a_text_that_is_too_long_is_cut_and_it_is_said(model: Model) -> None:
    """Of 100,000 characters max_length tokens are read, and the rest is counted."""
    text = "soup song " * 10_000
    trace, frame = model.trace(text), model.predict([text, "soup"])
    assert len(trace.tokens) == model.config.max_length == 24
    assert trace.dropped == 20_000 - 24 and frame.attrs["truncated"] == 1
    np.testing.assert_allclose(trace.probabilities[1], frame["positive"][0], atol=1e-6)


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"lambdas": [1, 0, 0]}, "2 layers x 3 components, not 3"),
        ({"lambdas": np.ones((3, 2))}, "not 3 x 2"),
        ({"lambdas": [[1, 0], [1]]}, "2 layers x 3 components"),
        ({"lambdas": "much"}, "2 layers x 3 components"),
        ({"lambdas": [[1, np.inf, 0], [1, 0, 0]]}, "finite"),
        ({"heads_off": [(0, 2)]}, "no head 3 in layer 1"),
        ({"heads_off": [(2, 0)]}, "no head 1 in layer 3"),
        ({"heads_off": [(-1, 0)]}, "no head"),
        ({"strength": "much"}, "finite number"),
    ],
)
def test_an_intervention_outside_the_model_is_refused(model: Model, change: dict[str, Any], reason: str) -> None:
    """`trace` and `predict` raise InputError with a message that says which shape is expected."""
    for call in (lambda: model.trace("soup", **change), lambda: model.predict(["soup"], **change)):
        with pytest.raises(InputError, match=reason):
            call()


@pytest.mark.parametrize("axis", ["layers", "heads", "components", "queries"])
@pytest.mark.parametrize("index", [-1, 24])
def test_a_choice_outside_the_model_is_refused(model: Model, axis: str, index: int) -> None:
    """The message gives the valid range of the axis."""
    with pytest.raises(InputError, match=r"counted from 0 to \d"):
        model.trace("a warm song", **{axis: [index]})


def test_a_chosen_part_is_a_slice_of_the_whole_trace(model: Model) -> None:
    """Ids and arrays of a partial trace are slices of the complete one, in the requested order."""
    whole = model.trace(TEXT, scores=True, projections=True)
    part = model.trace(TEXT, layers=[1], heads=[1, 0], components=[2, 0], queries=[4, 1], scores=True, projections=True)
    assert (part.layer_ids, part.head_ids, part.component_ids, part.query_ids) == ((1,), (1, 0), (2, 0), (4, 1))
    np.testing.assert_allclose(part.attention, whole.attention[1:][:, [1, 0]][:, :, [4, 1]], atol=1e-6)
    for got, full in ((part.components, whole.components), (part.scores, whole.scores)):
        np.testing.assert_allclose(got, full[1:][:, [2, 0]][:, :, [1, 0]][..., [4, 1], :], atol=1e-5)
    np.testing.assert_allclose(part.keys, whole.keys[1:][:, [2, 0]][:, :, [1, 0]], atol=1e-6)
    np.testing.assert_allclose(part.map(1, 1, 2), whole.map(1, 1, 2)[[4, 1]], atol=1e-6)
    assert model.trace(TEXT, maps=False).attention is None
    assert model.trace(TEXT, maps=False, scores=True).attention is None


def test_layers_keep_the_order_asked_for(model: Model) -> None:
    """Every array is that of its own layer in reversed order too; a repeated layer is refused."""
    whole = model.trace(TEXT, scores=True)
    turned = model.trace(TEXT, layers=[1, 0], scores=True, heads_off=[[0, 1]])
    np.testing.assert_allclose(turned.map(1), model.trace(TEXT, heads_off=[(0, 1)]).map(1), atol=1e-6)
    np.testing.assert_allclose(turned.components[1], whole.components[0], atol=1e-6)
    np.testing.assert_allclose(turned.scores[1], whole.scores[0], atol=1e-5)
    assert not turned.map(0, 1).any() and turned.map(1, 1).any()
    with pytest.raises(InputError, match="Each layer can be chosen once"):
        model.trace(TEXT, layers=[1, 1])


def test_one_component_stays_whole_where_a_head_is_silent() -> None:
    """With a silenced head the component map is still the softmax, and the effective map is zero."""
    model = small_model()
    trace = model.trace(TEXT, heads_off={(0, 1)})
    assert not trace.map(0, 1).any()
    np.testing.assert_allclose(trace.map(0, 1, 0), model.trace(TEXT).map(0, 1, 0), atol=1e-6)
    with pytest.raises(InputError, match="mixing cannot be changed"):
        model.trace(TEXT, lambdas=[[0.5], [1]])


def test_columns_of_a_frame_are_predicted_row_by_row() -> None:
    """Series with any index and generators equal lists; a string instead of second texts is refused."""
    model = small_model(segments=2, cls=True, pooling="cls")
    frame = pd.DataFrame({"text": ["a warm song", "cold soup", "a garden"], "pair": ["dull", "a song", "warm soup"]}, index=[2, 1, 0])
    want = model.predict(frame["text"].tolist(), frame["pair"].tolist())
    pd.testing.assert_frame_equal(model.predict(frame["text"], frame["pair"]), want)
    pd.testing.assert_frame_equal(model.predict((text for text in frame["text"]), iter(frame["pair"])), want)
    with pytest.raises(InputError, match="a list of texts"):
        model.predict(["a song"], "soup")


def test_no_texts_give_an_empty_frame(model: Model) -> None:
    """An empty list gives an empty frame; a bare string is an error."""
    frame = model.predict([])
    assert list(frame.columns) == ["text", "label", "negative", "positive", "remark"] and frame.empty
    assert frame.attrs["truncated"] == 0
    with pytest.raises(InputError, match="list"):
        model.predict("soup")


def test_progress_is_told_after_every_batch(model: Model) -> None:
    """A function gets (done, total) up to the end, and a progress bar does not change the result."""
    reports: list[tuple[int, int]] = []
    texts = ["soup", TEXT, "a song"]
    frame = model.predict(texts, progress=lambda done, total: reports.append((done, total)))
    assert reports[-1] == (3, 3) and frame.equals(model.predict(texts, progress=True))


def test_batches_by_length_hold_every_row_once_within_the_budget() -> None:
    """The batches are a partition of the rows within the budget, unless one text alone is longer."""
    lengths = [*np.random.default_rng(0).integers(1, 60, size=300).tolist(), 500]
    batches = by_length(lengths, 200)
    assert sorted(i for batch in batches for i in batch) == list(range(301))
    assert all(len(batch) * max(lengths[i] for i in batch) <= 200 for batch in batches if len(batch) > 1)
    assert len(batches) < 100 and by_length([]) == []
    batches = by_length([20] * 10 + [5] * 10, 4_096, padded=0.2)
    assert [len(batch) for batch in batches] == [10, 10] and len(by_length([20] * 10 + [5] * 10, 4_096)) == 1


def test_collate_masks_only_where_something_is_padded() -> None:
    """Texts of equal length have no mask."""
    short, long = np.array([5, 6]), np.array([7, 8, 9])
    assert kit.batch([short, short]).mask is None
    batch = kit.batch([short, long])
    assert batch.ids.tolist() == [[5, 6, 0], [7, 8, 9]]
    assert batch.mask is not None and batch.mask.tolist() == [[True, True, False], [True, True, True]]


def test_softmax_does_not_overflow() -> None:
    """Distant logits give 0 and 1 without a warning."""
    np.testing.assert_allclose(softmax(np.array([[1000.0, -1000.0], [0.0, 0.0]], np.float32)), [[1, 0], [0.5, 0.5]])


def test_a_pair_of_texts_is_read_with_its_segments() -> None:
    """The trace of a pair under [CLS] equals the slow encoder with token types."""
    model = small_model(segments=2, cls=True, pooling="cls")
    trace = model.trace("a warm song", "cold soup", scores=True)
    assert trace.tokens == ("[CLS]", "a", "warm", "song", "[SEP]", "cold", "soup", "[SEP]")
    ids = [2, *(model.tokenizer.id_of(w) for w in ("a", "warm", "song")), 3]
    ids += [*(model.tokenizer.id_of(w) for w in ("cold", "soup")), 3]
    want = slow.encode(state_of(model), model.config, ids, segments=[0] * 5 + [1] * 3)
    np.testing.assert_allclose(trace.logits, want.logits, atol=1e-4)


def test_a_single_text_of_a_pair_model_is_predicted_as_it_is_traced() -> None:
    """A segment embedding is added to a single text by `predict` and by `trace`."""
    model = small_model(segments=2)
    np.testing.assert_allclose(model.predict([TEXT])["positive"][0], model.trace(TEXT).probabilities[1], atol=1e-6)


def test_a_foreign_tokenizer_is_refused() -> None:
    """A vocabulary of another size is refused."""
    model = small_model()
    with pytest.raises(RunError, match="do not belong together"):
        Model("x", model.network, small_model(tokenizer=_other()).tokenizer, model.labels)


def _other() -> Any:
    from sentviz.data.tokenizers import Tokenizer

    return Tokenizer.train_words(["quite another vocabulary"], 1)
