"""Register papers: names of models, studies, reported tables, claims, files and a page, all from its own folder.

``paper.toml`` in the folder has the fields of `Paper`, in tables ``[page]`` and ``[opening]`` those of `Page` and `Opening`, and
``page.md`` the sections of the page (`sentviz.runs.paper_page`). A `Paper` is light: it names the modules that need pandas, figures or
models as "package.module:NAME", or ".module:NAME" in its own package, and they are loaded on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from sentviz.errors import InputError, SentvizError
from sentviz.io.declared import declared, read_declared
from sentviz.io.typed import Misfit
from sentviz.runs.items import Added, Item, ItemList, read_items
from sentviz.runs.paper_page import Choices, read_sections
from sentviz.runs.sections import Section, resolved


@dataclass(frozen=True)
class Preset:
    """The model configuration that a name stands for."""

    shape: Mapping[str, Any] = field(default_factory=dict)  # settings of its configuration that differ from the defaults
    kind: str = "encoder"  # key of `sentviz.runs.configs.CONFIGS`
    recipe: Mapping[str, Any] = field(default_factory=dict)  # recipe settings that are usual for it, if a recipe is for other models too
    without: Mapping[str, Any] = field(default_factory=dict)  # recipe settings that do not apply to it, each with its only allowed value
    title: str = ""  # name of the system in lists of runs; "" = the preset's name


@dataclass(frozen=True)
class Study:
    """Models that are trained with one budget: `models` x `variants` on each data set, by the paper's recipe for that data set."""

    about: str  # description in lists of studies
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    variants: tuple[str, ...] = ("",)  # keys of `sentviz.runs.presets.VARIANTS`


FIRST, LAST = "claims", "items"  # parts that every paper's page has: the board of its claims, and the list of all its items


@dataclass(frozen=True)
class Page:
    """A paper's place in the app's navigation. Without a script, the page shows a board of claims, the sections and all items."""

    help: str
    url: str = ""  # last part of the page's address; papers of other packages always get paper-<name>
    icon: str = ":material/article:"
    script: Path | None = None  # a Streamlit page in another package
    cannot: str = "This page shows only what the paper's package contains. The reported numbers are as the package's authors copied them."
    sections: tuple[Section, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the page's parts, as in links."""
        return (FIRST, *(section.name for section in self.sections), LAST)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Names of the page's parts by group, in the order of the page."""
        groups: dict[str, tuple[str, ...]] = {"Claims": (FIRST, LAST), "Results": ()}
        for section in self.sections:
            groups[section.group] = (*groups.get(section.group, ()), section.name)
        return {group: parts for group, parts in groups.items() if parts}

    @property
    def titles(self) -> dict[str, str]:
        """Titles of the page's parts by name."""
        return {FIRST: "Claims", **{section.name: section.title for section in self.sections}, LAST: "Every item"}


@dataclass(frozen=True)
class Opening:
    """The three lines that open a paper's page, and the figure below them. Claim keys in braces stand for numbers of stored findings."""

    thesis: str  # the paper's main statement, in our words
    result: str  # results of the tests of its claims
    question: str  # open questions, and the runs that would answer them
    expects: Mapping[str, str] = field(default_factory=dict)  # claim key -> verdict that the lines rest on
    figure: str = ""  # figure of the gallery that answers the paper's main question
    of: str = "all"  # data set of the figure, or "all"


@dataclass(frozen=True)
class PrintedColumn:
    """A column of numbers in a printed table."""

    metric: str = ""  # name in the metrics or the history of a run; default: the name of the column
    datasets: tuple[str, ...] = ()  # data sets that they are of; default: those of the table
    percent: bool = False  # True: in percent, otherwise as in a run's metrics


@dataclass(frozen=True)
class PrintedTable:
    """A printed table. Columns `layer` and `component` are counted from 1 in the file, if it has them."""

    columns: Mapping[str, PrintedColumn]
    model: str = "model"  # column that names the models, or a pointer to a function from a row to a preset
    models: Mapping[str, str] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper: presets, studies, tables, claims and a page. Fields that hold ``"package.module:NAME"`` are loaded on first use.

    Further files in `folder`, all optional: ``items.toml``, the list of all its items (`sentviz.runs.items`); ``printed/<table>.csv``;
    ``recipes/<data set>.toml``.
    """

    name: str  # in links, commands and folders: small letters, digits, hyphens
    short: str  # in headings
    title: str
    citation: str  # arXiv number, or authors
    folder: Path
    page: Page
    opening: Opening | None = None
    choices: Choices = field(default_factory=dict)  # name -> what a visitor can choose for a figure of the page
    presets: Mapping[str, Preset] = field(default_factory=dict)
    family: str = ""  # a function from a name to a preset or None: presets that are too many to list
    injections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # suffix of a preset -> how a lexicon enters its scores
    additions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # suffix of a preset -> other settings of its shape
    studies: Mapping[str, Study] = field(default_factory=dict)
    claims: str = ""  # a sequence of Claim
    tables: str = ""  # a mapping from names to functions of (runs, data set) that return a Table (sentviz.papers.studies.items)
    makers: str = ""  # a mapping from items that are not tables or figures of a study to a Maker, which returns [] if no run fits
    answers: str = ""  # a function from runs to sentences that answer the paper's question
    figures: str = ""  # a module that registers figures (sentviz.charts.registry)
    order: int = 0  # place among the papers of the house; those without one follow by name
    patience: int = 0  # epochs without a smaller validation loss after which its trainings stop; 0 = it states no such rule
    printed: Mapping[str, PrintedTable] = field(default_factory=dict)  # tables with numbers of its presets

    def preset(self, name: str) -> Preset | None:
        """Return the paper's preset of this name, without an injection; None if there is none."""
        entry: Preset | None = self.presets.get(name)
        return resolved(self.family)(name) if entry is None and self.family else entry

    def items(self) -> tuple[Item, ...]:
        """Return every item of the paper, in its order.

        Raises:
            SentvizError: the list cannot be read, or something in it is wrong.
        """
        return self._listed.items

    def added(self) -> tuple[Added, ...]:
        """Return tables and figures that the paper does not have and that are exported with it.

        Raises:
            SentvizError: the list cannot be read, or something in it is wrong.
        """
        return self._listed.added

    @cached_property
    def _listed(self) -> ItemList:
        return read_items(self.folder / "items.toml", self.page.parts)

    def recipes(self) -> dict[str, Path]:
        """Return the paper's recipes by data set."""
        return {path.stem: path for path in sorted((self.folder / "recipes").glob("*.toml"))}

    def printed_tables(self) -> dict[str, Path]:
        """Return the files of the paper's printed tables by name."""
        return {path.stem: path for path in sorted((self.folder / "printed").glob("*.csv"))}

    def load(self, what: str, otherwise: Any) -> Any:
        """Return the object that the field `what` points to, or `otherwise` if the field is empty.

        Raises:
            SentvizError: the object does not exist, or its module cannot be imported.
        """
        place = getattr(self, what)
        try:
            return resolve_name(place) if place else otherwise
        except Exception as error:
            raise SentvizError(f"{what.capitalize()} of {self.short} cannot be loaded: {' '.join(str(error).split())}.") from error


# ---- a paper as a folder

POINTERS = ("family", "claims", "tables", "makers", "answers", "figures")


@cache
def read_paper(folder: Path) -> Paper:
    """Return the paper of a folder.

    Raises:
        SentvizError: ``paper.toml`` or ``page.md`` cannot be read, or something in it is wrong; the message is one sentence.
    """
    pointer = partial(pointer_in, folder)

    def read(content: dict[str, Any]) -> Paper:
        page = declared(Page, content.pop("page", {}), ("page",), sections=())
        page = replace(page, script=page.script and folder / page.script)
        _inherit(content.get("presets", {}))
        content |= {name: pointer(value) for name in POINTERS if isinstance(value := content.get(name), str)}
        for table in content.get("printed", {}).values():
            table |= {"model": pointer(table["model"])} if isinstance(table, dict) and "model" in table else {}
        return declared(Paper, content, folder=folder, page=page)

    paper = read_declared(folder / "paper.toml", read)
    return replace(paper, page=replace(paper.page, sections=read_sections(folder / "page.md", pointer, paper.choices)))


def pointer_in(folder: Path, name: str) -> str:
    """Return the whole name of something that a file of a folder names, for example ".claims:CLAIMS"."""
    return f"{package_of(folder)}{name}" if name.startswith(".") else name


@cache
def package_of(folder: Path) -> str:
    """Return the dotted name of the package that a folder is."""
    above = folder.parent
    return f"{package_of(above)}.{folder.name}" if (above / "__init__.py").is_file() else folder.name


def _inherit(presets: Mapping[str, Any]) -> None:
    """Complete each preset that is like an earlier one and names only what differs."""
    earlier: dict[str, Any] = {}
    for name, entry in presets.items():
        if isinstance(entry, dict) and "like" in entry:
            like = entry.pop("like")
            if like not in earlier:
                raise Misfit(("presets", name, "like"), f"no preset {like!r} stands before {name!r}")
            for key, value in earlier[like].items():
                entry[key] = value | entry.get(key, {}) if isinstance(value, dict) else entry.get(key, value)
        earlier[name] = entry


# ---- the registered papers

HOUSE = Path(__file__).parents[1] / "papers"
GROUP = "sentviz.papers"
OF_A_LEXICON = {"lexicon", "lexicon_heads", "lexicon_scaled"}


@cache
def built_in() -> dict[str, Paper]:
    """Return the papers of the house by name: every folder of `HOUSE` with a file paper.toml, by `order`."""
    every = (read_paper(file.parent) for file in HOUSE.glob("*/paper.toml"))
    return {paper.name: paper for paper in sorted(every, key=lambda paper: (not paper.order, paper.order, paper.name))}


def papers() -> dict[str, Paper]:
    """Return every paper by name: first our own, then those of other packages."""
    return _registered()[0]


def problems() -> list[str]:
    """Return a sentence for each paper of another package that is left out, with the reason."""
    return _registered()[1]


def find_paper(name: str) -> Paper:
    """Return the paper called `name`."""
    if name not in papers():
        raise InputError(" ".join([f"There is no paper {name!r}; there are {', '.join(papers())}.", *problems()]))
    return papers()[name]


def paper_at(url: str) -> Paper | None:
    """Return the paper whose page has this address; None if there is none."""
    return next((paper for paper in papers().values() if paper.page.url == url), None)


def studies() -> dict[str, tuple[Paper, Study]]:
    """Return every study by name, with its paper."""
    return {name: (paper, study) for paper in papers().values() for name, study in paper.studies.items()}


@cache
def _registered() -> tuple[dict[str, Paper], list[str]]:
    from importlib.metadata import entry_points

    registered = dict(built_in())
    left_out = []
    for point in entry_points(group=GROUP):
        whose = f"The paper {point.name!r}" + (f" of the package {point.dist.name}" if point.dist else "")
        try:
            paper = point.load()
            if isinstance(paper, ModuleType) and paper.__file__:
                paper = read_paper(Path(paper.__file__).parent)
            if reason := _wrong(paper, registered.values()):
                left_out.append(f"{whose} is left out: {reason}.")
            else:
                registered[paper.name] = replace(paper, page=replace(paper.page, url=f"paper-{paper.name}"))
        except (Exception, SystemExit) as error:
            left_out.append(f"{whose} cannot be loaded: {' '.join(f'{type(error).__name__}: {error}'.split())}.")
    return registered, left_out


def _wrong(paper: Any, registered: Iterable[Paper]) -> str:
    """Return why a paper cannot be added to others; "" if it can."""
    if not isinstance(paper, Paper):
        return "its entry point is neither a package with a file paper.toml nor a sentviz.runs.registry.Paper"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", paper.name):
        return f"its name {paper.name!r} may have only lower-case letters, digits and hyphens"
    if odd := [name for name, settings in paper.injections.items() if not settings or settings.keys() - OF_A_LEXICON]:
        return f"its injection {odd[0]!r} may set only {', '.join(sorted(OF_A_LEXICON))}"
    if paper.page.script is not None and not paper.page.script.is_file():
        return f"its page {paper.page.script} does not exist"
    if not re.fullmatch(r":material/[a-z0-9_]+:", paper.page.icon):
        return f"its page's icon {paper.page.icon!r} does not have the form :material/article:"
    parts = paper.page.parts
    if again := [name for i, name in enumerate(parts) if name in parts[:i]]:
        return f"its page has two parts {again[0]!r}"
    if empty := [section.name for section in paper.page.sections if not section.blocks]:
        return f"its part {empty[0]!r} has no blocks"
    for paper_b in registered:
        shared = {
            "name": [paper.name] * (paper.name == paper_b.name),
            "heading": [paper.short] * (paper.short == paper_b.short),
            "preset": [name for name in paper.presets if paper_b.preset(name)],
            "injection": [name for name in paper.injections if name in paper_b.injections],
            "addition": [name for name in paper.additions if name in paper_b.additions or name in paper_b.injections],
            "study": [name for name in paper.studies if name in paper_b.studies],
        }
        for what, names in shared.items():
            if names:
                return f"its {what} {names[0]!r} is {paper_b.short}'s already"
    return ""
