"""The hardmax classifier: against the dynamics of its embeddings, finite differences, and a run trained on the made-up set."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import sentviz.data.tokenizers
from sentviz.analysis.explain import SCORES, explained, score
from sentviz.analysis.maps.layers import verdict_by_layer
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data import datasets
from sentviz.data.examples import EXAMPLES
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
from tests.kit import random_model, refused

TEXT = "what a bright, warm garden we saw! The soup was dull and the song was clever; a warm lighthouse"


def test_cleaning_keeps_what_may_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    tokenizer = WordsTokenizer.fit(["pear plum plum fig fig", "apple plum"], min_count=1, most=3)
    assert [tokenizer.token_of(i) for i in range(4, tokenizer.vocab_size)] == ["plum", "fig", "apple"]
    refused(InputError, "no vocabulary", WordsTokenizer.fit, ["pear"], min_count=2)
    tokenizer.save(tmp_path / "tokenizer.json")
    read = WordsTokenizer.load(tmp_path / "tokenizer.json")
    assert isinstance(read, WordsTokenizer) and read.encode("a fig, an apple").tokens == tokenizer.encode("a fig, an apple").tokens
    tokenizer = WordsTokenizer.fit(["pear plum"], min_count=1)
    monkeypatch.setattr(sentviz.data.tokenizers, "LONGEST", 13)
    assert tokenizer.ids_batch(["pear plum fig pear fig"])[0].tolist() == tokenizer.encode("pear plum").ids.tolist()
    assert tokenizer.unknown("pear plum fig pear fig") == ("fig",)


@pytest.mark.parametrize("text", ["the of and", "zzz 123 ...", "<br />"])
def test_texts_without_a_known_word(text: str) -> None:
    model = random_model()
    for ask in (model.follow, model.trace):
        refused(InputError, "None of the words", ask, text)
    frame, bias = model.predict([TEXT, text]), 1 / (1 + np.exp(-model.decision[1]))
    assert frame["positive"][1] == pytest.approx(bias, abs=1e-6) and len(model.tokenizer.ids_batch([text])[0]) == 0
    assert frame["remark"][0] == "" and "none of the words of this text" in frame["remark"][1]
    file = pd.DataFrame({"id": ["1", "2"], "text": [text, TEXT], "label": [0, -1]})
    for rows in (file, file.head(1)):
        answered = predicted(model, RowsSource(model.name, "digest"), rows, "mine").frame["p1"].tolist()
        assert answered == pytest.approx([bias, frame["positive"][0]][: len(rows)], abs=1e-6)
    refused(InputError, "empty", model.follow, "  ")


@pytest.mark.parametrize("width", [1, 5])
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
    np.testing.assert_allclose(np.log(review.probabilities[:, 1] / review.probabilities[:, 0]), review.means @ w + b, atol=1e-9)
    assert model.predict([TEXT])["positive"][0] == pytest.approx(review.probabilities[-1, 1], abs=1e-6)
    scores = dict(zip(model.vocabulary["word"], model.vocabulary["score"], strict=True))
    assert scores[review.words[0]] == pytest.approx(review.positions[0, 0] @ w + b)
    long = model.follow("warm garden " * 300)
    assert len(long.words) == 128 and long.dropped == 600 - 128


def test_traces_and_changes_are_those_of_followed_reviews() -> None:
    model = random_model()
    trace, review = model.trace(TEXT, scores=True, projections=True), model.follow(TEXT)
    n = len(review.words)
    assert trace.attention.shape == (4, 1, n, n) and trace.hidden.shape == (5, n, 2)
    np.testing.assert_allclose(trace.hidden, review.positions, atol=1e-12)
    for layer in range(4):
        np.testing.assert_allclose(trace.attention[layer, 0], weights(review.positions[layer]), atol=1e-6)
    np.testing.assert_allclose(trace.scores[1, 0, 0], review.positions[1] @ review.positions[1].T, atol=1e-5)
    np.testing.assert_array_equal(trace.lambdas, np.ones((4, 1)))
    some = model.trace(TEXT, layers=[2], queries=[1, 3])
    np.testing.assert_array_equal(some.attention, trace.attention[2:3, :, [1, 3]])
    np.testing.assert_allclose(verdict_by_layer(model, trace), review.probabilities, atol=1e-6)
    model = random_model()
    names = [name for name, method in SCORES.items() if name != "difference" and not method.package]
    trace = explained(model, model.trace(TEXT), names)
    assert all(score(trace, name).shape == (len(trace.tokens),) and np.isfinite(score(trace, name)).all() for name in names)
    k = int(trace.probabilities.argmax())
    odds = [np.log(p[k] / p[1 - k]) for p in (model.follow(TEXT, without=without).probabilities[-1] for without in ([], [0]))]
    assert score(trace, "removal")[0] == pytest.approx(odds[0] - odds[1], abs=1e-5)
    model = random_model()
    whole, left = model.follow(TEXT), model.follow(TEXT, without=[1])
    assert left.words == whole.words[:1] + whole.words[2:]
    np.testing.assert_array_equal(left.positions, simulate(np.delete(whole.positions[0], 1, axis=0), alpha=model.alpha, layers=4).positions)
    followed = model.follow(TEXT, without=[0], pinned=[2])
    np.testing.assert_array_equal(followed.positions[-1, 1], whole.positions[0, 2])
    assert not np.array_equal(model.follow(TEXT, temperature=1.0).positions[-1], whole.positions[-1])
    for text, change, fault in ((TEXT, {"pinned": [99]}, "no token 99"), ("warm", {"without": [0]}, "No token is left")):
        refused(InputError, fault, model.follow, text, **change)
    model = random_model()
    ones = np.ones((4, 1))
    np.testing.assert_array_equal(model.trace("a warm garden", lambdas=ones).logits, model.trace("a warm garden").logits)
    refused(InputError, "mixing cannot be changed", model.trace, "a warm garden", lambdas=ones / 2)
    refused(InputError, "single texts", model.trace, TEXT, "another text")
    network, rows = random_model().network, [np.array([4, 5, 6, 7, 5]), np.array([8, 4]), np.array([9])]
    together = network(kit.batch(rows))
    for i, row in enumerate(rows):
        alone = network(kit.batch([row]))
        torch.testing.assert_close((together.logits[i], together.pooled[i]), (alone.logits[0], alone.pooled[0]))
    with torch.no_grad():
        network.embedding.weight[0] = 7.0  # the vector of the padding must not matter
    torch.testing.assert_close(network(kit.batch(rows)).logits, together.logits)
    z = torch.tensor([[[1.0, 1.0], [-1.0, 1.0], [0.0, 0.5]]], dtype=torch.float64)
    np.testing.assert_allclose(shares(z, z, None, TOLERANCE)[0].numpy(), weights(z[0].numpy()))
    averaged = gathered(z, torch.ones(1, 3), 0.3)[0].numpy()
    np.testing.assert_allclose(averaged, weights(z[0].numpy(), temperature=0.3) @ z[0].numpy(), atol=1e-8)
    mask = torch.tensor([[False, True, True]])
    np.testing.assert_allclose(shares(z, z, mask, TOLERANCE)[0].numpy(), [[0, 0, 1], [0, 1, 0], [0, 1, 0]])
    encoder = random_model().network
    for raw in (-30.0, 30.0):
        with torch.no_grad():
            encoder.raw_alpha.fill_(raw)
        assert float(encoder.alpha) > 0


def one_by_one(network: HardmaxEncoder, rows: list[np.ndarray], temperature: float) -> torch.Tensor:
    """Return logits (N, 2) text by text with every weight written out: softmax of scores / temperature, or even shares of the argmax."""
    logits = []
    for row in rows:
        z = network.embedding(torch.from_numpy(row))
        for _ in range(network.config.layers):
            scores = z @ z.T
            top = (scores >= scores.max(dim=-1, keepdim=True).values - 1e-9).to(z.dtype)
            a = torch.softmax(scores / temperature, dim=-1) if temperature else top / top.sum(dim=-1, keepdim=True)
            z = z + network.alpha / (1 + network.alpha) * (a @ z - z)
        logits.append(network.classifier(z.mean(dim=0)))
    return torch.stack(logits)


@pytest.mark.parametrize("temperature", [0.0, 0.05])
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
    encoder, rows = random_model(3).network.requires_grad_(True), [np.array([4, 5, 6, 7, 5]), np.array([8, 4])]

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(encoder.short(rows, temperature).logits, torch.tensor([1, 0]))

    parameters = [encoder.raw_alpha, encoder.classifier.weight, encoder.classifier.bias, encoder.embedding.weight]
    slopes = torch.autograd.grad(loss(), parameters)
    for parameter, slope in zip(parameters, slopes, strict=True):
        for place in [()] if parameter.ndim == 0 else [(1,)] if parameter.ndim == 1 else [(i, k) for i in (4, 5, 8) for k in range(3)]:
            values = []
            for small in (1e-6, -1e-6):
                with torch.no_grad():
                    parameter[place] += small
                    values.append(float(loss()))
                    parameter[place] -= small
            assert float(slope[place]) == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("off", [[], [(0, 0), (3, 0)], [(layer, 0) for layer in range(4)]])
def test_answers_are_those_of_the_traces(off: list[tuple[int, int]]) -> None:
    model, texts = random_model(), [TEXT, "warm", "dull song dull song dull"]
    traces = [model.trace(text, heads_off=off) for text in texts]
    answers = model.predict(texts, heads_off=off)[list(model.labels)].to_numpy()
    np.testing.assert_allclose(answers, np.stack([trace.probabilities for trace in traces]), atol=1e-6)
    assert traces[0].hidden is not None and np.array_equal(traces[0].hidden[-1], traces[0].hidden[0]) == (len(off) == 4)


STRANGE = {"train": (3, 50, 159), "validation": (0,), "test": (7, 8)}  # rows without a known word
Splits = dict[str, datasets.Split]


def recipe(**changes: Any) -> Recipe:
    return kit.hardmax_recipe(**{"min_count": 2, "epochs": 6, "example": "a warm garden"} | changes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Splits]:
    """Train a run on the made-up set with a few texts of otherwise unknown words."""
    with pytest.MonkeyPatch.context() as patch:
        splits = kit.use_toy_data(patch)
        for split, rows in STRANGE.items():
            frame = splits[split].frame.copy()
            for row in rows:
                frame.loc[row, "text"] = f"the {split}{'abc'[rows.index(row)]}"
            splits[split] = replace(splits[split], frame=frame)
        return train(recipe(), tmp_path_factory.mktemp("runs"), progress=False), splits


def test_a_trained_run_is_an_ordinary_one(trained: tuple[Run, Splits]) -> None:
    run, splits = trained
    counts = {split: (stored["n"], stored["dropped"]) for split, stored in run.config["data"]["splits"].items()}
    assert counts["train"] == (len(splits["train"]) - 3, 3) and counts["validation"] == (len(splits["validation"]), 0)
    assert set(run.config["files"]) == set(FILES) and run.config["model"]["kind"] == "hardmax"
    has, model, test, metrics = run.capabilities, HardmaxModel.of(run), run.frame("test.parquet"), run.metrics()
    assert has.heads == has.components == 1 and not has.lambdas and not has.softmax and has.moving and run.shape == model.config
    history = run.history()
    assert {"alpha", "validation_accuracy", "validation_loss"} <= set(history["name"])
    alphas = history[(history["name"] == "alpha") & (history["step"] <= run.config["best"]["step"])]["value"]
    assert (alphas > 0).all() and model.alpha == pytest.approx(alphas.iloc[-1], abs=0.1)
    frame = splits["test"].frame
    strange = frame.index.isin(STRANGE["test"])
    np.testing.assert_allclose(test["positive"][strange], 1 / (1 + np.exp(-model.decision[1])), atol=1e-5)
    answers = model.calibrated(1.0).predict(frame["text"][~strange].tolist())
    np.testing.assert_allclose(test["positive"][~strange], answers["positive"], atol=2e-5)
    right = (test["positive"] > 0.5).to_numpy(int) == frame["label"].to_numpy()
    assert metrics["test"]["n"] == len(frame) and metrics["test"]["accuracy"]["value"] == pytest.approx(right.mean(), abs=1e-5)
    assert right.mean() > 0.8 and set(metrics["softmax"]) == {"temperature", "validation_accuracy", "test_accuracy"}
    row = catalog([run.folder.parents[1]]).set_index("run").loc["toy/hardmax-d2"]
    assert row["accuracy"] == pytest.approx(right.mean(), abs=1e-5) and not row["problem"]
    assert run.example().tokens == model.trace(run.config["recipe"]["example"]).tokens


def test_an_example_that_it_cannot_read_gives_way_to_one_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    splits = kit.use_toy_data(monkeypatch)
    run = train(recipe(example="정말 따뜻하고 밝은 영화", epochs=1), tmp_path, progress=False)
    assert run.example().text == run.config["recipe"]["example"] and run.example().text in {example.text for example in EXAMPLES}
    frame = splits["train"].frame.replace(to_replace={"text": {word: f"{word}x" for word in (*kit.BAD, "song")}}, regex=True)
    splits["train"] = replace(splits["train"], frame=frame)
    refused(
        InputError, "would know no word", train, recipe(example="정말 따뜻하고 밝은 영화", epochs=2), tmp_path / "other", progress=False
    )


@pytest.mark.parametrize(("dataset", "message"), [("klue_nli", "has pairs"), ("yelp_full", "has 5 classes")])
def test_what_it_cannot_tell_apart_is_refused_at_once(dataset: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "none"))
    message = f"needs two classes of single texts, but {dataset} {message}"
    refused(InputError, message, train, recipe(dataset=dataset), tmp_path / "runs")
    assert not list(tmp_path.iterdir())
    for seed in (-1, 1 << 63):
        refused(InputError, f"seed .*{seed}", recipe, seed=seed)
    refused(InputError, "no model 'hardmax-3'", kit.hardmax_recipe, "hardmax-3")


def test_runs_that_are_none_are_refused(trained: tuple[Run, Splits], tiny_run: Path, tmp_path: Path) -> None:
    refused(RunError, "not a hardmax classifier", HardmaxModel.of, Run.open(tiny_run))
    config = json.loads((trained[0].folder / "config.json").read_text())
    for change in ({"width": 0}, {"classes": 3}, {"layers": "many"}):
        (tmp_path / "config.json").write_text(json.dumps(config | {"model": config["model"] | change}))
        with pytest.raises(RunError, match="describes no model that this version knows"):
            HardmaxModel.of(Run.open(tmp_path))
