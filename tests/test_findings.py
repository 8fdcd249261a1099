"""The findings: words that agree with the stored verdicts, numbers from them, and a sentence on what would change each verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sentviz.analysis.claim import Claim, Effect, Finding, not_testable
from sentviz.charts.registry import find_figure
from sentviz.charts.verdicts import effect_in_words
from sentviz.errors import InputError
from sentviz.papers.studies import findings
from sentviz.papers.studies.findings import Picture, article, changed_by, every_claim, expected, sources, unmarked
from sentviz.papers.studies.verdicts import FILE, stored_findings


def test_the_words_rest_on_the_stored_verdicts() -> None:
    """Every verdict that a paragraph names as expected is the stored one; a paragraph whose verdict changes has to be written again."""
    stored = stored_findings()
    assert len(expected()) >= 15
    assert {key: stored[key].verdict for key in expected()} == expected()


def test_every_sentence_that_can_be_wrong_names_its_source() -> None:
    """No sentence with a digit, a test's name, or one of best, most, all, none, no, every is without a marker, and every source exists."""
    text = findings.ARTICLE.read_text(encoding="utf-8")
    assert unmarked(text) == []
    named = sources(text, stored_findings())
    assert len(named) >= 10 and all(named.values()), named


@pytest.mark.parametrize(
    "sentence",
    ["Most runs gain.", "It gains 3 points.", "No run gains (Welch).", "All of them are better than vanilla.", "They have one seed each."],
)
def test_a_sentence_without_a_source_is_found(sentence: str) -> None:
    around = f"Words lead (Sun et al. say so). {sentence} It is {{n}} of 4.<!-- expects ndt-c41f6e open -->"
    assert unmarked(around) == [sentence]
    assert unmarked(around.replace(sentence, f"{sentence}<!-- by ndt-c41f6e -->")) == []
    assert unmarked(f"# {sentence}") == [] == unmarked("On SST-2 and Sentiment140, 7ess-Xin V6 reads words in [−1, 1].")


def test_a_source_that_does_not_exist_is_found() -> None:
    text = "A.<!-- by ndt-000000, leak share, printed ndt/lambdas, printed ndt/none --> B.<!-- by definition -->"
    known = {"ndt-000000": False, "leak share": True, "printed ndt/lambdas": True, "printed ndt/none": False, "definition": True}
    assert sources(text, stored_findings()) == known


def test_every_stored_effect_lies_in_its_interval() -> None:
    findings = [part for finding in stored_findings().values() for part in (finding, *(part for _, part in finding.parts))]
    effects = [
        effect for finding in findings if (effect := finding.effect) is not None and effect.low is not None and effect.high is not None
    ]
    assert len(effects) > 100
    assert not [effect for effect in effects if not (effect.low or 0) <= effect.value <= (effect.high or 0)]


def test_every_number_of_the_article_is_filled() -> None:
    """No brace is left, the pictures are registered figures of studies, and the length is that of an article."""
    parts = article()
    texts = [part for part in parts if isinstance(part, str)]
    assert not re.search(r"[{}]|<!--", "".join(texts))
    assert 1_200 <= sum(len(text.split()) for text in texts) <= 2_500
    pictures = [part for part in parts if isinstance(part, Picture)]
    assert len(pictures) == 6
    assert all(picture.of in find_figure(picture.figure).names for picture in pictures)


def test_numbers_follow_the_stored_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed effect, verdict or count changes the article; a claim that does not exist is named."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    changed = stored["ndt"]["found"]["ndt-c41f6e"]
    changed |= {"verdict": "holds", "effect": {"value": 7.25, "low": 6.5, "high": 8.0, "unit": "points", "null": 0.0, "of": "made up"}}
    edited = tmp_path / "verdicts.json"
    edited.write_text(json.dumps(stored), encoding="utf-8")
    assert "+7.25 points [+6.50, +8.00]" in "".join(map(str, article(edited)))
    count = {file: sum(finding.verdict == "holds" for finding in stored_findings(file).values()) for file in (FILE, edited)}
    assert count[edited] == count[FILE] + 1 and f"{count[edited]} hold" in str(article(edited)[1])
    wrong = tmp_path / "findings.md"
    wrong.write_text("One number: {ndt-000000}.", encoding="utf-8")
    monkeypatch.setattr(findings, "ARTICLE", wrong)
    with pytest.raises(InputError, match="ndt-000000"):
        article()


def test_the_leak_is_counted_from_its_table() -> None:
    """Shares of the leak in the article are the rows of the measured table, read line by line."""
    table = Path(findings.__file__).parents[1] / "ndt" / "measured" / "leak.csv"
    cells = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()]
    (row,) = [row for row in cells if row[:3] == ["the re-split", "5 words or more", "inside"] and row[5] == "vanilla"]
    text = "".join(part for part in article() if isinstance(part, str))
    assert f"{100 * float(row[3]):.1f} % of the test phrases" in text and f"{100 * float(row[6]):.1f} % correctly" in text


def test_the_table_has_every_claim() -> None:
    """A row per stored claim, in words; each says what would change its verdict, and comparisons of runs name their seeds."""
    frame = every_claim()
    stored = stored_findings()
    assert len(frame) == len(stored) > 100
    assert frame.map(lambda cell: isinstance(cell, str)).all(axis=None)
    assert (frame["what would change it"].str.len() > 10).all()
    effects = [effect_in_words(finding.effect) if finding.effect else "" for finding in stored.values()]
    assert sorted(frame["effect"]) == sorted(effects)
    assert (frame.loc[frame["claim"].str.contains("beats"), "seeds"] != "").mean() > 0.8


def _claim(against: str = "runs here", how: str = "") -> Claim:
    return Claim("000000", "It gains", "", against, "tested", lambda runs: not_testable(""), how=how)  # type: ignore[arg-type]


def test_what_would_change_a_verdict() -> None:
    """An open claim names how many times as many runs, by the square of interval over effect; a settled one the distance to its limit."""
    open_claim = changed_by(_claim(), Finding("open", "", effect=Effect(0.5, -1.0, 2.0)))
    assert open_claim.startswith("About 9 times as many seeds")
    assert "1.50 points" in changed_by(_claim(), Finding("open", "", effect=Effect(0.01, -1.49, 1.51)))
    assert "correction" in changed_by(_claim(), Finding("open", "", effect=Effect(2.0, 1.0, 3.0)))
    assert "0.40 points" in changed_by(_claim(), Finding("holds", "", effect=Effect(1.0, 0.4, 1.6)))
    assert "0.25\u00a0%" in changed_by(_claim(), Finding("fails", "", effect=Effect(40.0, 30.0, 49.75, "%", null=50.0)))
    assert changed_by(_claim(), Finding("open", "the run did not learn: a/b", effect=Effect(9.0, 8.0, 10.0))).startswith("Runs that learn")
    unsearched = "A (A did not have every training of B)"
    for late in (
        "its validation loss still fell by 2.0%",
        "so it is unknown whether it still learned",
        "and the paper waits until 3 epochs",
    ):
        assert changed_by(_claim(), Finding("open", late, effect=Effect(9.0, 8.0, 10.0))).startswith("Longer trainings")
    assert "learning" not in changed_by(_claim(), Finding("fails", "and the paper waits until 3 epochs", effect=Effect(9.0, 8.0, 10.0)))
    within = changed_by(_claim(how="an interval inside one point on either side"), Finding("open", "", effect=Effect(0.1, -1.1, 1.3)))
    assert within.startswith("A narrower interval")
    heads = Finding("open", "habits are means over heads, so a difference in single heads is not seen", effect=Effect(0, 0, 37, "%", 50))
    assert changed_by(_claim(), heads).startswith("A measurement head by head")
    assert "same learning rates" in changed_by(_claim(), Finding("open", unsearched, effect=Effect(9.0, 8.0, 10.0)))
    assert "tables" in changed_by(_claim("its own tables"), Finding("holds", ""))
    assert "only one run" in changed_by(_claim(), not_testable("only one run is installed"))
