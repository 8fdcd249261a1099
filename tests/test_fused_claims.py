"""Every claim of Sentiment-Fused Attention on planted data: it must be able to hold, to fall and, where chance is in it, to stay open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.claim import Finding, not_testable
from sentviz.io.numbers import percent
from sentviz.papers.fused import coverage, formula_claims, study
from sentviz.papers.fused.claims import CLAIMS, by_encoder
from sentviz.papers.fused.study import DATASETS, ENCODERS, INJECTED
from sentviz.runs.store import Run
from tests.studies import as_said, made_run, made_seeds, plant, with_heads

pytestmark = pytest.mark.slow

ROWS = {"cls-xia": "xia2021_hadamard", "cls-all": "all_heads", "cls-all-scaled": "all_heads_scaled"}
ROWS |= {"cls-last": "last_head", "cls-last-scaled": "last_head_scaled"}
BASELINE = (90.0, 91.0, 92.0, 89.0, 90.5)


def judge(statement: str, runs: list[Run] | None = None) -> Finding:
    (claim,) = (candidate for candidate in CLAIMS if candidate.statement == statement)
    return as_said(claim.test(runs or []))


def test_the_strictest_encoder_that_can_be_judged_decides() -> None:
    """An encoder whose runs lack the measurement is a part without a say; one that fails decides."""
    findings = {"minilm": not_testable("not measured"), "e5": Finding("open", "a little"), "cls": Finding("fails", "none")}

    def over(encoders: list[str]) -> Finding:
        return by_encoder(lambda runs, dataset: encoders)(lambda dataset, runs, encoder: findings[encoder])("sst2", [])

    finding = over(list(findings))
    assert finding.verdict == "fails" and [name for name, _ in finding.parts] == ["MiniLM", "multilingual E5", "an encoder from scratch"]
    assert over(["minilm", "e5"]).verdict == "open"
    assert over(["minilm"]).verdict == "unjudged"


def test_no_claim_is_left_out() -> None:
    assert {*TABLES, *STORED, *FIGURE_4, *ABOUT_RUNS, *PUBLISHED} == {claim.statement for claim in CLAIMS}


# ---- its own tables, rewritten


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes table 1 anew from gains in points by setting (one for all encoders, or one each), table 3 from gains by case."""
    monkeypatch.setattr(study, "FOLDER", shutil.copytree(study.FOLDER, tmp_path / "printed"))

    def write(gains: dict[str, float | tuple[float, ...]], tasks: tuple[float, ...] = (), swapped: bool = True) -> None:
        known = {"cls-xia": -0.5} | dict.fromkeys(INJECTED, 0.6) | gains
        lines: dict[str, tuple[float, ...]] = {"baseline": BASELINE}
        for model, gain in known.items():
            each = gain if isinstance(gain, tuple) else (gain,) * len(ENCODERS)
            lines[ROWS[model]] = tuple(base + points for base, points in zip(BASELINE, each, strict=True))
        frame = pd.DataFrame.from_dict(lines, orient="index", columns=list(ENCODERS)).rename_axis("injection").reset_index()
        frame.to_csv(study.FOLDER / "nsmc_accuracy.csv", index=False)
        statistics = study.statistics().set_index("model")
        table = pd.read_csv(study.FOLDER / "gain_statistics.csv")
        names = {row: model for model, row in ROWS.items()}
        own = statistics.loc[[names[row] for row in table["injection"]]]
        sigma_column, squared_column = ("variance", "deviation") if swapped else ("deviation", "variance")
        table.assign(
            printed_sigma=own[sigma_column].round(3).to_numpy(), printed_sigma_squared=own[squared_column].round(3).to_numpy()
        ).to_csv(study.FOLDER / "gain_statistics.csv", index=False)
        if tasks:
            frame = pd.read_csv(study.FOLDER / "out_of_domain.csv").astype(dict.fromkeys(ENCODERS, float))
            base = frame["variant"] == "baseline"
            frame.loc[base, list(ENCODERS)] = 80.0
            frame.loc[~base, list(ENCODERS)] = 80 + np.array(tasks).reshape(-1, len(ENCODERS))
            frame.to_csv(study.FOLDER / "out_of_domain.csv", index=False)

    return write


def first(gain: float, rest: float) -> tuple[float, ...]:
    return (gain, *(rest,) * (len(ENCODERS) - 1))


def near(spread: float) -> tuple[float, ...]:
    """Gains of five encoders about 0.6, `spread` apart."""
    return tuple(0.6 + spread * step for step in (-2, -1, 0, 1, 2))


def zigzag(spread: float) -> tuple[float, ...]:
    return tuple(0.6 + spread * step for step in (1, -2, 2, -1, 0.1))


MOST = dict.fromkeys(INJECTED, (0.5, 0.5, 0.5, 0.9, 0.1))
CASES = (*(0.5,) * 13, *(-0.5,) * 5, 0.0, 0.0)
ONLY = tuple(-0.5 if name in ("kr-electra", "kc-electra") else 0.5 for _ in range(4) for name in ENCODERS)
Gains = dict[str, float | tuple[float, ...]]
STABLE: Gains = {"cls-last-scaled": zigzag(0.001), "cls-all": near(0.1), "cls-all-scaled": near(0.11), "cls-last": near(0.12)}
UNSTABLE: Gains = {"cls-last-scaled": zigzag(0.2), "cls-all": near(0.001), "cls-all-scaled": near(0.1), "cls-last": near(0.12)}

# statement -> gains (and cases, and whether sigma is printed as sigma squared) under which it holds, and under which it does not
TABLES: dict[str, tuple[list[tuple[object, ...]], list[tuple[object, ...]]]] = {
    "Every setting gains over the baseline with every encoder": (
        [({},)], [({"cls-all": first(-0.1, 0.6)},), ({"cls-last": first(0.0, 0.6)},)]),
    "Every setting is better than Xia et al.'s product with every encoder": (
        [({},), ({"cls-xia": 0.5},)], [({"cls-xia": 0.7},), ({"cls-xia": first(0.7, -1)},)]),
    "Xia et al.'s product does not gain with every encoder, unlike every setting": (
        [({},), ({"cls-xia": first(0.1, -0.5)},)], [({"cls-xia": first(0.1, 0.5)},), ({"cls-xia": first(0.0, 0.5)},)]),
    "The three ELECTRA encoders gain more than 0.5 points in every setting": (
        [({},), ({"cls-all": (0.6, 0.6, 0.6, -1, -1)},)], [({"cls-all": first(0.4, 0.6)},)]),
    "xlm-roberta-base gains most and kr-bert least": (
        [(MOST,)], [({**MOST, "cls-all": (0.9, 0.5, 0.5, 0.5, 0.1)},), ({**MOST, "cls-all": (0.1, 0.5, 0.5, 0.9, 0.5)},)]),
    "Mean gains, except kr-bert's, are 250 to almost 500 more right predictions": (
        [({},), (dict.fromkeys(INJECTED, (0.6, 0.6, 0.6, 0.6, 0.1)),)],
        [(dict.fromkeys(INJECTED, 0.4),), (dict.fromkeys(INJECTED, 1.1),), (dict.fromkeys(INJECTED, (0.1, 0.6, 0.6, 0.6, 0.6)),)]),
    "The unscaled last head has the best accuracy, 92.65": ([], [({"cls-all": 0.7},), ({"cls-all-scaled": 0.7},)]),
    "The unscaled last head has the largest mean gain": ([], [({"cls-all": 0.7},)]),
    "Last head ÷ √d has the smallest spread of gains": ([], [(UNSTABLE,)]),
    "Last head ÷ √d is more stable than the other settings": ([], [({**UNSTABLE, "cls-last": zigzag(0.21)},)]),
    "Table 2 has the standard deviation as σ and the variance as σ²": ([(STABLE, (), False)], [(STABLE, (), True)]),
    "Out of domain 13 of 20 cases rise, 5 fall and 2 stay": (
        [({}, CASES)], [({}, (*CASES[:-1], 0.5)), ({}, (*CASES[:-2], -0.5, 0.0)), ({}, tuple(-case for case in CASES))]),
    "The injection is effective out of domain": ([({}, (0.5,) * 15 + (-0.5,) * 5)], [({}, (-0.5,) * 15 + (0.5,) * 5)]),
    "Only kr-electra and kc-electra fall": ([({}, ONLY)], [({}, (-0.5, *ONLY[1:])), ({}, tuple(abs(case) for case in ONLY))]),
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", TABLES)
def test_sentences_about_its_tables(statement: str, printed: Callable[..., None]) -> None:
    for cases, verdict in zip(TABLES[statement], ("holds", "fails"), strict=True):
        for case in cases:
            printed(*case)
            assert judge(statement).verdict == verdict, case


@pytest.mark.parametrize(
    ("statement", "gains"),
    [
        ("The unscaled last head has the best accuracy, 92.65", {"cls-last": 0.7}),
        ("The unscaled last head has the best accuracy, 92.65", {"cls-last-scaled": 0.7}),
        ("The unscaled last head has the largest mean gain", {"cls-last": 0.7}),
        ("Last head ÷ √d has the smallest spread of gains", STABLE),
        ("Last head ÷ √d is more stable than the other settings", STABLE),
    ],
)
def test_what_turns_with_the_names_of_the_rows_is_open(statement: str, gains: Gains, printed: Callable[..., None]) -> None:
    """The two ways to name the rows of table 1 give different verdicts, and both are in the evidence."""
    printed(gains)
    finding = judge(statement)
    assert finding.verdict == "open" and {part.verdict for _, part in finding.parts} > {"fails"}
    assert all(words in finding.evidence for words in study.READINGS.values())


def test_spreads_alike_leave_stability_open(printed: Callable[..., None]) -> None:
    printed({"cls-last-scaled": zigzag(0.1), "cls-all": near(0.1), "cls-all-scaled": near(0.11), "cls-last": near(0.12)})
    assert judge("Last head ÷ √d is more stable than the other settings").verdict == "open"


def test_few_more_that_rise_leave_the_effect_out_of_domain_open(printed: Callable[..., None]) -> None:
    printed({}, CASES)
    finding = judge("The injection is effective out of domain")
    assert finding.verdict == "open" and finding.evidence.startswith("13 of 18 reported cases that change rise")


# ---- what was published before

BASELINES, BEST = (
    "The baselines of table 1 are trained as the injected models are",
    "92.65 is above every accuracy on NSMC in the lists of these encoders",
)
PUBLISHED = (BASELINES, BEST)


def publish(values: dict[str, float], **more: str) -> None:
    rows = [
        {"task": "NSMC", "encoder": name, "model": name, "value": value, "metric": "accuracy", "source": "a"} | more
        for name, value in values.items()
    ]
    columns = ["task", "encoder", "model", "value", "metric", "source"]
    pd.DataFrame(rows, columns=columns).to_csv(study.FOLDER / "published.csv", index=False)


@pytest.mark.parametrize(("equal", "verdict"), [(0, "holds"), (1, "open"), (2, "open"), (3, "fails"), (5, "fails")])
def test_baselines_that_were_published_before(equal: int, verdict: str, printed: Callable[..., None]) -> None:
    """Equal is equal to two decimals, of the same encoder."""
    printed({})
    publish({name: value + (0.004 if place < equal else 0.02) for place, (name, value) in enumerate(zip(ENCODERS, BASELINE, strict=True))})
    finding = judge(BASELINES)
    assert finding.verdict == verdict and finding.evidence.startswith(f"{equal} of 5 baselines")
    publish(dict(zip(ENCODERS[1:], BASELINE[:-1], strict=True)))  # these numbers are of other encoders
    assert judge(BASELINES).verdict == "holds"


def test_the_best_published_accuracy(printed: Callable[..., None]) -> None:
    printed({"cls-last": 0.65})
    publish({"rival": 92.64})
    assert judge(BEST).verdict == "holds"
    publish({"rival": 92.66})
    assert judge(BEST).verdict == "fails" and "rival" in judge(BEST).evidence
    publish({"rival": 99.0}, task="PAWS")
    assert judge(BEST).verdict == "unjudged"


# ---- what is simulated or stored


def shares(named: float, rest: float, monkeypatch: pytest.MonkeyPatch, folder: Path, *, without: str = "") -> None:
    """Store `named` for the tokenizer of E5, and `rest` for all else."""
    rows = [
        (data, name, named if name == "e5" else rest, 1_000) for data in coverage.PAPER for name in coverage.TOKENIZERS if data != without
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "tokenizer", "neutral", "tokens"])
    plant(monkeypatch, "fused.coverage.WITH_TOKENIZERS", folder, frame)


def moved(own: float, towards: float, monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    monkeypatch.setattr(formula_claims, "simulated", lambda: (np.full(3, own), np.full(3, towards)))


def weighed(product: float, added: float, monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    """Set what a larger similarity does to the weight of a pair with a negative score; with a positive score, weights rise."""
    monkeypatch.setattr(formula_claims, "raised", lambda: (np.array([-1.0, 1.0]), np.array([product, 0.1]), np.array([added, 0.1])))


def neutral(product: float, added: float, monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    monkeypatch.setattr(formula_claims, "flattened", lambda: (np.full(3, product), np.full(3, added)))


def negative_scores(first_run: float, second_run: float, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Store shares of two baselines of each data set."""
    rows = [(f"{data}/{run}", data, share, 0.5, 10) for data in DATASETS for run, share in (("cls", first_run), ("cls-s1", second_run))]
    frame = pd.DataFrame(rows, columns=["run", "dataset", "negative_alike", "negative", "texts"])
    plant(monkeypatch, "fused.tables.NEGATIVE", folder, frame)


FIXED = "With the same Q and K, σ cannot change the row of a neutral [CLS]"
UNTOUCHED = "[CLS] has no polarity, so attention to [CLS] hardly changes, but the attention of [CLS] does"
COVERED, EVEN = "About half of NSMC's tokens stay neutral", "The share hardly differs between the five tasks"
ALIKE = "The share hardly differs between the tokenizers of five models"
FIGURE_4 = (COVERED, EVEN, ALIKE)
TURNED = "Where a score is negative, Xia et al.'s product lowers the weight of a more similar pair, and the sum does not"
FLATTENED = "Xia et al.'s product changes texts without words of the lexicon, and the sum does not"
NEGATIVE = [f"On {title} a tenth or more of the scores between alike words are negative" for title in DATASETS.values()]
STORED: dict[str, tuple[Callable[..., None], tuple[float, float], list[tuple[float, float]]]] = {
    FIXED: (moved, (1e-16, 0.1), [(0.01, 0.1)]),
    UNTOUCHED: (moved, (0.1, 1e-16), [(1e-16, 0.1)]),
    TURNED: (weighed, (-0.1, 0.1), [(0.1, 0.1), (-0.1, -0.1)]),
    FLATTENED: (neutral, (0.1, 1e-16), [(1e-16, 1e-16), (0.1, 0.1)]),
}


@pytest.mark.parametrize("statement", STORED)
def test_what_is_simulated_or_counted(statement: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store, true, false = STORED[statement]
    store(*true, monkeypatch, tmp_path)
    assert judge(statement).verdict == "holds"
    for case in false:
        store(*case, monkeypatch, tmp_path)
        assert judge(statement).verdict == "fails"


def test_coverage_that_is_not_there_leaves_it_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shares(0.5, 0.5, monkeypatch, tmp_path, without="nsmc")
    assert {judge(statement).verdict for statement in FIGURE_4} == {"unjudged"}


@pytest.mark.parametrize(("named", "rest"), [(0.5, 0.5), (0.2, 0.5), (0.2, 0.2)])
def test_our_tokenizers_do_not_decide_on_figure_4(named: float, rest: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever our tokenizers and lexicon count, the claims on figure 4 cannot be judged, and the evidence has the shares."""
    shares(named, rest, monkeypatch, tmp_path)
    findings = {statement: judge(statement) for statement in FIGURE_4}
    assert {finding.verdict for finding in findings.values()} == {"unjudged"}
    assert all(finding.evidence.startswith("figure 4 counts the paper's own lexicon") for finding in findings.values())
    assert f"{percent(named)} of 1,000 tokens with Multilingual E5" in findings[COVERED].evidence
    assert f"Multilingual E5 {percent(named)} (" in findings[EVEN].evidence and f"NSMC {percent(named)} (" in findings[ALIKE].evidence


@pytest.mark.parametrize(("statement", "data"), list(zip(NEGATIVE, DATASETS, strict=True)))
def test_negative_scores_of_two_baselines(statement: str, data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = made_seeds(tmp_path, data, "cls", 2)
    for shares_of, verdict in (((0.5, 0.1), "holds"), ((0.05, 0.0), "fails"), ((0.5, 0.05), "fails")):
        negative_scores(*shares_of, monkeypatch, tmp_path)
        assert judge(statement, runs).verdict == verdict
    assert judge(statement, runs[:1]).verdict == "holds" and judge(statement).verdict == "unjudged"


def test_random_attention_is_that_of_the_formulas() -> None:
    """The product turns negative scores around and changes neutral rows, as by hand: σ times a score of -1, and three times less."""
    scores, product, added = formula_claims.raised()
    assert (product[scores < 0] < 0).all() and (product[scores > 0] > 0).all() and (added > 0).all()
    product, added = formula_claims.flattened()
    assert product.min() > 1e-3 and added.max() < 1e-12


# ---- the runs here, made up


def settings(root: Path, dataset: str, wrong: int, **counts_by_model: int) -> list[Run]:
    """Two seeds of every injected setting and of those named."""
    counts = dict.fromkeys(INJECTED, wrong) | {name.replace("_", "-"): count for name, count in counts_by_model.items()}
    return [run for model, count in counts.items() for run in made_seeds(root, dataset, model, 2, wrong=count)]


GAINS = {f"Every setting gains over the baseline on {title}": (data, "cls") for data, title in DATASETS.items()}
GAINS |= {f"Every setting is better than Xia et al.'s product on {title}": (data, "cls-xia") for data, title in DATASETS.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", GAINS)
def test_every_setting_against_another(statement: str, tmp_path: Path) -> None:
    data, base = GAINS[statement]
    name = base.replace("-", "_")
    good = settings(tmp_path / "good", data, 10, **{name: 70})
    assert judge(statement, good).verdict == "holds" and "intervals cover other seeds" in judge(statement, good).evidence
    assert judge(statement, good[2:]).verdict == "open"  # a setting is not here
    assert judge(statement, settings(tmp_path / "bad", data, 70, **{name: 10})).verdict == "fails"
    one_worse = settings(tmp_path / "one", data, 10, **{name: 40, "cls_last": 80})
    assert judge(statement, one_worse).verdict == "fails"
    assert judge(statement, settings(tmp_path / "same", data, 30, **{name: 30})).verdict == "open"


WHOLE = {"With polarities of whole words only, and no emoticons, the last head ÷ √d gains over the baseline on SST-2": "sst2"}


@pytest.mark.parametrize("statement", WHOLE)
@pytest.mark.parametrize(("wrong", "verdict"), [(10, "holds"), (70, "fails"), (40, "open")])
def test_a_lexicon_of_whole_words(statement: str, wrong: int, verdict: str, tmp_path: Path) -> None:
    """The baseline is wrong in 40 of 200 rows, the setting with the usual lexicon in 25, which the evidence names, too."""
    data = WHOLE[statement]
    usual = [*made_seeds(tmp_path, data, "cls", 2, wrong=40), *made_seeds(tmp_path, data, "cls-last-scaled", 2, wrong=25)]
    whole = made_seeds(tmp_path, data, "cls-last-scaled", 2, wrong=wrong, variant="whole-words")
    finding = judge(statement, [*usual, *whole])
    assert finding.verdict == verdict and finding.effect and finding.effect.value == pytest.approx((40 - wrong) / 2)
    assert "against the same setting with pieces of words and emoticons" in finding.evidence
    missing = judge(statement, usual)
    assert missing.verdict == "unjudged" and "`sentviz study fused-whole-words --dataset sst2` trains them" in missing.evidence


STEADY = {f"Last head ÷ √d varies least on {title} (paper: over encoders, here: over seeds)": data for data, title in DATASETS.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", STEADY)
def test_spread_over_seeds(statement: str, tmp_path: Path) -> None:
    data = STEADY[statement]

    def seeds(model: str, *wrong: int) -> list[Run]:
        return [made_run(tmp_path / f"{model}-{wrong}", data, model, seed, wrong=count) for seed, count in enumerate(wrong)]

    def shelf(own: tuple[int, ...], remaining: tuple[int, ...]) -> list[Run]:
        return [run for model in INJECTED for run in seeds(model, *(own if model == "cls-last-scaled" else remaining))]

    close, wide = (20, 21, 20, 21), (10, 60, 80, 30)
    assert judge(statement, shelf(close, wide)).verdict == "holds"
    assert judge(statement, shelf(wide, close)).verdict == "fails"
    assert judge(statement, shelf(wide, wide)).verdict == "open"
    assert judge(statement, [*seeds("cls-last-scaled", *close), *seeds("cls-all", *wide)]).verdict == "open"  # two are not here
    alone = judge(statement, [*seeds("cls-last-scaled", *close), *seeds("cls-all", 80)])  # one seed has no spread
    assert alone.verdict == "unjudged" and alone.evidence.startswith("only Last head ÷ √d")
    assert judge(statement, seeds("cls-last-scaled", *close)).verdict == judge(statement).verdict == "unjudged"


CHANGES = {
    f"On {title} the injection changes how uneven the attention of [CLS] to the others is": (data, 0, 1) for data, title in DATASETS.items()
}
CHANGES |= {f"On {title} it changes the others' attention to [CLS] by less than a tenth": (data, 1, 0) for data, title in DATASETS.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", CHANGES)
def test_deviations_about_cls(statement: str, tmp_path: Path) -> None:
    """Only the measure that is asked about moves; the other one would give the opposite verdict."""
    data, column, if_moved = CHANGES[statement]

    def shelf(shift: float, noise: float, seeds: int = 3) -> list[Run]:
        made_runs = []
        for model, by in (("cls", (0.0, 0.0)), ("cls-last-scaled", (shift, 0.1 - shift))):
            for i, run in enumerate(made_seeds(tmp_path / f"{model}{shift}{noise}{seeds}", data, model, seeds)):
                moving, still = (tuple(0.2 + each + noise * (i - 1) + 0.01 * layer for layer in range(2)) for each in by)
                made_runs.append(with_heads(run, moving, still) if column == 0 else with_heads(run, still, moving))
        return made_runs

    verdicts = ("fails", "holds")
    assert judge(statement, shelf(0.1, 0.001)).verdict == verdicts[if_moved]
    assert judge(statement, shelf(0.0001, 0.0001)).verdict == verdicts[not if_moved]
    assert judge(statement, shelf(0.02, 0.03)).verdict == "open"
    assert judge(statement, shelf(0.1, 0.001, seeds=1)).verdict == judge(statement).verdict == "unjudged"


MOST_TASKS = "Out of domain the injection gains in most tasks"
TASKS = ("klue_nli", "korean_hate_speech", "question_pair")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("better", "worse", "of", "verdict"),
    [
        (3, 0, 3, "holds"),
        (2, 1, 3, "holds"),
        (1, 2, 3, "fails"),
        (0, 3, 3, "fails"),
        (1, 0, 3, "open"),
        (0, 0, 3, "open"),
        (1, 0, 2, "open"),
        (0, 1, 2, "fails"),
    ],
)
def test_out_of_domain(better: int, worse: int, of: int, verdict: str, tmp_path: Path) -> None:
    """Most are more than half of them: half that gain leave it open, half that lose do not."""
    runs = []
    for i, task in enumerate(TASKS[:of]):
        base, own = (70, 10) if i < better else (10, 70) if i < better + worse else (30, 30)
        runs += made_seeds(tmp_path, task, "cls", 2, wrong=base) + made_seeds(tmp_path, task, "cls-last-scaled", 2, wrong=own)
    finding = judge(MOST_TASKS, runs)
    assert finding.verdict == verdict and finding.evidence.startswith(f"{better} of {of} gain, {worse} lose")


# ---- runs on a base

XIA = "is better than Xia et al.'s product"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("data", "base"), [("nsmc", "e5"), ("sst2", "minilm")])
def test_a_base_is_a_part_once_its_baseline_is_installed(data: str, base: str, tmp_path: Path) -> None:
    """The runs from scratch refute the claim, whatever those on the base say; without the base's baseline nothing changes."""
    scratch = settings(tmp_path / "scratch", data, 70, cls=10, cls_xia=10)
    on_base = [
        run
        for model, wrong in {**dict.fromkeys(INJECTED, 10), "cls-xia": 70, "cls": 70}.items()
        for run in made_seeds(tmp_path / "base", data, model, 2, wrong=wrong, base=base)
    ]
    assert {run.name for run in on_base} >= {f"{data}/{base}", f"{data}/{base}-s1", f"{data}/{base}-last-scaled"}
    for statement in (f"Every setting {words} on {DATASETS[data]}" for words in ("gains over the baseline", XIA)):
        alone, both = judge(statement, scratch), judge(statement, [*scratch, *on_base])
        assert alone.verdict == both.verdict == "fails" and both.effect == alone.effect
        assert (
            f"on {study.ENCODER_TITLES[base]} it holds" in both.evidence and "on an encoder from scratch it does not hold" in both.evidence
        )
        assert dict(both.parts)["an encoder from scratch"] == alone
        assert judge(statement, [*scratch, *on_base[:-2]]) == alone


@pytest.mark.exhaustive
def test_tasks_on_a_base_count_only_if_it_learns_them(tmp_path: Path) -> None:
    """A base that is right in 55 % of two classes leaves the claim open, with the reason; at 65 % its comparison decides."""

    def shelf(baseline: int, injected: int) -> list[Run]:
        counts = {"cls": baseline, "cls-last-scaled": injected}
        return [
            run
            for model, wrong in counts.items()
            for run in made_seeds(tmp_path / f"{baseline}-{injected}", "klue_nli", model, 2, wrong=wrong, base="e5")
        ]

    unlearned = judge(MOST_TASKS, shelf(90, 20))
    assert unlearned.verdict == "open" and unlearned.evidence.startswith(
        "the runs did not learn at learning rate 0.0005: klue_nli/e5 55.0\u00a0%"
    )
    assert judge(MOST_TASKS, shelf(70, 20)).verdict == "holds"
    assert judge(MOST_TASKS, shelf(20, 70)).verdict == "fails"


CAUSES = {f"On {title} the shift of the attention of [CLS] comes with a gain": data for data, title in DATASETS.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("statement", CAUSES)
@pytest.mark.parametrize(
    ("shift", "noise", "wrong", "verdict"),
    [
        (0.1, 0.001, 10, "holds"),
        (0.0001, 0.0001, 10, "fails"),
        (0.1, 0.001, 70, "fails"),
        (0.1, 0.001, 40, "open"),
        (0.02, 0.03, 10, "open"),
    ],
)
def test_a_shift_and_a_gain(statement: str, shift: float, noise: float, wrong: int, verdict: str, tmp_path: Path) -> None:
    """Both together hold; a gain without a shift and a loss with one refute; all else leaves it open."""
    runs = []
    for model, by, count in (("cls", 0.0, 40), ("cls-last-scaled", shift, wrong)):
        for i, run in enumerate(made_seeds(tmp_path / model, CAUSES[statement], model, 3, wrong=count)):
            runs.append(with_heads(run, tuple(0.2 + by + noise * (i - 1) + 0.01 * layer for layer in range(2)), (0.1, 0.1)))
    assert judge(statement, runs).verdict == verdict
    assert judge(statement, runs[:3]).verdict == judge(statement).verdict == "unjudged"


ABOUT_RUNS = [*GAINS, *WHOLE, *STEADY, *CHANGES, *CAUSES, *NEGATIVE, MOST_TASKS]
