"""Load a stored run as a model, by the network and the model class of its kind."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from sentviz.errors import RunError
from sentviz.runs.store import Folders, Run, find

if TYPE_CHECKING:
    from sentviz.data.tokenizers import Tokenizer
    from sentviz.models.model import Model
    from sentviz.models.protocol import Network
    from sentviz.runs.configs import ModelConfig

NETWORKS = {  # `KIND` of a configuration -> network, if the configuration alone describes it
    "encoder": "sentviz.models.encoder:Encoder",
    "recurrent": "sentviz.models.baselines:Recurrent",
    "convolutional": "sentviz.models.baselines:Convolutional",
}
MODELS = {  # `KIND` -> class that opens the runs, if it is not `Model`
    "hub": "sentviz.models.hub.model:HubModel",
    "hardmax": "sentviz.models.hardmax:HardmaxModel",
}


def load(run: str | Path | Run, folders: Folders = (), *, epoch: int = 0, max_length: int = 0) -> Model:
    """Return the read-only model of a run, given by name (`sst2/ndt-unit-2`), by folder or as a `Run`.

    Args:
        epoch: use the weights after this epoch, counted from 1 (one of `Run.epochs`); 0 = the best state.
        max_length: number of tokens that the model reads, if its positions follow a formula; 0 = as it was trained. Positions beyond those
            of the training were never trained.
    Raises:
        RunError: the run is unknown, damaged or not written by sentviz (the message names file and reason), the epoch was not stored, or
            the positions are learned.
    """
    run = run if isinstance(run, Run) else find(run, folders)
    run = run.at(epoch) if epoch else run
    run = run.longer(max_length) if max_length else run
    if run.shape.KIND not in MODELS:
        return _opened(run)
    model: Model = model_class(run.shape).of(run)  # type: ignore[attr-defined]  # classes of `MODELS` open their runs themselves
    return model


def network_of(config: ModelConfig) -> Network:
    """Return a new network of a configuration.

    Raises:
        RunError: the configuration alone does not describe the network, for example for an encoder of the Hugging Face hub.
    """
    if config.KIND not in NETWORKS:
        raise RunError(f"A model of the kind {config.KIND!r} cannot be made from its configuration alone.")
    network: Network = resolve_name(NETWORKS[config.KIND])(config)
    return network


def model_class(config: ModelConfig) -> type[Model]:
    """Return the class of models with this kind of configuration."""
    cls: type[Model] = resolve_name(MODELS.get(config.KIND, "sentviz.models.model:Model"))
    return cls


def _opened(run: Run) -> Model:
    """Return the model of a run whose configuration alone describes the network."""
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
