"""Parts of NDT's page with choices of their own: metric and rows, a baseline, two configurations, the scale of lambdas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from app import visit
from app.blocks.control import control
from app.focus import choices
from app.shared import once
from app.text import halves, md
from app.views.papers.blocks import missing_note, show_study_figure, show_table
from sentviz.errors import InputError
from sentviz.io.numbers import p_value
from sentviz.papers.ndt import PAPER, based
from sentviz.papers.ndt.answer import BASES
from sentviz.papers.ndt.figures import SPLITS
from sentviz.papers.ndt.lambdas import SETTINGS_OF
from sentviz.papers.ndt.study import DATASETS, configurations, controlled_lambdas, describe_controls, summary
from sentviz.papers.ndt.tables import comparisons
from sentviz.papers.ndt.tables import results as results_table
from sentviz.papers.studies.compare_configurations import mixed
from sentviz.papers.studies.items import VERDICTS, Column, Table
from sentviz.papers.studies.stats import seed_noise
from sentviz.runs.store import Run

SCALES = {"value": "Value", "change": "Change from the start"}


measured_runs = once(16, "Reading the runs")(summary)


def results(runs: Sequence[Run], dataset: str) -> None:
    """Show a metric measured and printed, the accuracy by constraint, and the table of all metrics."""
    split = "test"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        metric = control("accuracy-beside-print", "metric", "Metric", widget=st.selectbox, width=220)
        if any("official_test" in run.metrics() for seeds in configurations(runs, dataset).values() for run in seeds):
            split = visit.focus().over if visit.focus().over in SPLITS else "test"
            visit.choose(st.segmented_control, "Rows", "over", SPLITS, required=True)
    measured = measured_runs(runs, dataset, split)
    left, right = halves("ndt-results")
    with left:
        missing = show_study_figure(PAPER, "accuracy-beside-print", dataset, runs, metric=metric, split=split)
    with right:
        show_study_figure(PAPER, "accuracy-grid", dataset, runs, split=split)
    missing_note([missing])
    rows = ", official test" if split != "test" else ", measured and reported"
    st.markdown(f"##### Every reported column on {DATASETS[dataset]}{rows}")
    show_table(results_table(runs, dataset, split, measured), "ndt-results-table")
    with st.expander("Every average, numbers only", on_change="rerun", key="ndt-averages") as drawer:
        if drawer.open:
            wide = measured.pivot(index="model", columns="metric", values="value").reindex(list(configurations(runs, dataset)))
            words = "Precision, recall and F1 as macro and weighted means and, for two classes, of the positive class; loss in nats."
            frame = wide.rename_axis(columns=None).reset_index()
            show_table(Table(f"averages-{dataset}", "Every average", frame, words), "ndt-averages-table")


# ---- comparisons


compared = once(16, "Comparing the configurations")(comparisons)


def compare(runs: Sequence[Run], dataset: str) -> None:
    """Compare every configuration with one of the baselines, and any two with each other."""
    by_model = configurations(runs, dataset)
    bases = {base: title for base, title in BASES.items() if base in by_model}
    if not bases:
        missing_note([f"No baseline on {DATASETS[dataset]} is installed: `sentviz study ndt --dataset {dataset}` trains them."])
        return
    base = visit.setting(
        st.segmented_control, "Against", "base", list(bases), required=True, format_func=lambda name: f"against {bases[name]}"
    )
    table = compared(runs, dataset, base)
    if table.frame.empty:
        st.info("No other configuration is installed to compare with.", icon=":material/inventory_2:")
        return
    counts = table.frame["verdict"].value_counts()
    is_ndt = table.frame["model"].str.startswith("ndt-")
    better = int((table.frame["verdict"] == "better")[is_ndt].sum())
    st.markdown(
        f"**{better} of {int(is_ndt.sum())} NDT configurations beat {bases[base]}** after Holm's correction; of all {len(table.frame)}:"
        f" {' · '.join(f'{counts.get(word, 0)} {text}' for word, text in VERDICTS.items())}"
    )
    show_table(replace(table, frame=table.frame.sort_values("difference", ascending=False)), "ndt-against")
    if len(by_model) > 1:
        _compare_two(by_model, dataset)


def _compare_two(by_model: dict[str, list[Run]], dataset: str) -> None:
    """Let a visitor choose two configurations, and say whether the first is better."""
    names = list(by_model)
    with st.container(border=True, horizontal=True, gap="small", vertical_alignment="bottom"):
        a = st.selectbox("Is this configuration", names, len(names) - 1, key=f"ndt-a-{dataset}", width=260)
        b = st.selectbox("better than this one?", names, 0, key=f"ndt-b-{dataset}", width=260)
        if a != b:
            comparison = mixed(by_model[a], by_model[b], noise=seed_noise(by_model.values()))
            answer = {"better": "Yes.", "worse": "No, it is worse.", "cannot be told": "No significant difference."}[comparison.word()]
            how = p_value(comparison.p)
            if comparison.test != "over seeds":
                how = f"McNemar {how} compares the two runs, not the two models"
            st.markdown(f"**{answer}** {md(comparison.numbers)}; {md(how)}.")


# ---- lambdas


def lambda_grid(runs: Sequence[Run], dataset: str) -> None:
    """Draw the lambdas of all configurations over training, on the chosen scale."""
    visit.choose(st.segmented_control, "Scale", "scale", choices("scale"), format_func=SCALES.get)
    missing_note([show_study_figure(PAPER, "lambda-grid", dataset, runs, change=visit.focus().scale == "change")])


controlled = once(8, "Reading the lambdas")(controlled_lambdas)


def controls(runs: Sequence[Run], dataset: str) -> None:
    """Show how much of a lambda is put in by its start and how much training changes, if there are controlled runs."""
    frame = controlled(runs, dataset)
    if frame.empty:
        return
    st.markdown("##### Learned, or set by the start values?")
    st.markdown("\n".join(f"- {md(line)}" for line in describe_controls(frame)))
    if SETTINGS_OF in set(frame["model"]):
        missing_note([show_study_figure(PAPER, "lambda-settings", dataset, runs)])
    with st.expander("Every lambda of these runs", on_change="rerun", key="ndt-controls") as drawer:
        if drawer.open:
            counted = frame.assign(
                layer=frame["layer"] + 1, component=frame["component"] + 1, variant=frame["variant"].replace("", "as it is")
            )
            numbers = ("model", "variant", "seed", "layer", "component", "start", "end", "change")
            table = Table(f"controls-{dataset}", "Lambdas from controlled starts", counted, "", [Column(name) for name in numbers])
            show_table(table, "ndt-controls-table")
    st.caption(
        f"`sentviz study ndt-controls --dataset {dataset}` trains them, `ndt-settings` those with other rates and decays. Runs of"
        " the same seed are next to each other. Accuracies have 95 %"
        " intervals over test rows, without chance in training."
    )


# ---- on a base


@once(4, "Comparing the runs on MiniLM")
def _on_base(runs: Sequence[Run]) -> tuple[Table, Table]:
    return based.accuracies(runs), based.lambdas(runs)


def on_base(runs: Sequence[Run], _: str) -> None:
    """Show accuracy and lambda of the runs on MiniLM, or the command that trains them."""
    try:
        accuracies, lambdas = _on_base(runs)
    except InputError as error:
        missing_note([str(error)])
        return
    show_table(accuracies, "ndt-base-accuracy")
    if len(lambdas.frame):
        st.markdown("##### λ by layer, at the start and at the end")
        show_table(lambdas, "ndt-base-lambdas")
