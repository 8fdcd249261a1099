"""Sources on the same rows against slow versions, and two sentences or two models side by side."""

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from sentviz.analysis.explain.word_swaps import neighbours, opposites, same_part_of_speech, suggestions, swapped
from sentviz.analysis.maps.compare import align, difference, map_difference
from sentviz.analysis.testset.compare import with_seeds
from sentviz.analysis.testset.comparison import compare_rows
from sentviz.analysis.testset.rows import Rows, RowsSource, aligned, predicted_rows, stored
from sentviz.charts.attention import difference_map
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.export.comparison import render
from sentviz.models.model import Model
from sentviz.runs.trace import Trace
from tests.kit import refused, small_model, tagged_rows
from tests.studies import answering, made_run, made_seeds

OF_A = ((1, 1, 1), (1, 1, 1), (1, 1, 0), (1, 1, 1), (1, 0, 1), (0, 0, 0), (1, 1, 1), (1, 1, 1))  # rows x seeds: right or wrong
OF_B = ((1, 0), (1, 1), (0, 0), (1, 1), (0, 1), (0, 0), (1, 1), (0, 0))


def column(name: str, right: np.ndarray | list[int], *, sure: float = 0.8, **changes: object) -> Rows:  # type: ignore[type-arg]
    """Return rows of a column of predictions that are right or wrong as given."""
    answers = np.asarray(right, bool)
    labels = np.arange(len(answers)) % 2
    predicted = np.where(answers, labels, 1 - labels)
    shares = np.where(np.eye(2, dtype=bool)[predicted], sure, 1 - sure)
    columns = {"id": [f"r{i}" for i in range(len(answers))], "label": labels}
    return replace(predicted_rows(RowsSource(name, name), "mine", ("negative", "positive"), columns, shares), **changes)  # type: ignore[arg-type]


def trained(folder: Path, name: str, table: tuple[tuple[int, ...], ...]) -> list[Rows]:
    """Return the rows of a run per column of a table of rows x seeds."""
    rows = []
    for seed in range(len(table[0])):
        run = answering(folder, f"{name}{seed}", [bool(row[seed]) for row in table])
        run.config["preset"], run.config["recipe"]["seed"] = name, seed
        rows.append(stored(run))
    return rows


def test_two_single_models_against_slow_versions() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.random(300) < 0.92).tolist(), (rng.random(300) < 0.8).tolist()
    result = compare_rows([column("a", a), column("b", b)])
    (pair,) = result.pairs
    only_a, only_b = sum(x and not y for x, y in zip(a, b, strict=True)), sum(y and not x for x, y in zip(a, b, strict=True))
    n = only_a + only_b
    assert pair.p == pytest.approx(min(1, 2 * sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1)) / 2**n))
    assert pair.difference == pytest.approx((only_a - only_b) / 300)
    gaps, die = [int(x) - int(y) for x, y in zip(a, b, strict=True)], random.Random(1)
    draws = sorted(sum(die.choices(gaps, k=300)) / 300 for _ in range(4_000))
    assert (pair.low, pair.high) == pytest.approx((draws[100], draws[3_899]), abs=0.004)
    assert (pair.test, pair.better, result.noise) == ("McNemar", "a", None)
    assert result.headline.startswith("a is better than b by ") and "one trained model" in result.method


def test_pairs_and_parts_are_those_of_loops() -> None:
    rng = np.random.default_rng(3)
    rows = [column(name, rng.random(400) < share) for name, share in (("a", 0.9), ("b", 0.87), ("c", 0.7))]
    every = compare_rows(rows)
    for pair in every.pairs:
        (alone,) = compare_rows([each for each in rows if each.source.name in (pair.first, pair.second)]).pairs
        assert pair.p == pytest.approx(min(1.0, 3 * alone.p))
        assert pair.low < alone.low <= alone.difference == pair.difference <= alone.high < pair.high
    assert [pair.better for pair in every.pairs] == ["", "a", "b"] and not every.decided
    assert "cannot be told" in every.headline and "It is better than c." in every.headline
    rng = np.random.default_rng(5)
    answers = [rng.random(60) < share for share in (0.8, 0.6, 0.5)]
    result = compare_rows([column(name, right) for name, right in zip("abc", answers, strict=True)])
    parts = result.parts()
    for place, right in enumerate(zip(*(map(bool, each) for each in answers), strict=True)):
        wanted = {"right": all(right), "wrong": not any(right), "differ": len(set(right)) > 1}
        wanted |= {f"right.{i + 1}": right[i] and sum(right) == 1 for i in range(3)}
        wanted |= {f"wrong.{i + 1}": not right[i] and sum(right) == 2 for i in range(3)}
        assert {name: bool(parts[name][place]) for name in wanted} == wanted
    assert result.part_in_words("wrong.2") == "only b is wrong"


@pytest.mark.parametrize("fixed", [False, True])
def test_seeds_against_a_hand_made_table(tmp_path: Path, fixed: bool) -> None:
    """Accuracies, difference, interval and p equal those worked out cell by cell; chance in training adds nothing to a finished model."""
    of_a = [replace(rows, over="mine") for rows in trained(tmp_path, "a", OF_A)]
    if fixed:
        of_b = [replace(of_a[0], source=RowsSource("b", "b"), frame=of_a[0].frame.assign(right=[bool(row[0]) for row in OF_B]))]
    else:
        of_b = [replace(rows, over="mine") for rows in trained(tmp_path, "b", OF_B)]
    result = compare_rows([*of_a, *of_b])
    first, second = result.candidates
    assert (len(first.trainings), len(second.trainings)) == (3, 1 if fixed else 2)
    assert first.accuracy == pytest.approx(19 / 24) and second.accuracy == pytest.approx(4 / 8 if fixed else 8 / 16)
    tables = [OF_A] if fixed else [OF_A, OF_B]
    between, left, freedom, noises = 0.0, 0.0, 0, []
    for table in tables:
        n, seeds = len(table), len(table[0])
        whole = sum(map(sum, table)) / (n * seeds)
        of_seed = [sum(row[s] for row in table) / n for s in range(seeds)]
        between_own = sum((mean - whole) ** 2 for mean in of_seed)
        left_own = sum((row[s] - sum(row) / seeds - of_seed[s] + whole) ** 2 for row in table for s in range(seeds)) / (n - 1) / n
        noises.append((between_own / (seeds - 1), left_own / (seeds - 1)))
        between, left, freedom = between + between_own, left + left_own, freedom + seeds - 1
    noise, part = between / freedom, left / freedom
    gaps = [sum(a) / 3 - (b[0] if fixed else sum(b) / 2) for a, b in zip(OF_A, OF_B, strict=True)]
    mean = sum(gaps) / 8
    own, own_part = noises[0]  # noise of the model with three seeds; the model with two has the pooled noise
    variance = sum((gap - mean) ** 2 for gap in gaps) / 7 / 8 + max(0.0, own - own_part) / 3
    uncertain = (own / 3) ** 2 / 2
    if not fixed:
        variance, uncertain = variance + max(0.0, noise - part) / 2, uncertain + (noise / 2) ** 2 / freedom
    degrees = max(2, variance**2 / uncertain)
    half = t.ppf(0.975, degrees) * math.sqrt(variance)
    (pair,) = result.pairs
    assert (pair.difference, pair.low, pair.high) == pytest.approx((mean, mean - half, mean + half))
    assert pair.p == pytest.approx(2 * t.sf(mean / math.sqrt(variance), degrees)) and pair.test == "over seeds"
    assert (("taken as finished" in result.method) is fixed and "2 degrees of freedom" in result.method) or not fixed


def test_installed_seeds_are_added_and_other_configurations_are_not(tmp_path: Path) -> None:
    ours, controls = made_seeds(tmp_path, "toy", "ndt-unit-2", 3), made_seeds(tmp_path, "toy", "vanilla", 2)
    fast = made_run(tmp_path, "toy", "ndt-unit-2", 5, variant="3e-4")
    installed = [*controls, fast, *ours]
    assert with_seeds([ours[1], controls[0]], installed) == [ours[1], ours[0], ours[2], *controls]
    assert with_seeds(ours[:2], installed) == [ours[0], ours[2], ours[1]]
    result = compare_rows([stored(run) for run in (*ours, *controls)])
    assert [each.title for each in result.candidates] == ["toy/ndt-unit-2 (3 seeds)", "toy/vanilla (2 seeds)"]
    assert len(compare_rows([stored(run) for run in ours], together=False).candidates) == 3


def test_rows_that_do_not_belong_together_are_refused() -> None:
    first, second = column("a", [1, 1, 0]), column("b", [1, 0, 0])
    for beside, message in (
        (replace(second, frame=second.frame.assign(id=["x", "y", "z"])), r"a \(your file\) and b \(your file\) have no common row\."),
        (replace(second, frame=second.frame.assign(text=list("uvx"))), "different texts for the same row"),
        (replace(second, frame=second.frame.assign(label=1)), "different labels for the same row"),
        (replace(second, over="demo"), "no common row"),
        (column("a", [1, 1, 0]), "a is given twice"),
        (replace(second, classes=("bad", "good")), "a predicts negative, positive and b bad, good"),
    ):
        refused(InputError, message, compare_rows, [replace(first, frame=first.frame.assign(text=list("uvw"))), beside])
    for few in ([first], [column(name, [1, 0]) for name in "abcdefg"]):
        refused(InputError, f"takes two to 6 sources, not {len(few)}", compare_rows, few)
    unlabelled = [replace(rows, frame=rows.frame.assign(label=-1)) for rows in (first, second)]
    refused(InputError, "None of the common rows has a label", compare_rows, unlabelled)
    a, b = tagged_rows(0), tagged_rows(1, run="toy/b")
    labels = dict(zip(a.frame["id"], a.labels, strict=True))
    mixed = b.frame.assign(label=b.frame["id"].map(labels)).sample(frac=1, random_state=0)
    ordered = aligned(a, replace(b, frame=mixed))
    assert list(ordered.frame["id"]) == list(a.frame["id"])
    for row in ordered.frame.to_dict("records"):
        assert row["p1"] == b.frame.set_index("id").loc[row["id"], "p1"]
    refused(InputError, "different rows", aligned, a, replace(b, frame=mixed.iloc[1:]))
    refused(InputError, "different labels", aligned, a, replace(b, frame=mixed.assign(label=1 - mixed["label"])))


def test_odd_rows_and_answers_are_remarked() -> None:
    labels = np.arange(20) % 2
    result = compare_rows([column("a", np.ones(20)), column("always", labels == 1)])
    assert result.remarks[0].startswith("always predicts “positive” for every row")
    assert not compare_rows([column("a", [1]), column("b", [0])]).decided
    assert compare_rows([column("a", [1, 0]), column("b", [1, 0], sure=0.9)]).headline == "a and b are right on the same rows."
    only = np.r_[np.ones(5), np.zeros(95)]  # five rows that only a predicts correctly: p = 0.0625
    result = compare_rows([column("a", np.ones(100)), column("b", 1 - only)])
    assert result.headline.startswith("It cannot be told which is better: a minus b is +5.00 points [")
    assert "just excludes 0" in result.remarks[0]

    evil = "<img src=x onerror=alert(1)>"
    page = render(compare_rows([column(evil, [1, 1, 0, 1]), column("b", [1, 0, 0, 1])]), "html").decode()
    assert "<img" not in page.split("<body>")[1].split("<script")[0]
    a, b = column("a", [1, 1, 0, 1]), column("b", [1, 0, 0, 1])
    result = compare_rows([a, replace(b, frame=b.frame.iloc[[3, 1, 0]], unread={"r2": "It is empty."})])
    assert result.n == 3 and result.first.frame["id"].tolist() == ["r0", "r1", "r3"]
    assert result.remarks[-1] == "1 rows are left out, because not every source predicts them. b cannot read row r2: It is empty."


def test_the_difference_is_second_minus_first_on_shared_tokens(model: Model) -> None:
    a, b = model.trace("what a warm song"), model.trace("What a cold song now")
    assert align(a, b) == [(0, 0), (1, 1), (2, 2), (3, 3), (None, 4)]
    assert align(b, a)[-1] == (4, None)
    a, b = model.trace("what a warm song"), model.trace("what a very cold song")
    figure = difference(a, b)
    pairs = [(i, j) for i, j in align(a, b) if i is not None and j is not None]
    for row, (i, j) in enumerate(pairs):
        for column, (k, m) in enumerate(pairs):
            expected = b.attention[:, :, j, m] - a.attention[:, :, i, k]
            np.testing.assert_allclose(figure.attention[:, :, row, column], expected, atol=1e-7)
    assert not difference(a, a).attention.any()
    whole, part = model.trace("what a warm song"), model.trace("what a warm song", queries=[1, 0, 2, 3])
    refused(InputError, "without selecting queries", difference, whole, part)
    refused(InputError, "no common token", difference, model.trace("what a"), model.trace("song"))


def test_words_are_swapped_for_words_of_their_kind(model: Model) -> None:
    trace = model.trace("Warm, clever song.")
    assert swapped(trace, 0, "cold") == "Cold, clever song."
    assert swapped(trace, 2, "dull") == "Warm, dull song."
    table, token = model.network.table.detach().numpy().astype(float), model.tokenizer.id_of("warm")
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    words = {index: model.tokenizer.token_of(index) for index in range(4, len(table)) if index != token}
    scored = sorted(((unit[index] @ unit[token], word) for index, word in words.items() if word.isalpha()), reverse=True)
    assert [word for word, _ in neighbours(model, token, 4)] == [word for _, word in scored[:4]]
    assert same_part_of_speech("The film was good.", 13, 17, ["bad", "chicken", "walked", "slowly"]) == ["bad"]
    assert same_part_of_speech("It is not bad.", 6, 9, ["chicken", "dull"]) == []
    assert same_part_of_speech("나쁜 영화", 3, 5, ["좋은", "film"]) == ["좋은", "film"]
    trace = model.trace("what a warm song")
    lexicon = {"warm": 1.0, "dull": -2.0, "cold": -1.0, "unheard": -3.0, "clever": 1.0}
    assert [word for word, _ in opposites(model, lexicon, "Warm")] == [w for w in ("dull", "cold") if w in model.tokenizer]
    assert opposites(model, lexicon, "song") == []
    frame = suggestions(model, trace, 2, lexicon, k=3)
    assert len(frame)
    for row in frame.to_dict("records"):
        text = f"what a {row['word']} song"
        assert row["text"] == text
        assert row["probability"] == pytest.approx(float(model.predict([text])[trace.label].iloc[0]), abs=1e-6)


TEXT = "what a warm, clever song"
WORDS = small_model(components=2, mixing="free")
PIECES = small_model(seed=3, tokenizer=Tokenizer.train_bpe(["now then"] * 20, 260), cls=True)


def test_models_are_subtracted_by_tokens_or_words() -> None:
    a, b = WORDS.trace(TEXT), small_model(seed=5).trace(TEXT)
    for head in ("mean", "max", 1):
        changed = map_difference(a, b, 1, head)
        assert (changed.kind, changed.left_out, changed.trace.tokens) == ("tokens", (), a.tokens)
        np.testing.assert_allclose(changed.trace.map(1, head), b.map(1, head) - a.map(1, head), atol=1e-7)
    itself = map_difference(PIECES.trace(TEXT), PIECES.trace(TEXT), 0)
    assert itself.kind == "tokens" and itself.shared == len(itself.trace.tokens) and not itself.trace.map(0).any()
    refused(InputError, "the same text", map_difference, WORDS.trace("what a song"), WORDS.trace("what a garden"), 0)
    a, b = WORDS.trace(TEXT), small_model(seed=7, components=3, mixing="free").trace(TEXT)
    np.testing.assert_allclose(map_difference(a, b, 0, 0, 1).trace.map(0, 0, 1), b.map(0, 0, 1) - a.map(0, 0, 1), atol=1e-7)
    refused(InputError, "component", map_difference, a, b, 0, 0, 2)
    changed = map_difference(WORDS.trace(TEXT), small_model(seed=5).trace(TEXT), 0)
    figure = difference_map(changed.trace, "toy/<first>", 0, pieces=changed.kind)
    assert "minus toy/<first>" in figure.caption and "<first>" not in figure.plot.layout.title.text
    assert float(figure.frame["attention"].min()) < 0 < float(figure.frame["attention"].max())
    assert figure.plot.layout.coloraxis.cmin == -figure.plot.layout.coloraxis.cmax
    a, b = WORDS.trace(TEXT), PIECES.trace(TEXT)
    difference = map_difference(a, b, 0, 1)
    spans = [(0, 4), (5, 6), (7, 11), (11, 12), (13, 19), (20, 24)]
    assert (difference.kind, difference.trace.tokens) == ("words", tuple(TEXT[start:end] for start, end in spans))
    assert set(difference.left_out) == {token for token, special in zip(b.tokens, b.specials, strict=True) if special}

    def word_map(trace: Trace, i: int, j: int) -> Any:
        def inside(span: tuple[int, int]) -> list[int]:
            return [k for k, (s, e) in enumerate(trace.offsets) if not trace.specials[k] and span[0] <= s < e <= span[1]]

        return np.mean([sum(trace.map(0, 1)[q, k] for k in inside(spans[j])) for q in inside(spans[i])])

    expected = [[word_map(b, i, j) - word_map(a, i, j) for j in range(len(spans))] for i in range(len(spans))]
    np.testing.assert_allclose(difference.trace.map(0, 1), expected, atol=1e-6)
