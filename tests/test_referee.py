"""Explanation methods against exact values: measures against plain loops, planted games, a model whose values are known, and the tables."""

import shutil
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import spearmanr

from sentviz.analysis.explain import claims, exact_comparison, exact_comparison_table, explained
from sentviz.analysis.explain import stored as tables
from sentviz.analysis.explain.exact import exact, shapley_values, subsets
from sentviz.analysis.explain.leave_out import words
from sentviz.charts.gallery import draw
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.runs.store import SHIPPED, Run, find

TEXTS = ["what a warm song", "what a warm, clever song", "a song", "not a clever song at all"]
TEXTS += ["warm and clever, what a song", "a b c d e f g h i j k l"]


def _table(value: Callable[[set[int]], float], n: int) -> np.ndarray:
    return np.array([value({i for i in range(n) if row[i]}) for row in subsets(n)])


def _of(table: np.ndarray, scores: dict[str, np.ndarray]) -> pd.DataFrame:
    return exact_comparison.of_text(table, scores, 0)[0].set_index(["method", "metric"])["value"]


def test_measures_equal_plain_loops() -> None:
    table = np.random.default_rng(4).normal(size=32)
    scores, removed = np.array([0.4, -1.3, 0.9, 0.1, -0.2]), np.arange(5.0)
    got = _of(table, {"gradient": scores, "removal": removed})["gradient"]
    truth, p = shapley_values(table), 1 / (1 + np.exp(-table))

    def left(gone: tuple[int, ...]) -> float:
        return float(p[sum(1 << i for i in range(5) if i not in gone)])

    def fall(order: tuple[int, ...]) -> float:
        return float(np.mean([left(()) - left(order[:k]) for k in range(1, 6)]))

    order = tuple(sorted(range(5), key=lambda i: -scores[i]))
    every = [fall(each) for each in permutations(range(5))]
    tops = [1, 1, 2, 2, 3]  # 10 .. 50 % of five words
    without = [left(order[:k]) for k in range(6)]
    alone = [left(tuple(set(range(5)) - set(order[:k]))) for k in range(6)]
    assert got["ranks"] == pytest.approx(spearmanr(scores, truth).statistic)
    assert got["size"] == pytest.approx(spearmanr(abs(scores), abs(truth)).statistic)
    assert got["signs"] == np.mean(np.sign(scores) == np.sign(truth))
    assert got["first"] == float(np.argmax(abs(scores)) == np.argmax(abs(truth)))
    assert got["error"] == pytest.approx(np.sqrt(((scores - truth) ** 2).sum() / (truth**2).sum()))
    assert got["reached"] == pytest.approx((fall(order) - min(every)) / (max(every) - min(every)))
    assert got["comprehensiveness"] == pytest.approx(np.mean([left(()) - without[k] for k in tops]))
    assert got["sufficiency"] == pytest.approx(np.mean([left(()) - alone[k] for k in tops]))
    assert got["deletion"] == pytest.approx(np.trapezoid(without, np.linspace(0, 1, 6)))
    assert got["insertion"] == pytest.approx(np.trapezoid(alone, np.linspace(0, 1, 6)))
    assert got["ranks-behind"] == pytest.approx(spearmanr(removed, truth).statistic - got["ranks"])
    table = _table(lambda present: -3.0 * (1 in present) + 1.0 * (0 in present) + 0.2 * len(present), 4)
    got = _of(table, {"received": np.array([0.3, 0.9, 0.1, 0.05]), "removal": shapley_values(table)})["received"]
    assert got["first"] == 1.0 and got["size"] > 0.5 and got[["ranks", "signs", "error"]].isna().all()
    weights = np.array([0.5, -1.0, 2.0, 0.25, -0.1])
    table = _table(lambda present: 0.3 + sum(weights[i] for i in present), 5)
    got = _of(table, {"removal": weights, "permutation": weights})
    for method in ("removal", "permutation"):
        assert got[method][["ranks", "signs", "error"]].tolist() == pytest.approx([1, 1, 0], abs=1e-9)
    assert got["exact", "reached"] == pytest.approx(1) and not exact_comparison.turning(table)
    assert set(exact_comparison_table.FROM_SUBSETS) == set(exact_comparison._FROM_SUBSETS)
    rng = np.random.default_rng(8)
    for _ in range(30):
        table = rng.normal(size=16) * 0.3 + _table(lambda present: float(len(present)), 4)
        strongest, is_turning = np.abs(shapley_values(table)).max(), False
        for i, j in permutations(range(4), 2):
            effects: dict[bool, list[float]] = {True: [], False: []}
            for order in permutations(range(4)):
                before = order[: order.index(i)]
                place = sum(1 << each for each in before)
                effects[j in before].append(float(table[place | 1 << i] - table[place]))
            after, first = np.mean(effects[True]), np.mean(effects[False])
            is_turning |= bool(after * first < 0 and min(abs(after), abs(first)) >= 0.1 * strongest)
        assert exact_comparison.turning(table) == is_turning


def test_scores_of_words_are_sums_over_what_a_method_scores(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.analysis.explain.scores.is_installed", lambda package: False)  # packages take seconds to import
    trace = model.trace("what a warm, clever song")
    values = exact(model, trace)
    scores = exact_comparison.method_scores(model, trace, values)
    scored = explained(model, trace, ["gradient", "removal"])
    assert {"removal", "permutation", "units", "gradient", "received", "difference", "rollout"} <= set(scores)
    for player, of in enumerate(values.players):
        assert scores["gradient"][player] == pytest.approx(sum(scored.token_scores["gradient"][i] for i in of.indices))
    assert len(words(trace)) == len(values.players) and scores["removal"] == pytest.approx(values.left_out, abs=1e-5)
    assert scores["permutation"] == pytest.approx(values.values, abs=1e-9)  # 64 subsets are fewer than 200 samples


@pytest.mark.exhaustive
def test_a_sample_of_texts_is_measured(model: Model) -> None:
    negated = np.array(["not" in text.split() for text in TEXTS])
    table = exact_comparison.compare_with_exact(model, TEXTS, negated, sample=2, negations=1, seed=2).set_index(["method", "metric"])
    assert (table.loc["removal"].loc[["ranks", "first", "reached"], "n"] == 2).all()
    assert table.loc[("exact", "turning negated"), "n"] == 1  # the negated text was in the sample or was added
    for curve in ("deletion", "insertion"):
        first, last = (table.xs(f"{curve}-{point}", level="metric")["value"] for point in ("00", "10"))
        assert np.ptp(first) < 1e-9 and np.ptp(last) < 1e-9 and len(first) > 8  # all orders begin and end alike
    chance = table.loc[("random", "deletion-05")]
    assert chance["low"] < chance["value"] < chance["high"]
    with pytest.raises(InputError, match="None of the texts has 4 to 10 words"):
        exact_comparison.compare_with_exact(model, ["a song", "warm"], np.zeros(2, bool))


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Callable[[pd.DataFrame], Run]:
    """Store rows (method, metric, value, low, high, random) as the only table, and return a run that they are of."""

    def keep(rows: pd.DataFrame) -> Run:
        table = rows.assign(n=50, seed=0, rows="sst2", run="sst2/one", digest="abc")
        monkeypatch.setattr(tables, "read_measured", lambda name: table)
        return _run("sst2/one")

    return keep


def _run(name: str) -> Run:
    return cast("Run", SimpleNamespace(name=name, digest="abc", files={}, config={"data": {"name": "sst2"}}))


def _rows(*lines: tuple[str, str, float, float, float, float]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["method", "metric", "value", "low", "high", "random"])


def test_the_named_runs_replace_their_rows_and_unreadable_texts_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    monkeypatch.setattr("sentviz.runs.store.find", _run)
    for arguments, value in ((["b", "a"], 0.25), (["b"], 0.5)):
        tables.measure_named("made-up", lambda run, value=value: pd.DataFrame({"value": [value + 0.00001]}), arguments)  # type: ignore[misc]
    assert tables.read_measured("made-up")[["run", "value"]].to_numpy().tolist() == [["a", 0.25], ["b", 0.5]]
    tables.read_measured.cache_clear()
    if not (SHIPPED / "imdb" / "hardmax-d2").is_dir():
        pytest.skip("imdb/hardmax-d2 is not in checkpoints/")
    texts = ["zzqx zzqy zzqz zzqw", "wonderful touching film with great music", "terrible boring waste of acting"]
    assert sorted(place for place, _ in exact_comparison.short(load(find("imdb/hardmax-d2").folder), texts, lambda place: True)) == [1, 2]


def test_words_say_which_method_to_believe_and_the_strictest_run_decides(
    stored: Callable[[pd.DataFrame], Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored(
        _rows(
            ("lime", "first", 0.95, 0.90, 0.99, 0.2),
            ("removal", "first", 0.80, 0.70, 0.90, 0.2),
            ("rollout", "first", 0.72, 0.65, 0.80, 0.2),
            ("flow", "first", 0.50, 0.40, 0.60, 0.2),
            ("gradient", "first", 0.22, 0.12, 0.32, 0.2),
            ("random", "first", 0.20, 0.18, 0.22, 0.2),
            ("exact", "first", 1.0, 1.0, 1.0, 0.2),
            ("exact", "turning negated", 0.5, 0.4, 0.6, np.nan),
        )
    )
    table, unmeasured = exact_comparison_table, _run("sst2/two")
    assert list(table.found_first(run)) == ["lime", "removal", "rollout", "flow", "gradient"]
    assert table.headline(run) == (
        "Of the quick methods, Word removal and Attention rollout find the most decisive word most often (80\u00a0% [70, 90]), LIME in"
        " 95\u00a0%. No better than random: Gradient × input."
    )
    assert table.advice(run) == "Use LIME or Word removal; do not trust Gradient × input."
    assert table.method_line(run, "gradient").startswith("On sst2/one this method is no better than random")
    assert table.method_line(run, "removal").endswith("first in 80\u00a0% [70, 90] of 50 short texts (random scores: 20\u00a0%).")
    assert table.turning_line(run).startswith("In 50\u00a0% [40, 60] of 50 short texts with a negation, one word turns")
    assert (table.has_referee(unmeasured), table.found_first(unmeasured), table.method_line(unmeasured, "removal")) == (False, {}, "")
    names = {"sst2/ndt-unit-2": 0.9, "english/minilm": 0.1}
    table = pd.concat(
        _rows(("exact", "turning negated", value, value - 0.05, value + 0.05, np.nan)).assign(run=name, digest="abc", n=50)
        for name, value in names.items()
    )
    monkeypatch.setattr(tables, "read_measured", lambda name: table)
    runs = [_run(name) for name in (*names, "sst2/other")]
    claim = next(claim for claim in claims.CLAIMS if claim.id == "interactions")
    finding = claim.test(runs)
    assert finding.verdict == "fails" and dict(finding.parts)["sst2/ndt-unit-2"].verdict == "holds" and len(finding.parts) == 2
    assert claim.test(runs[2:]).verdict == "unjudged"


def test_claims_are_judged_in_three_directions(stored: Callable[[pd.DataFrame], Run]) -> None:
    for low, high, verdict in [(0.1, 0.3, "holds"), (-0.3, -0.1, "fails"), (-0.1, 0.1, "open")]:
        run = stored(
            _rows(
                ("gradient", "ranks-behind", 0.5, 0.4, 0.6, np.nan),
                ("gradient", "size-behind", -0.9, -0.95, -0.8, np.nan),
                ("rollout", "size-behind", (low + high) / 2, low, high, np.nan),
                ("lime", "ranks-behind", -0.4, -0.5, -0.3, np.nan),
            )
        )
        assert claims.removal_is_best(run).verdict == verdict
    cases = [((-0.1, 0.09), (0.1, 0.29), "holds"), ((-0.1, 0.2), (0.1, 0.29), "open"), ((0.1, 0.3), (0.3, 0.5), "fails")]
    cases += [((0.1, 0.3), (0.1, 0.3), "open"), ((-0.4, -0.2), (0, 0.1), "holds")]
    for ranks, first, verdict in cases:
        run = stored(_rows(("gradient", "ranks", sum(ranks) / 2, *ranks, 0.0), ("gradient", "first", sum(first) / 2, *first, 0.2)))
        assert claims.gradient_is_random(run).verdict == verdict
    for low, high, verdict in [(0.4, 0.6, "holds"), (0.1, 0.2, "fails"), (0.2, 0.5, "open")]:
        run = stored(_rows(("exact", "turning negated", (low + high) / 2, low, high, np.nan)))
        assert claims.interactions_are_hidden(run).verdict == verdict


@pytest.mark.exhaustive
def test_a_run_of_the_user_keeps_its_comparison(tmp_path: Path, tiny_runs: Path, toy_data: object, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(tiny_runs, tmp_path / "runs")
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path / "runs"))
    (tmp_path / "mine.csv").write_text("text,label\na warm and clever song,positive\nwhat a dull soup it was,negative\n", encoding="utf-8")
    for options in (["--data", str(tmp_path / "mine.csv"), "--sample", "2"], ["--sample", "5", "--seed", "3"]):
        done = CliRunner().invoke(main, ["referee", "toy/ndt-unit-2", *options])
        run = find("toy/ndt-unit-2")
        assert done.exit_code == 0 and exact_comparison_table.has_referee(run) == ("--data" not in options), done.output
    assert set(exact_comparison_table.methods_of(run)["seed"]) == {3} and exact_comparison_table.rows_asked(run) == "toy"
    assert {"removal", "gradient", "received"} <= set(exact_comparison_table.found_first(run)) and exact_comparison_table.headline(run)
    assert draw("toy/ndt-unit-2", "referee-curves").frame["probability"].between(0, 1).all()
