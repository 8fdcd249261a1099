"""Explanation methods against exact values as tables, from the stored measurements."""

from __future__ import annotations

from collections.abc import Sequence

from docsite.text import plain, table
from experiments.general import published
from sentviz.analysis.claim import VERDICT_WORDS, Claim
from sentviz.analysis.explain import SCORES
from sentviz.analysis.explain.claims import CLAIMS
from sentviz.analysis.explain.exact_comparison_table import Share, found_first, has_referee, methods_of, rows_asked
from sentviz.io.numbers import number, percent
from sentviz.runs.catalog import study_runs
from sentviz.runs.store import SHIPPED, Run

MEASURES = {"first": "first word, %", "signs": "signs, %", "ranks": "ranks", "error": "error", "reached": "order"}
SHARES = ("first", "signs")
SHOWN = ("sst2/ndt-unit-2", "english/minilm", "english/mpnet", "korean/e5")


def _runs() -> list[Run]:
    return [run for run in study_runs([SHIPPED]).runs if has_referee(run)]


def referee() -> str:
    """Return every measure of every method of SHOWN, with intervals, as Markdown."""
    parts = []
    for run in (run for name in SHOWN for run in _runs() if run.name == name):
        rows = methods_of(run)
        by_chance = rows[rows["method"] == "random"].set_index("metric")["value"]
        lines = []
        for method in [*found_first(run), "random"]:
            of = rows[rows["method"] == method].set_index("metric")
            cells = [_cell(metric, *of.loc[metric, ["value", "low", "high"]]) if metric in of.index else "–" for metric in MEASURES]
            lines.append([plain(SCORES[method].title if method in SCORES else method), *cells])
        n, data = int(rows.loc[rows["metric"] == "first", "n"].max()), rows_asked(run)
        parts += [
            f"#### `{run.name}`",
            f"{n} texts of `{data}`, seed 0; random scores find the first word in {percent(by_chance['first'], 0)}.",
        ]
        parts.append(table(["method", *MEASURES.values()], lines, right=range(1, 6)))
    return "\n\n".join(parts)


def referee_board() -> str:
    """Return in what share of texts each method names the most decisive word first, for every run, as Markdown."""
    runs = _runs()
    shares = {run.name: found_first(run) for run in runs}
    values = {name: [of[name].value for of in shares.values() if name in of] for of in shares.values() for name in of}
    methods = sorted(values, key=lambda name: -sum(values[name]) / len(values[name]))
    lines = []
    for name, of in shares.items():
        some = next(iter(of.values()))
        cells = [_whole(of[method]) if method in of else "–" for method in methods]
        lines.append([f"`{name}`", str(some.n), f"{100 * some.random:.0f}", *cells])
    heads = ["run", "texts", "random", *(plain(SCORES[name].title) for name in methods)]
    return table(heads, lines, right=range(1, len(heads)))


def patching_agreement() -> str:
    """Return how well each method agrees with patching, for every measured run, as Markdown."""
    lines = []
    for run in _runs():
        rows = methods_of(run)
        of = rows[rows["metric"] == "patched-word"].sort_values("value", ascending=False)
        state = rows[rows["metric"] == "patched-state"].set_index("method")
        for row in of[of["method"] != "random"].to_dict("records"):
            title = SCORES[row["method"]].title
            cells = [_cell("", *(values[name] for name in ("value", "low", "high"))) for values in (row, state.loc[row["method"]])]
            lines.append([f"`{run.name}`", plain(title), *cells, str(int(row["n"]))])
    return table(["run", "method", "patched words", "patched states", "texts"], lines, right=range(2, 5))


def explanation_claims() -> str:
    """Return the claims about explanations with their findings on each run, as Markdown."""
    return claims_on_runs(CLAIMS, _runs())


def claims_on_runs(claims: Sequence[Claim], runs: Sequence[Run]) -> str:
    """Return claims with their findings on each run, as Markdown."""
    parts = []
    for claim in claims:
        finding = claim.test(runs)
        rows = [[f"`{name}`", VERDICT_WORDS[part.verdict], plain(part.evidence)] for name, part in finding.parts]
        parts += [f"**{plain(claim.statement)}**: {VERDICT_WORDS[finding.verdict]}.", table(["run", "verdict", "numbers"], rows)]
    return "\n\n".join(parts)


def published_explanations() -> str:
    """Return comprehensiveness, sufficiency and normalised AOPC of our run beside published numbers of other models, as Markdown."""
    rows = published.stored()
    lines = []
    for absent in dict.fromkeys(rows["absent"]):
        part = rows[rows["absent"] == absent]
        for method in dict.fromkeys(part["method"]):
            of = part[part["method"] == method].set_index("metric")
            title = SCORES[method].title if method in SCORES else method
            cells = [_cell("", *of.loc[metric, ["value", "low", "high"]]) for metric in ("comprehensiveness", "sufficiency", "reached")]
            lines.append([f"`{published.RUN}`", plain(title), absent, *cells])
    for model, method, comprehensive, sufficient in published.PUBLISHED:
        numbers = [f"{comprehensive:.3f}", f"{sufficient:.3f}", "not given"]
        lines.append([f"{model} (published)", plain(SCORES[method].title), "deleted", *numbers])
    return table(["model", "method", "absent words", "comprehensiveness", "sufficiency", "normalised AOPC"], lines, right=(3, 4, 5))


def _whole(share: Share) -> str:
    percent = f"{100 * share.value:.0f}"
    return f"*{percent}*" if share.at_chance else percent


def _cell(metric: str, value: float, low: float, high: float) -> str:
    return number(100 * value, 0, (100 * low, 100 * high)) if metric in SHARES else number(value, ends=(low, high))
