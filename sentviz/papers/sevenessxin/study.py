"""The runs of the 7ess-Xin study, phase against phase, version against version and over rows; tables I and II with our numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sentviz.analysis.evaluation import RESAMPLES, from_confusion, interval, wilson
from sentviz.analysis.seeds import SeedNoise
from sentviz.data import datasets
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.papers.sevenessxin import printed_tables
from sentviz.papers.sevenessxin.printed_tables import DATASET
from sentviz.papers.sevenessxin.versions import EPOCHS, LONGER, ROPE, SIZES, VERSIONS, both
from sentviz.papers.studies import compare_configurations
from sentviz.papers.studies.compare_configurations import Configurations, compared, compared_frame, mixed, over_seeds
from sentviz.papers.studies.means import combined
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.presets import VARIANT_SETTINGS, find_preset
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from sentviz.training.recipe import Recipe


def configurations(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The study's runs by preset, V1 first, each version in its two phases, seeds in order."""
    return compare_configurations.configurations(runs, DATASET, both(VERSIONS))


def at_equal_epochs(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """The versions' runs that read all their tweets for the recipe's number of epochs, by preset, V1 first, seeds in order."""
    by_variant = compare_configurations.configurations(runs, DATASET, [f"{preset}-{EPOCHS[-1]}" for preset in both(VERSIONS)])
    return {name.removesuffix(f"-{EPOCHS[-1]}"): seeds for name, seeds in by_variant.items()}


def noise(runs: Iterable[Run]) -> SeedNoise | None:
    """Return the variation between seeds, pooled over the configurations with several seeds."""
    return seed_noise(configurations(runs).values())


def beside(runs: Iterable[Run], metric: str = "accuracy") -> pd.DataFrame:
    """Table II and ours: preset, model (a title), printed, value, low, high, n, seeds; shares (0..1), NaN is unknown.

    Args:
        metric: of a test split, one of `prints.METRICS`, or validation_f1: that of the state which was chosen by it.
    """
    by_preset = configurations(runs)
    if metric == "validation_f1":
        with_validation = {
            name: seeds for name, seeds in by_preset.items() if all("confusion" in run.metrics().get("validation", {}) for run in seeds)
        }
        measured = pd.DataFrame([{"model": name} | validation_f1(seeds) for name, seeds in with_validation.items()], columns=_NUMBERS)
    else:
        measured = over_seeds(by_preset, metric)
    in_paper = printed_tables.table("results").set_index("model")[metric]
    frame = compare_configurations.beside(both(VERSIONS), in_paper, measured).rename(columns={"model": "preset"})
    frame.insert(1, "model", frame["preset"].map(printed_tables.title))
    return frame


_NUMBERS = ["model", "value", "low", "high", "n", "seeds"]


def validation_f1(runs: Sequence[Run], seed: int = 0) -> dict[str, Any]:
    """F1 of the positive class on the half of validation that chose the state, with an interval: value, low, high, n, seeds.

    It is the best of several looks at these rows, so it lies a little above what other rows would give.
    """
    rng = np.random.default_rng(seed)
    several = []
    for run in runs:
        counts = np.array(run.metrics()["validation"]["confusion"])
        draws = rng.multinomial(counts.sum(), counts.ravel() / counts.sum(), size=RESAMPLES).reshape(-1, *counts.shape)
        several.append(interval(float(from_confusion(counts[None])["f1_positive"][0]), from_confusion(draws)["f1_positive"]))
    return combined(several) | {"n": int(counts.sum()), "seeds": len(several)}


def gains(runs: Iterable[Run]) -> pd.DataFrame:
    """RoPE with QK-norm against sinusoids, version by version, Holm's correction over the versions.

    Columns: version, row (its title), difference, low, high, p, adjusted, verdict, kind, seeds, n; printed, logged (differences). Shares.
    """

    every = list(runs)
    by_preset, spread = configurations(every), noise(every)
    by_version = {
        v: mixed(by_preset[f"{v}-{ROPE}"], by_preset[v], noise=spread) for v in VERSIONS if v in by_preset and f"{v}-{ROPE}" in by_preset
    }
    reported = {name: printed_tables.table(name).set_index("model")["accuracy"] for name in ("results", "log")}
    frame = compared_frame(by_version).rename(columns={"name": "version"})
    frame["row"] = frame["version"].map(printed_tables.title)
    frame["kind"] = frame["test"].replace("McNemar", "one seed")
    frame["seeds"] = frame[["seeds", "base_seeds"]].min(axis=1)
    frame = frame[["version", "row", "difference", "low", "high", "p", "adjusted", "verdict", "kind", "seeds", "n"]]
    for column, name in (("printed", "results"), ("logged", "log")):
        values = {v: reported[name].get(f"{v}-{ROPE}", np.nan) - reported[name].get(v, np.nan) for v in VERSIONS}
        frame[column] = frame["version"].map(values).astype(float)
    return frame


def versions(by_preset: Configurations, base: str) -> pd.DataFrame:
    """Every configuration of one's phase against it, as `compared` gives it, with titles."""
    phase = {name: seeds for name, seeds in by_preset.items() if name.endswith(ROPE) == base.endswith(ROPE)}
    frame = compared(phase, base, noise=seed_noise(by_preset.values()))
    return frame.assign(title=[printed_tables.title(model) for model in frame["model"]])


def sized(runs: Iterable[Run], preset: str) -> dict[str, list[Run]]:
    """The runs of a preset by how much they learned from, fewest rows first."""
    return compare_configurations.configurations(runs, DATASET, [*(f"{preset}-{size}" for size in SIZES), preset])


def of_equal_epochs(runs: Iterable[Run], preset: str) -> list[list[Run]]:
    """Return a preset's runs on the fewest and on all tweets that trained for the same number of epochs; empty if one is missing."""
    by_variant = compare_configurations.configurations(runs, DATASET, [f"{preset}-{variant}" for variant in EPOCHS])
    return list(by_variant.values()) if len(by_variant) == len(EPOCHS) else []


def epochs(run: Run) -> float:
    """Return how often a run read its training rows."""
    return float(run.history()["epoch"].max())


def curve(runs: Iterable[Run]) -> pd.DataFrame:
    """V1 in both phases over the number of tweets it learned from: preset, rows, value, low, high, n, seeds, printed.

    The last point is all that are here; the paper's own two are V5 (80,000 of its 100,000) and V1 (1,280,000 of 1.6 million).
    """
    every, whole = list(runs), datasets.info(DATASET).splits["train"]
    printed = printed_tables.table("results").set_index("model")["accuracy"]
    parts = []
    for preset in both(VERSIONS[:1]):
        by_size = sized(every, preset)
        means = over_seeds(by_size).rename(columns={"model": "name"})
        rows = [VARIANT_SETTINGS[size]["rows"] if (size := name.removeprefix(f"{preset}-")) in SIZES else whole for name in means["name"]]
        phase = preset.removeprefix(VERSIONS[0])
        theirs = pd.DataFrame({"rows": [80_000, 1_280_000], "printed": [printed[f"7ess-v5{phase}"], printed[f"7ess-v1{phase}"]]})
        parts += [means.assign(rows=rows, preset=preset), theirs.assign(preset=preset)]
    frame = pd.concat(parts, ignore_index=True)
    return frame[["preset", "rows", "value", "low", "high", "n", "seeds", "printed"]].astype(
        dict.fromkeys(("rows", "value", "low", "high", "n", "seeds", "printed"), float)
    )


def longer(runs: Iterable[Run]) -> pd.DataFrame:
    """V1 in both phases by updates: model (a title), updates, epochs (passes over the tweets), value, low, high, n, seeds, printed.

    Accuracies are shares (0 to 1). Empty if no run has more updates than the others.
    """
    every, printed = list(runs), printed_tables.table("results").set_index("model")["accuracy"]
    rows = []
    for preset in both(VERSIONS[:1]):
        by_variant = compare_configurations.configurations(every, DATASET, [preset, *(f"{preset}-{variant}" for variant in LONGER)])
        for row in over_seeds(by_variant).to_dict("records") if len(by_variant) > 1 else ():
            config = by_variant[row["model"]][0].config
            seen = config["steps"] * config["recipe"]["batch_size"] / datasets.info(DATASET).splits["train"]
            values = {name: row[name] for name in _NUMBERS[1:]} | {"printed": printed[preset]}
            rows.append({"model": printed_tables.title(preset), "updates": config["steps"], "epochs": seen} | values)
    return pd.DataFrame(rows, columns=["model", "updates", "epochs", *_NUMBERS[1:], "printed"])


def by_epochs(runs: Iterable[Run]) -> pd.DataFrame:
    """The versions at equal epochs: model (a title), updates, value, low, high, n, seeds, at_updates (accuracy at equal updates), printed.

    Accuracies are shares (0 to 1), means over seeds. Empty if no version is installed.
    """
    every, printed = list(runs), printed_tables.table("results").set_index("model")["accuracy"]
    by_preset = at_equal_epochs(every)
    frame, fewer = over_seeds(by_preset), over_seeds(configurations(every)).set_index("model")["value"]
    frame = frame.assign(
        updates=[by_preset[preset][0].config["steps"] for preset in frame["model"]],
        at_updates=frame["model"].map(fewer),
        printed=frame["model"].map(printed),
        model=frame["model"].map(printed_tables.title),
    )
    return frame[["model", "updates", *_NUMBERS[1:], "at_updates", "printed"]]


def rates(runs: Sequence[Run]) -> dict[str, tuple[float, float, float]]:
    """Return the share of each class's rows predicted correctly, with a Wilson interval, from the runs' mean confusion matrix."""
    counts = np.sum([run.metrics()["test"]["confusion"] for run in runs], axis=0) / len(runs)
    by_label = {}
    for place, label in enumerate(runs[0].labels):
        low, high = wilson(counts[place, place], counts[place].sum())
        by_label[label] = (float(counts[place, place] / counts[place].sum()), float(low), float(high))
    return by_label


def recalls_in_words(run: Run | None) -> list[str]:
    """Return the recall of each class that figure 5 prints, and that of a run."""
    low, high = printed_tables.FIGURE_5["negative"], printed_tables.FIGURE_5["positive"]
    reported = f"**Reported (figure 5):** {percent(high)} of positive and {percent(low)} of negative tweets are classified correctly."
    if run is None:
        return [reported]
    recalls = [f"{percent(value, ends=(a, b))} of {label}" for label, (value, a, b) in rates([run]).items()]
    return [reported, f"**{run.name}:** {' and '.join(recalls[::-1])} tweets."]


def printed_recalls_in_words() -> str:
    """Return why the recalls that the paper prints do not fit its other numbers."""
    low, high = printed_tables.FIGURE_5["negative"], printed_tables.FIGURE_5["positive"]
    return (
        f"On a balanced test set the reported recalls give an accuracy of {percent((low + high) / 2)} and a precision"
        f" of {high / (high + 1 - low):.3f}; table II says 83.13 % and 0.823. The text next to the figure says about 33 % false"
        " negatives and 20 % false positives. These three statements cannot be true for one model."
    )


def padding_compared(masked: Trace, read: Trace) -> pd.DataFrame:
    """Return what a model makes of a text with padding that is masked, and with padding that is read."""
    assert masked.pooled is not None and read.pooled is not None
    words = len(read.tokens) - read.padding
    on_padding = float(read.map(0).mean(axis=0)[words:].sum())
    shift = float(np.linalg.norm(read.pooled - masked.pooled) / np.linalg.norm(masked.pooled))
    return pd.DataFrame(
        {
            "padding": ["masked", "read"],
            "prediction": [f"{trace.label}, {percent(trace.confidence, 0)}" for trace in (masked, read)],
            "tokens": [len(masked.tokens), len(read.tokens)],
            "attention of layer 1 on padding": ["none", percent(on_padding, 0)],
            "change of the pooled vector": ["", f"{percent(shift, 0)} of its length"],
        }
    )


# ---- the tables


def budget() -> str:
    """Describe the updates and tweets that our runs and the paper's were trained with."""
    recipe = Recipe.read(f"sevenessxin_{DATASET}")
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
    """What more updates are worth: as `longer`."""
    frame = longer(runs)
    if frame.empty:
        raise InputError(f"No run with more updates is installed: `{printed_tables.train('sevenessxin-updates')}` trains them.")
    return frame


def equal_epochs(runs: Sequence[Run]) -> tuple[pd.DataFrame, dict[str, Recipe]]:
    """The versions at equal epochs: as `by_epochs`; and their recipe."""
    frame = by_epochs(runs)
    if frame.empty:
        raise InputError(f"No run of equal epochs is installed: `{printed_tables.train('sevenessxin-versions-epochs')}` trains them.")
    return frame, {"recipe": Recipe.read(f"sevenessxin_{DATASET}")}


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
