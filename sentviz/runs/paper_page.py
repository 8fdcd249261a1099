"""Read the page of a paper from ``page.md``: Markdown, and lines that begin with ``:::`` for all else that a page shows.

    # Gains (table 1) {results group=Results}     a section: its name, group, and datasets=POINTER if a visitor chooses one
    ##### A heading {term=padding}                with the entry of the glossary that is its tooltip
    :::figure gains per_row=2                     of, key, per_row, options and choice are of the block; all else are options of the figure
    :::table accuracy
    :::part ndt-compare                           a part with code of its own: a name that the app knows, or a pointer
    :::says .study:in_words form=list             sentences of a function
    :::small                                      texts up to the next ::: are captions
    :::side 1.3 1                                 columns with :::next between them, and their relative widths
    :::drawer "Every comparison" key=numbers      what is made when a visitor opens it
    :::where .study:has_runs                      what is shown if a function says so, or dataset=NAME; :::else is for the other case

A line ``:::`` closes the innermost of the last four. A pointer is "package.module:name", or ".module:name" in the paper's package.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sentviz.errors import InputError, nearest
from sentviz.io.declared import declared, file_name
from sentviz.io.files import read_regular
from sentviz.runs.sections import Block, Control, Drawer, FigureBlock, OwnBlock, Says, Section, SideBySide, TableBlock, TextBlock, Where

LARGEST = 1 << 20  # bytes of a page
Choices = Mapping[str, Mapping[str, tuple[str, Mapping[str, Any]]]]
"""Name of a choice -> name in links -> title, and options of the figure."""


@dataclass
class Words:
    """A line of a page: its name, values, and settings; those that were not taken are unknown."""

    what: str  # in messages
    name: str
    values: list[str]
    settings: dict[str, str]
    line: int
    parts: list[list[Block]] = field(default_factory=lambda: [[]])  # blocks inside it, divided by ":::next" or ":::else"

    @classmethod
    def read(cls, text: str, line: int, what: str = "") -> Words:
        """Return the words of a text; words with blanks stand in double quotes."""
        name, *words = shlex.split(text)
        settings = dict(word.split("=", 1) for word in words if re.match(r"[a-z_]+=", word))
        return cls(what or f":::{name}", name, [word for word in words if not re.match(r"[a-z_]+=", word)], settings, line)

    def value(self, what: str) -> str:
        """Return and remove the only value."""
        if len(self.values) != 1:
            raise ValueError(f"{self.what} needs one {what}, in double quotes if it has blanks")
        return self.values.pop()

    def check(self) -> None:
        """Raise ValueError if something was not taken."""
        for name in (*self.values, *self.settings):
            raise ValueError(f"{self.what} has no setting {name!r}")

    def take(self, *names: str) -> dict[str, Any]:
        """Return and remove some settings."""
        return {name: _value(self.settings.pop(name)) for name in names if name in self.settings}


@dataclass
class PageReader:
    """The sections of a page, read line by line."""

    pointer: Callable[[str], str]  # completes a pointer
    choices: Choices
    sections: list[Section] = field(default_factory=list)
    around: list[Words] = field(default_factory=list)  # the section and what is open in it
    text: list[str] = field(default_factory=list)  # lines of a paragraph
    line: int = 1  # for messages

    def take(self, number: int, line: str) -> None:
        """Read a line."""
        self.line = number
        heading, directive = re.fullmatch(r"(#+) (.+?)(?: \{(.+)\})?", line), re.fullmatch(r":::(.*)", line)
        if not (heading or directive) and line:
            if not self.around:
                raise ValueError("a text stands before the first section")
            self.text.append(line)
            return
        self.end_paragraph()
        if heading and heading[1] == "#":
            self.end_section()
            if not heading[3]:
                raise ValueError("a section needs its name in braces, as in “# Title {name}”")
            self.around.append(Words.read(heading[3], number, "the section"))
            self.title = heading[2]
        elif not self.around and (heading or directive):
            raise ValueError("a block stands before the first section")
        elif heading:
            words = Words.read(f"heading {heading[3] or ''}", number, "the heading")
            self.add(words, TextBlock(f"{heading[1]} {heading[2]}", **words.take("term")))
        elif directive:
            self.directive(directive[1].strip(), number)

    def directive(self, text: str, number: int) -> None:
        """Read a line that begins with three colons."""
        inner = self.around[-1]
        if not text:
            if len(self.around) == 1:
                raise ValueError("nothing is open that ::: could close")
            self.around.pop()
            self.line = inner.line
            self.add(inner, *self.closed(inner))
        elif text in ("next", "else"):
            if inner.name != {"next": "side", "else": "where"}[text]:
                raise ValueError(f":::{text} stands outside of :::{'side' if text == 'next' else 'where'}")
            inner.parts.append([])
        else:
            words = Words.read(text, number)
            if words.name in ("small", "side", "drawer", "where"):
                self.around.append(words)
            else:
                self.add(words, self.leaf(words))

    def leaf(self, words: Words) -> Block:
        """Return a block of one line."""
        match words.name:
            case "figure":
                name, own = words.value("name of a figure"), words.take("of", "key", "per_row")
                controls = tuple(self.control(choice) for choice in words.take("choice").values())
                options = self.pointer(words.settings.pop("options")) if "options" in words.settings else words.take(*words.settings)
                own |= {"of": self.pointer(own["of"])} if "of" in own else {}
                return declared(FigureBlock, own, name=name, options=options, controls=controls)
            case "table":
                return TableBlock(words.value("name of a table"))
            case "part":
                return OwnBlock(self.pointer(words.value("name")))
            case "says":
                return declared(Says, words.take("form", "term"), words=self.pointer(words.value("pointer")))
        known = ("figure", "table", "part", "says", "small", "side", "drawer", "where")
        raise ValueError(f"there is no :::{words.name}; {nearest(words.name, known)}there are {', '.join(known)}")

    def closed(self, words: Words) -> list[Block]:
        """Return the blocks that something with blocks inside becomes."""
        first, *rest = words.parts
        match words.name:
            case "small":
                if not all(isinstance(block, TextBlock) for block in first):
                    raise ValueError(":::small has texts alone")
                return [replace(block, small=True) for block in first if isinstance(block, TextBlock)]
            case "side":
                if len(words.values) not in (0, len(words.parts)) or not all(re.fullmatch(r"[\d.]+", share) for share in words.values):
                    raise ValueError(f":::side has {len(words.parts)} columns, and needs as many numbers or none")
                shares, words.values = tuple(map(float, words.values)), []
                return [SideBySide(tuple(map(tuple, words.parts)), shares)]
            case "drawer":
                return [declared(Drawer, words.take("key", "icon"), title=words.value("title"), blocks=tuple(first))]
        dataset = words.settings.pop("dataset", "")
        test = (lambda of: of.dataset == dataset) if dataset else self.pointer(words.value("pointer"))
        return [Where(test, tuple(first), *map(tuple, rest))]

    def control(self, name: str) -> Control:
        """Return a choice of the paper."""
        if name not in self.choices:
            raise ValueError(f"there is no choice {name!r} in paper.toml; there are {', '.join(self.choices) or 'none'}")
        return Control(name.capitalize(), name, self.choices[name])

    def add(self, words: Words, *blocks: Block) -> None:
        """Put blocks into what is open."""
        words.check()
        self.around[-1].parts[-1] += blocks

    def end_paragraph(self) -> None:
        """Add the lines of a paragraph as one text; list items and rows of tables keep their lines."""
        if self.text:
            self.around[-1].parts[-1].append(TextBlock(re.sub(r"\n(?![-|*>]|\d+\.) *", " ", "\n".join(self.text))))
            self.text.clear()

    def end_section(self) -> None:
        """Add the section that ends here."""
        self.end_paragraph()
        if len(self.around) > 1:
            self.line = self.around[-1].line
            raise ValueError(f"{self.around[-1].what} is not closed")
        for words in self.around:
            self.line = words.line
            settings = words.take("group", "datasets")
            settings |= {"datasets": self.pointer(settings["datasets"])} if "datasets" in settings else {}
            words.check()
            if words.name in [section.name for section in self.sections]:
                raise ValueError(f"two sections are named {words.name!r}")
            self.sections.append(declared(Section, settings, name=words.name, title=self.title, blocks=tuple(words.parts[0])))
        self.around.clear()


def _value(text: str) -> Any:
    """Return the value of a setting: a number, true or false, a text, or several with commas between them."""
    if "," in text:
        return tuple(map(_value, text.split(",")))
    return {"true": True, "false": False}.get(text, int(text) if text.isdecimal() else text)


def read_sections(path: Path, pointer: Callable[[str], str], choices: Choices) -> tuple[Section, ...]:
    """Return the sections of a page; empty if there is no such file.

    Args:
        pointer: completes the name of a function.
        choices: of the paper.
    """
    if not path.is_file():
        return ()
    reader = PageReader(pointer, choices)
    lines = read_regular(path, LARGEST, file_name(path)).decode("utf-8-sig").splitlines()
    for number, line in enumerate([*lines, ""], 1):
        try:
            reader.take(number, line.strip())
            if number > len(lines):
                reader.end_section()
        except ValueError as error:
            raise InputError(f"{file_name(path)}, line {reader.line}: {str(error).rstrip('.')}.") from error
    return tuple(reader.sections)
