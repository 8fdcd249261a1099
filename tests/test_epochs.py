"""Measurements after each epoch, forgetting events, pictures that move between epochs, and their cache."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from sentviz.analysis.embeddings.cache import Cache
from sentviz.analysis.embeddings.projection import align
from sentviz.analysis.epochs import Measured, epoch_series, events, examples, files, measure_epoch, pictures, sample
from sentviz.analysis.maps.heads import over_split
from sentviz.cli import main
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import percent
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.store import Run
from tests import kit, slow


@pytest.fixture
def copy(kept_epochs: Path, tmp_path: Path) -> Path:
    """Copy that run."""
    return Path(shutil.copytree(kept_epochs, tmp_path / "toy" / "ndt-unit-2-epochs"))


# ---- kept and measured


def test_training_measures_what_it_keeps(kept_epochs: Path) -> None:
    run, rows = Run.open(kept_epochs), kit.toy_splits()["validation"].frame
    seen = epoch_series(run)
    assert run.epochs == run.measured == seen.epochs == (2, 3, 4) and not seen.problems
    assert seen.probabilities.shape == (3, 60, 2) and seen.counts.sum(axis=(1, 2)).tolist() == [60, 60, 60]
    assert sorted(seen.first.ids) == sorted(rows["id"])
    stored = b"".join(path.read_bytes() for path in (kept_epochs / "epochs").glob("*.measured.safetensors"))
    assert not any(text.encode() in stored for text in rows["text"])


def test_a_loaded_epoch_is_its_codes_and_measures_as_stored(kept_epochs: Path) -> None:
    """Weights are stored codes times scales, bit for bit; predictions, vectors, heads and map are those of the files."""
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


def test_vectors_take_no_more_room_than_given(tiny_model: Model) -> None:
    split = kit.toy_splits()["validation"]
    drawn = sample(split, 30, seed=3)
    assert [len(measure_epoch(tiny_model, drawn, epoch=1, **room).pooled) for room in ({"room": 32 * 7 + 31}, {})] == [7, 30]
    first, again, another = (sample(split, 20, seed).frame["id"].tolist() for seed in (0, 0, 1))
    assert first == again != another and len(set(first)) == 20 and len(sample(split, 400, 0)) == len(split)


def test_the_command_measures_again(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.use_toy_data(monkeypatch)
    before = Run.open(copy)
    digest = before.digest
    done = CliRunner().invoke(main, ["epochs", str(copy), "--sample", "25", "--seed", "4"])
    assert done.exit_code == 0, done.output
    run = Run.open(copy)
    assert len(epoch_series(run).first.ids) == 25 and run.digest != digest
    assert all(run.config["files"][f"epochs/{n}.safetensors"] == before.config["files"][f"epochs/{n}.safetensors"] for n in (2, 3, 4))
    accuracy = float((epoch_series(run).right[0]).mean())
    assert f"    2{percent(accuracy, 2):>10}" in done.output and "25 texts of validation" in done.output


def test_a_run_without_kept_epochs_teaches_the_command(tiny_run: Path) -> None:
    done = CliRunner().invoke(main, ["epochs", str(tiny_run)])
    assert done.exit_code == 1 and "sentviz train toy --model ndt-unit-2 --keep-epochs 4" in done.output
    with pytest.raises(RunError, match=r"keeping the weights of each epoch. `sentviz train toy --model ndt-unit-2 --keep-epochs 4`"):
        epoch_series(Run.open(tiny_run))


def test_a_damaged_epoch_is_named_and_the_rest_is_read(copy: Path) -> None:
    """A torn file, one with other bytes under a right digest, and a missing one give a sentence each; without any file it is an error."""
    torn = copy / "epochs" / "3.measured.safetensors"
    torn.write_bytes(torn.read_bytes()[:200])
    (copy / "epochs" / "2.example.safetensors").unlink()
    seen = epoch_series(Run.open(copy))
    assert seen.epochs == (2, 4) and len(seen.problems) == 1 and "3.measured.safetensors is damaged" in seen.problems[0]
    traces, problems = examples(Run.open(copy))
    assert list(traces) == [3, 4] and "2.example.safetensors is missing" in problems[0]
    torn.write_bytes(b"no table")
    with pytest.raises(RunError, match=r"3\.measured\.safetensors does not contain the measurements"):
        Measured.load(torn)
    for epoch in (2, 4):
        (copy / "epochs" / f"{epoch}.measured.safetensors").unlink()
    with pytest.raises(RunError, match="is missing"):
        epoch_series(Run.open(copy))


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


# ---- forgetting


def test_forgetting_events_of_rows_made_by_hand() -> None:
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


# ---- pictures


def test_joint_pictures_keep_distances_of_a_plane() -> None:
    rng = np.random.default_rng(1)
    flat, plane = rng.normal(size=(3, 20, 2)), np.linalg.qr(rng.normal(size=(8, 2)))[0].T
    joint = pictures(flat @ plane)
    for a, b, i, j in rng.integers(0, [3, 3, 20, 20], size=(200, 4)):
        assert np.linalg.norm(joint[a, i] - joint[b, j]) == pytest.approx(np.linalg.norm(flat[a, i] - flat[b, j]), abs=1e-9)


def test_alignment_is_the_best_of_all_turns() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 12, 2)) * [[[3.0, 1.0]], [[2.0, 0.5]]]
    assert float(np.linalg.norm(align(x, y)(x) - y)) <= slow.nearest_turn(x.tolist(), y.tolist()) + 1e-6


def test_aligned_pictures_follow_the_rows() -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(size=(25, 8)) * [4, 3, *[0.1] * 6]
    turned = np.stack([first, *(first @ np.linalg.qr(rng.normal(size=(8, 8)))[0] for _ in range(3))])
    aligned = pictures(turned, "aligned")
    np.testing.assert_allclose(aligned[1:], np.broadcast_to(aligned[:1], (3, 25, 2)), atol=1e-9)
    for call, why in ((lambda: pictures(turned, "sideways"), "joint or aligned"), (lambda: events(np.zeros((0, 3))), "at least one epoch")):
        with pytest.raises(InputError, match=why):
            call()


def test_a_file_that_another_process_pruned_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may be deleted between listing and reading; the entry just written stays and is counted as written."""
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
