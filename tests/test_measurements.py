"""Measurements by command and from a page, which store a table with the run, and the stored measurements of shipped runs."""

import shutil
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import sentviz
from sentviz.analysis.explain import SCORES, stored
from sentviz.analysis.explain.counterfactual import smallest_flip
from sentviz.analysis.explain.faithfulness import FILE, over_split, sampled
from sentviz.analysis.explain.measured import FOLDER, faithfulness_of, flips_of, flips_over, times_over
from sentviz.analysis.explain.scores import LARGER
from sentviz.analysis.measurements import MEASUREMENTS, measure_rows, measure_run
from sentviz.cli import main
from sentviz.errors import InputError, RunError
from sentviz.runs.store import Run
from sentviz.runs.writing import take_in, write
from tests import kit
from tests.injected import use_injected_data, write_lexicon
from tests.kit import SHIPPED, refused, small_model, toy_splits
from tests.shipped import ROOT
from tests.shipped import SHIPPED as RUNS

MEASURED = {"faithfulness --sample 4": "faithfulness", "referee --sample 2": "referee", "directions --sample 30": "directions"}
MEASURED |= {"heads": "heads", "words": "words", "specialise --sample 8 --inits 1": "components"}
COMMANDS = {line: f"{name}.parquet" for line, name in MEASURED.items()} | {"epochs --sample 20": "epochs/2.measured.safetensors"}
COMMANDS |= dict.fromkeys(("gates", "leaders", "calibrate", "evaluate"), "")  # the run has no gate and no leaders
TEXTS = toy_splits()["test"].frame["text"].tolist()


def page() -> None:
    import streamlit as st

    from app import cache
    from app.blocks.measure import lacking

    run = cache.run("toy/ndt-unit-2")
    if "heads.parquet" in run.config["files"]:
        st.write(f"{len(run.frame('heads.parquet'))} numbers")
    else:
        lacking(run, "heads")


def test_a_button_measures_and_the_page_follows(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.use_toy_data(monkeypatch)
    shutil.copytree(tiny_run, tmp_path / "toy" / "ndt-unit-2")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    monkeypatch.setattr("app.blocks.get_data.own_machine", lambda address, headers: True)
    monkeypatch.setattr("app.blocks.measure.own_machine", lambda address, headers: True)
    monkeypatch.setattr("app.blocks.measure.offer", lambda name, split, place: True)  # the toy set is in no list
    st.cache_resource.clear()
    own = tmp_path
    app = AppTest.from_function(page, default_timeout=30).run()
    assert "`sentviz heads toy/ndt-unit-2` measures them" in app.info[0].value and not app.exception
    (button,) = app.button
    assert button.label == "Measure them here"
    button.click().run()
    for thread in [thread for thread in threading.enumerate() if thread.name == "The heads of toy/ndt-unit-2"]:
        thread.join(60)
    app.run()
    assert not app.exception and not app.button and app.markdown[-1].value.endswith("numbers")
    run = Run.open(own / "toy" / "ndt-unit-2")
    first = run.frame("heads.parquet")
    assert measure_run("heads", run).frame("heads.parquet").equals(first)


def test_what_a_model_lacks_is_said_before_anything_is_read(tiny_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["specialise", "gates", "leaders", "heads"]:
        monkeypatch.setattr("sentviz.data.datasets.rows_of_recipe", lambda *_: pytest.fail("rows are read"))
        monkeypatch.setattr("sentviz.analysis.maps.wordclasses.word_classes", lambda: pytest.fail("a lexicon is read"))
        run = Run.open(tiny_runs / "toy" / "vanilla-matched", "toy/vanilla-matched")
        box = sentviz.load(lambda texts: np.full((len(texts), 2), 0.5), classes=("no", "yes"))
        if name != "heads":
            refused(InputError, r"^toy/vanilla-matched has (one attention map|no gates|no leaders)", measure_run, name, run)
        with pytest.raises(InputError, match=r"has no (attention|gates|leaders)"):
            measure_rows(name, box, kit.toy_splits()["test"])


def contents(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def shipped(kept_epochs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shipped run in a folder of its own, and an empty library."""
    use_injected_data(monkeypatch)
    write_lexicon(tmp_path / "data")
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path / "data"))
    root = tmp_path / "checkpoints"
    shutil.copytree(kept_epochs, root / "toy" / kept_epochs.name)
    monkeypatch.setattr("sentviz.runs.store.SHIPPED", root)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    return root / "toy" / kept_epochs.name


@pytest.mark.exhaustive
def test_no_command_changes_a_byte_of_a_shipped_run_and_each_table_is_found(shipped: Path) -> None:
    before, digest = contents(shipped), Run.open(shipped).digest
    assert {line.split()[0] for line in COMMANDS} >= MEASUREMENTS.keys()
    for line, file in COMMANDS.items():
        name, *options = line.split()
        done = CliRunner().invoke(main, [name, str(shipped), *options])
        assert contents(shipped) == before and sorted(shipped.parent.iterdir()) == [shipped], line
        assert (done.exit_code == 0) == (bool(file) or name == "evaluate"), done.output
        assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)
        if file:
            assert file in Run.open(shipped).files and Run.open(shipped).path(file).is_relative_to(shipped.parents[2] / "home")
    run = Run.open(shipped)
    assert run.digest == digest and run.measured == run.epochs and not run.frame("heads.parquet").empty
    changed = shipped.parent / "changed"
    shutil.copytree(shipped, changed)
    (changed / "config.json").write_text((shipped / "config.json").read_text() + "\n")
    assert Run.open(changed).digest != digest and Run.open(changed).files == Run.open(changed).config["files"]


def test_tables_of_a_shipped_run_are_read_everywhere_by_one_mechanism(shipped: Path, tiny_run: Path) -> None:
    assert "heads.parquet" not in Run.open(shipped).files
    run = measure_run("heads", Run.open(shipped))
    assert run.is_shipped and not Run.open(tiny_run).is_shipped
    elsewhere = shipped.parents[2] / "runs" / "toy" / shipped.name
    shutil.copytree(shipped, elsewhere)
    theirs = measure_run("heads", Run.open(elsewhere))
    assert theirs.digest != run.digest and theirs.path("heads.parquet").parent == elsewhere
    assert theirs.frame("heads.parquet").equals(run.frame("heads.parquet"))
    assert run.at(run.epochs[0]).frame("heads.parquet").equals(run.frame("heads.parquet"))
    run.path("heads.parquet").write_bytes(b"damaged")
    refused(RunError, r"heads\.parquet is damaged or was replaced", run.frame, "heads.parquet")
    assert measure_run("heads", run).frame("heads.parquet").equals(theirs.frame("heads.parquet"))
    (run.beside / "config.json").write_text("{")
    assert "heads.parquet" not in Run.open(shipped).files


def test_a_measured_table_never_stands_in_for_weights_and_moves_into_the_run_before_a_release(shipped: Path) -> None:
    run = Run.open(shipped)
    write(run.beside, {}, {file: lambda path: path.write_bytes(b"mine") for file in ("model.safetensors", "test.parquet", "heads.parquet")})
    assert {file for file, digest in run.files.items() if digest != run.config["files"].get(file)} == {"heads.parquet"}
    (run.beside / "config.json").unlink()
    run = measure_run("heads", Run.open(shipped))
    table, digest, files = run.frame("heads.parquet"), run.digest, run.files
    moved = take_in(run)
    assert moved.digest != digest and moved.config["files"] == files and not run.beside.exists()
    assert moved.path("heads.parquet").parent == shipped and moved.frame("heads.parquet").equals(table)


@pytest.mark.exhaustive
def test_flips_over_a_sample_are_those_of_each_text() -> None:
    model = small_model(1)
    traces = list(sampled(model, TEXTS, sample=6, seed=0))
    assert [trace.text for trace in traces] == [TEXTS[i] for i in np.random.default_rng(0).permutation(len(TEXTS))[:6]]
    frame = flips_over(model, TEXTS, sample=6).set_index("metric")
    flips = [smallest_flip(model, each, seed=i) for i, each in enumerate(traces)]
    single = [len(flip.edits) == 1 for flip in flips]
    wanted = {"found": np.mean([bool(flip.edits) for flip in flips]), "one": np.mean(single),
              "known": np.mean([is_single or flip.complete for is_single, flip in zip(single, flips, strict=True)]),
              "passes": np.mean([flip.passes + flip.drawn for flip in flips])}  # fmt: skip
    assert {name: frame.loc[name, "value"] for name in wanted} == pytest.approx(wanted, abs=1e-3)
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all() and frame.loc["passes", "n"] == 6

    times = times_over(small_model(), TEXTS, sample=2)
    names = {name for name in SCORES if not SCORES[name].package} - {"difference", *LARGER}
    assert set(times["method"]) - {"clauses"} == names and set(times["n"]) == {2} and (times["value"] > 0).all()


def test_a_row_is_of_the_run_with_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    own = over_split(small_model(), TEXTS, ["received"], sample=2)
    beside = own.assign(method="units", run="toy/one", digest="abc")
    monkeypatch.setattr(stored, "read_measured", {"faithfulness": beside, "flips": beside.iloc[:0]}.__getitem__)

    def run(digest: str, files: dict[str, str]) -> Any:
        return SimpleNamespace(name="toy/one", digest=digest, files=files, frame=lambda file: own)

    both, alone = (faithfulness_of(run(digest, {FILE: ""})) for digest in ("abc", "abd"))
    assert set(both["method"]) == {"received", "random", "units"} and list(both.columns) == list(own.columns)
    assert set(alone["method"]) == {"received", "random"}
    assert faithfulness_of(run("abd", {})).empty and flips_of(run("abc", {})).empty


@SHIPPED
def test_what_ships_is_of_runs_that_ship() -> None:
    by_name, tables = {run.name: run for run in RUNS}, {file: pd.read_csv(FOLDER / f"{file}.csv") for file in ("faithfulness", "flips")}
    for table in tables.values():
        assert all(set(part["digest"]) == {by_name[name].digest} for name, part in table.groupby("run"))
    for name, part in tables["faithfulness"].groupby("run"):
        if FILE in by_name[name].config["files"]:
            own, new = by_name[name].frame(FILE), part[part["metric"] != "milliseconds"]
            random = [each.drop_duplicates("metric").set_index("metric")["random"].to_dict() for each in (new, own)]
            assert random[0] == pytest.approx(random[1], abs=2e-3) and not set(new["method"]) & set(own["method"])
    flips = tables["flips"]
    equal = flips[flips["metric"] == "equal"]
    assert set(flips["run"]) == set(equal["run"]) == {run.name for run in RUNS if run.has_weights} and ROOT.is_dir()
    assert equal["value"].min() >= 0.98
