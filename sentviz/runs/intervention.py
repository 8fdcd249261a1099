"""Interventions: what is changed while a model reads a text, as plain data and as text. Needs neither torch nor NumPy.

An `Edit` names a quantity inside the model and the value that it gets. Its text is written as in `head:1.4=0`: layer 1, head 4, output 0.
The value may also be that of a token of another text, as in `head:1.4.3=@5`: the third token gets the output of the fifth token there.
An `Intervention` is a set of edits; its text joins them, as in `head:1.4=0~term:gate=0.5`. `sentviz.models.protocol` applies it.

Every quantity of a model can be named; `Intervention.check` refuses those that a model cannot change.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, cast, get_args
from urllib.parse import quote, unquote

from sentviz.errors import InputError
from sentviz.io.lazy import np
from sentviz.runs.configs import Capabilities

Quantity = Literal["lambda", "head", "gate", "term", "state", "residual", "feedforward", "component", "value"]

AXES: Mapping[str, tuple[str, ...]] = {  # axes that the places of an edit count along; without a token, an edit is for all tokens
    "lambda": ("layer", "component"),  # weight of a component in the mixed map
    "head": ("layer", "head", "token"),  # output of a head, before the layer's output matrix
    "gate": ("token",),  # gate of a token in every layer, 0 (shut) to 1 (open)
    "term": (),  # strength of a term of the scores, by name; 1 as trained, 0 without the term
    "state": ("depth", "token"),  # hidden state: depth 0 is the embedding, depth l the output of layer l
    "residual": ("layer", "token"),  # input of a layer plus the output of its attention
    "feedforward": ("layer", "token"),  # output of a layer's feed-forward network
    "component": ("layer", "component", "token"),  # output A_c V of a component's map before lambda mixes it, of all heads
    "value": ("layer", "head", "token"),  # value vector of a token
}
VECTORS = ("state", "residual", "feedforward", "head", "component", "value")  # quantities with a vector for each token

MOST_EDITS = 4_096  # largest number of edits in a text
MOST_NAMED = 5  # tokens that a sentence names
_DONOR = ("donor:1=", "donor:2=")  # before the other text, and before its second text
_EDIT = re.compile(r"([a-z]+):([A-Za-z_][A-Za-z0-9_]{0,39}|\d{1,9}(?:\.\d{1,9}){0,2})=([^=~\s]{1,40})", re.ASCII)


@dataclass(frozen=True)
class Taken:
    """The value that a quantity has at a token of the other text of an intervention."""

    token: int  # counted from 0

    def __str__(self) -> str:
        return f"@{self.token + 1}"


@dataclass(frozen=True)
class Edit:
    """A quantity of a model, and the value that it gets. Raises InputError if the quantity is unknown or its places do not fit."""

    what: Quantity
    at: tuple[int, ...] = ()  # places along the axes of the quantity, counted from 0
    name: str = ""  # name of a term; empty for all other quantities
    to: float | Literal["mean"] | Taken = 0.0  # new value, of a vector that of all its numbers; "mean" is the mean over a data set

    def __post_init__(self) -> None:
        axes = AXES.get(self.what)
        if axes is None:
            raise InputError(f"Unknown quantity {self.what!r}. A change is of {', '.join(get_args(Quantity))}.")
        sizes = {len(axes), len(axes) - 1} if axes[1:] and axes[-1] == "token" else {len(axes)}
        if len(self.at) not in sizes:
            raise InputError(f"A change of a {self.what} needs {' and '.join(axes) or 'no position'}, not the positions {list(self.at)}.")
        if isinstance(self.to, Taken) and (axes[-1:] != ("token",) or self.what == "gate" or len(self.at) < len(axes)):
            raise InputError(f"{self.text()}: only the vector of one token can be taken from another text, as in head:1.4.3=@5.")
        if bool(self.name) != (self.what == "term"):
            raise InputError("A change of a term needs the name of the term. Other changes have no name.")

    @property
    def target(self) -> tuple[int, tuple[int, ...], str]:
        """Quantity, places and name, without the new value. Edits of an intervention are sorted by them."""
        return list(AXES).index(self.what), self.at, self.name

    @property
    def is_of_token(self) -> bool:
        """True if the edit names a token, so that it has a meaning only together with a text."""
        return "token" in AXES[self.what][: len(self.at)]

    def text(self) -> str:
        """Return the edit as text, places counted from 1, as in `gate:3=0`."""
        places = (place + (axis != "depth") for place, axis in zip(self.at, AXES[self.what], strict=False))
        return f"{self.what}:{self.name or '.'.join(map(str, places))}={f'{self.to}'.removesuffix('.0')}"

    @classmethod
    def parse(cls, text: str) -> Edit:
        """Read an edit from the form that `text` writes."""
        if (match := _EDIT.fullmatch(text)) is None:
            raise InputError(f"Write a change like head:1.4=0, term:gate=0.5 or gate:3=1, not {text[:60]!r}.")
        what, place, value = match.groups()
        axes = AXES.get(what, ())
        named = not place[0].isdigit()
        places = () if named else zip(place.split("."), (*axes, "", "", ""), strict=False)  # further places are refused below
        at = tuple(int(part) - (axis != "depth") for part, axis in places)
        to: float | Literal["mean"] | Taken = "mean" if value == "mean" else _number(value)
        if (token := re.fullmatch(r"@([1-9]\d{0,8})", value, re.ASCII)) is not None:
            to = Taken(int(token[1]) - 1)
        elif isinstance(to, float) and not math.isfinite(to):
            raise InputError(f"The value of a change must be a finite number, not {value!r}.")
        return cls(cast(Quantity, what), at, place if named else "", to)


@dataclass(frozen=True)
class Intervention:
    """Edits that hold together for one pass of a model. Equal sets of edits are equal and have the same text.

    A term with strength 1 is as trained, so such an edit is dropped. False if there is no edit.
    """

    edits: tuple[Edit, ...] = ()
    donor: tuple[str, str | None] | None = None  # text and second text from which vectors are taken; None if no edit takes one

    def __post_init__(self) -> None:
        if not any(isinstance(edit.to, Taken) for edit in self.edits):
            object.__setattr__(self, "donor", None)
        unique = dict.fromkeys(edit for edit in self.edits if not (edit.what == "term" and edit.to == 1))
        object.__setattr__(self, "edits", tuple(sorted(unique, key=lambda edit: edit.target)))

    def __bool__(self) -> bool:
        return bool(self.edits)

    @classmethod
    def from_arguments(
        cls,
        has: Capabilities,
        lambdas: Any = None,
        heads_off: Iterable[Sequence[int]] = (),
        strength: float | Mapping[str, float] = 1.0,
        gates_open: Collection[int] = (),
        gates_shut: Collection[int] = (),
    ) -> Intervention:
        """Build an intervention from the arguments of earlier versions, as links, exported files and notebooks name them.

        Args:
            lambdas: (L, C) mixing weights; NaN keeps the learned weight.
            heads_off: (layer, head) pairs, counted from 0, whose output is zero.
            strength: factor by the name of a term; a number is for every term of `Capabilities.dials`.
            gates_open, gates_shut: places of tokens, counted from 0, whose gate is 1 or 0 in every layer.
        """
        edits = _lambda_edits(lambdas, has)
        edits += [Edit("head", (int(layer), int(head))) for layer, head in heads_off]
        if not isinstance(strength, Mapping):
            if not math.isfinite(factor := _number(strength)):
                raise InputError(f"The strength of a term must be a finite number, not {strength!r}.")
            strength = {dial.term: factor for dial in has.dials}
        edits += [Edit("term", (), name, _number(factor)) for name, factor in strength.items()]
        for places, value in ((gates_open, 1.0), (gates_shut, 0.0)):
            edits += [Edit("gate", (int(place),), to=value) for place in places]
        return cls(tuple(edits))

    @classmethod
    def parse(cls, text: str) -> Intervention:
        """Read an intervention from the form that `text` writes; an empty text has no edits."""
        parts = text.split("~") if text else []
        texts = [next((unquote(part.removeprefix(name)) for part in parts if part.startswith(name)), None) for name in _DONOR]
        parts = [part for part in parts if not part.startswith(_DONOR)]
        if len(parts) > MOST_EDITS:
            raise InputError(f"There are {len(parts):,} changes; {MOST_EDITS:,} are read at most.")
        return cls(tuple(map(Edit.parse, parts)), None if texts[0] is None else (texts[0], texts[1]))

    def text(self) -> str:
        """Return the edits as text, as in `head:1.4=0~term:gate=0.5`; empty if there are none. Another text follows in URL quotation."""
        quoted_texts = zip(_DONOR, self.donor or (), strict=False)
        quoted = [name + quote(text, safe="").replace("~", "%7E") for name, text in quoted_texts if text is not None]
        return "~".join([*(edit.text() for edit in self.edits), *quoted])

    # ---- what is changed

    @property
    def lambdas(self) -> dict[tuple[int, ...], float]:
        """New mixing weights by (layer, component)."""
        return {edit.at: _number(edit.to) for edit in self.edits if edit.what == "lambda"}

    @property
    def heads_off(self) -> tuple[tuple[int, ...], ...]:
        """(layer, head) of the heads whose output is zero, sorted."""
        return tuple(edit.at for edit in self.edits if edit.what == "head" and len(edit.at) == 2 and edit.to == 0)

    @property
    def vectors(self) -> tuple[Edit, ...]:
        """Edits of vectors, without silenced heads."""
        return tuple(edit for edit in self.edits if edit.what in VECTORS and (edit.what != "head" or edit.at not in self.heads_off))

    @property
    def strength(self) -> dict[str, float]:
        """Factors by the name of a term; terms that are as trained are left out."""
        return {edit.name: _number(edit.to) for edit in self.edits if edit.what == "term"}

    @property
    def gates_open(self) -> tuple[int, ...]:
        """Places of the tokens whose gate is 1, sorted."""
        return self._gates(1)

    @property
    def gates_shut(self) -> tuple[int, ...]:
        """Places of the tokens whose gate is 0, sorted."""
        return self._gates(0)

    def _gates(self, value: float) -> tuple[int, ...]:
        return tuple(edit.at[0] for edit in self.edits if edit.what == "gate" and edit.to == value)

    def with_(self, *edits: Edit) -> Intervention:
        """Return the intervention with further edits, which replace earlier edits of the same target."""
        targets = {edit.target for edit in edits}
        return replace(self, edits=(*(edit for edit in self.edits if edit.target not in targets), *edits))

    def without(self, what: Quantity, at: tuple[int, ...] | None = None) -> Intervention:
        """Return the intervention without its edits of a quantity, or without the one at a place."""
        return replace(self, edits=tuple(edit for edit in self.edits if edit.what != what or (at is not None and edit.at != at)))

    def without_tokens(self) -> Intervention:
        """Return the intervention without the edits that name a token: another text has other tokens."""
        return replace(self, edits=tuple(edit for edit in self.edits if not edit.is_of_token))

    def exactly(self, what: Quantity, places: Iterable[tuple[int, ...]], to: float = 0.0) -> Intervention:
        """Return the intervention in which a quantity has a value at exactly these places, such as all heads that are silenced."""
        elsewhere = (edit for edit in self.edits if (edit.what, edit.to, len(edit.at)) != (what, to, len(AXES[what][:2])))
        return replace(self, edits=tuple(elsewhere)).with_(*(Edit(what, at, to=to) for at in places))

    # ---- whether a model can apply it

    def refused(self, has: Capabilities, tokens: int = 10**9, name: str = "The model") -> dict[Edit, str]:
        """Return the edits that a model cannot apply, each with the reason in a sentence. The arguments are those of `check`."""
        return {edit: why for edit in self.edits if (why := _refusal(edit, has, tokens, name)) is not None}

    def check(self, has: Capabilities, tokens: int, name: str = "The model") -> None:
        """Check that a model can apply every edit to a text.

        Args:
            has: what the model has.
            tokens: number of tokens of the text, or the largest number that the model reads.
            name: of the model, for messages.
        """
        if self.donor is None and any(isinstance(edit.to, Taken) for edit in self.edits):
            raise InputError("Some changes take vectors from another text, which is missing. Add donor:1= and the text.")
        for why in self.refused(has, tokens, name).values():
            raise InputError(why)
        for first, second in pairwise(self.edits):
            if first.target == second.target:
                if first.what == "gate":
                    raise InputError(f"The gate of token {first.at[0] + 1} cannot be both open and shut.")
                raise InputError(f"{first.text()} and {second.text()} change the same quantity. Leave one of them out.")

    def sentences(self, tokens: Sequence[str]) -> list[str]:
        """Return a sentence for each kind of change.

        Args:
            tokens: of the text, which sentences about gates quote.
        """
        changes = []
        if self.lambdas:
            changes.append("the lambdas differ from the learned lambdas")
        if heads := [f"{head + 1} of layer {layer + 1}" for layer, head in self.heads_off]:
            changes.append(f"{'head' if len(heads) == 1 else 'heads'} {', '.join(heads)} {'is' if len(heads) == 1 else 'are'} silenced")
        for state, places in (("open", self.gates_open), ("shut", self.gates_shut)):
            if places:
                named = ", ".join(f"“{tokens[place]}” ({place + 1})" for place in places[:MOST_NAMED])
                more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
                changes.append(f"the gate of {named}{more} is {state} in every layer")
        for term, factor in self.strength.items():
            how = f"without its {term}" if not factor else f"with {factor:g} times the trained strength of its {term}"
            changes.append(f"the model runs {how}")
        if vectors := [edit.text() for edit in self.vectors]:
            more = f" and {len(vectors) - MOST_NAMED} more" if len(vectors) > MOST_NAMED else ""
            source = "" if self.donor is None else f", with vectors of the text “{self.donor[0][:200]}”"
            changes.append(f"vectors are replaced ({', '.join(vectors[:MOST_NAMED])}{more}){source}")
        return [f"This is an intervention: {change}." for change in changes]


UNCHANGED = Intervention()


def read_change(change: Intervention | str | None) -> Intervention:
    """Return an intervention that is given as such, as its text, or not at all."""
    return change if isinstance(change, Intervention) else Intervention.parse(change or "")


def _number(value: Any) -> float:
    """Return a value as a number; NaN if it is not a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _lambda_edits(lambdas: Any, has: Capabilities) -> list[Edit]:
    """Return an edit for each number of (L, C) mixing weights that is not NaN."""
    if lambdas is None:
        return []
    layers, components = shape = (has.layers, has.components)
    try:
        weights = np.asarray(lambdas, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"lambdas must be {layers} layers x {components} components of numbers.") from error
    if weights.shape != shape:
        raise InputError(f"lambdas must be {layers} layers x {components} components, not {' x '.join(map(str, weights.shape))}.")
    places = ((int(layer), int(component)) for layer, component in np.argwhere(~np.isnan(weights)))
    edits = [Edit("lambda", place, to=float(str(weights[place]))) for place in places]  # the shortest decimal of a float32
    return edits if components > 1 else [edit for edit in edits if edit.to != 1]


def _refusal(edit: Edit, has: Capabilities, tokens: int, name: str) -> str | None:
    """Return why a model cannot apply an edit, in a sentence; None if it can."""
    if edit.to != "mean" and edit.what in VECTORS and (edit.what != "head" or len(edit.at) == 3 or (edit.to != 0 and has.replaces)):
        return _refused_vector(edit, has, tokens, name)
    if edit.what not in ("lambda", "head", "gate", "term") or not isinstance(edit.to, float | int):
        return _impossible(edit, has)
    if not math.isfinite(edit.to):
        return {"lambda": "A lambda must be a finite number.", "term": f"The strength of {edit.name} must be a finite number."}.get(
            edit.what, f"{edit.text()}: the value must be a finite number."
        )
    if edit.what == "term":
        return _refused_term(edit, has, name)
    if edit.what == "gate":
        return _refused_gate(edit, has, tokens, name)
    if edit.what == "head" and not has.silence:
        return f"{name} has no heads to silence."
    axis, size = AXES[edit.what][1], has.components if edit.what == "lambda" else has.heads
    if not (0 <= edit.at[0] < has.layers and 0 <= edit.at[1] < size):
        return f"There is no {axis} {edit.at[1] + 1} in layer {edit.at[0] + 1} of {name}."
    if edit.what == "lambda" and size == 1 and edit.to != 1:
        return f"{name} has one component with lambda 1, so its mixing cannot be changed."
    return f"The output of a head can only be set to 0, not to {edit.to:g}." if edit.what == "head" and edit.to != 0 else None


def _impossible(edit: Edit, has: Capabilities) -> str:
    vectors = f", and vectors of tokens: {', '.join(has.replaces)}" if has.replaces else ""
    return f"{edit.text()} is not possible. Possible changes: lambdas, gates, terms, setting the output of a head to 0{vectors}."


def _refused_vector(edit: Edit, has: Capabilities, tokens: int, name: str) -> str | None:
    """Return why a model cannot replace a vector, in a sentence; None if it can."""
    if edit.what not in has.replaces:
        return _impossible(edit, has)
    sizes = {"depth": has.layers + 1, "layer": has.layers, "head": has.heads, "component": has.components, "token": tokens}
    for axis, place in zip(AXES[edit.what], edit.at, strict=False):
        if not 0 <= place < sizes[axis]:
            first = int(axis != "depth")
            return f"{edit.text()}: {name} has no {axis} {place + first}; here they go from {first} to {sizes[axis] - 1 + first:,}."
    return None


def _refused_term(edit: Edit, has: Capabilities, name: str) -> str | None:
    switches = [dial.term for dial in has.switches]
    terms = [dial.term for dial in has.dials] + switches
    if edit.name not in terms:
        return f"{name} has no term {edit.name!r} to change; it has {', '.join(terms) or 'none'}."
    if edit.name in switches and edit.to != 0:
        return f"The {edit.name} can only be on (1) or off (0), not {edit.to:g}."
    return None


def _refused_gate(edit: Edit, has: Capabilities, tokens: int, name: str) -> str | None:
    if not has.gate:
        return f"{name} has no gates to open or shut."
    if not 0 <= edit.at[0] < tokens:
        return f"There is no token {edit.at[0] + 1}. The tokens are 1 to {tokens:,}."
    return None if edit.to in (0, 1) else f"The gate of a token can be 0 (shut) or 1 (open), not {edit.to:g}."
