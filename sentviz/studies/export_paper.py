"""Every printed table and figure of a paper from the runs here, as files with a manifest."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from sentviz._browser import find_browser
from sentviz.errors import InputError, SentvizError
from sentviz.export import render
from sentviz.figures.figure import Figure, sentence
from sentviz.runs import Run, version
from sentviz.studies import panels, tables, tsne
from sentviz.studies.against import BASES, answer
from sentviz.studies.ndt import DATASETS, beside, configurations, items, points, summary
from sentviz.studies.tables import Table

__all__ = ["MAKERS", "PAPERS", "export_paper"]

PAPERS = ("ndt",)
Made = Table | Figure
Maker = Callable[[Sequence[Run]], list[Made]]


def export_paper(paper: str, folder: Path, runs: Iterable[Run], *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Write the live items of a paper and what we add to them; returns the manifest, which is there as `manifest.json` as well.

    Tables as CSV, TEX and HTML, figures as SVG, PDF and PNG, where there is a browser, and CSV. What cannot be drawn from the runs
    here is in the manifest with its reason.

    Args:
        progress: called with (done, all) after each item.
    Raises:
        InputError: no such paper.
        SentvizError: the folder cannot be written.
    """
    if paper not in PAPERS:
        raise InputError(f"There is no paper {paper!r}; there is {', '.join(PAPERS)}.")
    here, listed = list(runs), {item["id"]: item for item in items()}
    wanted = {name: item for name, item in listed.items() if item["state"] == "live"}
    wanted |= {name: {} for name in MAKERS if name not in listed}
    entries: list[dict[str, Any]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for i, (name, item) in enumerate(wanted.items()):
            entry: dict[str, Any] = {"id": name} | {key: item[key] for key in ("printed", "title", "why") if key in item}
            try:
                made = MAKERS[name](here)
                entry |= {"state": "written" if made else "no run here", "parts": [_write(one, folder) for one in made]}
            except SentvizError as error:
                entry |= {"state": "not written", "reason": str(error), "parts": []}
            entries.append(entry)
            if progress:
                progress(i + 1, len(wanted))
        lost = [{"id": name, **item} for name, item in listed.items() if item["state"] != "live"]
        manifest = {
            "paper": paper,
            "sentviz": version(),
            "runs": {run.name: run.digest for dataset in DATASETS for seeds in configurations(here, dataset).values() for run in seeds},
            "answers": [one.sentence for one in (answer(here, dataset) for dataset in DATASETS) if one is not None],
            "pictures": find_browser() is not None,
            "items": entries,
            "cannot be had": lost,
        }
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise SentvizError(f"{folder} cannot be written ({error.strerror or error}).") from error
    return manifest


def _write(made: Made, folder: Path) -> dict[str, Any]:
    """The files of one table or figure."""
    if isinstance(made, Table):
        import plotly.graph_objects as go

        figure = Figure(made.name, go.Figure(), made.frame, made.caption)
        data = {"csv": render(figure, "csv"), "tex": render(figure, "tex"), "html": _page(made)}
    else:
        data = {format: render(made, format) for format in (("svg", "pdf", "png", "csv") if find_browser() else ("csv",))}
    for format, content in data.items():
        (folder / f"{made.name}.{format}").write_bytes(content)
    return {"caption": sentence([made.caption, getattr(made, "source", "")]), "files": [f"{made.name}.{format}" for format in data]}


def _page(table: Table) -> bytes:
    """A table as a page of its own that makes no request."""
    body = table.frame.to_html(index=False, na_rep="–", float_format=lambda value: f"{value:.4g}", border=0, escape=True)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{html.escape(table.title)}</title>
<style>
body {{ font: 14px/1.45 "Source Sans Pro", "Helvetica Neue", Arial, sans-serif; margin: 1rem; color: #31333f; }}
div {{ overflow-x: auto; }} table {{ border-collapse: collapse; }} th:first-child, td:first-child {{ text-align: left; }}
th, td {{ padding: .2rem .6rem; text-align: right; white-space: nowrap; }} tr:nth-child(even) {{ background: #f1f4f9; }}
thead {{ border-bottom: 1px solid #6b7080; }}
</style>
</head>
<body>
<h1>{html.escape(table.title)}</h1>
<p>{html.escape(table.caption)}</p>
<div>{body}</div>
</body>
</html>
""".encode()


# ---- what each item is made of


def _results(dataset: str) -> Maker:
    return lambda runs: [tables.results(runs, dataset)] if configurations(runs, dataset) else []


def _lambdas(dataset: str) -> Maker:
    def make(runs: Sequence[Run]) -> list[Made]:
        table = tables.lambdas(runs, dataset)
        return [] if table.frame.empty else [table]

    return make


def _sources(runs: Sequence[Run], dataset: str, models: Container[str] | None = None) -> list[Run]:
    here = configurations(runs, dataset)
    return [run for model, seeds in here.items() if models is None or model in models for run in seeds]


def _confusions(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.confusion_panels import confusion_panels

    figure = confusion_panels(panels.confusions(runs), missing=panels.missing(runs))
    return [panels.sourced(figure, panels.shown(runs).values())]


def _rocs(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.roc_panels import roc_panels

    figure = roc_panels(panels.rocs(runs), order=tuple(DATASETS.values()), missing=panels.missing(runs))
    return [panels.sourced(figure, [*panels.shown(runs, "diff").values(), *panels.shown(runs).values()])]


def _tsne(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.tsne_panels import tsne_panels

    able = panels.with_vectors(runs)
    lost = [title for dataset, title in DATASETS.items() if dataset not in able]
    figure = tsne_panels(tsne.frame({DATASETS[dataset]: tsne.picture(run) for dataset, run in able.items()}), missing=lost)
    return [panels.sourced(figure, able.values())]


def _beside(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.accuracy_grid import accuracy_grid
    from sentviz.figures.beside import measured_beside_printed

    made: list[Made] = []
    for dataset, title in DATASETS.items():
        if sources := _sources(runs, dataset):
            frame = beside(summary(runs, dataset), dataset, "accuracy")
            single = points(runs, dataset, "accuracy")
            both = (
                measured_beside_printed(frame, single, title=f"Accuracy on {title}", percent=True),
                accuracy_grid(tables.grid(frame), title=title),
            )
            made += [panels.sourced(figure, sources) for figure in both]
    return made


def _lambda_grids(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.lambda_grid import lambda_grid

    made: list[Made] = []
    for dataset, title in DATASETS.items():
        frame, marks = panels.lambda_frames(runs, dataset)
        if not frame.empty:
            both = lambda_grid(frame, title=title, printed=marks), lambda_grid(frame, title=title, change=True)
            made += [panels.sourced(figure, _sources(runs, dataset, set(frame["model"]))) for figure in both]
    return made


def _costs(runs: Sequence[Run]) -> list[Made]:
    from sentviz.figures.tradeoff import tradeoff

    found = {title: tables.costs(dataset) for dataset, title in DATASETS.items()}
    return [tradeoff(*frames, title=title) for title, frames in found.items() if not all(frame.empty for frame in frames)]


def _comparisons(runs: Sequence[Run]) -> list[Made]:
    found = [tables.comparisons(runs, dataset, base) for dataset in DATASETS for base in BASES if base in configurations(runs, dataset)]
    return [table for table in found if not table.frame.empty]


def _claims(runs: Sequence[Run]) -> list[Made]:
    from sentviz.studies.claims import judged

    words = "Every claim in our words, held against the paper's own tables or the runs here."
    return [Table("claims", "Claims", judged(runs), words)]


MAKERS: dict[str, Maker] = {
    "table-1": _results("imdb"),
    "table-2": _lambdas("imdb"),
    "table-3": _results("sst2"),
    "table-4": _lambdas("sst2"),
    "table-5": _results("yelp_full"),
    "table-6": _lambdas("yelp_full"),
    "table-7": _results("twitter_financial"),
    "table-8": _lambdas("twitter_financial"),
    "table-9": lambda runs: [tables.silhouettes(runs)],
    "table-10": lambda runs: [tables.totals(runs)],
    "table-11": lambda runs: [tables.milliseconds()],
    "figure-1": _confusions,
    "figure-2": _rocs,
    "figure-3": _tsne,
    "accuracy": _beside,
    "lambda-evolution": _lambda_grids,
    "parameters-latency": _costs,
    "comparisons": _comparisons,
    "claims": _claims,
}
