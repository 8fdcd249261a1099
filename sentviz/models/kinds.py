"""The network and the model class of each kind of configuration, imported when they are used."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from sentviz.errors import RunError

if TYPE_CHECKING:
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
