"""Resume points: tensors and progress of a training run, in a hidden folder next to the run's folder.

state.safetensors      model.*, best.*, optimizer.<i>.*, epoch.<number>.* (kept ones, in stored form), rng, and on a GPU rng.cuda
progress.json          recipe, digests of the rows, names of the tensors, progress
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from sentviz.data.datasets import Split
from sentviz.errors import RunError
from sentviz.io.files import open_regular, read_regular, restored, writing
from sentviz.runs import store
from sentviz.runs.run_files import most
from sentviz.training.recipe import Recipe, learned

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Progress:
    """The progress of a training run; together with the tensors it is all that resuming needs."""

    step: int = 0
    since_best: int = 0
    best: dict[str, float] = field(default_factory=dict)  # accuracy, loss, selected metric, step and epoch of the best state
    seconds: float = 0.0
    loss_sum: float = 0.0  # sum of losses since the last log
    loss_steps: int = 0
    stopped: bool = False
    history: list[list[Any]] = field(default_factory=list)  # step, epoch, name, layer, component, value


def write(folder: Path, tensors: Mapping[str, Tensor], recipe: Recipe, splits: Sequence[Split], at: Progress) -> None:
    """Write the resume point of a run, with the state of the CPU's random numbers; the old one is replaced when it is complete.

    Raises:
        RunError: it cannot be written.
    """
    all_tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()} | {"rng": torch.get_rng_state()}
    stored = {"recipe": recipe.as_dict(), "data": _digests(splits), "tensors": sorted(all_tensors), "at": asdict(at)}
    try:
        with writing(store.resume_point(folder)) as fresh:
            save_file(all_tensors, fresh / "state.safetensors")
            (fresh / "progress.json").write_text(json.dumps(stored))
    except (OSError, SafetensorError) as error:
        message = (
            f"The resume point {store.resume_point(folder)} cannot be written ({reason(error)}). An earlier resume point, if any, is kept."
        )
        raise RunError(message) from error


def read(folder: Path, recipe: Recipe, splits: Sequence[Split], device: torch.device) -> tuple[Progress, dict[str, Tensor]] | None:
    """Return progress and tensors of a run's resume point; None if there is none.

    Raises:
        RunError: it is damaged, or belongs to other data or to a recipe that differs in more than example, transfer and kept epochs.
    """
    place = restored(store.resume_point(folder))
    if not (place / "progress.json").is_file():
        return None
    try:
        stored = json.loads(read_regular(place / "progress.json", most("progress.json"), "progress.json"))
        open_regular(place / "state.safetensors", most("state.safetensors"), "state.safetensors").close()
        at, data = Progress(**stored["at"]), stored.get("data", _digests(splits))  # older versions stored no digests of the data
        if learned(Recipe.of(stored["recipe"]).as_dict()) != learned(json.loads(json.dumps(recipe.as_dict()))):
            raise RunError(f"The resume point {place} belongs to another recipe; delete it to start again.")
        if data != _digests(splits):
            raise RunError(f"The resume point {place} belongs to other rows of {recipe.dataset}; delete it to start again.")
        tensors = load_file(place / "state.safetensors", device=str(device))
        if missing := sorted(set(stored.get("tensors", ())) - tensors.keys()):
            raise KeyError(f"{missing[0]} is missing")
    except RunError:
        raise
    except Exception as error:
        raise damaged(folder, error) from error
    return at, tensors


def _digests(splits: Sequence[Split]) -> dict[str, str]:
    return {each.split: each.digest for each in splits}


def damaged(folder: Path, error: Exception) -> RunError:
    """Return the error for a resume point that cannot be used."""
    return RunError(f"The resume point {store.resume_point(folder)} is damaged ({reason(error)}); delete it to start again.")


def reason(error: Exception) -> str:
    """Return an error message on one line."""
    return " ".join(str(error).split())


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Put tensors with names `<i>.<name>` back into an optimizer."""
    state = optimizer.state_dict()
    for name, tensor in tensors.items():
        i, key = name.split(".")
        state["state"].setdefault(int(i), {})[key] = tensor
    optimizer.load_state_dict(state)


def restore_random(tensors: Mapping[str, Tensor], device: torch.device) -> None:
    """Restore the states of the random number generators, on the CPU and on the device of the training."""
    torch.set_rng_state(tensors["rng"].cpu())
    if device.type == "cuda":
        torch.cuda.set_rng_state(tensors["rng.cuda"].cpu())
