"""`python -m tools.layout`: check every figure in every size, drawn by a browser, by the rules for a printed page.

    python -m tools.layout [--figure NAME] [--size column wide slide web] [--format svg pdf png] [--theme light dark] [--keep FOLDER]

It prints a table of faults and exits with 1 if there is one. Every registered figure is drawn, and what the papers' items are made
as, so that a new one is in by itself; each of the first shipped run that has what it needs. Tolerances are in pixels of a layout whose
letters are 13 pixels high:

* apart: no two words touch. A line of letters is as high as its font's tallest and lowest; a sixth of it at either side, and `SIDE` pixels
  left and right, may lie on another.
* whole: no word is cut, neither by the picture nor by the part that it stands in, by more than `CUT` pixels.
* inside: no mark leaves the picture or is cut by its axes, by more than `CUT` pixels; lines may, as they go on where a view is narrower.
* free: words of a legend, a scale, an axis or the title lie on no mark of the plot.
* full: no band across or down the picture without words and marks is larger than `BAND` of its side, and no more than `LOOSE` of it is
  empty around the plot, its legend and its title, where `MARGIN` pixels of each gap are granted.
* small: no letters are below `LEAST` points where 96 pixels are an inch. Words of a cloud are left out: they are marks, whose size is
  what they say.
* of a PDF: its page is as large as the SVG and its words end where those of the SVG do, by `PAGE` points where they are level, as
  poppler's boxes of turned words are rough; no font is a Type 3.
* of a PNG: it has the SVG's pixels at its own density, and where a word stands in the SVG it is painted, not of one colour.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import combinations
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
from PIL import Image

from sentviz.charts.colours import Theme
from sentviz.charts.figure import Figure
from sentviz.charts.gallery import FIGURES, draw
from sentviz.charts.look import SIZES
from sentviz.errors import DataMissingError, InputError, SentvizError
from sentviz.export.files import render
from sentviz.papers.studies.items import makers
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import papers
from sentviz.runs.store import Run
from tools.picture import Box, Corners, Mark, Picture, Reader, Word, reader

ALL_SIZES = (*SIZES, "web")
SIDE, CUT, BAND, LOOSE, MARGIN = 0.75, 1.5, 0.3, 0.3, 16
PAGE = 4
PNG = 2  # pixels of a PNG on screen by pixels of its layout
LEAST = 5  # points; shrunk sub- and superscripts count too
LONGEST = 240  # characters of what a fault says


@dataclass(frozen=True)
class Fault:
    """A fault of a picture."""

    kind: str  # apart, whole, inside, free, full, small, page, font, blank, drawn
    says: str


# ---- what is drawn


def names() -> list[str]:
    """Return the names of all figures: those of the registry, then the items of papers as paper:item."""
    return [*FIGURES, *(f"{paper.name}:{item}" for paper in papers().values() for item in makers(paper))]


def drawn(name: str, runs: Sequence[Run], theme: Theme = "light") -> list[Figure]:
    """The figures of a name; items of papers have any number and are drawn in light only.

    Raises:
        DataMissingError: it shows texts that are not on this machine.
        SentvizError: no shipped run can give it.
    """
    if name not in FIGURES:
        paper, _, item = name.partition(":")
        return [figure for figure in makers(papers()[paper])[item](runs) if isinstance(figure, Figure)] if theme == "light" else []
    spec, why = FIGURES[name], SentvizError(f"No run here can give {name}.")
    if not spec.of.OF_RUN:
        return [draw(spec.names[0], name, theme=theme)]
    able = [run for run in runs if not spec.lacks(run)]
    for run in able[:3]:
        beside = [second.name for second in able if second is not run and second.config["data"] == run.config["data"]][:1]
        more = (
            [{"versus": tuple(beside) if spec.options["versus"].default == () else beside[0]}]
            if "versus" in spec.options and beside
            else []
        )
        for options in ({}, *more):
            try:
                return [draw(run.name, name, theme=theme, **options)]
            except DataMissingError:
                raise
            except InputError as error:
                why = error
    raise why


# ---- what is wrong with a picture


def faults(picture: Picture, scale: float = 1.0, marks: Sequence[str] = ()) -> Iterator[Fault]:
    """Everything that is wrong with a picture whose letters are `scale` times as large as on a page; `marks` are words of any size."""
    side, cut = SIDE * scale, CUT * scale
    shrunk = [_shrunk(word.corners, side) for word in picture.words]
    for (first, a), (second, b) in combinations(zip(picture.words, shrunk, strict=True), 2):
        if _touch(a, b):
            yield Fault("apart", f"“{first.text}” and “{second.text}” ({first.part}, {second.part})")
    for word in picture.words:
        if (out := _outside(word.box, _within(picture.frame, word.clip))) > cut:
            yield Fault("whole", f"“{word.text}” by {out:.0f} pixels ({word.part})")
        if (points := word.letters * 72 / 96) < LEAST - 0.01 and not any(mark.startswith(word.text.rstrip("…")) for mark in marks):
            yield Fault("small", f"“{word.text}” has {points:.1f} points ({word.part})")
    visible = [mark for mark in picture.marks if mark.part != "grid"]
    for mark in visible:
        if not len(mark.along) and (out := _outside(mark.box, _within(picture.frame, mark.clip))) > cut:
            yield Fault("inside", f"{mark.kind} ({mark.part}) by {out:.0f} pixels")
        elif _outside(mark.box, picture.frame) > cut and mark.clip is None:
            yield Fault("inside", f"{mark.kind} ({mark.part}) leaves the picture")
    for word, corners in zip(picture.words, shrunk, strict=True):
        if word.part in ("legend", "title", "tick", "axis", "scale"):
            for mark in visible:
                if mark.part == "plot" and _covers(mark, corners):
                    yield Fault("free", f"“{word.text}” ({word.part}) lies on a {mark.kind}")
                    break
    yield from _empty(picture, MARGIN * scale)


def _empty(picture: Picture, margin: float) -> Iterator[Fault]:
    """Bands without words and marks across the picture or down it: the largest, and all that are not inside the plot together."""
    parts: list[Word | Mark] = [*picture.words, *picture.marks]
    cut = [(part.part, _within(part.box, part.clip)) for part in parts]
    beside = [box for part, box in cut if part in ("legend", "title", "scale")]
    ink = [box for part, box in cut if part != "grid"]
    plot = _around([box for part, box in cut if part not in ("legend", "title", "scale")] or ink)
    for low, high, along in ((1, 3, "down"), (0, 2, "across")):
        side = picture.frame[high] - picture.frame[low]
        band = max(_gaps(ink, picture.frame, low, high), default=0) / side
        loose = sum(max(gap - margin, 0) for gap in _gaps([plot, *beside], picture.frame, low, high)) / side
        if band > BAND:
            yield Fault("full", f"{along} the picture, a band of {band:.0%} is empty")
        if loose > LOOSE:
            yield Fault("full", f"{along} the picture, {loose:.0%} is empty around the plot")


def _gaps(boxes: Sequence[Box], frame: Box, low: int, high: int) -> list[float]:
    """Pixels of a frame that no box covers, from low to high edges."""
    gaps, end = [], frame[low]
    for start, stop in sorted((box[low], box[high]) for box in boxes):
        gaps.append(start - end)
        end = max(end, stop)
    return [gap for gap in (*gaps, frame[high] - end) if gap > 0]


def _shrunk(corners: Corners, side: float) -> Corners:
    """The corners of a word without what it may share with another."""
    across, down = corners[1] - corners[0], corners[3] - corners[0]
    wide, high = np.hypot(*across) or 1.0, np.hypot(*down) or 1.0
    right, below = across / wide * min(side, wide / 3), down / 6 if high else down
    moved: Corners = corners + np.array([right + below, -right + below, -right - below, right - below])
    return moved


def _touch(a: Corners, b: Corners) -> bool:
    """Return whether two rotated rectangles overlap: no side of either separates them."""
    for shape in (a, b):
        for along in (shape[1] - shape[0], shape[3] - shape[0]):
            first, second = a @ along, b @ along
            if first.max() <= second.min() or second.max() <= first.min():
                return False
    return True


def _covers(mark: Mark, corners: Corners) -> bool:
    if not len(mark.along):
        left, top, right, bottom = _within(mark.box, mark.clip)
        return right > left and bottom > top and _touch(np.array([(left, top), (right, top), (right, bottom), (left, bottom)]), corners)
    points = mark.along
    if mark.clip is not None:
        left, top, right, bottom = mark.clip
        points = points[(points[:, 0] >= left) & (points[:, 0] <= right) & (points[:, 1] >= top) & (points[:, 1] <= bottom)]
    across, down = corners[1] - corners[0], corners[3] - corners[0]
    x, y = (points - corners[0]) @ across / (across @ across), (points - corners[0]) @ down / (down @ down)
    return bool(((x > 0) & (x < 1) & (y > 0) & (y < 1)).any())


def _within(frame: Box, clip: Box | None) -> Box:
    return frame if clip is None else (max(frame[0], clip[0]), max(frame[1], clip[1]), min(frame[2], clip[2]), min(frame[3], clip[3]))


def _outside(box: Box, frame: Box) -> float:
    """Return by how many pixels a box leaves a frame."""
    return max(frame[0] - box[0], frame[1] - box[1], box[2] - frame[2], box[3] - frame[3])


# ---- files


def of_svg(figure: Figure, size: str, read: Reader, keep: Path | None = None) -> list[Fault]:
    """Return the faults of a figure in a size, as SVG."""
    svg = render(figure, "svg", size=None if size == "web" else size)
    if keep is not None:
        keep.write_bytes(svg)
    marks = list(figure.frame["word"]) if figure.plot.layout.meta == "whole" else ()
    return list(faults(read.read(svg), _letters(size), marks))


def _letters(size: str) -> float:
    """Return the size of letters as a multiple of the size on a page."""
    return 1.0 if size == "web" else SIZES[size].points * 96 / 72 / 13


def of_pdf(figure: Figure, size: str, read: Reader, keep: Path | None = None) -> list[Fault]:
    """Return the differences between a figure as PDF and as SVG, in a size; without poppler only the page size is checked."""
    place = None if size == "web" else size
    pdf, svg = render(figure, "pdf", size=place), read.read(render(figure, "svg", size=place))
    page = re.search(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)", pdf)
    faults, expected_size = [], [svg.frame[2] * 0.75, svg.frame[3] * 0.75]  # points
    if page is None or max(abs(float(side) - is_) for side, is_ in zip(page.groups(), expected_size, strict=True)) > PAGE:
        faults.append(Fault("page", f"{page and page[0].decode()}, not {expected_size[0]:.0f} by {expected_size[1]:.0f} points"))
    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder) / "figure.pdf"
        path.write_bytes(pdf)
        words = [list(map(float, word)) for word in re.findall(WORD, "\n".join(_said("pdftotext", "-bbox", str(path), "-")))]
        if threes := sum(" Type 3 " in line for line in _said("pdffonts", str(path))):
            faults.append(Fault("font", f"{threes} of its fonts are Type 3"))
    if words and svg.words:
        for at, side in enumerate(("left", "top", "right", "bottom")):
            last = (min, max)[at // 2](svg.words, key=lambda word, at=at: word.box[at])  # type: ignore[misc]
            off = _around(words)[at] - last.box[at] * 0.75
            if last.level and abs(off) > PAGE:
                faults.append(Fault("page", f"words end {off:+.0f} points from where those of the SVG do ({side})"))
    return faults


def of_png(figure: Figure, size: str, read: Reader, keep: Path | None = None) -> list[Fault]:
    """Return the differences between a figure as PNG and as SVG, in a size: its pixels, and missing words."""
    place = None if size == "web" else size
    density = PNG if place is None else SIZES[place].dpi / 96
    png, svg = render(figure, "png", size=place, scale=PNG), read.read(render(figure, "svg", size=place))
    if keep is not None:
        keep.write_bytes(png)
    with Image.open(BytesIO(png)) as image:
        pixels = np.asarray(image.convert("RGB"))
    expected_size, (high, wide) = [svg.frame[2] * density, svg.frame[3] * density], pixels.shape[:2]
    if abs(wide - expected_size[0]) > density or abs(high - expected_size[1]) > density:
        return [Fault("page", f"{wide} by {high} pixels, not {expected_size[0]:.0f} by {expected_size[1]:.0f}")]
    faults = [Fault("blank", "the whole picture is of one colour")] if _plain(pixels) else []
    for word in svg.words:
        left, top, right, bottom = (round(density * edge) for edge in _within(word.box, _within(svg.frame, word.clip)))
        if right > left and bottom > top and _plain(pixels[top:bottom, left:right]):
            faults.append(Fault("blank", f"“{word.text}” is not painted ({word.part})"))
    return faults


def _plain(pixels: npt.NDArray[np.uint8]) -> bool:
    return bool((pixels == pixels[:1, :1]).all())


WORD = r'<word xMin="(\S+)" yMin="(\S+)" xMax="(\S+)" yMax="(\S+)">'


def _around(boxes: Sequence[Sequence[float]]) -> Box:
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def poppler() -> bool:
    """Return whether poppler's programs are installed."""
    return shutil.which("pdftotext") is not None


def _said(program: str, *arguments: str) -> list[str]:
    """The lines that a program of poppler prints; none where it is not installed."""
    path = shutil.which(program)
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout.splitlines() if path else []


WAYS = {"svg": of_svg, "pdf": of_pdf, "png": of_png}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m tools.layout", description="Every figure in every size, as print asks.")
    parser.add_argument("--figure", nargs="+", default=names(), metavar="NAME")
    parser.add_argument("--size", nargs="+", default=ALL_SIZES, choices=ALL_SIZES)
    parser.add_argument("--format", nargs="+", default=tuple(WAYS), choices=tuple(WAYS))
    parser.add_argument("--theme", nargs="+", default=("light", "dark"), choices=("light", "dark"))
    parser.add_argument("--keep", type=Path, help="a folder for the pictures")
    chosen = parser.parse_args(arguments)
    if chosen.keep is not None:
        chosen.keep.mkdir(parents=True, exist_ok=True)
    runs, count, wrong = study_runs().runs, 0, 0

    def tell(where: str, faults_of_figure: Sequence[Fault]) -> None:
        for fault in faults_of_figure[:12]:
            click.echo(f"{where:60} {fault.kind:7} {fault.says[:LONGEST]}")
        if len(faults_of_figure) > 12:
            click.echo(f"{where:60} and {len(faults_of_figure) - 12} more")

    with reader() as read:
        for name in chosen.figure:
            for theme in chosen.theme:
                try:
                    figures = drawn(name, runs, theme)
                except DataMissingError as error:
                    click.echo(f"{name:60} skipped {error}")
                    continue
                for place, figure in enumerate(figures):
                    for size in chosen.size:
                        for format in chosen.format:
                            where = " ".join([name if len(figures) == 1 else f"{name} {place + 1}", size, format, theme])
                            keep = chosen.keep and chosen.keep / f"{where.replace(' ', '-').replace(':', '-')}.{format}"
                            try:
                                faults_of_figure = WAYS[format](figure, size, read, keep)
                            except SentvizError as error:
                                faults_of_figure = [Fault("drawn", str(error))]
                            tell(where, faults_of_figure)
                            count, wrong = count + 1, wrong + bool(faults_of_figure)
    click.echo(f"{wrong} of {count} pictures have faults.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
