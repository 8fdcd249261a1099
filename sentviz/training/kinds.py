"""Which subject trains a kind of model; imported when it is needed."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentviz.training.subject import TrainingTask

SUBJECTS = {  # `KIND` of a configuration -> subject, if it is not `OwnSubject`
    "encoder": "sentviz.training.own:EncoderSubject",
    "hardmax": "sentviz.training.hardmax:HardmaxSubject",
}


def subject_class(kind: str) -> type[TrainingTask]:
    """Return the class that trains models of a kind by a recipe."""
    found: type[TrainingTask] = resolve_name(SUBJECTS.get(kind, "sentviz.training.own:OwnSubject"))
    return found
