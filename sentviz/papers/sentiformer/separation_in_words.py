"""Sentences and a table about the models that learn proposition 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.io.numbers import percent, span
from sentviz.io.table import Column, Table
from sentviz.papers.sentiformer.separation import FIRST

if TYPE_CHECKING:
    from sentviz.papers.sentiformer.solvers import Separation
    from sentviz.runs.trace import Trace

RIGHT = {True: "✓", False: "✗"}


def separation_in_words(separation: Separation) -> list[str]:
    """Return sentences on the accuracies of the models and the time of training,; names are in bold."""
    frame, longest = separation.accuracy, separation.setting.longest
    inside, beyond = frame[frame["length"] <= longest], frame[frame["length"] > longest]
    lines = []
    for model, rows in inside[inside["order"] == 0].groupby("model", sort=False):
        worst = rows.sort_values("accuracy", kind="stable").iloc[0]
        line = f"**{model}**: {percent(rows['right'].sum() / rows['n'].sum())} up to {longest} words, as in training"
        line += "." if worst["accuracy"] == 1 else f"; the lowest is {percent(worst['accuracy'])} at {worst['length']} words."
        far = beyond[beyond["model"] == model]
        if len(far):
            line += f" In longer sequences: {span(far['accuracy'], percent)}."
        lines.append(line)
    blind = frame[(frame["order"] > 0) & (frame["length"] > frame["order"])]
    if len(blind):
        lines.append(
            f"**Markov models** in sequences of more than k words: {span(blind['accuracy'], percent)}. No function of"
            " the last k words has an expected accuracy above 50 % there."
        )
    gru = inside[(inside["model"] == "GRU") & (inside["length"] > 6)]
    if len(gru) and gru["low"].min() > 0.9:
        lines.append(
            "So attention is separated from Markov models. **It is not separated from every RNN, as the paper says:** a GRU can store"
            " “the first"
            " word is not” in its state, and this GRU does."
        )
    elif len(gru):
        lines.append("This GRU did not learn the rule. This does not prove that no GRU can learn it.")
    lines.append(
        "The proposition says that a transformer *can represent* the rule at each length, not that training finds the rule for all lengths."
    )
    took = ", ".join(f"{name.split(',')[0]} {value:.1f} s" for name, value in separation.seconds.items())
    lines.append(f"Trained on {separation.setting.rows:,} sequences in {sum(separation.seconds.values()):.0f} s here ({took}).")
    return lines


def answers_table(separation: Separation, text: str) -> Table:
    """Return each model's answers to a sequence, and to the same with another first word."""
    first, *rest = text.lower().split()
    twin = " ".join(["was" if first == FIRST else FIRST, *rest])
    answers, exchanged = (separation.solvers.answers(each).add_suffix(end) for each, end in ((text, ""), (twin, "_twin")))
    columns = (
        Column("model"),
        Column("answer"),
        Column("positive", "p(positive)"),
        Column("right", words=RIGHT),
        Column("answer_twin", "first word exchanged"),
        Column("positive_twin", "p(positive)"),
        Column("right_twin", "right", words=RIGHT),
    )
    words = f"The second sequence is “{twin}”. A model that does not see the first word gives the same prediction for both."
    return Table("first-word", "Answers to a sequence", answers.join(exchanged), words, columns)


def head_in_words(trace: Trace, head: int) -> str:
    """Return the token to which a head of [CLS], which alone is read, gives the largest weight."""
    row = trace.rows(0, 0, 1, head, "effective")[0]
    best = int(row.argmax())
    return (
        f"Head {head + 1}: [CLS], which alone is read, gives {percent(row[best], 0)} to “{trace.tokens[best]}”, token {best + 1} of"
        f" {len(trace.tokens)}."
    )
