"""Notices shown with an answer, and the calibration error of a run on its test rows."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import sentviz
import sentviz.data.texts
from sentviz.analysis.calibration import calibration_line, leaning, on_test_rows
from sentviz.analysis.explain.notices import notices, written_in
from sentviz.cli import main
from sentviz.errors import RunError
from sentviz.runs import store
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.store import Run, find
from sentviz.training import finishing
from tests.shipped import ROOT
from tests.studies import made_run


def changed(run: Path, to: Path, **entries: object) -> Run:
    """Copy a run with other entries of config.json."""
    shutil.copytree(run, to)
    path = to / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    return Run.open(to)


def test_a_temperature_that_is_none_is_refused(tiny_run: Path, tmp_path: Path) -> None:
    reason = r"temperature must be a number from 0\.001 to 1,000, not|is not a number of JSON"
    for place, temperature in enumerate((0, -1.0, 5e-324, 1e300, float("nan"), float("inf"))):
        with pytest.raises(RunError, match=rf"toy/{place}: config\.json .*({reason})"):
            changed(tiny_run, tmp_path / "toy" / str(place), temperature=temperature)


def test_a_text_whose_end_was_not_counted_says_so(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = Run.open(tiny_run).example().replace(dropped=3)
    monkeypatch.setattr(sentviz.data.texts, "LONGEST", len(trace.text) + 1)
    assert "the last 3 tokens were not read." in dict(notices(trace, Run.open(tiny_run)))["cut"]
    monkeypatch.setattr(sentviz.data.texts, "LONGEST", len(trace.text))
    assert dict(notices(trace, Run.open(tiny_run)))["cut"].endswith(f"Only the first {len(trace.text)} characters were counted.")


def test_whether_a_run_reads_pairs_is_what_its_data_set_says(tiny_run: Path, tmp_path: Path) -> None:
    data = json.loads((tiny_run / "config.json").read_text())["data"]
    for name, pairs in (("sst2", False), ("klue_nli", True), ("toy", False)):
        assert reads_pairs(changed(tiny_run, tmp_path / name, data=data | {"name": name})) is pairs


def test_the_letters_tell_what_a_text_is_written_in() -> None:
    texts = {
        "not bad at all": "en",
        "나쁘지 않은 영화": "ko",
        "영화 정말 좋다 wow": "ko",
        "Très déçu, ça ne marche": "en",
        "не плохо": "",
        ":-) 10/10": "",
    }
    assert {text: written_in(text) for text in texts} == texts


def test_a_text_in_other_letters_than_the_model_learned_is_said_to_mean_nothing() -> None:
    run = store.find("sst2/ndt-unit-2")
    model, texts = sentviz.load(run.name), ("나쁘지 않은 영화", "не плохо", "10/10", "nice")
    korean, russian, *plain = (" ".join(sentence for _, sentence in notices(model.trace(text), run)) for text in texts)
    assert "learned from English texts, but this text is Korean: the prediction means nothing" in korean
    assert "uses letters that are not English" in russian and not any("means nothing" in each for each in plain)


BINS = 15
ships = pytest.mark.skipif(not (ROOT / "english" / "minilm").is_dir(), reason="checkpoints/ is not here")


def slow(run: Run) -> tuple[float, float, float]:
    """Return error, mean confidence and accuracy of the test rows, with loops over single numbers."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for *shares, label in run.frame("test.parquet").query("split == 'test'")[[*run.labels, "label"]].itertuples(index=False):
        powers = [math.exp(math.log(max(share, 5e-6)) / run.calibration) for share in shares]
        sure = max(powers) / sum(powers)
        bins.setdefault(math.ceil(sure * BINS), []).append((sure, powers.index(max(powers)) == label))
    rows = [row for members in bins.values() for row in members]
    error = sum(abs(sum(sure - right for sure, right in members)) for members in bins.values()) / len(rows)
    return error, sum(sure for sure, _ in rows) / len(rows), sum(right for _, right in rows) / len(rows)


@ships
@pytest.mark.parametrize(("name", "words"), [("english/minilm", "underconfident by 2.4")])
def test_shipped_runs(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = find(name, [ROOT])
    own, (error, confidence, accuracy) = on_test_rows(run), slow(run)
    assert (own.error, own.confidence, own.accuracy) == pytest.approx((error, confidence, accuracy), abs=1e-6)
    line = calibration_line(run)
    assert f"{error:.3f} on {own.n:,} test rows" in line and words in line
    assert f"validation rows that fitted the temperature, the calibration error is {run.config['calibration']['error_after']:.3f}" in line
    monkeypatch.setattr(finishing, "calibrate", lambda *_, **__: run)
    printed = CliRunner().invoke(main, ["calibrate", name]).output
    assert f"Temperature {run.calibration:g}, intercept" in printed and line in printed


def test_rows_that_are_not_installed(tmp_path: Path) -> None:
    run = made_run(tmp_path, "mine", "vanilla", wrong=30)
    assert "on 200 test rows" in calibration_line(run)
    (run.folder / "test.parquet").unlink()
    assert "unknown: mine/vanilla: test.parquet is missing" in calibration_line(Run.open(run.folder))
    run.config["data"]["name"] = ""
    run.config["files"].pop("test.parquet")
    assert "has no test rows" in calibration_line(run)


def test_words() -> None:
    assert [leaning(0.9, 0.87), leaning(0.87, 0.9), leaning(0.9, 0.897)] == [
        "overconfident by 3.0 points",
        "underconfident by 3.0 points",
        "well calibrated on average",
    ]
