"""Methods of explanation: all explanations of one sentence side by side, and methods ranked by a measured number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sentviz.analysis.explain import SCORES, available, deviation, explained, usual
from sentviz.analysis.explain.judge import Judgement, judged
from sentviz.charts.chart import Axis, Chart, Rule, cells, points
from sentviz.charts.figure import Figure, file_safe, sentence
from sentviz.charts.registry import figure
from sentviz.charts.subjects import Sentence
from sentviz.charts.text import label_width, shortened
from sentviz.errors import InputError
from sentviz.io.documents import parse_json
from sentviz.io.lazy import pd
from sentviz.runs.target import PREDICTED

_TOKEN = 14  # columns of a word
_WIDTH, LEAST_CELL = 900, 19  # pixels: width of the figure, and the smallest width of a word's column


def method_matrix(
    tokens: Sequence[str],
    scores: Mapping[str, npt.ArrayLike],
    *,
    title: str = "Every explanation of this sentence",
    about: str = "",
) -> Figure:
    """Draw all explanations of a sentence; each row is scaled by its largest absolute score.

    Args:
        tokens: m words, in text order. scores: title of a method -> (m,), NaN for words without a score.
        about: sentence for the caption.
    Frame:
        method, position (counted from 0), token, score, share (of the row's largest, -1..1), drawn.
    """
    rows = {method: np.asarray(values, dtype=float) for method, values in scores.items()}
    if not rows or not len(tokens) or any(values.shape != (len(tokens),) for values in rows.values()):
        raise InputError("A matrix of explanations needs a word, a method, and one score for each word.")
    left = 24 + round(max(label_width(method, 12) for method in rows))
    values = np.stack(list(rows.values()))
    largest = np.nanmax(np.abs(values), axis=1, initial=0.0, keepdims=True)
    shares = np.divide(values, largest, out=np.zeros_like(values), where=largest > 0)
    most = max(_WIDTH - left - 16, 38) // LEAST_CELL
    worth = np.nan_to_num(np.abs(shares)).mean(axis=0)
    columns = np.sort(np.argsort(-worth, kind="stable")[:most])
    frame = pd.DataFrame(
        {
            "method": np.repeat(list(rows), len(tokens)),
            "position": np.tile(np.arange(len(tokens)), len(rows)),
            "token": list(tokens) * len(rows),
            "score": values.ravel(),
            "share": shares.ravel(),
            "drawn": np.tile(np.isin(np.arange(len(tokens)), columns), len(rows)),
        }
    )
    caption = sentence(
        [
            f"{len(rows)} explanations of one prediction: green words support it, purple words oppose it or get less than an even share."
            " Each row has its own scale.",
            f"The figure shows the {len(columns)} of {len(tokens)} words with the largest scores." if len(columns) < len(tokens) else "",
            about,
        ]
    )
    named = frame[frame["drawn"]].assign(place=frame["position"] + 1)
    words = Axis(rows={int(i): shortened(tokens[i], _TOKEN) for i in columns}, worth=dict(enumerate(worth.tolist())))
    hover = "“{token}” ({place}), {method}: {score:.4f}"
    scores_of = cells(named, "position", "method", "share", scale="signed", span=(-1, 1), hover=hover)
    chart = Chart(title, [scores_of], words, Axis(rows={method: method for method in rows}))
    return Figure(file_safe("methods"), chart, frame, caption)


def ranking(frame: pd.DataFrame, *, title: str, better: str = "higher", percent: bool = False) -> Figure:
    """Draw methods as dots with intervals, the best at the top; random explanations are a grey line with its interval.

    Args:
        frame: method, value, low, high, n; one row per method.
        title: name of the number.
        better: "higher" or "lower".
        percent: write shares as percentages.
    """
    rows = frame[frame["method"] != "random"].sort_values("value", ascending=better == "lower").reset_index(drop=True)
    if rows.empty:
        raise InputError("The table has no explanation method to rank.")
    base = frame[frame["method"] == "random"].to_dict("records")
    rules = [Rule(x=row["value"], low=row["low"], high=row["high"], note="random") for row in base]
    text, hover = "{value:.0%}" if percent else "{value:.2f}", "{value:.3f} [{low:.3f}, {high:.3f}]"
    dots = points(rows, "value", "method", low="low", high="high", text=text, hover=hover)
    chart = Chart(title, [dots], Axis(form=".0%" if percent else ""), Axis(rows={name: name for name in rows["method"]}), rules=rules)
    caption = f"{title}: {better} is better. Bars are 95 % bootstrap intervals over {int(rows['n'].max())} texts."
    return Figure(file_safe("ranking", title), chart, frame.reset_index(drop=True), caption)


@figure("methods", "Every explanation of the sentence", Sentence)
def _methods(of: Sentence) -> Figure:
    """Draw the scores of a trace, one row per method, for words only; without those of other packages, which not everybody has."""
    trace = of.trace if of.has_fixed_trace else explained(of.model, of.trace, usual(of.model, of.trace))
    words = np.flatnonzero(~trace.specials[: len(trace.tokens) - trace.padding])
    scores = {SCORES[name].title: deviation(trace, name)[words] for name in available(trace) if not SCORES[name].package}
    about = "" if trace.target == PREDICTED else f"All explain {trace.target.says()} instead of the prediction."
    return method_matrix([trace.tokens[i] for i in words], scores, about=about)


@figure("judged", "Scores from elsewhere beside the exact values", Sentence)
def _judged(of: Sentence, *, scores: str = "") -> Figure:
    """Draw judged scores of a text, one row, with exact values and removal of the same words; the caption has the verdict."""

    def compute() -> Judgement:
        trace = of.trace if "removal" in of.trace.token_scores else explained(of.model, of.trace)
        numbers = parse_json(scores, "The option scores") if scores else trace.token_scores["removal"]
        return judged(of.model, trace, numbers)

    judgement: Judgement = of.once(("judged", scores), compute)
    exact, title = judgement.exact, "Scores given" if scores else "Word removal"
    rows = {title: judgement.by_player, "Exact Shapley values": exact.values, "Word left out": exact.left_out, "Word alone": exact.alone}
    return method_matrix([player.text for player in exact.players], rows, title=f"{title} beside the exact values", about=str(judgement))
