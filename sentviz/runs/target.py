"""The class that scores explain, against all other classes or against one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from sentviz.errors import InputError, nearest
from sentviz.io.arguments import Arg
from sentviz.io.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Target:
    """A class by name, and the class that it is compared with."""

    label: Annotated[str, Arg("Class that is explained; default: the predicted class.", name="target")] = ""
    against: Annotated[str, Arg("Class to compare it with; default: all other classes.")] = ""

    def resolved(self, labels: Sequence[str], predicted: int) -> Target:
        """Return the same target in its shortest form: without names if it is the predicted class against the rest.

        Args:
            labels: classes of the model. predicted: place of the predicted class.
        """
        for name in filter(None, (self.label, self.against)):
            if name not in labels:
                raise InputError(f"There is no class {name!r}; {nearest(name, list(labels))}the classes are {', '.join(labels)}.")
        label = self.label or labels[predicted]
        if self.against == label:
            raise InputError(f"The class {label!r} cannot be compared with itself. Name another class with `against`.")
        against = "" if len(labels) == 2 else self.against
        return Target("" if labels.index(label) == predicted and not against else label, against)

    def places(self, labels: Sequence[str], predicted: int) -> tuple[int, int | None]:
        """Return the place of the class, and of the class that it is compared with; None = all other classes."""
        short = self.resolved(labels, predicted)
        return labels.index(short.label) if short.label else predicted, labels.index(short.against) if short.against else None

    def says(self, prediction: str = "the prediction") -> str:
        """Return the target in words, for example "positive" or "positive against neutral"."""
        label = f"“{self.label}”" if self.label else prediction
        return f"{label} against “{self.against}”" if self.against else label


PREDICTED = Target()


def log_odds(logits: npt.NDArray[np.floating[Any]], k: int, against: int | None = None) -> npt.NDArray[np.float64]:
    """Return log p_k / (1 - p_k) for the softmax p of logits (.., K), also exact if p rounds to 1; with `against`, log p_k / p_against."""
    z = np.asarray(logits, dtype=np.float64)
    if against is not None:
        return np.asarray(z[..., k] - z[..., against])
    rest = np.delete(z, k, axis=-1)
    top = rest.max(axis=-1)
    return np.asarray(z[..., k] - top - np.log(np.exp(rest - top[..., None]).sum(axis=-1)))
