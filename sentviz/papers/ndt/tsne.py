"""The paper's figure 3: pooled vectors of the best NDT of each data set in two dimensions by t-SNE.

`picture` projects the vectors of a run once, and keeps the places in the user's cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from sentviz.analysis.evaluation import RESAMPLES, Floats, Ints, interval, mean_draws
from sentviz.charts.chart import Drawing
from sentviz.charts.colours import class_colours
from sentviz.charts.figure import Figure, lay_out, sentence
from sentviz.charts.look import Look
from sentviz.charts.panels import FRAMELESS, panel_grid
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Study, sourced
from sentviz.charts.text import as_text, label_width
from sentviz.errors import InputError
from sentviz.io.files import home, replacing
from sentviz.io.lazy import go, pd
from sentviz.io.numbers import number
from sentviz.papers.ndt import printed_tables
from sentviz.papers.ndt.panels import AGAIN, CHOSEN, missing, with_vectors
from sentviz.papers.ndt.study import DATASETS, printed_name
from sentviz.runs.store import Run

PERPLEXITY = 30
SYMBOLS = ("circle", "x", "triangle-up", "diamond", "cross")
SIGNS = "●✕▲◆✚"  # the same symbols as letters
SHARED = ("silhouette", "low", "high", "printed", "drawn", "drawn_low", "drawn_high")  # columns with the same value in all rows of a panel
NARROW = 440  # pixels; in narrower figures, panels are below each other


@dataclass(frozen=True)
class Picture:
    """Places of a sample of test rows, and how well their classes stand apart; each silhouette is {value, low, high}."""

    run: str
    classes: tuple[str, ...]
    labels: Ints  # (n,)
    places: npt.NDArray[np.float32]  # (n, 2)
    original: dict[str, Any]  # silhouette of the pooled vectors
    drawn: dict[str, Any]  # silhouette of the places
    seed: int
    printed: float = np.nan  # silhouette that the paper reports for the same configuration


def cached(run: Run, seed: int = 0) -> bool:
    """Return whether the picture is stored on this machine."""
    return _file(run, seed).is_file()


def picture(run: Run, seed: int = 0) -> Picture:
    """The run's stored sample of pooled vectors by t-SNE (van der Maaten & Hinton 2008; openTSNE, perplexity 30, from the principal axes).

    Silhouettes (euclidean, Rousseeuw 1987) are of these rows, in the original space and in the picture, with 95 % bootstrap intervals over
    rows. The places are kept by the run's digest and the seed; a damaged file is computed anew.

    Raises:
        RunError: the run carries no vectors.
    """
    from safetensors.numpy import load_file
    from sklearn.metrics import silhouette_samples

    stored = load_file(run.path("embeddings.safetensors"))
    vectors, test = stored["pooled"].astype(np.float64), run.frame("test.parquet")
    labels = test.loc[test["split"] == "test", "label"].to_numpy(np.int64)[stored["rows"]]
    places = _read(_file(run, seed), len(vectors))
    if places is None:
        places = _tsne(vectors, seed)
        _write(_file(run, seed), places)
    original, drawn = (
        _silhouette(silhouette_samples(x, labels), seed) if 1 < len(set(labels)) < len(labels) else interval(np.nan, np.array([np.nan]))
        for x in (vectors, places)
    )
    dataset, model = printed_name(run.config["data"]["name"]), run.configuration.removesuffix(f"-{AGAIN}")
    return Picture(run.name, run.labels, labels, places, original, drawn, seed, printed_tables.value(dataset, model, "silhouette"))


def tsne_frame(pictures: dict[str, Picture]) -> pd.DataFrame:
    """Panels as one frame: panel, run, label, x, y, silhouette, low, high, printed (NaN if unknown), drawn, drawn_low, drawn_high, seed."""
    parts = [
        pd.DataFrame({"label": np.array(item.classes)[item.labels], "x": item.places[:, 0], "y": item.places[:, 1]}).assign(
            panel=panel,
            run=item.run,
            silhouette=item.original["value"],
            low=item.original["low"],
            high=item.original["high"],
            printed=item.printed,
            drawn=item.drawn["value"],
            drawn_low=item.drawn["low"],
            drawn_high=item.drawn["high"],
            seed=item.seed,
        )
        for panel, item in pictures.items()
    ]
    columns = ["panel", "run", "label", "x", "y", "silhouette", "low", "high", "printed", "drawn", "drawn_low", "drawn_high", "seed"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _tsne(vectors: Floats, seed: int) -> npt.NDArray[np.float32]:
    from openTSNE import TSNE

    least = max(2, min(PERPLEXITY, (len(vectors) - 1) // 3))
    return np.asarray(TSNE(perplexity=least, initialization="pca", random_state=seed, n_jobs=1).fit(vectors), dtype=np.float32)


def _silhouette(values: Floats, seed: int) -> dict[str, Any]:
    return interval(float(values.mean()), mean_draws(values, np.random.default_rng(seed), RESAMPLES))


def _file(run: Run, seed: int) -> Path:
    return home() / "pictures" / f"tsne-{run.digest}-{PERPLEXITY}-{seed}.npy"


def _read(path: Path, n: int) -> npt.NDArray[np.float32] | None:
    try:
        places = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile):
        return None
    return places.astype(np.float32) if getattr(places, "shape", None) == (n, 2) else None


def _write(path: Path, places: npt.NDArray[np.float32]) -> None:
    """Whole or not at all; a cache that cannot be written costs time, nothing else."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as file:
            np.save(file, places)


def _waits(of: Study) -> str:
    if all(cached(run) for best in (False, True) for run in with_vectors(of.runs, best=best).values()):
        return ""
    return "Not computed on this machine yet; it takes about ten seconds a data set, once."


@figure("tsne-panels", "t-SNE of the best NDT", Study, waits=_waits)
def _tsne_panels(of: Study, *, best: bool = False) -> Figure:
    """Draw a panel per data set, two per row if there is room; classes differ in colour and symbol."""
    able = with_vectors(of.runs, best=best)
    if not able:
        raise InputError("No installed run of an NDT configuration has stored pooled vectors, so there is nothing to project.")
    frame = tsne_frame({DATASETS[dataset]: picture(run) for dataset, run in able.items()})
    lost = missing(able)
    again = [DATASETS[dataset] for dataset, run in able.items() if run.configuration.endswith(f"-{AGAIN}")]
    caption = sentence(
        [
            "The vectors that the classifier reads:"
            f" {', '.join(f'{panel} {n:,}' for panel, n in frame['panel'].value_counts(sort=False).items())} test rows, t-SNE with"
            f" perplexity {PERPLEXITY} and seed {int(frame['seed'].iloc[0])}.",
            "t-SNE separates groups even if they are close. The first silhouette is measured in the vectors, the second in the picture;"
            " brackets are 95 % bootstrap intervals over rows.",
            "“Paper” is the silhouette that the paper reports for this configuration; it names neither its rows nor its distance."
            if frame["printed"].notna().any()
            else "",
            CHOSEN[best],
            f"The study's own runs store no vectors for {', '.join(again)}: these panels are of the same training, made again."
            if again
            else "",
            f"No vectors are stored for: {', '.join(lost)}." if lost else "",
        ]
    )
    printed = frame.groupby(["panel", "run"], sort=False).agg(rows=("x", "size"), **{n: (n, "first") for n in SHARED}).reset_index()
    return sourced(Figure("tsne-panels", Drawing(_draw, {"frame": frame}), frame, caption, printed=printed), *able.values())


def _draw(look: Look, frame: pd.DataFrame) -> go.Figure:
    """Draw the panels, two side by side if there is room, each with its legend."""
    panels, width = list(frame["panel"].unique()), look.room
    per_row = 1 if 0 < width < NARROW else min(len(panels), 2)
    width = width or 480 * per_row + 40
    room = width / per_row - 40
    first = frame.drop_duplicates("panel").set_index("panel")
    titles = [
        f"{as_text(str(panel), 30)} · {as_text(str(row['run']), 34)}<br>silhouette {_three(row, 'silhouette', 'low', 'high')},<br>"
        f"in the picture {_three(row, 'drawn', 'drawn_low', 'drawn_high')}{_printed(row)}"
        for panel, row in first.iterrows()
    ]
    plot, places = panel_grid(titles, per_row, look, apart=0.06, below=0.3, size=12)
    for panel, place in zip(panels, places, strict=True):
        points = frame[frame["panel"] == panel]
        names = sorted(map(str, points["label"].unique()))
        fills = class_colours(names, look.colours)
        labels = [as_text(name, 14) for name in names]
        for k, (label, fill) in enumerate(zip(names, fills, strict=True)):
            rows, symbol = points[points["label"].astype(str) == label], SYMBOLS[k % len(SYMBOLS)]
            marker = {"size": 5, "opacity": 0.75, "color": fill, "symbol": symbol}
            hover = f"{labels[k]}<extra></extra>"
            plot.add_scattergl(x=rows["x"], y=rows["y"], mode="markers", name=labels[k], marker=marker, hovertemplate=hover, **place)
        below = {"xref": "x domain", "x": 0, "xanchor": "left", "yref": "y domain", "y": 0, "yanchor": "top", "yshift": -4}
        plot.add_annotation(text=_key(labels, fills, room), align="left", font={"size": 12}, **below, **place)
    title = "Pooled vectors of the best NDT of each data set, t-SNE"
    lay_out(plot, look, title, (width, 370 * places[-1]["row"] + 106), (20, 100, 20, 44), showlegend=False)
    plot.update_xaxes(**FRAMELESS)
    plot.update_yaxes(**FRAMELESS)
    return plot


def _key(names: Sequence[str], colours: Sequence[str], room: float) -> str:
    """Return the legend of symbols and colours, in lines of at most `room` pixels."""
    lines: list[list[str]] = [[]]
    for name in names:
        if label_width("  ".join([*lines[-1], f"● {name}"]), 12) > room and lines[-1]:
            lines.append([])
        lines[-1].append(f"● {name}")
    signs = (f"<span style='color:{colours[k]}'>{SIGNS[k % len(SIGNS)]}</span> {name}" for k, name in enumerate(names))
    return "<br>".join("&nbsp;&nbsp; ".join(next(signs) for _ in line) for line in lines)


def _printed(row: pd.Series) -> str:
    """Return the paper's silhouette as the end of a title; "" if it is unknown."""
    return "" if pd.isna(row["printed"]) else f"; paper {number(float(row['printed']))}"


def _three(row: pd.Series, *names: str) -> str:
    value, low, high = (number(float(row[name])) for name in names)
    return f"{value} [{low}, {high}]"
