"""Export every table and figure of a paper as files with a manifest, from the installed runs."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sentviz.charts.figure import Figure, sentence
from sentviz.errors import SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.files import render
from sentviz.io.files import replacing, version
from sentviz.io.lazy import go
from sentviz.io.table import Table
from sentviz.papers.studies.claims import answers_of
from sentviz.papers.studies.compare_configurations import of_paper
from sentviz.papers.studies.items import PaperItem, listed, makers
from sentviz.runs.registry import find_paper
from sentviz.runs.store import Run


def export_paper(paper: str, folder: Path, runs: Iterable[Run], *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Write the live items of a paper and what is added to them. Return the manifest, which is also written as `manifest.json`.

    Tables are written as CSV, TEX and HTML, figures as CSV and, if there is a browser, as SVG, PDF and PNG. The manifest has the files, and
    every item of the paper with its place and, if it differs or is not here, the reason.

    Args:
        progress: called with (done, all) after each item.
    Raises:
        SentvizError: the folder cannot be written.
    """
    exported, every = find_paper(paper), list(runs)
    able, by_maker = makers(exported), {item.made_by: item for item in exported.items()}
    wanted = {name: makes for name, makes in able.items() if name not in by_maker or by_maker[name].state != "not"}
    entries: list[dict[str, Any]] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for i, (name, makes) in enumerate(wanted.items()):
            its_items = [item for item in exported.items() if item.made_by == name]
            entry: dict[str, Any] = {
                "id": name,
                "shows": [item.name for item in its_items],
                "title": its_items[0].title if its_items else name,
            }
            try:
                parts = makes(every)
                entry |= {"state": "written" if parts else "no run here", "parts": [_write(part, folder) for part in parts]}
            except SentvizError as error:
                entry |= {"state": "not written", "reason": str(error), "parts": []}
            entries.append(entry)
            if progress:
                progress(i + 1, len(wanted))
        manifest = {
            "paper": paper,
            "sentviz": version(),
            "runs": {run.name: run.digest for run in of_paper(exported, every)},
            "answers": answers_of(exported, every),
            "pictures": find_browser() is not None,
            "files": entries,
            "items": listed(exported).frame.to_dict("records"),
        }
        with replacing(folder / "manifest.json") as part:
            part.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise SentvizError(f"{folder} cannot be written ({error.strerror or error}).") from error
    return manifest


def _write(item: PaperItem, folder: Path) -> dict[str, Any]:
    """Write the files of one table or figure, and return its entry in the manifest."""
    entry: dict[str, Any] = {"caption": sentence([item.caption, getattr(item, "source", "")])}
    if isinstance(item, Table):
        numbers = Figure(item.name, go.Figure(), item.frame, item.caption)
        data = {"csv": render(numbers, "csv"), "tex": render(replace(numbers, printed=item.written()), "tex"), "html": _page(item)}
        entry["columns"] = {column.label: column.name for column in item.columns}
    else:
        data = {format: render(item, format) for format in (("svg", "pdf", "png", "csv") if find_browser() else ("csv",))}
    for format, content in data.items():
        with replacing(folder / f"{item.name}.{format}") as part:
            part.write_bytes(content)
    return entry | {"files": [f"{item.name}.{format}" for format in data]}


def _page(table: Table) -> bytes:
    """Return a table as an HTML page that loads nothing."""
    body = table.written().to_html(index=False, border=0, escape=True)
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
