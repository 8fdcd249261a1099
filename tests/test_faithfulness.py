"""Faithfulness by hand, the trust in an explanation, and the judgement of scores from elsewhere."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import kendalltau, spearmanr

import sentviz
from sentviz.analysis.explain import SCORES, available, explained, score, spearman, trust
from sentviz.analysis.explain.exact_comparison_table import Share
from sentviz.analysis.explain.faithfulness import FILE, METRICS, Verdict, against_chance, faithfulness, kendall, over_split, scores_of
from sentviz.analysis.explain.judge import Agreement, judge
from sentviz.cli import main
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError, RunError
from sentviz.models.model import Model
from sentviz.runs.store import Run
from sentviz.runs.target import Target
from sentviz.runs.writing import attach
from tests.kit import LABELS, WEIGHTS, counting, fake_trace, planted_model, refused, small_model, toy_splits

WORDS = ["what", "a", "warm", ",", "clever", "song", "we", "saw"]
TEXTS = toy_splits()["test"].frame["text"].tolist()


def probability(model: Model, words: list[str], k: int, **change: Any) -> float:
    return float(model.trace(" ".join(words), **change).probabilities[k])


def aopc(model: Model, words: list[str], order: list[int], k: int, **change: Any) -> tuple[float, float]:
    """Return both means over five shares, with one prediction of a shortened text at a time."""
    whole, without, alone = probability(model, words, k, **change), [], []
    for share in (0.1, 0.2, 0.3, 0.4, 0.5):
        top = set(order[: math.ceil(round(share * len(words), 9))])
        without.append(whole - probability(model, [w for i, w in enumerate(words) if i not in top], k, **change))
        alone.append(whole - probability(model, [w for i, w in enumerate(words) if i in top], k, **change))
    return sum(without) / 5, sum(alone) / 5


@pytest.mark.parametrize("change", [{}, {"lambdas": [[1, -2], [1, 0.5]]}], ids=["learned", "changed"])
def test_metrics_of_a_sentence_are_those_by_hand(model: Model, change: dict[str, Any]) -> None:
    trace = explained(model, model.trace(" ".join(WORDS), **change))
    k, scores = int(trace.probabilities.argmax()), np.array([0.5, -2, 3, 0.1, 0.5, 1, 0, -0.3], np.float32)
    frame = faithfulness(model, trace, {"mine": scores, "removal": score(trace, "removal")}, orders=4, seed=3)
    assert list(frame.columns) == ["method", "metric", "value", "random"]
    mine, own = (frame[frame["method"] == name].set_index("metric") for name in ("mine", "removal"))
    order, reference = [2, 5, 0, 4, 3, 6, 7, 1], score(trace, "removal")
    correlations = [spearmanr(scores, reference), kendalltau(scores, reference), spearmanr(abs(scores), abs(reference))]
    want = [*aopc(model, WORDS, order, k, **change), *(each.statistic for each in correlations)]
    rng = np.random.default_rng(3)
    drawn = [rng.permutation(8).astype(float) for _ in range(4)]
    beside = [
        [
            *aopc(model, WORDS, sorted(range(8), key=lambda i, row=row: -row[i]), k, **change),
            *(each.statistic for each in (spearmanr(row, reference), kendalltau(row, reference), spearmanr(row, abs(reference)))),
        ]
        for row in drawn
    ]
    assert list(mine.index) == list(METRICS) == ["comprehensiveness", "sufficiency", "spearman", "kendall", "size"]
    assert mine["value"].tolist() == pytest.approx(want, abs=1e-5)
    assert mine["random"].tolist() == own["random"].tolist() == pytest.approx(np.mean(beside, axis=0).tolist(), abs=1e-5)
    assert own["value"].tolist()[2:] == pytest.approx([1, 1, 1])


def test_a_verdict_is_drawn_among_random_orders() -> None:
    """If the answer depends on one word, naming it first beats chance and naming it last does not; four words are too few for a verdict."""
    model = planted_model(lambda there: 3 * there("tender") - 1)
    text = "the tender song " + "was a garden and soup " * 5
    trace, first = model.trace(text), np.eye(28, dtype=np.float32)[1]
    good, bad = (against_chance(model, trace, sign * first, seed=5) for sign in (1, -1))
    whole, without = (1 / (1 + math.exp(-2 * value)) for value in (2, -1))
    steps, rng = [1, 3, 5, 7, 8, 10, 12, 14], np.random.default_rng(5)
    assert good.fall == pytest.approx(whole - without, abs=1e-6) and good.better and str(good).startswith("Better than chance")
    places = [int(np.flatnonzero(rng.permutation(28) == 1)[0]) for _ in range(39)]
    falls = [sum(place < top for top in steps) / 8 * (whole - without) for place in places]
    assert good.random == pytest.approx(np.mean(falls), abs=1e-6)
    assert (good.higher, good.equal) == (0, places.count(0))
    assert bad.fall == pytest.approx(0, abs=1e-6) and bad.better is False and str(bad).startswith("No better than chance")
    few = Verdict(fall=0.28, random=0.08, higher=4, equal=1, orders=39)  # a larger mean, but five orders are as good
    assert not few.better and str(few) == (
        "Not clearly better than chance: removing the words that it names first lowers the probability by 28 points on average (random"
        " orders: 8); 5 of 39 random orders lower it by as much."
    )
    assert "none of 39 random orders lowers it by as much" in str(Verdict(0.28, 0.08, 0, 0, 39))
    assert bad.higher == sum(place < 14 for place in places)
    short = against_chance(model, model.trace("the tender song was"), first[:4])
    assert short.better is None and short.higher == 0 and str(short).startswith("The text is too short")


def test_short_texts_and_the_registry(model: Model) -> None:
    refused(InputError, "two words", faithfulness, model, model.trace("warm"), {})
    trace = model.trace("warm song")
    values = faithfulness(model, trace, {"mine": np.array([1, 2], np.float32)}).set_index("metric")["value"]
    assert values[["comprehensiveness", "sufficiency"]].notna().all() and values[["spearman", "kendall", "size"]].isna().all()
    refused(InputError, "scores of mine do not fit the 2 tokens", faithfulness, model, trace, {"mine": np.zeros(3, np.float32)})
    for seed in range(6):
        a, b = np.random.default_rng(seed).normal(size=(2, 9)).round(seed % 2)
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
        assert kendall(a, b) == pytest.approx(kendalltau(a, b).statistic)
    assert all(np.isnan(measure(a[:2], b[:2])) and np.isnan(measure(a, np.ones(9))) for measure in (spearman, kendall))
    for texts, methods, why in ((["warm", "a song"], ["received"], "3 words"), (TEXTS, ["magic"], "no score 'magic'")):
        refused(InputError, why, over_split, model, texts, methods)
    plain = small_model()
    assert "difference" not in scores_of(plain, plain.trace(TEXTS[0]), ["difference"])[1]
    trace, reading = model.trace(TEXTS[0]), [name for name, how in SCORES.items() if how.of is not None]
    assert available(trace) == reading and available(trace, asking=True) == list(SCORES)
    assert available(explained(model, trace)) == ["removal", *reading]
    assert "difference" not in available(fake_trace(components=1), asking=True)
    for name, how in SCORES.items():
        assert (how.of is None) != (how.ask is None) and how.name == name
        if how.ask is not None:
            refused(InputError, rf"{how.title} runs the model.*\['{name}'\]", score, trace, name)
    refused(InputError, "no score 'magic'", explained, model, trace, ["magic"])
    both = explained(model, explained(model, trace, ["gradient"]), ["removal"])
    assert set(both.token_scores) == {"gradient", "removal"}


def test_a_split_is_the_mean_over_its_sentences(model: Model) -> None:
    seen, texts, methods = list[tuple[int, int]](), ["warm", "a song", *TEXTS], ["received", "gradient"]
    frame = over_split(model, texts, methods, sample=4, seed=2, progress=lambda *at: seen.append(at))
    assert list(frame.columns) == ["method", "metric", "value", "low", "high", "random", "n", "seed"]
    assert seen == [(i, 4) for i in range(1, 5)] and set(frame["method"]) == {*methods, "random"}
    drawn = [texts[i] for i in np.random.default_rng(2).permutation(len(texts)) if len(model.trace(texts[i]).tokens) >= 3][:4]
    alone = [faithfulness(model, *scores_of(model, model.trace(text), methods), seed=2 + i) for i, text in enumerate(drawn)]
    want = pd.concat(alone).groupby(["method", "metric"])[["value", "random"]].mean()
    for row in frame.to_dict("records"):
        mean = want.loc[("received" if row["method"] == "random" else row["method"], row["metric"])]
        assert row["value"] == pytest.approx(mean["random" if row["method"] == "random" else "value"], abs=1e-5)
        assert row["random"] == pytest.approx(mean["random"], abs=1e-5)
        assert row["low"] <= row["value"] <= row["high"] and row["n"] == 4 and row["seed"] == 2
    of_pairs = small_model(segments=2, cls=True, pooling="cls")
    texts, pairs = ["what a warm clever song", "the soup was cold and dull"], ["a hollow garden", "we saw a bright lighthouse"]
    means = over_split(of_pairs, texts, ["removal"], pairs=pairs, sample=2).set_index(["method", "metric"])["value"]
    traces = [of_pairs.trace(text, pair) for text, pair in zip(texts, pairs, strict=True)]
    single = [faithfulness(of_pairs, *scores_of(of_pairs, each, ["removal"])).set_index(["method", "metric"])["value"] for each in traces]
    assert means["removal", "sufficiency"] == pytest.approx(np.mean([each["removal", "sufficiency"] for each in single]), abs=1e-5)


def test_a_run_keeps_its_faithfulness(tiny_run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_run, tmp_path / "toy" / "ndt-unit-2"))
    run, frame = Run.open(folder), over_split(small_model(), TEXTS, ["received"], sample=2)
    files, config, digest = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}, dict(run.config), run.digest
    refused(RunError, r"faithfulness.parquet is missing", run.frame, FILE)
    for _ in range(2):
        stored = attach(Run.open(folder), FILE, frame)
    pd.testing.assert_frame_equal(stored.frame(FILE), frame)
    assert stored.name == run.name and stored.digest != digest and {p.name for p in folder.iterdir()} == {*files, FILE}
    assert all((folder / name).read_bytes() == content for name, content in files.items() if name != "config.json")
    after = json.loads((folder / "config.json").read_text())
    assert after | {"files": None} == config | {"files": None} and list(after) == list(config)
    assert after["files"].pop(FILE) and after["files"] == config["files"] and [p.name for p in folder.parent.iterdir()] == [folder.name]
    for name, content, reason in (("notes.txt", "mine", "contains notes.txt"), ("metrics.json", "{}", "metrics.json is damaged")):
        (folder / name).write_text(content)
        before = {p.name: p.read_bytes() for p in folder.iterdir()}
        refused(RunError, reason, attach, Run.open(folder), FILE, frame)
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
        (folder / "notes.txt").unlink(missing_ok=True)


BETTER, WORSE, SHORT = Verdict(0.5, 0.1, 0, 0, 39), Verdict(0.1, 0.5, 30, 0, 39), Verdict(0.5, 0.5, 0, 39, 39)
GOOD, CHANCE = Share(0.7, 0.55, 0.82, 0.2, 40), Share(0.3, 0.15, 0.4, 0.2, 40)


TEXT = "a dull garden that is not warm but cold and clever"


@pytest.fixture(scope="module")
def box() -> Model:
    return sentviz.load(counting, classes=LABELS)


def effects(text: str = TEXT, sign: float = 1.0) -> list[tuple[str, float]]:
    """The weights of the words; `counting` calls the text negative if they sum to less than 0."""
    return [(word, sign * WEIGHTS.get(word, 0.0)) for word in text.split()]


def test_true_inverted_and_odd_scores_are_judged(box: Model) -> None:
    judged, inverted = judge(box, TEXT, effects(sign=-1.0)), judge(box, TEXT, effects(sign=1.0))
    assert box.predict([TEXT])["label"][0] == "negative" and (judged.verdict, inverted.verdict) == ("believe", "doubt")
    agreed = judged.to_exact
    assert (agreed.ranks, agreed.signs, agreed.first) == (pytest.approx(1.0), 1.0, True)
    assert agreed.error == pytest.approx(0, abs=1e-4) and judged.to_removal.ranks == pytest.approx(1.0)
    assert [judged.reached, inverted.reached] == pytest.approx([1, 0], abs=1e-6)
    assert inverted.to_exact.signs == 0 and inverted.to_exact.ranks == pytest.approx(-1.0)
    assert "explain this prediction well" in str(judged) and str(inverted).startswith("These scores do not explain this prediction.")
    unseen = replace(judged, chance=replace(judged.chance, higher=judged.chance.orders // 2))
    assert unseen.verdict == "believe" and "Removal alone does not show it." in str(unseen) and "Removal alone" not in str(judged)
    opposite = judge(box, TEXT, effects(sign=1.0), target=Target("positive"))
    assert opposite.verdict == "believe" and "explain “positive” well" in opposite.answer
    refused(InputError, "There is no class 'happy'", judge, box, TEXT, effects(), target=Target("happy"))
    judged = judge(sentviz.load(lambda texts: [[0.2, 0.8]] * len(texts), classes=LABELS), "a warm garden", [1.0, 2.0, 3.0])
    assert judged.verdict == "unclear" and "the same prediction whichever words are left out" in str(judged)
    judged = judge(box, TEXT, [(word, abs(score)) for word, score in effects()])
    assert not judged.signed and judged.to_exact.ranks == pytest.approx(1.0) and np.isnan(judged.to_exact.signs)
    assert "have no sign" in str(judged)
    for model, text, scores, message in (
        (box, "warm", [1.0], "at least two words"),
        (box, "a warm garden", [1.0], "There are 1 scores"),
        (box, "a warm garden", [["warm", float("nan")]], "not a finite number"),
        (small_model(max_length=24), "a warm garden " * 100, [1.0] * 300, r"There are 300 scores.* reads 24 words"),
    ):
        refused(InputError, f"(?s)^(?!.*\\n).*{message}", judge, model, text, scores)


def test_agreements_and_measurements_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reference 3, -2, 0, 1: of three signs two are right; the strongest word is found; the error is |(0, 1, 2, 2)| / |(3, 2, 0, 1)|."""
    agreed = Agreement.of([3.0, -1.0, 2.0, -1.0], [3.0, -2.0, 0.0, 1.0])
    assert (agreed.signs, agreed.first) == (pytest.approx(2 / 3), True)
    assert agreed.error == pytest.approx(np.sqrt(1 + 4 + 4) / np.sqrt(9 + 4 + 1))
    unsigned = Agreement.of([3.0, 2.0, 0.1, 1.0], [3.0, -2.0, 0.0, 1.0], signed=False)
    assert unsigned.ranks == pytest.approx(1.0) and np.isnan(unsigned.signs) and np.isnan(unsigned.error)
    nothing = Agreement.of([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert np.isnan(nothing.ranks) and not nothing.first and np.isnan(nothing.signs)
    tokenizer = Tokenizer.train_bpe(toy_splits()["train"].frame["text"], 275)
    model = small_model(tokenizer=tokenizer, max_length=64, cls=True, pooling="cls")
    text = "what clumsily bright lighthouses"
    trace = model.trace(text)
    ends = trace.offsets[:, 1].tolist()
    owner = np.array([text[: end - 1].count(" ") if end else -1 for end in ends])
    scores = np.random.default_rng(0).normal(size=len(owner)).astype(np.float32)
    scores[trace.specials] = 100
    means = [scores[owner == i].mean() for i in range(4)]
    got = faithfulness(model, trace, {"mine": scores}).set_index("metric")["value"]
    want = aopc(model, text.split(), sorted(range(4), key=lambda i: -means[i]), int(trace.probabilities.argmax()))
    assert (got["comprehensiveness"], got["sufficiency"]) == pytest.approx(want, abs=1e-5)
    run: Any = None  # only the two functions below read it
    words = {(BETTER, GOOD): "high", (BETTER, None): "high", (BETTER, CHANCE): "unclear", (WORSE, GOOD): "unclear", (WORSE, None): "none"}
    words |= {(WORSE, CHANCE): "none", (SHORT, GOOD): "unclear", (SHORT, None): "unclear", (SHORT, CHANCE): "none"}
    assert (BETTER.better, WORSE.better, SHORT.better) == (True, False, None)
    for (verdict, share), word in words.items():
        measured = ["The method is measured."] if share else []
        monkeypatch.setattr(trust, "found_first", lambda run, share=share: {"removal": share} if share else {})
        monkeypatch.setattr(trust, "method_line", lambda run, method, measured=measured: "".join(measured))
        trusted = trust.trust_in(run, "removal", verdict)
        assert (trusted.word, trusted.details) == (word, (str(verdict), *measured))


def test_the_command_judges_one_text_or_several(tiny_run: Path, tmp_path: Path) -> None:
    text, path = "a quiet delight", tmp_path / "scores.json"
    content = {"text": text, "tokens": text.split(), "scores": [0.0, 1.0, -2.0]}

    def judged(stored: str, *options: str) -> str:
        path.write_text(stored)
        result = CliRunner().invoke(main, ["judge", str(tiny_run), str(path), *options])
        assert result.exit_code == ('"text"' not in stored) and "Traceback" not in result.output
        return result.output

    assert "Of 2 explanations" in judged(json.dumps([content, content]))
    numbers, judgement = json.loads(judged(json.dumps(content), "--json")), judge(sentviz.load(tiny_run), text, content)
    assert numbers["verdict"] == judgement.verdict and numbers["fall"] == pytest.approx(judgement.chance.fall)
    assert [word for word, _ in numbers["words"]] == text.split()
    for stored, message in (("{", "is not JSON"), ("[]", "not name the text")):
        assert message in judged(stored)
    assert "There is no file" in CliRunner().invoke(main, ["judge", str(tiny_run), str(tmp_path / "other.json")]).output
