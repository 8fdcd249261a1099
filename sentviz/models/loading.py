"""A stored run as a model, whichever kind it is of."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from sentviz.runs import Folders, Run, find

if TYPE_CHECKING:
    from sentviz.models.model import Model

__all__ = ["load"]


def load(run: str | Path | Run, folders: Folders = (), *, epoch: int = 0) -> Model:
    """A run by name (`sst2/ndt-unit-2`), by folder or as found in a catalog, as a read-only model.

    Args:
        epoch: the model as it was after this epoch, counted from 1, of those that the run keeps (`Run.epochs`); 0 = its best state.
    Raises:
        RunError: unknown, foreign or damaged; the message names the file and the reason. An epoch that was not kept.
    """
    found = run if isinstance(run, Run) else find(run, folders)
    found = found.at(epoch) if epoch else found
    model: Model = resolve_name(found.shape.MODEL).of(found)
    return model
