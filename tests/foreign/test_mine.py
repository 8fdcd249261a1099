"""Models that people bring: folders and models in memory, heads on encoders, runs without data, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

transformers = pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")

import sentviz  # noqa: E402
from sentviz import training  # noqa: E402
from sentviz.analysis.explain import explained  # noqa: E402
from sentviz.cli import main  # noqa: E402
from sentviz.data import datasets  # noqa: E402
from sentviz.errors import InputError, RunError  # noqa: E402
from sentviz.models.hub import store_head  # noqa: E402
from sentviz.papers.cards import card  # noqa: E402
from sentviz.runs.catalog import catalog, faults  # noqa: E402
from sentviz.runs.naming import plain_name  # noqa: E402
from sentviz.runs.store import Run  # noqa: E402
from tests.foreign.models import SHORT, TEXT, answers, changed, expected_output, saved, theirs  # noqa: E402

pytestmark = pytest.mark.slow
CLASSES = ["bad", "so-so", "good"]


def sentence(error: pytest.ExceptionInfo[Any]) -> str:
    message = str(error.value)
    assert message.endswith(".") and "\n" not in message
    return message


# ---- in memory ------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["bert", "modernbert"])
def test_a_folder_and_a_model_in_memory_give_equal_answers(kind: str, folders: dict[str, Path]) -> None:
    """Both ways to load give the logits of transformers; the model in memory stays as it was and is not shared."""
    own = transformers.AutoModelForSequenceClassification.from_pretrained(folders[kind]).eval()
    how = own.config._attn_implementation
    models = [sentviz.load(folders[kind]), sentviz.load(own, transformers.AutoTokenizer.from_pretrained(folders[kind]))]
    wanted = expected_output(folders[kind], TEXT).logits
    for model in models:
        np.testing.assert_allclose(answers(model, TEXT), wanted, atol=1e-3)
        assert model.labels == ("NEGATIVE", "NEUTRAL", "POSITIVE") and model.trace(SHORT).attention is not None
    assert own.config._attn_implementation == how
    with torch.no_grad():
        own.get_input_embeddings().weight.zero_()
    np.testing.assert_allclose(answers(models[1], TEXT), wanted, atol=1e-3)


@pytest.mark.exhaustive
def test_classes_without_names_are_asked_about(folders: dict[str, Path], tmp_path: Path) -> None:
    """LABEL_0, LABEL_1 and LABEL_2 are never given a meaning; names that are given are used in the model's order."""
    folder = saved(tmp_path / "plain", "bert", ("LABEL_0", "LABEL_1", "LABEL_2"))
    for load in (lambda: sentviz.load(folder), lambda: training.adopt(folder, "", tmp_path)):
        with pytest.raises(InputError, match=r"does not say what its 3 classes mean \(LABEL_0, LABEL_1, LABEL_2\).*--classes neg") as error:
            load()
        sentence(error)
    model = sentviz.load(folder, classes=CLASSES)
    assert model.labels == tuple(CLASSES)
    assert model.predict([TEXT])["label"][0] == CLASSES[int(expected_output(folder, TEXT).logits.argmax())]
    for wrong, match in ((["bad", "good"], "has 3 classes"), (["a", "a", "b"], "the same name"), ("bad,good", "must be a list")):
        with pytest.raises((InputError, RunError), match=match) as error:
            sentviz.load(folder, classes=wrong)
        sentence(error)
    refused = CliRunner().invoke(main, ["adopt", str(folder), "-o", str(tmp_path)])
    assert refused.exit_code == 1 and "--classes negative,neutral,positive" in refused.output


@pytest.mark.exhaustive
def test_what_is_no_classifier_of_one_class_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    sigmoid = "torch.nn.modules.activation.Sigmoid"
    cases = {
        "was trained for multi label classification": {"problem_type": "multi_label_classification"},
        "with a sigmoid for each label": {"sentence_transformers": {"activation_fn": sigmoid}},
        "with a sigmoid": {"sbert_ce_default_activation_function": sigmoid},
        "needs code of its repository": {"auto_map": {"AutoModel": "modeling.Own"}},
    }
    for i, (match, settings) in enumerate(cases.items()):
        with pytest.raises(RunError, match=match) as error:
            sentviz.load(changed(folders["bert"], tmp_path / str(i), **settings))
        sentence(error)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders["bert"])
    own = transformers.AutoModelForSequenceClassification.from_pretrained(folders["bert"])
    with pytest.raises(InputError, match="needs its tokenizer") as error:
        sentviz.load(own)
    sentence(error)

    class Mine(type(own)):  # type: ignore[misc]
        """A class whose forward pass may compute anything."""

    own.__class__ = Mine
    with pytest.raises(InputError, match="is not a model class of transformers") as error:
        sentviz.load(own, tokenizer)
    sentence(error)
    with pytest.raises(InputError, match="A run of sentviz has its tokenizer, its classes"):
        sentviz.load("sst2/ndt-unit-2", classes=CLASSES)


# ---- encoders and heads ---------------------------------------------------------------------------------------------


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


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["bert", "distilbert", "modernbert", "mpnet"])
def test_an_encoder_without_a_head_has_maps_and_vectors_but_no_classes(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    model = sentviz.load(encoder(folders[kind], tmp_path / "body"))
    assert not model.capabilities.predicts and model.labels == () and model.config.max_length == 40
    trace = model.trace(SHORT)
    np.testing.assert_allclose(trace.pooled, pooled(tmp_path / "body", SHORT), atol=1e-5)
    np.testing.assert_allclose(trace.attention, sentviz.load(folders[kind]).trace(SHORT).attention, atol=1e-5)
    logits, vectors = model.forward([model.encode(text).reading for text in (SHORT, TEXT)])
    assert logits.shape == (2, 0) and np.isfinite(vectors).all() and trace.label == ""
    assert np.isfinite(explained(model, trace, ["value-zeroing"]).token_scores["value-zeroing"]).all()
    for ask in (lambda: model.predict([SHORT]), lambda: explained(model, trace), lambda: training.adopt(tmp_path / "body", "", tmp_path)):
        with pytest.raises((InputError, RunError), match="has no classification head") as error:
            ask()
        sentence(error)


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


@pytest.mark.exhaustive
@pytest.mark.parametrize(("activation", "bias"), [("activation.Tanh", True), ("activation.GELU", True), ("linear.Identity", False)])
def test_dense_layers_of_sentence_transformers_are_computed(activation: str, bias: bool, folders: dict[str, Path], tmp_path: Path) -> None:
    """The vector is that of loops over single numbers; the gradients pass the layers; the model becomes a run with the same answers."""
    from sklearn.linear_model import LogisticRegression

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
    expected = [each / length for each in vector]
    np.testing.assert_allclose(sentviz.load(folder).trace(SHORT).pooled, expected, atol=1e-5)

    head = LogisticRegression(C=30).fit(np.random.default_rng(0).normal(size=(60, 5)), ["bad", "good"] * 30)
    store_head(head, folder)
    model = sentviz.load(folder)
    np.testing.assert_allclose(model.trace(SHORT).probabilities, head.predict_proba([expected])[0], atol=1e-5)
    assert abs(explained(model, model.trace(SHORT), ["gradient"]).token_scores["gradient"]).max() > 0
    run = training.adopt(folder, "", tmp_path / "runs")
    np.testing.assert_allclose(answers(sentviz.load(run.folder), TEXT), answers(model, TEXT), atol=1e-5)


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
    """Another activation, several activations, a wrong width, and pickled weights each give one sentence."""
    folder = encoder(folders["bert"], tmp_path / "odd")
    with_dense(folder, *(layers or [(16, 6, TANH)]))
    if not layers:
        (folder / "2_Dense" / "model.safetensors").rename(folder / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(RunError, match=why) as error:
        sentviz.load(folder)
    sentence(error)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["bert", "mpnet"])
@pytest.mark.parametrize(("classes", "pooling"), [(2, "mean_tokens"), (3, "cls_token")])
def test_a_linear_head_of_scikit_learn_is_opened_white_box(
    kind: str, classes: int, pooling: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    """The probabilities are those of the classifier on the sentence's vector, and the gradients pass the pooling; it becomes a run."""
    from sklearn.linear_model import LogisticRegression

    rng, names = np.random.default_rng(0), CLASSES[:classes]
    head = LogisticRegression(C=30).fit(rng.normal(size=(60, 16)), [names[i % classes] for i in range(60)])
    folder = encoder(folders[kind], tmp_path / "setfit", pooling=pooling)
    model = sentviz.load(folder, head=head)
    assert model.labels == tuple(head.classes_) and model.capabilities.predicts
    vector = pooled(folder, SHORT, mean=pooling == "mean_tokens")
    np.testing.assert_allclose(model.trace(SHORT).probabilities, head.predict_proba(vector[None])[0], atol=1e-5)
    trace = explained(model, model.trace(SHORT), ["gradient", "removal"])
    assert abs(trace.token_scores["gradient"]).max() > 0 and abs(trace.token_scores["removal"]).max() > 0

    store_head(head, folder)
    stored = sentviz.load(folder)
    np.testing.assert_allclose(answers(stored, TEXT), answers(model, TEXT), atol=1e-6)
    run = training.adopt(folder, "", tmp_path / "runs")
    again = sentviz.load(run.folder)
    np.testing.assert_allclose(answers(again, TEXT), answers(model, TEXT), atol=1e-5)
    assert again.config == stored.config and again.config.pooling == pooling[: 4 if pooling[0] == "m" else 3]


@pytest.mark.exhaustive
def test_heads_that_are_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    """A pickled head is never read, and each head that does not fit is one sentence."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.tree import DecisionTreeClassifier

    folder = encoder(folders["bert"], tmp_path / "setfit")
    (folder / "model_head.pkl").write_bytes(b"cos\nsystem\n(S'touch /tmp/owned'\ntR.")
    with pytest.raises(RunError, match=r"model_head\.pkl, a pickle.* is not read\. Give the classifier as an object") as error:
        sentviz.load(folder)
    sentence(error)
    x, y = np.random.default_rng(0).normal(size=(30, 16)), np.arange(30) % 3
    (tmp_path / "head.safetensors").write_bytes(b"nothing")
    cases: dict[str, Any] = {
        "The head is a DecisionTreeClassifier": DecisionTreeClassifier().fit(x, y),
        "The head is a OneVsRestClassifier": OneVsRestClassifier(LogisticRegression()).fit(x, y),
        r"needs a weight of .classes, 16.* not .3, 8": LogisticRegression().fit(x[:, :8], y),
        r"needs a weight of .classes, 16.* not .1, 16": torch.nn.Linear(16, 1),
        r"head\.safetensors is not a head": tmp_path / "head.safetensors",
        "does not say what its 3 classes mean": LogisticRegression().fit(x, y),
    }
    for match, head in cases.items():
        with pytest.raises(InputError, match=match) as error:
            sentviz.load(folder, head=head)
        sentence(error)
    with pytest.raises(InputError, match="has a classification head, so it takes no other one") as error:
        sentviz.load(folders["bert"], head=torch.nn.Linear(16, 3))
    sentence(error)
    for i, (match, pooling) in enumerate((("pools by max_tokens", "max_tokens"), ("pools by an unknown rule", "none"))):
        with pytest.raises(RunError, match=match) as error:
            sentviz.load(encoder(folders["bert"], tmp_path / f"odd{i}", pooling=pooling))
        sentence(error)
    for name, part in (("norm", "LayerNorm"), ("outside", "Pooling")):
        odd = encoder(folders["bert"], tmp_path / name, normalized=False)
        modules = json.loads((odd / "modules.json").read_text())
        modules += [{"path": "2_LayerNorm", "type": "sentence_transformers.models.LayerNorm"}] * (part == "LayerNorm")
        modules[1]["path"] = "../1_Pooling" if part == "Pooling" else "1_Pooling"
        (odd / "modules.json").write_text(json.dumps(modules))
        with pytest.raises(RunError, match=r"names the parts|names a folder outside") as error:
            sentviz.load(odd)
        sentence(error)


# ---- runs without data ----------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
def test_a_model_is_adopted_without_data_and_gets_test_rows_later(
    toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]
) -> None:
    """The run predicts and is undamaged; parts that need rows name the command; labels of added rows are matched by name."""
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
    report = CliRunner().invoke(main, ["report", str(run.folder), SHORT, "-o", str(tmp_path / "report.html")])
    assert report.exit_code == 0, report.output
    for ask in (lambda: run.frame("test.parquet"), lambda: datasets.rows_of_recipe(run.config["recipe"], "test")):
        with pytest.raises((RunError, InputError), match=r"adopted without data\. `sentviz evaluate .* --data DATASET` adds") as error:
            ask()
        sentence(error)

    done = CliRunner().invoke(main, ["evaluate", str(run.folder), "--data", "toy"])
    assert done.exit_code == 0, done.output
    measured = Run.open(run.folder, run.name)
    assert measured.has_rows and measured.labels == ("Pos", "Neg") and not faults([measured])
    rows, stored = toy_data["test"].frame, measured.frame("test.parquet")
    assert toy_data["test"].labels == ("negative", "positive")
    np.testing.assert_array_equal(stored["label"], 1 - rows["label"].to_numpy())
    predicted = sentviz.load(folder).predict(rows["text"].tolist())["label"].to_numpy() == "Pos"
    assert measured.metrics()["test"]["accuracy"]["value"] == pytest.approx((predicted == rows["label"]).mean(), abs=1e-5)
    with pytest.raises(RunError, match="has the test rows of toy already") as error:
        training.evaluate_on(measured, "toy")
    sentence(error)
    printed = CliRunner().invoke(main, ["evaluate", str(run.folder), "--data", "toy"])
    assert printed.exit_code == 0 and "accuracy" in printed.output
