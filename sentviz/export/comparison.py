"""Write a comparison as a report on one page, HTML or PDF, for a person who decides.

The page has question, verdict, figure, table, where the sources differ, calibration, cost, what was not tested, and provenance. It has no
date: the same comparison gives the same bytes (a measured speed is part of a comparison).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

from sentviz.analysis.testset.compare import ROWS
from sentviz.analysis.testset.comparison import Comparison, rows_in_words
from sentviz.browser.page import page
from sentviz.charts import Figure
from sentviz.charts.fonts import embed_fonts
from sentviz.charts.gallery import make
from sentviz.charts.look import Look, Style
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError
from sentviz.export.chromium import SHEET_MARGIN
from sentviz.export.embedded_record import embed_record
from sentviz.export.files import BROWSER, bare_svg
from sentviz.export.record import Record
from sentviz.export.report import DRAW, STYLE, figure_html, items_html
from sentviz.io.files import version, write_file
from sentviz.io.numbers import number, percent, signed

FORMATS = ("html", "pdf")
MAX_CLASSES = 5  # classes whose recalls fit on the page
SPEED_MEASURED = f"Speed elsewhere: rows per second were measured once, on {ROWS} rows, and depend on the machine and on what else it does."
_WIDTH = 700  # pixels of the figure: A4 without its margins
_LOOK = f"""
main {{ max-width: {_WIDTH}px; }}
.verdict {{ font-size: 19px; line-height: 1.3; margin: .5rem 0; }}
h2 {{ font-size: 15px; margin: 1rem 0 .3rem; padding-top: .4rem; }}
h3 {{ font-size: 13px; margin: .5rem 0 .2rem; }}
ul {{ margin: .2rem 0; font-size: 12.5px; }}
figure {{ margin: .4rem 0; }}
figcaption {{ display: none; }}
table {{ font-size: 12.5px; width: 100%; }}
td, th {{ padding: 2px 0 2px .8rem; white-space: nowrap; }}
th {{ white-space: normal; overflow-wrap: normal; vertical-align: bottom; }}
td:first-child, th:first-child {{ padding-left: 0; white-space: normal; }}
td + td, th + th {{ text-align: right; }}
.pairs {{ align-items: start; }}
@page {{ size: A4; margin: {SHEET_MARGIN}mm; }}
@media print {{ body {{ margin: 0; }} main {{ width: {_WIDTH}px; margin: 0 auto; }} }}
"""


def render(comparison: Comparison, format: str, *, about: str = "") -> bytes:
    """Return the report as the bytes of a file that holds the `Record` of its figure, which `sentviz verify` reads.

    Args:
        format: one of `FORMATS`. The HTML page needs no network, and no browser to be written; the PDF is one page of A4.
        about: further sentence under the verdict, for example on the rows.
    Raises:
        SentvizError: no browser is installed for the PDF.
    """
    if format not in FORMATS:
        raise InputError(f"A comparison can be written as {' or '.join(FORMATS)}, not as {format!r}.")
    figure = figure_of(comparison)
    figures: list[dict[str, Any]] = []
    place = figure_html(figure, 1, figures) if format == "html" else _svg(figure)
    title = f"Comparison of {len(comparison.candidates)} models"
    body = "\n".join(["<main>", *_body(comparison, place, figure, about), "</main>"])
    scripts: dict[str, Any] = {"scripts": (get_plotlyjs(), DRAW), "data": {"figures": figures}} if format == "html" else {}
    document = page(title, body, style=STYLE + _LOOK, **scripts)
    data = document.encode() if format == "html" else BROWSER.print_sheet(document)
    return embed_record(data, format, Record.of_sheet("comparison", [Record.of(figure)]))


def save(comparison: Comparison, path: str | os.PathLike[str], *, about: str = "") -> Path:
    """Write the report in the format of the suffix. Raises the errors of `render` and of `sentviz.io.files.write_file`."""
    return write_file(Path(path), render(comparison, Path(path).suffix.lower().lstrip("."), about=about))


def figure_of(comparison: Comparison) -> Figure:
    """Return the registered figure `comparison`, as wide as the page."""
    every = [rows for each in comparison.candidates for rows in each.trainings]
    together = any(len(each.trainings) > 1 for each in comparison.candidates)
    figure = make("comparison", Answers.of(*every), **({} if together else {"together": False}))
    return replace(figure, look=Look("light", _WIDTH, Style(title=False)))


def _svg(figure: Figure) -> str:
    svg = embed_fonts(bare_svg(figure, Style())[0]).decode()
    return f"<figure>{svg[svg.index('<svg') :]}</figure>"


def _body(of: Comparison, place: str, figure: Figure, about: str) -> Iterable[str]:
    names = [each.name for each in of.candidates]
    question = f"Which of {', '.join(names[:-1])} and {names[-1]} is right more often?"
    yield f"<h1>{escape(question)} {of.n:,} rows, {escape(rows_in_words(of.first))}.</h1>"
    yield f'<p class="verdict" dir="auto">{escape(of.headline)}</p>'
    yield f'<p class="note">{escape(" ".join(filter(None, (of.method, *of.remarks, about))))}</p>'
    yield place
    yield _table(
        ("", "accuracy, %, with its 95 % interval", "behind the best, points", "p", "macro F1"), map(_result, of.table.to_dict("records"))
    )
    yield "<h2>Classes, calibration and cost</h2>"
    yield _table(*_details(of))
    yield '<div class="pairs"><div>'
    yield "<h2>Where they differ</h2>"
    yield items_html(differences(of))
    yield "</div><div>"
    yield "<h2>Not tested</h2>"
    yield items_html(untested(of))
    yield "</div></div>"
    machines = ", ".join(dict.fromkeys(filter(None, of.table["hardware"])))
    trained = f" Trained on: {machines}." if machines else ""
    yield f'<p class="note">{escape(f"{figure.source}{trained} sentviz {version()}.")}</p>'


def _result(row: Mapping[Any, Any]) -> Sequence[str]:
    """Return a line of the first table as texts."""
    accuracy = number(100 * row["accuracy"], ends=(100 * row["low"], 100 * row["high"]))
    behind, p = "best", ""
    if not np.isnan(row["p"]):
        behind = signed(100 * row["behind"], ends=(100 * row["behind_low"], 100 * row["behind_high"]))
        p = "< 0.001" if row["p"] < 0.001 else f"{row['p']:.3f}"
    return row["source"] + (f" ({row['seeds']} seeds)" if row["seeds"] > 1 else ""), accuracy, behind, p, f"{row['f1']:.3f}"


def _details(of: Comparison) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return headings and lines of the second table. Of many classes, the recalls are left out."""
    recalls = of.by_class().pivot(index="source", columns="class", values="recall")
    classes = [name for name in of.first.classes if name in recalls] if len(of.first.classes) <= MAX_CLASSES else []
    lines = []
    for row in of.table.to_dict("records"):
        gap = 100 * (row["confidence"] - row["accuracy"])
        known = [
            (("+" if gap >= 0.05 else "") + number(gap, 1), gap),
            (f"{row['error']:.3f}", row["error"]),
            (f"{row['parameters']:,.0f}", row["parameters"]),
            (f"{row['minutes']:,.0f}", row["minutes"]),
            *([(f"{row['speed']:,.0f}", row["speed"])] if of.speeds else ()),
        ]
        values = ["–" if np.isnan(value) else text for text, value in known]
        lines.append((row["source"], *(percent(recalls.loc[row["source"], name]) for name in classes), *values))
    named = ["confidence above accuracy, points", "calibration error", "parameters", "minutes of one training"]
    named += ["rows per second"] if of.speeds else []
    return ("", *(f"recall of {name}" for name in classes), *named), lines


def differences(of: Comparison) -> Iterable[str]:
    """Yield how many rows the sources predict differently, and who is right on them."""
    for name, mask in of.parts().items():
        if (count := int(mask.sum())) or name == "differ":
            words = of.part_in_words(name)
            yield f"{words[0].upper()}{words[1:]}: {count:,} rows ({percent(count / of.n)})"
    if any(len(each.trainings) > 1 for each in of.candidates):
        yield "These counts are of the first training of each."


def untested(of: Comparison) -> Iterable[str]:
    """Yield what the comparison does not say."""
    yield f"Other texts: all rows are from one source ({rows_in_words(of.first)})."
    if single := [each.name for each in of.candidates if each.trained and len(each.trainings) == 1]:
        yield f"Other trainings of {', '.join(single)}: one seed is stored."
    if unknown := [each.name for each in of.candidates if not each.trained]:
        yield f"Whether {', '.join(unknown)} saw these rows in training."
    yield "Wrong labels: every label is taken as right."
    yield "Edited sentences, such as negation, names or typing errors."
    yield SPEED_MEASURED if of.speeds else "The time of a prediction, which runs do not store."


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in headings)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
