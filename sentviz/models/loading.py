"""A stored run as a model, whichever kind it is of."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from sentviz.runs import Folders, Run, find

if TYPE_CHECKING:
    from sentviz.models.model import Model

__all__ = ["load"]


def load(run: str | Path | Run, folders: Folders = (), *, epoch: int = 0, max_length: int = 0) -> Model:
    """A run by name (`sst2/ndt-unit-2`), by folder or as found in a catalog, as a read-only model.

    Args:
        epoch: the model as it was after this epoch, counted from 1, of those that the run keeps (`Run.epochs`); 0 = its best state.
        max_length: how many tokens it reads, where its positions follow a formula that goes on; 0 = as it was trained. What it says of
            places beyond those of its training was never trained.
    Raises:
        RunError: unknown, foreign or damaged; the message names the file and the reason. An epoch that was not kept; learned positions.
    """
    found = run if isinstance(run, Run) else find(run, folders)
    found = found.at(epoch) if epoch else found
    found = found.longer(max_length) if max_length else found
    model: Model = resolve_name(found.shape.MODEL).of(found)
    return model
