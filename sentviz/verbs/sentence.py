"""Verbs about one sentence: predict, trace, explain and judge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sentviz.errors import InputError
from sentviz.io.arguments import Arg, Progress
from sentviz.io.lazy import np, pd
from sentviz.io.numbers import percent, rounded, signed
from sentviz.runs.target import PREDICTED, Target
from sentviz.verbs.door import OptionError, Outcome, Result, verb
from sentviz.verbs.sources import Seed, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sentviz.analysis.explain.exact import Exact
    from sentviz.analysis.explain.judge import Judgement
    from sentviz.charts.figure import Figure
    from sentviz.models.model import Model
    from sentviz.runs.store import Run
    from sentviz.runs.trace import Trace

METHODS = (
    "removal, exact, permutation, units, clauses, sentences, received, first-layer, difference, rollout, flow, value-weighted,"
    " value-zeroing, gradient, integrated-gradients, gradient-shap, smoothgrad, kernel-shap or lime."
)
WEIGHTS = 1 << 18  # numbers of all attention maps of a trace that is answered

Text = Annotated[str, Arg("Text, or first text of a pair.", size=20_000, example="Not bad at all.")]
Texts = Annotated[tuple[str, ...], Arg("Texts, or first texts of pairs.", size=20_000, several=256, example=["Not bad at all."])]
Pair = Annotated[str | None, Arg("Second sentence, for runs that read pairs.", size=20_000)]
Change = Annotated[
    str,
    Arg(
        "Change the model first, as in head:1.4=0~lambda:2.1=0.5~term:gate=0.5~gate:3=1. Layers, heads and tokens count from 1.", size=4000
    ),
]


def fields_of(trace: Trace) -> dict[str, Any]:
    """Return prediction and tokens of a trace as numbers and texts."""
    return {
        "label": trace.label,
        "probabilities": by_label(trace.labels, trace.probabilities),
        "tokens": list(trace.tokens),
        "offsets": trace.offsets.tolist(),
        "dropped": trace.dropped,
    }


def by_label(labels: Sequence[str], shares: np.ndarray[Any, Any]) -> dict[str, float] | None:
    """Return the probability of each class; None for a text that cannot be read."""
    return None if np.isnan(shares).any() else dict(zip(labels, rounded(shares), strict=True))


@verb("Sentence", remote=True)
def predict(
    of: Source,
    texts: Texts,
    *,
    pairs: Annotated[
        tuple[str, ...] | None, Arg("Second texts, for runs that read pairs. May be repeated.", flags=("--pair",), size=20_000, several=256)
    ] = None,
) -> Outcome:
    """Predict the class and the probabilities of each text.

    A text that cannot be read gets no prediction, and a remark that says why.
    """
    _, model = Source.of(of).open()
    frame = model.predict(list(texts), list(pairs) if pairs else None)
    shares = frame[list(model.labels)].to_numpy()
    answers = [
        {"label": label, "probabilities": by_label(model.labels, p), "remark": remark}
        for label, p, remark in zip(frame["label"], shares, frame["remark"], strict=True)
    ]
    lines = [
        f"{label or '–':<12}{'' if p is None else ', '.join(f'{name} {percent(share)}' for name, share in p.items())}  {text}"
        for text, label, p in ((text, row["label"], row["probabilities"]) for text, row in zip(texts, answers, strict=True))
    ]
    remarks = tuple(f"{text[:60]!r}: {row['remark']}" for text, row in zip(texts, answers, strict=True) if row["remark"])
    return Outcome(tuple(lines), {"answers": answers}, remarks)


@verb("Sentence", remote=True)
def trace(
    of: Source,
    text: Text,
    *,
    pair: Pair = None,
    change: Change = "",
    maps: Annotated[bool, Arg("Return the effective attention maps, too: one per layer and head.")] = False,
    layers: Annotated[tuple[int, ...], Arg("Layer of the maps, counted from 0. May be repeated; default: all.", flags=("--layer",))] = (),
    heads: Annotated[tuple[int, ...], Arg("Head of the maps, counted from 0. May be repeated; default: all.", flags=("--head",))] = (),
) -> Outcome:
    """Trace one text through the model: tokens, prediction, lambdas, attention maps.

    Layers and heads of the maps are counted from 0; by default all are returned.
    """
    _, model = Source.of(of).open()
    has = model.capabilities
    if maps := maps and has.maps:
        n = len(model.encode(text, pair))
        size = (len(layers) or has.layers) * (len(heads) or has.heads) * n * n
        if size > WEIGHTS:
            raise InputError(f"The maps of {n} tokens have {size:,} weights, and at most {WEIGHTS:,} are sent. Select layers and heads.")
    traced = model.trace(text, pair, change=change, layers=list(layers), heads=list(heads), maps=maps)
    numbers = fields_of(traced) | {"lambdas": rounded(traced.lambdas), "layers": list(traced.layer_ids), "heads": list(traced.head_ids)}
    if maps:
        numbers["attention"] = None if traced.attention is None else rounded(traced.attention)
    shares = ", ".join(f"{name} {percent(float(p))}" for name, p in zip(traced.labels, traced.probabilities, strict=True))
    lines = [f"{traced.label}: {shares}", " ".join(traced.tokens)]
    if traced.lambdas.size:
        lines += [f"lambda of layer {layer}: {np.array2string(row, precision=4)}" for layer, row in enumerate(traced.lambdas)]
    return Outcome(tuple(lines), numbers)


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """Prediction of a model for a text, with the contribution of each word."""

    run: Run
    model: Model
    trace: Trace  # with the scores of the method
    method: str
    headline: str
    smallest: str = ""  # smallest edit that changes the predicted class, in words
    stopped: str = ""  # why the search ended early
    exact: Exact | None = None

    @cached_property
    def trust(self) -> str:
        """Sentence on the trust in the words: beside random orders, and for a run beside the measurements of the method."""
        from sentviz.analysis.explain import score
        from sentviz.analysis.explain.faithfulness import against_chance
        from sentviz.analysis.explain.trust import trust_in
        from sentviz.models.in_memory import OpenModel

        verdict = against_chance(self.model, self.trace, score(self.trace, self.method))
        if isinstance(self.run, OpenModel):
            return str(verdict)
        trust = trust_in(self.run, self.method, verdict)
        return f"Trust in these words: {trust.word}. {' '.join(trust.details)}"

    @property
    def frame(self) -> pd.DataFrame:
        """One row per token: token, score, and margin of a score that was sampled (0 for others)."""
        from sentviz.analysis.explain import margins, score

        trace = self.trace
        return pd.DataFrame({"token": trace.tokens, "score": score(trace, self.method), "margin": margins(trace, self.method)})

    def chart(self) -> Figure:
        """Return the figure of the words with their scores."""
        from sentviz.charts.gallery import make
        from sentviz.charts.subjects import Sentence

        return make("strip", Sentence.of(self.run, self.trace), score=self.method)

    def json(self) -> dict[str, Any]:
        """Return prediction, scores, what their sign means, the headline, and how far to trust it if that was asked for or read."""
        from sentviz.analysis.explain import SCORES, ends, score

        (low, high), title = ends(self.trace, self.method), SCORES[self.method].title
        values = rounded(score(self.trace, self.method))
        return fields_of(self.trace) | {
            "score": {"name": self.method, "title": title, "high": high, "low": low, "values": values},
            "headline": self.headline,
            **({"trust": self.trust} if "trust" in vars(self) else {}),
        }

    def text(self) -> str:
        """Return headline, probabilities and a bar for each word."""
        from sentviz.analysis.explain import SCORES, agreement, completeness, deviation, ends, margins, score, uncertainty
        from sentviz.data.texts import unread_note

        trace, method = self.trace, SCORES[self.method]
        values, (low, high) = score(trace, self.method), ends(trace, self.method)
        lines = [f"{self.model.name}: {self.headline}", *filter(None, (self.smallest, self.stopped)), *trace.change.sentences(trace.tokens)]
        for label, probability in zip(trace.labels, trace.probabilities, strict=True):
            lines.append(f"  {label:>10} {'█' * round(30 * float(probability)):<30} {percent(probability):>6}")
        lines += ["", f"{method.title} (+ {high}, - {low}):"]
        deviations = deviation(trace, self.method)
        deviations = deviations if method.signed else np.where(trace.specials, 0, deviations)
        top, width = max(float(abs(deviations).max()), 1e-9), max(len(token) for token in trace.tokens)
        for token, value, error, unknown in zip(trace.tokens, deviations, margins(trace, self.method), trace.unknown, strict=True):
            bar = "█" * round(20 * abs(float(value)) / top)
            left, right = (bar.rjust(20), "") if value < 0 else ("", bar)
            note = (f" ± {error:.3f}" if error else "") + ("  (not in the vocabulary)" if unknown else "")
            printed = "".join(c if c.isprintable() else "·" for c in token)
            lines.append(f"  {printed:<{width}} {left:>20}|{right:<20} {signed(value, 3)}{note}")
        if self.method != "removal" and (rho := agreement(trace, values, signed=method.signed)) is not None:
            lines.append(f"Rank correlation with {'word removal' if method.signed else 'the size of word removal'}: {signed(rho)}")
        lines += [*filter(None, (completeness(trace, self.method), uncertainty(trace, self.method))), self.trust]
        if self.exact is not None:
            lines += _of_pairs(self.exact)
        start = self.model.tokenizer.truncation_side == "left"
        unread = unread_note(self.model.config.max_length, trace.dropped, trace.text, trace.text_pair, start=start)
        return "\n".join([*lines, *filter(None, (unread,))])


def _of_pairs(exact: Exact) -> list[str]:
    """Return lines on how exact values were computed, and on the pairs of words that interact."""
    gone = "deleted" if exact.absent == "deleted" else f"replaced by {exact.replaced_by}"
    lines = [f"Absent {exact.by} are {gone}; {exact.passes:,} texts were predicted. {exact.summary}"]
    for i, j in exact.pairs():
        lines.append(f"  {signed(exact.interactions[i, j], 3)}  {exact.players[i].text} + {exact.players[j].text}")
    return lines


@verb("Sentence", remote=True)
def explain(
    of: Source,
    text: Text,
    *,
    pair: Pair = None,
    change: Change = "",
    method: Annotated[str, Arg(f"Explanation method: {METHODS}", flags=("--method", "--score"), also=("score",))] = "removal",
    target: Target = PREDICTED,
    absent: Annotated[Literal["deleted", "masked", "padded"], Arg("Absent words of --method exact.")] = "deleted",
    edit: Annotated[bool, Arg("Search for the smallest edit that changes the predicted class, or towards --target.")] = False,
    trust: Annotated[bool, Arg("Compare the words with random orders for JSON, too. It takes up to four times as long.")] = False,
    seconds: Annotated[
        float | None, Arg("End the search after so many seconds of computing; no limit by default.", least=0.1, local=True)
    ] = None,
    progress: Annotated[Progress | None, "Texts"] = None,
) -> Explanation:
    """Predict a text and say how much each word contributes to the predicted class, or to another class.

    With a text only, the installed run that answers its language best is used, as in the app. With --model, your own code predicts.
    Special tokens such as [SEP] in a text are special for a Hugging Face model, and plain text for a run that was trained here.

    `sentviz reasons` explains every row of a file.
    """
    source = Source.of(of)
    if absent != "deleted" and method != "exact":
        raise OptionError("--absent belongs to --method exact.")
    if not (source.model or source.run or source.opened):
        source = Source(best_run(text))
    from sentviz.analysis.explain import explained, headline, supported, with_scores
    from sentviz.analysis.explain.headline import chance_in, chance_of, edit_sentence, searched
    from sentviz.models.budget import Budget, Spent
    from sentviz.models.in_memory import OpenModel

    run, model = source.open()
    no_pair(run, pair)
    budget, exact = Budget(seconds or math.inf), None
    try:
        with budget.working() as step:
            check = model.check  # A server stops work here if nobody waits for the answer.
            model = model.stoppable(lambda: (check(), step()))
            plain = model.trace(text, pair, change=change)
            traced = explained(model, plain.for_target(target), ["removal", *([method] if method != "exact" else [])])
            if method == "exact":
                from sentviz.analysis.explain.exact import exact as exact_values

                exact = exact_values(model, traced, absent=absent, progress=progress)
                traced = with_scores(traced, {"exact": exact})
            words = headline(supported(model, traced, chance_in(model) if isinstance(run, OpenModel) else chance_of(model, run)))
            smallest = f"Smallest edit: {edit_sentence(searched(model, plain.for_target(target)))}" if edit else ""
            ended = f"The search ended after {budget.seconds:g} seconds of computing. Go on with --seconds {2 * budget.seconds:g}."
            result = Explanation(run, model, traced, method, words, smallest, ended if budget.is_spent else "", exact)
            if trust or seconds is not None:
                _ = result.trust
            return result
    except Spent as spent:
        raise InputError(f"{spent} Go on with --seconds {2 * budget.seconds:g}.") from None


def best_run(text: str) -> str:
    """Return the installed run that answers the language of a text best. Raises OptionError if no installed run reads it."""
    from sentviz.analysis.explain.notices import SPOKEN, written_in
    from sentviz.runs import catalog
    from sentviz.runs.store import Run, runs

    spoken = written_in(text) or "en"
    if name := catalog.best_run((run for run in runs().values() if isinstance(run, Run)), spoken):
        return name
    fetched, size = catalog.best_to_fetch(spoken)
    remedy = f" `sentviz runs get {fetched}` ({size / 1e6:.0f} MB) installs one." if fetched else ""
    raise OptionError(f"No installed run reads {SPOKEN[spoken]}.{remedy}")


def no_pair(run: Run, pair: str | None) -> None:
    """Raise OptionError if there is a second sentence and the run reads single texts."""
    from sentviz.models.in_memory import OpenModel
    from sentviz.runs.catalog import reads_pairs

    if pair is not None and not isinstance(run, OpenModel) and not reads_pairs(run):
        raise OptionError(f"{run.name} reads single texts. Remove --pair.")


@dataclass(frozen=True, eq=False)
class Judgements(Result):
    """Judged explanations of texts, in their order."""

    each: tuple[Judgement, ...]

    def text(self) -> str:
        """Return each text with its verdict, and how many explanations are believed."""
        lines = [f"{judgement.trace.text}\n  {judgement}" for judgement in self.each]
        if len(self.each) > 1:
            believed, doubted = (sum(judgement.verdict == verdict for judgement in self.each) for verdict in ("believe", "doubt"))
            lines.append(f"Of {len(self.each)} explanations, {believed} explain the prediction well and {doubted} do not.")
        return "\n".join(lines)

    def json(self) -> list[dict[str, Any]]:
        """Return verdict, sentence and numbers of each."""
        return [_of_judgement(judgement) for judgement in self.each]


@verb("Sentence", remote=True)
def judge(
    of: Source,
    scores: Annotated[
        object,
        Arg(
            "Scores of a text's words: a file of JSON, or in a request the JSON itself.",
            example={"text": "Not bad.", "scores": [0.2, -0.1]},
        ),
    ],
    *,
    text: Annotated[str | None, Arg("Text of the scores, if the file does not name it.", size=20_000)] = None,
    pair: Pair = None,
    target: Target = PREDICTED,
    seed: Seed = 0,
    progress: Annotated[Progress | None, "Texts"] = None,
) -> Judgements:
    """Judge the explanations of RUN in the file SCORES: do the words that they name first decide the prediction?

    SCORES is JSON: {"text": "...", "tokens": [...], "scores": [...]}, [["word", 0.2], ...] with --text, or a list of such objects.
    Offsets may be added. With --model, leave RUN out. JSON is one object for each text.
    """
    from sentviz.analysis.explain.judge import judge as judged

    _, model = Source.of(of).open()
    several = isinstance(scores, list) and scores and all(isinstance(entry, dict) for entry in scores)
    explanations = scores if several and isinstance(scores, list) else [scores]
    return Judgements(
        tuple(
            judged(model, _text_of(entry, text), _scores_of(entry), pair=pair, target=target, seed=seed, progress=progress)
            for entry in explanations
        )
    )


def _text_of(explanation: Any, text: str | None) -> str:
    named = text if text is not None else explanation.get("text") if isinstance(explanation, dict) else None
    if not isinstance(named, str):
        raise InputError('The file does not name the text of the scores: add "text": "..." to it, or give --text.')
    return named


def _scores_of(explanation: Any) -> Any:
    return {name: value for name, value in explanation.items() if name != "text"} if isinstance(explanation, dict) else explanation


def _of_judgement(judgement: Judgement) -> dict[str, Any]:
    chance, exact = judgement.chance, judgement.to_exact
    return {
        "text": judgement.trace.text,
        "verdict": judgement.verdict,
        "sentence": str(judgement),
        "words": [[word.text, round(float(value), 6)] for word, value in zip(judgement.fitted.words, judgement.fitted.values, strict=True)],
        "fall": chance.fall,
        "random fall": chance.random,
        "random orders as good": chance.higher + chance.equal,
        "random orders": chance.orders,
        "rank correlation": _known(exact.ranks),
        "right signs": _known(exact.signs),
        "finds the strongest": exact.first,
        "relative error": _known(exact.error),
        "order from worst to best": _known(judgement.reached),
        "rank correlation with removal": _known(judgement.to_removal.ranks),
    }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
