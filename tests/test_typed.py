"""Values from outside against declared types: msgspec's answer is that of a plain walk, and each fault is one sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentviz.io.typed import Finite, Misfit, Whole, above, check, fits, fitted, read, short, sized, spelled, within
from tests.kit import refused

leaves = st.none() | st.booleans() | st.integers(-4, 4) | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["a", "b", "c", ""])
names = st.sampled_from(["n", "share", "x", "with space", "name", "mixing", "widths", "pair", "counts"])
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8)
TYPED: list[tuple[Any, str, object]] = [(Whole, "-3", -3), (Annotated[float, within(0, 1)], ".25", 0.25), (float, "1e-3", 0.001)]
TYPED += [(bool, "Yes", True), (bool, "false", False), (Literal["none", 2], "2", 2), (tuple[Finite, Finite], "-1,2.5", (-1.0, 2.5))]
TYPED += [(tuple[int, ...], "1,2,3", (1, 2, 3)), (int | None, "4", 4), (str, " a ", " a ")]


class Count(TypedDict):
    """A table with a field that may be missing."""

    n: Whole
    share: NotRequired[Annotated[float, within(0, below=1)]]


@dataclass(frozen=True)
class Recipe:
    """A dataclass that checks itself."""

    name: Annotated[str, spelled("[a-z]+", "small letters")]
    epochs: Annotated[int, within(1, 9)] = 3
    rate: Annotated[float, above(0)] = 0.5
    mixing: Literal["none", "unit"] = "none"
    widths: Annotated[tuple[int, ...], sized(None, 2)] = ()
    pair: tuple[str, int] | None = None
    counts: Mapping[str, Count] | None = None

    def __post_init__(self) -> None:
        check(self)
        if self.name == "nobody":
            raise ValueError("nobody has no recipe.")


KINDS: list[Any] = [list[float], dict[str, list[int]], dict[str, list[str]], list[dict[str, bool]], dict[str, Any], Count, list[Count]]
KINDS += [str | int, float | None, Literal["a", "b"], tuple[str, int], tuple[bool, ...], list[Annotated[int, within(-2, 2)]]]


def plain(kind: Any, value: Any) -> bool:
    """Return whether a value fits a type, by a walk over both."""
    if get_origin(kind) is Annotated:
        kind, limit = get_args(kind)
        inside = plain(kind, value) and (limit.ge is None or value >= limit.ge) and (limit.le is None or value <= limit.le)
        return inside and (limit.lt is None or value < limit.lt)
    if is_typeddict(kind):
        hints = get_type_hints(kind, include_extras=True)
        needed = {name for name, hint in hints.items() if get_origin(hint) is not NotRequired}
        bare = {name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for name, hint in hints.items()}
        return isinstance(value, dict) and needed <= value.keys() and all(plain(bare[name], value[name]) for name in bare if name in value)
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin is Any:
        return True
    if origin is UnionType:
        return any(plain(part, value) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is type(None):
        return value is None
    if origin is dict:
        return isinstance(value, dict) and all(plain(parts[1], each) for each in value.values())
    if origin is tuple and parts[-1] is not ...:
        return isinstance(value, list) and len(value) == len(parts) and all(map(plain, parts, value))
    if origin in (list, tuple):
        return isinstance(value, list) and all(plain(parts[0], each) for each in value)
    return isinstance(value, (int, float) if origin is float else origin) and (origin is bool or not isinstance(value, bool))


@given(st.sampled_from(KINDS), values)
def test_a_value_fits_if_a_plain_walk_says_so(kind: Any, value: Any) -> None:
    assert fits(kind, value) == plain(kind, value)


@given(st.sampled_from([*KINDS, Recipe, list[Recipe]]), values)
def test_a_fault_is_one_line_and_its_keys_lead_to_it(kind: Any, value: Any) -> None:
    try:
        fitted(kind, value)
    except Misfit as error:
        assert "\n" not in str(error) and len(str(error)) < 300 and "`" not in str(error) and "Expected" not in str(error)
        for place, key in enumerate(error.keys):
            assert place == len(error.keys) - 1 or key in value or isinstance(key, int)
            value = value[key] if not isinstance(value, dict) or key in value else None


SENTENCES: list[tuple[Any, Any, str]] = [
    (list[int], [1, "x"], "[1] must be a whole number, not 'x'"),
    (dict[str, list[int]], {"x": [1], "y": [True]}, "y[0] must be a whole number, not True"),
    (float, "x" * 99, f"it must be a number, not {short('x' * 99)}"),
    (dict[str, str], None, "it must be a table, not None"),
    (Finite, float("nan"), "it must be a finite number, not nan"),
    (Whole, 1 << 70, "it is 1180591620717411303424, a number that is too large"),
    (Count, {}, "n is missing"),
    (list[Count], [{"n": 1}, {"n": 1, "share": 1}], "[1].share must be a number of at least 0 and below 1, not 1"),
    (dict[Annotated[str, spelled("[a-z]+", "small letters")], int], {"a": 1, "B": 2}, "it names 'B', which is not small letters"),
    (Recipe, {"name": "A"}, "name must be small letters, not 'A'"),
    (Recipe, {"name": "a", "epochs": 0}, "epochs must be a whole number from 1 to 9, not 0"),
    (Recipe, {"name": "a", "rate": 0}, "rate must be a number above 0, not 0"),
    (Recipe, {"name": "a", "mixing": "most"}, "mixing must be none or unit, not 'most'"),
    (Recipe, {"name": "a", "widths": [1, 2, 3]}, "widths must be a list of at most 2 entries, not [1, 2, 3]"),
    (Recipe, {"name": "a", "pair": ["x"]}, "pair must be a list of 2 entries, not ['x']"),
    (Recipe, {"name": "a", "pair": ["x", "y"]}, "pair[1] must be a whole number, not 'y'"),
    (Recipe, {"name": "a", "counts": {"b": {"n": 1}, "c": {"n": None}}}, "counts.c.n must be a whole number, not None"),
    (list[Recipe], [{"name": "nobody"}], "nobody has no recipe"),
]


def test_a_fault_is_said_in_words_of_the_declared_type_and_a_typed_text_is_read_by_it() -> None:
    for kind, value, sentence in SENTENCES:
        with pytest.raises(Misfit) as caught:
            fitted(kind, value)
        assert str(caught.value) == sentence
    for kind, text, value in TYPED:
        meant = read(kind, text)
        assert meant == value and type(meant) is type(value)
    for kind, text in [
        *((int, text) for text in ("", "+1", "1.0", "1_0", "٣", " 1", "9" * 20, "0x1")),
        *((Finite, text) for text in ("", "nan", "inf", "1e999", "1_0", "٣", "1e", ".", "9" * 41)),
        *((bool, text) for text in ("", "1", "perhaps")),
        *((tuple[int, int], text) for text in ("", "1", "1,2,3", "1;2", "1,b")),
        (Literal["a", "b"], "c"),
        (Whole, "\ud800"),
    ]:
        with pytest.raises(Misfit) as caught:
            read(kind, text, ("place",))
        assert str(caught.value).startswith("place") and "\n" not in str(caught.value)
    assert Recipe("a", widths=(1, 2)).widths == fitted(Recipe, {"name": "a", "widths": [1, 2]}).widths == (1, 2)
    refused(Misfit, r"^epochs must be a whole number from 1 to 9, not 10$", Recipe, "a", epochs=10)


@given(st.floats(allow_nan=False, allow_infinity=False), st.lists(st.integers(-(2**63) + 1, 2**63 - 1), min_size=1))
def test_numbers_are_read_as_they_are_written(number: float, whole: list[int]) -> None:
    assert read(float, repr(number)) == number and read(tuple[int, ...], ",".join(map(str, whole))) == tuple(whole)
