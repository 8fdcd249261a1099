"""Notices shown with an answer, and the files that a run needs for them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import sentviz
import sentviz.data.texts
from sentviz.analysis.explain.notices import notices, written_in
from sentviz.errors import RunError
from sentviz.runs import store
from sentviz.runs.catalog import reads_pairs
from sentviz.runs.store import Run


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
    """Of a text at the tokenizer's length limit, the notice says that the cut text was not counted."""
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
    """The script is recognised; French and English share one."""
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
    model = sentviz.load(run.name)
    korean, russian, *others = (
        dict(notices(model.trace(text), run)).values() for text in ("나쁘지 않은 영화", "не плохо", "10/10", "nice")
    )
    assert "learned from English texts, but this text is Korean: the prediction means nothing" in " ".join(korean)
    assert "uses letters that are not English" in " ".join(russian) and not any("means nothing" in " ".join(each) for each in others)
