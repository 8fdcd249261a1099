"""Model cards of the runs that ship, made of their files alone."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from huggingface_hub import ModelCard

from sentviz.cli import main
from sentviz.data import datasets
from sentviz.errors import RunError
from sentviz.io.numbers import percent
from sentviz.papers.cards import card, filename
from sentviz.papers.studies.cross_domain import stored_accuracies
from sentviz.runs.store import Run, find
from tests.shipped import ASKABLE, ROOT, SHIPPED, of_each
from tests.studies import made_run

SECTIONS = ["Use", "Model", "Data", "Training", "Test", "Calibration", "Behaviour", "Limits", "Files"]
ships = pytest.mark.skipif(not (ROOT / "sst2" / "ndt-unit-2").is_dir(), reason="checkpoints/ is not here")


@pytest.mark.slow
@of_each([*ASKABLE, *{run.config["data"]["name"]: run for run in SHIPPED if not run.has_weights}.values()], few=True)
def test_every_run_has_a_card(run: Run) -> None:
    """The hub's reader finds the numbers of metrics.json in the card's head; it has all sections, complete tables, licence and digest."""
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


def test_a_length_that_is_not_stored_is_that_of_the_shape(tiny_run: Path, tmp_path: Path) -> None:
    """A length that config.json leaves out is the default of the shape."""
    shutil.copytree(tiny_run, tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    del config["model"]["max_length"]
    path.write_text(json.dumps(config))
    run = Run.open(tmp_path / "run")
    assert card(run, [run]).count(f"{run.shape.max_length:,} tokens") == 2
    with pytest.raises(RunError, match=f"{run.shape.max_length:,}"):
        run.longer(1)


@ships
def test_limits_are_what_was_measured_of_its_digest() -> None:
    """Phenomena and other domains are those stored for the run's digest; a run with other bytes has none."""
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
    # a mixture names the licences of what it is made of
    assert card(run).count("Licence: ") > 3


@ships
def test_seeds_and_prints_stand_beside() -> None:
    text = card(find("sst2/ndt-unit-2", [ROOT]), SHIPPED)
    values = [
        find(name, [ROOT]).metrics()["test"]["accuracy"]["value"]
        for name in ("sst2/ndt-unit-2", "sst2/ndt-unit-2-s1", "sst2/ndt-unit-2-s2")
    ]
    assert f"mean {sum(values) / 3:.4f}" in text and "NDT reports an accuracy of 0.9174" in text
    assert "seeds (" not in card(find("sst2/ndt-unit-2", [ROOT]))


def test_calibration_is_worked_out_from_the_predictions(tmp_path: Path) -> None:
    """The calibration error equals a loop over 15 bins of equal width. The card of a run without weights says so, and one of an unknown
    data set too.
    """
    run = made_run(tmp_path, "mine", "vanilla", wrong=30)
    frame = run.frame("test.parquet")
    bins: dict[int, list[tuple[float, bool]]] = {}
    for *shares, label in frame[[*run.labels, "label"]].itertuples(index=False):
        sure = max(shares)
        bins.setdefault(min(int(sure * BINS - 1e-9), BINS - 1), []).append((sure, shares.index(sure) == label))
    error = sum(abs(sum(c for c, _ in rows) - sum(right for _, right in rows)) for rows in bins.values()) / len(frame)
    text = card(run)
    assert f"(n = 200): {error:.4f} without T" in text
    assert "not one that sentviz knows" in text and "so it cannot make predictions" in text and "its weights are not installed" in text


BINS = 15


def test_the_command_writes_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints one card, writes one to a file or several into a folder; it needs a name or all."""
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
