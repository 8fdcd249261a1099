"""A model that is open in memory, in the place of a run: it has a name, classes and capabilities, but no files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.configs import Capabilities
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace


@dataclass(frozen=True)
class OpenModel(Run):
    """A model without a run's folder. What needs files says that they are missing."""

    model: Model | None = None
    first_trace: Trace | None = field(default=None, compare=False)  # trace of the text that pages show first

    @classmethod
    def of(cls, model: Model, *, name: str = "", first_trace: Trace | None = None) -> OpenModel:
        """Return a model in the place of a run, called `name`; by default it keeps its own name."""
        return cls(name or model.name, Path(), model=model, first_trace=first_trace)

    @property
    def opened(self) -> Model:
        """The model."""
        assert self.model is not None
        return self.model

    @cached_property
    def config(self) -> dict[str, Any]:
        """What a run's config.json would say."""
        parameters = self.opened.network.parameters_count() or float("nan")  # unknown for a black box
        about = {"parameters": parameters, "seconds": 0, "hardware": "", "preset": ""}
        return about | {"files": {}, "recipe": {"seed": None}, "data": {"name": "", "splits": {}}}

    @property
    def files(self) -> dict[str, str]:
        """No files."""
        return {}

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the model."""
        return self.opened.capabilities

    @cached_property
    def digest(self) -> str:
        """No digest, because there are no files."""
        return ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Class names in the order of the logits."""
        return self.opened.labels

    @property
    def calibration(self) -> float:
        """Temperature of the probabilities."""
        return self.opened.calibration

    @property
    def has_weights(self) -> bool:
        """True, because the model predicts."""
        return True

    @property
    def keeping(self) -> str:
        """The command that fine-tunes an encoder and stores the weights after each epoch."""
        return "sentviz train DATASET --hub FOLDER --keep-epochs 3"

    def metrics(self) -> dict[str, Any]:
        """No metrics, because there are no test rows."""
        return {}

    def example(self) -> Trace:
        """Return the trace of the text that pages show first. Raises InputError if there is none."""
        if self.first_trace is not None:
            return self.first_trace
        raise InputError(f"{self.name} is a model without an example: give a text.")
