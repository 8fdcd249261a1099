"""Two to six sources on the same rows: the verdict against slow versions, seeds against a hand-made table, bad input, the report."""

from __future__ import annotations

import math
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import t

from sentviz.analysis.testset.compare import compare, timed, with_seeds
from sentviz.analysis.testset.comparison import Comparison, compare_rows
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows, stored
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.comparison import FORMATS, render, save
from sentviz.export.embedded_record import extract_record
from sentviz.runs.store import Run
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
    """The p is the exact binomial sum, and the interval that of 4,000 resamples of rows drawn one by one, within 0.4 points."""
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


@pytest.mark.slow
def test_installed_seeds_are_added_and_other_configurations_are_not(tmp_path: Path) -> None:
    """A run brings the seeds of its own configuration, not one with another learning rate, and never one that is named itself."""
    ours, controls = made_seeds(tmp_path, "toy", "ndt-unit-2", 3), made_seeds(tmp_path, "toy", "vanilla", 2)
    fast = made_run(tmp_path, "toy", "ndt-unit-2", 5, variant="3e-4")
    installed = [*controls, fast, *ours]
    assert [run.name for run in with_seeds([ours[1], controls[0]], installed)] == [
        "toy/ndt-unit-2-s1",
        "toy/ndt-unit-2",
        "toy/ndt-unit-2-s2",
        "toy/vanilla",
        "toy/vanilla-s1",
    ]
    assert with_seeds(ours[:2], installed) == [ours[0], ours[2], ours[1]]
    result = compare_rows([stored(run) for run in (*ours, *controls)])
    assert [each.title for each in result.candidates] == ["toy/ndt-unit-2 (3 seeds)", "toy/vanilla (2 seeds)"]
    assert len(compare_rows([stored(run) for run in ours], together=False).candidates) == 3


def test_parts_of_the_rows_by_loops() -> None:
    """Each group of rows is the one that a loop over the rows finds."""
    rng = np.random.default_rng(5)
    answers = [rng.random(60) < share for share in (0.8, 0.6, 0.5)]
    result = compare_rows([column(name, right) for name, right in zip("abc", answers, strict=True)])
    for place in range(60):
        right = [bool(each[place]) for each in answers]
        assert result.parts()["right"][place] == all(right) and result.parts()["wrong"][place] == (not any(right))
        assert result.parts()["differ"][place] == (len(set(right)) > 1)
        for i in range(3):
            assert result.parts()[f"right.{i + 1}"][place] == (right[i] and sum(right) == 1)
            assert result.parts()[f"wrong.{i + 1}"][place] == (not right[i] and sum(right) == 2)
    assert result.part_in_words("wrong.2") == "only b is wrong"


# ---- bad input: one sentence each


def test_no_common_row_or_a_row_with_two_texts_or_labels_is_refused(make: Maker) -> None:
    a, b = column("a", [1, 1, 0]), column("b", [1, 0, 0])
    with pytest.raises(InputError, match=r"a \(your file\) and b \(your file\) have no common row\."):
        compare_rows([a, replace(b, frame=b.frame.assign(id=["x", "y", "z"]))])
    texts = [replace(rows, frame=rows.frame.assign(text=list("uvw"))) for rows in (a, b)]
    with pytest.raises(InputError, match="have different texts for the same row"):
        compare_rows([texts[0], replace(b, frame=texts[1].frame.assign(text=list("uvx")))])
    with pytest.raises(InputError, match="have different labels for the same row"):
        compare_rows([a, replace(b, frame=b.frame.assign(label=1))])
    with pytest.raises(InputError, match="have no common row"):
        compare_rows([a, replace(b, over="demo")])
    with pytest.raises(InputError, match="None of the common rows has a label"):
        compare_rows([replace(rows, frame=rows.frame.assign(label=-1)) for rows in (a, b)])


def test_itself_too_many_and_other_classes_are_refused() -> None:
    a, b = column("a", [1, 1, 0]), column("b", [1, 0, 0])
    with pytest.raises(InputError, match="a is given twice; a source cannot be compared with itself"):
        compare_rows([a, a])
    with pytest.raises(InputError, match="takes two to 6 sources, not 1"):
        compare_rows([a])
    with pytest.raises(InputError, match="takes two to 6 sources, not 7"):
        compare_rows([column(name, [1, 0]) for name in "abcdefg"])
    with pytest.raises(InputError, match="a predicts negative, positive and b bad, good; only sources with the same classes"):
        compare_rows([a, replace(b, classes=("bad", "good"))])


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


@pytest.mark.slow
@pytest.mark.exhaustive
def test_files_of_columns_with_and_without_numbers(tmp_path: Path) -> None:
    """Every model of a file is compared. Rows with NaN are left out, and a column of NaN has no predictions."""
    frame = pd.DataFrame({"text": [f"a song {i}" for i in range(8)], "label": ["negative", "positive"] * 4})
    frame["bert_predicted"], frame["cnn_predicted"] = frame["label"], ["positive"] * 8
    result = compare(data=frame)
    assert [each.name for each in result.candidates] == ["bert (Your table)", "cnn (Your table)"]
    shares = frame.assign(bert_prob=[0.1, 0.9] * 4, cnn_prob=[0.2, 0.4, float("nan"), 0.6] * 2).drop(
        columns=["bert_predicted", "cnn_predicted"]
    )
    path = tmp_path / "answers.csv"
    shares.to_csv(path, index=False)
    assert compare(path, "bert", "cnn", partial=True).n == 6
    with pytest.raises(InputError, match="Only 6 of the 8 rows"):
        compare(path, "bert", "cnn")
    shares.assign(cnn_prob=float("nan")).to_csv(path, index=False)
    with pytest.raises(InputError, match="has no column with predictions of 'cnn'"):
        compare(path, "bert", "cnn")
    with pytest.raises(InputError, match="takes two to 6 sources, not 1"):
        compare(path)
    with pytest.raises(InputError, match="has no stored predictions"):
        compare(str.upper, str.lower)
    with pytest.raises(InputError, match="neither the name of a data set nor a file"):
        compare("a", "b", data="nothing")


@pytest.mark.exhaustive
def test_the_speed_of_a_black_box_and_a_run_is_measured_when_asked_for() -> None:
    """Rows per second of models only; two columns of the report that have no number stay two columns."""

    def box(texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
        shares = np.array([len(text) % 10 / 10 for text in texts])
        return np.stack([1 - shares, shares], axis=1)

    frame = pd.DataFrame({"text": [f"a song {i} " * (1 + i % 3) for i in range(12)], "label": ["negative", "positive"] * 6})
    frame["bert_predicted"] = frame["label"]
    sources = "bert", box, "sst2/vanilla"
    assert not compare(*sources, data=frame, classes=("negative", "positive")).speeds
    result = compare(*sources, data=frame, classes=("negative", "positive"), speed=True)
    assert set(result.speeds) == {"box", "sst2/vanilla"} and min(result.speeds.values()) > 0
    known = result.table.set_index("source")["speed"]
    assert np.isnan(known.drop([*result.speeds]).item()) and known["box"] == result.speeds["box"]
    page = render(result, "html").decode()
    (table,) = (part for part in page.split("<table>") if "rows per second" in part.split("</table>")[0])
    lines = re.findall(r"<tr>.*?</tr>", table)
    assert len({len(re.findall("<t[dh]", line)) for line in lines}) == 1 and "measured once, on 64 rows" in page
    with pytest.raises(InputError, match="has no texts"):
        timed(compare_rows([column("a", [1, 0, 1, 1]), column("b", [1, 0, 0, 1])]))


# ---- the report


def of_two(tmp_path: Path) -> Comparison:
    """Return a comparison of runs with three and two seeds."""
    runs = [*made_seeds(tmp_path, "toy", "ndt-unit-2", 3), *made_seeds(tmp_path, "toy", "vanilla", 2, wrong=40, first_wrong=90)]
    return compare_rows([stored(run) for run in runs])


@pytest.mark.exhaustive
def test_the_page_has_what_a_person_needs_and_always_the_same_bytes(tmp_path: Path) -> None:
    result = of_two(tmp_path)
    page = render(result, "html")
    assert page == render(of_two(tmp_path / "again"), "html")
    words = re.sub(r"<[^>]+>", " ", page.decode().split("<body>")[1].split("<script")[0])
    for part in (result.headline, result.method, "Where they differ", "calibration error", "parameters", "Not tested", "Edited sentences"):
        assert part in words, part
    (record,) = extract_record(page)[1].panels
    assert len(record.runs) == 5 and record.call is not None and record.call.figure == "comparison"
    with pytest.raises(InputError, match="html or pdf, not as 'txt'"):
        save(result, tmp_path / "report.txt")
    assert FORMATS == ("html", "pdf")


@pytest.mark.slow
def test_names_of_a_file_are_text() -> None:
    evil = "<img src=x onerror=alert(1)>"
    page = render(compare_rows([column(evil, [1, 1, 0, 1]), column("b", [1, 0, 0, 1])]), "html").decode()
    assert "<img" not in page.split("<body>")[1].split("<script")[0]


@pytest.mark.exhaustive
@pytest.mark.skipif(find_browser() is None or shutil.which("pdfinfo") is None, reason="needs Chromium and pdfinfo")
@pytest.mark.parametrize("count", [2, 6])
def test_the_pdf_is_one_page_with_the_same_bytes(tmp_path: Path, count: int) -> None:
    rng = np.random.default_rng(0)
    result = compare_rows([column(f"a/rather-long-name-of-model-{i}", rng.random(200) < 0.8) for i in range(count)])
    path = save(result, tmp_path / "report.pdf")
    details = subprocess.run(["pdfinfo", path], capture_output=True, text=True, check=True).stdout
    assert re.search(r"Pages:\s+1\n", details) and "A4" in details
    assert path.read_bytes() == render(result, "pdf")


@pytest.mark.exhaustive
def test_the_command_prints_the_verdict_and_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_seeds(tmp_path, "toy", "ndt-unit-2", 2)
    made_seeds(tmp_path, "toy", "vanilla", 2, wrong=40, first_wrong=90)
    monkeypatch.setenv("SENTVIZ_RUNS", str(tmp_path))
    out = tmp_path / "report.html"
    done = CliRunner().invoke(main, ["compare", "toy/ndt-unit-2", "toy/vanilla", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("toy/ndt-unit-2 is better than toy/vanilla by ") and out.is_file()
    assert "toy/vanilla (2 seeds)" in done.output
    alone = CliRunner().invoke(main, ["compare", "toy/ndt-unit-2", "toy/vanilla", "--no-seeds"])
    assert "one trained model" in alone.output
    wrong = CliRunner().invoke(main, ["compare", "toy/ndt-unit-2", "toy/vanilla", "-o", "report.txt"])
    assert wrong.exit_code == 2 and ".html or .pdf" in wrong.output
