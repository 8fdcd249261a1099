"""Tables I and II of 7ess-Xin with our numbers in them."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.papers.sevenessxin import printed_tables
from sentviz.papers.sevenessxin.study import beside, by_epochs, gains, longer
from sentviz.runs.presets import find_preset
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe


def budget() -> str:
    """Describe the updates and tweets that our runs and the paper's were trained with."""
    recipe = Recipe.read(f"sevenessxin_{printed_tables.DATASET}")
    return (
        f"Each of our versions has {recipe.updates:,} updates, whatever its batch size: V3 sees half as many tweets as V1, V4 twice as"
        " many. Our versions learn from 110,944 tweets, V5 from 100,000 of them (90 %); the paper's V5 has a sixteenth. The paper's V1 has"
        " 200,000 updates on 1,280,000 tweets. We do not have its complete data: levels differ, and only comparisons are judged."
        " The paper also has dropout on attention weights and inside the feed-forward part, and ours does not."
    )


def settings() -> tuple[pd.DataFrame, dict[str, str]]:
    """Table I: what is printed of each version, and the hidden width that its flag comes to in the published code."""
    frame = printed_tables.table("versions")
    frame["ffn_width"] = [find_preset(model).shape["ffn_width"] for model in frame["model"]]
    return frame.assign(model=frame["model"].map(printed_tables.title)), {"budget": budget()}


def results(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, str]]:
    """Table II: metric, model, printed, value, low, high (shares), n, seeds."""
    metrics = printed_tables.METRICS | {"validation_f1": "validation F1"}
    frame = pd.concat([beside(runs, name).assign(metric=title) for name, title in metrics.items()], ignore_index=True)
    return frame[["metric", "model", "printed", "value", "low", "high", "n", "seeds"]], {"budget": budget()}


def phases(runs: Sequence[Run]) -> pd.DataFrame:
    """RoPE and QK-norm against sinusoids: row, verdict, difference, low, high, printed, logged (shares), p, adjusted, seeds, n."""
    frame = gains(runs)[["row", "verdict", "difference", "low", "high", "printed", "logged", "p", "adjusted", "seeds", "n"]]
    if frame.empty:
        raise InputError(f"No version is installed in both phases: `{printed_tables.train()}` trains them.")
    return frame


def more_updates(runs: Sequence[Run]) -> pd.DataFrame:
    """What more updates are worth: as `sentviz.papers.sevenessxin.study.longer`."""
    frame = longer(runs)
    if frame.empty:
        raise InputError(f"No run with more updates is installed: `{printed_tables.train('sevenessxin-updates')}` trains them.")
    return frame


def equal_epochs(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, Recipe]]:
    """The versions at equal epochs: as `sentviz.papers.sevenessxin.study.by_epochs`; and their recipe."""
    frame = by_epochs(runs)
    if frame.empty:
        raise InputError(f"No run of equal epochs is installed: `{printed_tables.train('sevenessxin-versions-epochs')}` trains them.")
    return frame, {"recipe": Recipe.read(f"sevenessxin_{printed_tables.DATASET}")}


def log() -> pd.DataFrame:
    """Return the numbers of table II that differ from the public training log: model, metric, printed, logged, difference."""
    printed, logged = (printed_tables.table(name).set_index("model") for name in ("results", "log"))
    pairs = {name: (name, title) for name, title in printed_tables.METRICS.items()}
    pairs["validation_f1"] = ("best_validation_f1", "validation F1, best epoch")
    parts = []
    for column, (theirs, title) in pairs.items():
        both = printed[[column]].join(logged[[theirs]].rename(columns={theirs: "logged"})).dropna()
        both = both[both[column].round(4) != both["logged"].round(4)].rename(columns={column: "printed"})
        parts.append(both.assign(metric=title))
    frame = pd.concat(parts).reset_index()
    frame = frame.assign(model=frame["model"].map(printed_tables.title), difference=frame["printed"] - frame["logged"])
    return frame[["model", "metric", "printed", "logged", "difference"]]
