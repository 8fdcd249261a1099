"""States of pages that a link can name: every pair of values of two fields appears in one of the states."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests.fresh import FAULTS
from tests.kit import RUN, SHIPPED, opened, words
from tests.shipped import often

FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "explore": {"text": ("", "Not a bad film, for once."), "large": ("strongest", "chosen"), "token": ("", "1"), "off": ("", "1.1")},
    "attention": {
        "look": ("maps", "long", "bertviz", "layers", "scores", "lexicon", "gates"),
        "specials": ("show", "hide"),
        "layer": ("1", "2"),
        "head": ("1", "2"),
        "text": ("", "Not a bad film, for once."),
    },
    "confusion": {
        "view": ("matrix", "curves", "calibration"),
        "over": ("test", "demo"),
        "slice": ("", "cell=1,0"),
        "versus": ("", "sst2/diff"),
    },
    "words": {"words": ("keyness", "count"), "stops": ("drop", "keep"), "over": ("test", "demo"), "slice": ("", "cell=1,0")},
    "embeddings": {
        "method": ("pca", "tsne"),
        "dims": ("2", "3"),
        "sample": ("stored", "all"),
        "depth": ("0", "2"),
        "over": ("test", "demo"),
    },
    "scalars": {"scale": ("value", "change"), "run": (RUN, "sst2/diff")},
    "curves": {"axis": ("epoch", "step"), "seeds": ("lines", "bands"), "run": (RUN, "sst2/diff")},
    "runs": {"shelf": ("sets", "phenomena", "errors"), "data": ("all", "sst2")},
}


def pairwise(fields: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Return states that contain every pair of values of two fields, chosen greedily from all states."""
    states = [dict(zip(fields, values, strict=True)) for values in product(*fields.values())]

    def pairs(state: dict[str, str]) -> set[tuple[tuple[str, str], ...]]:
        return set(combinations(sorted(state.items()), 2))

    left, chosen = set().union(*map(pairs, states)), list[dict[str, str]]()
    while left:
        best = max(states, key=lambda state: len(pairs(state) & left))
        chosen.append(best)
        left -= pairs(best)
    return chosen


def test_every_pair_of_values_is_in_a_state() -> None:
    """The states of a page contain every pair of values, and are fewer than all states."""
    fields = FIELDS["attention"]
    chosen = pairwise(fields)
    for (first, values), (second, second_values) in combinations(fields.items(), 2):
        assert {(state[first], state[second]) for state in chosen} == set(product(values, second_values))
    assert len(chosen) < 20


@pytest.mark.exhaustive
@SHIPPED
@pytest.mark.parametrize("page", often(FIELDS, "explore", "confusion", "curves"))
def test_every_state_of_a_page_opens(page: str) -> None:
    """A page in each state has neither an exception nor a sentence that reports a fault of sentviz."""
    wrong = {}
    for state in pairwise(FIELDS[page]):
        try:
            app = opened(page, **{name: value for name, value in state.items() if value})
            faults = [fault for fault in FAULTS if fault in words(app)]
            assert not app.error and not faults, faults or app.error[0].value
        except (AssertionError, RuntimeError) as error:
            wrong[str(state)] = str(error)[:300]
    assert not wrong, "\n".join(f"{state}: {why}" for state, why in wrong.items())
