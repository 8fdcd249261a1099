"""Numbers of the 7ess-Xin paper (tables I and II) and of the public log of the same trainings, with our names of models."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sentviz.io.lazy import pd
from sentviz.papers.sevenessxin.versions import ROPE
from sentviz.runs.registry import read_paper

FOLDER = Path(__file__).parent / "printed"
_PRESETS = read_paper(FOLDER.parent).presets
DATASET = "sentiment140"
METRICS = {"accuracy": "accuracy", "f1_positive": "F1", "precision_positive": "precision", "recall_positive": "recall"}
SENTENCES = {  # figures 6 and 7
    "contrast": "I hate Mondays but coffee makes me happy",
    "retraction": "Study makes me happy, just kidding",
}
PEAKS = {"contrast": ("but", "happy"), "retraction": ("happy", "kidding")}  # words that the paper sees peak in them
FIGURE_5 = {"negative": 0.738, "positive": 0.853}  # share of each class that is answered right


def train(study: str = "sevenessxin") -> str:
    """Return the command that trains the runs of a study."""
    return f"sentviz study {study} --dataset {DATASET}"


def table(name: str) -> pd.DataFrame:
    """A table: results (table II), versions (table I), or log (the trainings' export in the public repository GuenfoudiIhabe/7ess-Xin)."""
    return _read(name).copy()


@cache
def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / f"{name}.csv")


def title(preset: str) -> str:
    """Return the paper's name of a preset, as in "V1 (baseline)", and "V1 RoPE" for the second phase."""
    version = preset.removesuffix(f"-{ROPE}")
    if version not in _PRESETS:
        return preset
    named = _PRESETS[version].title.removeprefix("7ess-Xin ")
    return named if version == preset else f"{named.partition(' ')[0]} RoPE"
