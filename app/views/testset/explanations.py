"""Which explanation can be trusted? Every method beside exact values on short texts, and faithfulness on texts of any length."""

from __future__ import annotations

import streamlit as st

from app import cache, visit
from app.blocks.figure import show_figure
from app.blocks.measure import lacking, measured_run
from app.blocks.slice_choice import note_unsliced
from app.places import EXPLAINED
from app.text import halves, intro, md
from app.views.papers.board_part import show_findings
from sentviz.analysis.explain import SCORES
from sentviz.analysis.explain.claims import CLAIMS
from sentviz.analysis.explain.exact_comparison_table import advice, has_referee, headline, methods_of, rows_asked, turning_line
from sentviz.analysis.explain.measured import MAX_WORDS, faithfulness_of, flips_of, has_faithfulness
from sentviz.charts.referee import RANKED
from sentviz.charts.subjects import Runs, Study
from sentviz.io.glossary import tip
from sentviz.io.lazy import pd
from sentviz.io.numbers import number, percent
from sentviz.runs.store import Run

SHORT = {
    "first": "First word",
    "signs": "Signs",
    "ranks": "Ranks",
    "error": "Error",
    "reached": "Order",
    "comprehensiveness": "Comprehensiveness",
    "patched-word": "Patched words",
    "patched-state": "Patched states",
}


def beside_exact(run: Run) -> None:
    """Show how every method compares with exact values on short texts."""
    st.markdown(f"### {md(advice(run))}", help=tip("referee"))
    st.caption(md(headline(run)))
    left, right = halves("referee", 1.0, 1.15)
    with left:
        known = set(methods_of(run)["metric"])
        offered = [name for name in SHORT if name in known]
        metric = visit.setting(st.segmented_control, "Measure", "metric", offered, format_func=SHORT.get)
        show_figure("referee", Runs(run), metric=metric)
        if metric.startswith("patched"):
            st.caption(
                "Effect of a mean state in the place of the word, after the embedding (patched words) or after half of the layers (patched"
                " states), on test texts of at most 30 words. After half of the layers, other words already hold what they read from it."
            )
    with right:
        show_figure("referee-curves", Runs(run))
        if line := turning_line(run):
            st.markdown(md(line), help=tip("interaction"))
    dataset = rows_asked(run)
    own = dataset == run.config["data"]["name"]
    st.caption(
        f"Exact Shapley values of all subsets of the words, for texts of 4 to 10 words of {'the' if own else 'another'} test split"
        f" ({md(dataset)}{'' if own else ', because the own split has too few short texts'}); all scores explain the predicted class, and"
        " absent words are deleted. KernelSHAP, permutation SHAP and LIME predict 200 subsets themselves, of at most 1,024, so that they"
        " come close to the exact values by construction."
    )


def faithful(run: Run) -> None:
    """Show the faithfulness of every method over a sample of the test split, their times, and the smallest edits."""
    frame = faithfulness_of(run)
    frame = frame.assign(method=[SCORES[name].title if name in SCORES else name for name in frame["method"]])

    def of(metric: str) -> pd.DataFrame:
        return frame[frame["metric"] == metric]

    left, right = halves("faithfulness")
    for column, metric in zip((left, right, left), RANKED, strict=True):
        with column:
            show_figure("faithfulness", Runs(run), f"ranking-{metric}", metric=metric)
    with right:
        rivals = of("comprehensiveness").query("method != 'random' and method != 'Word removal'").sort_values("value", ascending=False)
        best = rivals.iloc[0]
        near = int((rivals["high"].iloc[1:] >= best["low"]).sum())
        st.markdown(f"##### Highest after word removal: {best['method']}", help=tip("faithfulness"))
        overlap = "the interval of one other overlaps" if near == 1 else f"the intervals of {near} others overlap"
        st.markdown(
            f"Comprehensiveness {number(best['value'], ends=(best['low'], best['high']))}; "
            + (f"{overlap} with it, so the difference is not significant." if near else "no other interval overlaps with it.")
        )
        st.caption(
            "Word removal is the reference: it runs the model without each word, which is close to what comprehensiveness measures, so it"
            " has an advantage by construction. A method whose number is near the grey line is no better than chance."
        )
        times = of("milliseconds").sort_values("value")
        if not times.empty:
            st.markdown("##### Time per sentence")
            costs = (f"{row['method']} {row['value']:.0f}" for row in times.to_dict("records"))
            n = int(times["n"].max())
            st.markdown(
                f"Milliseconds in addition to the prediction, mean of {n} sentences on the machine that measured: "
                + " · ".join(costs)
                + "."
            )
        smallest_edits(run)


def smallest_edits(run: Run) -> None:
    """Show in how many texts a small edit changes the predicted class."""
    flips = {row["metric"]: row for row in flips_of(run).to_dict("records")}
    if not flips:
        return
    st.markdown("##### The smallest edit that changes the predicted class", help=tip("flip"))
    shares = {metric: percent(row["value"], 0, ends=(row["low"], row["high"])) for metric, row in flips.items()}
    cost = f"{flips['passes']['value']:.0f} edited texts, {flips['milliseconds']['value'] / 1e3:.1f} s per text"
    sentences = [
        f"Found for {shares['found']} of {flips['found']['n']} test texts of at most {MAX_WORDS} words; one word is enough for"
        f" {shares['one']} ({cost})."
    ]
    if "equal" in shares:
        sentences += [f"For {shares['equal']} the search finds an edit of one word if there is one: all plausible ones were tried as well."]
    if "known" in shares and flips["known"]["value"] < 1:
        sentences += [
            f"For {shares['known']} the search is certain whether one word is enough: it found such an edit or tried every plausible one."
        ]
    if "random" in shares:
        sentences += [f"{shares['random']} of random edits of as many words also change the predicted class."]
    st.markdown(" ".join(sentences))


intro(
    "Which explanation to believe on this model: every method beside the exact answer on short texts, and beside random explanations.",
    "A faithful explanation names words that decide the prediction. The prediction can still be wrong.",
)
note_unsliced("the measurements are stored as means over their sample, not for each of its rows")
every = list(cache.runs().values())
run = measured_run(EXPLAINED, "referee")
if has_referee(run):
    beside_exact(run)
with st.container() if not has_referee(run) else st.expander("Texts of any length: faithfulness", icon=":material/rule:"):
    if has_faithfulness(run):
        faithful(run)
    else:
        lacking(run, "faithfulness")
        smallest_edits(run)
with st.expander("All models", icon=":material/table:", on_change="rerun", key="referee-models") as opened:
    if opened.open:
        metric = st.segmented_control(
            "Measure of all models", list(SHORT), default="first", format_func=SHORT.__getitem__, key="all-metric"
        )
        show_figure("referee-board", Study.of("all", [each for each in every if has_referee(each)]), metric=metric or "first")
with st.expander("Three claims about explanations", icon=":material/gavel:", on_change="rerun", key="referee-claims") as opened:
    if opened.open:
        show_findings(CLAIMS, every)
