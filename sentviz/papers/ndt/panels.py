"""The paper's figures 1 and 2 from the runs here: confusion matrices and ROC curves of the best NDT of each data set."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import RESAMPLES, Floats, areas_drawn, bounds, confusion
from sentviz.charts.chart import Axis, Chart, Drawing, Panels, line
from sentviz.charts.colours import blend, colour_scale
from sentviz.charts.confusion import WEIGHT, strength
from sentviz.charts.figure import DASHES, Figure, annotate, lay_out, sentence
from sentviz.charts.look import Look
from sentviz.charts.maps import title_lines
from sentviz.charts.operating import diagonal
from sentviz.charts.panels import cell_texts, panel_axes, panel_grid
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study, sourced
from sentviz.charts.text import as_text, label_width, shortened
from sentviz.errors import InputError
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number, percent
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.study import DATASETS, best_ndt, configurations, printed_name, reported_best
from sentviz.papers.studies.means import predictions
from sentviz.runs.store import Run

AGAIN = "again"  # variant of a training that was made again, for its vectors
MOST_POINTS = 250  # largest number of points of a ROC curve
WIDE = 200  # least pixels of one of two panels side by side


CHOSEN = {  # option `best` -> how the NDT was chosen
    False: "The NDT configuration of each data set is the paper's best, the one with the highest reported test accuracy.",
    True: "The NDT configuration of each data set has the best validation accuracy of the runs here.",
}


def _ndt(runs: Iterable[Run], dataset: str, best: bool) -> list[Run]:
    """Return the seeds of a data set's NDT for the panels: the paper's best, or the best on validation here."""
    return best_ndt(runs, dataset) if best else configurations(runs, dataset).get(reported_best(dataset), [])


def panel_runs(runs: Iterable[Run], model: str = "ndt", *, best: bool = False) -> dict[str, Run]:
    """Return the run of each data set for the paper's panels: the first seed of `model`.

    Args:
        model: a configuration; "ndt" is the NDT that the paper names as its best on the data set.
        best: True takes the NDT best on validation here in its place.
    """
    every, by_dataset = list(runs), {}
    for dataset in DATASETS:
        seeds = _ndt(every, dataset, best) if model == "ndt" else configurations(every, dataset).get(model, [])
        if seeds:
            by_dataset[dataset] = seeds[0]
    return by_dataset


def missing(there: Container[str]) -> list[str]:
    """Return the titles of the data sets that are not there."""
    return [title for dataset, title in DATASETS.items() if dataset not in there]


def with_vectors(runs: Iterable[Run], *, best: bool = False) -> dict[str, Run]:
    """Return the first run with stored pooled vectors among the seeds of each data set's NDT, chosen as in `panel_runs`.

    If no seed has vectors, a run of the same training that was made again (variant "again") takes its place.
    """
    every, by_dataset = list(runs), {}
    for dataset in DATASETS:
        seeds = _ndt(every, dataset, best)
        again = configurations(every, dataset, [f"{seeds[0].configuration}-{AGAIN}"]).values() if seeds else ()
        able = [run for run in itertools.chain(seeds, *again) if "embeddings.safetensors" in run.config["files"]]
        if able:
            by_dataset[dataset] = able[0]
    return by_dataset


def confusions(runs: Iterable[Run], *, best: bool = False) -> pd.DataFrame:
    """Return the confusion matrix of each data set's NDT, chosen as in `panel_runs`.

    Columns: panel, run, label, predicted, count, share (of the label's rows).
    """
    rows = []
    for dataset, run in panel_runs(runs, best=best).items():
        labels, probabilities = predictions([run])
        counts = confusion(labels, probabilities[0].argmax(axis=1), len(run.labels))
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        rows += [
            (DATASETS[dataset], run.name, true, predicted, int(counts[i, j]), float(shares[i, j]))
            for i, true in enumerate(run.labels)
            for j, predicted in enumerate(run.labels)
        ]
    return pd.DataFrame(rows, columns=["panel", "run", "label", "predicted", "count", "share"])


def rocs(runs: Iterable[Run], *, best: bool = False, seed: int = 0) -> pd.DataFrame:
    """Return the curves of DT and of each data set's NDT, chosen as in `panel_runs`.

    Columns: row, panel, run, curve, fpr, tpr, auc, low, high, n, and of the run's area: macro, macro_low, macro_high, printed (the reported
    AUC of the same configuration). Two classes have one curve, that of the second; more have one-vs-rest curves, whose mean is macro. The
    intervals are percentile bootstraps over test rows.
    """
    every = list(runs)
    parts = [
        _curves(run, run.digest, seed).assign(
            row=row, panel=DATASETS[dataset], printed=printed_tables.value(printed_name(dataset), run.configuration, "auc")
        )
        for row, model in (("DT", "diff"), ("best NDT", "ndt"))
        for dataset, run in panel_runs(every, model, best=best).items()
    ]
    columns = ["row", "panel", "run", "curve", "fpr", "tpr", "auc", "low", "high", "n", "macro", "macro_low", "macro_high", "printed"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


@lru_cache(maxsize=32)
def _curves(run: Run, digest: str, seed: int) -> pd.DataFrame:
    """`rocs` of one run, without row and panel; not to be changed."""
    from sklearn.metrics import roc_curve

    labels, (probabilities,) = predictions([run])
    n, two = len(labels), len(run.labels) == 2
    stored = run.metrics()["test"]["auc"]
    classes = [k for k in ([1] if two else range(len(run.labels))) if 0 < (labels == k).sum() < n]
    sides = [(labels == k, probabilities[:, k]) for k in classes]
    values, draws = areas_drawn(sides, np.random.default_rng(seed), 0 if two else RESAMPLES)
    parts = []
    for i, k in enumerate(classes):
        fpr, tpr, _ = roc_curve(labels == k, probabilities[:, k])
        area = stored["value"] if two else float(values[i])  # the stored one is unrounded
        low, high = (stored["low"], stored["high"]) if two else bounds(draws[:, i])
        places = _thin(fpr, tpr)
        curve = pd.DataFrame({"fpr": fpr[places], "tpr": tpr[places]})
        parts.append(curve.assign(run=run.name, curve=run.labels[k], auc=area, low=low, high=high, n=n))
    if not parts:
        return pd.DataFrame(columns=["run", "curve", "fpr", "tpr", "auc", "low", "high", "n", "macro", "macro_low", "macro_high"])
    macro = {"macro": stored["value"], "macro_low": stored["low"], "macro_high": stored["high"]}
    return pd.concat(parts, ignore_index=True).assign(**macro)


def _thin(fpr: Floats, tpr: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Positions of at most `MOST_POINTS` of a curve, evenly along its length, both ends among them."""
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(fpr)) + np.abs(np.diff(tpr)))])
    return np.unique(np.searchsorted(along, np.linspace(0, along[-1], MOST_POINTS)).clip(0, len(fpr) - 1))


@figure("confusion-panels", "Confusion matrices of the best NDT", Study)
def _confusion_panels(of: Study, *, best: bool = False) -> Figure:
    """Draw a panel per data set, two per row: each cell has its count and its share of the row; colours are those of `strength`."""
    frame, chosen = confusions(of.runs, best=best), panel_runs(of.runs, best=best)
    lost = missing(chosen)
    if frame.empty:
        raise InputError("No run of an NDT configuration is installed, so there is no confusion matrix.")
    totals = frame.groupby("panel", sort=False)["count"].sum()
    caption = sentence(
        [
            f"Labels down, predictions across, on the test split. A cell has its count and its share of the row. {WEIGHT}",
            f"Rows: {', '.join(f'{panel} {total:,}' for panel, total in totals.items())}.",
            f"{CHOSEN[best]} Its first seed is drawn.",
            f"No run is installed for: {', '.join(lost)}." if lost else "",
        ]
    )
    drawn = Figure("confusion-panels", Drawing(_draw_confusions, {"frame": frame}), frame, caption)
    return sourced(drawn, *chosen.values())


def _draw_confusions(look: Look, frame: pd.DataFrame) -> go.Figure:
    """Draw the panels of a frame; those of a narrow figure are below each other."""
    colours, panels = look.colours, list(frame["panel"].unique())
    names = {panel: [as_text(name, 12) for name in part["label"].unique()] for panel, part in frame.groupby("panel")}
    left = 40 + round(max(label_width(name, 12) for each in names.values() for name in each))
    across = 1 if 0 < look.room < 2 * (left + WIDE) else min(len(panels), 2)
    wide = look.room or across * (left + 300)
    side, down = wide / across - left - 12, ceil(len(panels) / across)
    high = min(side, 240)
    runs = frame.drop_duplicates("panel").set_index("panel")["run"]
    titles = [f"{as_text(panel, 40)}<br>{as_text(runs[panel], 40)}" for panel in panels]
    inner = down * high + 96 * (down - 1)
    plot, places = panel_grid(titles, across, look, apart=left / (wide - left - 12), below=96 * down / inner)
    notes: list[dict[str, Any]] = []
    for i, (panel, place) in enumerate(zip(panels, places, strict=True)):
        cells, at = frame[frame["panel"] == panel], np.arange(len(names[panel]))
        shares, counts = (cells[column].to_numpy().reshape(len(at), -1) for column in ("share", "count"))
        strengths = strength(shares, np.eye(len(at), dtype=bool))
        plot.add_heatmap(
            z=strengths,
            x=at,
            y=at,
            customdata=[[f"{counts[i, j]:,} rows, {percent(shares[i, j])} of their label" for j in at] for i in at],
            coloraxis="coloraxis",
            hovertemplate="%{customdata}<extra></extra>",
            **place,
        )
        texts = [[f"{counts[i, j]:,}<br>{percent(shares[i, j])}" for j in at] for i in at]
        if max(label_width(text, 11) for row in texts for text in row) < side / len(at):
            notes += cell_texts(texts, blend(colours.judged, (1 + strengths.ravel()) / 2), 13 if len(at) < 4 else 11, **panel_axes(i))
        fits = max(label_width(name, 12) for name in names[panel]) < side / len(at)
        plot.update_xaxes(tickvals=at, ticktext=names[panel], tickangle=0 if fits else -90, title_text="predicted" * fits, **place)
        plot.update_yaxes(tickvals=at, ticktext=names[panel], autorange="reversed", **place)
    title, more = title_lines("Confusion matrices of the best NDT of each data set", look)
    scale = {"colorscale": colour_scale(colours.judged), "cmin": -1, "cmax": 1, "showscale": False}
    lay_out(plot, look, title, (wide, round(inner) + 152 + more), (left, 84 + more, 12, 68), coloraxis=scale)
    plot.update_xaxes(title_standoff=4, showgrid=False, automargin=False)
    plot.update_yaxes(showgrid=False, automargin=False, ticklabelstandoff=4)
    annotate(plot, notes)
    return plot


@figure("roc-panels", "ROC curves of DT and the best NDT", Study)
def _roc_panels(of: Study, *, best: bool = False) -> Figure:
    """Draw a column per data set and a row per model; each panel lists the area and interval of its curves."""
    frame, dts, ndts = rocs(of.runs, best=best), panel_runs(of.runs, "diff"), panel_runs(of.runs, best=best)
    if frame.empty:
        raise InputError("No run of DT or NDT is installed, so there is no ROC curve.")
    lost = missing(ndts)
    lost += [f"DT on {title}" for title in missing(dts) if title not in lost]
    panels = [title for title in DATASETS.values() if title in set(frame["panel"])]
    runs = frame.drop_duplicates(["row", "panel"]).set_index(["row", "panel"])["run"].to_dict()
    cells = {f"{row}, {panel}": (row, panel) for row in frame["row"].unique() for panel in panels}
    place = frame.groupby(["row", "panel"])["curve"].transform(lambda curves: pd.factorize(curves)[0])
    drawn = frame.assign(cell=frame["row"] + ", " + frame["panel"], place=place.astype(int))
    hover = "{curve}<br>false positives {fpr:.1%}, true positives {tpr:.1%}"
    lines = [
        line(drawn[drawn["place"] == at], "fpr", "tpr", role=at, symbol="", dash=DASHES[at % len(DASHES)], hover=hover)
        for at in range(int(drawn["place"].max()) + 1)
    ]
    notes = {name: _areas(drawn[drawn["cell"] == name]) for name in cells}
    titles = {name: f"{panel}\n{runs.get((row, panel), 'no run here')}" for name, (row, panel) in cells.items()}
    ticks = {0.0: "0", 0.5: "0.5", 1.0: "1"}
    chart = Chart(
        "ROC curves of DT and of the best NDT of each data set",
        [diagonal(), *lines],
        Axis("false positive rate", span=(-0.02, 1.02), ticks=ticks),
        Axis("true positive rate", span=(-0.02, 1.04), ticks=ticks),
        panels=Panels("cell", titles, len(panels), notes=notes),
        height=1.2,
    )
    sizes = frame.drop_duplicates("panel").set_index("panel")["n"]
    caption = sentence(
        [
            "Test split. With two classes there is one curve, with more classes one for each class against the rest; macro is the mean of"
            " their areas. Brackets: 95 % bootstrap intervals over test rows.",
            "“Paper” is the reported area of the same configuration." if frame["printed"].notna().any() else "",
            f"Rows: {', '.join(f'{panel} {sizes[panel]:,}' for panel in panels)}.",
            f"{CHOSEN[best]} The first seed of each configuration is drawn.",
            f"No run is installed for: {', '.join(lost)}." if lost else "",
        ]
    )
    columns = ["row", "panel", "run", "curve", "auc", "low", "high", "n", "macro", "macro_low", "macro_high", "printed"]
    printed = frame.drop_duplicates(["row", "panel", "curve"])[columns]
    result = Figure("roc-panels", chart, frame, caption, printed=printed)
    return sourced(result, *dts.values(), *ndts.values())


def _areas(cell: pd.DataFrame) -> list[tuple[str, str | int]]:
    """Return the areas of a panel's curves with their intervals, and what they are compared with."""
    if cell.empty:
        return []
    several = cell["curve"].nunique() > 1
    areas: list[tuple[str, str | int]] = [("area", "ink")]
    for row in cell.drop_duplicates("curve").to_dict("records"):
        name = f"{shortened(str(row['curve']), 10)} " if several else ""
        areas.append((f"{name}{number(row['auc'], 3, ends=(row['low'], row['high']))}", int(row["place"])))
    return [*areas, *((text, "ink") for text in _compared(cell))]


def _compared(cell: pd.DataFrame) -> list[str]:
    """Return the lines on the area of a run: its macro area if it has several curves, and the reported one."""
    first, lines = cell.iloc[0], []
    if cell["curve"].nunique() > 1:
        lines.append(f"macro {number(first['macro'], 3, ends=(first['macro_low'], first['macro_high']))}")
    return [*lines, f"paper {first['printed']:.3f}"] if pd.notna(first["printed"]) else lines
