"""Outlines of pages, and how they and figures are compared with what is stored."""

import hashlib
import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pandas as pd
from streamlit.testing.v1.element_tree import Block, Element

from tests.golden.controls import key_of

STORED = Path(__file__).parent / "figures"
OUTLINES = STORED.with_name("pages")
TOLERANCE = 1e-6  # relative, and absolute for numbers below 1
LONGEST = 160  # characters of a text that are stored
VARYING = (
    "id",
    "url",
    "form_id",
    "deferred_file_id",
    "js_content",
    "css_content",
    "html_content",
    "spec",
    "arrow_data",
    "lazy_data",
)  # parts of elements that say nothing to a reader, or are tested as files
DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
COLOUR = re.compile(r"#[0-9a-f]{6}")
CHANGING = re.compile(r"\b[0-9a-f]{12,}\b|\d\.\d+e-1\d")  # digests, the key of a visitor, and errors of rounding


def label(element: Any, *varying: str) -> str:
    """Return what an element says, its label and value or the columns of a table, and a digest of its settings, without `varying` ones."""
    value = getattr(element, "value", "")
    settings = [f"{field.name} {part}" for field, part in element.proto.ListFields() if field.name not in (*VARYING, *varying)]
    if isinstance(value, pd.DataFrame):
        timeless = value.drop(columns=["milliseconds", "speed"], errors="ignore")
        return f"{', '.join(map(str, value.columns))} #{digest(timeless.to_csv(), *settings)}"
    if element.type == "plotly_chart":
        return f"#{digest(*settings, *words_of(json.loads(element.proto.spec)))}"
    texts = [str(part) for part in (getattr(element, "label", ""), value) if part not in ("", None)]
    return f"{CHANGING.sub('…', ' '.join(dict.fromkeys(texts)))[:LONGEST]} #{digest(*settings)}"


def words_of(part: Any, name: str = "") -> Iterator[str]:
    """Yield the texts of a chart without computed colours, and how many numbers it has where: tests of figures compare those."""
    if isinstance(part, dict) and "bdata" in part:
        yield f"{name} {part.get('shape') or len(part['bdata']) // 8}"
    elif isinstance(part, dict):
        for key in sorted(part.keys() - {"template"}):
            yield from words_of(part[key], key)
    elif isinstance(part, list):
        yield f"{name} {len(part)}"
        for each in part:
            yield from words_of(each)
    elif isinstance(part, bool | None) or (isinstance(part, str) and not (part.startswith("rgb") or (not name and COLOUR.fullmatch(part)))):
        yield f"{name} {part}"


def digest(*texts: str) -> str:
    """Return six hex digits of some texts without numbers that have decimals, in which machines differ."""
    return hashlib.sha256(DECIMALS.sub("", CHANGING.sub("", "\0".join(texts))).encode()).hexdigest()[:6]


def outline(block: Any, depth: int = 0, *, menus: bool = False, bars: bool = True, in_bar: bool = False) -> Iterator[str]:
    """Yield a line for each element and block, in order.

    Args:
        menus: yield the files of a figure, not only a digest of them.
        bars: yield the bars, too.
        in_bar: whether the block is in a bar, whose links have the state of the page.
    """
    for child in block.children.values():
        if isinstance(child, Block):
            key = key_of(str(getattr(child.proto, "id", "")))
            is_bar = key in ("places", "views")
            if (is_bar and not bars) or (key == "remarks" and not child.children):
                continue
            named = getattr(child, "label", "")
            inside = list(outline(child, depth + 1, menus=menus, bars=bars, in_bar=in_bar or is_bar))
            settings = [f"{field.name} {part}" for field, part in child.proto.ListFields() if field.name != "id"] if child.proto else None
            yield " " * depth + f"{child.type}{f': {named}' if named else ''} #{'' if settings is None else digest(*settings)}"
            of_figure = not menus and child.type == "popover" and any("download_button: CSV" in line for line in inside)
            yield from [" " * (depth + 1) + f"files #{digest(*inside)}"] if of_figure else inside
        elif isinstance(child, Element):
            yield " " * depth + f"{child.type}: {label(child, 'query_string') if in_bar else label(child)}"


def compare_outline(name: str, lines: list[str], bless: bool, folder: Path = OUTLINES) -> None:
    """Compare an outline with the stored one, or store it."""
    path = folder / f"{name}.txt"
    if bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stored = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    differences = list(unified_diff(stored, "\n".join(lines).splitlines(), "stored", "now", lineterm="", n=1))
    assert not differences, "\n".join([f"{name} differs; if it should, `pytest tests/golden --bless` stores it", *differences[:40]])


def differences(stored: Any, now: Any, where: str = "", *, tolerance: float = TOLERANCE) -> Iterator[str]:
    """Yield each place in which two summaries differ, numbers by more than the tolerance."""
    if isinstance(stored, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*stored, *now)):
            yield from differences(stored.get(key), now.get(key), f"{where}/{key}", tolerance=tolerance)
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        for i, (a, b) in enumerate(zip(stored, now, strict=True)):
            yield from differences(a, b, f"{where}/{i}", tolerance=tolerance)
    elif isinstance(stored, float) and isinstance(now, int | float):
        if abs(stored - now) > tolerance * max(1.0, abs(stored)):
            yield f"{where}: {stored!r} is now {now!r}"
    elif stored != now:
        yield f"{where}: {stored!r} is now {now!r}"
