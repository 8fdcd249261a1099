"""The paper's questions, each answered from the runs here in a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sentviz.analysis.claim import Answer, Finding, Verdict
from sentviz.papers.sevenessxin.claims import CLAIMS
from sentviz.runs.store import Run

QUESTIONS = (  # question, the claim of the runs here that answers it, the part that shows it
    ("Do RoPE and QK-norm help?", "RoPE and QK-norm gain in nearly every version", "phases"),
    ("Is V6 the best version?", "V6 with RoPE is the best version", "results"),
    ("Do fewer tweets cost accuracy?", "Fewer tweets to learn from cost accuracy", "curve"),
    ("Do depth, width and heads give little?", "More depth, width and heads give little", "results"),
    ("Does it lean to the positive class?", "The model leans to the positive class", "matrix"),
    ("Does unmasked padding matter?", "Padding that is not masked changes answers (ours, of the published code)", "padding"),
)
SHORT: dict[Verdict, str] = {
    "holds": "Yes",
    "fails": "No",
    "open": "It cannot be told",
    "unjudged": "It cannot be judged here",
}


def asked(runs: Sequence[Run]) -> list[Answer]:
    """Return the answers to `QUESTIONS`, in that order."""
    tests: dict[str, Callable[[Sequence[Run]], Finding]] = {claim.statement: claim.test for claim in CLAIMS if claim.against == "runs here"}
    findings = [(question, tests[claim](runs), part) for question, claim, part in QUESTIONS]
    return [
        Answer(question, finding.verdict, SHORT[finding.verdict], f"{finding.evidence[:1].upper()}{finding.evidence[1:]}.", part)
        for question, finding, part in findings
    ]


def answers(runs: Sequence[Run]) -> list[str]:
    """Return the answers to `QUESTIONS` as sentences."""
    return [item.sentence for item in asked(runs)]
