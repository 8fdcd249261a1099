"""The app declares the views of its places and the blocks of its pages of measurements as data, which must be as stored.

`pytest tests/golden --bless` writes `tests/golden/declared`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import pytest

from app import cache, places, visit
from app.focus import Focus
from app.places import place_of, view_at
from app.views.model import measured_pages, pages
from tests.golden.outlines import STORED, compare_outline
from tests.golden.views import NDT

OUTLINES = STORED.with_name("declared")
OWN = {pages.__name__, measured_pages.__name__}


def described(value: Any, name: str = "", depth: int = 0) -> Iterator[str]:
    """Yield a line for each part of a declaration, with its short values; a function of these pages is called with a list of one run."""
    if is_dataclass(value) and not isinstance(value, type):
        values = {each.name: getattr(value, each.name) for each in fields(value)}
        short = {key: part for key, part in values.items() if part and isinstance(part, str | int | float)}
        yield f"{' ' * depth}{name} {type(value).__name__} {short}"
        for key in [key for key in values if key not in short]:
            yield from described(values[key] or (), key, depth + 1)
    elif isinstance(value, partial):
        yield from described((value.func, *value.args, *value.keywords.items()), name, depth)
    elif isinstance(value, Mapping):
        yield from described(list(value.items()), name, depth)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from described(each, name, depth)
    elif callable(value):
        yield f"{' ' * depth}{name} {value.__module__}.{value.__qualname__}"
        if value.__module__ in OWN and name in ("choices", "options", "test"):
            yield from described(value([cache.run(NDT)]), "gives", depth + 1)
    else:
        yield f"{' ' * depth}{name} {value}"


def test_the_places_are_those_that_are_stored(request: pytest.FixtureRequest) -> None:
    every = [view for place in places.places() for view in place.views]
    assert [place_of(view).title for view in every] == [place.title for place in places.places() for _ in place.views]
    assert all(view_at(address) is view for view in every for address in (view.url, *view.formerly)) and view_at("") is every[0]
    lines = [f"{place.title}, {place.small}, {place.of_run}: {place.help}" for place in places.places()]
    lines += [f"{view.url}, {view.script}, {view.icon}, {view.of_rows}: {view.title}. {view.help}" for view in every]
    lines += [f"{view.url} {view.formerly} {view.finds} {view.fit and (view.fit.lacks, view.fit.prefer)}" for view in every]
    compare_outline("places", lines, request.config.getoption("--bless"), OUTLINES)


def test_the_pages_of_measurements_are_those_that_are_stored(
    small_world: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(visit.st, "session_state", {"focus": Focus(run=NDT)})
    lines = [line for name, page in pages.PAGES.items() for line in described(page, name)]
    lines += [*described(measured_pages._claims("A", (), "b")), *(run.name for run in measured_pages._installed())]
    lines += [run.name for run in pages._with_seeds([cache.run(NDT)])]
    compare_outline("pages", lines, request.config.getoption("--bless"), OUTLINES)
