"""Means over seeds, and configurations compared over them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sentviz.errors import InputError
from sentviz.studies.against import against, answer, mixed
from sentviz.studies.means import auc_draws, combined, means, predictions
from tests.studies import N, made_run, made_seeds


@pytest.mark.parametrize("digits", [1, 6])
def test_the_area_of_weighted_rows_is_scikit_learns(digits: int) -> None:
    """With many ties and with none; a draw without one class has no area."""
    rng = np.random.default_rng(3)
    positive, scores = rng.random(60) < 0.4, rng.random(60).round(digits)
    weights = rng.multinomial(60, np.full(60, 1 / 60), size=8)
    slow = [roc_auc_score(positive, scores, sample_weight=row) for row in weights]
    np.testing.assert_allclose(auc_draws(positive, scores, weights), slow)
    assert np.isnan(auc_draws(positive, scores, np.where(positive, weights, 0))).all()


def test_one_seed_keeps_its_stored_interval(tmp_path: Path) -> None:
    run = made_run(tmp_path, "sst2", "diff")
    stored = run.metrics()["test"]
    found = means([run])
    for name in ("accuracy", "f1_macro", "auc", "silhouette", "loss"):
        assert {key: found[name][key] for key in ("value", "low", "high")} == {key: stored[name][key] for key in ("value", "low", "high")}
        assert found[name]["seeds"] == 1
    assert means([run], "official_test") == {}


def test_several_seeds_have_the_mean_and_an_interval_that_holds_it(tmp_path: Path) -> None:
    """Means by hand; the accuracy's interval is about a slow bootstrap's over rows and seeds."""
    runs = [made_run(tmp_path, "sst2", "diff", seed, wrong=wrong, first_wrong=11 * seed) for seed, wrong in enumerate((10, 16, 34))]
    found = means(runs)
    assert found["accuracy"]["value"] == pytest.approx(1 - 20 / N, abs=1e-5)
    assert found["auc"]["value"] == pytest.approx(np.mean([run.metrics()["test"]["auc"]["value"] for run in runs]), abs=1e-5)
    for name in ("accuracy", "precision_weighted", "f1_macro", "auc", "silhouette", "loss"):
        assert found[name]["low"] < found[name]["value"] < found[name]["high"]
        assert found[name]["seeds"] == 3
    labels, probabilities = predictions(runs)
    right = (probabilities.argmax(axis=2) == labels).astype(float)
    rng, draws = np.random.default_rng(5), []
    for _ in range(3_000):
        of_seeds = right[:, rng.integers(0, N, N)].mean(axis=1)
        drawn = np.bincount(rng.integers(0, 3, 3), minlength=3) / 3
        draws.append(((1 / 3 + (drawn - 1 / 3) * np.sqrt(3 / 2)) * of_seeds).sum())
    low, high = np.percentile(draws, [2.5, 97.5])
    assert found["accuracy"]["low"] == pytest.approx(low, abs=0.008)
    assert found["accuracy"]["high"] == pytest.approx(high, abs=0.008)


def test_intervals_are_combined_as_variances() -> None:
    """By hand: rows ± 0.04, seeds 0.4 and 0.6 with standard error 0.1."""
    found = combined([{"value": 0.4, "low": 0.36, "high": 0.44}, {"value": 0.6, "low": 0.56, "high": 0.64}])
    half = 1.96 * np.sqrt((0.04 / 1.96) ** 2 + 0.1**2)
    assert found == {"value": 0.5, "low": pytest.approx(0.5 - half, abs=1e-5), "high": pytest.approx(0.5 + half, abs=1e-5)}


def test_runs_tested_on_other_rows_are_refused(tmp_path: Path) -> None:
    a, b = made_run(tmp_path, "sst2", "diff"), made_run(tmp_path, "imdb", "diff")
    with pytest.raises(InputError, match="same rows"):
        predictions([a, b])


def test_a_mixed_comparison_uses_what_is_there(tmp_path: Path) -> None:
    """Two seeds each: over seeds; one on a side: McNemar on the seed that both have, exact by hand."""
    many, few = made_seeds(tmp_path, "sst2", "diff", 3, wrong=40), made_seeds(tmp_path, "sst2", "vanilla", 2, wrong=10, first_wrong=100)
    over = mixed(few, many)
    assert (over.test, over.seeds, over.word()) == ("over seeds", (2, 3), "better")
    assert over.difference == pytest.approx(30 / N)
    assert "2 against 3 seeds" in over.numbers
    second = made_run(tmp_path, "sst2", "ndt-unit-2", 1, wrong=5, first_wrong=150)
    single = mixed([second], many)
    assert single.test == "McNemar"
    assert single.difference == pytest.approx(35 / N)  # seed 1 of the other side, wrong on rows 7 to 46
    assert single.p == pytest.approx(2 * sum(_choose(45, k) for k in range(6)) / 2**45)
    assert mixed([second], [second]).word() == "cannot be told"


def _choose(n: int, k: int) -> int:
    from math import comb

    return comb(n, k)


def test_every_configuration_against_one_is_corrected(tmp_path: Path) -> None:
    """Holm by hand over three; one clear difference stays, one of two wrong rows does not."""
    made = [made_run(tmp_path, "sst2", "vanilla", wrong=30)]
    made += [made_run(tmp_path, "sst2", model, wrong=wrong) for model, wrong in (("diff", 28), ("ndt-unit-2", 2), ("ndt-free-2", 60))]
    frame = against(made, "sst2", "vanilla").set_index("model")
    assert list(frame["verdict"]) == ["cannot be told", "better", "worse"]
    p = frame["p"]
    assert frame.loc["ndt-free-2", "adjusted"] == pytest.approx(max(3 * p["ndt-free-2"], 0))
    assert frame.loc["ndt-unit-2", "adjusted"] == pytest.approx(2 * p["ndt-unit-2"])
    assert against(made, "sst2", "vanilla-matched").empty


def test_the_answer_is_about_the_configuration_best_on_validation(tmp_path: Path) -> None:
    """It beats DT, is behind the control, and says so with its numbers; without DT it says that."""
    made = [
        made_run(tmp_path, "sst2", "ndt-unit-2", wrong=20, validation=0.95),
        made_run(tmp_path, "sst2", "ndt-unit-3", wrong=0, validation=0.90),
        made_run(tmp_path, "sst2", "diff", wrong=50),
        made_run(tmp_path, "sst2", "vanilla-matched", wrong=2),
    ]
    found = answer(made, "sst2")
    assert found is not None
    assert (found.model, found.word) == ("ndt-unit-2", "no")
    assert found.short == "SST-2: NDT beats DT and is behind the matched vanilla"
    assert "+15.00 [" in found.sentence and "−9.00 [" in found.sentence
    assert "n = 200" in found.sentence
    alone = answer(made[:1], "sst2")
    assert alone is not None
    assert alone.word == "cannot be told"
    assert alone.sentence.startswith("SST-2: no run of DT or the matched vanilla here: ndt-unit-2, 90.00%; nothing here")
    even = answer([made[0], *(made_run(tmp_path, "sst2", model, wrong=21) for model in ("diff", "vanilla-matched"))], "sst2")
    assert even is not None
    assert even.short == "SST-2: NDT cannot be told from DT or the matched vanilla"
    assert answer(made, "imdb") is None
