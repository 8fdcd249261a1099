"""Sentiment-Fused Attention on [CLS]: which encoders read it, how many texts are behind each line, and what the page says of our runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sentviz.charts.gallery import make
from sentviz.charts.subjects import Sentence, Study
from sentviz.papers.fused import study
from sentviz.papers.fused.claims import CLAIMS
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import find_paper
from sentviz.runs.sections import TextBlock
from sentviz.runs.store import Run
from tests.kit import SHIPPED
from tests.studies import made_seeds, with_heads

PAPER = find_paper("fused")
ON_CLS = {"52b9f3": "the gain", "b4e6d5": "from [CLS]", "0c4d75": "to [CLS]"}  # ids of the claims on NSMC


def encoder(root: Path, base: str = "", pooling: str = "cls") -> list[Run]:
    """Return three seeds of the baseline and of the paper's setting; the latter gains, and the attention of its [CLS] shifts."""
    runs = []
    for model, shift, wrong in (("cls", 0.0, 40), ("cls-last-scaled", 0.1, 10)):
        for i, run in enumerate(made_seeds(root / f"{base}{model}", "nsmc", model, 3, wrong=wrong, base=base)):
            measured = with_heads(run, (0.2 + shift + 0.001 * i, 0.2 + shift + 0.001 * i), (0.1, 0.1))
            vars(measured)["shape"] = replace(measured.shape, pooling=pooling)  # type: ignore[arg-type]
            runs.append(measured)
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("claim", ON_CLS)
@pytest.mark.exhaustive
def test_no_claim_on_cls_is_judged_where_the_classifier_reads_the_mean(claim: str, tmp_path: Path) -> None:
    """The encoder that reads the mean cannot be judged, alone or beside one that reads [CLS], which decides."""
    (test,) = (each.test for each in CLAIMS if each.id == claim)
    own, mean = encoder(tmp_path), encoder(tmp_path, "e5", "mean")
    alone, both = test(own), test([*own, *mean])
    assert alone.verdict == both.verdict != "unjudged"
    part = dict(both.parts)["multilingual E5"]
    assert part.verdict == "unjudged" and "reads the mean of all tokens" in part.evidence
    assert dict(test([*own, *encoder(tmp_path / "cls", "e5")]).parts)["multilingual E5"].verdict == alone.verdict


@pytest.mark.slow
def test_claims_and_figure_5_read_the_runs_on_e5_that_answer_from_cls(tmp_path: Path) -> None:
    """Where runs on E5 answer from [CLS], they stand in the place of those that answer from the mean, and are judged."""
    own, mean, reading = encoder(tmp_path), encoder(tmp_path, "e5", "mean"), encoder(tmp_path, "e5-from-cls")
    both = [*own, *mean, *reading]
    assert study.encoders_on_cls(both, "nsmc") == ["e5-from-cls", "cls"] and study.encoders(both, "nsmc") == ["e5", "cls"]
    assert study.encoders_on_cls([*own, *mean, *reading[3:]], "nsmc") == ["e5", "cls"]  # no baseline that answers from [CLS]
    for claim in ON_CLS:
        (test,) = (each.test for each in CLAIMS if each.id == claim)
        parts = dict(test(both).parts)
        assert parts.keys() == {"multilingual E5 that reads [CLS]", "an encoder from scratch"}
        assert all(part.verdict == test(own).verdict != "unjudged" for part in parts.values())
    caption = make("cls-lines", Study.of("nsmc", both)).caption
    assert "multilingual E5 that reads [CLS]" in caption and "the mean of all tokens" not in caption


@pytest.mark.slow
@pytest.mark.exhaustive
def test_figure_5_says_the_texts_of_each_encoder_and_what_its_classifier_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, mean = encoder(tmp_path), encoder(tmp_path, "e5", "mean")
    fewer = {run.name: run.frame("heads.parquet").assign(n=57) for run in mean}
    read = Run.frame
    monkeypatch.setattr(
        Run, "frame", lambda run, file: fewer[run.name] if file == "heads.parquet" and run.name in fewer else read(run, file)
    )
    caption = make("cls-lines", Study.of("nsmc", [*own, *mean])).caption
    assert "200 (from scratch)" in caption and "57 (multilingual E5)" in caption
    assert "The classifier of multilingual E5 reads the mean of all tokens" in caption
    assert "reads the mean" not in make("cls-lines", Study.of("nsmc", own)).caption


@SHIPPED
def test_the_page_states_how_little_e5_learns_from() -> None:
    """Rows, epochs, adapter and pooling of the installed runs on E5 are those of the page's differences."""
    runs = [run for run in study_runs().runs if run.name in ("nsmc/e5", "nsmc/e5-last-scaled", "nsmc/e5-xia")]
    assert len(runs) == 3
    for run in runs:
        recipe = run.config["recipe"]
        assert (run.config["data"]["splits"]["train"]["n"], recipe["epochs"]) == (15_000, 1) and recipe["adapter_rank"]
        assert not run.capabilities.cls
    for part in ("15,000 of the 150,000 reviews for one epoch", "with an adapter", "reads the mean of all tokens, not [CLS]"):
        assert part in PAPER.page.cannot


@SHIPPED
def test_the_installed_runs_on_e5_that_read_cls_take_the_place_of_the_others() -> None:
    """Two settings with three seeds each, all with measured heads; the first seeds have weights. The page names both settings."""
    runs = study_runs().runs
    assert study.encoders_on_cls(runs, "nsmc") == ["e5-from-cls", "cls"] and study.encoders_on_cls(runs, "sst2") == ["minilm", "cls"]
    by_setting = study.configurations(runs, "nsmc", "e5-from-cls")
    assert {setting: len(seeds) for setting, seeds in by_setting.items()} == {"cls": 3, "cls-last-scaled": 3}
    for seeds in by_setting.values():
        assert [run.has_weights for run in seeds] == [True, False, False]
        assert all(run.capabilities.cls and "heads.parquet" in run.files for run in seeds)
    (section,) = (part for part in PAPER.page.sections if part.name == "cls")
    words = " ".join(block.markdown for block in section.walk() if isinstance(block, TextBlock))
    assert "`e5-from-cls` and `e5-from-cls-last-scaled` on NSMC are E5 with a classifier that reads [CLS], three seeds each" in words


@SHIPPED
def test_the_full_stop_is_polar_as_the_part_on_gains_says() -> None:
    """In the example of the page the full stop is the second most polar token, by the share of one side over the other."""
    (run,) = (run for run in study_runs().runs if run.name == "sst2/cls-last-scaled")
    frame = make("polarity", Sentence(run)).frame
    order = np.argsort(-(frame["positive"] - frame["negative"]).abs().to_numpy())
    assert frame["token"].str.strip().iloc[order[:2]].tolist() == ["delight", "."]
    (section,) = (part for part in PAPER.page.sections if part.name == "results")
    words = " ".join(block.markdown for block in section.walk() if isinstance(block, TextBlock))
    assert f"In “{run.config['recipe']['example']}” the full stop is the second most polar token" in words
