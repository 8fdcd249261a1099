"""The behaviour card: its cases share nothing with training, its rates agree with loops, and bad input gets one sentence."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sentviz
from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset import baselines
from sentviz.analysis.testset import behaviour as card_module
from sentviz.analysis.testset.behaviour import judged, measure_behaviour
from sentviz.analysis.testset.behaviour_report import as_json, as_markdown, read_requirement
from sentviz.cli import main
from sentviz.data import behaviour, templates
from sentviz.data.behaviour import KINDS, LANGUAGES, built_in, cases, edit_size, find_case, random_edit, read_templates
from sentviz.errors import InputError
from tests.kit import refused

FILES = {"en": templates.ENGLISH, "ko": templates.KOREAN}
MADE = {"en": templates.halves, "ko": templates.korean}
EDIT = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


def praising(texts: Sequence[str]) -> list[list[float]]:
    """Answer positive with 0.9 if a text has a word of praise, else with 0.2; 0.05 more per word."""
    shares = [min(0.99, (0.9 if re.search("superb|brilliant|훌륭", text, re.I) else 0.2) + 0.005 * len(text.split())) for text in texts]
    return [[1 - share, share] for share in shares]


MODEL = sentviz.load(praising, classes=["negative", "positive"])
SOME = cases("en", each=8)
MINE = ["--model", "tests.test_behaviour:praising", "--classes"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_cases_share_nothing_with_the_training_half(language: str) -> None:
    ours, (frames, entries) = built_in(language), templates.half("train", FILES[language])
    ours_written = [text for each in ours.capabilities for texts in each.templates.values() for text in texts]
    own_frames = {templates._bare(EDIT.sub(rf"\{side}", text)) for text in ours_written for side in (1, 2)}
    assert not own_frames & {templates._bare(text) for texts in frames.values() for text in texts}
    trained = {templates._last(entry) for each in entries.values() for entry in each} - {""}
    assert not {templates._last(entry) for name, each in ours.slots.items() if name != "people" for entry in each} & trained
    every, learned = cases(language), set(MADE[language]("train")["text"].str.casefold().str.rstrip("."))
    assert not learned & {text.casefold().rstrip(".") for text in [*every["text"], *every["before"]]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_1500_different_cases_the_same_for_a_seed(language: str) -> None:
    every, first = cases(language), cases(language, each=3, seed=4)
    assert len(every) == 1_500 and every["capability"].nunique() == 12 and set(every["kind"]) == set(KINDS.values())
    assert every["id"].is_unique and not every.duplicated(["capability", "text"]).any()
    assert (every["before"] != every["text"]).all() and (every["random"] != every["before"])[every["before"] != ""].all()
    assert not every["text"].str.contains(r"[{}\[\]|]|\([가-힣]|\s\s|^\s|\s$").any()
    assert not every["text"].str.contains(r"\ba (?:[aio]|e(?!u))", case=False).any()
    assert first.equals(cases(language, each=3, seed=4)) and not first.equals(cases(language, each=3, seed=5))
    positive = (every["expects"] == "positive")[every["expects"].isin(["negative", "positive"])]
    assert positive.groupby(every["capability"]).mean().between(0.4, 0.6).all()


def test_an_edit_has_its_size_and_a_case_its_id() -> None:
    for before, after, size in (
        ("The sofa is bad.", "the sofa is bad", (1, 0, 0)),  # marks alone: at least one word
        ("Mary met Wei.", "Noor met Wei.", (1, 0, 0)),
        ("It is bad.", "It is bad. I want my money back.", (0, 0, 5)),
        ("새로 산 가방", "새로산 가방", (1, 1, 0)),
        ("I am glad.", "I'm glad.", (1, 1, 0)),
    ):
        assert edit_size(before, after) == size
        for seed in range(9):
            changed = random_edit(before, after, ["x1", "x2", "x3"], np.random.default_rng(seed)).split()
            old_words, (replaced, deleted, inserted) = [word for word in changed if not word.startswith("x")], size
            assert len(changed) == len(before.split()) - deleted + inserted
            assert len(old_words) == len(before.split()) - replaced - deleted
    for seed in range(20):
        wrong = behaviour.typing_error("The sofa seemed dreadful.", np.random.default_rng(seed))
        assert sorted(wrong) == sorted("The sofa seemed dreadful.") and wrong.startswith("The sofa ")
        assert sum(a != b for a, b in zip(wrong, "The sofa seemed dreadful.", strict=True)) == 2
    assert behaviour.typing_error("It is so.", np.random.default_rng(0)) == "It is so."
    row = cases("en").query("kind == 'invariance'").iloc[3]
    case, old = find_case(row["id"]), find_case(row["id"] + "-before")
    assert case is not None and old is not None and (case["text"], old["text"]) == (row["text"], row["before"])
    assert find_case("en-negation-999") is find_case("demo-plain-1") is find_case("") is find_case("en-negation-0-before") is None


def test_the_rates_are_those_of_a_loop() -> None:
    card = measure_behaviour(MODEL, SOME)

    def share(text: str) -> float:
        return praising([text])[0][1]

    for kind, got in (("text", card.passed), ("random", card.passed_random)):
        for i, row in enumerate(SOME.to_dict("records")):
            after, before = share(row[kind] or row["text"]), share(row["before"] or row["text"])
            expected = {
                "positive": after > 0.5,
                "negative": after <= 0.5,
                "same": (after > 0.5) == (before > 0.5),
                "rises": after >= before - 0.1,
                "falls": after <= before + 0.1,
            }[row["expects"]]
            assert got[i] == (expected and (kind == "text" or row["before"] != "")), row
    assert not card.passed.all() and not card.passed_random.all()
    for row in card.frame().to_dict("records"):
        passed = int(card.passed[(SOME["capability"] == row["capability"]).to_numpy()].sum())
        assert (row["n"], row["passed"], row["low"], row["high"]) == (8, passed, *map(float, wilson(passed, 8)))
        assert np.isnan(row["random"]) == (row["kind"] == "minimum functionality")
    assert card.failures()["id"].tolist() == SOME["id"][~card.passed].tolist()
    table = pd.read_csv(pd.io.common.StringIO(card.stored().to_csv(index=False)), dtype={"digest": str})
    back = card_module._restored(card.name, "", SOME, table, "en")
    assert (back.passed == card.passed).all() and (back.passed_random == card.passed_random).all()
    text = as_markdown(card, [card])
    assert all(f"| {name} |" in text for name in card.capabilities) and "praising, %" in text
    assert json.loads(as_json(card, [card]))["baselines"]["praising"][0]["n"] == 8


def test_odd_models_pass_only_what_they_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    five = ["very negative", "negative", "neutral", "positive", "very positive"]
    model = sentviz.load(lambda texts: [[0.1, 0.1, 0.6, 0.1, 0.1]] * len(texts), classes=five)
    card = measure_behaviour(model, SOME)
    assert not card.passed[(SOME["kind"] == "minimum functionality").to_numpy()].any()
    assert any("Predictions of neutral are on neither side" in remark for remark in card.remarks)
    model = sentviz.load(lambda texts: [[0.1, 0.9]] * len(texts), classes=["negative", "positive"])
    card = measure_behaviour(model, SOME)
    assert "predicts positive for every case" in card.remarks[0]
    verdicts = read_requirement(required(tmp_path, "[minimum]\nnames = 0.9\nnegation = 0.1")).verdicts(card)
    assert verdicts["names"][0] == 1 and not verdicts["names"][2] and verdicts["negation"][2]
    frame = SOME.groupby("kind").head(1)
    card = judged("x", lambda texts: (np.zeros(len(texts), np.int64), np.full(len(texts), np.nan)), frame)
    assert not card.passed.any() and not card.passed_random.any()
    table = pd.DataFrame({"term": ["좋", "좋지 않", "나쁘"], "polarity": [2, -1, -2]})
    monkeypatch.setattr(baselines.datasets, "load_file", lambda *names: table)
    assert baselines._knu(["좋네요", "좋지 않네요", "안좋네요", "좋고 나쁘다"]) == pytest.approx([2 / 19**0.5, -1 / 16**0.5, 0, 0])


def required(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "behave.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wrong_requirement_is_one_sentence(tmp_path: Path) -> None:
    card = measure_behaviour(MODEL, SOME)
    for text, message in (
        ("[minimum]\nnegatoin = 0.5", "There is no capability 'negatoin'; similar names: negation; the capabilities are vocabulary"),
        ("[minimum]\nnegation = 80", "the minimum of negation must be a number from 0 to 1, not 80; 80 % is 0.8."),
        ("[minimum", "behave.toml is not valid TOML: "),
        ("", "behave.toml needs a table [minimum]"),
        ("counts = 'mean'\n[minimum]\ntime = 0.1", 'counts must be "rate" or "low"'),
        ("[maximum]\ntime = 0.1", "unknown entry 'maximum'"),
    ):
        with pytest.raises(InputError, match=re.escape(message)) as caught:
            read_requirement(required(tmp_path, text)).verdicts(card)
        assert "\n" not in str(caught.value)
    refused(InputError, r"absent\.toml is missing", read_requirement, tmp_path / "absent.toml")


def test_wrong_templates_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    for text, message in (
        ('[a]\npositive = ["The {thnig} is superb."]', "names the list 'thnig', which does not exist (similar names: thing)."),
        ('[a]\npositive = ["The {thing is superb."]', "has a bracket that is not {list} or [before|after]"),
        ('[a]\nsame = ["The {thing} is superb."]', "needs an edit such as [before|after], because it is listed under same"),
        ('[a]\npositive = ["[A|The] {thing}."]', "must not have an edit"),
        ('[a]\npositive = ["x"]\nsame = ["[x|y]"]', "of one kind of test"),
        ('[a]\npositive = "x"', "needs lists of templates"),
        ('[a]\nwrong = ["x"]', "unknown key 'wrong'"),
        ('[slots]\nx = []\n[a]\npositive = ["{x}"]', "The list 'x' of t.toml must be a list of at least one text."),
        ('[slots]\nx = ["y"]\n[a]\npositive = ["{x} {x 2}"]', "needs 2 different entries of 'x'"),
        ("[slots]\nx = ['y']", "has no capability"),
        ("a = 1", "[a] of t.toml must be a table."),
    ):
        path.write_text(text, encoding="utf-8")
        refused(InputError, re.escape(message), read_templates, path)
    path = tmp_path / "t.toml"
    path.write_text('[slots]\nx = ["one", "two", "three"]\n[own]\npositive = ["Superb {x}."]\n[more]\nsame = ["[{city}|{city 2}]."]')
    frame = cases(templates=read_templates(path), each=10)
    assert frame.groupby("capability").size().to_dict() == {"own": 3, "more": 10}
    assert measure_behaviour(MODEL, frame).frame()["rate"].tolist()[0] == 1


def test_a_model_that_cannot_be_tested_is_refused_in_a_sentence() -> None:
    for arguments, message in (
        (["question_pair/cls"], "reads pairs of texts, but the cases of a behaviour card are single texts."),
        (["nsmc/cls", "--language", "en"], "nsmc/cls reads Korean, so its predictions for English cases mean nothing."),
        (["sst2/vanilla", "--language", "fr"], "its predictions for fr cases mean nothing"),
        (["imdb/sentiformer"], "is stored without weights"),
        ([*MINE, "same,other"], "need classes of both sides"),
        ([*MINE, "negative,positive", "--language", "fr"], "There are cases in English and Korean"),
        (["sst2/vanilla", "-o", "card.txt"], "written as .json or .md"),
        ([], "Give RUN, or your own model"),
    ):
        result = CliRunner().invoke(main, ["behave", *arguments])
        assert result.exit_code in (1, 2) and message in result.output, result.output


def test_the_command_exits_with_1_if_a_minimum_is_missed_and_writes_equal_bytes(tmp_path: Path) -> None:
    own = ["behave", *MINE, "negative,positive", "--cases", "4"]
    fine = required(tmp_path, 'counts = "rate"\n[minimum]\naddition = 0.25')
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        assert CliRunner().invoke(main, [*own, "--require", str(fine), "-o", str(path)]).exit_code == 0
    assert paths[0].read_bytes() == paths[1].read_bytes()
    content = json.loads(paths[0].read_text())
    assert content["met"] and [each["capability"] for each in content["capabilities"] if each.get("met")] == ["addition"]
    strict = required(tmp_path, 'counts = "low"\n[minimum]\naddition = 0.25\nvocabulary = 1.0')
    result = CliRunner().invoke(main, [*own, "--require", str(strict)])
    assert result.exit_code == 1 and json.loads(result.stdout)["met"] is False
    assert "the lower limit of the 95 % interval counts" in result.stderr
