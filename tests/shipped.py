"""Tests of every shipped run, and of samples of many cases."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from sentviz.runs.store import Run

ROOT = Path(__file__).parents[1] / "checkpoints"
SHIPPED = [Run.open(path.parent, "/".join(path.parts[-3:-1])) for path in sorted(ROOT.glob("*/*/config.json"))]
ASKABLE = [run for run in SHIPPED if run.has_weights]


FEW = (  # one run of each kind: these are checked after every change, all of them by .ci/full
    "english/minilm",
    "english/ndt-unit-2",
    "sst2/cls-last-scaled",
    "sst5_trees/sentiformer",
    "imdb/hardmax-d2",
    "nsmc/cls-last-scaled",
    "sst2/vanilla",
)


def often(values: Iterable[Any], *chosen: Any) -> list[Any]:
    """Return parameters of a test. Those that are not in `chosen` are marked exhaustive."""
    return [value if value in chosen else pytest.param(value, marks=pytest.mark.exhaustive) for value in values]


def of_each(checked: Iterable[Run], *, few: bool = False) -> Callable[[Callable[[Run], None]], Callable[..., None]]:
    """Make a statement about one run a test of many runs, which names the runs that fail, with the reason.

    With `few` there are two tests: one of the runs in `FEW`, and an exhaustive one of the others.
    """
    runs = tuple(checked)

    def check_all(statement: Callable[[Run], None]) -> Callable[..., None]:
        def check(some: Iterable[Run]) -> None:
            if not runs:
                pytest.skip("checkpoints/ is empty")
            wrong = []
            for run in some:
                try:
                    statement(run)
                except Exception as error:
                    wrong.append(f"{run.name}: {error}")
            assert not wrong, "\n".join([f"{len(wrong)} of {len(runs)} runs", *wrong])

        def test() -> None:
            check(runs)

        @pytest.mark.parametrize("which", often(("few", "others"), "few"))
        def test_parts(which: str) -> None:
            check(run for run in runs if (run.name in FEW) == (which == "few"))

        chosen: Callable[..., None] = test_parts if few else test
        chosen.__name__, chosen.__doc__, chosen.__module__ = statement.__name__, statement.__doc__, statement.__module__
        return chosen

    return check_all
