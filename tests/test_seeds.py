"""Models compared over seeds: components by hand, simulated equal models, means over seeds, and configurations compared over them."""

import math
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import bartlett, t
from sklearn.metrics import roc_auc_score

from sentviz.analysis.evaluation import areas_drawn, auc_of_counts, count_draws, holm, ties
from sentviz.analysis.seeds import SeedNoise, compare_correctness, equal_spread, half_width, pooled_noise, standard_error
from sentviz.errors import InputError, RunError
from sentviz.papers.ndt.answer import against, answer, answers_by_rows
from sentviz.papers.studies.compare_configurations import Comparison, in_points, mixed, seeded
from sentviz.papers.studies.means import combined, means, predictions
from sentviz.papers.studies.stats import compare_over_seeds, seed_noise
from sentviz.runs.store import Run
from tests.kit import refused
from tests.studies import N, answering, made_run, made_seeds

Bools = npt.NDArray[np.bool_]


def trained(n: int, seeds: int, rng: np.random.Generator, between: float, chances: npt.NDArray[np.float64] | None = None) -> Bools:
    """Return answers (n, seeds) of a model: most rows easy, some by chance; each training is shifted by `between`."""
    easy = 1 - rng.beta(1, 40, n)
    chances = np.where(rng.random(n) < 0.8, easy, rng.beta(1.2, 1.2, n)) if chances is None else chances
    return rng.random((n, seeds)) < np.clip(chances[:, None] + rng.normal(0, between, seeds), 0, 1)


def slow(answers: Bools) -> tuple[float, float]:
    """Return the variances between seeds and of rows x seeds over n, by sums over single cells."""
    n, seeds = answers.shape
    whole = answers.mean()
    of_seed, of_row = [answers[:, s].mean() for s in range(seeds)], [answers[i].mean() for i in range(n)]
    between = sum((mean - whole) ** 2 for mean in of_seed) / (seeds - 1)
    left = sum((answers[i, s] - of_row[i] - of_seed[s] + whole) ** 2 for i in range(n) for s in range(seeds))
    return between, left / ((n - 1) * (seeds - 1)) / n


def test_components_errors_and_spreads_by_hand() -> None:
    rng = np.random.default_rng(0)
    first, second = trained(60, 3, rng, 0.1), trained(60, 2, rng, 0.1)
    pooled = pooled_noise([first, second])
    assert pooled is not None and pooled.freedom == 3
    (between, rows), (other_between, other_rows) = slow(first), slow(second)
    assert pooled.between == pytest.approx((2 * between + other_between) / 3)
    assert pooled.rows == pytest.approx((2 * rows + other_rows) / 3)
    assert SeedNoise(0.02, 0.03, 4).training == 0 and SeedNoise(0.03, 0.02, 4).training == pytest.approx(0.01)
    assert pooled_noise([]) is None
    error, freedom = standard_error(4.0, (SeedNoise(9.0, 3.0, 5), 5 / 6))
    assert error == pytest.approx(3.0) and freedom == pytest.approx(9.0**2 / ((5 / 6 * 9) ** 2 / 5))
    assert standard_error(0.1, (SeedNoise(9.0, 9.0, 5), 1.0)) == (pytest.approx(math.sqrt(0.1)), 5)
    assert standard_error(4.0, (SeedNoise(0.0, 0.0, 5), 1.0)) == (2.0, math.inf)
    error, freedom = standard_error(1.0, (SeedNoise(6.0, 0.0, 2), 1 / 3), (SeedNoise(3.0, 0.0, 4), 1 / 3))  # Welch: 1 + 2 + 1
    assert error == pytest.approx(2.0) and freedom == pytest.approx(4.0**2 / (2.0**2 / 2 + 1.0**2 / 4))
    rng = np.random.default_rng(4)
    samples = [rng.normal(0, 1 + 2 * (k == 0), 3 + k) for k in range(5)]
    assert equal_spread([x.var(ddof=1) for x in samples], [len(x) - 1 for x in samples]) == pytest.approx(bartlett(*samples).pvalue)
    assert equal_spread([1.0], [2]) == 1.0


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("seeds", [(1, 1), (3, 1), (2, 5)])
@pytest.mark.exhaustive
def test_equal_models_are_told_apart_no_more_than_by_chance(seeds: tuple[int, int], unequal: bool) -> None:
    """Of 1,000 pairs of equal models at most 7 % are told apart, and few at Holm's level of 12, whether their spreads are equal or not.

    Accuracies vary by 2 points from seed to seed. Unequal: by 0.5 to 8 points, a spread of its own for each model and for each of twelve
    further configurations with three seeds, over which the noise is pooled. A test that does not decide tells nothing apart.
    """
    rng, ps = np.random.default_rng(1), []
    for _ in range(1_000):
        chances = np.where(rng.random(400) < 0.8, 1 - rng.beta(1, 40, 400), rng.beta(1.2, 1.2, 400))
        spreads = 0.005 * 16 ** rng.random(14) if unequal else np.full(14, 0.02)
        a, b, *more = (trained(400, s, rng, spread, chances) for s, spread in zip((*seeds, *(3,) * 12), spreads, strict=True))
        got = compare_correctness(a, b, pooled_noise([side for side in (a, b, *more) if side.shape[1] > 1]))
        ps.append(1.0 if got.unequal else got.p)
    assert np.mean(np.array(ps) < 0.05) <= 0.07 and np.mean(np.array(ps) < 0.05 / 12) <= 0.015
    assert unequal or np.mean(np.array(ps) < 0.05) >= 0.01  # the test decides if the spreads are equal


def test_over_seeds_from_runs(tmp_path: Path) -> None:
    make = partial(answering, tmp_path)
    rng = np.random.default_rng(5)
    a, b = trained(300, 3, rng, 0.05), trained(300, 2, rng, 0.05)
    of_a, of_b = ([make(f"{name}{s}", side[:, s]) for s in range(side.shape[1])] for name, side in (("a", a), ("b", b)))
    got = compare_over_seeds(of_a, of_b)
    assert got.n == 300 and got.accuracies_a == pytest.approx(a.mean(axis=0)) and got.accuracies_b == pytest.approx(b.mean(axis=0))
    (between_a, rows_a), (between_b, rows_b) = slow(a), slow(b)
    between, rows = (2 * between_a + between_b) / 3, (2 * rows_a + rows_b) / 3  # pooled, for the model with two seeds
    counted = max(0, between_a - rows_a) / 3 + max(0, between - rows) / 2
    variance = (a.mean(axis=1) - b.mean(axis=1)).var(ddof=1) / 300 + counted
    freedom = max(2, variance**2 / ((between_a / 3) ** 2 / 2 + (between / 2) ** 2 / 3))
    assert got.spread == "own and pooled spread"
    assert got.difference == pytest.approx(a.mean() - b.mean()) and got.freedom == pytest.approx(freedom)
    half = t.ppf(0.975, freedom) * math.sqrt(variance)
    assert (got.low, got.high) == pytest.approx((got.difference - half, got.difference + half))
    assert got.p == pytest.approx(2 * t.sf(abs(got.difference) / math.sqrt(variance), freedom))
    assert compare_over_seeds(of_b, of_a).p == got.p
    wider = compare_over_seeds(of_a, of_b, level=0.999)
    assert wider.high > got.high and wider.p == got.p
    noise = seed_noise([of_a, of_b, of_a[:1]])
    assert noise is not None and compare_over_seeds(of_a, of_b, noise=noise) == got
    assert compare_over_seeds(of_a, of_b[:1], noise=noise).accuracies_a == got.accuracies_a
    assert seed_noise([of_a[:1], of_b[:1]]) is None
    side = [make(f"r{s}", [True, False, True]) for s in range(4)]
    got = compare_over_seeds(side[:2], side[2:])
    assert (got.difference, got.low, got.high, got.p) == (0, 0, 0, 1)
    a, b, few = make("a", [True, False]), make("b", [False, True]), make("few", [True])
    for sides in (([], [b]), ([a], []), ([a, a], [b])):
        refused(InputError, "at least one run, and no run twice", compare_over_seeds, *sides)
    refused(InputError, "Seed variance cannot be estimated", compare_over_seeds, [a], [b])
    refused(InputError, "a and few were not tested on the same rows", compare_over_seeds, [a, b], [few])


def test_the_area_of_drawn_rows_is_scikit_learns() -> None:
    for digits in (1, 6):
        rng = np.random.default_rng(3)
        positive, scores = rng.random(60) < 0.4, rng.random(60).round(digits)
        sides = [(positive, scores), (~positive, 1 - scores**2)]
        values, draws = areas_drawn(sides, np.random.default_rng(7), 8)
        assert values == pytest.approx([roc_auc_score(*side) for side in sides])
        rows = np.random.default_rng(7).integers(0, 60, size=(8, 60))
        np.testing.assert_allclose(draws, [[roc_auc_score(side[row], by[row]) for side, by in sides] for row in rows])
        at, code = ties(positive, scores)
        alone = count_draws(code[np.flatnonzero(positive)[None]], 2 * len(at)).reshape(1, 2, -1)
        assert np.isnan(auc_of_counts(alone[:, 0], alone[:, 1])).all()


def test_means_over_seeds_have_an_interval_and_follow_their_files(tmp_path: Path) -> None:
    runs = [made_run(tmp_path, "sst2", "diff", seed, wrong=wrong, first_wrong=11 * seed) for seed, wrong in enumerate((10, 16, 34))]
    table, stored, first = means(runs), runs[0].metrics()["test"], means(runs[:1])
    assert table["accuracy"]["value"] == pytest.approx(1 - 20 / N, abs=1e-5)
    assert table["auc"]["value"] == pytest.approx(np.mean([run.metrics()["test"]["auc"]["value"] for run in runs]), abs=1e-5)
    for name in ("accuracy", "precision_weighted", "f1_macro", "auc", "silhouette", "loss"):
        assert table[name]["low"] < table[name]["value"] < table[name]["high"] and table[name]["seeds"] == 3
        assert first[name]["seeds"] == 1
        assert {key: first[name][key] for key in ("value", "low", "high")} == {key: stored[name][key] for key in ("value", "low", "high")}
    labels, probabilities = predictions(runs)
    right = (probabilities.argmax(axis=2) == labels).T
    noise = pooled_noise([right])
    assert noise is not None and means(runs[:1], "official_test") == {}
    half = half_width(*standard_error(right.mean(axis=1).var(ddof=1) / N, (noise, 1 / 3)))
    ends = [1 - 20 / N - half, min(1, 1 - 20 / N + half)]
    assert [table["accuracy"]["low"], table["accuracy"]["high"]] == pytest.approx(ends, abs=0.006)
    with pytest.raises(InputError, match="same rows"):
        predictions([runs[0], made_run(tmp_path, "imdb", "diff")])
    runs = made_seeds(tmp_path, "sst2", "diff", 2)
    first = means(runs)
    first["accuracy"]["value"] = 0.0
    assert means(runs)["accuracy"]["value"] > 0
    runs[0].metrics()["test"].clear()
    assert runs[0].metrics()["test"]["n"] == N
    for file in ("test.parquet", "metrics.json"):
        whole = (runs[0].folder / file).read_bytes()
        (runs[0].folder / file).write_bytes(whole + b" ")
        refused(RunError, f"{file} is damaged", means, runs)
        (runs[0].folder / file).write_bytes(whole)
    assert means(runs)["accuracy"]["value"] > 0


def test_a_mixed_comparison_uses_what_is_there(tmp_path: Path) -> None:
    many, few = made_seeds(tmp_path, "sst2", "diff", 3, wrong=40), made_seeds(tmp_path, "sst2", "vanilla", 2, wrong=10, first_wrong=100)
    second = made_run(tmp_path, "sst2", "ndt-unit-2", 1, wrong=5, first_wrong=150)
    over, against_many, single = mixed(few, many), mixed([second], many), mixed([second], many[1:2])
    assert (over.test, over.seeds, over.word(), over.difference) == ("over seeds", (2, 3), "better", pytest.approx(30 / N))
    accuracies = pytest.approx((1 - 5 / N, 1 - 40 / N))
    assert (against_many.test, against_many.seeds, against_many.accuracies) == ("over seeds", (1, 3), accuracies)
    assert against_many.difference == pytest.approx(against_many.accuracies[0] - against_many.accuracies[1])
    assert (single.test, single.seeds, single.n, single.accuracies) == ("McNemar", (1, 1), N, accuracies)
    assert single.difference == pytest.approx(35 / N) and single.p == pytest.approx(2 * sum(comb(45, k) for k in range(6)) / 2**45)
    assert single.word() == "cannot be told" and "other seeds are unknown" in single.numbers
    noise = seed_noise([many, few])
    assert mixed([second], many[1:2], noise=noise).test == "over seeds"
    assert mixed([second], [second], noise=noise).word() == "cannot be told"


@pytest.mark.parametrize(
    ("ends", "p", "test", "adjusted", "why"),
    [((-0.0075, -0.0001), 0.04, "over seeds", 0.3, " (p = 0.04, p after Holm = 0.3)"), ((-0.0075, -0.0001), 0.04, "over seeds", 0.04, ""),
     ((-0.0075, 0.0), 0.06, "over seeds", 0.3, ""), ((-0.0075, 0.0001), 0.06, "over seeds", 0.3, ""),
     ((-0.03, -0.01), 0.001, "McNemar", 0.001, " (compares two runs, not two models)")],
)  # fmt: skip
def test_an_interval_that_leaves_out_zero_and_tells_nothing_says_why(ends: Any, p: float, test: Any, adjusted: float, why: str) -> None:
    seeds = (1, 1) if test == "McNemar" else (3, 3)
    comparison = Comparison(900, seeds, (0.8, 0.8 - sum(ends) / 2), sum(ends) / 2, *ends, p, test)
    assert comparison.explained(adjusted) == comparison.numbers + why


def test_the_word_for_a_difference_and_combined_intervals() -> None:
    for difference, p, adjusted, test, word in [
        (0.1, 0.05, None, "over seeds", "better"),
        (-0.1, 0.05, None, "over seeds", "worse"),
        (0.1, 0.051, None, "over seeds", "cannot be told"),
        (0.1, 0.01, 0.051, "over seeds", "cannot be told"),
        (-0.1, 0.2, 0.05, "over seeds", "worse"),
        (0.1, 0.001, 0.001, "McNemar", "cannot be told"),
    ]:
        comparison = Comparison(9, (2, 1), (0.8, 0.8 - difference), difference, difference - 0.02, difference + 0.03, p, test)
        assert comparison.word(adjusted) == word
        low, high = (f"{100 * difference + wide:+.2f}" for wide in (-2, 3))
        assert comparison.points == f"{100 * difference:+.2f} points [{low}, {high}]".replace("-", "−")
        assert comparison.points == in_points({"difference": comparison.difference, "low": comparison.low, "high": comparison.high})
        assert comparison.compared == ("2 against 1 seed" if test == "over seeds" else "one seed each; other seeds are unknown")
        assert comparison.numbers == f"{comparison.points}, {comparison.compared}, n = 9"
    interval = combined([{"value": 0.4, "low": 0.36, "high": 0.44}, {"value": 0.6, "low": 0.56, "high": 0.64}])
    variance = (0.04 / 1.96) ** 2 + 0.1**2
    half = t.ppf(0.975, variance**2 / 0.1**4) * np.sqrt(variance)
    assert interval == {"value": 0.5, "low": pytest.approx(0.5 - half, abs=1e-5), "high": pytest.approx(0.5 + half, abs=1e-5)}
    for verdict in ("holds", "fails", "unjudged"):
        assert seeded(verdict, ["McNemar"]) == seeded(verdict, ["over seeds"]) == verdict
    assert seeded("open", ["McNemar", "McNemar"]) == seeded("open", []) == "unjudged"
    assert seeded("open", ["McNemar", "over seeds"]) == "open"


def test_every_configuration_against_one_is_corrected(tmp_path: Path) -> None:
    wrong = {"vanilla": 30, "diff": 29, "ndt-unit-2": 2, "ndt-free-2": 60}
    runs = [run for model, rows in wrong.items() for run in made_seeds(tmp_path, "sst2", model, 2, wrong=rows)]
    frame = against(runs, "sst2", "vanilla").set_index("model")
    assert list(frame["verdict"]) == ["cannot be told", "better", "worse"] and against(runs, "sst2", "vanilla-matched").empty
    assert frame["adjusted"].to_dict() == pytest.approx(holm(dict(frame["p"].sort_values())))
    alone = against(runs[::2], "sst2", "vanilla")
    assert set(alone["verdict"]) == {"cannot be told"} and set(alone["test"]) == {"McNemar"} and alone["p"].min() < 1e-6
    mixture = against([*runs[::2], runs[1]], "sst2", "vanilla").set_index("model")  # the baseline's two seeds serve for all
    assert set(mixture["test"]) == {"over seeds"} and mixture.loc["ndt-free-2", "verdict"] == "worse"
    assert list(mixture["seeds"]) == [1, 1, 1] and set(mixture["base_seeds"]) == {2}


def test_the_strictest_answer_of_several_kinds_of_rows_stands_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def seeds(model: str, wrong: int) -> list[Run]:
        return made_seeds(tmp_path / str(wrong), "sst2", model, 2, wrong=wrong, also=("official_test",))

    def answers() -> list[tuple[str, str]]:
        return [(each.word, each.rows) for each in answers_by_rows(every, "sst2")]

    split, official = "the re-split", "the official sentences"
    groups = {model: seeds(model, wrong) for model, wrong in (("ndt-unit-2", 20), ("diff", 60), ("vanilla-matched", 60))}
    every = [run for runs in groups.values() for run in runs]
    assert answers() == [("yes", split), ("yes", official)]
    planted: dict[str, dict[str, list[Run]]] = {"test": groups, "official_test": groups | {"diff": seeds("diff", 1)}}
    monkeypatch.setattr("sentviz.papers.ndt.answer.tested", lambda runs, dataset, split: planted[split])
    assert answers() == [("no", official), ("yes", split)]
    even = seeds("diff", 21)
    planted |= {"test": groups | {"vanilla-matched": even}, "official_test": groups | dict.fromkeys(("diff", "vanilla-matched"), even)}
    assert answers() == [("cannot be told", official), ("cannot be told", split)]
    planted["official_test"] = {}
    assert answers() == [("cannot be told", split)]


def test_the_answer_is_about_the_configuration_best_on_validation(tmp_path: Path) -> None:
    rows = (("ndt-unit-2", 20, 0.95), ("ndt-unit-3", 0, 0.90), ("diff", 50, 0.9), ("vanilla-matched", 2, 0.9))
    runs = [run for model, wrong, value in rows for run in made_seeds(tmp_path, "sst2", model, 2, wrong=wrong, validation=value)]
    equal = [run for model in ("diff", "vanilla-matched") for run in made_seeds(tmp_path / "equal", "sst2", model, 2, wrong=21)]
    best, alone, first_only, even = (answer(each, "sst2") for each in (runs, runs[:2], runs[::2], [*runs[:2], *equal]))
    assert best and alone and first_only and even and answer(runs, "imdb") is None
    assert (best.model, best.word, alone.word) == ("ndt-unit-2", "no", "cannot be told")
    assert best.short == "SST-2, on the re-split: NDT beats DT and is worse than vanilla-matched"
    ends = "2 against 2 seeds (pooled spread), n = 200. 2 of 12 NDT configurations are installed."
    assert "+15.00 points [" in best.sentence and "−9.00 points [" in best.sentence and ends in best.sentence
    assert "no run of DT or vanilla-matched is installed: ndt-unit-2, 90.00\u00a0%; no baseline is installed" in alone.sentence
    assert first_only.short == even.short == "SST-2, on the re-split: NDT cannot be told from DT or vanilla-matched"
