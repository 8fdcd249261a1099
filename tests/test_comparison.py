"""Two to six sources on the same rows: the verdict against slow versions, seeds against a hand-made table, bad input, the report."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

from sentviz.analysis.testset.compare import with_seeds
from sentviz.analysis.testset.comparison import compare_rows
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows, stored
from sentviz.errors import InputError
from sentviz.export.comparison import render
from sentviz.runs.store import Run
from tests.kit import refused
from tests.studies import answering, made_run, made_seeds

Maker = Callable[..., Run]
OF_A = ((1, 1, 1), (1, 1, 1), (1, 1, 0), (1, 1, 1), (1, 0, 1), (0, 0, 0), (1, 1, 1), (1, 1, 1))  # rows x seeds: right or wrong
OF_B = ((1, 0), (1, 1), (0, 0), (1, 1), (0, 1), (0, 0), (1, 1), (0, 0))


def column(name: str, right: np.ndarray | list[int], *, sure: float = 0.8, **changes: object) -> Rows:  # type: ignore[type-arg]
    """Return rows of a column of predictions that are right or wrong as given."""
    answers = np.asarray(right, bool)
    labels = np.arange(len(answers)) % 2
    predicted = np.where(answers, labels, 1 - labels)
    shares = np.where(np.eye(2, dtype=bool)[predicted], sure, 1 - sure)
    columns = {"id": [f"r{i}" for i in range(len(answers))], "label": labels}
    return replace(predicted_rows(RowsSource(name, name), "mine", ("negative", "positive"), columns, shares), **changes)  # type: ignore[arg-type]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return partial(answering, tmp_path)


def trained(make: Maker, name: str, table: tuple[tuple[int, ...], ...]) -> list[Rows]:
    """Return the rows of a run per column of a table of rows x seeds."""
    rows = []
    for seed in range(len(table[0])):
        run = make(f"{name}{seed}", [bool(row[seed]) for row in table])
        run.config["preset"], run.config["recipe"]["seed"] = name, seed
        rows.append(stored(run))
    return rows


def test_two_single_models_against_slow_versions() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.random(300) < 0.92).tolist(), (rng.random(300) < 0.8).tolist()
    result = compare_rows([column("a", a), column("b", b)])
    (pair,) = result.pairs
    only_a, only_b = sum(x and not y for x, y in zip(a, b, strict=True)), sum(y and not x for x, y in zip(a, b, strict=True))
    n = only_a + only_b
    assert pair.p == pytest.approx(min(1, 2 * sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1)) / 2**n))
    assert pair.difference == pytest.approx((only_a - only_b) / 300)
    gaps, die = [int(x) - int(y) for x, y in zip(a, b, strict=True)], random.Random(1)
    draws = sorted(sum(die.choices(gaps, k=300)) / 300 for _ in range(4_000))
    assert (pair.low, pair.high) == pytest.approx((draws[100], draws[3_899]), abs=0.004)
    assert (pair.test, pair.better, result.noise) == ("McNemar", "a", None)
    assert result.headline.startswith("a is better than b by ") and "one trained model" in result.method


def test_pairs_of_several_are_corrected() -> None:
    """Of three sources each p is three times that of the two alone, at most 1, and each interval is wider and holds the difference."""
    rng = np.random.default_rng(3)
    rows = [column(name, rng.random(400) < share) for name, share in (("a", 0.9), ("b", 0.87), ("c", 0.7))]
    every = compare_rows(rows)
    for pair in every.pairs:
        (alone,) = compare_rows([each for each in rows if each.source.name in (pair.first, pair.second)]).pairs
        assert pair.p == pytest.approx(min(1.0, 3 * alone.p))
        assert pair.low < alone.low <= alone.difference == pair.difference <= alone.high < pair.high
    assert [pair.better for pair in every.pairs] == ["", "a", "b"] and not every.decided
    assert "cannot be told" in every.headline and "It is better than c." in every.headline


@pytest.mark.parametrize("fixed", [False, True])
def test_seeds_against_a_hand_made_table(make: Maker, fixed: bool) -> None:
    """Accuracies, difference, interval and p equal those worked out cell by cell; chance in training adds nothing to a finished model."""
    of_a = [replace(rows, over="mine") for rows in trained(make, "a", OF_A)]
    if fixed:
        of_b = [replace(of_a[0], source=RowsSource("b", "b"), frame=of_a[0].frame.assign(right=[bool(row[0]) for row in OF_B]))]
    else:
        of_b = [replace(rows, over="mine") for rows in trained(make, "b", OF_B)]
    result = compare_rows([*of_a, *of_b])
    first, second = result.candidates
    assert (len(first.trainings), len(second.trainings)) == (3, 1 if fixed else 2)
    assert first.accuracy == pytest.approx(19 / 24) and second.accuracy == pytest.approx(4 / 8 if fixed else 8 / 16)
    tables = [OF_A] if fixed else [OF_A, OF_B]
    between, left, freedom, noises = 0.0, 0.0, 0, []
    for table in tables:
        n, seeds = len(table), len(table[0])
        whole = sum(map(sum, table)) / (n * seeds)
        of_seed = [sum(row[s] for row in table) / n for s in range(seeds)]
        between_own = sum((mean - whole) ** 2 for mean in of_seed)
        left_own = sum((row[s] - sum(row) / seeds - of_seed[s] + whole) ** 2 for row in table for s in range(seeds)) / (n - 1) / n
        noises.append((between_own / (seeds - 1), left_own / (seeds - 1)))
        between, left, freedom = between + between_own, left + left_own, freedom + seeds - 1
    noise, part = between / freedom, left / freedom
    gaps = [sum(a) / 3 - (b[0] if fixed else sum(b) / 2) for a, b in zip(OF_A, OF_B, strict=True)]
    mean = sum(gaps) / 8
    own, own_part = noises[0]  # noise of the model with three seeds; the model with two has the pooled noise
    variance = sum((gap - mean) ** 2 for gap in gaps) / 7 / 8 + max(0.0, own - own_part) / 3
    uncertain = (own / 3) ** 2 / 2
    if not fixed:
        variance, uncertain = variance + max(0.0, noise - part) / 2, uncertain + (noise / 2) ** 2 / freedom
    degrees = max(2, variance**2 / uncertain)
    half = t.ppf(0.975, degrees) * math.sqrt(variance)
    (pair,) = result.pairs
    assert (pair.difference, pair.low, pair.high) == pytest.approx((mean, mean - half, mean + half))
    assert pair.p == pytest.approx(2 * t.sf(mean / math.sqrt(variance), degrees)) and pair.test == "over seeds"
    assert (("taken as finished" in result.method) is fixed and "2 degrees of freedom" in result.method) or not fixed


def test_installed_seeds_are_added_and_other_configurations_are_not(tmp_path: Path) -> None:
    ours, controls = made_seeds(tmp_path, "toy", "ndt-unit-2", 3), made_seeds(tmp_path, "toy", "vanilla", 2)
    fast = made_run(tmp_path, "toy", "ndt-unit-2", 5, variant="3e-4")
    installed = [*controls, fast, *ours]
    assert with_seeds([ours[1], controls[0]], installed) == [ours[1], ours[0], ours[2], *controls]
    assert with_seeds(ours[:2], installed) == [ours[0], ours[2], ours[1]]
    result = compare_rows([stored(run) for run in (*ours, *controls)])
    assert [each.title for each in result.candidates] == ["toy/ndt-unit-2 (3 seeds)", "toy/vanilla (2 seeds)"]
    assert len(compare_rows([stored(run) for run in ours], together=False).candidates) == 3


def test_parts_of_the_rows_by_loops() -> None:
    rng = np.random.default_rng(5)
    answers = [rng.random(60) < share for share in (0.8, 0.6, 0.5)]
    result = compare_rows([column(name, right) for name, right in zip("abc", answers, strict=True)])
    parts = result.parts()
    for place, right in enumerate(zip(*(map(bool, each) for each in answers), strict=True)):
        wanted = {"right": all(right), "wrong": not any(right), "differ": len(set(right)) > 1}
        wanted |= {f"right.{i + 1}": right[i] and sum(right) == 1 for i in range(3)}
        wanted |= {f"wrong.{i + 1}": not right[i] and sum(right) == 2 for i in range(3)}
        assert {name: bool(parts[name][place]) for name in wanted} == wanted
    assert result.part_in_words("wrong.2") == "only b is wrong"


def column_b(**columns: object) -> Rows:
    """Return rows with other columns."""
    rows = column("b", [1, 0, 0])
    return replace(rows, frame=rows.frame.assign(**columns))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (column_b(id=["x", "y", "z"]), r"a \(your file\) and b \(your file\) have no common row\."),
        (column_b(text=list("uvx")), "different texts for the same row"),
        (column_b(label=1), "different labels for the same row"),
        (column("b", [1, 0, 0], over="demo"), "no common row"),
        (column("a", [1, 1, 0]), "a is given twice"),
        (column("b", [1, 0, 0], classes=("bad", "good")), "a predicts negative, positive and b bad, good"),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(second: Rows, message: str) -> None:
    first = column("a", [1, 1, 0])
    refused(InputError, message, compare_rows, [replace(first, frame=first.frame.assign(text=list("uvw"))), second])
    for few in ([first], [column(name, [1, 0]) for name in "abcdefg"]):
        refused(InputError, f"takes two to 6 sources, not {len(few)}", compare_rows, few)
    with pytest.raises(InputError, match="None of the common rows has a label"):
        compare_rows([replace(rows, frame=rows.frame.assign(label=-1)) for rows in (first, column_b())])


def test_rows_that_a_source_lacks_are_left_out_and_counted() -> None:
    a, b = column("a", [1, 1, 0, 1]), column("b", [1, 0, 0, 1])
    result = compare_rows([a, replace(b, frame=b.frame.iloc[[3, 1, 0]], unread={"r2": "It is empty."})])
    assert result.n == 3 and result.first.frame["id"].tolist() == ["r0", "r1", "r3"]
    assert result.remarks[-1] == "1 rows are left out, because not every source predicts them. b cannot read row r2: It is empty."


def test_a_model_that_answers_one_class_is_named() -> None:
    labels = np.arange(20) % 2
    result = compare_rows([column("a", np.ones(20)), column("always", labels == 1)])
    assert result.remarks[0].startswith("always predicts “positive” for every row")
    assert not compare_rows([column("a", [1]), column("b", [0])]).decided


def test_equal_answers_and_an_interval_that_just_excludes_zero() -> None:
    assert compare_rows([column("a", [1, 0]), column("b", [1, 0], sure=0.9)]).headline == "a and b are right on the same rows."
    only = np.r_[np.ones(5), np.zeros(95)]  # five rows that only a predicts correctly: p = 0.0625
    result = compare_rows([column("a", np.ones(100)), column("b", 1 - only)])
    assert result.headline.startswith("It cannot be told which is better: a minus b is +5.00 points [")
    assert "just excludes 0" in result.remarks[0]


def test_names_of_a_file_are_text() -> None:
    evil = "<img src=x onerror=alert(1)>"
    page = render(compare_rows([column(evil, [1, 1, 0, 1]), column("b", [1, 0, 0, 1])]), "html").decode()
    assert "<img" not in page.split("<body>")[1].split("<script")[0]
