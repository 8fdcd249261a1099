"""Answers of the papers' modules on made-up runs: whole tables, sentences and figures are as stored in `tests/data/papers.json`.

`pytest tests/test_paper_answers.py --bless` stores what the code gives now.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.charts.figure import Figure
from sentviz.charts.gallery import make
from sentviz.charts.subjects import Study
from sentviz.io.table import Table
from sentviz.papers.fused import formula_claims, printed_claims
from sentviz.papers.fused import study as fused
from sentviz.papers.fused import tables as fused_tables
from sentviz.papers.hardmax import study as hardmax
from sentviz.papers.ndt import claims, panels, specialisation, tables
from sentviz.papers.ndt.answer import answers as ndt_answers
from sentviz.papers.ndt.study import NDTS, configurations
from sentviz.papers.sentiformer import answer as sentiformer
from sentviz.papers.sentiformer.figures import _proposition
from sentviz.papers.sentiformer.separation_in_words import answers_table, head_in_words, separation_in_words
from sentviz.papers.sentiformer.solvers import Setting
from sentviz.papers.sevenessxin import claims as sevenessxin_claims
from sentviz.papers.sevenessxin import study as sevenessxin
from sentviz.papers.studies import cross_domain, runner
from sentviz.papers.studies.compare_configurations import better_in_words
from sentviz.runs.store import Run
from tests.charts import stub
from tests.kit import fake_trace
from tests.stored import compare, summary
from tests.studies import made_seeds, with_gates

THREE = ("bearish", "bullish", "neutral")
TITLES = {"transformer": (0, 1.0), "GRU": (0, 0.92), "Markov, k = 2": (2, 0.5)}
HABITS = pd.DataFrame({"layer": [0, 0, 1], "word_class": ["", "positive words", "negation"]})


def plain(value: Any) -> Any:
    """Return an answer as dictionaries, lists, texts and numbers."""
    if isinstance(value, pd.DataFrame):
        return {str(name): value[name].tolist() for name in value}
    if isinstance(value, Figure):
        return [value.name, value.caption, value.source, plain(value.frame), value.plot.to_plotly_json()["data"]]
    if isinstance(value, Run):
        return value.name
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value) if each.name not in ("draw", "make")}
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def separation(gru: float) -> Any:
    """Return the accuracies of three models up to and beyond the length of training; a GRU has this one beyond six words."""
    rows = [
        (name, order, n, 100, round(100 * share), share, share - 0.015, min(1.0, share + 0.04))
        for name, (order, usual) in TITLES.items()
        for n in (2, 6, 7, 24, 32, 64)
        for share in [gru if name == "GRU" and n == 7 else 1.0 if n <= order else usual - 0.01 * (n == 64)]
    ]
    frame = pd.DataFrame(rows, columns=["model", "order", "length", "n", "right", "accuracy", "low", "high"])
    solved = lambda text: pd.DataFrame({"answer": [text], "positive": 0.7, "right": True}, index=["GRU"])  # noqa: E731
    return stub(accuracy=frame, setting=Setting(), seconds={"GRU, 8 units": 1.25, "transformer": 3.0}, solvers=stub(answers=solved))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Run]]:
    """Return a function that makes two seeds of each model on a data set, with a number of wrong answers."""

    @cache
    def runs(dataset: str, seeds: int = 2, classes: tuple[str, ...] = ("negative", "positive"), **wrong: int) -> list[Run]:
        counts = {name.replace("_", "-"): count for name, count in wrong.items()}  # a variant stands behind "@"
        folder, several = tmp_path_factory.mktemp("runs"), list[Run]()
        for (model, _, variant), count in ((name.partition("@"), count) for name, count in counts.items()):
            several += made_seeds(folder, dataset, model, seeds, wrong=count, classes=classes, variant=variant)
        return several

    return runs


def of_ndt(models: Callable[..., list[Run]]) -> list[Run]:
    return [*models("sst2", vanilla=30, diff=20, ndt_unit_3=10), *models("twitter_financial", 1, THREE, diff=50, ndt_free_4=30)]


def of_versions(models: Callable[..., list[Run]]) -> list[Run]:
    return models("sentiment140", **{"7ess_v1": 40, "7ess_v1_rope": 20, "7ess_v6": 30, "7ess_v6_rope": 30})


def habits(patch: pytest.MonkeyPatch, runs: list[Run]) -> Table:
    rows = [("sst2", "ndt-unit-2", "unit", 2, "adds", k, run.name, 3, 8, 3, 35, 0.5, 0.4, 0.2, 1, 2) for k, run in enumerate(runs)]
    patch.setattr(specialisation, "habits", lambda runs: pd.DataFrame(rows, columns=specialisation.COLUMNS))
    patch.setattr(specialisation, "beyond_baselines", lambda frame: HABITS)
    patch.setattr(Run, "frame", lambda run, file: HABITS)
    return specialisation.table(runs)


def injected(patch: pytest.MonkeyPatch) -> str:
    weights = np.random.default_rng(0).uniform(size=(1, 2, 4, 4))
    patch.setattr(fused, "example", lambda of: stub(new_trace=lambda edit: edit, fresh=1))
    patch.setattr(fused, "difference", lambda before, after: stub(attention=weights, head_ids=(0, 1)))
    return fused.change_in_words(stub(runs=[]))


def answering(patch: pytest.MonkeyPatch) -> list[float]:
    frame = pd.DataFrame({"id": ["a", "b", "c"], "text": "x"})
    rows = stub(probabilities=np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]), frame=frame.head(2))
    patch.setattr("sentviz.models.loading.load", lambda run: run)
    patch.setattr(cross_domain, "RowsSource", stub(of=lambda run: run))
    patch.setattr(cross_domain, "predicted", lambda *of: rows)
    patch.setattr(cross_domain, "compound_scores", lambda texts: np.array([0.0, -1.0, 0.5])[: len(texts)])
    run: Any = stub(labels=("negative", "neutral", "positive"))
    return [*cross_domain.of_run(run)(frame), *cross_domain.vader()(frame)]


def studied(models: Callable[..., list[Run]]) -> list[Any]:
    runs = models("sst2", diff=20, vanilla=30)
    return [runner.drawn(runs, "ndt", "sst2", count, seed=seed) for count in (1, 2, 9) for seed in (0, 1)] + [
        runner.beside(runs[0], each) for each in runs[:2]
    ]


def nearness(patch: pytest.MonkeyPatch) -> list[str]:
    patch.setattr(hardmax, "surveyed", lambda runs: runs)
    patch.setattr(hardmax, "farthest_leader", lambda frame, model: frame)
    patch.setattr("sentviz.models.hardmax.HardmaxModel.of", lambda run: None)
    return [hardmax.distance_in_words(stub(runs=runs)) for runs in ([], [stub(frame=lambda file: 4.0)])]


def sized(models: Callable[..., list[Run]], wrong: int) -> list[Run]:
    """Return runs of V1 on numbers of tweets; of 40,000 and all, with this number of wrong answers."""
    return models("sentiment140", **{"7ess_v1@5k": 60, "7ess_v1@20k": 40, "7ess_v1@40k": wrong, "7ess_v1": wrong})


def curves(patch: pytest.MonkeyPatch, runs: list[Run]) -> Figure:
    patch.setattr(panels, "RESAMPLES", 20)
    return make("roc-panels", Study.of("all", runs), best=True)


def matched(patch: pytest.MonkeyPatch, low: float, high: float) -> Any:
    """Compare runs that add, with a mean |lambda| of 0.1 to 0.2, with runs that subtract, with one from `low` to `high`."""
    patch.setattr(specialisation, "DRAWS", 99)
    sizes = [*np.linspace(0.1, 0.2, 6), *np.linspace(low, high, 6)]
    frame = pd.DataFrame({"kind": ["adds"] * 6 + ["subtracts"] * 6, "habits": range(12), "size": sizes})
    return specialisation._matched(frame)


def negative_scores(patch: pytest.MonkeyPatch) -> Any:
    """Judge the scores of two runs on a data set; a third run is on another one."""
    rows = [
        (name, run, share, 0.05, 9) for name, run in (("nsmc", "b"), ("nsmc", "a"), ("sst2", "c")) for share in (0.2, 0.05 * (run == "b"))
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "run", "negative_alike", "negative", "texts"])
    patch.setattr(formula_claims.tables, "NEGATIVE", stub(read=lambda: frame))
    named: list[Any] = [stub(name=name) for name in "abc"]
    return [formula_claims.judge_negative_scores(name, named[:most]) for name, most in (("nsmc", 3), ("nsmc", 1), ("sst2", 3))]


def own_baselines(patch: pytest.MonkeyPatch) -> list[Any]:
    """Judge four baselines of table 1, of which none, two and three are equal to a published number."""
    findings = []
    for equal in (0, 2, 3):
        columns = {"task": ["NSMC"] * 4 + ["KorNLI"], "equal": [k < equal for k in range(5)], "source": ["B", "A", None, "A", "C"]}
        frame = pd.DataFrame(columns).assign(published=0.9, metric="accuracy")
        patch.setattr(fused, "published", lambda frame=frame: frame)
        findings.append(printed_claims.judge_own_baselines())
    return findings


def texts_of_sets(patch: pytest.MonkeyPatch) -> list[pd.DataFrame]:
    rows = pd.DataFrame({"id": list("abcde"), "text": "x", "label": [0, 1, 2, 0, 2]})
    patch.setattr(cross_domain.datasets, "load_split", lambda name, split: stub(frame=rows.assign(text=f"{name} {split}")))
    sets = [cross_domain.Texts("any", "Any", "any set", "test", {0: 1, 2: 0}, most) for most in (3, 9)]
    return [cross_domain.rows(each) for each in (*sets, *cross_domain.SETS[:2])]


def padded() -> pd.DataFrame:
    masked, read = fake_trace(6, seed=1), fake_trace(9)
    of_read = {name: getattr(read, name) for name in ("tokens", "map", "pooled", "label", "confidence")}
    return sevenessxin.padding_compared(masked, stub(padding=3, **of_read))


MADE: dict[str, Callable[[pytest.MonkeyPatch, Callable[..., list[Run]]], Any]] = {
    "separation in words": lambda patch, models: [separation_in_words(separation(gru)) for gru in (1.0, 0.5)],
    "first words": lambda patch, models: [answers_table(separation(1.0), text) for text in ("Not a good film", "was a good film")],
    "head in words": lambda patch, models: [head_in_words(fake_trace(layers=1, seed=seed), seed) for seed in (0, 1)],
    "stored shares": lambda patch, models: _proposition([]),
    "padding": lambda patch, models: padded(),
    "curves of ndt": lambda patch, models: curves(patch, of_ndt(models)),
    "answers of ndt": lambda patch, models: ndt_answers(of_ndt(models)),
    "against vanilla": lambda patch, models: [tables.beaten_in_words(each, "vanilla") for each in tables._comparisons(of_ndt(models))],
    "comparisons of ndt": lambda patch, models: tables._comparisons(of_ndt(models)),
    "better": lambda patch, models: [
        better_in_words(configurations(models("sst2", n, diff=20, vanilla=30), "sst2"), a, b)
        for n in (1, 2) for a, b in (("diff", "vanilla"), ("vanilla", "diff"))
    ],
    "leaked": lambda patch, models: tables.leaked(),
    "range": lambda patch, models: [
        claims.judge_range("yelp_full", [*models("yelp_full", 1, **dict.fromkeys(NDTS, 20)), *more], points=points)
        for more, points in (([], 0.6), (models("yelp_full", ndt_unit_2=20)[1:], 9.0), (models("yelp_full", ndt_unit_2=60)[1:], 0.6))
    ],
    "learned growth": lambda patch, models: claims.judge_learned_growth("imdb", models("imdb", ndt_free_2=9, ndt_nonneg_3=9)),
    "habits": lambda patch, models: habits(patch, models("sst2", ndt_unit_2=9)),
    "matched": lambda patch, models: [matched(patch, *sizes) for sizes in ((0.1, 0.5), (0.25, 0.5), (0.1, 0.2))],
    "gates": lambda patch, models: [
        sentiformer._gates([with_gates(run) for run in models("sst5_trees", n, sentiformer=9)]) for n in (1, 2)
    ],
    "tasks": lambda patch, models: fused_tables.tasks(models("question_pair", cls=40, cls_last_scaled=10)),
    "published": lambda patch, models: [fused_tables.published(), fused_tables.negatives()],
    "change of weights": lambda patch, models: injected(patch),
    "negative product": lambda patch, models: [formula_claims.judge_negative_product(), *formula_claims.raised(3, 9)],
    "versions": lambda patch, models: make("versions-beside-print", Study.of("sentiment140", of_versions(models))),
    "gains": lambda patch, models: [
        sevenessxin.gains(of_versions(models)[1:-1]), make("rope-gains", Study.of("sentiment140", of_versions(models)))
    ],
    "beyond": lambda patch, models: [sevenessxin_claims._beyond(sized(models, wrong), None) for wrong in (40, 10)],
    "f1": lambda patch, models: sevenessxin.validation_f1([stub(metrics=lambda: {"validation": {"confusion": [[40, 9], [5, 46]]}})] * 2),
    "hardmax": lambda patch, models: [hardmax.beside(models("imdb", hardmax_d2=30, hardmax_d8=20)), nearness(patch)],
    "negative scores": lambda patch, models: negative_scores(patch),
    "own baselines": lambda patch, models: own_baselines(patch),
    "texts of other domains": lambda patch, models: texts_of_sets(patch),
    "other domains": lambda patch, models: answering(patch),
    "runner": lambda patch, models: studied(models),
    "beside print": lambda patch, models: [
        make(name, Study.of("sst2", of_ndt(models)[:6])) for name in ("accuracy-beside-print", "accuracy-grid")
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_an_answer_is_as_stored(
    name: str, models: Callable[..., list[Run]], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    compare("papers.json", name, {"answer": summary(plain(MADE[name](monkeypatch, models)))}, request)
