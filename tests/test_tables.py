"""Numbers of figures as files that people read: CSV and TEX."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sentviz.charts import Figure, heatmap
from sentviz.charts.layers import verdict_lines
from sentviz.charts.scatter import scatter
from sentviz.export.files import render
from tests.charts import picture
from tests.kit import fake_trace


def test_files_count_places_from_one() -> None:
    """CSV and TEX count layers, heads, components and tokens from 1; -1 is blank, and the frame is unchanged."""
    columns = ["layer", "head", "component", "query", "token", "value"]
    frame = pd.DataFrame([[0, -1, 0, 3, "a", 0.5], [1, 2, 1, 0, "b", 1.5]], columns=columns)
    back = pd.read_csv(
        io.BytesIO(render(Figure("f", picture(go.Figure()), frame, ""), "csv")), encoding="utf-8-sig", dtype=str, keep_default_na=False
    )
    assert back.to_numpy().tolist() == [["1", "", "1", "4", "a", "0.5"], ["2", "3", "2", "1", "b", "1.5"]]
    states = render(Figure("f", picture(go.Figure()), frame, "", from_zero=("layer",)), "tex").decode()
    assert "0 &  & 1 & 4 & a & 0.5" in states and "1 & 3 & 2 & 1 & b & 1.5" in states
    assert frame["layer"].tolist() == [0, 1] and frame["head"].tolist() == [-1, 2]


def test_what_is_counted_from_zero_on_the_page_is_so_in_the_file() -> None:
    """A heatmap of the first layer says layer 1; the classifier on the embedding says layer 0."""
    first = pd.read_csv(io.BytesIO(render(heatmap(fake_trace(), 0), "csv")), encoding="utf-8-sig")
    assert set(first["layer"]) == {1} and first["query"].min() == 1
    states = verdict_lines(["no", "yes"], np.full((3, 2), 0.5))
    assert set(pd.read_csv(io.BytesIO(render(states, "csv")), encoding="utf-8-sig")["layer"]) == {0, 1, 2}


def rows_of(tex: bytes) -> list[str]:
    """Return the lines of a table's body."""
    body = tex.decode().split("\\midrule")[1].split("\\bottomrule")[0]
    return [line for line in body.splitlines() if line.strip()]


def test_a_printed_table_has_no_row_for_each_step() -> None:
    """The table of lines over steps has the last value of each line, and the caption says so."""
    rows = [("a/b", "lambda", layer, 1, step, step / 10, step / 50) for layer in (0, 1) for step in range(50)]
    frame = pd.DataFrame(rows, columns=["run", "name", "layer", "component", "step", "epoch", "value"])
    tex = render(Figure("f", picture(go.Figure()), frame, "Lambda."), "tex")
    assert [line.split("&")[2].strip() for line in rows_of(tex)] == ["1", "2"] and all("0.98" in line for line in rows_of(tex))
    assert "This table shows the last step of each line." in tex.decode()


def test_a_printed_table_fits_on_a_page() -> None:
    """Points are replaced by a summary; of other long frames the first rows are printed, and the caption gives their number."""
    frame = pd.DataFrame({"word": [f"w{i}" for i in range(500)], "value": 0.5})
    capped = render(Figure("f", picture(go.Figure()), frame, ""), "tex")
    assert len(rows_of(capped)) == 40 and "the first 40 of 500 rows" in capped.decode()
    points = pd.DataFrame(
        {"id": range(300), "x": 0.0, "y": 0.0, "label": [0, 1, 1] * 100, "predicted": 1, "right": [False, True, True] * 100}
    )
    summed = rows_of(render(scatter(points.assign(confidence=0.9), classes=["no", "yes"]), "tex"))
    assert [line.replace("\\\\", "").split("&") for line in summed] == [["no ", " 100 ", " 0 "], ["yes ", " 200 ", " 200 "]]


def test_a_map_is_printed_as_a_matrix() -> None:
    """The table has a row per query and a column per key, named with their places, and the frame's numbers."""
    figure = heatmap(fake_trace(tokens=["a", "b", "a"]), 0)
    names = ["[CLS] (1)", "a (2)", "b (3)", "a (4)"]
    assert figure.printed is not None
    assert list(figure.printed.columns) == ["token", *names] and figure.printed["token"].tolist() == names
    np.testing.assert_array_equal(figure.printed.iloc[:, 1:].to_numpy().ravel(), figure.frame["attention"])
