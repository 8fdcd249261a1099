"""Compare what tests of claims share with loops over single numbers, and the frame of results with the files."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb, erfc, sqrt
from pathlib import Path
from statistics import NormalDist

import pandas as pd
import pytest

from sentviz.analysis.claim import Finding, not_testable
from sentviz.errors import InputError
from sentviz.papers.studies.compare_configurations import Comparison, Word, compared_frame, configurations, over_seeds, points
from sentviz.papers.studies.judging import all_better, every_better, inside_margin, more_than_half, over_parts, seeds_in_words, too_few
from sentviz.papers.studies.results import COLUMNS, of_metric, results, values
from sentviz.runs.convergence import converged
from sentviz.runs.printed import printed_results
from sentviz.runs.registry import PrintedColumn, PrintedTable, find_paper
from tests.studies import made_run

COMPARISON = Comparison(200, (3, 3), (0.9, 0.85), 0.05, 0.02, 0.08, 0.004, "over seeds")
WORDS: tuple[Word, ...] = ("better", "worse", "cannot be told")


def binomial(count: int, number: int) -> float:
    """Return the two-sided exact p of a count against one half: the probabilities of the counts that are at most as probable."""
    ways = [comb(number, k) for k in range(number + 1)]
    return sum(way for way in ways if way <= ways[count]) / 2**number


def test_more_than_half_against_a_loop() -> None:
    """p is that of the loop for each count of up to 12 cases, and half of the cases are never more than half."""
    for number in range(1, 13):
        assert too_few(number) == (binomial(0, number) > 0.05)
        for count in range(number + 1):
            verdict, p, (share, low, high) = more_than_half(count, number)
            assert p == pytest.approx(binomial(count, number)) and share == count / number and low <= share <= high
            assert verdict == ("open" if p > 0.05 else "holds" if count > number / 2 else "fails")


def test_every_better_in_all_cases() -> None:
    """One comparison that is worse refutes at the smallest p of such; three that are better hold at the largest p; all words are tried."""
    adjusted = (0.01, 0.03, 0.02)
    for words in product(WORDS, repeat=3):
        worse = [p for p, word in zip(adjusted, words, strict=True) if word == "worse"]
        wanted = ("fails", min(worse)) if worse else ("holds", 0.03) if set(words) == {"better"} else ("open", None)
        assert every_better(adjusted, words, ["over seeds"] * 3) == wanted
    assert every_better(adjusted, ["better"] * 3, ["over seeds"] * 3, complete=False) == ("open", None)
    assert every_better([0.2], ["cannot be told"], ["McNemar"]) == ("unjudged", None)


def test_comparisons_after_holm() -> None:
    """Two comparisons with p of 0.004 and 0.03: the smaller is doubled, and the larger stays; the frame has the same numbers."""
    pairs = {"a": COMPARISON, "b": replace(COMPARISON, p=0.03)}
    assert all_better(pairs) == ("holds", pytest.approx(0.03))
    frame = compared_frame(pairs)
    assert frame["name"].tolist() == ["a", "b"] and frame["adjusted"].tolist() == pytest.approx([0.008, 0.03])
    assert frame["base"].tolist() == [0.85, 0.85] and frame["verdict"].tolist() == ["better", "better"]
    assert all_better(pairs | {"c": replace(COMPARISON, difference=-0.05)})[0] == "fails"
    assert list(compared_frame({}).columns) == list(frame.columns)


def test_margins_against_their_definition() -> None:
    """Each interval is inside, beyond or across the margin; p is the largest one-sided p, or of those beyond the smallest times all."""
    ends = [(0.0, -0.004, 0.004), (0.001, -0.002, 0.004), (-0.002, -0.008, 0.004), (0.02, 0.012, 0.028)]
    errors = [(high - low) / 2 / NormalDist().inv_cdf(0.975) for _, low, high in ends]
    levels = [erfc((0.01 - abs(value)) / error / sqrt(2)) / 2 for (value, _, _), error in zip(ends[:3], errors[:3], strict=True)]
    inside, p = inside_margin(ends[:3], 0.01)
    assert inside == [True, True, True] and p == pytest.approx(max(levels))
    inside, p = inside_margin(ends, 0.01)
    beyond = erfc((0.02 - 0.01) / errors[3] / sqrt(2)) / 2
    assert inside == [True, True, True, False] and p == pytest.approx(4 * beyond)
    assert inside_margin([(0.0, -0.02, 0.02)], 0.01)[0] == [None] and inside_margin([], 0.01) == ([], None)


def test_one_part_keeps_its_finding() -> None:
    """Two parts are named in the evidence."""
    alone = Finding("holds", "so")
    assert over_parts({"a": alone}) is alone
    assert over_parts({"a": alone, "b": not_testable("none")}).evidence == "on a it holds: so; on b it cannot be judged here: none"
    assert seeds_in_words(3) == "3 seeds" and seeds_in_words(1) == "one seed; other seeds are unknown"


def test_results_have_the_printed_numbers() -> None:
    """The numbers of each declared column of each file follow those of the runs, under our names, accuracies as shares."""
    paper = find_paper("sentiformer")
    frame = results([], [paper]).set_index(["dataset", "model"])["value"]
    printed = pd.read_csv(paper.folder / "printed" / "accuracy.csv").set_index("model")
    assert frame["imdb", "bilstm"] == printed.loc["BiLSTM", "imdb"] / 100 and frame["sst5_trees", "sentiformer"] == pytest.approx(0.923)
    assert ("imdb", "BERT-base") not in frame.index and not frame.index.has_duplicates
    ndt = results([], [find_paper("ndt")])
    assert set(ndt["metric"]) == {"accuracy", "precision", "f1", "auc", "silhouette"} and set(ndt["source"]) == {"printed"}
    lambdas = printed_results(find_paper("ndt")).query("metric == 'lambda'")
    assert lambdas["layer"].min() == 0 and lambdas["component"].min() == 1


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"imdb": PrintedColumn("accuracy", ("imdb",)), "none": PrintedColumn()}, "has no column 'none'"),
        ({"imdb": PrintedColumn("accuracy")}, "has no column 'dataset'"),
        ({"model": PrintedColumn("accuracy", ("imdb",))}, "The column 'model' .* does not hold numbers"),
    ],
)
def test_a_printed_table_that_does_not_fit_is_one_sentence(columns: dict[str, PrintedColumn], fault: str) -> None:
    paper = find_paper("sentiformer")
    with pytest.raises(InputError, match=fault):
        printed_results(replace(paper, printed={"accuracy": PrintedTable(columns)}))
    with pytest.raises(InputError, match=r"there is no file printed/none\.csv"):
        printed_results(replace(paper, printed={"none": PrintedTable(columns)}))


def test_results_have_every_stored_number(tmp_path: Path) -> None:
    """The frame has one row per run, split and metric of the files, in the order of the runs; the queries are parts of it."""
    runs = [made_run(tmp_path, "sst2", "ndt-unit-2", seed, wrong=10 * (seed + 1), also=("official_test",)) for seed in (0, 1)]
    runs.append(made_run(tmp_path, "imdb", "ndt-unit-2", variant="equal", wrong=100))
    frame = results(runs)
    stored = {
        (run.name, split, metric): value["value"]
        for run in runs
        for split, of_split in run.metrics().items()
        for metric, value in of_split.items()
        if isinstance(value, dict) and "value" in value
    }
    assert list(frame.columns) == COLUMNS
    assert {(row.run, row.split, row.metric): row.value for row in frame.itertuples()} == stored and len(frame) == len(stored)
    assert list(dict.fromkeys(frame["run"])) == [run.name for run in runs]
    last = frame[frame["run"] == runs[2].name].iloc[0]
    assert (last["model"], last["variant"], last["seed"], last["dataset"], last["learned"]) == ("ndt-unit-2", "equal", 0, "imdb", False)
    assert (last["source"], last["paper"]) == ("run", "ndt") and set(frame["converged"]) == {converged(run) for run in runs}
    assert values(runs[:2]) == [0.95, 0.9] and len(of_metric(runs, split="official_test")) == 2
    by_model = configurations(runs, "sst2", ["ndt-unit-2"])
    assert points(by_model).to_dict("list") == {"model": ["ndt-unit-2"] * 2, "seed": [0, 1], "value": [0.95, 0.9]}
    assert over_seeds(by_model)["value"].tolist() == pytest.approx([0.925]) and points({}).empty and results([]).empty
    assert isinstance(frame, pd.DataFrame) and results(runs) is not results(runs)
