"""The gallery: every registered figure with its picture, what it shows, and the lines that draw it again.

Pictures stand in `pages/gallery` for light and dark pages, drawn by `python docs/draw.py`. What `sentviz verify` reads in exported files
stands in `records.json` for them: the call, the runs with their digests, the numbers. So each can be drawn again and compared.
"""

from __future__ import annotations

import hashlib
import io
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sentviz.charts.colours import THEMES
from sentviz.charts.figure import Figure
from sentviz.charts.gallery import FIGURES, code, draw
from sentviz.charts.look import Style
from sentviz.charts.source import Call
from sentviz.charts.subjects import SUBJECTS
from sentviz.export.files import render
from sentviz.export.record import Record
from sentviz.io.files import replacing

PICTURES = Path(__file__).parents[1] / "pages" / "gallery"
RECORDS = PICTURES / "records.json"
_LIST = Path(__file__).with_name("gallery.toml")
_BARE = Style(caption=False)  # the page writes the caption
_SCALE = 1.5


@dataclass(frozen=True)
class Example:
    """A figure of the gallery."""

    name: str
    of: str  # a run, or what a study's figure takes in the place of one
    says: str
    options: Mapping[str, Any]

    @property
    def call(self) -> Call:
        """Call that draws the figure."""
        return code(self.of, self.name, **self.options)

    def picture(self, theme: str) -> Path:
        """Return the path of the picture for a theme."""
        return PICTURES / f"{self.name}-{theme}.webp"

    def drawn(self, **options: Any) -> Figure:
        """Draw the figure again."""
        return draw(self.of, self.name, **self.options, **options)


def examples() -> dict[str, Example]:
    """Return the examples by name of figure, in the order of the registry. Figures without an example are left out."""
    entries = tomllib.loads(_LIST.read_text(encoding="utf-8"))
    by_figure = {}
    for name in (name for name in FIGURES if name in entries):
        entry = entries[name]
        options = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.get("options", {}).items()}
        by_figure[name] = Example(name, entry["of"], entry["says"], options)
    return by_figure


def records() -> dict[str, dict[str, str]]:
    """Caption, record and digests of the pictures of every figure, as `make` stored them."""
    stored: dict[str, dict[str, str]] = json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.is_file() else {}
    return stored


def make(example: Example) -> None:
    """Draw a figure for light and dark pages and store pictures, caption and record.

    Raises:
        SentvizError: no browser, or the figure cannot be drawn here.
    """
    from PIL import Image

    figure, digests = example.drawn(), {}
    for theme in THEMES:
        themed = example.drawn(theme=theme)
        with Image.open(io.BytesIO(render(themed, "png", scale=_SCALE, style=_BARE))) as image, replacing(example.picture(theme)) as part:
            image.convert("RGB").save(part, "webp", lossless=True, method=6, exact=True)
        digests[theme] = digest(example.picture(theme))
    record = replace(Record.of(figure), picture=digests["light"]).text()
    width = str(int(figure.plot.layout.width or 800))
    entry = {"caption": figure.caption, "source": figure.source, "width": width, "dark": digests["dark"], "record": record}
    everything = records() | {example.name: entry}
    with replacing(RECORDS) as part:
        ordered = {name: everything[name] for name in FIGURES if name in everything}
        part.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def digest(picture: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(picture.read_bytes()).hexdigest()


def page() -> str:
    """Return all figures as Markdown, grouped by subject."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    known, all_of_them = records(), examples()
    for subject in SUBJECTS:
        yield f"## Figures {subject.SAYS}\n"
        for name, example in all_of_them.items():
            if name in known and issubclass(FIGURES[name].of, subject):
                yield from _entry(example, known[name])


def _entry(example: Example, known: Mapping[str, str]) -> Iterator[str]:
    spec = FIGURES[example.name]
    needs = ", ".join(need.says for need in spec.needs)
    yield f"### {example.name}\n"
    yield f"**{spec.title}.** {example.says}\n"
    yield from picture(example.name, known)
    yield "```python\n" + str(example.call) + "\n```\n"
    if needs:
        yield f"<small>For runs with {needs}.</small>\n"


def picture(name: str, known: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of Markdown that show a figure's pictures with its caption; `known` is its entry of `records`."""
    for theme in THEMES:
        alt = f"{FIGURES[name].title}. {known['caption']}".replace("]", "\\]").replace("[", "\\[").replace("\n", " ")
        yield f"![{alt}](gallery/{name}-{theme}.webp#only-{theme}){{ width={known['width']} loading=lazy }}"
    yield f"\n<small>{_plain(known['caption'])} {_plain(known['source'])}</small>\n"


def _plain(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return "".join(f"&#{ord(char)};" if char in "<>&*_`[]\\#|!$~^={}" else char for char in text)
