"""The settings of the playground of the hardmax rule: points, the matrix A, and the text of both in a link."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.errors import InputError
from sentviz.models.clustering.dynamics import Kind

Doubles = npt.NDArray[np.float64]
MOST = 2_000
START = {
    "gauss": "Gaussian",
    "disc": "uniform in a ball",
    "sphere": "on a sphere",
    "clusters": "five clusters",
    "grid": "grid",
    "clicked": "clicked",
    "pasted": "pasted",
}
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, MOST)
DEFAULTS: dict[str, str | int | float] = {"dimension": "2", "start": "gauss", "n": 100, "seed": 0, "alpha": 1.0, "layers": 10, "angle": 0}
DEFAULTS |= {"e1": 1.0, "e2": 1.0, "e3": 1.0, "turn": 0}  # eigenvalues of S and the rotation, A = rotation x S
ALLOWED: dict[str, tuple[Any, ...]] = {"dimension": ("2", "3"), "start": tuple(START), "n": COUNTS, "angle": tuple(range(0, 181, 5))}
ALLOWED |= {"turn": tuple(range(-180, 181, 5))}
RANGES = {"seed": (0, 9_999), "layers": (1, 60)}
OF_A = ("e1", "e2", "e3", "angle", "turn")
MATRICES: dict[str, dict[str, Any]] = {  # examples of A: title -> its settings, if they differ from the defaults
    "identity": {},
    "positive definite": {"e1": 3.0, "angle": 30},
    "low rank": {"e2": 0.0, "e3": 0.0, "angle": 30},
    "negative eigenvalue": {"e2": -1.0},
    "all negative": {"e1": -1.0, "e2": -1.0, "e3": -1.0},
    "not symmetric": {"turn": 45},
}
SAID: dict[Kind, str] = {  # caption for each kind of A: the scope of the theorem
    "definite": "A is symmetric and positive definite: the theorem is proved for this A.",
    "semidefinite": "A is symmetric, but an eigenvalue is 0: A has a low rank, and the theorem is not proved for it. Attention does not see"
    " differences between tokens in the directions that A maps to 0.",
    "indefinite": "A is symmetric, but an eigenvalue is negative: the theorem is not proved. A token can look in the opposite direction, so"
    " that fewer tokens lead.",
    "general": "A is not symmetric: the theorem is not proved, and A defines no norm. Tokens can chase each other, and fewer of them lead.",
}


def settings(link: str) -> dict[str, Any]:
    """Return the settings of a link such as `n:50~alpha:0.5`, with the default of each that is missing or has a wrong value."""
    chosen: dict[str, Any] = dict(DEFAULTS)
    for part in link.split("~"):
        name, _, word = part.partition(":")
        try:
            value = type(DEFAULTS[name])(word)
        except (KeyError, ValueError):
            continue
        low, high = RANGES.get(name, (-1e9, 1e9))
        if value in ALLOWED.get(name, (value,)) and (isinstance(value, str) or low <= value <= high):
            chosen[name] = value
    return chosen


def linked(chosen: Mapping[str, Any]) -> str:
    """Return the settings that differ from their defaults, written as in a link."""
    moved = {name: value for name, value in chosen.items() if value != DEFAULTS[name]}
    return "~".join(f"{name}:{value:.10g}" if isinstance(value, float) else f"{name}:{value}" for name, value in moved.items())


def example_of(chosen: Mapping[str, Any]) -> str | None:
    """Return the title of the example of A that the settings are; None for another A."""
    dimension = int(chosen["dimension"])
    of_a = {name: chosen[name] for name in OF_A if name not in [f"e{i}" for i in range(dimension + 1, 4)]}
    return next((title for title, values in MATRICES.items() if of_a == {name: values.get(name, DEFAULTS[name]) for name in of_a}), None)


def with_example(chosen: Mapping[str, Any], title: str) -> dict[str, Any]:
    """Return the settings with an example of A."""
    return {**chosen, **{name: DEFAULTS[name] for name in OF_A}, **MATRICES[title]}


def matrix_of(values: list[float], angle: float, turn: float = 0.0) -> Doubles:
    """Return the symmetric matrix with these eigenvalues and its first axis at `angle` degrees, followed by a rotation by `turn` degrees.

    Both are in the plane of the first two coordinates.
    """
    axes, rotation = (_rotation(len(values), degrees) for degrees in (angle, turn))
    return np.asarray(rotation @ axes @ np.diag(values) @ axes.T)


def _rotation(dimension: int, degrees: float) -> Doubles:
    rotation = np.eye(dimension)
    c, s = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    rotation[:2, :2] = [[c, -s], [s, c]]
    return rotation


def starts(kind: str, n: int, dimension: int, seed: int) -> Doubles:
    """Return tokens (n, d) of a kind of `START`, which are the same for the same seed."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, dimension))
    match kind:
        case "sphere":
            return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))
        case "disc":
            return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True) * rng.uniform(size=(n, 1)) ** (1 / dimension))
        case "clusters":
            centres = rng.normal(size=(5, dimension)) * 2
            return np.asarray(centres[rng.integers(0, 5, n)] + 0.25 * z)
        case "grid":
            side = max(2, round(n ** (1 / dimension)))
            axes = np.meshgrid(*[np.linspace(-1, 1, side)] * dimension, indexing="ij")
            return np.stack(axes, axis=-1).reshape(-1, dimension)[:n]
        case _:
            return z


def pasted(text: str, dimension: int, *, what: str = "points") -> Doubles:
    """Return rows of numbers (n, d) from a text that separates them with commas, semicolons, tabs or blanks."""
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = [part for part in re.split(r"[,;\s]+", line.strip().strip("[]()")) if part]
        if not parts:
            continue
        try:
            values = [float(part) for part in parts]
        except ValueError:
            raise InputError(
                f"Line {number} of the {what} contains a value that is not a number. Write numbers separated by commas."
            ) from None
        if len(values) != dimension:
            raise InputError(f"Line {number} of the {what} contains {len(values)} numbers, but {dimension} are needed.")
        if not np.isfinite(values).all() or max(map(abs, values)) > 1e9:
            raise InputError(f"Line {number} of the {what} contains a number that is not finite or larger than 10⁹.")
        rows.append(values)
        if len(rows) > MOST:
            raise InputError(f"The playground takes at most {MOST:,} rows. Remove some rows.")
    if not rows:
        raise InputError("Type at least one point, one per line, for example 0.5, 1.")
    return np.array(rows)
