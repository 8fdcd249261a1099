"""Runs: trained again, controls of lambda's start, model cards, measurements after each epoch, and pictures that move between epochs."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from click.testing import CliRunner
from huggingface_hub import ModelCard
from safetensors.torch import load_file

from sentviz.analysis.embeddings.cache import Cache
from sentviz.analysis.embeddings.projection import align
from sentviz.analysis.epochs import Measured, epoch_series, events, examples, files, measure_epoch, pictures, sample
from sentviz.analysis.maps.heads import over_split
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import percent
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.papers.cards import card, filename
from sentviz.papers.ndt.study import controlled_lambdas, describe_controls
from sentviz.papers.studies.cross_domain import stored_accuracies
from sentviz.papers.studies.runner import Checked, beside, checked, drawn, light
from sentviz.runs.catalog import study_runs
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run, find
from sentviz.training import train
from tests import kit, slow
from tests.kit import refused, toy_recipe, use_toy_data
from tests.shipped import ASKABLE, ROOT, SHIPPED, of_each
from tests.studies import answering, made_run


def test_runs_are_drawn_and_answers_compared_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    available = [made_run(tmp_path, "sst2", model, seed) for model in ("vanilla", "diff") for seed in (0, 1)]
    available.append(made_run(tmp_path, "imdb", "vanilla"))
    monkeypatch.setattr(Run, "has_weights", property(lambda run: run.name == "sst2/diff"))
    assert sorted(run.name for run in drawn(available, "ndt", "sst2", 9)) == ["sst2/diff-s1", "sst2/vanilla", "sst2/vanilla-s1"]
    some = [[run.name for run in drawn(available, "ndt", "sst2", 2, seed=seed)] for seed in (0, 0, 1, 2, 3)]
    assert some[0] == some[1] and all(len(set(each)) == 2 for each in some) and len({tuple(each) for each in some}) > 1
    assert {run.name for run in drawn(available, "ndt", "sst2", 9, models=["vanilla"])} == {"sst2/vanilla", "sst2/vanilla-s1"}
    for runs, count, message in (([], 1, "without weights"), (available, 0, "at least one")):
        refused(InputError, message, drawn, runs, "ndt", "sst2", count)
    first = answering(tmp_path, "a", [True] * 6)
    assert beside(first, answering(tmp_path, "b", [True] * 6, order=[3, 1, 0, 2, 5, 4])) == Checked("a", 6, 0, 0.0)
    difference = beside(first, answering(tmp_path, "c", [True, False, True, True, False, True]))
    assert (difference.differ, difference.largest) == (2, pytest.approx(0.7))
    refused(RunError, "other rows", beside, first, answering(tmp_path, "d", [True] * 5))
    refused(RunError, "other classes", beside, first, made_run(tmp_path, "sst2", "vanilla"))


@pytest.mark.exhaustive
def test_a_run_trained_again_gives_its_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_toy_data(monkeypatch)
    run = train(toy_recipe("vanilla", epochs=1), tmp_path / "whole", progress=False)
    light(run, tmp_path / "toy" / "vanilla")
    copy = Run.open(tmp_path / "toy" / "vanilla", "toy/vanilla")
    comparison = checked(copy, tmp_path / "again")
    assert not copy.has_weights and (comparison.differ, comparison.n) == (0, len(copy.frame("test.parquet"))) and comparison.largest < 1e-6
    stored = copy.frame("test.parquet")
    labels = list(copy.labels)
    wrong = SimpleNamespace(name=copy.name, labels=copy.labels, config=copy.config)
    wrong.frame = lambda name: pd.DataFrame(stored).assign(**{labels[0]: stored[labels[1]], labels[1]: stored[labels[0]]})
    for planted, code, message in (
        (copy, 0, f"{comparison.n:,} of {comparison.n:,} predictions equal"),
        (wrong, 1, "1 of these runs give different predictions"),
    ):
        monkeypatch.setattr("sentviz.papers.studies.runner.drawn", lambda *_, planted=planted, **__: [planted])
        result = CliRunner().invoke(main, ["study", "ndt", "--dataset", "sst2", "--check", "1"])
        assert result.exit_code == code and message in result.output


def varied(run: Path, folder: Path, variant: str, model: str = "ndt-free-2") -> Run:
    """Copy a run and mark it as a variant of another preset."""
    shutil.copytree(run, folder)
    config: dict[str, Any] = json.loads((folder / "config.json").read_text())
    config["recipe"] |= {"variant": variant, "model": model}
    (folder / "config.json").write_text(json.dumps(config))
    return Run.open(folder, f"toy/{folder.name}")


def test_lambdas_and_lengths_are_those_of_the_files(tiny_run: Path, tmp_path: Path) -> None:
    first, second = varied(tiny_run, tmp_path / "as-is", ""), varied(tiny_run, tmp_path / "frozen", "frozen")
    second_run = varied(tiny_run, tmp_path / "other", "", "ndt-unit-2")
    frame = controlled_lambdas([first, second, second_run], first.config["data"]["name"])
    assert controlled_lambdas([second_run], first.config["data"]["name"]).empty and describe_controls(Studied("ndt", [], "sst2")) == []
    assert set(frame["run"]) == {first.name, second.name}
    assert frame["variant"].unique().tolist() == ["", "frozen"]
    history = first.history()
    for row in frame.itertuples():
        values = [v for name, layer, c, v in history[["name", "layer", "component", "value"]].to_numpy() if name == "lambda"
                  and layer == row.layer and c == row.component]  # fmt: skip
        assert row.start == pytest.approx(values[0])
        assert row.change == pytest.approx(values[-1] - values[0])
        assert row.accuracy == first.metrics()["test"]["accuracy"]["value"]
    lines = describe_controls(Studied("ndt", [first, second, second_run], first.config["data"]["name"]))
    assert len(lines) == 2
    assert "every lambda stays at the preset's start" in lines[1]
    shutil.copytree(tiny_run, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    del config["model"]["max_length"]
    path.write_text(json.dumps(config))
    run = Run.open(tmp_path / "run")
    assert card(run, [run]).count(f"{run.shape.max_length:,} tokens") == 2
    refused(RunError, f"{run.shape.max_length:,}", run.longer, 1)


@kit.SHIPPED
def test_which_setting_ends_near_the_printed_lambdas() -> None:
    """The rate 1e-4 ends nearest to table IV on average; no training raises layer 2 more than layer 1."""
    frame = controlled_lambdas(study_runs().runs, "sst2")
    frame = frame[(frame["model"] == "ndt-free-3") & (frame["seed"] == 0)]
    apart = (frame["end"] - frame["printed"]).abs().groupby(frame["variant"]).mean().round(3).to_dict()
    assert apart == {
        "1e-4": 0.146, "frozen": 0.160, "slow-lambda": 0.163, "no-decay": 0.179, "": 0.196, "high": 0.205, "equal": 0.273, "swapped": 0.647
    }  # fmt: skip
    by_layer = frame.groupby(["variant", "layer"])["change"].mean().unstack()
    assert (by_layer[1] <= by_layer[0]).all()
    accuracy = frame.groupby("variant")["accuracy"].first()
    assert 100 * (accuracy[""] - accuracy["1e-4"]) == pytest.approx(1.71, abs=0.01)


SECTIONS = ["Use", "Model", "Data", "Training", "Test", "Calibration", "Behaviour", "Limits", "Files"]
ships = pytest.mark.skipif(not (ROOT / "sst2" / "ndt-unit-2").is_dir(), reason="checkpoints/ is not here")


@of_each([*ASKABLE, *{run.config["data"]["name"]: run for run in SHIPPED if not run.has_weights}.values()], few=True)
def test_every_run_has_a_card(run: Run) -> None:
    text = card(run, SHIPPED)
    read, metrics = ModelCard(text, ignore_metadata_errors=False), run.metrics()
    assert read.data.model_name == run.name
    values = {(result.dataset_split, result.metric_type): result.metric_value for result in read.data.eval_results}
    splits = metrics.keys() & {"test", "official_test"}
    assert values == {(split, kind): metrics[split][kind]["value"] for split in splits for kind in ("accuracy", "f1_macro")}
    assert re.findall(r"^## (.*)$", read.text, re.MULTILINE) == SECTIONS
    for table in re.findall(r"(?:^\|.*\n)+", read.text, re.MULTILINE):
        rows = table.replace("\\|", "").splitlines()
        assert len(rows) > 2 and len({row.count("|") for row in rows}) == 1, rows[0]
    info = datasets.info(run.config["data"]["name"])
    assert run.digest in text and f"Licence: {info.licence}." in text and yaml.safe_load(text.split("---")[1])["license"] == "mit"
    assert ("sentviz.load" in text) == run.has_weights
    assert f"{metrics['test']['accuracy']['value']:.4f}" in text and f"{metrics['test']['accuracy']['low']:.4f}" in text


@ships
def test_limits_are_what_was_measured_of_its_digest() -> None:
    run = find("english/ndt-unit-2", [ROOT])
    table = stored_accuracies()
    rows = table[(table["who"] == run.name) & (table["digest"] == run.digest)].set_index(["set", "tag"])
    limits = card(run).partition("## Limits")[2].partition("## Files")[0]
    kinds = rows.loc["demo"].drop("all")
    for name, row in kinds.iterrows():
        assert f"| {name} | {percent(row['accuracy'])} | {row['n']} | {percent(row['low'])} to {percent(row['high'])} |" in limits
    weak = re.search(r"accuracy below 75\u00a0%: (.*)\.", limits)
    assert weak and set(weak[1].split(", ")) == {name for name in kinds.index if kinds.loc[name, "accuracy"] < 0.75}
    assert "| IMDb *(at home)* |" in limits and f"| {percent(rows.loc[('imdb', 'all'), 'accuracy'])} |" in limits
    assert card(run).count("Licence: ") > 3
    text = card(find("sst2/ndt-unit-2", [ROOT]), SHIPPED)
    names = ("sst2/ndt-unit-2", "sst2/ndt-unit-2-s1", "sst2/ndt-unit-2-s2")
    values = [find(name, [ROOT]).metrics()["test"]["accuracy"]["value"] for name in names]
    assert f"mean {sum(values) / 3:.4f}" in text and "NDT reports an accuracy of 0.9174" in text
    assert "seeds (" not in card(find("sst2/ndt-unit-2", [ROOT]))


def test_calibration_is_worked_out_from_the_predictions(tmp_path: Path) -> None:
    run = made_run(tmp_path, "mine", "vanilla", wrong=30)
    frame = run.frame("test.parquet")
    bins: dict[int, list[tuple[float, bool]]] = {}
    for *shares, label in frame[[*run.labels, "label"]].itertuples(index=False):
        sure = max(shares)
        bins.setdefault(min(int(sure * 15 - 1e-9), 14), []).append((sure, shares.index(sure) == label))
    error = sum(abs(sum(c for c, _ in rows) - sum(right for _, right in rows)) for rows in bins.values()) / len(frame)
    text = card(run)
    assert f"(n = 200): {error:.4f} without T" in text
    assert "not one that sentviz knows" in text and "so it cannot make predictions" in text and "its weights are not installed" in text


def test_the_command_writes_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        made_run(tmp_path / "runs", "toy", "vanilla", name=name)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, ["card", *words])
        return f"{done.exit_code} {done.output}"

    assert "# toy/one" in run("toy/one")
    assert run("toy/one", "-o", "deep/one.md").endswith(": 1\n") and Path("deep/one.md").read_text(encoding="utf-8").startswith("---")
    assert run("toy/one", "toy/two", "-o", "cards").endswith(": 2\n")
    assert sorted(path.name for path in Path("cards").iterdir()) == [filename(find(f"toy/{name}")) for name in ("one", "two")]
    assert run().startswith("2 ") and run("toy/none").startswith("1 ")
    Path("runs/toy/one/metrics.json").write_text("{}")
    with pytest.raises(RunError, match=r"metrics\.json"):
        card(find("toy/one", ["runs"]))


@pytest.fixture
def copy(kept_epochs: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_epochs, tmp_path / "toy" / "ndt-unit-2-epochs"))


def test_training_measures_what_it_keeps(kept_epochs: Path) -> None:
    run, rows = Run.open(kept_epochs), kit.toy_splits()["validation"].frame
    seen = epoch_series(run)
    assert run.epochs == run.measured == seen.epochs == (2, 3, 4) and not seen.problems
    assert seen.probabilities.shape == (3, 60, 2) and seen.counts.sum(axis=(1, 2)).tolist() == [60, 60, 60]
    assert sorted(seen.first.ids) == sorted(rows["id"])
    stored = b"".join(path.read_bytes() for path in (kept_epochs / "epochs").glob("*.measured.safetensors"))
    assert not any(text.encode() in stored for text in rows["text"])
    run, split = Run.open(kept_epochs), kit.toy_splits()["validation"]
    model, packed = load(run, epoch=3), load_file(kept_epochs / "epochs" / "3.safetensors")
    for name, tensor in model.network.state_dict().items():
        plain = packed[name].float() if name in packed else packed[f"{name}.int8"].float() * packed[f"{name}.scale"].float()
        assert torch.equal(tensor, plain)
    stored = Measured.load(run.path("epochs/3.measured.safetensors"))
    again = measure_epoch(model, sample(split, 400, 0), epoch=3)
    assert stored.ids == again.ids and stored.classes == again.classes == kit.LABELS
    for name in ("labels", "probabilities", "pooled"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(again, name))
    np.testing.assert_array_equal(stored.heads["value"], again.heads["value"].astype(np.float32))
    trace = model.trace(run.config["recipe"]["example"])
    np.testing.assert_allclose(examples(run)[0][3].map(1), trace.map(1), atol=1e-3)  # stored in half precision
    frame = split.frame.set_index("id").loc[list(stored.ids)]
    np.testing.assert_allclose(over_split(model, frame.reset_index())["value"], stored.heads["value"], atol=1e-5)
    assert model.calibrated(1.0).predict([frame["text"].iloc[7]])["positive"][0] == pytest.approx(stored.probabilities[7, 1], abs=1e-5)


def test_vectors_take_the_given_room_and_a_run_without_epochs_teaches_the_command(tiny_model: Model, tiny_run: Path) -> None:
    split = kit.toy_splits()["validation"]
    drawn = sample(split, 30, seed=3)
    assert [len(measure_epoch(tiny_model, drawn, epoch=1, **room).pooled) for room in ({"room": 32 * 7 + 31}, {})] == [7, 30]
    first, again, another = (sample(split, 20, seed).frame["id"].tolist() for seed in (0, 0, 1))
    assert first == again != another and len(set(first)) == 20 and len(sample(split, 400, 0)) == len(split)
    done = CliRunner().invoke(main, ["epochs", str(tiny_run)])
    assert done.exit_code == 1 and "sentviz train toy --model ndt-unit-2 --keep-epochs 4" in done.output
    refused(
        RunError,
        r"keeping the weights of each epoch. `sentviz train toy --model ndt-unit-2 --keep-epochs 4`",
        epoch_series,
        Run.open(tiny_run),
    )


def test_a_damaged_epoch_is_named_and_the_rest_is_read(copy: Path) -> None:
    torn = copy / "epochs" / "3.measured.safetensors"
    torn.write_bytes(torn.read_bytes()[:200])
    (copy / "epochs" / "2.example.safetensors").unlink()
    seen = epoch_series(Run.open(copy))
    assert seen.epochs == (2, 4) and len(seen.problems) == 1 and "3.measured.safetensors is damaged" in seen.problems[0]
    traces, problems = examples(Run.open(copy))
    assert list(traces) == [3, 4] and "2.example.safetensors is missing" in problems[0]
    torn.write_bytes(b"no table")
    refused(RunError, r"3\.measured\.safetensors does not contain the measurements", Measured.load, torn)
    for epoch in (2, 4):
        (copy / "epochs" / f"{epoch}.measured.safetensors").unlink()
    refused(RunError, "is missing", epoch_series, Run.open(copy))


def test_an_epoch_measured_on_other_rows_is_left_out(copy: Path) -> None:
    run = Run.open(copy)
    tables = files(run, kit.toy_splits()["validation"], ("warm", None), rows=3)
    path = copy / "epochs" / "4.measured.safetensors"
    tables["epochs/4.measured.safetensors"](path)
    config = json.loads((copy / "config.json").read_text())
    config["files"]["epochs/4.measured.safetensors"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (copy / "config.json").write_text(json.dumps(config))
    seen = epoch_series(Run.open(copy))
    assert seen.epochs == (2, 3) and "epoch 4 was measured on other rows" in seen.problems[0]


def test_pictures_keep_distances_and_events_are_those_made_by_hand() -> None:
    rng = np.random.default_rng(1)
    flat, plane = rng.normal(size=(3, 20, 2)), np.linalg.qr(rng.normal(size=(8, 2)))[0].T
    joint = pictures(flat @ plane)
    for a, b, i, j in rng.integers(0, [3, 3, 20, 20], size=(200, 4)):
        assert np.linalg.norm(joint[a, i] - joint[b, j]) == pytest.approx(np.linalg.norm(flat[a, i] - flat[b, j]), abs=1e-9)
    x, y = np.random.default_rng(2).normal(size=(2, 12, 2)) * [[[3.0, 1.0]], [[2.0, 0.5]]]
    assert float(np.linalg.norm(align(x, y)(x) - y)) <= slow.nearest_turn(x.tolist(), y.tolist()) + 1e-6
    rng = np.random.default_rng(3)
    first = rng.normal(size=(25, 8)) * [4, 3, *[0.1] * 6]
    turned = np.stack([first, *(first @ np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in range(3))])
    aligned = pictures(turned, "aligned")
    np.testing.assert_allclose(aligned[1:], np.broadcast_to(aligned[:1], (3, 25, 2)), atol=1e-9)
    refused(InputError, "joint or aligned", pictures, turned, "sideways")
    refused(InputError, "at least one epoch", events, np.zeros((0, 3)))
    rows = {
        "rrrrr": (0, 0, 0, "right throughout"),
        "wwwww": (-1, 0, 0, "never right"),
        "wwrrr": (2, 0, 0, "learned"),
        "rwwww": (0, 1, 0, "forgotten"),
        "wrwrr": (1, 1, 1, "learned again"),
        "rwrwr": (0, 2, 2, "learned again"),
        "wrwrw": (1, 2, 1, "forgotten"),
    }
    forgetting = events(np.array([[letter == "r" for letter in row] for row in rows]).T)
    assert list(zip(forgetting.learned, forgetting.forgotten, forgetting.again, forgetting.kinds, strict=True)) == list(rows.values())


def test_a_file_that_another_process_pruned_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path, disk=1)
    cache.put("old", {"x": np.zeros(100)})
    stat = Path.stat

    def gone(path: Path, **options: Any) -> os.stat_result:
        if path.name == "old.safetensors":
            path.unlink(missing_ok=True)
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", gone)
    cache.put("new", {"x": np.ones(100)})
    assert cache.problem == ""
    monkeypatch.undo()
    value = Cache(tmp_path).get("new")
    assert value is not None and (value["x"] == 1).all() and Cache(tmp_path).get("old") is None
