"""The focus: one frozen state per visitor that all pages share. Needs no Streamlit; `app.header` writes it to the URL and reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.fields import (
    LONGEST,
    LinkNames,
    as_sent,
    characters,
    chip_text,
    choice,
    declared,
    earlier_edits,
    edits,
    hidden,
    moves_always,
    moves_if_set,
    one_of,
    place_or,
    real,
    several_of,
    whole,
)
from sentviz.analysis.explain import SCORES
from sentviz.analysis.testset.rows import OVER
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import Subset
from sentviz.charts import component_name
from sentviz.charts.look import Style
from sentviz.errors import SentvizError
from sentviz.io.numbers import signed
from sentviz.runs.configs import Capabilities
from sentviz.runs.intervention import UNCHANGED, Edit, Intervention
from sentviz.runs.registry import FIRST, papers, studies
from sentviz.runs.target import Target

NOTES = 3  # largest number of notes about one link
CHIPS = 8  # largest number of edits that have a chip each
MAP = ("layer", "head", "component")  # fields that name a map
LOOKS = {"maps": "maps", "long": "long texts", "bertviz": "BertViz", "layers": "layers and heads", "scores": "explanations"}
LOOKS |= {"lexicon": "lexicon", "gates": "gates and positions"}


# ---- words of chips


def _quoted(value: str) -> str:
    return f"“{value if len(value) <= 28 else value[:27] + '…'}”"


def _second(value: str) -> str:
    return f"second: {_quoted(value)}"


def _spaced(value: str) -> str:
    return value.replace("_", " ")


def _head(value: str) -> str:
    return f"head {value}" if value.isdecimal() else f"{value} of heads"


def _component(value: str) -> str:
    return f"component {component_name(int(value) - 1)}"


def edit_words(edit: Edit) -> str:
    """Return an edit of the model in a few words."""
    at = [place + 1 for place in edit.at]
    match edit.what, edit.to:
        case "lambda", float() as value:
            return f"λ{component_name(edit.at[1])[1:]} of layer {at[0]} = {signed(value)}"
        case "head", 0 if len(at) == 2:
            return f"layer {at[0]} head {at[1]} off"
        case "term", float() as factor:
            return f"{edit.name} × {factor:g}"
        case "gate", 0 | 1:
            return f"gate of token {at[0]} {'open' if edit.to else 'shut'}"
        case _:
            return edit.text()


def _edited(value: Intervention) -> str:
    return f"{len(value.edits):,} changes of the model"


def _beside(value: Sequence[str]) -> str:
    return f"compared with {', '.join(value)}"


def _score(value: str) -> str:
    return SCORES[value].title


def _explained(value: str) -> str:
    return f"explains {value}"


def _compared(value: str) -> str:
    return f"against {value}"


def _sliced(value: str) -> bool:
    """Return whether a text names a slice of rows. The rows themselves are not known here."""
    try:
        Slice.parse(value)
    except SentvizError:
        return False
    return True


def _slice(value: str, classes: Sequence[str]) -> str:
    try:
        part = Slice.parse(value)
    except SentvizError:
        part = None
    return part.says(tuple(classes)) if part else "an unreadable selection of rows"


def _combined(value: str) -> bool:
    """Return whether a text names slices that can be combined. The rows themselves are not known here."""
    try:
        Subset.parse(value)
    except SentvizError:
        return False
    return True


def _subset(value: str, classes: Sequence[str]) -> str:
    return Subset.parse(value).says(tuple(classes)) if _combined(value) else "an unreadable slice"


def _stylish(value: str) -> bool:
    """Return whether a text describes a figure style without a visitor's own note."""
    try:
        style = Style.parse(value)
    except SentvizError:
        return False
    return bool(style.changes) and not style.note


def _looks(value: str) -> str:
    return "figure style: " + ", ".join(part.removeprefix("size=").removeprefix("palette=") for part in value.split("~"))


def _depth(value: int) -> str:
    return f"states of layer {value}" if value else "embedding"


# ---- what a model can show


def _inside(value: int, has: Capabilities, default: int) -> int:
    return value if value <= has.layers else default


def _studied() -> tuple[str, ...]:
    """Return every data set of a study."""
    return tuple(dict.fromkeys(dataset for _, study in studies().values() for dataset in study.datasets))


def _parts() -> tuple[str, ...]:
    """Return every part of a paper's page."""
    return tuple(dict.fromkeys(part for paper in papers().values() for part in paper.page.parts))


RUN, TEXT = frozenset({"run"}), frozenset({"run", "text", "row"})


@dataclass(frozen=True)
class Focus:
    """The shared part of a view. Layers, heads and components are counted from 1, as people read them."""

    run: str = one_of("", lambda names: names.runs, instead="{run} is shown instead")
    versus: tuple[str, ...] = several_of(  # further runs, drawn over the first if a page can do so
        lambda names: names.runs, chip=_beside, called="the run", instead="it is left out"
    )
    # "" = the example sentence of the run
    text: str = characters(
        most=LONGEST, private=True, chip=_quoted, resets=frozenset({"row"}), moved=moves_always
    )  # "" = the run's example sentence
    # the second text, of runs that read pairs
    pair: str = characters(most=LONGEST, private=True, of_pairs=True, chip=_quoted, resets=frozenset({"row"}))
    # the sentence whose states are put into the text; "" = none
    second: str = characters(most=LONGEST, private=True, chip=_second, resets=frozenset({"text", "row"}))
    # a row of the run's data set by id, instead of a text
    row: str = characters(resets=frozenset({"run", "over", "text"}), moved=moves_if_set)
    layer: int = whole(1, resets=RUN, fits=lambda value, has: _inside(value, has, 1))
    head: str = place_or(("mean", "max"), "heads", resets=RUN, chip=_head)
    component: str = place_or(("effective",), "components", resets=RUN, chip=_component)
    # map that Reason shows large: of the head that moves the answer most, or of the layer, head and component chosen
    large: str = choice(("strongest", "chosen"), resets=RUN, chip="a chosen map")
    score: str = one_of("removal", lambda names: names.scores, chip=_score)
    # class that explanations are about, "" = the predicted one; and the class that it is compared with, "" = all others
    target: str = characters(most=200, resets=RUN, chip=_explained)
    against: str = characters(most=200, resets=frozenset({"run", "target"}), chip=_compared)
    change: Intervention = edits(  # noqa: RUF009 - a frozen value
        resets=RUN, called="the change", instead="it is left out", chip=_edited
    )
    token: int = whole(0, resets=TEXT)  # token pinned in Reason and followed through the lexicon; 0 = the page's choice
    # which rows the views of Rows are about: a stored split, the demo set, the visitor's own file
    over: str = choice(("test", "official_test", "demo", "mine"), chip=OVER)
    among: str = characters(  # slices that all those rows are in, as has=negation~length=..10: see sentviz.analysis.testset.subset
        means=_combined,
        called="the slice",
        instead="all rows are shown",
        resets=frozenset({"over"}),
        chip=_subset,
        of_classes=True,
    )
    slice: str = characters(  # part of those rows, as in cell=1,0: see sentviz.analysis.testset.slices
        means=_sliced,
        called="the selection of rows",
        instead="all rows are shown",
        resets=frozenset({"run", "over", "among"}),
        chip=_slice,
        of_classes=True,
    )
    threshold: float = real(-1.0, 0, 1, resets=RUN)  # least probability to predict the second of two classes; -1 = more probable class
    words: str = choice(("keyness", "count"), chip="words by frequency")  # measure that makes a word large
    study: str = choice(_studied, "sst2", chip="study of {}")  # data set on a paper's page
    part: str = choice(_parts, FIRST, chip=_spaced)  # part of a paper's page
    depth: int = whole(  # layer of the embeddings: 0 = the input, -1 = the last
        -1, 0, resets=RUN, fits=lambda value, has: _inside(value, has, -1), chip=_depth
    )
    look: str = choice(tuple(LOOKS), chip=LOOKS)  # part of the Attention page
    scale: str = choice(("value", "change"), chip="change from the start")  # scale of lambda curves: value, or change from the start
    # looks of exported figures, as in size=column~palette=grey; own words are in no link
    style: str = characters(most=400, means=_stylish, called="the figure style", instead="the default style is used", chip=_looks)
    shared: bool = hidden(False, resets=frozenset({"text", "row"}))  # the text came in by a link, so the URL may keep it

    def with_(self, **changes: Any) -> Focus:
        """Return a changed focus; fields that belong to the old run, text or row go back to their defaults."""
        moved = self.moved(changes)
        gone: dict[str, Any] = {} if TEXT.isdisjoint(moved) else {"change": self.change.without_tokens()}
        gone |= {name: field.default for name, field in FIELDS.items() if not field.resets.isdisjoint(moved)}
        return replace(self, **(gone | {name: as_sent(value) if isinstance(value, str) else value for name, value in changes.items()}))

    def moved(self, changes: Mapping[str, Any]) -> set[str]:
        """Return the names of the fields that these changes move; a text moves whenever it is set, even to the same words."""
        return {name for name, value in changes.items() if FIELDS[name].moved(getattr(self, name), value)}

    def as_trained(self) -> Focus:
        """Return the same view of the model as it was trained, without interventions."""
        return replace(self, change=UNCHANGED)

    @property
    def aim(self) -> Target:
        """The class that explanations are about, as traces take it."""
        return Target(self.target, self.against)

    def beside(self, old: Focus) -> Focus:
        """Return the focus of a link without a text, with the text of `old`; edits of that text stay if the run is the same."""
        if not old.text:
            return replace(self, pair=old.pair)
        stays = [edit for edit in old.change.edits if edit.is_of_token and old.run == self.run]
        change = replace(old.change, edits=(*self.change.without_tokens().edits, *stays))
        return replace(self, **{name: getattr(old, name) for name in PRIVATE}, change=change)

    def query(self, default: str = "", *, with_text: bool | None = None) -> dict[str, str]:
        """Return URL parameters without defaults.

        Args:
            default: run that a link without a run opens.
            with_text: True to include the text, which is private, with the edits of its tokens; None to include one that came by a link.
        """
        focus = self
        if not (self.shared if with_text is None else with_text):
            change = self.change.without_tokens() if self.text else self.change
            focus = replace(self, **{name: FIELDS[name].default for name in PRIVATE}, change=change)
        return {
            name: field.write(value)
            for name, field in FIELDS.items()
            if field.read and (value := getattr(focus, name)) != (default if name == "run" else field.default)
        }

    def chips(self, classes: Sequence[str] = (), *, pairs: bool = False) -> dict[str, str]:
        """Return the chip texts of all fields that are not at their default, for a run with these classes that reads pairs or not.

        An edit of the model has its own chip, whose name is the text of the edit. Many edits have one chip, "change".
        """
        chips = dict[str, str]()
        for name in self.query(with_text=True):
            if name == "change" and len(self.change.edits) <= CHIPS:
                chips |= {edit.text(): edit_words(edit) for edit in self.change.edits}
            elif name != "run" and (pairs or not FIELDS[name].of_pairs):
                chips[name] = chip_text(name, FIELDS[name], getattr(self, name), classes)
        return chips

    def without(self, chip: str) -> dict[str, Any]:
        """Return the changes of fields that take back what a chip names."""
        if chip in FIELDS:
            return {chip: FIELDS[chip].default}
        return {"change": replace(self.change, edits=tuple(edit for edit in self.change.edits if edit.text() != chip))}

    @classmethod
    def parse(cls, query: Mapping[str, str], runs: Collection[str], scores: Collection[str], default: str = "") -> tuple[Focus, list[str]]:
        """Return the focus of URL parameters, and at most three notes about values without meaning, which become the default.

        Args:
            query: parameters, also those of `EARLIER`.
            default: run to show if the link names none; "" = the first of `runs`.
        """
        names = LinkNames(runs, scores, default or next(iter(runs), ""))
        values: dict[str, Any] = {"run": names.run}
        notes, strange = [], 0
        for name, text in query.items():
            field = EARLIER.get(name) or FIELDS.get(name)
            if field is None or field.read is None:
                continue
            value, bad = field.read(text, names)
            if isinstance(value, Intervention):
                old = values.get("change", UNCHANGED)
                values["change"] = replace(old.with_(*value.edits), donor=old.donor or value.donor)
            elif value is not None:
                values[name] = value
            for part in bad[: max(0, NOTES - strange)]:
                quoted, instead = part if len(part) <= 60 else part[:59] + "…", field.instead.format(run=names.run)
                notes.append(f"The link asks for {field.called or f'the {name}'} “{quoted}”, which is not available; {instead}.")
            strange += len(bad)
        if strange > NOTES:
            notes[-1] += f" The link has {strange - NOTES:,} more such entries."
        places = [(name, values[name]) for name in MAP if name in values]
        if places and all(value == FIELDS[name].default for name, value in places):
            values["large"] = "chosen"  # The link names the map that otherwise nobody chose.
        if any(values.get(name, "").strip() for name in ("text", "second")):
            values["shared"] = True
        if not values.get("text", "").strip():
            values |= {"text": "", "pair": ""}
        if not values.get("second", "").strip():
            values["second"] = ""
        return cls(**values), notes

    def fit(self, has: Capabilities) -> tuple[Focus, list[str]]:
        """Return the focus that a model can show, and a note for each field that was changed."""
        fitted = {name: field.fits(getattr(self, name), has) for name, field in FIELDS.items() if field.fits}
        changes = {name: value for name, value in fitted.items() if value != getattr(self, name)}
        notes = [f"{self.run} cannot show the chosen {FIELDS[name].called or name}; the default is shown." for name in changes]
        if refused := self.change.refused(has, name=self.run):
            changes["change"] = replace(self.change, edits=tuple(edit for edit in self.change.edits if edit not in refused))
            more = "This change is" if len(refused) == 1 else f"{len(refused):,} changes are"
            notes.append(f"{next(iter(refused.values()))} {more} left out.")
        return replace(self, **changes), notes


FIELDS = declared(Focus)
PRIVATE = tuple(name for name, field in FIELDS.items() if field.private)
_AT = r"([1-9]\d{0,2})"
EARLIER = {  # parameters of earlier versions, which were read before `change` was a parameter
    "mix": earlier_edits("the lambda", "the learned one is used", (rf"{_AT}\.{_AT}:(.+)", r"lambda:\1.\2=\3")),
    "off": earlier_edits("silenced heads", "only valid heads are silenced", (rf"{_AT}\.{_AT}", r"head:\1.\2=0")),
    "strength": earlier_edits("the strength", "the trained one is used", (r"(\w+):(.+)", r"term:\1=\2"), prefix="lexicon:"),
    "gates": earlier_edits(
        "the gates", "only the gates before it are changed", (rf"{_AT}:open", r"gate:\1=1"), (rf"{_AT}:shut", r"gate:\1=0")
    ),
}


def choices(name: str) -> tuple[str, ...]:
    """Return the allowed words of a field in the order of its widget."""
    options = FIELDS[name].options
    return tuple(options() if callable(options) else options)
