"""Which subject trains a kind of model; imported when it is needed."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentviz.training.subject import Subject

SUBJECTS = {  # `KIND` of a configuration -> subject, if it is not `OwnSubject`
    "encoder": "sentviz.training.own:EncoderSubject",
    "hardmax": "sentviz.training.hardmax:HardmaxSubject",
}


def subject_class(kind: str) -> type[Subject]:
    """Return the class that trains models of a kind by a recipe."""
    found: type[Subject] = resolve_name(SUBJECTS.get(kind, "sentviz.training.own:OwnSubject"))
    return found
