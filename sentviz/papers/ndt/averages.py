"""Find the average (weighted, macro or positive class) behind the reported precision and F1.

The paper does not name the average. Its mean difference from accuracy is compared with our runs.
"""

from __future__ import annotations

import numpy as np

from sentviz.io.lazy import pd
from sentviz.io.numbers import signed
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import CONTROL, printed_name

COLUMNS = {"precision": "Precision", "f1": "F1"}
AVERAGES = ("weighted", "macro", "positive")
ROUNDING = 0.0005  # half a printed unit
LEAST = 3  # smallest number of configurations from which a spread is estimated


def fits(measured: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Each printed column against each average: column, average, printed_gap, measured_gap, error, runs, fits.

    A gap is the mean over the configurations of the column minus accuracy, as a share. An average fits if the measured and the printed gap
    differ by at most two standard errors (of both means) plus `ROUNDING`. With fewer than `LEAST` configurations no average fits.

    Args:
        measured: as `sentviz.papers.ndt.study.summary` returns it.
    """
    table = printed_tables.table("classification")
    table = table[table["dataset"] == printed_name(dataset)]
    wide = measured[measured["model"] != CONTROL].pivot(index="model", columns="metric", values="value")
    rows = []
    for column in COLUMNS:
        printed_gaps = (table[column] - table["accuracy_pct"] / 100).to_numpy(float)
        for average in AVERAGES:
            if f"{column}_{average}" not in wide:
                continue
            measured_gaps = (wide[f"{column}_{average}"] - wide["accuracy"]).to_numpy(float)
            error = float(np.sqrt(_error(printed_gaps) ** 2 + _error(measured_gaps) ** 2))
            printed_gap, measured_gap, count = printed_gaps.mean(), measured_gaps.mean(), len(measured_gaps)
            near = abs(measured_gap - printed_gap) <= 2 * error + ROUNDING
            rows.append((column, average, printed_gap, measured_gap, error, count, bool(near and count >= LEAST)))
    return pd.DataFrame(rows, columns=["column", "average", "printed_gap", "measured_gap", "error", "runs", "fits"])


def describe_averages(frame: pd.DataFrame) -> str:
    """Return sentences that name the averages that fit the printed columns, with the gaps in points."""
    if not frame.empty and frame["runs"].max() < LEAST:
        return f"{frame['runs'].max()} configurations are too few to find which average the reported columns are."
    sentences = []
    for column, rows in frame.groupby("column", sort=False):
        good = list(rows[rows["fits"]]["average"])
        gaps = ", ".join(f"{row['average']} {signed(100 * row['measured_gap'])}" for row in rows.to_dict("records"))
        nearest = rows["average"].iloc[int((rows["measured_gap"] - rows["printed_gap"]).abs().to_numpy().argmin())]
        result = f"fits {' and '.join(good)}" if good else f"fits no average; {nearest} is nearest"
        alike = "; the classes have nearly equal sizes, so these averages cannot be distinguished" if len(good) > 1 else ""
        printed_gap = 100 * float(rows["printed_gap"].iloc[0])
        sentences.append(
            f"Reported {COLUMNS[str(column)]} {result}: its mean difference from accuracy is {signed(printed_gap)} points, ours"
            f" {gaps}{alike}."
        )
    return " ".join(sentences)


def _error(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
