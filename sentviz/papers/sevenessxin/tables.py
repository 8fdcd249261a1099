"""Tables I and II of 7ess-Xin with our numbers in them."""

from __future__ import annotations

from collections.abc import Sequence

from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import percent
from sentviz.io.table import Column, Table
from sentviz.papers.sevenessxin import measured, printed_tables
from sentviz.papers.sevenessxin.study import beside, by_epochs, gains, longer
from sentviz.papers.studies.compare_configurations import SEEDS_IN_WORDS
from sentviz.papers.studies.items import VERDICTS, TableMaker, of_all
from sentviz.runs.presets import find_preset
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe

SETTINGS = {  # columns of table I -> titles
    "model": "version",
    "layers": "layers",
    "width": "width",
    "heads": "heads",
    "ffn_flag": "feed-forward flag",
    "max_length": "maximum length, tokens",
    "batch_size": "batch size",
    "epochs": "epochs",
    "tweets": "tweets",
    "ffn_width": "feed-forward width",
}


def budget() -> str:
    """Describe the updates and tweets that our runs and the paper's were trained with."""
    recipe = Recipe.read(f"sevenessxin_{printed_tables.DATASET}")
    return (
        f"Each of our versions has {recipe.updates:,} updates, whatever its batch size: V3 sees half as many tweets as V1, V4 twice as"
        " many. Our versions learn from 110,944 tweets, V5 from 100,000 of them (90 %); the paper's V5 has a sixteenth. The paper's V1 has"
        " 200,000 updates on 1,280,000 tweets. We do not have its complete data: levels differ, and only comparisons are judged."
        " The paper also has dropout on attention weights and inside the feed-forward part, and ours does not."
    )


def settings(runs: Sequence[Run]) -> Table:
    """Table I: what is printed of each version, and the hidden width that its flag comes to in the published code."""
    frame = printed_tables.table("versions")
    frame["ffn_width"] = [find_preset(model).shape["ffn_width"] for model in frame["model"]]
    words = (
        "The settings that the paper reports. The feed-forward flag is halved by integer division before the model is made, so 2 and 3"
        " mean an expansion of 1, and 4 means 2; the paper says “effective 1.5” of V8, whose flag is 3. Tweets have at most about fifty"
        " tokens, so maximum lengths of 128, 148 and 256 make no difference: at equal updates V6 gives the same predictions as V2, and V10"
        f" differs only in its batch. {budget()}"
    )
    frame = frame.assign(model=frame["model"].map(printed_tables.title))
    columns = [Column(name, title, "{:,g}" if pd.api.types.is_float_dtype(frame[name]) else "") for name, title in SETTINGS.items()]
    return Table("versions", "Settings of the ten versions", frame, words, columns)


def results(runs: Sequence[Run]) -> Table:
    """Table II: metric, model, printed, value, low, high (shares), n, seeds."""
    metrics = printed_tables.METRICS | {"validation_f1": "validation F1"}
    frame = pd.concat([beside(runs, name).assign(metric=title) for name, title in metrics.items()], ignore_index=True)
    words = (
        "Test accuracy, and precision, recall and F1 of the positive class, with 95 % intervals over test rows and, with several seeds,"
        " over seeds. Validation F1 selected the stored weights, so it is a little high; most reported values are those of the last epoch."
        f" {budget()}"
    )
    columns = (
        Column("printed", "paper", "{:.2f}", percent=True),
        Column("value", "ours", "{:.1f}", ("low", "high"), percent=True),
    )
    numbers = frame[["metric", "model", "printed", "value", "low", "high", "n", "seeds"]]
    return Table("results", "Ten versions in two phases", numbers, words, columns, groups="metric")


def phases(runs: Sequence[Run]) -> Table:
    """RoPE and QK-norm against sinusoids: row, verdict, difference, low, high, printed, logged (shares), p, adjusted, seeds, n."""
    frame = gains(runs)[["row", "verdict", "difference", "low", "high", "printed", "logged", "p", "adjusted", "seeds", "n"]]
    words = "Accuracy with RoPE and QK-norm minus accuracy with sinusoids on the same test rows."
    words += f" {SEEDS_IN_WORDS} p after Holm is over versions."
    if frame.empty:
        raise InputError(f"No version is installed in both phases: `{printed_tables.train()}` trains them.")
    columns = (
        Column("row", "version"),
        Column("verdict", words=VERDICTS),
        Column("difference", "difference, points", "{:+.2f}", ("low", "high"), percent=True),
        Column("printed", "paper", "{:+.2f}", percent=True),
        Column("logged", "paper's log", "{:+.2f}", percent=True),
        Column("adjusted", "p after Holm", "{:.2g}"),
        Column("seeds"),
    )
    return Table("phases", "Gain of the second phase", frame, words, columns)


def more_updates(runs: Sequence[Run]) -> Table:
    """What more updates are worth: as `sentviz.papers.sevenessxin.study.longer`."""
    words = (
        "Accuracy on the test half with 95 % intervals. All other runs of this page have the smaller number of updates, so that versions"
        " have equal conditions; epochs are passes over the tweets here. The paper's V1 has 10 epochs of 1,280,000 tweets, 200,000 updates."
    )
    frame = longer(runs)
    if frame.empty:
        raise InputError(f"No run with more updates is installed: `{printed_tables.train('sevenessxin-updates')}` trains them.")
    columns = (
        Column("model"),
        Column("updates"),
        Column("epochs", form="{:.2f}"),
        Column("value", "accuracy, %", "{:.1f}", ("low", "high"), percent=True),
        Column("printed", "paper, %", "{:.2f}", percent=True),
        Column("n", form="{:,.0f}"),
        Column("seeds", form="{:.0f}"),
    )
    return Table("updates", "More updates", frame, words, columns)


def equal_epochs(runs: Sequence[Run]) -> Table:
    """The versions at equal epochs: as `sentviz.papers.sevenessxin.study.by_epochs`."""
    frame = by_epochs(runs)
    if frame.empty:
        raise InputError(f"No run of equal epochs is installed: `{printed_tables.train('sevenessxin-versions-epochs')}` trains them.")
    recipe = Recipe.read(f"sevenessxin_{printed_tables.DATASET}")
    words = (
        f"Test accuracy after {recipe.epochs} epochs of our tweets, with 95 % intervals over test rows and, with several seeds, over seeds."
        " Versions with smaller batches make more updates. V2 is V6 here, since no tweet is longer than the shorter limit. The next column"
        f" is the mean accuracy after {recipe.updates:,} updates. In both, the state with the best validation F1 is tested."
    )
    columns = (
        Column("model"),
        Column("updates"),
        Column("value", "equal epochs, %", "{:.1f}", ("low", "high"), percent=True),
        Column("at_updates", "equal updates, %", "{:.1f}", percent=True),
        Column("printed", "paper, %", "{:.2f}", percent=True),
        Column("n", form="{:,.0f}"),
        Column("seeds", form="{:.0f}"),
    )
    return Table("epochs", "Versions at equal epochs", frame, words, columns)


def padding() -> Table:
    """Return what changes if padding is read instead of masked, as `experiments.sevenessxin.padding` returns it."""
    frame = measured.PADDING.require()
    words = (
        f"{frame['run'].iloc[0]}, trained masked, on its test split: the share of predictions that change (95 % intervals over rows),"
        " accuracy with padding read minus masked (points), and how far the pooled vector moves, as a share of its length (median)."
        " This is not the setting of the published code, which trains without a mask, too."
    )
    columns = (
        Column("of", "tweets"),
        Column("n"),
        Column("changed", "changed predictions", interval=("changed_low", "changed_high")),
        Column("difference", "difference of accuracy, points", "{:+.1f}", ("low", "high"), percent=True),
        Column("moved", "change of the vector"),
    )
    return Table("padding", "Padding read instead of masked", frame, words, columns)


def neutral() -> Table:
    """Return what a model of two classes predicts for neutral and for polar tweets, as `experiments.sevenessxin.neutral` returns it."""
    frame = measured.NEUTRAL.require()
    words = (
        "Predictions of a run with two classes for these tweets: the share called positive, and the share with a probability of"
        f" {percent(measured.SURE, 0)} or more. 95 % intervals over rows."
    )
    columns = (
        Column("of", "tweets"),
        Column("n"),
        Column("positive", "predicted positive", interval=("positive_low", "positive_high")),
        Column("sure", f"probability of {percent(measured.SURE, 0)} or more", interval=("sure_low", "sure_high")),
    )
    return Table("neutral", "Neutral and polar tweets of TweetEval", frame, words, columns)


def leak_costs() -> Table:
    """Return the accuracy of linear probes on tweets of other weeks and of all weeks, as `experiments.sevenessxin.leak` returns it."""
    titles = {measured.WEEKS: "classes of other weeks", printed_tables.DATASET: "all weeks"}
    words = (
        "Accuracy (shares, 95 % Wilson intervals over rows) of a linear probe: TF-IDF of words and pairs, logistic regression, on equally"
        " many rows each. The leak is how much better a probe is on its own weeks than on all weeks. Its cost is what the probe loses on"
        " all weeks against the other probe."
    )
    columns = (
        Column("trained", "trained on", words=titles),
        Column("tested", "tested on", words=titles),
        Column("n"),
        Column("value", "accuracy", interval=("low", "high")),
    )
    return Table("leak-costs", "A leak and its cost", measured.LEAK_COSTS.require(), words, columns)


def leak_words() -> Table:
    """Return the words that give the label away, as `experiments.sevenessxin.leak` returns them."""
    words = (
        "Words that are more frequent with a class in that sample than in tweets of all weeks: log-odds ratios of positive to negative rows"
        " in each set, and their distance in standard errors (z)."
    )
    columns = (
        Column("word"),
        Column("side", "more frequent in"),
        Column("weeks", "log-odds, sample", "{:.2f}"),
        Column("whole", "log-odds, all weeks", "{:.2f}"),
        Column("z", form="{:.2f}"),
        Column("rows"),
    )
    return Table("leak-words", "The words of a leak", measured.LEAK_WORDS.require(), words, columns)


def log(runs: Sequence[Run]) -> Table:
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
    words = (
        "Numbers of table II that differ from the log of the same trainings, in the public repository GuenfoudiIhabe/7ess-Xin. The reported"
        " validation F1 is mostly that of the last epoch. The log also says vocabularies of 20,000 (V5) and 35,000 (V6 to V10), where the"
        " paper says 30,000. It has no finished V10 of the second phase."
    )
    names = ["model", "metric", "printed", "logged", "difference"]
    titles = {"printed": "table II", "logged": "public log"}
    columns = [Column(name, titles.get(name, ""), "{:.4f}") for name in names]
    return Table("log", "The paper's log against its table", frame[names], words, columns)


def repeated_letters() -> Table:
    """Return how tweets with repeated letters and with capitals are predicted, as `experiments.sevenessxin.emphasis` returns it."""
    frame = measured.EMPHASIS.require()
    words = (
        "Test tweets with three or more equal letters in a row, with a word of three or more capitals, and with neither;"
        f" {frame['run'].iloc[0]}, one seed. Changed: predictions that change if each run of equal letters becomes one letter. The"
        " difference is accuracy after minus before, with a 95 % interval over rows. The cleaning puts all letters in lower case, so"
        " capitals never reach the model."
    )
    columns = (
        Column("of", "tweets with"),
        Column("n"),
        Column("share", "share, %", "{:.1f}", percent=True),
        Column("positive", "labelled positive, %", "{:.1f}", percent=True),
        Column("accuracy", "accuracy, %", "{:.1f}", percent=True),
        Column("changed", "changed, %", "{:.1f}", percent=True),
        Column("difference", "difference, points", "{:+.1f}", ("low", "high"), percent=True),
    )
    return Table("emphasis", "Repeated letters and capitals", frame, words, columns)


TABLES: dict[str, TableMaker] = {
    "versions": of_all(settings),
    "results": of_all(results),
    "phases": of_all(phases),
    "epochs": of_all(equal_epochs),
    "updates": of_all(more_updates),
    "log": of_all(log),
    "padding": lambda runs, dataset: padding(),
    "neutral": lambda runs, dataset: neutral(),
    "emphasis": lambda runs, dataset: repeated_letters(),
    "leak-costs": lambda runs, dataset: leak_costs(),
    "leak-words": lambda runs, dataset: leak_words(),
}
