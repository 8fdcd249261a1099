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


def test_the_true_effects_are_believed_and_inverted_ones_are_not(model: Model) -> None:
    """The model adds weights, so that the scores equal the exact values: every number of the agreement is perfect."""
    judged, inverted = judge(model, TEXT, effects(sign=-1.0)), judge(model, TEXT, effects(sign=1.0))
    assert model.predict([TEXT])["label"][0] == "negative" and (judged.verdict, inverted.verdict) == ("believe", "doubt")
    agreed = judged.to_exact
    assert (agreed.ranks, agreed.signs, agreed.first) == (pytest.approx(1.0), 1.0, True)
    assert agreed.error == pytest.approx(0, abs=1e-4) and judged.to_removal.ranks == pytest.approx(1.0)
    assert [judged.reached, inverted.reached] == pytest.approx([1, 0], abs=1e-6)
    assert inverted.to_exact.signs == 0 and inverted.to_exact.ranks == pytest.approx(-1.0)
    assert "explain this prediction well" in str(judged) and str(inverted).startswith("These scores do not explain this prediction.")
    unseen = replace(judged, chance=replace(judged.chance, higher=judged.chance.orders // 2))
    assert unseen.verdict == "believe" and "Removal alone does not show it." in str(unseen) and "Removal alone" not in str(judged)
    other = judge(model, TEXT, effects(sign=1.0), target=Target("positive"))
    assert other.verdict == "believe" and "explain “positive” well" in other.answer
    with pytest.raises(InputError, match="There is no class 'happy'"):
        judge(model, TEXT, effects(), target=Target("happy"))


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


def test_bad_questions_get_a_sentence(model: Model) -> None:
    """A model of 24 tokens says how many words it reads of 300."""
    for asked, text, scores, message in (
        (model, "warm", [1.0], "at least two words"),
        (model, "a warm garden", [1.0], "There are 1 scores"),
        (model, "a warm garden", [["warm", float("nan")]], "not a finite number"),
        (small_model(max_length=24), "a warm garden " * 100, [1.0] * 300, r"There are 300 scores.* reads 24 words"),
    ):
        with pytest.raises(InputError, match=message) as raised:
            judge(asked, text, scores)
        assert "\n" not in str(raised.value)


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
    """One object gives its sentence, a list also a count; JSON has the numbers of the library; a broken file is one sentence."""
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
    for stored, message in (
        ("{", "is not JSON"),
        ('{"tokens": ["a"], "scores": [1]}', "does not name the text"),
        ("[]", "not name the text"),
    ):
        assert message in judged(stored)
    assert "There is no file" in CliRunner().invoke(main, ["judge", str(tiny_run), str(tmp_path / "other.json")]).output
