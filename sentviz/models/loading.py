"""A stored run as a model, whichever kind it is of."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.runs import Folders, Run, find

if TYPE_CHECKING:
    from sentviz.models.model import Model

__all__ = ["load"]

MODELS = {  # kind of a configuration -> who makes a model of its runs
    "encoder": "sentviz.models.model:Model",
    "hub": "sentviz.models.hub.model:HubModel",
    "hardmax": "sentviz.models.hardmax:HardmaxModel",
}


def load(run: str | Path | Run, folders: Folders = (), *, epoch: int = 0) -> Model:
    """A run by name (`sst2/ndt-unit-2`), by folder or as found in a catalog, as a read-only model.

    Args:
        epoch: the model as it was after this epoch, counted from 1, of those that the run keeps (`Run.epochs`); 0 = its best state.
    Raises:
        RunError: unknown, foreign or damaged; the message names the file and the reason. An epoch that was not kept.
    """
    found = run if isinstance(run, Run) else find(run, folders)
    found = found.at(epoch) if epoch else found
    module, _, name = MODELS[found.shape.KIND].partition(":")
    model: Model = getattr(import_module(module), name).of(found)
    return model
