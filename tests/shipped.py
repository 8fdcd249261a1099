"""Statements about every run that ships, each one test that names the runs it fails for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sentviz.runs.store import Run

ROOT = Path(__file__).parents[1] / "checkpoints"
SHIPPED = [Run.open(path.parent, "/".join(path.parts[-3:-1])) for path in sorted(ROOT.glob("*/*/config.json"))]
ASKABLE = [run for run in SHIPPED if run.has_weights]


def of_each(checked: Iterable[Run]) -> Callable[[Callable[[Run], None]], Callable[[], None]]:
    """Makes a statement about one run a test of all of these: each is checked, and those it fails for are named with what was wrong."""
    some = tuple(checked)

    def check_all(statement: Callable[[Run], None]) -> Callable[[], None]:
        def test() -> None:
            if not some:
                pytest.skip("checkpoints/ is empty")
            wrong = []
            for run in some:
                try:
                    statement(run)
                except Exception as error:
                    wrong.append(f"{run.name}: {error}")
            assert not wrong, "\n".join([f"{len(wrong)} of {len(some)} runs", *wrong])

        test.__name__, test.__doc__, test.__module__ = statement.__name__, statement.__doc__, statement.__module__
        return test

    return check_all
