"""A judgement of scores from elsewhere: good, random and inverted scores of models whose effects are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import sentviz
from sentviz.analysis.explain.judge import Agreement, judge
from sentviz.charts.gallery import draw
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.target import Target
from tests.kit import small_model
from tests.test_blackbox import LABELS, WEIGHTS, counting

TEXT = "a dull garden that is not warm but cold and clever"


@pytest.fixture(scope="module")
def model() -> Model:
    return sentviz.load(counting, classes=LABELS)


def effects(text: str = TEXT, sign: float = 1.0) -> list[tuple[str, float]]:
    """The weights of the words; `counting` calls the text negative if they sum to less than 0."""
    return [(word, sign * WEIGHTS.get(word, 0.0)) for word in text.split()]


def test_the_true_effects_are_believed(model: Model) -> None:
    """The model adds weights, so that the scores equal the exact values: every number of the agreement is perfect."""
    judged = judge(model, TEXT, effects(sign=-1.0))
    assert model.predict([TEXT])["label"][0] == "negative" and judged.verdict == "believe"
    agreed = judged.to_exact
    assert (agreed.ranks, agreed.signs, agreed.first) == (pytest.approx(1.0), 1.0, True)
    assert agreed.error == pytest.approx(0, abs=1e-4) and judged.to_removal.ranks == pytest.approx(1.0)
    assert judged.reached == pytest.approx(1.0, abs=1e-6)
    assert "Removal alone" not in str(judged) and str(judged).index("exact Shapley") < str(judged).index("chance")
    unseen = replace(judged, chance=replace(judged.chance, higher=judged.chance.orders // 2))
    assert unseen.verdict == "believe" and "Removal alone does not show it." in str(unseen)
    assert "explain this prediction well" in str(judged) and "the right sign" in str(judged)


def test_words_without_a_score_have_no_sign(model: Model) -> None:
    """Two of the words are scored, both rightly: the sentence counts the signs of these two."""
    whole = judge(model, TEXT, effects(sign=-1.0)).exact
    best = sorted(whole.players, key=lambda player: -abs(whole.values[whole.players.index(player)]))[:2]
    part = judge(model, TEXT, [(player.text, float(whole.values[whole.players.index(player)])) for player in best])
    assert "give 2 of the 2 that have a score the right sign" in str(part)


def test_inverted_scores_are_not_believed(model: Model) -> None:
    judged = judge(model, TEXT, effects(sign=1.0))
    assert judged.verdict == "doubt" and judged.to_exact.ranks == pytest.approx(-1.0)
    assert (
        judged.reached == pytest.approx(0.0, abs=1e-6)
        and judged.to_exact.signs == 0
        and str(judged).startswith("These scores do not explain this prediction.")
    )


def test_inverted_scores_explain_the_other_class(model: Model) -> None:
    judged = judge(model, TEXT, effects(sign=1.0), target=Target("positive"))
    assert judged.verdict == "believe" and "explain “positive” well" in judged.answer


@pytest.mark.exhaustive
def test_random_scores_are_rarely_believed(model: Model) -> None:
    """Of 20 random explanations, at most 3 are believed, and at least 8 are doubted."""
    rng, text = np.random.default_rng(3), "a dull but clever garden is not warm"
    verdicts = [judge(model, text, rng.normal(size=len(text.split()))).verdict for _ in range(20)]
    assert verdicts.count("believe") <= 3 and verdicts.count("doubt") >= 8


def test_a_model_that_always_says_the_same_has_nothing_to_explain() -> None:
    def always(texts: list[str]) -> list[list[float]]:
        return [[0.2, 0.8]] * len(texts)

    flat = sentviz.load(always, classes=LABELS)
    judged = judge(flat, "a warm garden", [1.0, 2.0, 3.0])
    assert judged.verdict == "unclear" and "the same prediction whichever words are left out" in str(judged)


def test_scores_without_a_sign_are_compared_with_the_size_of_effects(model: Model) -> None:
    judged = judge(model, TEXT, [(word, abs(score)) for word, score in effects()])
    assert not judged.signed and judged.to_exact.ranks == pytest.approx(1.0) and np.isnan(judged.to_exact.signs)
    assert "have no sign" in str(judged)


def test_a_long_text_is_judged_by_larger_parts(model: Model) -> None:
    text = ", ".join([TEXT] * 2)
    judged = judge(model, text, effects(sign=-1.0) * 2)
    assert judged.exact.by != "words" and judged.to_exact.ranks > 0.9


@pytest.mark.parametrize(
    ("text", "scores", "message"),
    [
        ("warm", [1.0], "at least two words"),
        ("a warm garden", [1.0], "There are 1 scores"),
        ("a warm garden", [["warm", float("nan")]], "not a finite number"),
    ],
)
def test_bad_questions_get_a_sentence(model: Model, text: str, scores: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        judge(model, text, scores)
    with pytest.raises(InputError, match="There is no class 'happy'"):
        judge(model, TEXT, effects(), target=Target("happy"))


def test_scores_of_words_that_the_model_cuts_are_refused() -> None:
    """A model of 24 tokens says how many words it reads of 300, and judges the scores of those."""
    network, text = small_model(max_length=24), "a warm garden " * 100
    with pytest.raises(InputError, match=r"There are 300 scores.* reads 24 words") as raised:
        judge(network, text, [1.0] * 300)
    assert len(str(raised.value).splitlines()) == 1
    assert str(judge(network, text, [1.0, 2.0, 3.0] * 8))


def test_agreement_equals_a_count_by_hand() -> None:
    """Reference 3, -2, 0, 1: of three signs two are right; the strongest word is found; the error is |(0, 1, 2, 2)| / |(3, 2, 0, 1)|."""
    agreed = Agreement.of([3.0, -1.0, 2.0, -1.0], [3.0, -2.0, 0.0, 1.0])
    assert (agreed.signs, agreed.first) == (pytest.approx(2 / 3), True)
    assert agreed.error == pytest.approx(np.sqrt(1 + 4 + 4) / np.sqrt(9 + 4 + 1))
    unsigned = Agreement.of([3.0, 2.0, 0.1, 1.0], [3.0, -2.0, 0.0, 1.0], signed=False)
    assert unsigned.ranks == pytest.approx(1.0) and np.isnan(unsigned.signs) and np.isnan(unsigned.error)
    nothing = Agreement.of([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    assert np.isnan(nothing.ranks) and not nothing.first and np.isnan(nothing.signs)


def test_the_command_judges_one_text_or_several(tiny_run: Path, tmp_path: Path) -> None:
    """One object gives its sentence, a list also a count; JSON has the numbers of the library."""
    text = "a quiet delight and a dull script"
    content = {"text": text, "tokens": text.split(), "scores": [0.0, 1.0, 2.0, 0.0, 0.0, -1.0, 0.5]}
    files = {name: tmp_path / f"{name}.json" for name in ("one", "two")}
    files["one"].write_text(json.dumps(content))
    files["two"].write_text(json.dumps([content, content]))
    result = CliRunner().invoke(main, ["judge", str(tiny_run), str(files["one"])])
    assert result.exit_code == 0 and "random orders" in result.output and "exact Shapley values" in result.output
    assert "Of 2 explanations" in CliRunner().invoke(main, ["judge", str(tiny_run), str(files["two"])]).output
    numbers = json.loads(CliRunner().invoke(main, ["judge", str(tiny_run), str(files["one"]), "--json"]).output)
    judgement = judge(sentviz.load(tiny_run), text, content)
    assert numbers["verdict"] == judgement.verdict and numbers["fall"] == pytest.approx(judgement.chance.fall)
    assert [word for word, _ in numbers["words"]] == text.split()


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ('{"tokens": ["a"], "scores": [1]}', "does not name the text"), ("[]", "does not name the text")],
)
def test_a_broken_file_of_scores_gets_a_sentence(tiny_run: Path, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(content)
    result = CliRunner().invoke(main, ["judge", str(tiny_run), str(path)])
    assert result.exit_code == 1 and message in result.output and "Traceback" not in result.output
    assert "There is no file" in CliRunner().invoke(main, ["judge", str(tiny_run), str(tmp_path / "other.json")]).output


def test_judged_scores_are_a_figure(tiny_run: Path) -> None:
    """The frame has the given scores and the exact values of the same words; the caption has the verdict."""
    scores = [["a", 0.0], ["quiet", 1.0], ["delight", -2.0]]
    drawn = draw(str(tiny_run), "judged", text="a quiet delight", scores=json.dumps(scores))
    rows = drawn.frame.pivot(index="position", columns="method", values="score")
    assert rows["Scores given"].tolist() == [0.0, 1.0, -2.0]
    judgement = judge(sentviz.load(tiny_run), "a quiet delight", scores)
    assert (
        rows["Exact Shapley values"].tolist() == pytest.approx(judgement.exact.values.tolist()) and str(judgement.chance) in drawn.caption
    )
    with pytest.raises(InputError, match="is not JSON"):
        draw(str(tiny_run), "judged", text="a quiet delight", scores="{")
