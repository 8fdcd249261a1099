"""Accuracy by phenomenon, and its picture."""

import pytest
from scipy.stats import binomtest

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.rows import Rows, RowsSource, accuracy_by_phenomenon
from sentviz.charts.phenomena import MOST
from sentviz.errors import InputError
from tests.charts import figure_of, stub
from tests.kit import refused, tagged_rows


def test_accuracy_is_counted_row_by_row() -> None:
    for right, n in [(0, 1), (1, 1), (0, 30), (30, 30), (17, 30), (209, 210)]:
        expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
        assert wilson(right, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    for right, n in ((0, 0), (3, 2), (-1, 4)):
        refused(InputError, "is not a share", wilson, right, n)
    frame = tagged_rows(n=6, tags=("plain",)).frame.assign(label=3, predicted=[0, 1, 2, 3, 4, 4])
    frame["right"] = frame["label"] == frame["predicted"]
    five = ("very negative", "negative", "neutral", "positive", "very positive")
    rows = {"toy/a": Rows(RowsSource("toy/a", "0" * 12), "demo", five, frame)}
    assert accuracy_by_phenomenon(rows)["right"].tolist() == [1, 1]
    assert accuracy_by_phenomenon(rows, sided=True)["right"].tolist() == [3, 3]
    rows = {"toy/a": tagged_rows(0), "toy/b": tagged_rows(1, run="toy/b")}
    rows["toy/b"].frame.loc[:4, "label"] = -1
    table = accuracy_by_phenomenon(rows)
    for record in table.to_dict("records"):
        right = n = 0
        for row in rows[record["run"]].frame.to_dict("records"):
            if row["label"] >= 0 and record["phenomenon"] in ("all", row["tag"]):
                n += 1
                right += row["right"]
        assert (record["n"], record["right"]) == (n, right) and record["accuracy"] == right / n
        assert 0 <= record["low"] <= record["accuracy"] <= record["high"] <= 1
    assert len(table) == 8
    bare = tagged_rows()
    with pytest.raises(InputError, match="no tags"):
        accuracy_by_phenomenon({"toy/a": Rows(RowsSource("toy/a", "0"), "test", bare.classes, bare.frame.drop(columns="tag"))})
    with pytest.raises(InputError, match="no labels"):
        accuracy_by_phenomenon({"toy/a": Rows(RowsSource("toy/a", "0"), "demo", ("up", "down"), bare.frame.assign(label=-1))})
    rows = {f"toy/{i}": tagged_rows(i, run=f"toy/{i}") for i in range(MOST + 1)}
    refused(InputError, "has room for 1 to 6 runs", figure_of, "phenomena", stub(demo_rows=rows, sources=[], run=stub(name="toy/0")))
