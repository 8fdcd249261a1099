"""A stored run as a model, whichever kind it is of."""

from __future__ import annotations

from pathlib import Path

from sentviz.models.model import Model
from sentviz.runs import Folders, Run, find

__all__ = ["load"]


def load(run: str | Path | Run, folders: Folders = ()) -> Model:
    """A run by name (`sst2/ndt-unit-2`), by folder or as found in a catalog, as a read-only model.

    Raises:
        RunError: unknown, foreign or damaged; the message names the file and the reason.
    """
    found = run if isinstance(run, Run) else find(run, folders)
    match found.config["model"].get("kind"):
        case "hardmax":
            from sentviz.models.hardmax import HardmaxModel

            return HardmaxModel.of(found)
        case "hub":
            from sentviz.models.hub.model import HubModel

            return HubModel.of(found)
    return Model.of(found)
