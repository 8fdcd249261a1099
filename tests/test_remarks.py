"""Notices shown with an answer, the calibration error of a run, and the reason for a long text from its clauses."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sentviz
import sentviz.data.texts
from sentviz.analysis.calibration import calibration_line, leaning, on_test_rows
from sentviz.analysis.explain import quickly_supported, reason, score
from sentviz.analysis.explain.headline import MIN_FALL
from sentviz.analysis.explain.notices import notices, written_in
from sentviz.analysis.explain.screening import TRIED, alone, screened
from sentviz.cli import main
from sentviz.errors import RunError
from sentviz.runs import store
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.store import Run, find
from sentviz.runs.target import Target, log_odds
from sentviz.training import finishing
from tests.kit import planted_model, small_model
from tests.shipped import ROOT
from tests.studies import made_run

TEXT = "it is a warm song; the garden is not dull; it is a cold day; what a tender film; the day is long; a clever garden"
CLAUSES = (*(f"{part};" for part in TEXT.split("; ")[:-1]), "a clever garden")


def changed(run: Path, to: Path, **entries: object) -> Run:
    shutil.copytree(run, to)
    path = to / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    return Run.open(to)


def test_what_a_run_states_of_itself_is_checked(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = r"temperature must be a number from 0\.001 to 1,000, not|is not a number of JSON"
    for place, temperature in enumerate((0, -1.0, 5e-324, 1e300, float("nan"), float("inf"))):
        with pytest.raises(RunError, match=rf"toy/{place}: config\.json .*({reason})"):
            changed(tiny_run, tmp_path / "toy" / str(place), temperature=temperature)
    trace = Run.open(tiny_run).example().replace(dropped=3)
    monkeypatch.setattr(sentviz.data.texts, "LONGEST", len(trace.text) + 1)
    assert "the last 3 tokens were not read." in dict(notices(trace, Run.open(tiny_run)))["cut"]
    monkeypatch.setattr(sentviz.data.texts, "LONGEST", len(trace.text))
    assert dict(notices(trace, Run.open(tiny_run)))["cut"].endswith(f"Only the first {len(trace.text)} characters were counted.")
    data = json.loads((tiny_run / "config.json").read_text())["data"]
    for name, pairs in (("sst2", False), ("klue_nli", True), ("toy", False)):
        assert reads_pairs(changed(tiny_run, tmp_path / "pairs" / name, data=data | {"name": name})) is pairs


def test_the_letters_tell_what_a_text_is_written_in() -> None:
    texts = {"not bad at all": "en", "나쁘지 않은 영화": "ko", "영화 정말 좋다 wow": "ko"}
    texts |= {"Très déçu, ça ne marche": "en", "не плохо": "", ":-) 10/10": ""}
    assert {text: written_in(text) for text in texts} == texts
    run = store.find("sst2/ndt-unit-2")
    model, sentences = sentviz.load(run.name), ("나쁘지 않은 영화", "не плохо", "10/10", "nice")
    korean, russian, *plain = (" ".join(sentence for _, sentence in notices(model.trace(text), run)) for text in sentences)
    assert "learned from English texts, but this text is Korean: the prediction means nothing" in korean
    assert "uses letters that are not English" in russian and not any("means nothing" in each for each in plain)


def slow(run: Run) -> tuple[float, float, float]:
    """Return error, mean confidence and accuracy of the test rows, with loops over single numbers."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for *shares, label in run.frame("test.parquet").query("split == 'test'")[[*run.labels, "label"]].itertuples(index=False):
        powers = [math.exp(math.log(max(share, 5e-6)) / run.calibration) for share in shares]
        sure = max(powers) / sum(powers)
        bins.setdefault(math.ceil(sure * 15), []).append((sure, powers.index(max(powers)) == label))
    rows = [row for members in bins.values() for row in members]
    error = sum(abs(sum(sure - right for sure, right in members)) for members in bins.values()) / len(rows)
    return error, sum(sure for sure, _ in rows) / len(rows), sum(right for _, right in rows) / len(rows)


@pytest.mark.skipif(not (ROOT / "english" / "minilm").is_dir(), reason="checkpoints/ is not here")
def test_shipped_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    run = find("english/minilm", [ROOT])
    own, (error, confidence, accuracy) = on_test_rows(run), slow(run)
    assert (own.error, own.confidence, own.accuracy) == pytest.approx((error, confidence, accuracy), abs=1e-6)
    line = calibration_line(run)
    assert f"{error:.3f} on {own.n:,} test rows" in line and "underconfident by 2.4" in line
    assert f"validation rows that fitted the temperature, the calibration error is {run.config['calibration']['error_after']:.3f}" in line
    monkeypatch.setattr(finishing, "calibrate", lambda *_, **__: run)
    printed = CliRunner().invoke(main, ["calibrate", run.name]).output
    assert f"Temperature {run.calibration:g}, intercept" in printed and line in printed


def test_rows_that_are_not_installed(tmp_path: Path) -> None:
    run = made_run(tmp_path, "mine", "vanilla", wrong=30)
    assert "on 200 test rows" in calibration_line(run)
    (run.folder / "test.parquet").unlink()
    assert "unknown: mine/vanilla: test.parquet is missing" in calibration_line(Run.open(run.folder))
    run.config["data"]["name"] = ""
    run.config["files"].pop("test.parquet")
    assert "has no test rows" in calibration_line(run)
    assert leaning(0.9, 0.87) == "overconfident by 3.0 points" and leaning(0.87, 0.9) == "underconfident by 3.0 points"
    assert leaning(0.9, 0.897) == "well calibrated on average"


def test_clauses_and_falls_are_those_of_shortened_texts() -> None:
    model = small_model(max_length=64)
    trace = model.trace(TEXT)
    result = alone(model, trace)
    assert tuple(part.text for part in result.parts) == CLAUSES
    k = int(trace.probabilities.argmax())
    for part in result.parts:
        whole = model.trace(part.text)
        assert result.scores[list(part.indices)] == pytest.approx(float(log_odds(whole.logits, k, None)), abs=1e-4)
    assert not result.scores[trace.specials].any()
    assert len(set(result.places.tolist())) == len(CLAUSES) + int(trace.specials.sum())
    result, evidence = screened(model, trace)
    values = {part.text: float(result.scores[part.indices[0]]) for part in result.parts}
    strongest = sorted(values, key=values.__getitem__, reverse=True)[:TRIED]
    assert {fall.text for fall in evidence.clauses} == {text.rstrip(";") for text in strongest}
    for fall in (*evidence.clauses, *evidence.words):
        written = [trace.tokens[i] for i in range(len(trace.tokens)) if i not in fall.indices and not trace.specials[i]]
        shortened = model.trace(" ".join(written))
        assert fall.fall == pytest.approx(trace.value - float(log_odds(shortened.logits, k, None)), abs=1e-4)
        assert fall.without == pytest.approx(shortened.probabilities.tolist(), abs=1e-4)
    for falls in (evidence.clauses, evidence.words):
        assert [fall.fall for fall in falls] == sorted((fall.fall for fall in falls), reverse=True)
    assert {word.indices[0] for word in evidence.words} <= set(evidence.clauses[0].indices)
    assert (evidence.agreeing, evidence.of) == (sum(value > 0 for value in values.values()), len(CLAUSES))


def test_the_planted_clause_and_its_word_are_named_unless_several_say_the_same() -> None:
    model = planted_model(lambda there: 3 * there("tender") - 1)
    trace = quickly_supported(model, model.trace(TEXT), {1: 0.5})
    assert reason(trace) == "Without “what a tender film” it would be negative (88\u00a0%). In it, “tender” counts most."
    assert np.ptp(score(trace, "alone")) > 1
    model = planted_model(lambda there: 2 * (there("song") + there("tender") + there("garden")).clamp(max=1) - 1)
    sentence = reason(quickly_supported(model, model.trace(TEXT), {1: 0.5}))
    assert sentence.startswith("No single clause decides: 4 of 6 are positive on their own. Without the strongest, “")
    assert sentence.endswith(", it would still be positive (88\u00a0%).")
    model = planted_model(lambda there: 1 - 4 * there("not") + 4 * there("dull"))
    sentence = reason(quickly_supported(model, model.trace(TEXT), {1: 0.5}))
    assert sentence.startswith("No single clause decides") or "“dull”" in sentence
    model = planted_model(lambda there: 3 * there("tender") - 1)
    trace = quickly_supported(model, model.trace("what a tender film"), {1: 0.5})
    assert reason(trace) == "Without “tender” it would be negative (88\u00a0%)." and "alone" not in trace.token_scores


@pytest.mark.parametrize("labels", [("negative", "positive"), ("negative", "neutral", "positive")])
def test_the_reason_is_about_a_chosen_class_and_a_small_fall_names_none(labels: tuple[str, ...]) -> None:
    model = small_model(max_length=64, labels=labels)
    trace = model.trace(TEXT)
    trace = trace if len(labels) == 2 else trace.for_target(Target(labels[1]))
    supported = quickly_supported(model, trace, {1: 0.0})
    assert supported.evidence is not None and supported.evidence.screened is not None
    changes = [abs(float(trace.share_of(trace.logits)) - trace.without(fall.fall)) for fall in supported.evidence.screened.clauses]
    assert ("No single clause decides" in reason(supported)) == (max(changes) < MIN_FALL)
