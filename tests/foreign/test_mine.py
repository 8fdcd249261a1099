"""Models that people bring: in memory, heads on encoders, runs with and without data, fine-tuning, and what is refused."""

import json
import math
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import sentviz
from sentviz import training
from sentviz.analysis.explain import explained
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.data.examples import examples_for
from sentviz.data.labels import order_of as order
from sentviz.data.lexicon import Lexicon
from sentviz.models.hub import store_head
from sentviz.papers.cards import card
from sentviz.runs.catalog import catalog, faults
from sentviz.runs.naming import plain_name
from sentviz.runs.store import Run
from sentviz.serving.onnx import export, load
from sentviz.training import Trainer, foreign
from sentviz.training.foreign import ForeignTask
from sentviz.training.recipe import Recipe
from tests.foreign.models import SHORT, TEXT, answers, changed, expected_output, refused, saved, theirs
from tests.kit import model_folder
from tests.shipped import often

CLASSES = ["bad", "so-so", "good"]


def test_models_in_memory_and_unnamed_or_other_classes(folders: dict[str, Path], tmp_path: Path) -> None:
    own = transformers.AutoModelForSequenceClassification.from_pretrained(folders["modernbert"]).eval()
    how, wanted = own.config._attn_implementation, expected_output(folders["modernbert"], TEXT).logits
    model = sentviz.load(own, transformers.AutoTokenizer.from_pretrained(folders["modernbert"]))
    assert model.trace(SHORT).attention is not None and own.config._attn_implementation == how
    with torch.no_grad():
        own.get_input_embeddings().weight.zero_()
    np.testing.assert_allclose(answers(model, TEXT), wanted, atol=1e-3)
    folder = saved(tmp_path / "plain", "bert", ("LABEL_0", "LABEL_1", "LABEL_2"))
    unnamed = r"does not say what its 3 classes mean \(LABEL_0, LABEL_1, LABEL_2\).*--classes neg"
    refused(unnamed, sentviz.load, folder)
    refused(unnamed, training.adopt, folder, "", tmp_path)
    model = sentviz.load(folder, classes=CLASSES)
    assert model.labels == tuple(CLASSES)
    assert model.predict([TEXT])["label"][0] == CLASSES[int(expected_output(folder, TEXT).logits.argmax())]
    for wrong, match in ((["bad", "good"], "has 3 classes"), (["a", "a", "b"], "the same name"), ("bad,good", "must be a list")):
        refused(match, sentviz.load, folder, classes=wrong)
    refusal = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path)])
    assert refusal.exit_code == 1 and "--classes negative,neutral,positive" in refusal.output
    sigmoid = "torch.nn.modules.activation.Sigmoid"
    cases = {
        "was trained for multi label classification": {"problem_type": "multi_label_classification"},
        "with a sigmoid for each label": {"sentence_transformers": {"activation_fn": sigmoid}},
        "with a sigmoid": {"sbert_ce_default_activation_function": sigmoid},
        "needs code of its repository": {"auto_map": {"AutoModel": "modeling.Own"}},
    }
    for i, (match, settings) in enumerate(cases.items()):
        refused(match, sentviz.load, changed(folders["bert"], tmp_path / str(i), **settings))
    own = transformers.AutoModelForSequenceClassification.from_pretrained(folders["bert"])
    refused("needs its tokenizer", sentviz.load, own)
    own.__class__ = type("Mine", (type(own),), {})
    refused("is not a model class of transformers", sentviz.load, own, transformers.AutoTokenizer.from_pretrained(folders["bert"]))
    refused("A run of sentviz has its tokenizer, its classes", sentviz.load, "sst2/ndt-unit-2", classes=CLASSES)


def encoder(folder: Path, to: Path, *, pooling: str = "mean_tokens", normalized: bool = True, labels: list[str] | None = None) -> Path:
    """Write the body of a model as sentence-transformers and SetFit do."""
    theirs(folder).base_model.float().save_pretrained(to)
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(to)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), *[("2_Normalize", "Normalize")] * normalized]
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"} for i, (path, kind) in enumerate(kinds)
    ]
    (to / "modules.json").write_text(json.dumps(modules))
    (to / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{name}": name == pooling for name in ("cls_token", "mean_tokens", "max_tokens")}
    (to / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **modes}))
    (to / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 40}))
    (to / "config_setfit.json").write_text(json.dumps({"labels": labels, "normalize_embeddings": False}))
    return to


def pooled(folder: Path, text: str, *, mean: bool = True) -> Any:
    """Return a sentence vector of length 1 by transformers alone."""
    model, tokenizer = transformers.AutoModel.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        states = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=40)).last_hidden_state[0]
    vector = states.mean(dim=0) if mean else states[0]
    return (vector / vector.norm()).numpy()


@pytest.mark.parametrize("kind", often(["bert", "distilbert", "modernbert", "mpnet"], "bert"))
def test_an_encoder_without_a_head_has_maps_and_vectors_but_no_classes(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    model = sentviz.load(encoder(folders[kind], tmp_path / "body"))
    assert not model.capabilities.predicts and model.labels == () and model.config.max_length == 40
    trace = model.trace(SHORT)
    np.testing.assert_allclose(trace.pooled, pooled(tmp_path / "body", SHORT), atol=1e-5)
    np.testing.assert_allclose(trace.attention, sentviz.load(folders[kind]).trace(SHORT).attention, atol=1e-5)
    logits, vectors = model.forward([model.encode(text).reading for text in (SHORT, TEXT)])
    assert logits.shape == (2, 0) and np.isfinite(vectors).all() and trace.label == ""
    refused("has no classification head", model.predict, [SHORT])
    refused("has no classification head", explained, model, trace)
    refused("has no classification head", training.adopt, tmp_path / "body", "", tmp_path)


def with_dense(folder: Path, *layers: tuple[int, int, str], bias: bool = True) -> list[tuple[Any, Any]]:
    """Add dense layers to the body of a model as sentence-transformers does; return their weights and biases."""
    from safetensors.torch import save_file

    rng, modules, weights = np.random.default_rng(1), json.loads((folder / "modules.json").read_text()), []
    for place, (inner, outer, activation) in enumerate(layers, 2):
        part = folder / f"{place}_Dense"
        part.mkdir()
        weight, shift = (rng.normal(size=size).astype(np.float32) for size in ((outer, inner), outer))
        tensors = {"linear.weight": torch.tensor(weight)} | ({"linear.bias": torch.tensor(shift)} if bias else {})
        save_file(tensors, part / "model.safetensors")
        (part / "config.json").write_text(json.dumps({"in_features": inner, "out_features": outer, "activation_function": activation}))
        modules.insert(place, {"idx": place, "path": part.name, "type": "sentence_transformers.models.Dense"})
        weights.append((weight, shift if bias else np.zeros(outer)))
    (folder / "modules.json").write_text(json.dumps(modules))
    return weights


@pytest.mark.parametrize(("activation", "bias"), [("activation.Tanh", True), ("activation.GELU", True), ("linear.Identity", False)])
def test_dense_layers_of_sentence_transformers_are_computed(activation: str, bias: bool, folders: dict[str, Path], tmp_path: Path) -> None:
    bends: dict[str, Any] = {
        "activation.Tanh": math.tanh,
        "activation.GELU": lambda each: each * (1 + math.erf(each / math.sqrt(2))) / 2,
        "linear.Identity": float,
    }
    folder, plain = encoder(folders["bert"], tmp_path / "dense"), encoder(folders["bert"], tmp_path / "plain", normalized=False)
    name = f"torch.nn.modules.{activation}"
    weights = with_dense(folder, (16, 6, name), (6, 5, name), bias=bias)
    vector = sentviz.load(plain).trace(SHORT).pooled.tolist()
    for weight, shift in weights:
        sums = [sum(a * x for a, x in zip(row, vector, strict=True)) + b for row, b in zip(weight.tolist(), shift.tolist(), strict=True)]
        vector = [bends[activation](each) for each in sums]
    length = math.sqrt(sum(each**2 for each in vector))
    np.testing.assert_allclose(sentviz.load(folder).trace(SHORT).pooled, [each / length for each in vector], atol=1e-5)


TANH, RELU, SILU = (f"torch.nn.modules.activation.{name}" for name in ("Tanh", "ReLU", "SiLU"))


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ([(16, 6, SILU)], "has the activation SiLU"),
        ([(16, 6, TANH), (6, 5, RELU)], "several activations"),
        ([(8, 6, TANH)], r"a dense layer has the shape \(6, 8\) for vectors of width 16"),
        ([], r"2_Dense cannot be read: its weights must be in model\.safetensors"),
    ],
)
def test_dense_layers_that_are_refused(layers: list[Any], why: str, folders: dict[str, Path], tmp_path: Path) -> None:
    folder = encoder(folders["bert"], tmp_path / "odd")
    with_dense(folder, *(layers or [(16, 6, TANH)]))
    if not layers:
        (folder / "2_Dense" / "model.safetensors").rename(folder / "2_Dense" / "pytorch_model.bin")
    refused(why, sentviz.load, folder)


@pytest.mark.parametrize(("kind", "classes", "pooling"), [("bert", 2, "mean_tokens"), ("mpnet", 3, "cls_token")])
def test_a_linear_head_of_scikit_learn_is_opened_white_box(
    kind: str, classes: int, pooling: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    rng, names, dense = np.random.default_rng(0), CLASSES[:classes], kind == "bert"
    folder = encoder(folders[kind], tmp_path / "setfit", pooling=pooling)
    if dense:
        with_dense(folder, (16, 5, TANH))
    head = LogisticRegression(C=30).fit(rng.normal(size=(60, 5 if dense else 16)), [names[i % classes] for i in range(60)])
    model = sentviz.load(folder, head=head)
    assert model.labels == tuple(head.classes_) and model.capabilities.predicts
    trace = model.trace(SHORT)
    if not dense:
        np.testing.assert_allclose(trace.pooled, pooled(folder, SHORT, mean=False), atol=1e-5)
    np.testing.assert_allclose(trace.probabilities, head.predict_proba(trace.pooled[None])[0], atol=1e-5)
    assert abs(explained(model, trace, ["gradient"]).token_scores["gradient"]).max() > 0
    store_head(head, folder)
    stored, again = sentviz.load(folder), sentviz.load(training.adopt(folder, "", tmp_path / "runs").folder)
    np.testing.assert_allclose(answers(stored, TEXT), answers(model, TEXT), atol=1e-6)
    np.testing.assert_allclose(answers(again, TEXT), answers(model, TEXT), atol=1e-5)
    assert again.config == stored.config and again.config.pooling == pooling[: 4 if pooling[0] == "m" else 3]


def test_heads_that_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = encoder(folders["bert"], tmp_path / "setfit")
    (folder / "model_head.pkl").write_bytes(b"cos\nsystem\n(S'touch /tmp/owned'\ntR.")
    refused(r"model_head\.pkl, a pickle.* is not read\. Give the classifier as an object", sentviz.load, folder)
    x, y = np.random.default_rng(0).normal(size=(30, 16)), np.arange(30) % 3
    (tmp_path / "head.safetensors").write_bytes(b"nothing")
    cases: dict[str, Any] = {
        "The head is a DecisionTreeClassifier": DecisionTreeClassifier().fit(x, y),
        r"needs a weight of .classes, 16.* not .3, 8": LogisticRegression().fit(x[:, :8], y),
        r"needs a weight of .classes, 16.* not .1, 16": torch.nn.Linear(16, 1),
        r"head\.safetensors is not a head": tmp_path / "head.safetensors",
        "does not say what its 3 classes mean": LogisticRegression().fit(x, y),
    }
    for match, head in cases.items():
        refused(match, sentviz.load, folder, head=head)
    refused("has a classification head, so it takes no other one", sentviz.load, folders["bert"], head=torch.nn.Linear(16, 3))
    for match, pooling in (("pools by max_tokens", "max_tokens"), ("pools by an unknown rule", "none")):
        refused(match, sentviz.load, encoder(folders["bert"], tmp_path / pooling, pooling=pooling))
    for match, path, more in (("names the parts", "1_Pooling", ["LayerNorm"]), ("names a folder outside", "../1_Pooling", [])):
        odd = encoder(folders["bert"], tmp_path / match, normalized=False)
        modules = json.loads((odd / "modules.json").read_text())
        modules[1]["path"] = path
        modules += [{"path": "2_LayerNorm", "type": f"sentence_transformers.models.{name}"} for name in more]
        (odd / "modules.json").write_text(json.dumps(modules))
        refused(match, sentviz.load, odd)


@pytest.mark.exhaustive
def test_a_model_is_adopted_without_data_and_gets_test_rows_later(toy_data: dict[str, datasets.Split], tmp_path: Path) -> None:
    folder = saved(tmp_path / "own", "bert", ("Pos", "Neg"))
    done = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path / "runs")])
    assert done.exit_code == 0 and "It has no test rows. `sentviz evaluate" in done.output
    run = Run.open(tmp_path / "runs" / "adopted" / "own")
    assert run.labels == ("Pos", "Neg") and not run.has_rows and run.metrics() == {} and not faults([run])
    np.testing.assert_allclose(answers(sentviz.load(run), TEXT), answers(sentviz.load(folder), TEXT), atol=1e-6)
    row = catalog([tmp_path / "runs"]).set_index("run").loc["adopted/own"]
    assert row["problem"] == "" and np.isnan(row["accuracy"]) and plain_name(run) == "Own"
    text = card(run)
    assert "has no test rows" in text and "Not calibrated" in text and "one that sentviz knows" not in text
    refused(r"adopted without data\. `sentviz evaluate .* --data DATASET` adds", run.frame, "test.parquet")
    done = CliRunner().invoke(main, ["evaluate", str(run.folder), "--data", "toy"])
    measured = Run.open(run.folder, run.name)
    assert done.exit_code == 0 and measured.has_rows and measured.labels == ("Pos", "Neg") and not faults([measured])
    rows, stored = toy_data["test"].frame, measured.frame("test.parquet")
    np.testing.assert_array_equal(stored["label"], 1 - rows["label"].to_numpy())
    predicted = sentviz.load(folder).predict(rows["text"].tolist())["label"].to_numpy() == "Pos"
    assert measured.metrics()["test"]["accuracy"]["value"] == pytest.approx((predicted == rows["label"]).mean(), abs=1e-5)
    refused("has the test rows of toy already", training.evaluate_on, measured, "toy")
    assert "accuracy" in CliRunner().invoke(main, ["evaluate", str(run.folder), "--data", "toy"]).output


def test_classes_that_cannot_be_told(tmp_path: Path, folders: dict[str, Path]) -> None:
    for names in (("pos", "positive"), ("one star", "five stars")):
        refused("name the model's classes as the data set does", order, names, ("negative", "positive"), "twice the same")
    recipe = Recipe.of({"dataset": "toy", "model": "m", "source": "someone/m"})
    assert (recipe.schedule, recipe.epochs, recipe.batch_size, recipe.learning_rate, recipe.max_length) == ("linear", 3, 32, 2e-5, 128)
    assert Recipe.of(recipe.as_dict() | {"schedule": "cosine"}).schedule == "cosine"
    refused("no setting 'speed'", training.finetune, folders["bert"], "toy", tmp_path, speed=3)
    refused(r"batch_size must be a .*, not 0", training.finetune, folders["bert"], "toy", tmp_path, batch_size=0)


def test_fine_tuning_begins_with_its_recipe(toy_data: dict[str, datasets.Split], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, folder, root = list[Any](), model_folder(tmp_path / "my bert"), tmp_path / "runs"
    monkeypatch.setattr(foreign, "completed", lambda *words, **more: calls.append((words, more)))
    monkeypatch.setattr(foreign, "ForeignTask", lambda *words, **more: SimpleNamespace(read=(words, more)))
    monkeypatch.setattr(foreign, "occupied", lambda *words: calls.append(words))
    first = next(iter(examples_for(("negative", "positive"), "en").values())).text
    training.finetune(folder, "toy", root, lexicon="own", injection="all", device="cpu", epochs=7)
    (name, out, make), more = calls.pop()
    assert (name, out, more) == ("toy/my-bert-all", root, {"device": "cpu", "progress": True})
    values = {"dataset": "toy", "model": "my-bert-all", "lexicon": "own", "source": str(folder), "epochs": 7, "example": first}
    make("cuda")
    assert calls.pop() == (root / name, ((Recipe.of(values), folder, "all", "cuda"), {"allow_pickle": False}))
    monkeypatch.setattr(datasets, "info", lambda name: SimpleNamespace(labels=()))
    refused("toy has no classes to predict", training.finetune, folder, "toy", tmp_path)


def test_a_lexicon_is_a_constant_of_the_training(
    toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    values = {"epochs": 1, "batch_size": 32, "max_length": 24, "dataset": "toy", "model": "bert-all", "source": "bert", "lexicon": "own"}
    subject = ForeignTask(Recipe.of(values | {"example": SHORT}), folders["bert"], "all")
    Trainer(subject, tmp_path / "toy" / "bert").fit(progress=False)
    table = lexicon.polarity(subject.tokenizer)
    table[list(subject.tokenizer.special_ids)] = 1 / 3
    assert torch.equal(subject.network.polarity, torch.from_numpy(table))


def test_other_classes_or_another_folder_are_another_run_and_no_run_is_replaced(tmp_path: Path) -> None:
    first, namesake = (saved(tmp_path / place / "good", kind, ("LABEL_0", "LABEL_1")) for place, kind in (("a", "bert"), ("b", "electra")))
    worded = changed(first, tmp_path / "c" / "good") / "tokenizer.json"
    stored = json.loads(worded.read_text())
    stored["normalizer"]["lowercase"] = False
    worded.write_text(json.dumps(stored))
    order, swapped = ("negative", "positive"), ("positive", "negative")

    def opened(folder: Path, classes: tuple[str, str]) -> Run:
        return training.adopt(folder, "", tmp_path / "runs", classes=classes, own_name=True)

    def positive(run: Run, label: str = "positive") -> float:
        return sentviz.load(run).predict([SHORT])[label].item()

    run = opened(first, order)
    before, wanted = run.digest, positive(run)
    further = [opened(first, swapped), opened(namesake, order), opened(worded.parent, order)]
    assert len({run.name, *(each.name for each in further)}) == 4 and all(each.name.startswith("adopted/good-") for each in further)
    assert opened(first, order) == run and Run.open(run.folder).labels == order and further[0].labels == swapped
    assert Run.open(run.folder).digest == before and positive(run) == wanted
    assert positive(further[0], "negative") == pytest.approx(wanted, abs=1e-6)
    (run.folder / "tokenizer.json").write_text("{}")  # A damaged run is written again.
    assert positive(opened(first, order)) == wanted


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("onnxruntime") is None or find_spec("onnxscript") is None, reason="the extra onnx is not installed")
@pytest.mark.parametrize("kind", ["bert", "modernbert", "deberta-v2", "mpnet", "gpt2", "qwen2"])
def test_an_adopted_model_is_exported(kind: str, tmp_path: Path) -> None:
    run = training.adopt(saved(tmp_path / kind, kind), "", tmp_path / "runs")
    card = export(run, tmp_path / "exported", maps=True)
    assert card["compared"]["largest_difference"] < 1e-4 and card["outputs"] == ["logits", "pooled", "attention"]
    ours, theirs = (model.predict([TEXT, SHORT])[list(run.labels)].to_numpy() for model in (sentviz.load(run), load(tmp_path / "exported")))
    np.testing.assert_allclose(theirs, ours, atol=1e-4)
