"""Open a model: a stored run, by the network and the model class of its kind, or a model that sentviz did not train."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from sentviz.data.tags import TAGGER, Tagger
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.models.folder import is_model_folder
from sentviz.runs.configs import ModelConfig
from sentviz.runs.store import Folders, Run, find

if TYPE_CHECKING:
    from sentviz.models.model import Model
    from sentviz.models.protocol import Network

NETWORKS = {  # `KIND` of a configuration -> network, if the configuration alone describes it
    "encoder": "sentviz.models.encoder:Encoder",
    "recurrent": "sentviz.models.baselines:Recurrent",
    "convolutional": "sentviz.models.baselines:Convolutional",
}
MODELS = {  # `KIND` -> class that opens the runs, if it is not `Model`
    "hub": "sentviz.models.hub.model:HubModel",
    "hardmax": "sentviz.models.hardmax:HardmaxModel",
}


def load(
    source: str | Path | Run | Any,
    tokenizer: Any = None,
    *,
    classes: Sequence[str] = (),
    head: Any = None,
    folders: Folders = (),
    epoch: int = 0,
    max_length: int = 0,
) -> Model:
    """Return a read-only model: a run, given by name (`sst2/ndt-unit-2`), by folder or as a `Run`, or a model of yours.

    A model of yours is a folder in the layout of Hugging Face or sentence-transformers, a model of transformers with its tokenizer, or a
    black box: an object with `predict_proba`, such as a pipeline of scikit-learn, or a function of a list of texts that returns class
    probabilities. Code in a folder is never run, and pickles are never read. A text that spells a special token, such as [SEP], has this
    token if the model's own tokenizer says so; for a run that was trained here it is plain text.

    Args:
        tokenizer: tokenizer of a model of transformers.
        classes: class names of a model of yours, in its order; needed if it has none, or only LABEL_0, LABEL_1 and so on.
        head: classifier on the vectors of an encoder: a fitted linear classifier of scikit-learn, a `torch.nn.Linear`, or a safetensors
            file with weight and bias.
        folders: further folders to search for the run.
        epoch: use the weights after this epoch, counted from 1 (one of `Run.epochs`); 0 = the best state.
        max_length: number of tokens that the model reads, if its positions follow a formula; 0 = as it was trained. Positions beyond those
            of the training were never trained.
    Raises:
        RunError: the run is unknown, damaged or not written by sentviz (the message names file and reason), the epoch was not stored, the
            positions are learned, or a model of yours cannot be opened.
    """
    if not isinstance(source, str | Path | Run) or (isinstance(source, str | Path) and is_model_folder(source)):
        if epoch or max_length:
            raise InputError("epoch and max_length are for runs of sentviz.")
        brought: Model
        if tokenizer is None and head is None and not isinstance(source, str | Path) and not hasattr(source, "base_model"):
            brought = resolve_name("sentviz.models.blackbox:BlackBox").of(source, classes)
        else:
            brought = resolve_name("sentviz.models.hub:load")(source, tokenizer, classes=classes, head=head)
        return brought
    if tokenizer is not None or head is not None or classes:
        raise InputError("A run of sentviz has its tokenizer, its classes and its head. To search further folders, write folders=...")
    run = source if isinstance(source, Run) else find(source, folders)
    if isinstance(run, resolve_name("sentviz.models.in_memory:OpenModel")):
        in_memory: Model = run.opened
        return in_memory
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
