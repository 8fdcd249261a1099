"""Sentences and names stay as plain as they are: see `tools/plain.py`."""

from collections import Counter

import pytest

from tools.plain import findings, in_file

MOST: dict[str, int] = {}  # accepted findings of each kind; every other kind has none


def test_no_kind_of_finding_grows() -> None:
    """No kind has more findings than `MOST` allows; `python -m tools.plain --change BASE` lists those of a change."""
    totals = Counter(finding.kind for finding in findings())
    grown = {kind: (MOST.get(kind, 0), total) for kind, total in totals.items() if total > MOST.get(kind, 0)}
    assert not grown


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ('def f() -> None:\n    """Of a row."""\n', "docstring is a fragment"),
        ('def f() -> None:\n    """It is read."""\n', "docstring begins with a pronoun"),
        ('def test_f() -> None:\n    """The rows."""\n', "docstring has no verb"),
        ("x = 1  # of a row\n", "comment is a fragment"),
        ("x = 1  # the runs at hand\n", "unclear phrase"),
        ("x = 1  # None where there is no row\n", "'where' instead of 'if'"),
        ("found = 1\n", "vague name"),
        ('def f() -> None:\n    """Return the rows of a run."""\n', ""),
        ("x = 1  # rows of a run\n", ""),
    ],
)
def test_each_kind_is_found(source: str, kind: str) -> None:
    """A short source with one fault gives one finding of its kind; a plain one gives none."""
    assert [finding.kind for finding in in_file("f.py", source)] == [kind] * bool(kind)
