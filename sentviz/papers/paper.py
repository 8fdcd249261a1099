"""What a paper is to the rest: names of models, studies, printed tables, claims, files and a page, all from its own folder.

A `Paper` is light: what needs pandas, figures or models stands in modules that it names and that are loaded on first use.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from sentviz.errors import SentvizError

if TYPE_CHECKING:
    from sentviz.runs import Run
    from sentviz.studies.claim import Claim
    from sentviz.studies.made import Maker

__all__ = ["Page", "Paper", "Preset", "Study"]


@dataclass(frozen=True)
class Preset:
    """What a model's name stands for."""

    shape: Mapping[str, Any] = field(default_factory=dict)  # settings of its configuration, where they are not the defaults
    kind: str = "encoder"  # of `sentviz.models.config.CONFIGS`
    recipe: Mapping[str, Any] = field(default_factory=dict)  # settings that are usual for it, of a recipe written for other models too
    without: Mapping[str, Any] = field(
        default_factory=dict
    )  # settings of a recipe, options of `sentviz train`, that say nothing to it, and what they must be


@dataclass(frozen=True)
class Study:
    """Models trained with one budget: `models` x `variants` on each data set, by the paper's own recipe of that data set."""

    about: str
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    variants: tuple[str, ...] = ("",)  # of `sentviz.variants`


@dataclass(frozen=True)
class Page:
    """Its place in the app's navigation; without a script of its own a paper is shown as all are."""

    help: str
    url: str = ""  # the last part of its address; of a paper in another package always paper-<name>
    icon: str = ":material/article:"
    script: Path | None = None  # a Streamlit page in another package


@dataclass(frozen=True, eq=False)
class Paper:
    """Everything of one paper; claims, makers, answers, figures and printed say where something is, as in ``"package.module:NAME"``.

    In `folder` stand, each if there is any: ``items.toml``, every printed table and figure and where it is here; ``printed/<table>.csv``;
    ``recipes/<data set>.toml``.
    """

    name: str  # in links, commands and folders: small letters, digits, hyphens
    short: str  # in headings
    title: str
    citation: str  # arXiv number, or authors
    folder: Path
    page: Page
    presets: Mapping[str, Preset] = field(default_factory=dict)
    family: Callable[[str], Preset | None] = lambda name: None  # presets that are too many to list
    injections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # behind any preset's name: how a lexicon enters its scores
    studies: Mapping[str, Study] = field(default_factory=dict)
    claims: str = ""  # a sequence of Claim
    makers: str = ""  # a mapping from items, and from names of what we add, to a Maker; it makes nothing where no run is here
    answers: str = ""  # a function from runs to the paper's question answered in sentences
    figures: str = ""  # a module that registers figures (sentviz.gallery.registry)
    printed: str = ""  # a function from data set and preset to printed values: name, layer, component, value, as in a history

    def preset(self, name: str) -> Preset | None:
        """What a name, without an injection, stands for in this paper."""
        return self.presets.get(name) or self.family(name)

    def items(self) -> list[dict[str, Any]]:
        """Every printed table and figure of the paper.

        id, printed, title, view, runs, state (live or cannot be had), and why it differs from the print or cannot be had.

        Raises:
            SentvizError: the list cannot be read.
        """
        path = self.folder / "items.toml"
        try:
            found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["item"] if path.is_file() else []
        except (OSError, ValueError, KeyError) as error:
            raise SentvizError(f"The list of items of {self.short} cannot be read ({error}).") from error
        return found

    def recipes(self) -> dict[str, Path]:
        """Its recipes by data set."""
        return {path.stem: path for path in sorted((self.folder / "recipes").glob("*.toml"))}

    def tables(self) -> dict[str, Path]:
        """Its printed tables by name."""
        return {path.stem: path for path in sorted((self.folder / "printed").glob("*.csv"))}

    def load(self, what: str, otherwise: Any) -> Any:
        """What the field of this name points at, or `otherwise` where it is empty.

        Raises:
            SentvizError: there is no such thing, or its module cannot be imported.
        """
        place = getattr(self, what)
        try:
            return resolve_name(place) if place else otherwise
        except Exception as error:
            raise SentvizError(f"{what.capitalize()} of {self.short} cannot be loaded: {' '.join(str(error).split())}.") from error

    def all_claims(self) -> Sequence[Claim]:
        """Its claims, each with its test."""
        claims: Sequence[Claim] = self.load("claims", ())
        return claims

    def all_makers(self) -> Mapping[str, Maker]:
        """What draws its items."""
        makers: Mapping[str, Maker] = self.load("makers", {})
        return makers

    def answer(self, runs: Sequence[Run]) -> list[str]:
        """Its question, answered from runs in sentences."""
        said: list[str] = self.load("answers", lambda runs: [])(runs)
        return said
