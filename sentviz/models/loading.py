"""A stored run as a model, whichever kind it is of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sentviz.models.kinds import MODELS, model_class, network_of
from sentviz.runs.store import Folders, Run, find

if TYPE_CHECKING:
    from sentviz.data.tokenizers import Tokenizer
    from sentviz.models.model import Model
    from sentviz.models.protocol import Network


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
    if found.shape.KIND not in MODELS:
        return _opened(found)
    model: Model = model_class(found.shape).of(found)  # type: ignore[attr-defined]  # classes of `MODELS` open their runs themselves
    return model


def _opened(run: Run) -> Model:
    """Return the model of a run whose network its configuration alone describes."""
    from sentviz.data.tags import TAGGER, Tagger
    from sentviz.data.tokenizers import Tokenizer
    from sentviz.models.model import Model, filled

    network: Network
    tokenizer: Tokenizer
    if "base" in run.config:
        from sentviz.models.pretrained.adapter import adapted

        network, tokenizer = adapted(run)
    else:
        network = filled(lambda: network_of(run.shape), run)
        tokenizer = Tokenizer.load(run.path("tokenizer.json"))
    cls = bool(run.config["tokenizer"].get("cls", False))
    tagger = Tagger.load(run.path(TAGGER)) if run.shape.capabilities.tags else None
    return Model(run.name, network, tokenizer, run.labels, calibration=run.calibration, cls=cls, tagger=tagger)
