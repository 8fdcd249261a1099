"""What it costs to ask the model why."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sentviz import load
from sentviz.analysis.explain import SCORES, available, explained, score
from sentviz.analysis.explain.faithfulness import faithfulness, scores_of
from sentviz.analysis.explain.gradients import integrate
from sentviz.analysis.explain.leave_out import removal
from sentviz.data.examples import EXAMPLES
from sentviz.models.model import Model
from tests.benchmarks.timing import ratios, say

RUN = "sst2/ndt-unit-2"


def sentence(model: Model, words: int) -> str:
    """Our own examples one after the other, cut at a number of tokens."""
    text = " ".join(example.text for example in EXAMPLES)
    return text[: int(model.encode(text).offsets[words - 1, 1])]


def leave_one_out() -> None:
    """All 60 shortened texts in one batch, against one forward pass of the text, and against one pass a word."""
    model = load(RUN)
    trace = model.trace(sentence(model, 60))
    reading = model.encode(trace.text).reading

    def one_by_one() -> None:
        for i in range(60):
            model.forward([reading.without([i])])

    seconds = ratios(
        {
            "one forward pass": lambda: model.forward([reading]),
            "60 passes, one a word": one_by_one,
            "leave-one-out": lambda: removal(model, trace),
        }
    )
    say("leave-one-out of 60 words", seconds, "one forward pass", "60 passes, one a word")


def gradients() -> None:
    """Integrated gradients of 32 steps against captum's of the same model, its steps in one batch as well."""
    from captum.attr import IntegratedGradients

    model = load(RUN)
    for words in (20, 60):
        trace = model.trace(sentence(model, words))
        batch, k = model.inputs(model.encode(trace.text)), int(trace.probabilities.argmax())

        def odds(tokens: Tensor, batch: object = batch, k: int = k) -> Tensor:
            logits = model.network(replace(batch.expand(len(tokens)), vectors=tokens)).logits  # type: ignore[attr-defined]
            return logits[:, k] - logits[:, 1 - k]

        tokens, theirs = model.network.table[batch.ids], IntegratedGradients(odds)
        seconds = ratios(
            {
                "captum": lambda tokens=tokens, theirs=theirs: theirs.attribute(tokens, torch.zeros_like(tokens), n_steps=32),
                "sentviz": lambda trace=trace: integrate(model, trace, steps=32).scores,
            }
        )
        say(f"integrated gradients of {words} words, 32 steps", seconds, "captum")


def methods() -> None:
    """Every method, and the faithfulness of all together, for a sentence of 20 words, against its trace."""
    model = load(RUN)
    trace = explained(model, model.trace(sentence(model, 20)), SCORES)

    def ask(name: str) -> None:
        score(explained(model, trace, [name]), name)

    seconds = ratios(
        {"trace": lambda: model.trace(trace.text)}
        | {name: lambda name=name: ask(name) for name in available(trace)}
        | {"faithfulness of all": lambda: faithfulness(model, *scores_of(model, trace))}
    )
    say("explanations of 20 words", seconds, "trace")
