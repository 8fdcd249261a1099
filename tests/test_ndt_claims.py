"""Every claim of the NDT paper on planted runs: it must be able to hold, to fall and, where chance is in it, to stay open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import beta

from sentviz.analysis.claim import VERDICT_WORDS, Effect, Finding
from sentviz.papers.ndt import claims
from sentviz.papers.ndt.claims import CLAIMS
from sentviz.papers.ndt.study import NDTS
from sentviz.papers.ndt.tables import direction_in_words, lambdas
from sentviz.papers.studies import results
from sentviz.papers.studies.stats import compare_over_seeds
from sentviz.runs.store import Run
from tests.shipped import often
from tests.studies import made_run, made_seeds
from tests.studies import ndt_claim as claim
from tests.test_ndt_auc import AREAS
from tests.test_ndt_outcomes import OUTCOMES
from tests.test_ndt_printed_claims import TABLES
from tests.test_ndt_specialisation import SPECIALISED

pytestmark = pytest.mark.slow

DATASETS = {"IMDb": "imdb", "SST-2": "sst2", "Yelp": "yelp_full", "Twitter": "twitter_financial"}


def test_no_claim_is_left_out() -> None:
    """The statements that are planted below are all there are."""
    planted = {(statement, "its own tables") for statement, *_ in (*TABLES, *OUTCOMES)}
    planted |= {(statement, "runs here") for statement in (*RUNS, *OURS, *SPECIALISED)}
    assert planted == {(each.statement, each.against) for each in CLAIMS}


# ---- the runs here, made up

BASES = ("vanilla", "diff", "vanilla-matched")
Shelf = Callable[..., list[Run]]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Runs of a data set by how many of 200 rows they get wrong, two seeds each that err on other rows; made once each."""
    root, created = tmp_path_factory.mktemp("planted"), dict[tuple[object, ...], Run]()

    def of(dataset: str, run: Run) -> Run:
        moved = Run(run.name.replace("any", dataset), run.folder)
        vars(moved)["config"] = run.config | {"data": {"name": dataset}}
        return moved

    def runs(dataset: str, wrong: Mapping[str, int], *, seeds: int = 2, drift: float = 0.1, chosen: str = "") -> list[Run]:
        """Validation is as good as the test, but best for `chosen`."""
        planted = []
        for model, count in wrong.items():
            validation = 1.0 if model == chosen else 1 - count / 200
            for seed in range(seeds):
                key = model, seed, count, drift, validation
                if key not in created:
                    created[key] = made_run(
                        root / "-".join(map(str, key)),
                        "any",
                        model,
                        seed,
                        wrong=count,
                        first_wrong=7 * seed,
                        validation=validation,
                        drift=drift,
                        also=("official_test",),
                    )
                planted.append(of(dataset, created[key]))
        return planted

    return runs


def every(count: int, **models: int) -> dict[str, int]:
    """Return the number of wrong rows of every NDT, and of the models named, with "_" for "-"."""
    return dict.fromkeys(NDTS, count) | {name.replace("_", "-"): value for name, value in models.items()}


def on_one(judge: Callable[[list[Run]], Finding]) -> Callable[[list[Run]], Finding]:
    """Return a test that checks that all kinds of rows have the headline's verdict, and returns the finding on the test rows."""

    def on_test_rows(runs: list[Run]) -> Finding:
        headline = judge(runs)
        parts = [part for _, part in headline.parts] or [headline]
        assert {headline.verdict} == {part.verdict for part in parts}
        return parts[0]

    return on_test_rows


BEST_ON_SST_2 = ("On SST-2 [0,1] with three maps is the best NDT",)
BETTER = {
    **{f"The best NDT beats {name} on {title}": (title, base)
       for title in DATASETS for name, base in (("vanilla", "vanilla"), ("DT", "diff"))},
    **{f"Not the wider block: NDT beats vanilla-matched on {title}": (title, "vanilla-matched") for title in DATASETS},
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", BETTER)
def test_the_best_ndt_against_another(statement: str, shelf: Shelf) -> None:
    title, base = BETTER[statement]
    judge, data = on_one(claim(statement, "runs here")), DATASETS[title]
    name = base.replace("-", "_")
    holds = judge(shelf(data, every(10, **{name: 70})))
    assert holds.verdict == "holds" and "of which 12 are better" in holds.evidence and "+30.00" in holds.evidence
    single = judge(shelf(data, every(70, **{name: 70}) | {"ndt-free-3": 10}))
    assert single.verdict == "holds" and single.evidence.startswith("ndt-free-3") and "of which 1 are better" in single.evidence
    falls = judge(shelf(data, every(70, **{name: 10})))
    assert falls.verdict == "fails" and "of which 0 are better" in falls.evidence
    assert judge(shelf(data, every(30, **{name: 30}))).verdict == "open"
    assert judge(shelf(data, every(70, **{name: 10}) | {"ndt-unit-2": 10})).verdict == "open"
    assert judge(shelf(data, {"ndt-unit-2": 70, base: 10})).verdict == "open"  # eleven are not here
    assert judge(shelf(data, {"ndt-unit-2": 10, base: 70}, seeds=1)).verdict == "unjudged"  # other seeds unknown
    assert judge(shelf(data, {base: 10})).verdict == judge(shelf(data, every(10))).verdict == "unjudged"


@pytest.mark.parametrize("base", often(BASES, "diff"))
def test_the_best_ndt_is_chosen_once_and_by_validation(base: str, shelf: Shelf) -> None:
    """The NDT that validation prefers is compared on both kinds of rows, although another one is better on both."""
    title = {"vanilla": "The best NDT beats vanilla", "diff": "The best NDT beats DT"}.get(base, f"Not the wider block: NDT beats {base}")
    runs = shelf("sst2", every(70, **{base.replace("-", "_"): 30}) | {"ndt-free-4": 10}, chosen="ndt-unit-3")
    parts = dict(claim(f"{title} on SST-2", "runs here")(runs).parts)
    assert list(parts) == ["the re-split", "the official sentences"]
    for part in parts.values():
        assert part.verdict == "fails" and part.evidence.startswith(f"ndt-unit-3 − {base}: −20.00")
        assert (
            "ndt-unit-3 has the highest validation accuracy of the 12 installed NDT configurations, of which 1 are better" in part.evidence
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", [*(name for name in BETTER if name.endswith("SST-2")), "DT beats vanilla on SST-2", *BEST_ON_SST_2])
@pytest.mark.parametrize(
    ("test", "official", "verdict"),
    [
        ("good", "good", "holds"),
        ("good", "same", "open"),
        ("same", "good", "open"),
        ("good", "bad", "fails"),
        ("good", "none", "holds"),
        ("none", "bad", "fails"),
    ],
)
def test_sst_2_is_judged_on_both_kinds_of_rows(
    statement: str, test: str, official: str, verdict: str, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The strictest verdict of the rows that can be judged is the headline; a configuration is better, equal or worse than all others."""
    own = {"DT beats vanilla on SST-2": ("diff",), **dict.fromkeys(BEST_ON_SST_2, ("ndt-unit-3",))}.get(statement, NDTS)
    wrong = {"good": (10, 70), "same": (30, 30), "bad": (70, 10)}
    shelves = {
        split: {model: shelf("sst2", {model: wrong[how][model not in own]}) for model in (*NDTS, *BASES)} if how != "none" else {}
        for split, how in (("test", test), ("official_test", official))
    }
    monkeypatch.setattr(claims, "tested", lambda runs, dataset, split: shelves[split])
    monkeypatch.setattr(claims, "configurations", lambda runs, dataset: shelves["test"] or shelves["official_test"])
    finding = claim(statement, "runs here")([])
    verdicts = {"good": "holds", "same": "open", "bad": "fails", "none": "unjudged"}
    assert finding.verdict == verdict
    assert [(rows, part.verdict) for rows, part in finding.parts] == [
        ("the re-split", verdicts[test]),
        ("the official sentences", verdicts[official]),
    ]
    assert all(f"on {rows} it {VERDICT_WORDS[part.verdict]}: {part.evidence}" in finding.evidence for rows, part in finding.parts)


Made = tuple[str, dict[str, str]]  # a model, and how `made_seeds` makes it another configuration
FROZEN, ON_MINILM = {"variant": "frozen"}, {"base": "minilm"}
OURS: dict[str, list[tuple[Made, Made]]] = {  # statement -> configurations with the idea, each with the one that it is compared with
    "On SST-2 learned lambdas answer better than lambdas frozen at their start": [
        ((model, {}), (model, FROZEN)) for model in ("ndt-free-3", "ndt-symmetric-3")
    ],
    "On MiniLM, a pretrained encoder, a second component improves SST-2": [
        ((model, ON_MINILM), ("cls", ON_MINILM)) for model in ("cls-ndt-free-2", "cls-ndt-unit-2")
    ],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", OURS)
def test_our_claims_on_lambda(statement: str, tmp_path: Path) -> None:
    """Each configuration has to be better than the one it is compared with; one that is worse refutes the claim."""
    judge = on_one(claim(statement, "runs here"))

    def planted(first: int, second: int, plain: int | None, seeds: int = 2) -> Finding:
        runs: dict[str, Run] = {}
        for wrong, (idea, rival) in zip((first, second), OURS[statement], strict=True):
            for (model, options), count in ((idea, wrong), (rival, plain)):
                folder = tmp_path / f"{first}-{second}-{plain}-{seeds}-{len(runs)}"
                planted_runs = made_seeds(folder, "sst2", model, seeds, wrong=count, also=("official_test",), **options) if count else []
                runs |= {run.name: run for run in planted_runs}
        return judge(list(runs.values()))

    holds = planted(10, 10, 70)
    assert holds.verdict == "holds" and "+30.00" in holds.evidence and "2 against 2 seeds" in holds.evidence
    assert planted(70, 10, 40).verdict == "fails"
    assert planted(10, 40, 40).verdict == planted(40, 40, 40).verdict == "open"
    assert planted(10, 10, 70, seeds=1).verdict == planted(10, 10, None).verdict == judge([]).verdict == "unjudged"


PAIRS = {
    "DT beats vanilla on IMDb": ("imdb", "diff", "vanilla"),
    "DT beats vanilla on SST-2": ("sst2", "diff", "vanilla"),
    "DT beats vanilla on Twitter": ("twitter_financial", "diff", "vanilla"),
    "Vanilla beats DT on Yelp": ("yelp_full", "vanilla", "diff"),
}


@pytest.mark.parametrize("statement", often(PAIRS, next(iter(PAIRS))))
def test_dt_against_vanilla(statement: str, shelf: Shelf) -> None:
    data, better, worse = PAIRS[statement]
    judge, elsewhere = claim(statement, "runs here"), "imdb" if data == "sst2" else "sst2"
    assert judge(shelf(data, {better: 10, worse: 70})).verdict == "holds"
    assert judge(shelf(data, {better: 70, worse: 10})).verdict == "fails"
    assert judge(shelf(data, {better: 30, worse: 30})).verdict == "open"
    assert judge(shelf(elsewhere, {better: 10, worse: 70})).verdict == "unjudged"  # the runs are trained on another data set


BEST = {
    "On IMDb [0,1] with two maps is the best NDT": ("imdb", "ndt-unit-2"),
    "On Yelp [−1,1] with three maps is the best NDT": ("yelp_full", "ndt-symmetric-3"),
    "On SST-2 [0,1] with three maps is the best NDT": ("sst2", "ndt-unit-3"),
    "On Twitter (−inf,inf) with four maps is the best NDT": ("twitter_financial", "ndt-free-4"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", BEST)
def test_the_best_of_the_ndts(statement: str, shelf: Shelf) -> None:
    data, model = BEST[statement]
    judge = claim(statement, "runs here")
    assert judge(shelf(data, every(70) | {model: 10})).verdict == "holds"
    assert judge(shelf(data, every(70, vanilla=10) | {model: 10})).verdict == "holds"  # vanilla is not asked
    assert judge(shelf(data, every(70) | {"ndt-nonneg-2": 10})).verdict == "fails"
    assert judge(shelf(data, every(70) | {model: 10, "ndt-nonneg-2": 10})).verdict == "open"  # a rival as good
    assert judge(shelf(data, {"ndt-nonneg-2": 70, model: 10})).verdict == "open"  # ten are not here
    assert judge(shelf(data, {model: 10})).verdict == "unjudged"


@pytest.mark.exhaustive
def test_within_so_many_points(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = set()

    def noted(*sides: list[Run], level: float, **options: Any) -> Any:
        levels.add(level)
        return compare_over_seeds(*sides, level=level, **options)

    monkeypatch.setattr(claims, "compare_over_seeds", noted)
    judge = claim("On Yelp all NDT variants lie within 0.6 points", "runs here")
    same = judge(shelf("yelp_full", every(20)))
    assert same.verdict == "holds" and "0 of 66 pairs differ significantly more; " in same.evidence
    assert levels == {1 - 0.05 / 66}  # one of 66 pairs falls outside by chance in 5 of 100 studies
    far = judge(shelf("yelp_full", every(10) | {"ndt-unit-2": 70}))
    assert far.verdict == "fails" and "differ by 30.00 points; 11 of 66" in far.evidence
    assert far.effect is not None and far.effect.low is not None and far.effect.high is not None and far.effect.null == 0.6
    assert far.effect.value == pytest.approx(30) == (far.effect.low + far.effect.high) / 2 and 19 < far.effect.low < 20
    near = judge(shelf("yelp_full", every(20) | {"ndt-unit-2": 24}))
    assert near.verdict == "open" and near.effect is not None and near.effect.low is not None and near.effect.high is not None
    assert near.effect.low < 0 < near.effect.value < near.effect.high  # the interval of the difference includes zero
    assert judge(shelf("yelp_full", every(20), seeds=1)).verdict == "unjudged"
    assert judge(shelf("yelp_full", {"ndt-unit-2": 10, "ndt-unit-3": 70})).verdict == "unjudged"


UNBOUNDED = tuple(name for name in NDTS if "nonneg" in name or "free" in name)
BOUNDED = tuple(name for name in NDTS if "symmetric" in name)
MOVES = {
    **{f"Training itself makes unbounded lambdas grow with depth on {title}": (data, UNBOUNDED, 1) for title, data in DATASETS.items()},
    **{f"Training itself makes lambda more negative under [−1,1] on {title}": (data, BOUNDED, -1) for title, data in DATASETS.items()},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", MOVES)
def test_what_training_does_to_lambda(statement: str, shelf: Shelf) -> None:
    """Every lambda ends `drift` times its layer higher than it starts: six runs one way differ from chance, five do not."""
    data, models, way = MOVES[statement]
    judge, wrong, seeds = claim(statement, "runs here"), dict.fromkeys(models, 20), 6 // len(models)
    up, down = (shelf(data, wrong, seeds=seeds, drift=sign * way * 0.1) for sign in (1, -1))
    assert judge(up).verdict == "holds" and "6 of 6" in judge(up).evidence
    assert judge(down).verdict == "unjudged" and "ours go the other way" in judge(down).evidence and "0 of 6" in judge(down).evidence
    assert judge(up[:3] + down[3:]).verdict == "open"
    assert judge(up[:5]).verdict == judge(down[:5]).verdict == "unjudged"
    unrelated = shelf(data, {name: 20 for name in NDTS if name not in models}, drift=way * 0.1)
    assert judge(unrelated).verdict == judge([]).verdict == "unjudged"
    assert "0 of 6" in judge([*down, *unrelated]).evidence  # other constraints are not asked


@pytest.mark.parametrize(("data", "title"), [("imdb", "IMDb"), ("sst2", "SST-2")])
def test_growth_is_compared_with_equal_starts_on_the_same_data_set(data: str, title: str, shelf: Shelf, tmp_path: Path) -> None:
    """The evidence quotes no control of another data set."""
    judge = claim(f"Training itself makes unbounded lambdas grow with depth on {title}", "runs here")
    down = shelf(data, dict.fromkeys(UNBOUNDED, 20), seeds=1, drift=-0.1)
    control = [made_run(tmp_path, "sst2", "ndt-free-3", variant=variant, drift=0.05) for variant in ("", "equal")][-1:]
    words = "from equal starts (ndt-free-3, seed 0) the mean lambda ends at 0.250 in layer 1 and at 0.300 in layer 2"
    assert judge(down).evidence.endswith("our start values already grow with depth")
    assert judge([*down, *control]).evidence.endswith(words if data == "sst2" else "our start values already grow with depth")


@pytest.mark.exhaustive
def test_the_table_of_lambdas_says_in_which_direction_they_move(shelf: Shelf) -> None:
    """The lambdas here fall by 0.6 in layer 2, the printed ones lie above their start: opposite directions, on a named data set."""
    words = lambdas(shelf("sst2", dict.fromkeys(UNBOUNDED, 20), drift=-0.3), "sst2")[1]["direction"]
    assert "Direction on SST-2" in words and "by −0.60 on average here" in words and "opposite directions" in words
    rows = pd.DataFrame({"model": "ndt-free-2", "layer": 2, "start": [0.2, 0.2], "change": [0.1, -0.1], "printed": [0.5, 0.4]})
    assert "Of all 2 λ of NDTs in layer 2, 1 move to the paper's side" in direction_in_words(rows, "Yelp")
    assert direction_in_words(rows.assign(printed=float("nan")), "Yelp") == ""


@pytest.mark.parametrize(("up", "verdict"), [(65, "holds"), (35, "unjudged"), (55, "open"), (45, "open")])
def test_signs_of_many_runs(up: int, verdict: str) -> None:
    """Of a hundred the exact test tells 65 from half, not 55; a run that does not move goes against it. Clopper and Pearson's interval."""
    finding = claims.judge_signs([0.1] * up + [0.0] + [-0.1] * (99 - up), "it moved", "and more")
    assert finding.verdict == verdict and f"it moved in {up} of 100 runs" in finding.evidence and finding.evidence.endswith("; and more")
    low, high = beta.ppf(0.025, up, 101 - up), beta.ppf(0.975, up + 1, 100 - up)
    assert finding.effect is not None
    assert (finding.effect.value, finding.effect.low, finding.effect.high) == pytest.approx((up, 100 * low, 100 * high))
    assert (finding.effect.unit, finding.effect.null) == ("%", 50)
    assert claims.judge_signs([0.1] * 6, "it moved", "").evidence.endswith("p = 0.031")


AGREE = {
    "Silhouette and accuracy give the configurations of IMDb the same order": "imdb",
    "Silhouette and accuracy give the configurations of SST-2 the same order": "sst2",
}


@pytest.mark.parametrize("statement", AGREE)
def test_silhouette_beside_accuracy(statement: str, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, data = claim(statement, "runs here"), AGREE[statement]
    runs = shelf(data, {name: 10 + 5 * i for i, name in enumerate(NDTS[:8])}, seeds=1)
    stored = {run.name: run.metrics() for run in runs}

    def planted(silhouettes: list[float]) -> Finding:
        of = {run.name: value for run, value in zip(runs, silhouettes, strict=True)}

        def metrics(run: Run) -> dict[str, object]:
            return {"test": stored[run.name]["test"] | {"silhouette": {"value": of[run.name]}}}

        with monkeypatch.context() as patch:
            patch.setattr(Run, "metrics", metrics)
            patch.setattr(results, "_of_run", results._of_run.__wrapped__)  # the files are unchanged, so that stored rows would be read
            return judge(runs)

    falls = [0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]  # in the order of the accuracies
    assert planted(falls).verdict == "holds" and planted(falls).effect == Effect(1.0, unit="", of="rank correlation")
    assert planted(falls[::-1]).verdict == "fails"
    assert planted([0.5, 0.1, 0.8, 0.3, 0.4, 0.7, 0.2, 0.6]).verdict == "open"
    assert judge(runs[:4]).verdict == "unjudged"


RUNS = [*BETTER, *PAIRS, *BEST, *AREAS, "On Yelp all NDT variants lie within 0.6 points", *MOVES, *AGREE]
