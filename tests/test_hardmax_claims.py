"""The hardmax paper's claims on planted data, on what is here and on nothing; its list of printed pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from sentviz.analysis.claim import Finding
from sentviz.papers.hardmax import claims, study
from sentviz.papers.hardmax.study import beside, trained
from sentviz.papers.studies.claims import claims_of, judged
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run, runs
from tests.studies import as_said, plant

ROOT = Path(__file__).parents[1]
HERE = [run for run in runs([ROOT / "checkpoints"]).values() if isinstance(run, Run) and run.config["model"].get("kind") == "hardmax"]
THEOREM = "The theorem: leaders exist, tokens cluster on a polytope's boundary, leaders at its vertices"
ENOUGH = "Eight layers are enough to come near the clustered state"
SENTIMENT = (
    "The most frequent leaders 2 or more from the line convey sentiment",
    "The most frequent leaders in the outer two thirds of the leaders' reach convey sentiment",
)

PAPER = find_paper("hardmax")
EMBEDDING = "Words that lead have a polarity more often than equally frequent words that do not"
FURTHEST = "The leaders furthest from the decision line include amazing and torture"
GROWS = "Accuracy grows with the dimension of the embedding"
REACHED = "The public code's accuracies are reached with its 128 words of a review"


def judge(statement: str, runs: list[Any] | None = None) -> Finding:
    (claim,) = (claim for claim in claims.CLAIMS if claim.statement == statement)
    return as_said(claim.test(runs or []))


def test_no_claim_is_left_out() -> None:
    assert {claim.statement for claim in claims.CLAIMS} == {THEOREM, EMBEDDING, ENOUGH, *SENTIMENT, FURTHEST, GROWS, REACHED}


@pytest.mark.exhaustive
def test_without_runs_only_the_simulated_claim_has_a_verdict() -> None:
    frame = judged([], ["hardmax"])
    assert len(frame) == len(claims_of(PAPER))
    judged_rows = frame[frame["verdict"] != "unjudged"]
    assert judged_rows["against"].tolist() == ["simulated runs"]
    assert beside([]).empty


@pytest.mark.parametrize(
    ("statements", "verdict"),
    [((True, None), "holds"), ((None,), "open"), ((True, False, None), "fails")],
    ids=["hold", "open", "fall"],
)
def test_the_theorem_on_planted_statements(statements: tuple[bool | None, ...], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [SimpleNamespace(holds=holds, error=0.25 if holds else 0.5) for holds in statements]
    monkeypatch.setattr("sentviz.models.clustering.polytope.theory", lambda run: planted)
    finding = judge(THEOREM)
    assert finding.verdict == verdict
    counts = [
        f"{60 * statements.count(holds)} {phrase}" for holds, phrase in ((True, "statements hold"), (False, "fail"), (None, "do not apply"))
    ]
    assert all(count in finding.evidence for count in counts)
    largest = 0 if set(statements) == {None} else 0.5 if False in statements else 0.25
    assert finding.evidence.endswith(f"error {largest:.1g}")


# ---- the leaders of planted runs


@dataclass(frozen=True)
class MadeUp:
    """A run of d = 2 without files."""

    name: str
    digest: str
    configuration: str = "hardmax-d2"
    shape: Any = field(default_factory=lambda: SimpleNamespace(width=2), compare=False)
    config: Any = field(default_factory=lambda: {"data": {"name": "made up"}}, compare=False)

    def frame(self, _: str) -> pd.DataFrame:
        return pd.DataFrame()


def surveyed(monkeypatch: pytest.MonkeyPatch, seeds: int) -> list[Any]:
    """Return `seeds` made-up runs with a name, a digest and empty tables; the claims treat them as runs with counted leaders."""
    runs: list[Any] = [MadeUp(f"s{i}", f"digest-{i}") for i in range(seeds)]
    monkeypatch.setattr(claims, "counted", lambda runs, weights=False: runs)
    return runs


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ((0.95,), "unjudged"),
        ((0.94,), "unjudged"),
        ((0.95, 0.96), "holds"),
        ((0.94, 0.1), "fails"),
        ((0.99, 0.9), "open"),
        ((0.1, 0.9), "fails"),
    ],
)
def test_how_many_words_stand_at_a_leader(shares: tuple[float, ...], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lower twentieth of reviews after the last layer; what earlier layers or other measures say would turn it. One training says
    nothing of others.
    """

    def layers(least: float) -> pd.DataFrame:
        rows = [("at leaders", 8, 0.97, least), ("at leaders", 7, 0.5, 1 - least), ("clusters", 8, 3.0, 1 - least)]
        return pd.DataFrame(rows, columns=["measure", "layer", "mean", "q05"]).assign(n=200)

    tables = iter([layers(share) for share in shares])
    monkeypatch.setattr("sentviz.analysis.testset.leaders.per_layer", lambda frame: next(tables))
    finding = judge(ENOUGH, surveyed(monkeypatch, len(shares)))
    assert finding.verdict == verdict and "within 1\u00a0% of the largest norm" in finding.evidence and "n = 200" in finding.evidence
    trainings = "one training each of d = 2, 128 words" if len(shares) == 1 else "d = 2, 128 words (2 trainings)"
    assert finding.evidence.endswith(f"{trainings}; n = 200")


def test_the_nearness_from_which_they_are_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The seed with the worse share decides the nearness that is reported; rows of runs with another digest are ignored."""
    rows = [(0.001, 0.5, "digest-0"), (0.01, 0.97, "digest-0"), (0.05, 0.99, "digest-0"), (0.01, 0.9, "digest-1"), (0.05, 0.96, "digest-1")]
    table = pd.DataFrame([*rows, (0.001, 1.0, "another")], columns=["nearness", "q05", "digest"])
    plant(monkeypatch, "hardmax.study.NEARNESS", tmp_path, table)
    runs = surveyed(monkeypatch, 2)
    assert (
        claims._at_other_distances(runs[:1])
        == "; for 95\u00a0% of the words in 19 of 20 reviews this is true within 1.00\u00a0% of the norm"
    )
    assert (
        claims._at_other_distances(runs) == "; for 95\u00a0% of the words in 19 of 20 reviews this is true within 5.00\u00a0% of the norm"
    )
    plant(monkeypatch, "hardmax.study.NEARNESS", tmp_path, table.assign(q05=0.2))
    assert claims._at_other_distances(runs).endswith("not even within 5\u00a0%")
    assert claims._at_other_distances([]) == ""


POLARITIES = {"awful": -1.0, "dull": -0.5, "lovely": 1.0, "warm": 0.2, "film": 0.0}
GOOD = {"negative": ["awful", "dull"] * 4, "positive": ["lovely", "warm"] * 4}
BAD = {"negative": ["lovely", "film"] * 4, "positive": ["awful", "plot"] * 4}


@pytest.mark.parametrize(
    ("seeds", "verdict"),
    [
        ((GOOD,), "unjudged"),
        ((BAD, BAD), "fails"),
        ((GOOD, GOOD), "holds"),
        ((GOOD, BAD), "open"),
        (({"negative": ["awful"] * 6 + ["plot"] * 4, "positive": ["lovely"] * 6 + ["film"] * 4},) * 2, "open"),
        (({"negative": ["awful"] * 8 + ["plot"] * 2, "positive": ["lovely"] * 8 + ["film"] * 2},) * 2, "holds"),
        (({"negative": ["plot"] * 4, "positive": ["film"] * 4},) * 2, "fails"),
        (({"positive": ["lovely"] * 8, "negative": []},) * 2, "open"),
        (({"positive": [], "negative": []},) * 2, "unjudged"),
    ],
    ids=["one", "both fall", "both hold", "seeds differ", "12 of 20", "16 of 20", "no polarity", "one side only", "none"],
)
def test_what_leaders_convey(seeds: tuple[dict[str, list[str]], ...], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all leaders more than half must have the polarity of their class, by a binomial test; one without a polarity counts against it.

    A distance in another scale decides nothing.
    """
    frames = [pd.DataFrame([(k, w) for k, words in seed.items() for w in words], columns=["label", "word"]) for seed in seeds]
    distances: list[float] = []
    monkeypatch.setattr(
        claims, "frequent_leaders", lambda run, distance: (distances.append(distance), (frames[len(distances) % len(frames) - 1], 2.0))[1]
    )
    monkeypatch.setattr(claims, "_polarities", lambda: POLARITIES)
    runs = surveyed(monkeypatch, len(seeds))
    assert judge(SENTIMENT[1], runs).verdict == verdict and set(distances) == {-1 / 3}
    in_units = judge(SENTIMENT[0], runs)
    assert in_units.verdict == "unjudged" and "in the scale of its own embedding" in in_units.evidence and 2.0 in distances
    monkeypatch.setattr(claims, "_polarities", dict)
    assert judge(SENTIMENT[1], runs).verdict == "unjudged"


def test_leaders_without_a_polarity_count_as_not_conveying() -> None:
    """6 of the 6 leaders with a polarity are of their class, but these are 6 of 10: p is 2 (386 of 1,024), so it cannot be told."""
    leaders = [("negative", "awful")] * 3 + [("negative", "plot")] * 2 + [("positive", "warm")] * 3 + [("positive", "film")] * 2
    finding = as_said(claims._judge_words("d = 2", pd.DataFrame(leaders, columns=["label", "word"]), 0.5, POLARITIES))
    assert finding.verdict == "open" and finding.p == pytest.approx(2 * 386 / 1024)
    assert "6 of 10" in finding.evidence and "negative 3 of 5, 0 of the other class, 2 without a polarity" in finding.evidence
    assert finding.effect and (finding.effect.value, finding.effect.null) == (60, 50)
    kinds = {claim.statement: claim.kind for claim in claims.CLAIMS}
    assert [kinds[statement] for statement in SENTIMENT] == ["tested", "tested"]


def planted(monkeypatch: pytest.MonkeyPatch, *tables: pd.DataFrame) -> list[Any]:
    """Return a made-up run for each table of `leading`: word, score, leads."""
    left = iter(tables)
    monkeypatch.setattr("sentviz.analysis.testset.leaders.leading", lambda frame, vocabulary: next(left))
    monkeypatch.setattr("sentviz.models.loading.load", lambda run: SimpleNamespace(vocabulary=None))
    return surveyed(monkeypatch, len(tables))


def leading_words(amazing: float, torture: float, torture_leads: int = 1) -> pd.DataFrame:
    """Return 40 leaders at the log-odds -20 to 20, and the two words of the poster at theirs."""
    scores = [*range(-20, 0), *range(1, 21), amazing, torture]
    words = [*(f"w{i}" for i in range(40)), "amazing", "torture"]
    return pd.DataFrame({"word": words, "score": scores, "leads": [*[3] * 40, 2, torture_leads]})


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([(19.5, -19.5, 1)] * 2, "amazing 2 of 21, torture 2 of 21"),
        ([(19.5, -0.5, 1), (19.5, 5.0, 1)], "torture not"),
        ([(19.5, -19.5, 0)] * 2, "torture not"),
        ([], "not installed"),
    ],
    ids=["far", "near or on the other side", "does not lead", "none"],
)
def test_the_furthest_leaders(tables: list[tuple[float, float, int]], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence is about the poster's own training: ours are named with the places of both words, and decide nothing."""
    finding = judge(FURTHEST, planted(monkeypatch, *(leading_words(*table) for table in tables)))
    assert finding.verdict == "unjudged" and words in finding.evidence
    assert not tables or finding.evidence.startswith("the sentence is about the poster's own training")


def meaningful(led: float, rest: float, shift: float = 0.0) -> pd.DataFrame:
    """Return a vocabulary of 2,000 words of which half lead, with these shares of polar words (those that begin with p)."""
    rows = [(f"{'p' if (i * 37 % 100) < 100 * share else 'n'}{i}{kind}", shift, leads)
            for kind, share, leads in (("a", led, 1), ("b", rest, 0)) for i in range(1000)]  # fmt: skip
    return pd.DataFrame(rows, columns=["word", "score", "leads"]).sort_values("word", key=lambda words: words.str[1:-1].astype(int))


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ([(0.3, 0.2), (0.35, 0.2)], "holds"),
        ([(0.2, 0.3), (0.2, 0.35)], "fails"),
        ([(0.3, 0.2), (0.2, 0.2)], "open"),
        ([(0.2, 0.2), (0.2, 0.2)], "open"),
        ([(0.3, 0.2)], "unjudged"),
    ],
)
def test_whether_leading_words_have_a_polarity(shares: list[tuple[float, float]], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [meaningful(*pair) for pair in shares]
    polar = {word: 1.0 for table in tables for word in table["word"] if word.startswith("p")}
    monkeypatch.setattr(claims, "_polarities", lambda: polar)
    finding = judge(EMBEDDING, planted(monkeypatch, *tables))
    assert finding.verdict == verdict and finding.effect
    assert finding.effect.value == pytest.approx(min(100 * (led - rest) for led, rest in shares), abs=1.5)
    monkeypatch.setattr(claims, "_polarities", dict)
    assert judge(EMBEDDING, planted(monkeypatch, *tables)).verdict == "unjudged"


def test_polar_words_are_compared_at_the_same_frequency() -> None:
    """If frequent words lead and are polar more often, but within a tenth of the vocabulary leading makes no difference, there is none."""
    frequent = [(f"{'p' if i % 2 else 'n'}{i}", i // 2 % 10 < 9) for i in range(200)]
    rare = [(f"{'p' if i % 10 == 0 else 'n'}{i + 200}", i // 10 % 10 == 0) for i in range(1800)]
    rows = [*frequent, *rare]
    frame = pd.DataFrame(rows, columns=["word", "leads"]).assign(leads=lambda table: table["leads"].astype(int))
    polar = {word for word in frame["word"] if word.startswith("p")}
    plain = frame.loc[frame["leads"] > 0, "word"].isin(polar).mean() - frame.loc[frame["leads"] == 0, "word"].isin(polar).mean()
    gap, low, high = claims.more_polar(frame, polar)
    assert plain > 0.15 and abs(gap) < 0.02 and low < 0 < high
    assert claims.more_polar(frame.assign(leads=1), polar)[1:] == (float("-inf"), float("inf"))


def test_how_far_a_leader_has_to_be_from_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share is of the reach of words that lead, if only once: 8 log-odds are 4 from a line of slope 2, words that never lead further."""
    words = pd.DataFrame({"word": ["far", "near", "never"], "score": [-8.0, 3.0, 90.0]})
    rows = [("reviews", "", 2.0), ("words", "far", 1.0), ("words", "near", 5.0)]
    counted = pd.DataFrame(rows, columns=["table", "name", "value"]).assign(label="negative", correct=True, confidence=0.95)
    model = SimpleNamespace(vocabulary=words, decision=([0.0, 2.0], 0.0))
    monkeypatch.setattr("sentviz.models.loading.load", lambda run: model)
    run: Any = SimpleNamespace(frame=lambda file: counted.astype({"confidence": "float32"}))
    for wanted, distance, named in ((-0.5, 2.0, ["far"]), (-0.25, 1.0, ["near", "far"]), (3.0, 3.0, ["far"]), (0.5, 0.5, ["near", "far"])):
        leaders, least = claims.frequent_leaders(run, wanted)
        assert least == distance and leaders["word"].tolist() == named


def test_sides_are_those_of_the_first_lexicon_that_has_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one fills in; a lexicon that is not here is passed over."""
    from sentviz.data.lexicon import LEXICONS, Lexicon
    from sentviz.errors import DataMissingError

    first, second, third = LEXICONS["en"]
    lexicons = {
        first: {"warm": (0.7, 0.2, 0.1)},
        second: {"warm": (0.1, 0.2, 0.7), "dull": (0.2, 0.2, 0.6)},
        third: {"soup": (1.0, 0.0, 0.0)},
    }

    def load(name: str) -> Any:
        if name not in lexicons:
            raise DataMissingError(name)
        return SimpleNamespace(terms=tuple(lexicons[name]), weights=list(lexicons[name].values()))

    monkeypatch.setattr(Lexicon, "load", load)
    assert claims._polarities() == pytest.approx({"warm": 0.6, "dull": -0.4})
    del lexicons[first]
    assert claims._polarities() == pytest.approx({"warm": -0.6, "dull": -0.4})
    lexicons.clear()
    assert claims._polarities() == {}


# ---- what ships


@pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
@pytest.mark.parametrize("key", ["e03c9a"])
def test_no_page_refutes_the_furthest_leaders(key: str) -> None:
    """Another training has other leaders, so neither the opening nor an item says that the poster's two words are not the furthest."""
    opening = PAPER.opening
    assert opening and opening.expects[f"hardmax-{key}"] == "unjudged"
    assert "not both" not in opening.result and "cannot judge" in " ".join(opening.question.split())
    (item,) = (item for item in PAPER.items() if key in item.claims)
    assert "cannot be judged" in item.why


@pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
def test_nearness_was_measured_of_runs_that_ship() -> None:
    """At the nearness of the stored measure it says what the run's own table says."""
    from sentviz.analysis.testset.leaders import FILE, NEAR, per_layer

    table = study.NEARNESS.read().set_index(["run", "nearness"])
    for d, (run, *_) in trained(HERE).items():
        layers = per_layer(run.frame(FILE))
        last = layers[(layers["measure"] == "at leaders") & (layers["layer"] == layers["layer"].max())].iloc[0]
        row = table.loc[run.name, NEAR]
        assert row["digest"] == run.digest and row["d"] == d and row["n"] == last["n"]
        assert row[["mean", "q05", "q50"]].tolist() == pytest.approx(last[["mean", "q05", "q50"]].tolist(), abs=1e-5)


def test_every_picture_of_the_poster_is_listed_with_a_page_that_exists() -> None:
    assert [item.number for item in PAPER.items() if item.kind == "figure" and item.state == "live"] == [
        "“Example for i = 1, A = I”",
        "“Embedding, transformer, decoder”",
        "“tokens at the start and after 8 layers”",
        "“15 most frequent leaders”",
    ]
