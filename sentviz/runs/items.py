"""The list of a paper's items: everything that an author would look for, with its kind, its place in the app, and what differs.

``items.toml`` in the paper's folder has a table ``[[item]]`` for each item, in the paper's order, and ``[[added]]`` for tables and figures
that the paper does not have. What is wrong with a list is said in one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl

from sentviz.errors import SentvizError
from sentviz.io.documents import read_toml

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
        SentvizError: kind or state is unknown, a live item has no place, or another one has no reason.
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
        for name, allowed in (("kind", get_args(Kind)), ("state", get_args(State))):
            if getattr(self, name) not in allowed:
                raise SentvizError(f"{self.id!r} has the unknown {name} {getattr(self, name)!r}; it must be {_either(allowed)}")
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


def read_items(path: Path, paper: str, parts: Sequence[str]) -> ItemList:
    """Return the list of items in a file; empty if there is no such file.

    Args:
        paper: its name in messages.
        parts: names of the parts of its page.
    Raises:
        SentvizError: the list cannot be read, or something in it is wrong; the message is one sentence.
    """
    whose = f"The list of items of {paper} (items.toml)"
    content = read_toml(path, name=whose) if path.is_file() else {}
    try:
        if odd := sorted(content.keys() - {"item", "added"}):
            raise SentvizError(f"it has {odd[0]!r}; it may have only [[item]] and [[added]]")
        listed = ItemList(tuple(_entries(content, "item", Item)), tuple(_entries(content, "added", Added)))
        names = [*(item.id for item in listed.items), *(more.id for more in listed.added)]
        if again := [name for place, name in enumerate(names) if name in names[:place]]:
            raise SentvizError(f"two entries have the id {again[0]!r}")
        for item in listed.items:
            _check_place(item, parts)
    except SentvizError as error:
        raise SentvizError(f"{whose} is wrong: {error}.") from error
    return listed


def _entries(content: Mapping[str, Any], key: str, form: type[Any]) -> Iterator[Any]:
    entries = content.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SentvizError(f"its entries must be written as [[{key}]]")
    known = {field.name: field for field in fields(form)}
    needed = [name for name, field in known.items() if field.default is MISSING]
    for place, entry in enumerate(entries, 1):
        name = entry.get("id")
        whose = repr(name) if isinstance(name, str) and name else f"{'entry' if key == 'added' else 'item'} {place}"
        if odd := [name for name in entry if name not in known]:
            raise SentvizError(f"{whose} has the unknown field {odd[0]!r}; the fields are {', '.join(known)}")
        if missing := [name for name in needed if not entry.get(name)]:
            raise SentvizError(f"{whose} has no field {missing[0]!r}")
        for name, value in entry.items():
            if "tuple" in str(known[name].type):
                allowed = (str, dict) if name == "figures" else (str,)
                if not isinstance(value, list) or not all(isinstance(each, allowed) for each in value):
                    raise SentvizError(f"the field {name!r} of {whose} must be a list of names")
            elif not isinstance(value, str):
                raise SentvizError(f"the field {name!r} of {whose} must be a text")
        yield form(**{name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()})


def _check_place(item: Item, parts: Sequence[str]) -> None:
    """Raise SentvizError if a page or a part of the paper's page does not exist."""
    if not item.place:
        return
    if item.page and item.page not in PAGES:
        raise SentvizError(f"{item.id!r} is placed on the page {item.page!r}, which does not exist; pages are {', '.join(PAGES)}")
    part = item.query.get("part", parts[0])
    if not item.page and part not in parts:
        raise SentvizError(f"{item.id!r} is placed on the part {part!r}, which does not exist; parts are {', '.join(parts)}")


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
