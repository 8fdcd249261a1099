"""7ess-Xin: the ten versions in two phases, padding that is read, rows and updates that are counted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sentviz.analysis.explain import explained
from sentviz.analysis.explain.leave_out import leaving_out
from sentviz.charts.strip import strip
from sentviz.data import datasets
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.io.numbers import percent
from sentviz.models.loading import network_of
from sentviz.models.model import Model
from sentviz.papers.sevenessxin.figures import _importance
from sentviz.papers.sevenessxin.versions import ROPE, UNMASKED, VERSIONS
from sentviz.papers.studies.runner import plan, source
from sentviz.runs.configs import EncoderConfig
from sentviz.runs.presets import find_preset, preset
from sentviz.runs.registry import find_paper
from sentviz.training import train
from sentviz.training.finishing import test_splits as splits_for_tests
from sentviz.training.recipe import Recipe
from sentviz.training.run import task_of
from tests import kit, slow
from tests.charts import stub
from tests.kit import refused

TEXTS = ["i am so happy today", "this is sad", "not what i want at all", "fine"]
SMALL: dict[str, Any] = {"width": 16, "heads": 2, "ffn_width": 16, "layers": 2}
TABLE = {  # table I, with the flag halved by whole numbers: layers, width, heads, hidden, longest, batch
    "7ess-v1": (3, 128, 4, 128, 128, 64),
    "7ess-v2": (6, 128, 4, 128, 128, 64),
    "7ess-v3": (3, 256, 8, 512, 128, 32),
    "7ess-v4": (3, 128, 4, 128, 128, 128),
    "7ess-v5": (3, 128, 4, 128, 128, 64),
    "7ess-v6": (6, 128, 4, 128, 148, 64),
    "7ess-v7": (8, 128, 4, 128, 148, 64),
    "7ess-v8": (5, 192, 6, 192, 148, 64),
    "7ess-v9": (6, 128, 16, 128, 148, 64),
    "7ess-v10": (6, 128, 4, 128, 256, 48),
}


def recipe(model: str) -> Recipe:
    return Recipe.read(source("sevenessxin", "sentiment140"), model=model)


def test_versions_recipes_and_presets_are_those_of_the_paper() -> None:
    assert set(TABLE) == set(VERSIONS)
    for model, (layers, d, heads, hidden, longest, batch) in TABLE.items():
        settings = recipe(model)
        assert (settings.max_length, settings.batch_size) == (longest, batch)
        assert (settings.dropout, settings.learning_rate) == ((0.2, 1e-4) if model == "7ess-v4" else (0.1, 5e-4))
        assert settings.rows == (100_000 if model == "7ess-v5" else 0)
        shapes = [preset(name, vocab_size=30_000, classes=2, max_length=longest) for name in (model, f"{model}-{ROPE}")]
        counts = []
        for shape in shapes:
            assert isinstance(shape, EncoderConfig)
            assert (shape.layers, shape.width, shape.heads, shape.ffn_width, shape.masked) == (layers, d, heads, hidden, True)
            counts.append(network_of(shape).parameters_count())
        block = 4 * (d * d + d) + (d * hidden + hidden) + (hidden * d + d) + 2 * 2 * d
        assert counts[0] == 30_000 * d + layers * block + 2 * d + 2 and counts[1] == counts[0] + layers
    assert find_preset(f"7ess-v1-{ROPE}").shape["positions"] == "rotary" and find_preset(f"7ess-v3-{ROPE}").recipe["batch_size"] == 32
    assert find_preset(f"vanilla-{ROPE}-{UNMASKED}").shape["masked"] is False
    refused(InputError, "There is no model 'bilstm-rope'", find_preset, f"bilstm-{ROPE}")
    recipes = [
        recipe
        for study in find_paper("sevenessxin").studies
        if study not in ("sevenessxin-updates", "sevenessxin-epochs", "sevenessxin-versions-epochs")
        for recipe in plan(study, "sentiment140")
    ]
    assert len({recipe.updates for recipe in recipes}) == 1 and recipes[0].updates > 0
    assert len({recipe.name for recipe in plan("sevenessxin", "sentiment140")}) == 20
    assert {recipe.updates for recipe in plan("sevenessxin-updates", "sentiment140")} == {6_000}
    of_epochs = {(recipe.rows, recipe.updates, recipe.epochs) for recipe in plan("sevenessxin-epochs", "sentiment140")}
    assert of_epochs == {(5_000, 0, 6), (0, 0, 6)}
    of_versions = plan("sevenessxin-versions-epochs", "sentiment140")
    assert len(of_versions) == 10 and {(recipe.updates, recipe.epochs) for recipe in of_versions} == {(0, 6)}
    assert {recipe.rows for recipe in plan("sevenessxin-curve", "sentiment140")} == {5_000, 10_000, 20_000, 40_000, 80_000}
    assert {recipe.select for recipe in recipes} == {"f1_positive"} and {recipe.tokenizer for recipe in recipes} == {"tweets"}
    of_epochs = Recipe.read(source("sevenessxin", "sentiment140"), model="7ess-v1", variant="epochs")
    assert (of_epochs.updates, of_epochs.epochs, of_epochs.keep_epochs, of_epochs.name) == (0, 6, 100, "sentiment140/7ess-v1-epochs")


def model_of(name: str, longest: int = 12, **shape: Any) -> Model:
    tokenizer = Tokenizer.train_tweets(TEXTS * 3, 300)
    torch.manual_seed(3)
    config = preset(name, vocab_size=tokenizer.vocab_size, classes=2, max_length=longest, dropout=0.0, **(SMALL | shape))
    network = network_of(config)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return Model(name, network, tokenizer, ("negative", "positive"))


def padded(model: Model, text: str) -> slow.Seen:
    """Run the slow encoder on the ids and the padding behind them as text."""
    ids = model.tokenizer.encode(text).ids.tolist()
    ids += [0] * (model.config.max_length - len(ids))
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    assert isinstance(model.config, EncoderConfig)
    return slow.encode(state, model.config, ids)


def test_without_the_mask_padding_is_read_like_text() -> None:
    for phase in ["", f"-{ROPE}"]:
        unmasked, masked = model_of(f"7ess-v1{phase}-{UNMASKED}"), model_of(f"7ess-v1{phase}")
        for model, change in ((unmasked, {}), (masked, {"strength": {"mask": 0}})):
            for text in TEXTS:
                want = padded(model, text)
                trace = model.trace(text, **change)
                assert len(trace.tokens) == 12 and trace.tokens[-1] == "<pad>" and trace.specials[-1]
                np.testing.assert_allclose(trace.logits, want.logits, atol=2e-6)
                np.testing.assert_allclose(trace.pooled, want.pooled, atol=2e-6)
                np.testing.assert_allclose(trace.attention, np.stack(want.effective), atol=2e-6)
            together = model.predict(TEXTS, **change)["positive"].to_numpy()
            alone = [model.trace(text, **change).probabilities[1] for text in TEXTS]
            np.testing.assert_allclose(together, alone, atol=1e-6)
    model = model_of("7ess-v1")
    with_mask, without = (model.trace(TEXTS[0], strength={"mask": factor}).logits for factor in (1, 0))
    assert np.abs(with_mask - without).max() > 1e-3
    assert model.trace(TEXTS[0], strength=0.0).logits.tolist() == with_mask.tolist()  # a number is for terms of the scores only
    model = model_of("7ess-v1")
    trace = model.trace(TEXTS[1], strength={"mask": 0})
    first = leaving_out(model, trace, [[0]])
    reading = model.tokenizer.encode(TEXTS[1]).reading.without([0])
    state = {name: tensor.numpy() for name, tensor in model.network.state_dict().items()}
    assert isinstance(model.config, EncoderConfig)
    want = slow.encode(state, model.config, [*reading.ids.tolist(), *[0] * (12 - len(reading))]).logits
    np.testing.assert_allclose(first[0], want, atol=2e-6)
    with pytest.raises(InputError, match=r"The mask can only be on \(1\) or off \(0\), not 0.5"):
        model_of("7ess-v1").intervention(strength={"mask": 0.5})
    with pytest.raises(InputError, match="no term 'mask' to change; it has none"):
        model_of(f"7ess-v1-{UNMASKED}").intervention(strength={"mask": 0})


def test_rows_are_drawn_in_order_and_f1_needs_two_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    splits = kit.use_toy_data(monkeypatch)
    whole = datasets.load_split("toy", "train")
    some, more = datasets.first_rows(whole, 8), datasets.first_rows(whole, 20)
    assert some.frame["label"].value_counts().tolist() == [4, 4] and set(some.frame["id"]) < set(more.frame["id"])
    assert some.digest != more.digest
    for rows in (7, 10**6):
        refused(InputError, "with equal numbers per class cannot be drawn from the train split of toy", datasets.first_rows, whole, rows)
    whole = splits_for_tests("toy")[0]
    (drawn,) = splits_for_tests("toy", rows=10)
    positions = [list(whole.frame["id"]).index(row) for row in drawn.frame["id"]]
    assert len(drawn) == 10 and positions == sorted(set(positions)) != list(range(10))
    assert drawn.digest != whole.digest and drawn.digest == splits_for_tests("toy", rows=10)[0].digest
    assert splits_for_tests("toy", rows=len(whole))[0].digest == whole.digest
    for split, rows in splits.items():
        splits[split] = replace(rows, labels=("a", "b", "c"))
    with pytest.raises(InputError, match=r"f1_positive needs two classes, but toy has 3\. Select f1_macro"):
        task_of(kit.toy_recipe("7ess-v1", select="f1_positive", shape=SMALL))


def test_updates_decide_whatever_the_rows_and_an_unmasked_model_is_trained_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.use_toy_data(monkeypatch)
    for rows in (16, 40):
        run = train(kit.toy_recipe("7ess-v1", rows=rows, updates=10, evaluations=2, shape=SMALL), tmp_path / str(rows), progress=False)
        history = run.history()
        assert run.config["steps"] == 10 and history.loc[history["name"] == "validation_accuracy", "step"].tolist() == [5, 10]
        assert run.config["data"]["splits"]["train"]["n"] == rows
    kit.use_toy_data(monkeypatch)
    subject = task_of(kit.toy_recipe(f"7ess-v1-{UNMASKED}", max_length=9, dropout=0.0, shape=SMALL))
    subject.network.eval()
    with torch.no_grad():
        in_training = subject.logits(np.arange(6)).numpy()
    frame = subject.train.frame.head(6)
    model = subject.model()
    np.testing.assert_allclose(in_training, model.forward(model.read(frame))[0], atol=1e-5)


def test_padding_stands_beside_the_strip_and_has_its_share_of_importance() -> None:
    model = model_of("7ess-v1")
    trace = explained(model, model.trace("@you " + TEXTS[1], strength={"mask": 0}))
    assert trace.padding == 12 - int((~trace.specials).sum())
    importance, share = _importance(stub(trace=trace)), trace.map(0).mean(axis=0)
    np.testing.assert_allclose(importance.frame["importance"], share[: -trace.padding])
    assert f"{percent(share[-trace.padding :].sum(), 0)} of the attention is on padding" in importance.caption
    drawn = strip(trace, "received")
    assert len(drawn.frame) == 12 - trace.padding and "tokens of padding follow" in drawn.caption
    assert "<s>@you</s>" in drawn.plot.data[0].text
