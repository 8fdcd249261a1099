"""Tables I and II of 7ess-Xin with our numbers in them."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.papers.sevenessxin import leak, measured, prints
from sentviz.papers.sevenessxin.study import beside, gains, longer
from sentviz.papers.studies.against import SEEDS_IN_WORDS
from sentviz.papers.studies.made import Table
from sentviz.runs.presets import find_preset
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe


def budget() -> str:
    """What the runs here were given, beside the paper's own trainings, in words."""
    recipe = Recipe.read(f"sevenessxin_{prints.DATASET}")
    return (
        f"Ours have {recipe.updates:,} updates each, whatever the version's batch (so V3 sees half as many tweets as V1, V4 twice as many),"
        " on 110,944 tweets (V5: 100,000); the paper's V1 has 200,000 updates on 1,280,000."
        " Its full data cannot be had here, so levels differ and only comparisons are judged."
    )


def settings(runs: Sequence[Run]) -> Table:
    """Table I: what is printed of each version, and the hidden width that its flag comes to in the published code."""
    frame = prints.table("versions")
    frame["ffn_width"] = [find_preset(model).shape["ffn_width"] for model in frame["model"]]
    words = (
        "As printed. The feed-forward flag is halved by integer division before the model is made, so 2 and 3 mean an expansion of 1, and 4"
        " means 2. Tweets have at most about fifty tokens, so maximum lengths of 128, 148 and 256 read the same: at equal updates V6 is V2,"
        f" answer for answer, and V10 differs in its batch alone. {budget()}"
    )
    return Table("versions", "Settings of the ten versions", frame.assign(model=frame["model"].map(prints.title)), words)


def results(runs: Sequence[Run]) -> Table:
    """Table II: metric, model, printed, value, low, high (shares), n, seeds."""
    import pandas as pd

    metrics = prints.METRICS | {"validation_f1": "validation F1"}
    frame = pd.concat([beside(runs, name).assign(metric=title) for name, title in metrics.items()], ignore_index=True)
    words = (
        "Test accuracy, and precision, recall and F1 of the positive class, with 95% intervals over test rows and, with several seeds, over"
        " seeds. Validation F1 is that of the state chosen by it, so a little high; most printed ones are of the last epoch instead."
        f" {budget()}"
    )
    return Table(
        "results", "Ten versions in two phases", frame[["metric", "model", "printed", "value", "low", "high", "n", "seeds"]], words
    )


def phases(runs: Sequence[Run]) -> Table:
    """RoPE and QK-norm against sinusoids: row, verdict, difference, low, high, printed, logged (shares), p, adjusted, seeds, n."""
    frame = gains(runs)[["row", "verdict", "difference", "low", "high", "printed", "logged", "p", "adjusted", "seeds", "n"]]
    words = "Accuracy with RoPE and QK-norm minus accuracy with sinusoids on the same test rows."
    words += f" {SEEDS_IN_WORDS} p after Holm is over versions."
    return Table("phases", "What the second phase is worth", frame, words)


def more_updates(runs: Sequence[Run]) -> Table:
    """What more updates are worth: as `sentviz.papers.sevenessxin.study.longer`."""
    words = (
        "Accuracy on the test half with 95% intervals. All other runs of this page have the smaller number of updates, so that versions are"
        " compared alike; epochs are passes over the tweets here. The paper's V1 has 10 epochs of 1,280,000 tweets, 200,000 updates."
    )
    return Table("updates", "More updates", longer(runs), words)


def added() -> dict[str, Table]:
    """What is measured beside the study and stored, where it was: padding that is read, neutral tweets, a leak and its words."""
    found = (
        Table(
            "padding",
            "Padding read instead of masked",
            measured.table("padding"),
            "Test rows of a run asked with its padding read: the share of answers that change, accuracy read minus masked (95% intervals),"
            " and how far the pooled vector moves, as a part of its length (median).",
        ),
        Table(
            "neutral",
            "Neutral and polar tweets of TweetEval",
            measured.table("neutral"),
            f"What a run of two classes says of them: the share called positive, and the share answered with {measured.SURE:.0%} or more.",
        ),
        Table(
            "leak-costs",
            "A leak and what it costs",
            leak.table(leak.COSTS),
            "Accuracy of a linear probe trained on tweets whose classes come from other weeks, and on tweets of all weeks, tested on both.",
        ),
        Table(
            "leak-words",
            "The words of a leak",
            leak.table(leak.WORDS),
            "Log-odds ratios of standing in a positive rather than a negative tweet, in the set of other weeks and in that of all.",
        ),
    )
    return {one.name: one for one in found if len(one.frame)}


def log(runs: Sequence[Run]) -> Table:
    """Where the public log of the trainings differs from table II: model, metric, printed, logged."""
    printed, logged = (prints.table(name).set_index("model") for name in ("results", "log"))
    pairs = {name: (name, title) for name, title in prints.METRICS.items()}
    pairs["validation_f1"] = ("best_validation_f1", "validation F1, best epoch")
    parts = []
    for column, (theirs, title) in pairs.items():
        both = printed[[column]].join(logged[[theirs]].rename(columns={theirs: "logged"})).dropna()
        both = both[both[column].round(4) != both["logged"].round(4)].rename(columns={column: "printed"})
        parts.append(both.assign(metric=title))
    import pandas as pd

    frame = pd.concat(parts).reset_index()
    frame = frame.assign(model=frame["model"].map(prints.title), difference=frame["printed"] - frame["logged"])
    words = (
        "Numbers of table II that differ from the trainings' own log, exported in the public repository GuenfoudiIhabe/7ess-Xin. Printed"
        " validation F1 is mostly that of the last epoch. The log also says vocabularies of 20,000 (V5) and 35,000 (V6 to V10), where the"
        " paper says 30,000. It has no finished V10 of the second phase."
    )
    return Table("log", "The paper's log against its table", frame[["model", "metric", "printed", "logged", "difference"]], words)
