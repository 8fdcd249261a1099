"""Means over seeds, and configurations compared over them."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from sentviz.analysis.evaluation import areas_drawn, auc_of_counts, count_draws, holm, ties
from sentviz.analysis.seeds import half_width, pooled_noise, standard_error
from sentviz.errors import InputError, RunError
from sentviz.papers.ndt.answer import against, answer, answers_by_rows
from sentviz.papers.studies.compare_configurations import Comparison, in_points, mixed, seeded
from sentviz.papers.studies.means import combined, means, predictions
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run
from tests.studies import N, made_run, made_seeds


@pytest.mark.parametrize("digits", [1, 6])
def test_the_area_of_drawn_rows_is_scikit_learns(digits: int) -> None:
    """Areas under resampled rows equal scikit-learn's row by row, with many ties and without; a draw of one class has no area."""
    rng = np.random.default_rng(3)
    positive, scores = rng.random(60) < 0.4, rng.random(60).round(digits)
    second = 1 - scores**2
    values, draws = areas_drawn([(positive, scores), (~positive, second)], np.random.default_rng(7), 8)
    assert values == pytest.approx([roc_auc_score(positive, scores), roc_auc_score(~positive, second)])
    rows = np.random.default_rng(7).integers(0, 60, size=(8, 60))
    np.testing.assert_allclose(
        draws, [[roc_auc_score(side[row], by[row]) for side, by in ((positive, scores), (~positive, second))] for row in rows]
    )
    at, code = ties(positive, scores)
    alone = count_draws(code[np.flatnonzero(positive)[None]], 2 * len(at)).reshape(1, 2, -1)
    assert np.isnan(auc_of_counts(alone[:, 0], alone[:, 1])).all()


def test_seeds_have_the_mean_and_an_interval_that_holds_it(tmp_path: Path) -> None:
    """Means equal those computed in the test, with an interval over rows and seeds; one seed keeps its stored interval."""
    runs = [made_run(tmp_path, "sst2", "diff", seed, wrong=wrong, first_wrong=11 * seed) for seed, wrong in enumerate((10, 16, 34))]
    table, stored, first = means(runs), runs[0].metrics()["test"], means(runs[:1])
    assert table["accuracy"]["value"] == pytest.approx(1 - 20 / N, abs=1e-5)
    assert table["auc"]["value"] == pytest.approx(np.mean([run.metrics()["test"]["auc"]["value"] for run in runs]), abs=1e-5)
    for name in ("accuracy", "precision_weighted", "f1_macro", "auc", "silhouette", "loss"):
        assert table[name]["low"] < table[name]["value"] < table[name]["high"] and table[name]["seeds"] == 3
        assert first[name]["seeds"] == 1 and {key: first[name][key] for key in ("value", "low", "high")} == {
            key: stored[name][key] for key in ("value", "low", "high")
        }
    labels, probabilities = predictions(runs)
    right = (probabilities.argmax(axis=2) == labels).T
    noise = pooled_noise([right])
    assert noise is not None and means(runs[:1], "official_test") == {}
    half = half_width(*standard_error(right.mean(axis=1).var(ddof=1) / N, (noise, 1 / 3)))
    ends = [1 - 20 / N - half, min(1, 1 - 20 / N + half)]
    assert [table["accuracy"]["low"], table["accuracy"]["high"]] == pytest.approx(ends, abs=0.006)
    with pytest.raises(InputError, match="same rows"):
        predictions([runs[0], made_run(tmp_path, "imdb", "diff")])


def test_means_are_taken_again_of_other_files(tmp_path: Path) -> None:
    """Cached means are copies, and a file that is damaged later is refused."""
    runs = made_seeds(tmp_path, "sst2", "diff", 2)
    first = means(runs)
    first["accuracy"]["value"] = 0.0
    assert means(runs)["accuracy"]["value"] > 0
    runs[0].metrics()["test"].clear()
    assert runs[0].metrics()["test"]["n"] == N
    for file in ("test.parquet", "metrics.json"):
        whole = (runs[0].folder / file).read_bytes()
        (runs[0].folder / file).write_bytes(whole + b" ")
        with pytest.raises(RunError, match=f"{file} is damaged"):
            means(runs)
        (runs[0].folder / file).write_bytes(whole)
    assert means(runs)["accuracy"]["value"] > 0


def test_intervals_are_combined_as_variances() -> None:
    """With rows ± 0.04, and seeds 0.4 and 0.6 (standard error 0.1, one degree of freedom), the combined interval is the computed one."""
    interval = combined([{"value": 0.4, "low": 0.36, "high": 0.44}, {"value": 0.6, "low": 0.56, "high": 0.64}])
    variance = (0.04 / 1.96) ** 2 + 0.1**2
    half = t.ppf(0.975, variance**2 / 0.1**4) * np.sqrt(variance)
    assert interval == {"value": 0.5, "low": pytest.approx(0.5 - half, abs=1e-5), "high": pytest.approx(0.5 + half, abs=1e-5)}


def test_a_mixed_comparison_uses_what_is_there(tmp_path: Path) -> None:
    """If one side has two seeds or noise is given, all seeds are compared; otherwise McNemar's exact test gives no verdict on models."""
    many, few = made_seeds(tmp_path, "sst2", "diff", 3, wrong=40), made_seeds(tmp_path, "sst2", "vanilla", 2, wrong=10, first_wrong=100)
    second = made_run(tmp_path, "sst2", "ndt-unit-2", 1, wrong=5, first_wrong=150)
    over, against_many, single = mixed(few, many), mixed([second], many), mixed([second], many[1:2])
    assert (over.test, over.seeds, over.word(), over.difference) == ("over seeds", (2, 3), "better", pytest.approx(30 / N))
    assert (against_many.test, against_many.seeds, against_many.accuracies) == (
        "over seeds",
        (1, 3),
        pytest.approx((1 - 5 / N, 1 - 40 / N)),
    )
    assert against_many.difference == pytest.approx(against_many.accuracies[0] - against_many.accuracies[1])
    assert (single.test, single.seeds, single.n, single.accuracies) == ("McNemar", (1, 1), N, pytest.approx((1 - 5 / N, 1 - 40 / N)))
    assert single.difference == pytest.approx(35 / N) and single.p == pytest.approx(2 * sum(comb(45, k) for k in range(6)) / 2**45)
    assert single.word() == "cannot be told" and "other seeds are unknown" in single.numbers
    noise = seed_noise([many, few])
    assert (
        mixed([second], many[1:2], noise=noise).test == "over seeds" and mixed([second], [second], noise=noise).word() == "cannot be told"
    )


@pytest.mark.parametrize(
    ("ends", "p", "test", "adjusted", "why"),
    [((-0.0075, -0.0001), 0.04, "over seeds", 0.3, " (p = 0.04, p after Holm = 0.3)"), ((-0.0075, -0.0001), 0.04, "over seeds", 0.04, ""),
     ((-0.0075, 0.0), 0.06, "over seeds", 0.3, ""), ((-0.0075, 0.0001), 0.06, "over seeds", 0.3, ""),
     ((-0.03, -0.01), 0.001, "McNemar", 0.001, " (compares two runs, not two models)")],
)  # fmt: skip
def test_an_interval_that_leaves_out_zero_and_tells_nothing_says_why(ends: Any, p: float, test: Any, adjusted: float, why: str) -> None:
    """Such an interval names Holm's step if there are several comparisons, and McNemar's limits if there are single runs."""
    seeds = (1, 1) if test == "McNemar" else (3, 3)
    comparison = Comparison(900, seeds, (0.8, 0.8 - sum(ends) / 2), sum(ends) / 2, *ends, p, test)
    assert comparison.explained(adjusted) == comparison.numbers + why


def test_open_comparisons_of_single_runs_cannot_be_judged() -> None:
    """Decided verdicts stay; an open one stays open if one of the comparisons is over seeds."""
    for verdict in ("holds", "fails", "unjudged"):
        assert seeded(verdict, ["McNemar"]) == seeded(verdict, ["over seeds"]) == verdict
    assert seeded("open", ["McNemar", "McNemar"]) == seeded("open", []) == "unjudged"
    assert seeded("open", ["McNemar", "over seeds"]) == "open"


@pytest.mark.parametrize(
    ("difference", "p", "adjusted", "test", "word"),
    [
        (0.1, 0.05, None, "over seeds", "better"),
        (-0.1, 0.05, None, "over seeds", "worse"),
        (0.1, 0.051, None, "over seeds", "cannot be told"),
        (0.1, 0.01, 0.051, "over seeds", "cannot be told"),
        (-0.1, 0.2, 0.05, "over seeds", "worse"),
        (0.1, 0.001, 0.001, "McNemar", "cannot be told"),
    ],
)
def test_the_word_for_a_difference(
    difference: float, p: float, adjusted: float | None, test: Literal["over seeds", "McNemar"], word: str
) -> None:
    """The word is chosen at 5 %, by the adjusted p if there is one; McNemar's test gives no word."""
    comparison = Comparison(9, (2, 1), (0.8, 0.8 - difference), difference, difference - 0.02, difference + 0.03, p, test)
    assert comparison.word(adjusted) == word
    low, high = (f"{100 * difference + wide:+.2f}" for wide in (-2, 3))
    assert comparison.points == f"{100 * difference:+.2f} points [{low}, {high}]".replace("-", "−")
    assert comparison.points == in_points({"difference": comparison.difference, "low": comparison.low, "high": comparison.high})
    assert comparison.compared == ("2 against 1 seed" if test == "over seeds" else "one seed each; other seeds are unknown")
    assert comparison.numbers == f"{comparison.points}, {comparison.compared}, n = 9"


def test_every_configuration_against_one_is_corrected(tmp_path: Path) -> None:
    """Holm's correction over three keeps a clear difference and drops one of a single row; single seeds decide nothing."""
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
    """NDT is better on the re-split, but a base beats it on the official sentences, so the stricter answer is first."""

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
    """The best configuration beats DT and is behind the control, and the answer says so with numbers; without DT the answer says that."""
    rows = (("ndt-unit-2", 20, 0.95), ("ndt-unit-3", 0, 0.90), ("diff", 50, 0.9), ("vanilla-matched", 2, 0.9))
    runs = [run for model, wrong, value in rows for run in made_seeds(tmp_path, "sst2", model, 2, wrong=wrong, validation=value)]
    equal = [run for model in ("diff", "vanilla-matched") for run in made_seeds(tmp_path / "equal", "sst2", model, 2, wrong=21)]
    best, alone, first_only, even = (answer(each, "sst2") for each in (runs, runs[:2], runs[::2], [*runs[:2], *equal]))
    assert best and alone and first_only and even and answer(runs, "imdb") is None
    assert (best.model, best.word, alone.word) == ("ndt-unit-2", "no", "cannot be told")
    assert best.short == "SST-2, on the re-split: NDT beats DT and is worse than vanilla-matched"
    for words in (
        "+15.00 points [",
        "−9.00 points [",
        "2 against 2 seeds (pooled spread), n = 200. 2 of 12 NDT configurations are installed.",
    ):
        assert words in best.sentence
    assert "no run of DT or vanilla-matched is installed: ndt-unit-2, 90.00\u00a0%; no baseline is installed" in alone.sentence
    assert first_only.short == even.short == "SST-2, on the re-split: NDT cannot be told from DT or vanilla-matched"
