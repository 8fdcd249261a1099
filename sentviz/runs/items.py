"""The list of a paper's items: everything that an author would look for, with its kind, its place in the app, and what differs.

``items.toml`` in the paper's folder has a table ``[[item]]`` for each item, in the paper's order, and ``[[added]]`` for tables and figures
that the paper does not have. What is wrong with a list is said in one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from sentviz.errors import SentvizError
from sentviz.io.declared import declared, read_declared
from sentviz.io.typed import Misfit

Kind = Literal[
    "table",
    "figure",
    "equation",
    "definition",
    "theorem",
    "proposition",
    "algorithm",
    "measure",
    "data set",
    "setting",
    "example",
    "claim",
    "limitation",
    "future work",
]
State = Literal["live", "reprinted", "not"]
STATE_WORDS: dict[State, str] = {"live": "live", "reprinted": "reprinted only", "not": "not shown"}
DRAWN: tuple[Kind, ...] = ("table", "figure")  # kinds that are written as files
PAGES = {  # addresses of the app's own pages with their titles; the pages of papers have addresses of their own
    "attention": "Attention",
    "compare": "Beside another model",
    "causes": "Inside",
    "directions": "Directions",
    "hardmax": "Hardmax clusters",
    "confusion": "Confusion",
    "comparison": "Models side by side",
    "labels": "Labels",
    "behaviour": "Behaviour",
    "words": "Word clouds",
    "embeddings": "Map: t-SNE, UMAP",
    "explanations": "Which explanation to trust",
    "heads": "[CLS] and heads",
    "components": "Components",
    "lambdas": "Lambda",
    "curves": "Training",
    "through": "Training",
    "claims": "Board",
    "findings": "Findings",
    "runs": "Runs",
    "yours": "Bring yours",
    "data": "Data",
    "glossary": "Glossary",
    "colours": "Colours",
}


@dataclass(frozen=True)
class Item:
    """One item of a paper.

    Raises:
        SentvizError: a live item has no place, or another one has no reason.
    """

    id: str  # unique in its list, unchanged if the item is reworded
    kind: Kind
    title: str  # content in our words
    number: str = ""  # number in the paper, for example "IV", "4 to 6" or "section V-E"
    place: str = ""  # link without the server: "?part=cost" is on the paper's own page, "attention?look=gates" on another one
    state: State = "live"  # live: drawn, computed or tested here; reprinted: only the paper's own numbers; not: neither
    why: str = ""  # one sentence: what differs from the paper, or why it is not here
    claims: tuple[str, ...] = ()  # ids of the paper's claims that judge it; the first one is its place, if it names none
    tables: tuple[str, ...] = ()  # tables of the paper, made of the data set in its place, or of all
    figures: tuple[str | Mapping[str, Any], ...] = ()  # figures of the gallery: names, or mappings of the name and options
    maker: str = ""  # id of the item, or name of the paper's maker, that draws it, if not its own id

    def __post_init__(self) -> None:
        if self.state == "live" and not (self.place or self.claims):
            raise SentvizError(f"{self.id!r} is live, but has neither a place nor claims")
        if self.state != "live" and not self.why:
            raise SentvizError(f"{self.id!r} is not live, but has no field 'why' that says the reason")

    @property
    def name(self) -> str:
        """Kind and number, as in “Table IV”, “Equations 4 to 6” or “Claim, section V-E”."""
        kind = plural(self.kind) if re.fullmatch(r"[0-9A-Z]\w* (to|and) \w+", self.number) else self.kind
        between = "" if not self.number else ", " if self.number[0].islower() else " "
        return f"{kind[0].upper()}{kind[1:]}{between}{self.number}"

    @property
    def made_by(self) -> str:
        """Name of its maker."""
        return self.maker or self.id

    @property
    def dataset(self) -> str:
        """Data set in its place, or "all"."""
        return self.query.get("study", "all")

    @property
    def page(self) -> str:
        """Address of its page; "" for the paper's own."""
        return self.place.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """Parameters of its place."""
        return dict(parse_qsl(self.place.partition("?")[2]))

    def link(self, paper: str, url: str) -> str:
        """Return its link without the server; "" if it has no place.

        Args:
            paper, url: name of the paper, and address of its page.
        """
        if not self.place:
            return f"{url}?claim={paper}-{self.claims[0]}" if self.claims else ""
        return self.place if self.page else f"{url}{self.place}"

    def shown_on(self, titles: Mapping[str, str]) -> str:
        """Return its place in words: a part of the paper's page, or another page with its part; "" if it has no place.

        Args:
            titles: of the parts of the paper's page, by name.
        """
        if not self.place and not self.claims:
            return ""
        part = self.query.get("part", "claims")
        if not self.page:
            return titles[part]
        look = self.query.get("look", "")
        return PAGES[self.page] + (f", {look}" if look else "")


@dataclass(frozen=True)
class Added:
    """Tables and figures that the paper does not have and that are exported with it."""

    id: str
    tables: tuple[str, ...] = ()
    figures: tuple[str | Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class ItemList:
    """The items of a paper, and what is added to them."""

    items: tuple[Item, ...] = ()
    added: tuple[Added, ...] = ()


def plural(kind: Kind) -> str:
    """Return a kind's name for several items."""
    return kind if kind == "future work" else f"{kind}s"


def read_items(path: Path, parts: Sequence[str]) -> ItemList:
    """Return the list of items in a file; empty if there is no such file.

    Args:
        parts: names of the parts of the paper's page.
    Raises:
        SentvizError: the list cannot be read, or something in it is wrong; the message is one sentence.
    """

    def read(content: dict[str, Any]) -> ItemList:
        if unknown := sorted(content.keys() - {"item", "added"}):
            raise Misfit((unknown[0],), f"there is {unknown[0]!r}; there may be only [[item]] and [[added]]")
        listed = ItemList(tuple(_entries(content, "item", Item)), tuple(_entries(content, "added", Added)))
        places = [(("item", place, "id"), item.id) for place, item in enumerate(listed.items)]
        places += [(("added", place, "id"), more.id) for place, more in enumerate(listed.added)]
        for number, (keys, name) in enumerate(places):
            if name in [earlier for _, earlier in places[:number]]:
                raise Misfit(keys, f"two entries have the id {name!r}")
        for place, item in enumerate(listed.items):
            if fault := _place_fault(item, parts):
                raise Misfit(("item", place, "place"), fault)
        return listed

    return read_declared(path, read) if path.is_file() else ItemList()


def _entries(content: Mapping[str, Any], key: str, form: type[Any]) -> Iterator[Any]:
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Misfit((key,), f"entries must be written as [[{key}]]")
    return (declared(form, entry, (key, place)) for place, entry in enumerate(entries))


def _place_fault(item: Item, parts: Sequence[str]) -> str:
    """Return what is wrong with an item's place: its page, or the part of the paper's page, does not exist."""
    if item.page and item.page not in PAGES:
        return f"there is no page {item.page!r}; pages are {', '.join(PAGES)}"
    if item.place and not item.page and (part := item.query.get("part", parts[0])) not in parts:
        return f"the paper's page has no part {part!r}; parts are {', '.join(parts)}"
    return ""
