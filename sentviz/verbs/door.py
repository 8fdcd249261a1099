"""The verbs of sentviz. Each is one function; its signature makes the command, the HTTP request, the tool for agents and the help.

    @verb("Sentence", remote=True)
    def explain(of: Source, text: Text, *, method: Annotated[str, Arg("Explanation method.")] = "removal") -> Explanation:

A verb returns a `Result`, which shows itself: as text on a terminal, as numbers for programs, and as a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from inspect import Parameter, getdoc, signature
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args, get_type_hints

from sentviz.errors import InputError
from sentviz.io.arguments import Argument, Say, arguments, progress_of

if TYPE_CHECKING:
    from sentviz.charts.figure import Figure

PLACES = ("Sentence", "Rows", "Model", "Papers", "Yours")
GROUPS = {
    "data": "Download, list and check data sets, and add your own.",
    "runs": "List and fetch trained runs that are not part of the installation, and pack runs for a release.",
    "base": "List and add bases: pretrained encoders, stored once, on which `sentviz train --base` trains adapters.",
}
"""Groups of commands, with the help of each."""
Function = TypeVar("Function", bound=Callable[..., "Result"])


class OptionError(InputError):
    """Arguments that do not fit together, or a name of a file that cannot be written."""


class Result:
    """Result of a verb, which shows itself.

    Attributes:
        remarks: sentences on what was left out or assumed.
        aside: lines for the error output of a command whose output is for a program.
        met: False if a requirement of the caller is not met, so that the command ends with the exit code 1.
        picture: draws the result; None if it has no picture.
        SAVES: endings of the files that `save` writes.
    """

    remarks: tuple[str, ...] = ()
    aside: str = ""
    met: bool = True
    picture: Callable[[], Figure] | None = None
    SAVES: ClassVar[tuple[str, ...]] = ()

    def chart(self) -> Figure:
        """Return the picture of the result."""
        if self.picture is None:
            raise InputError("This result has no picture. `sentviz figures` lists the pictures of a run.")
        return self.picture()

    def text(self) -> str:
        """Return the result as lines for a terminal."""
        raise NotImplementedError

    def json(self) -> Any:
        """Return the result as numbers, texts, lists and dictionaries; a list stands for several results."""
        raise NotImplementedError

    def save(self, path: Path) -> str:
        """Write the result to a file with one of the endings `SAVES`, and return a sentence that says so."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Outcome(Result):
    """A result that is told in lines, with its numbers."""

    lines: tuple[str, ...]
    numbers: Any = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    met: bool = True

    def text(self) -> str:
        """Return the lines."""
        return "\n".join(self.lines)

    def json(self) -> Any:
        """Return the numbers."""
        return self.numbers


def drawing(of: Any, figure: str, **options: Any) -> Callable[[], Figure]:
    """Return what draws a figure of a run or model by name; nothing is imported before."""

    def drawn() -> Figure:
        from sentviz.charts.gallery import draw

        return draw(of, figure, **options)

    return drawn


@dataclass(frozen=True)
class Verb:
    """A verb, and where it belongs."""

    function: Callable[..., Any]
    place: str
    remote: bool  # True = strangers may ask for it over HTTP, and agents
    stores: bool  # True = a run is measured, and the table stored with it
    resumes: bool  # True = a stopped call continues where it was
    synopsis: str  # positional arguments on the command line, if they need other words
    group: str = ""  # group of commands that it belongs to, a key of `GROUPS`; "" for none

    @property
    def name(self) -> str:
        """Name of the function and the address."""
        return self.function.__name__

    @property
    def command(self) -> str:
        """Name of the command in its group."""
        return self.name.removeprefix(f"{self.group}_")

    @property
    def help(self) -> str:
        """Text of the help, whose first paragraph is one sentence."""
        return getdoc(self.function) or ""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Arguments of the user."""
        return arguments(self.function)

    @property
    def progress(self) -> str:
        """Name of the parts that its progress counts."""
        return progress_of(self.function)

    @property
    def result(self) -> type[Result]:
        """Class of its result."""
        hint = get_type_hints(self.function)["return"]
        result: type[Result] = next(iter(get_args(hint)), hint)
        return result


def code_of(verb: Verb, call: Mapping[str, Any]) -> str:
    """Return the lines of Python that make a call; arguments with their default are left out.

    Args:
        call: keyword arguments of the verb's function.
    """
    usual = signature(verb.function).parameters
    differing = {name: _literal(value) for name, value in call.items() if value != usual[name].default}
    places = [name for name, parameter in usual.items() if parameter.kind is not Parameter.KEYWORD_ONLY]
    leading = len([*takewhile(differing.__contains__, places)])
    words = [text if place < leading else f"{name}={text}" for place, (name, text) in enumerate(differing.items())]
    imports = "from pathlib import Path\n\n" if any("Path(" in text for text in differing.values()) else ""
    return f"{imports}from sentviz import api\n\nresult = api.{verb.name}({', '.join(words)})\nprint(result.text())"


def _literal(value: Any) -> str:
    if isinstance(value, Path):
        return f"Path({str(value)!r})"
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    if not is_dataclass(value):
        return repr(value)
    changed = {item.name: part for item in fields(value) if item.repr and (part := getattr(value, item.name)) != item.default}
    if list(changed) == ["run"]:
        return repr(changed["run"])  # a source that is a run alone is its name
    return f"api.{type(value).__name__}({', '.join(f'{name}={_literal(part)}' for name, part in changed.items())})"


def announced(remarks: Iterable[str], say: Say | None) -> tuple[str, ...]:
    """Say remarks at once if somebody listens, and return those that are left for the result."""
    if say is None:
        return tuple(remarks)
    for remark in remarks:
        say(remark)
    return ()


VERBS: dict[str, Verb] = {}


def verb(
    place: str, *, remote: bool = False, stores: bool = False, resumes: bool = False, synopsis: str = "", group: str = ""
) -> Callable[[Function], Function]:
    """Register a function as a verb of one of `PLACES`.

    Args:
        remote: whether strangers may ask for it over HTTP, and agents: it reads runs, and writes nothing.
        stores: whether it measures a run and stores the table with it.
        resumes: whether a stopped call continues where it was when it is made again.
        synopsis: positional arguments on the command line, if they need other words than their names.
        group: group of commands, whose name begins that of the function.
    """

    def register(function: Function) -> Function:
        VERBS[function.__name__] = Verb(function, place, remote, stores, resumes, synopsis, group)
        return function

    return register
