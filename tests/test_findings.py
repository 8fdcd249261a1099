"""The findings: words that agree with the stored verdicts, numbers from them, and a sentence on what would change each verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

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
    assert len(expected()) >= 15 and {key: stored[key].verdict for key in expected()} == expected()


def test_every_sentence_that_can_be_wrong_names_its_source() -> None:
    """No sentence with a digit, a test's name, or one of best, most, all, none, no, every is without a marker, and every source exists."""
    text = findings.ARTICLE.read_text(encoding="utf-8")
    named = sources(text, stored_findings())
    assert unmarked(text) == [] and len(named) >= 10 and all(named.values()), named
    invented = "A.<!-- by ndt-000000, leak share, printed ndt/lambdas, printed ndt/none --> B.<!-- by definition -->"
    known = {"ndt-000000": False, "leak share": True, "printed ndt/lambdas": True, "printed ndt/none": False, "definition": True}
    assert sources(invented, stored_findings()) == known


@pytest.mark.parametrize("sentence", ["Most runs gain.", "It gains 3 points.", "No run gains (Welch).", "They have one seed each."])
def test_a_sentence_without_a_source_is_found(sentence: str) -> None:
    around = f"Words lead (Sun et al. say so). {sentence} It is {{n}} of 4.<!-- expects ndt-c41f6e open -->"
    assert unmarked(around) == [sentence] and unmarked(around.replace(sentence, f"{sentence}<!-- by ndt-c41f6e -->")) == []
    assert unmarked(f"# {sentence}") == [] == unmarked("On SST-2 and Sentiment140, 7ess-Xin V6 reads words in [−1, 1].")


def test_every_number_of_the_article_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No brace is left, and pictures are registered figures of studies. A changed effect, verdict or count changes the article."""
    parts = article()
    text = "".join(part for part in parts if isinstance(part, str))
    assert not re.search(r"[{}]|<!--", text) and 1_200 <= len(text.split()) <= 2_500
    pictures = [part for part in parts if isinstance(part, Picture)]
    assert len(pictures) == 6 and all(picture.of in find_figure(picture.figure).names for picture in pictures)
    table = Path(findings.__file__).parents[1] / "ndt" / "measured" / "leak.csv"
    cells = [line.split(",") for line in table.read_text(encoding="utf-8").splitlines()]
    (row,) = [row for row in cells if row[:3] == ["the re-split", "5 words or more", "inside"] and row[5] == "vanilla"]
    assert f"{100 * float(row[3]):.1f} % of the test phrases" in text and f"{100 * float(row[6]):.1f} % correctly" in text
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    effect = {"value": 7.25, "low": 6.5, "high": 8.0, "unit": "points", "null": 0.0, "of": "made up"}
    stored["ndt"]["found"]["ndt-c41f6e"] |= {"verdict": "holds", "effect": effect}
    edited = tmp_path / "verdicts.json"
    edited.write_text(json.dumps(stored), encoding="utf-8")
    assert "+7.25 points [+6.50, +8.00]" in "".join(map(str, article(edited)))
    holding = [sum(finding.verdict == "holds" for finding in stored_findings(file).values()) for file in (FILE, edited)]
    assert holding[1] == holding[0] + 1 and f"{holding[1]} hold" in str(article(edited)[1])
    wrong = tmp_path / "findings.md"
    wrong.write_text("One number: {ndt-000000}.", encoding="utf-8")
    monkeypatch.setattr(findings, "ARTICLE", wrong)
    with pytest.raises(InputError, match="ndt-000000"):
        article()


def test_the_table_has_every_claim() -> None:
    """A row per stored claim, in words; each says what would change its verdict, and comparisons of runs name their seeds."""
    frame, stored = every_claim(), stored_findings()
    assert len(frame) == len(stored) > 100 and frame.map(lambda cell: isinstance(cell, str)).all(axis=None)
    effects = [effect_in_words(finding.effect) if finding.effect else "" for finding in stored.values()]
    assert sorted(frame["effect"]) == sorted(effects) and (frame["what would change it"].str.len() > 10).all()
    assert (frame.loc[frame["claim"].str.contains("beats"), "seeds"] != "").mean() > 0.8
    parts = [part for finding in stored.values() for part in (finding, *(part for _, part in finding.parts))]
    spans = [
        (each.low, each.value, each.high) for part in parts if (each := part.effect) and each.low is not None and each.high is not None
    ]
    assert len(spans) > 100 and all(low <= value <= high for low, value, high in spans)


WIDE = Effect(9.0, 8.0, 10.0)
HERE: dict[str, Any] = {"against": "runs here", "how": ""}


@pytest.mark.parametrize(
    ("claim", "finding", "words"),
    [
        ({}, Finding("open", "", effect=Effect(0.5, -1.0, 2.0)), "About 9 times as many seeds"),
        ({}, Finding("open", "", effect=Effect(0.01, -1.49, 1.51)), "1.50 points"),
        ({}, Finding("open", "", effect=Effect(2.0, 1.0, 3.0)), "correction"),
        ({}, Finding("holds", "", effect=Effect(1.0, 0.4, 1.6)), "0.40 points"),
        ({}, Finding("fails", "", effect=Effect(40.0, 30.0, 49.75, "%", null=50.0)), "0.25\u00a0%"),
        ({}, Finding("open", "the run did not learn: a/b", effect=WIDE), "Runs that learn"),
        ({}, Finding("open", "its validation loss still fell by 2.0%", effect=WIDE), "Longer trainings"),
        ({}, Finding("open", "so it is unknown whether it still learned", effect=WIDE), "Longer trainings"),
        ({}, Finding("open", "and the paper waits until 3 epochs", effect=WIDE), "Longer trainings"),
        ({}, Finding("open", "A (A did not have every training of B)", effect=WIDE), "same learning rates"),
        ({}, Finding("open", "means over heads, so a difference in single heads is not seen", effect=Effect(0, 0, 37, "%", 50)),
         "head by head"),
        ({"how": "an interval inside one point on either side"}, Finding("open", "", effect=Effect(0.1, -1.1, 1.3)), "A narrower interval"),
        ({"against": "its own tables"}, Finding("holds", ""), "tables"),
        ({}, not_testable("only one run is installed"), "only one run"),
    ],
)  # fmt: skip
def test_what_would_change_a_verdict(claim: dict[str, Any], finding: Finding, words: str) -> None:
    """An open claim names how many times as many runs, by the square of interval over effect; a settled one the distance to its limit."""
    against, how = (HERE | claim).values()
    claimed = Claim("000000", "It gains", "", against, "tested", lambda runs: not_testable(""), how=how)
    assert words in changed_by(claimed, finding)
    assert "learning" not in changed_by(claimed, Finding("fails", "and the paper waits until 3 epochs", effect=WIDE))
