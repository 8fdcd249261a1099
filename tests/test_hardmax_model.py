"""The hardmax classifier: against the dynamics of its embeddings, finite differences, and a run trained on the made-up set."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import sentviz.data.tokenizers
from sentviz.analysis.explain import SCORES, explained, score
from sentviz.analysis.maps.layers import verdict_by_layer
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data.reviews import WordsTokenizer, stop_words
from sentviz.errors import InputError, RunError
from sentviz.models.clustering import TOLERANCE, simulate, weights
from sentviz.models.hardmax import HardmaxEncoder, HardmaxModel, distinct, gathered, shares
from sentviz.runs.catalog import catalog
from sentviz.runs.run_files import FILES
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe
from tests import kit
from tests.kit import random_model

pytestmark = pytest.mark.slow  # trains, or reads the whole shelf

TEXT = "what a bright, warm garden we saw! The soup was dull and the song was clever; a warm lighthouse"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Train a run on the made-up set."""
    with pytest.MonkeyPatch.context() as patch:
        kit.use_toy_data(patch)
        return train(kit.hardmax_recipe(epochs=12), tmp_path_factory.mktemp("runs"), progress=False)


# ---- words ---------------------------------------------------------------------------------------------------------


def test_words_beyond_what_any_model_reads_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = WordsTokenizer.fit(["pear plum"], min_count=1)
    monkeypatch.setattr(sentviz.data.tokenizers, "LONGEST", 13)
    assert tokenizer.ids_batch(["pear plum fig pear fig"])[0].tolist() == tokenizer.encode("pear plum").ids.tolist()
    assert tokenizer.unknown("pear plum fig pear fig") == ("fig",)


def test_cleaning_keeps_what_may_matter() -> None:
    tokenizer = WordsTokenizer.fit(["It's <br />the Cat's garden, isn't it? not 12 bad-bad gardens"], min_count=1)
    text = "The CAT’s <br /> garden isn't bad: x2 unheard of"
    encoded = tokenizer.encode(text)
    assert [tokenizer.token_of(int(i)) for i in encoded.ids] == ["cat", "garden", "isn't", "bad"]
    assert [text[a:b] for a, b in encoded.offsets] == list(encoded.tokens)
    assert tokenizer.unknown(text)[-2:] == ("unheard", "of")
    np.testing.assert_array_equal(tokenizer.ids_batch([text])[0], encoded.ids)
    raw = WordsTokenizer.fit(["the cat's the garden"], min_count=1, cleaning=False)
    assert "the" in raw and "cat's" in raw and "the" not in tokenizer
    assert {"the", "it's", "s"} <= stop_words() and not {"not", "never", "very", "n't"} & stop_words()


def test_the_vocabulary_is_by_count_and_bounded() -> None:
    tokenizer = WordsTokenizer.fit(["pear plum plum fig fig", "apple plum"], min_count=1, most=3)
    assert [tokenizer.token_of(i) for i in range(4, tokenizer.vocab_size)] == ["plum", "fig", "apple"]
    with pytest.raises(InputError, match="no vocabulary"):
        WordsTokenizer.fit(["pear"], min_count=2)


def test_the_tokenizer_is_stored_whole(tmp_path: Path) -> None:
    tokenizer = random_model().tokenizer
    tokenizer.save(tmp_path / "tokenizer.json")
    read = WordsTokenizer.load(tmp_path / "tokenizer.json")
    assert isinstance(read, WordsTokenizer) and read.encode(TEXT).tokens == tokenizer.encode(TEXT).tokens


@pytest.mark.parametrize("text", ["the of and", "zzz 123 ...", "<br />"])
def test_texts_without_a_known_word(text: str) -> None:
    model = random_model()
    for ask in (model.follow, model.trace):
        with pytest.raises(InputError, match="None of the words"):
            ask(text)
    predicted = model.predict([TEXT, text])
    assert predicted["positive"][1] == pytest.approx(1 / (1 + np.exp(-model.decision[1])), abs=1e-6)
    assert predicted["remark"][0] == "" and "none of the words of this text" in predicted["remark"][1]
    (none,) = model.tokenizer.ids_batch([text])
    assert len(none) == 0
    with pytest.raises(InputError, match="empty"):
        model.follow("  ")


@pytest.mark.exhaustive
def test_long_texts_are_cut_and_said() -> None:
    review = random_model().follow("warm garden " * 50_000)
    assert len(review.words) == 128 and review.dropped == 100_000 - 128


# ---- the model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 5])
def test_follow_is_simulate_on_its_embeddings(width: int) -> None:
    model = random_model(width)
    review = model.follow(TEXT)
    assert list(review.words) == [model.tokenizer.token_of(int(i)) for i in model.encode(TEXT).ids] and review.known.all()
    assert [TEXT[a:b].lower() for a, b in review.offsets] == list(review.words)
    table = dict(zip(model.vocabulary["word"], model.vocabulary.filter(regex=r"^x\d").to_numpy(), strict=True))
    run = simulate(np.array([table[word] for word in review.words]), alpha=model.alpha, layers=4)
    np.testing.assert_array_equal(review.positions, run.positions)
    np.testing.assert_array_equal(review.leaders, run.leaders)
    w, b = model.decision
    odds = review.means @ w + b
    np.testing.assert_allclose(np.log(review.probabilities[:, 1] / review.probabilities[:, 0]), odds, atol=1e-9)
    row = model.predict([TEXT]).iloc[0]
    assert row["positive"] == pytest.approx(review.probabilities[-1, 1], abs=1e-6)
    scores = dict(zip(model.vocabulary["word"], model.vocabulary["score"], strict=True))
    assert scores[review.words[0]] == pytest.approx(review.positions[0, 0] @ w + b)


def test_the_trace_is_the_followed_review() -> None:
    model = random_model()
    trace, review = model.trace(TEXT, scores=True, projections=True), model.follow(TEXT)
    assert trace.attention is not None and trace.hidden is not None and trace.scores is not None
    n = len(review.words)
    assert trace.attention.shape == (4, 1, n, n) and trace.hidden.shape == (5, n, 2)
    np.testing.assert_allclose(trace.hidden, review.positions, atol=1e-12)
    for layer in range(4):
        np.testing.assert_allclose(trace.attention[layer, 0], weights(review.positions[layer]), atol=1e-6)
    np.testing.assert_allclose(trace.scores[1, 0, 0], review.positions[1] @ review.positions[1].T, atol=1e-5)
    np.testing.assert_array_equal(trace.lambdas, np.ones((4, 1)))
    some = model.trace(TEXT, layers=[2], queries=[1, 3])
    assert some.attention is not None
    np.testing.assert_array_equal(some.attention, trace.attention[2:3, :, [1, 3]])
    np.testing.assert_allclose(verdict_by_layer(model, trace), review.probabilities, atol=1e-6)


def test_without_and_pinned() -> None:
    model = random_model()
    whole = model.follow(TEXT)
    left = model.follow(TEXT, without=[1])
    assert left.words == whole.words[:1] + whole.words[2:]
    np.testing.assert_array_equal(left.positions, simulate(np.delete(whole.positions[0], 1, axis=0), alpha=model.alpha, layers=4).positions)
    followed = model.follow(TEXT, without=[0], pinned=[2])
    np.testing.assert_array_equal(followed.positions[-1, 1], whole.positions[0, 2])
    assert not np.array_equal(model.follow(TEXT, temperature=1.0).positions[-1], whole.positions[-1])
    with pytest.raises(InputError, match="no token 99"):
        model.follow(TEXT, pinned=[99])
    with pytest.raises(InputError, match="No token is left"):
        model.follow("warm", without=[0])


def test_padding_is_a_shorter_batch() -> None:
    network = random_model().network
    rows = [np.array([4, 5, 6, 7, 5]), np.array([8, 4]), np.array([9])]
    together = network(kit.batch(rows))
    for i, row in enumerate(rows):
        alone = network(kit.batch([row]))
        torch.testing.assert_close(together.logits[i], alone.logits[0])
        torch.testing.assert_close(together.pooled[i], alone.pooled[0])
    with torch.no_grad():
        network.embedding.weight[0] = 7.0  # the vector of the padding must not matter
    torch.testing.assert_close(network(kit.batch(rows)).logits, together.logits)


def one_by_one(network: HardmaxEncoder, rows: list[np.ndarray], temperature: float) -> torch.Tensor:
    """Return logits (N, 2) text by text with every weight written out: softmax of scores / temperature, or even shares of the argmax."""
    logits = []
    for row in rows:
        z = network.embedding(torch.from_numpy(row))
        for _ in range(network.config.layers):
            scores = z @ z.T
            if temperature:
                a = torch.softmax(scores / temperature, dim=-1)
            else:
                top = (scores >= scores.max(dim=-1, keepdim=True).values - 1e-9).to(z.dtype)
                a = top / top.sum(dim=-1, keepdim=True)
            z = z + network.alpha / (1 + network.alpha) * (a @ z - z)
        logits.append(network.classifier(z.mean(dim=0)))
    return torch.stack(logits)


@pytest.mark.parametrize("temperature", [0.0, 0.05, 1e-3])
def test_training_takes_a_short_way_to_the_same_numbers_and_gradients(temperature: float) -> None:
    network = random_model().network.requires_grad_(True)
    rows = [np.array([4, 5, 6, 7, 5, 5]), np.array([8, 4, 4]), np.array([9]), np.arange(4, 20)]
    ids, counts = distinct(rows)
    assert ids.shape == counts.shape == (4, 16) and counts.sum(dim=1).tolist() == [6, 3, 1, 16]
    short, long = network.short(rows, temperature).logits, one_by_one(network, rows, temperature)
    torch.testing.assert_close(short, long, atol=1e-7, rtol=1e-7)
    first, second = (torch.autograd.grad(out.square().sum(), list(network.parameters())) for out in (short, long))
    torch.testing.assert_close(first, second, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_gradients_by_finite_differences(temperature: float) -> None:
    encoder = random_model(3).network.requires_grad_(True)
    rows = [np.array([4, 5, 6, 7, 5]), np.array([8, 4])]

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(encoder.short(rows, temperature).logits, torch.tensor([1, 0]))

    parameters = [encoder.raw_alpha, encoder.classifier.weight, encoder.classifier.bias, encoder.embedding.weight]
    slopes = torch.autograd.grad(loss(), parameters)
    for parameter, slope in zip(parameters, slopes, strict=True):
        places = [()] if parameter.ndim == 0 else [(1,)] if parameter.ndim == 1 else [(i, k) for i in (4, 5, 8) for k in range(3)]
        for place in places:
            values = []
            for small in (1e-6, -1e-6):
                with torch.no_grad():
                    parameter[place] += small
                    values.append(float(loss()))
                    parameter[place] -= small
            assert float(slope[place]) == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-7)


def test_ties_share_their_gradient() -> None:
    z = torch.tensor([[[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5]]], dtype=torch.float64)
    np.testing.assert_allclose(shares(z, z, None, TOLERANCE)[0].numpy(), weights(z[0].numpy()))
    averaged = gathered(z, torch.ones(1, 3), 0.3)[0].numpy()
    np.testing.assert_allclose(averaged, weights(z[0].numpy(), temperature=0.3) @ z[0].numpy(), atol=1e-8)
    mask = torch.tensor([[False, True, True]])
    np.testing.assert_allclose(shares(z, z, mask, TOLERANCE)[0].numpy(), [[0, 0, 1], [0, 1, 0], [0, 1, 0]])


def test_alpha_is_positive_by_construction() -> None:
    encoder = random_model().network
    for raw in (-30.0, 0.0, 30.0):
        with torch.no_grad():
            encoder.raw_alpha.fill_(raw)
        assert float(encoder.alpha) > 0


def test_a_softmax_of_low_temperature_answers_alike() -> None:
    model = random_model()
    soft = model.at(1e-6).predict([TEXT])
    assert soft["positive"][0] == pytest.approx(model.predict([TEXT])["positive"][0], abs=1e-5)
    assert model.at(1.0).predict([TEXT])["positive"][0] != pytest.approx(model.predict([TEXT])["positive"][0], abs=1e-4)
    assert model.softmax_temperature == 0


# ---- explanations --------------------------------------------------------------------------------------------------


def test_every_explanation_takes_it() -> None:
    model = random_model()
    names = [name for name, method in SCORES.items() if name != "difference" and not method.package]
    trace = explained(model, model.trace(TEXT), names)
    for name in names:
        values = score(trace, name)
        assert values.shape == (len(trace.tokens),) and np.isfinite(values).all()
    k = int(trace.probabilities.argmax())
    without = model.follow(TEXT, without=[0]).probabilities[-1]
    whole = model.follow(TEXT).probabilities[-1]
    fall = np.log(whole[k] / whole[1 - k]) - np.log(without[k] / without[1 - k])
    assert score(trace, "removal")[0] == pytest.approx(fall, abs=1e-5)


def test_a_layer_that_is_silent_moves_nothing() -> None:
    model = random_model()
    trace = model.trace(TEXT, heads_off=[(layer, 0) for layer in range(4)])
    assert trace.hidden is not None
    np.testing.assert_array_equal(trace.hidden[-1], trace.hidden[0])
    with pytest.raises(InputError, match="single texts"):
        model.trace(TEXT, "another text")


@pytest.mark.parametrize("off", [[], [(1, 0)], [(0, 0), (3, 0)]])
def test_answers_are_those_of_the_traces(off: list[tuple[int, int]]) -> None:
    """Predictions equal those of traces, for repeated words, silenced layers and any length."""
    model, texts = random_model(), [TEXT, "warm", "dull song dull song dull"]
    predicted = model.predict(texts, heads_off=off)
    traced = [model.trace(text, heads_off=off).probabilities for text in texts]
    np.testing.assert_allclose(predicted[list(model.labels)].to_numpy(), np.stack(traced), atol=1e-6)


def test_rows_of_a_file_without_a_known_word_are_answered_by_the_decoders_bias() -> None:
    model = random_model()
    frame = pd.DataFrame({"id": ["1", "2", "3"], "text": ["zzz 123", TEXT, "the of and"], "label": [0, 1, -1]})
    rows, bias = predicted(model, RowsSource(model.name, "digest"), frame, "mine"), model.decision[1]
    np.testing.assert_allclose(rows.frame["p1"][[0, 2]], 1 / (1 + np.exp(-bias)), atol=1e-6)
    assert rows.frame["p1"][1] == pytest.approx(model.predict([TEXT])[model.labels[1]][0], abs=1e-6)
    alone = predicted(model, RowsSource(model.name, "digest"), frame.head(1), "mine")
    assert alone.frame["p1"][0] == rows.frame["p1"][0]


# ---- training and the run ------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_trained_run_is_an_ordinary_one(trained: Run) -> None:
    assert set(trained.config["files"]) == set(FILES) and trained.name == "toy/hardmax-d2"
    assert trained.config["model"]["kind"] == "hardmax" and trained.shape == HardmaxModel.of(trained).config
    has = trained.capabilities
    assert has.heads == has.components == 1 and not has.lambdas and not has.softmax and has.moving
    row = catalog([trained.folder.parents[1]]).set_index("run").loc["toy/hardmax-d2"]
    assert row["accuracy"] > 0.9 and row["n"] == kit.SIZES["test"] and not row["problem"]
    history = trained.history()
    assert {"train_loss", "alpha", "validation_accuracy", "validation_loss"} - {"train_loss"} <= set(history["name"])
    assert (history.loc[history["name"] == "alpha", "value"] > 0).all()
    model = HardmaxModel.of(trained)
    last = history.loc[(history["name"] == "alpha") & (history["step"] <= trained.config["best"]["step"]), "value"].iloc[-1]
    assert model.alpha == pytest.approx(last, abs=0.1)
    test = trained.frame("test.parquet")
    texts = kit.toy_splits()["test"].frame["text"].tolist()
    np.testing.assert_allclose(model.calibrated(1.0).predict(texts)["positive"], test["positive"], atol=2e-5)
    assert set(trained.metrics()["softmax"]) == {"temperature", "validation_accuracy", "test_accuracy"}
    assert trained.example().tokens == model.trace(trained.config["recipe"]["example"]).tokens


@pytest.mark.exhaustive
def test_training_again_gives_the_same_weights(trained: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.use_toy_data(monkeypatch)
    again = train(Recipe.of(trained.config["recipe"]), tmp_path, progress=False)
    assert again.config["files"]["model.safetensors"] == trained.config["files"]["model.safetensors"]


@pytest.mark.exhaustive
def test_straight_training_and_raw_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.use_toy_data(monkeypatch)
    run = train(kit.hardmax_recipe("hardmax-d4-straight-raw", epochs=6, example=TEXT), tmp_path, progress=False)
    assert run.name == "toy/hardmax-d4-straight-raw" and "softmax" not in run.metrics()
    model = HardmaxModel.of(run)
    assert "the" in model.tokenizer and model.config.width == 4
    assert run.metrics()["test"]["accuracy"]["value"] > 0.8
    with pytest.raises(InputError, match="no model 'hardmax-3'"):
        kit.hardmax_recipe("hardmax-3")


@pytest.mark.exhaustive
def test_runs_that_are_none_are_refused(trained: Run, tiny_run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a hardmax classifier"):
        HardmaxModel.of(Run.open(tiny_run))
    config = json.loads((trained.folder / "config.json").read_text())
    for change in ({"width": 0}, {"classes": 3}, {"layers": "many"}):
        (tmp_path / "config.json").write_text(json.dumps(config | {"model": config["model"] | change}))
        with pytest.raises(RunError, match="describes no model that this version knows"):
            HardmaxModel.of(Run.open(tmp_path))
