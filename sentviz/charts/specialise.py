"""Components of the attention over a test split: attention to classes of words, entropy, and likeness of the maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sentviz.analysis.maps.specialise import FILE, differences, verdict
from sentviz.analysis.maps.wordclasses import own_lists
from sentviz.charts.chart import Axis, Chart, Panels, Rule, numbered, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.maps import component_name
from sentviz.charts.registry import RunRequirement, figure, table
from sentviz.charts.subjects import Runs
from sentviz.errors import InputError
from sentviz.io.lazy import pd
from sentviz.io.numbers import signed
from sentviz.io.table import Column, Table
from sentviz.runs.store import Run

COMPONENTS = table(FILE, "components", "sentviz specialise")
SEVERAL = RunRequirement(
    "several components",
    lambda run: (
        "" if run.capabilities.components > 1 else f"{run.name} has {run.capabilities.attention}, so it has no components to compare."
    ),
)

_MEASURES = {"cosine": "cosine of the rows", "jensen_shannon": "Jensen-Shannon divergence, bits"}


def _dots(
    cells: pd.DataFrame,
    panels: Mapping[Any, str],
    rows: Mapping[Any, str],
    series: Mapping[int, str],
    *,
    title: str,
    across: Axis,
    even: float | None = None,
) -> Chart:
    """Return marks with intervals over their baselines.

    Args:
        cells: panel, row, series, value, low, high, dealt_low, dealt_high, untrained, untrained_low, untrained_high.
        panels, rows, series: key -> label, in the order of drawing; without panels there is one.
        even: value of an even share, None if there is none.
    """
    drawn = cells.assign(
        name=cells["series"].map(series),
        dealt=(cells["dealt_low"] + cells["dealt_high"]) / 2,
        between=(cells["untrained_low"] + cells["untrained_high"]) / 2,
    )
    grey: Any = {"by": "name", "plain": True}
    marks = [
        points(drawn.dropna(subset="dealt"), "dealt", "row", low="dealt_low", high="dealt_high", role="grid", symbol="", size=1.2,
               name="heads shuffled", **grey),
        points(drawn.dropna(subset="between"), "between", "row", low="untrained_low", high="untrained_high", role="muted", symbol="",
               size=0.34, name="untrained", **grey),
        points(drawn.dropna(subset="untrained"), "untrained", "row", role="muted", symbol="line-ns-open",
               hover="untrained: {untrained:.3f}", **grey),
        points(drawn, "value", "row", low="low", high="high", by="name", hover="{name}: {value:.3f} [{low:.3f}, {high:.3f}]"),
    ]  # fmt: skip
    facets = Panels("panel", panels, 2) if panels else None
    rules = [] if even is None else [Rule(x=even)]
    with_rows = [mark for mark in marks if len(mark.frame)]
    return Chart(title, with_rows, across, Axis(rows=rows), rules=rules, panels=facets, series=numbered(series.values(), ()))


def _components(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    drawn = frame[(frame["measure"] == measure) & (frame["component"] >= 0)]
    if drawn.empty:
        raise InputError(f"No {measure} of components was measured.")
    return drawn


def _names(drawn: pd.DataFrame) -> dict[int, str]:
    return {int(c): component_name(int(c)) for c in sorted(drawn["component"].unique())}


def _baselines(frame: pd.DataFrame) -> str:
    return sentence(["Wide grey bars: the range of 95 % of components if the layer's heads are shuffled between them.", _untrained(frame)])


def _untrained(frame: pd.DataFrame) -> str:
    inits = int(frame["inits"].max())
    return f"Thin grey lines: range of {inits} untrained models, with a tick at their mean." if inits else ""


def _sample(frame: pd.DataFrame) -> str:
    return f"Coloured lines are 95 % bootstrap intervals over {int(frame['n'].max()):,} test sentences, seed {int(frame['seed'].max())}."


@figure("component-words", "What components attend to, by class of words", Runs, SEVERAL, COMPONENTS)
def _component_words(of: Runs) -> Figure:
    """Draw attention to each class of words relative to an even share: a panel per layer, a row per class, a mark per component."""
    frame = of.run.frame(FILE)
    drawn = _components(frame, "attention")
    rows = {str(name): f"{name}\nn = {n:,}" for name, n in drawn.groupby("word_class", sort=False)["n"].max().items()}
    cells = drawn.assign(panel=drawn["layer"], row=drawn["word_class"], series=drawn["component"])
    panels = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    title = "Attention to words, relative to an even share"
    chart = _dots(cells, panels, rows, _names(drawn), title=title, across=Axis("× an even share"), even=1.0)
    caption = sentence(
        [
            f"Run {of.run.name}: attention to each class of words divided by the class's share of the tokens, mean over heads and rows; ×1"
            " is an even share.",
            _baselines(frame),
            "n is the number of sentences with such a word.",
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-words", of.run.name), chart, drawn.reset_index(drop=True), caption)


@figure("component-entropy", "Entropy of each component", Runs, SEVERAL, COMPONENTS)
def _component_entropy(of: Runs) -> Figure:
    """Draw the entropy of the rows as a share of the largest possible entropy: a row per layer, a mark per component."""
    frame = of.run.frame(FILE)
    drawn = _components(frame, "entropy")
    cells = drawn.assign(panel=0, row=drawn["layer"], series=drawn["component"])
    rows = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    chart = _dots(cells, {}, rows, _names(drawn), title="Entropy of the rows", across=Axis(form=".0%"))
    caption = sentence(
        [
            f"Run {of.run.name}: entropy of the rows as a share of the largest possible, log n. At 100 % all tokens get the same weight, at"
            " 0 % one token gets all.",
            _baselines(frame),
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-entropy", of.run.name), chart, drawn.reset_index(drop=True), caption)


@figure("component-likeness", "Similarity of the components", Runs, SEVERAL, COMPONENTS)
def _component_likeness(of: Runs) -> Figure:
    """Draw how similar two components are, and for comparison two heads of one component: a panel per measure, a mark per layer."""
    frame = of.run.frame(FILE)
    drawn = frame[frame["measure"].isin(list(_MEASURES))]
    if drawn.empty:
        raise InputError("No likeness of components was measured.")
    pairs = list(zip(drawn["component"].astype(int), drawn["other"].astype(int), strict=True))
    between = sorted({(c, d) for c, d in pairs if c != d})
    rows = {pair: f"{component_name(pair[0])} and {component_name(pair[1])}" for pair in between}
    rows |= {pair: f"heads of {component_name(pair[0])}" for pair in sorted(set(pairs) - set(between))}
    cells = drawn.assign(panel=drawn["measure"], row=pd.Series(pairs, index=drawn.index), series=drawn["layer"])
    series = {layer: f"layer {layer + 1}" for layer in sorted(drawn["layer"].unique())}
    chart = _dots(cells, _MEASURES, rows, series, title="Likeness of the maps", across=Axis())
    caption = sentence(
        [
            f"Run {of.run.name}: similarity of the rows of two components' maps, head by head, and for comparison of two heads of one"
            " component.",
            "Cosine: 1 means equal rows; divergence: 0 means equal rows, 1 no common token.",
            _untrained(frame),
            _sample(frame),
        ]
    )
    return Figure(file_safe("component-likeness", of.run.name), chart, drawn.reset_index(drop=True), caption)


# ---- in words


def conclusion(run: Run) -> str:
    """Return whether the components of a run differ beyond every baseline."""
    return verdict(run.frame(FILE))[0]


def reasons(run: Run) -> list[str]:
    """Return the result against each baseline, as sentences."""
    return verdict(run.frame(FILE))[1:]


def what_they_are(run: Run) -> str:
    """Return what A₁, A₂ ... are, with their weights in the mix; the stored example has the weights."""
    components = run.capabilities.components
    names = ", ".join(map(component_name, range(components - 1))) + f" and {component_name(components - 1)}"
    words = (
        f"Every head makes {components} attention maps, {names}, and mixes them to one. A habit is a map's entropy or its attention to one"
        " of five classes of words, in one layer."
    )
    if not run.has_weights:
        return words
    lambdas = run.example().lambdas
    weights = "; ".join(
        f"layer {layer + 1}: " + ", ".join(f"{component_name(c)} {signed(weight)}" for c, weight in enumerate(row) if c)
        for layer, row in enumerate(lambdas)
    )
    minus = " A component with a negative weight is subtracted." if (lambdas < 0).any() else ""
    return f"{words} A₁ enters with weight 1; {weights}.{minus}"


def differences_table(run: Run) -> Table:
    """Return what the components differ by in each habit and layer, with the baselines."""
    cells = differences(run.frame(FILE)).reset_index(drop=True)
    frame = cells.assign(habit=cells["word_class"].replace("", "entropy"), layer=cells["layer"] + 1)
    shuffled = "p-value from labels shuffled 2,000 times within each sentence, after Holm; the smallest p before Holm is 0.0005"
    words = (
        "A difference is the largest minus the smallest of the components' means, with a 95 % bootstrap interval over sentences. The maps"
        " are measured before mixing. From layer 2 on, a token's state also contains its neighbours."
    )
    columns = (
        Column("habit"),
        Column("layer"),
        Column("value", "difference", interval=("low", "high")),
        Column("p_holm", "p, shuffled", help=shuffled),
        Column("untrained_high", "untrained, largest", help="largest difference in an untrained model"),
        Column("dealt_high", "heads shuffled, 97.5 %", help="limit of the difference when heads are shuffled between components"),
        Column("p_dealt", "p, heads shuffled", help="share of shuffles with at least this difference; not corrected"),
        Column("n", "sentences"),
    )
    return Table(file_safe("components", run.name), "Differences between the components", frame, words, columns)


def word_lists(run: Run) -> list[str]:
    """Return which words each class has."""
    lexicon = run.frame(FILE)["lexicon"].iloc[0]
    first = (
        f"Positive and negative words: the sign of their polarity in `{lexicon}`, without the words below. The other classes are the"
        " complete lists below. A word that is not in the model's vocabulary has no class."
    )
    return [first, *(f"**{name}**: {', '.join(sorted(words))}" for name, words in own_lists().items())]
