"""Figures of predictions: mistakes by class, decision thresholds, and how far probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset import label_errors as lib
from sentviz.analysis.testset import operating
from sentviz.analysis.testset.behaviour import baselines_of, why_not_tested
from sentviz.analysis.testset.comparison import compare_rows
from sentviz.analysis.testset.operating import agreement, per_class, thresholds
from sentviz.analysis.testset.rows import accuracy_by_phenomenon
from sentviz.data.behaviour import digest
from sentviz.errors import InputError
from sentviz.gallery.registry import RunRequirement, figure
from sentviz.gallery.subjects import WEIGHTS, Answers, Runs, sourced
from sentviz.io.lazy import pd
from sentviz.runs.calibration import tempered, untempered
from sentviz.runs.store import Run

if TYPE_CHECKING:
    from sentviz.figures.figure import Figure

SEED = 0  # seed of projections and word clouds
STEPS = {"width": "Steps of equal width", "mass": "Steps with equally many rows"}
TESTED = RunRequirement("single texts with negative and positive classes", lambda run: _why_not_tested(run))
TWO = RunRequirement(
    "two classes", lambda run: "" if len(run.labels) == 2 else f"{run.name} has {len(run.labels)} classes; this figure needs two."
)


def _why_not_tested(run: Run) -> str:
    return why_not_tested(run)


@figure("confusion", "The confusion matrix", Answers, "confusion:confusion_matrix")
def _confusion(of: Answers, *, selected: tuple[int, int] | None = None) -> Figure:
    from sentviz.figures.confusion import confusion_matrix

    rows = of.first
    counts = confusion(rows.labels, rows.predicted, len(rows.classes))
    return confusion_matrix(counts, rows.classes, run=rows.source.name, selected=selected)


@figure("comparison", "Two to six models on the same rows", Answers, "comparison:comparison_dots")
def _comparison(of: Answers, *, together: bool = True) -> Figure:
    from sentviz.figures.comparison import comparison_dots

    result = compare_rows(of.rows, together=together)
    return comparison_dots(result.table, result.trainings(), headline=result.headline, method=result.method)


@figure("agreement", "Which of two runs is right", Answers, "confusion:agreement_matrix")
def _agreement(of: Answers, *, selected: tuple[int, int] | None = None) -> Figure:
    from sentviz.figures.confusion import agreement_matrix

    if len(of.rows) != 2:
        raise InputError("The figure agreement compares two runs: name the second run with versus.")
    first, second = of.rows
    counts = agreement(first.frame["right"].to_numpy(bool), second.frame["right"].to_numpy(bool))
    cells = [[counts.both_right, counts.only_a], [counts.only_b, counts.neither]]
    return agreement_matrix(cells, (first.source.name, second.source.name), selected=selected)


@figure("classes", "Precision, recall and F1 of each class", Answers, "confusion:class_scores")
def _classes(of: Answers) -> Figure:
    from sentviz.figures.confusion import class_scores

    return class_scores({rows.source.name: per_class(rows.labels, rows.predicted, rows.classes) for rows in of.rows})


@figure("roc", "ROC curves", Answers, "operating:one_vs_rest")
def _roc(of: Answers) -> Figure:
    return _one_vs_rest(of, "roc")


@figure("precision-recall", "Precision against recall", Answers, "operating:one_vs_rest")
def _precision_recall(of: Answers) -> Figure:
    return _one_vs_rest(of, "pr")


def _one_vs_rest(of: Answers, kind: Literal["roc", "pr"]) -> Figure:

    from sentviz.figures.operating import one_vs_rest

    for rows in of.rows:
        rows.source.require("probabilities", "scores", what="curves")
    classes = of.first.classes
    lines = {rows.source.name: of.statistic(operating.curves, rows, classes) for rows in of.rows}
    areas = {rows.source.name: of.statistic(operating.areas, rows, classes) for rows in of.rows}
    points = {rows.source.name: operating.operating_points(rows.labels, rows.predicted, classes) for rows in of.rows}
    panels = [classes[1]] if kind == "roc" else [classes[1], classes[0]]
    if len(classes) > 2:
        lines = {run: pd.concat([line, operating.macro(line, kind)]) for run, line in lines.items()}
        panels = [operating.MACRO, *classes]
    return one_vs_rest(lines, areas, points, kind=kind, classes=panels)


@figure("threshold", "Errors of both classes at each threshold", Answers, "operating:threshold_lines", TWO)
def _threshold(of: Answers) -> Figure:
    from sentviz.figures.operating import threshold_lines

    for rows in of.rows:
        rows.source.require("probabilities", what="thresholds")
    tables = {rows.source.name: thresholds(rows.labels, rows.probabilities[:, 1]) for rows in of.rows}
    return threshold_lines(tables, of.first.classes, threshold=0.5 if of.threshold < 0 else of.threshold)


@figure("reliability", "Accuracy against confidence", Answers, "operating:reliability_diagram")
def _reliability(of: Answers, *, by: str = "width") -> Figure:
    from sentviz.figures.operating import reliability_diagram

    if by not in STEPS:
        raise InputError(f"`by` must be {' or '.join(map(repr, STEPS))}, not {by!r}.")
    rows = of.first
    rows.source.require("probabilities", what="probabilities to compare with the accuracy")
    raw = untempered(rows.probabilities, rows.calibration)
    shares = {"as it is": raw}
    if (factor := rows.source.calibration) is not None:
        shares[f"logits / {factor:.2f}"] = tempered(raw, factor)
    bins = {name: operating.reliability(rows.labels, share, by=by) for name, share in shares.items()}
    spread = {name: operating.reliability(rows.labels, share) for name, share in shares.items()}
    title = f"{rows.source.name}: {STEPS[by].lower()}"
    return reliability_diagram(bins, spread, title=title, start=1 / len(rows.classes))


@figure("label-errors", "Labels that look wrong", Answers, "label_errors:label_errors")
def _label_errors(of: Answers) -> Figure:
    from sentviz.figures.label_errors import label_errors

    rows = of.first
    judged = rows if "suspect" in rows.frame else lib.label_errors(rows)
    return label_errors(lib.suspected_pairs(judged), rows.classes, name=rows.source.name)


@figure("phenomena", "Accuracy by phenomenon on the demo set", Runs, "phenomena:phenomena", WEIGHTS)
def _phenomena(
    of: Runs,
    *,
    only: Sequence[str] = (),
    sided: bool = False,
    series: Sequence[int] = (),
    selected: str | None = None,
) -> Figure:
    from sentviz.figures.phenomena import phenomena

    rows = of.demo_rows
    chance = 0.5 if sided else 1 / max(len(each.classes) for each in rows.values())
    frame = accuracy_by_phenomenon(rows, sided=sided)
    if only:
        frame = frame[frame["phenomenon"].isin(list(only))]
    drawn = phenomena(frame, chance=chance, chosen=selected or "", sided=sided, series=series)
    return sourced(drawn, *of.sources, rows=rows[of.run.name])


@figure("weak-slices", "Where a model is weakest: slices found by search", Answers, "weak_slices:weak_slices")
def _weak_slices(of: Answers, *, seed: int = SEED, selected: str | None = None) -> Figure:
    from sentviz.figures.weak_slices import weak_slices

    weak = of.weak_slices(seed)
    return weak_slices(weak.frame, run=weak.name, candidates=weak.candidates, held_out=weak.halves[1], chosen=selected or "")


@figure("behaviour", "The behaviour card: tests by capability", Runs, "behaviour:behaviour", TESTED)
def _behaviour(of: Runs, *, series: Sequence[int] = (), selected: str | None = None) -> Figure:
    from sentviz.figures.behaviour import behaviour

    cards = of.behaviour
    first = cards[of.run.name]
    if foreign := [card.name for card in cards.values() if card.language != first.language]:
        raise InputError(f"{foreign[0]} was tested in another language than {first.name}, so the two are not comparable.")
    baselines = {card.name: card.frame() for card in baselines_of(first, of.run.config["data"]["name"])}
    drawn = behaviour({name: card.frame() for name, card in cards.items()}, baselines, chosen=selected or "", series=series)
    return sourced(drawn, *of.sources, split=f"{len(first.cases):,} behaviour cases {digest(first.cases)}")
