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


def of(frame: pd.DataFrame, caption: str = "", **options: tuple[str, ...]) -> Figure:
    return Figure("f", picture(go.Figure()), frame, caption, **options)


def read(figure: Figure) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(render(figure, "csv")), encoding="utf-8-sig", dtype=str, keep_default_na=False)


def body(figure: Figure) -> list[list[str]]:
    """Return the cells of a table in TEX."""
    lines = render(figure, "tex").decode().split("\\midrule")[1].split("\\bottomrule")[0].splitlines()
    return [[cell.strip() for cell in line.replace("\\\\", "").split("&")] for line in lines if line.strip()]


def test_files_count_places_from_one() -> None:
    """CSV and TEX count layers, heads, components and tokens from 1; -1 is blank, and the frame is unchanged."""
    columns = ["layer", "head", "component", "query", "token", "value"]
    frame = pd.DataFrame([[0, -1, 0, 3, "a", 0.5], [1, 2, 1, 0, "b", 1.5]], columns=columns)
    assert read(of(frame)).to_numpy().tolist() == [["1", "", "1", "4", "a", "0.5"], ["2", "3", "2", "1", "b", "1.5"]]
    assert body(of(frame, from_zero=("layer",))) == [["0", "", "1", "4", "a", "0.5"], ["1", "3", "2", "1", "b", "1.5"]]
    assert frame["layer"].tolist() == [0, 1] and frame["head"].tolist() == [-1, 2]
    first, states = read(heatmap(fake_trace(), 0)), verdict_lines(["no", "yes"], np.full((3, 2), 0.5))
    assert set(first["layer"]) == {"1"} and first["query"].astype(int).min() == 1 and set(read(states)["layer"]) == {"0", "1", "2"}


def test_a_printed_table_fits_on_a_page() -> None:
    """Lines over steps have their last values, points a summary; of other long frames the first rows are printed. The caption says so."""
    rows = [("a/b", "lambda", layer, 1, step, step / 10, step / 50) for layer in (0, 1) for step in range(50)]
    lines = of(pd.DataFrame(rows, columns=["run", "name", "layer", "component", "step", "epoch", "value"]), "Lambda.")
    assert [(cells[2], cells[-1]) for cells in body(lines)] == [("1", "0.98"), ("2", "0.98")]
    assert "This table shows the last step of each line." in render(lines, "tex").decode()
    capped = of(pd.DataFrame({"word": [f"w{i}" for i in range(500)], "value": 0.5}))
    assert len(body(capped)) == 40 and "the first 40 of 500 rows" in render(capped, "tex").decode()
    columns = {"x": 0.0, "y": 0.0, "label": [0, 1, 1] * 100, "predicted": 1, "right": [False, True, True] * 100, "confidence": 0.9}
    points = scatter(pd.DataFrame({"id": range(300)} | columns), classes=["no", "yes"])
    assert body(points) == [["no", "100", "0"], ["yes", "200", "200"]]


def test_a_map_is_printed_as_a_matrix() -> None:
    """The table has a row per query and a column per key, named with their places, and the frame's numbers."""
    figure = heatmap(fake_trace(tokens=["a", "b", "a"]), 0)
    names = ["[CLS] (1)", "a (2)", "b (3)", "a (4)"]
    assert figure.printed is not None
    assert list(figure.printed.columns) == ["token", *names] and figure.printed["token"].tolist() == names
    np.testing.assert_array_equal(figure.printed.iloc[:, 1:].to_numpy().ravel(), figure.frame["attention"])
