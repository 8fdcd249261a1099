"""Parts of the papers' pages that choose a run, and the failure modes of SentiFormer."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from app import cache, visit
from app.blocks.boundary import boundary
from app.blocks.figure import show_figure
from app.blocks.run_choice import option_texts, series_of
from app.blocks.sections import show_blocks, show_study_figure
from app.text import halves, marked, md
from app.views.model.heads_part import GATES
from sentviz.charts.phenomena import MOST, predicted_sentences
from sentviz.charts.subjects import Answers, Runs, Sentence
from sentviz.data.demo import FAILURES
from sentviz.io.numbers import percent
from sentviz.papers.sentiformer.study import gated
from sentviz.papers.sevenessxin import printed_tables
from sentviz.papers.sevenessxin.claims import BEST
from sentviz.papers.sevenessxin.study import configurations, padding_compared, printed_recalls_in_words, recalls_in_words
from sentviz.runs.sections import Studied
from sentviz.runs.store import Run

SHOWN_FAILURES = (*FAILURES, "plain")  # plain sentences have none of the three properties, to compare with

# ---- hardmax transformer


def hardmax_page(of: Studied) -> None:
    """Link to the page that shows a review of the visitor's."""
    st.page_link("views/hardmax/hardmax.py", label="Watch the words of your own review", icon=":material/bubble_chart:")


def hardmax_playground(of: Studied) -> None:
    """Link to the playground."""
    label = "Move points of your own with any A in the playground"
    st.page_link("views/hardmax/hardmax.py", label=label, icon=":material/scatter_plot:", query_params={"lab": "playground"})


# ---- SentiFormer


def gates(of: Studied) -> None:
    """Show the gates of the first seed by word class, part of speech and word."""
    for run in gated(of.runs, of.dataset)[:1]:
        st.caption(f"Below: {md(run.name)}.")
        show_blocks(GATES, run, "gates")


@boundary()
def failures(of: Studied) -> None:
    """Show the accuracy of some runs on implicit, sarcastic and code-mixed sentences, with the sentences and each run's predictions."""
    names = [name for name, run in cache.models().items() if cache.fits_demo(run)]
    if not names:
        st.info("No run with weights that reads English sentences is installed.", icon=":material/inventory_2:")
        return
    default = [name for name in names if name.split("/")[-1].startswith("sentiformer")] or names
    options = option_texts(names)
    chosen = st.multiselect(
        "Runs",
        list(options),
        default[:3],
        format_func=options.__getitem__,
        key="failure-runs",
        max_selections=MOST,
        label_visibility="collapsed",
    )
    if not chosen:
        st.caption("Choose at least one run.")
        return
    rows = {name: cache.demo_rows(cache.run(name), SHOWN_FAILURES) for name in chosen}
    subject = Runs.of(*map(cache.run, chosen))
    subject.demo_rows = rows
    show_figure("phenomena", subject, "failures", only=SHOWN_FAILURES, sided=True, series=series_of(subject.sources))
    with st.expander("The sentences, and what each run predicts"):
        kind = st.segmented_control(
            "Group", FAILURES, default=FAILURES[0], required=True, key="failure-group", label_visibility="collapsed"
        )
        large = {"text": st.column_config.TextColumn(width="large")}
        st.dataframe(predicted_sentences(rows, kind), hide_index=True, height=320, column_config=large)


# ---- 7ess-Xin


def choose_version(runs: Sequence[Run], key: str, *, weights: bool = False) -> Run | None:
    """Let a visitor choose a version of the study, and return its first seed; the paper's best version comes first.

    Args:
        weights: whether the run must have weights. If no run fits, a note says so and None is returned.
    """
    able = {name: seeds[0] for name, seeds in configurations(runs).items() if seeds[0].has_weights or not weights}
    by_title = {printed_tables.title(name): run for name, run in able.items()}
    if not by_title:
        st.info(
            f"No version of 7ess-Xin{' with weights' if weights else ''} is installed. `{printed_tables.train()}` trains them.",
            icon=":material/inventory_2:",
        )
        return None
    names, best = list(by_title), printed_tables.title(BEST)
    return by_title[st.selectbox("Version", names, names.index(best) if best in by_title else 0, key=key, width=260)]


def schema(of: Studied) -> None:
    """Show figure 1: the parts of a version's model."""
    st.markdown("##### Figure 1: the encoder")
    run = choose_version(of.runs, "sevenessxin-schema-of")
    if run is not None:
        show_study_figure("sevenessxin", "version-schema", printed_tables.DATASET, of.runs, version=run.configuration)


def matrix(of: Studied) -> None:
    """Show figure 5: the confusion matrix, each class's recall next to the printed one, and what the printed recalls imply."""
    run = choose_version(of.runs, "sevenessxin-matrix-of")
    left, right = halves("sevenessxin-matrix")
    with left:
        if run is not None:
            show_figure("confusion", Answers(run), "sevenessxin-confusion")
    with right:
        st.markdown("\n\n".join(map(marked, recalls_in_words(run))))
        st.caption(printed_recalls_in_words())


def clouds(of: Studied) -> None:
    """Show figure 8: the words of right and wrong predictions, by frequency or by what sets a cell of the matrix apart."""
    run = choose_version(of.runs, "sevenessxin-clouds-of")
    if run is None:
        return
    titles = {"count": "frequent words, as in the paper", "keyness": "words that set a cell apart"}
    by = visit.setting(st.segmented_control, "Large are", "drawn", titles, required=True, label_visibility="visible")
    show_figure("word-cloud", Answers(run), "sevenessxin-clouds", by=by, stops="wordcloud" if by == "count" else "drop")
    st.caption(
        "The paper draws frequent words without the stop words of the package WordCloud, which drops “not”, “but” and “no” too. A word that"
        " is frequent in every cell does not describe a cell."
    )


def importance(of: Studied) -> None:
    """Show figures 6 and 7: what the first layer looks at in two sentences, next to each other."""
    run = choose_version(of.runs, "sevenessxin-importance-of", weights=True)
    if run is None:
        return
    for column, (kind, example) in zip(halves("sevenessxin-importance"), printed_tables.SENTENCES.items(), strict=True):
        with column:
            text = st.text_input(kind.capitalize(), example, key=f"sevenessxin-{kind}")
            with boundary():
                trace = cache.model(run).trace(text)
                st.markdown(f"{md(trace.label)}, {percent(trace.confidence, 0)}")
                show_figure("token-importance", Sentence.of(run, trace), f"sevenessxin-importance-{kind}")
    st.caption(
        "As the paper computes it: attention of the first layer, averaged over its heads, then over the tokens that look. It says where a"
        " layer looks, not why the model predicts a class. Word removal, in Sentence › Reason, answers that question."
    )


@boundary()
def padding(of: Studied) -> None:
    """Compare one sentence with padding that is masked and padding that is read."""
    run = choose_version(of.runs, "sevenessxin-padding-of", weights=True)
    if run is None:
        return
    text = st.text_input("Sentence", printed_tables.SENTENCES["contrast"], key="sevenessxin-padding-text")
    masked, read = (cache.model(run).trace(text, change=change) for change in ("", "term:mask=0"))
    st.dataframe(padding_compared(masked, read), hide_index=True, key="sevenessxin-padding-now")
    st.caption("The run was trained masked, unlike the published code's. Sentence › Reason has the same switch: Mask, below “What if?”.")
