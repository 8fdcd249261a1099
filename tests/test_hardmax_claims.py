"""The hardmax paper's claims on planted data, on what is here and on nothing; its list of printed pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from sentviz.analysis.claim import Finding
from sentviz.papers.hardmax import PAPER, claims, nearness
from sentviz.papers.hardmax.study import PUBLIC, beside, compared, points, trained
from sentviz.papers.hardmax.study import surveyed as with_leaders
from sentviz.papers.studies.claims import claims_of, judged
from sentviz.runs.store import Run, runs
from tests.studies import as_said, made_run, plant

ROOT = Path(__file__).parents[1]
HERE = [run for run in runs([ROOT / "checkpoints"]).values() if isinstance(run, Run) and run.config["model"].get("kind") == "hardmax"]
THEOREM = "The theorem: leaders exist, tokens cluster on a polytope's boundary, leaders at its vertices"
ENOUGH = "Eight layers are enough to come near the clustered state"
SENTIMENT = (
    "The most frequent leaders 2 or more from the line convey sentiment",
    "The most frequent leaders in the outer two thirds of the leaders' reach convey sentiment",
)
EMBEDDING = "Words that lead have a polarity more often than equally frequent words that do not"
FURTHEST = "The leaders furthest from the decision line include amazing and torture"
GROWS = "Accuracy grows with the dimension of the embedding"
REACHED = "The public code's accuracies are reached"


def judge(statement: str, runs: list[Any] | None = None) -> Finding:
    (claim,) = (claim for claim in claims.CLAIMS if claim.statement == statement)
    return as_said(claim.test(runs or []))


def test_no_claim_is_left_out() -> None:
    assert {claim.statement for claim in claims.CLAIMS} == {THEOREM, EMBEDDING, ENOUGH, *SENTIMENT, FURTHEST, GROWS, REACHED}


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


def surveyed(monkeypatch: pytest.MonkeyPatch, seeds: int) -> list[Any]:
    """Return `seeds` made-up runs with a name, a digest and empty tables; the claims treat them as runs with counted leaders."""
    same = {"config": {"data": {"name": "made up"}}, "shape": SimpleNamespace(width=2), "frame": lambda file: pd.DataFrame()}
    runs = [SimpleNamespace(name=f"s{i}", digest=f"digest-{i}", **same) for i in range(seeds)]
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
    assert finding.verdict == verdict and "within 1% of the largest norm" in finding.evidence and "n = 200" in finding.evidence
    assert finding.evidence.endswith("one training each of d = 2; n = 200" if len(shares) == 1 else "d = 2 (2 trainings); n = 200")


def test_the_nearness_from_which_they_are_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The seed with the worse share decides the nearness that is reported; rows of runs with another digest are ignored."""
    rows = [(0.001, 0.5, "digest-0"), (0.01, 0.97, "digest-0"), (0.05, 0.99, "digest-0"), (0.01, 0.9, "digest-1"), (0.05, 0.96, "digest-1")]
    table = pd.DataFrame([*rows, (0.001, 1.0, "another")], columns=["nearness", "q05", "digest"])
    plant(monkeypatch, "hardmax.nearness.MEASURED", tmp_path, table)
    runs = surveyed(monkeypatch, 2)
    assert claims._at_other_distances(runs[:1]) == "; for 95% of the words in 19 of 20 reviews this is true within 1.00% of the norm"
    assert claims._at_other_distances(runs) == "; for 95% of the words in 19 of 20 reviews this is true within 5.00% of the norm"
    plant(monkeypatch, "hardmax.nearness.MEASURED", tmp_path, table.assign(q05=0.2))
    assert claims._at_other_distances(runs).endswith("not even within 5%")
    assert claims._at_other_distances([]) == ""


GOOD, BAD = {"negative": ["awful", "dull"], "positive": ["lovely", "warm"]}, {"negative": ["lovely", "film"], "positive": ["awful", "warm"]}


@pytest.mark.parametrize(
    ("seeds", "verdict"),
    [
        ((GOOD,), "unjudged"),
        ((BAD, BAD), "fails"),
        ((GOOD, GOOD), "holds"),
        ((GOOD, BAD), "open"),
        (({"negative": ["awful", "plot", "drivel"], "positive": ["lovely", "warm", "film"]},) * 2, "holds"),
        (({"negative": ["plot"], "positive": ["film"]},) * 2, "unjudged"),
        (({"positive": ["lovely", "warm"], "negative": []},) * 2, "fails"),
        (({"positive": ["lovely", "awful"], "negative": ["awful", "warm"]},) * 2, "fails"),
        (({"positive": [], "negative": []},) * 2, "fails"),
    ],
    ids=["one", "both fall", "both hold", "seeds differ", "words without a polarity", "no polarity", "one side only", "half", "none"],
)
def test_what_leaders_convey(seeds: tuple[dict[str, list[str]], ...], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among words with a polarity more than half must have that of their class; a distance in another scale decides nothing."""
    frames = [pd.DataFrame([(k, w) for k, words in seed.items() for w in words], columns=["label", "word"]) for seed in seeds]
    distances: list[float] = []
    monkeypatch.setattr(
        claims, "frequent_leaders", lambda run, distance: (distances.append(distance), (frames[len(distances) % len(frames) - 1], 2.0))[1]
    )
    monkeypatch.setattr(claims, "_polarities", lambda: {"awful": -1.0, "dull": -0.5, "lovely": 1.0, "warm": 0.2, "film": 0.0})
    runs = surveyed(monkeypatch, len(seeds))
    assert judge(SENTIMENT[1], runs).verdict == verdict and set(distances) == {-1 / 3}
    in_units = judge(SENTIMENT[0], runs)
    assert in_units.verdict == "unjudged" and "in the scale of its own embedding" in in_units.evidence and 2.0 in distances
    monkeypatch.setattr(claims, "_polarities", dict)
    assert judge(SENTIMENT[1], runs).verdict == "unjudged"


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


# ---- accuracies of planted runs

Shelf = Callable[..., list[Run]]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Runs by how many of 200 rows they get wrong, by dimension; seeds err on other rows."""
    root, planted_runs = tmp_path_factory.mktemp("planted"), dict[tuple[int, int, int], Run]()

    def of(wrong: dict[int, int], seeds: int = 2) -> list[Run]:
        for d, count in wrong.items():
            for seed in range(seeds):
                if (d, count, seed) not in planted_runs:
                    folder = root / f"{d}-{count}-{seed}"
                    planted_runs[d, count, seed] = made_run(folder, "imdb", f"hardmax-d{d}", seed, wrong=count, first_wrong=7 * seed)
        return [planted_runs[d, count, seed] for d, count in wrong.items() for seed in range(seeds)]

    return of


@pytest.mark.slow
def test_accuracy_by_dimension(shelf: Shelf) -> None:
    rising = {2: 80, 4: 54, 8: 30, 16: 4}
    up = judge(GROWS, shelf(rising))
    assert up.verdict == "holds" and "d 8 to 16: +13.00" in up.evidence and "2 against 2 seeds" in up.evidence
    assert judge(GROWS, shelf(rising | {8: 80})).verdict == "fails"  # d = 8 is worse than d = 4
    assert judge(GROWS, shelf(rising | {8: 54})).verdict == "open"  # d = 8 is as good as d = 4
    assert judge(GROWS, shelf({2: 80, 4: 54, 8: 30})).verdict == "open"  # d = 16 is not available, and could be worse
    assert judge(GROWS, shelf(rising, seeds=1)).verdict == "unjudged"  # other seeds unknown
    assert judge(GROWS, shelf({2: 10})).verdict == "unjudged"


@pytest.mark.exhaustive
def test_accuracies_beside_the_public_code(shelf: Shelf) -> None:
    """Public accuracies are 79.1 to 88.2 %: wrong in 42 to 24 of 200 rows."""
    few, many, near = dict.fromkeys(PUBLIC, 5), dict.fromkeys(PUBLIC, 80), {2: 42, 4: 35, 8: 30, 16: 24}
    assert judge(REACHED, shelf(few)).verdict == "holds"
    assert judge(REACHED, shelf(many)).verdict == "fails"
    assert judge(REACHED, shelf(few | {16: 80})).verdict == "fails"
    assert judge(REACHED, shelf(near)).verdict == "open"
    assert judge(REACHED, shelf({2: 5})).verdict == "open"  # three are not here
    finding = judge(REACHED, shelf(few, seeds=1))
    assert finding.verdict == "unjudged" and "(public code 85.05%), one seed" in finding.evidence


@pytest.mark.slow
def test_no_seed_is_lost(shelf: Shelf) -> None:
    """The mean of a dimension is taken over all its seeds, in any order of the runs; a run with another name is ignored."""
    two, single_seed = shelf({2: 20}), shelf({4: 60}, seeds=1)
    unlisted = made_run(single_seed[0].folder.parents[1], "imdb", "hardmax-d2", 3, wrong=90, name="tried-out")
    assert {d: [run.config["recipe"]["seed"] for run in seeds] for d, seeds in trained([*single_seed, *two[::-1], unlisted]).items()} == {
        2: [0, 1],
        4: [0],
    }
    table = beside([*two, *shelf({2: 60}, seeds=1)[:0], *single_seed]).set_index("d")
    assert table.loc[2, ["value", "seeds"]].tolist() == [0.9, 2] and table.loc[4, ["value", "seeds"]].tolist() == [0.7, 1]
    assert points(two)["value"].tolist() == [0.9, 0.9]


@pytest.mark.slow
def test_validation_chooses_between_the_starts(tmp_path: Path) -> None:
    """The runs with the smaller validation loss stand beside the public code; the rest has a row without a printed number."""

    def both(usual: float, wide: float) -> list[Run]:
        folder = tmp_path / f"{usual}-{wide}"
        few = made_run(folder / "a", "imdb", "hardmax-d2", wrong=20, validation=usual)
        return [few, made_run(folder / "b", "imdb", "hardmax-d2", wrong=60, validation=wide, variant="wide-512")]

    for usual, wide, values, second in ((0.8, 0.9, [0.7, 0.9], "d = 2, 128 words"), (0.9, 0.8, [0.9, 0.7], "d = 2, 512 words")):
        runs = both(usual, wide)
        table = beside(runs)
        assert table["value"].tolist() == pytest.approx(values) and table["printed"].isna().tolist() == [False, True]
        assert table["model"].tolist() == ["d = 2", second] == points(runs)["model"].tolist()
        assert [run.configuration for run in compared(runs)[2]] == ["hardmax-d2-wide-512" if wide > usual else "hardmax-d2"]
        assert f"d = 2 from {usual:.1%} to {wide:.1%}" in judge(REACHED, runs).evidence
    assert "change the validation accuracy" not in judge(REACHED, both(0.8, 0.9)[:1]).evidence


@pytest.mark.slow
def test_leaders_are_read_of_runs_that_have_weights_and_were_counted(shelf: Shelf) -> None:
    """Of two dimensions unless another is asked for, and of every seed."""
    has = {"both": ("model.safetensors", "leaders.parquet"), "weights": ("model.safetensors",), "leaders": ("leaders.parquet",)}

    def holding(run: Run, what: str) -> Run:
        changed = Run(run.name, run.folder)
        vars(changed)["config"] = run.config | {"files": dict.fromkeys(has[what], "")}
        return changed

    (first, second), four = shelf({2: 20}), shelf({4: 60})
    both = [holding(run, "both") for run in (first, second)]
    assert with_leaders([*both, *(holding(run, "both") for run in four)]) == both
    assert [run.name for run in with_leaders([holding(run, "both") for run in four], 4)] == [run.name for run in four]
    for what in ("weights", "leaders"):
        assert with_leaders([both[0], holding(second, what)]) == both[:1]
    assert with_leaders([]) == []


# ---- what ships


@pytest.mark.slow
@pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
def test_numbers_beside_the_public_ones_are_the_runs_own() -> None:
    """Each row of one seed against metrics.json, read here."""
    table = beside(HERE).dropna(subset="printed").set_index("d")
    assert set(table.index) == set(PUBLIC)
    for d, row in table.iterrows():
        seeds = [run.metrics()["test"] for run in compared(HERE)[d]]
        mean = sum(metrics["accuracy"]["value"] for metrics in seeds) / len(seeds)
        assert (row["value"], row["n"], row["seeds"]) == (pytest.approx(mean), seeds[0]["n"], len(seeds))
        assert row["printed"] == PUBLIC[d]


@pytest.mark.skipif(len(HERE) < 4, reason="the hardmax runs are not in checkpoints/")
def test_nearness_was_measured_of_runs_that_ship() -> None:
    """At the nearness of the stored measure it says what the run's own table says."""
    from sentviz.analysis.testset.leaders import FILE, NEAR, per_layer

    table = nearness.MEASURED.read().set_index(["run", "nearness"])
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
