"""Gates and position signals of a sentence against loops over single numbers; gates that are forced stay with their tokens."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from sentviz.analysis.explain import explained
from sentviz.analysis.explain.faithfulness import faithfulness
from sentviz.analysis.explain.leave_out import leaving_out
from sentviz.analysis.explain.notices import notices
from sentviz.analysis.maps.arithmetic import cell
from sentviz.analysis.maps.gates import forced, gates, signals
from sentviz.charts import Figure
from sentviz.charts.gallery import code, draw
from sentviz.charts.look import Look
from sentviz.cli import main
from sentviz.data.tags import ENGLISH, Tagger, describe_tagger
from sentviz.errors import InputError, RunError
from sentviz.models.loading import load
from sentviz.models.model import Model
from sentviz.models.protocol import Inputs, InterventionTensors
from sentviz.runs.store import Run
from sentviz.runs.trace import Trace
from tests.charts import figure_of, stub
from tests.kit import gated_model, small_model

TEXT = "What a warm garden, and not a dull song!"


@pytest.fixture(scope="module")
def model() -> Model:
    return gated_model()


def seen(model: Model, text: str = TEXT, **change: Any) -> Trace:
    return model.trace(text, maps=False, projections=True, **change)


# ---- gates


@pytest.mark.parametrize("window", [0, 6, 500])
def test_gates_are_sigmoids_of_what_each_layer_reads(window: int) -> None:
    """Gates are 1 / (1 + exp(-x_j W_g)) with x of the layer below, with and without a window."""
    model = gated_model(window=window)
    trace = seen(model)
    computed = gates(trace)
    assert trace.hidden is not None and computed.shape == (3, len(trace.tokens))
    for layer in range(3):
        weight = model.network.blocks[layer].attention.gate.weight[0].double().tolist()  # type: ignore[index, union-attr]
        norm = model.network.blocks[layer].attention_norm  # type: ignore[index, union-attr]
        read = norm(torch.from_numpy(trace.hidden[layer].copy())).double().tolist()  # type: ignore[operator]
        for j, x in enumerate(read):
            assert computed[layer, j] == pytest.approx(1 / (1 + math.exp(-sum(a * b for a, b in zip(x, weight, strict=True)))), abs=1e-5)


def test_strength_is_a_power_and_forced_gates_are_one_and_nought(model: Model) -> None:
    plain, changed = seen(model), seen(model, strength={"gate": 2.0}, gates_open=[3], gates_shut=[5])
    before, after = gates(plain), gates(changed)
    rest = [j for j in range(len(plain.tokens)) if j not in (3, 5)]
    np.testing.assert_allclose(after[0, rest], before[0, rest] ** 2, rtol=1e-5)
    assert (after[:, 3] == 1).all() and (after[:, 5] == 0).all()
    assert [(i, state) for i, state in enumerate(forced(changed)) if state] == [(3, "open"), (5, "shut")]


def test_a_trace_without_gates_says_why(model: Model) -> None:
    with pytest.raises(InputError, match="has no projections"):
        gates(model.trace(TEXT))
    with pytest.raises(InputError, match="toy/random has no gates"):
        gates(seen(small_model(max_length=48)))


def test_forced_gates_stay_with_their_tokens_where_words_are_left_out(model: Model) -> None:
    """The shut gate of token j equals that gate in the shorter text at j's new place, without token i."""
    trace = seen(model, gates_shut=[4], gates_open=[7])
    reading = model.encode(TEXT).reading
    assert reading.tags is not None
    removed = [[1], [4], [5], [7], [2, 3, 9], []]
    got = leaving_out(model, trace, removed)
    for some, logits in zip(removed, got, strict=True):
        left = [i for i in range(len(reading)) if i not in some]
        ids, tags = (torch.tensor([[int(array[i]) for i in left]]) for array in (reading.ids, reading.tags))
        places = {i: left.index(i) for i in (4, 7) if i in left}
        change = InterventionTensors(
            gates_shut=frozenset({places[4]} if 4 in places else ()), gates_open=frozenset({places[7]} if 7 in places else ())
        )
        with torch.inference_mode():
            expected = model.network(Inputs(ids, tags=tags), change=change).logits[0].numpy()
        np.testing.assert_allclose(logits, expected, atol=2e-5)
    assert np.abs(got[0] - leaving_out(model, seen(model), [[1]])[0]).max() > 1e-4


def test_explanations_are_asked_of_the_changed_model(model: Model) -> None:
    """A token with shut gates that the classifier does not read matters only by its place, in removal and faithfulness."""
    trace = explained(model, seen(model, gates_shut=[4]), ["removal"])
    assert faithfulness(model, trace, dict(trace.token_scores))["value"].notna().any()
    plain = explained(model, seen(model), ["removal"])
    assert np.abs(trace.token_scores["removal"] - plain.token_scores["removal"]).max() > 1e-4


def test_the_arithmetic_of_a_cell_keeps_forced_gates(model: Model) -> None:
    """A trace without projections gives the same arithmetic as one with them."""
    change: dict[str, Any] = {"gates_shut": [4], "gates_open": [2]}
    with_maps, stored = (cell(model, trace, 1, 0, 3, 2) for trace in (seen(model, **change), model.trace(TEXT, **change)))
    assert with_maps.attention == pytest.approx(stored.attention, abs=1e-6)
    assert cell(model, model.trace(TEXT, gates_shut=[4]), 1, 0, 3, 4).attention == pytest.approx(0, abs=1e-6)
    assert with_maps.attention != pytest.approx(cell(model, model.trace(TEXT), 1, 0, 3, 2).attention, abs=1e-5)


# ---- positions


def test_signals_are_the_lengths_of_a_loop() -> None:
    """Signals are |alpha| sqrt(d / 2), twice, |gamma| times the length of the tag's vector, the length of their sum, and of the word's
    vector.
    """
    model = gated_model(seed=3)
    network, trace = model.network, seen(model)
    lengths = signals(model, trace)
    aware = network.aware  # type: ignore[union-attr]
    alpha, beta, gamma = (float(getattr(aware, name)) for name in ("alpha", "beta", "gamma"))
    assert lengths.weights == pytest.approx({"alpha": alpha, "beta": beta, "gamma": gamma})
    encoded = model.encode(TEXT)
    n = len(encoded)
    assert encoded.tags is not None
    for i, (tag, token) in enumerate(zip(encoded.tags.tolist(), encoded.ids.tolist(), strict=True)):
        parts: dict[str, list[float]] = {"sinusoid": [], "recency": [], "tag": []}
        for c in range(8):
            angle = i / 10000 ** ((c // 2 * 2) / 8)
            parts["sinusoid"].append(alpha * (math.sin(angle) if c % 2 == 0 else math.cos(angle)))
            parts["recency"].append(beta * (math.sin(math.pi * i / n) if c % 2 == 0 else math.cos(math.pi * i / n)))
            parts["tag"].append(gamma * float(aware.tags.weight[tag, c]))  # type: ignore[union-attr, index]
        for name, values in parts.items():
            assert lengths.parts[name][i] == pytest.approx(math.hypot(*values), abs=1e-5)
        assert lengths.total[i] == pytest.approx(math.hypot(*(sum(each) for each in zip(*parts.values(), strict=True))), abs=1e-5)
        word = [float(value) * math.sqrt(8) for value in network.table[token]]
        assert lengths.word[i] == pytest.approx(math.hypot(*word), abs=1e-4)
    assert lengths.parts["sinusoid"][0] == pytest.approx(abs(alpha) * 2, abs=1e-5)


def test_positions_of_one_piece_say_so() -> None:
    model = small_model(max_length=48)
    with pytest.raises(InputError, match="toy/random has only one position signal"):
        signals(model, seen(model))


# ---- figures


def drawn(name: str, trace: Trace, model: Model | None = None) -> Figure:
    """Return a figure of a trace, of a run with our tagger."""
    run = stub(capabilities=stub(tags=True), config={"tagger": {"version": Tagger.load().version}})
    return figure_of(name, stub(trace=trace, model=model, run=run))


def test_the_cells_are_the_gates(model: Model) -> None:
    """Each token and layer has a cell coloured by its gate; the frame has tags and forced gates."""
    trace = seen(model, gates_shut=[4])
    figure = drawn("gates", trace)
    n, values = len(trace.tokens), gates(trace)
    table = figure.frame.pivot(index="layer", columns="place", values="gate").to_numpy()
    np.testing.assert_allclose(table, values, atol=1e-6)
    bars = figure.plot.data[0]
    assert len(bars.marker.color) == 3 * n
    shut = [i for i in range(3 * n) if i // 3 == 4]
    assert {bars.marker.color[i] for i in shut} == {"#f1f4f9"} and all(bars.marker.line.width[i] for i in shut)
    assert sum(bars.marker.line.width) == 1.5 * 3
    assert "● 1 shut" in figure.caption and "english-1" in figure.caption
    row = figure.frame[figure.frame["place"] == 3].iloc[0]
    assert (row["token"], row["tag"], row["forced"]) == ("warm", "ADJ", "")
    assert "warm" in figure.plot.layout.annotations[3].text and "ADJ" in figure.plot.layout.annotations[3].text


def test_a_long_text_goes_on_in_lines_and_says_what_is_left_out() -> None:
    model = gated_model(max_length=200)
    figure = drawn("gates", seen(model, "warm song " * 90))
    assert "The first 120 of 182 tokens are shown." in figure.caption
    assert len(figure.plot.data[0].base) == 120 * 3 and len(figure.frame) == 182 * 3
    assert len(set(figure.plot.data[0].y)) == 6 * 3
    assert max(figure.plot.data[0].base) < 20
    narrow = replace(figure, look=Look("light", 390)).plot.data[0]
    assert max(narrow.base) < 390 / 24 and len(set(narrow.y)) == 10 * 3


def test_what_a_visitor_typed_is_text_in_both_figures(model: Model) -> None:
    trace = seen(model, "<b>warm</b> $x$ &amp; 영화는")
    for figure in (drawn("gates", trace), drawn("positions", trace, model)):
        assert "<b>" not in figure.plot.to_json().replace("\\u003c", "<")


def test_a_model_that_reads_no_tags_names_no_tagger() -> None:
    model = gated_model(positions="sinusoid")
    assert not seen(model).tags
    figure = drawn("gates", seen(model))
    assert "english-1" not in figure.caption and set(figure.frame["tag"]) == {""}


@pytest.mark.slow
@pytest.mark.parametrize("text", ["?!", "...", "😀", "영화는 차갑다", "a" * 100_000, "warm song " * 10_000])
@pytest.mark.exhaustive
def test_odd_texts_have_gates_and_positions(model: Model, text: str) -> None:
    """Texts without words, in another script, and of 100,000 characters have a cell per read token."""
    trace = seen(model, text)
    assert len(drawn("gates", trace).frame) == 3 * len(trace.tokens)
    assert set(drawn("positions", trace, model).frame["part"]) == {"sinusoid", "recency", "tag", "sum", "word"}


# ---- sentences


def test_a_tagger_says_how_often_it_is_right() -> None:
    assert "english-1" in describe_tagger(Tagger.load().version) and "93.4\u00a0% of 21,885 words" in describe_tagger(Tagger.load().version)
    assert "own-2" in describe_tagger("own-2") and "%" not in describe_tagger("own-2")


@pytest.mark.exhaustive
def test_remarks_name_forced_gates_and_another_language(gated_runs: Path) -> None:
    run = Run.open(gated_runs / "toy/sentiformer", "toy/sentiformer")
    model = load(run)
    text = " ".join(sentence for _, sentence in notices(model.trace(TEXT, gates_shut=[3, 4], gates_open=[1]), run))
    assert "the gate of “warm” (4), “garden” (5) is shut in every layer." in text
    assert "the gate of “What” (2) is open in every layer." in text and "only English" not in text
    german = notices(model.trace("Niemand versteht, warum der Zug schon wieder zu spät kommt."), run)
    assert [each for kind, each in german if kind == "unknown" and "only English: it knows 1 of these 8 words" in each]
    korean = " ".join(each for _, each in notices(model.trace("영화는 차갑다"), run))
    assert "its tagger knows only English: 2 of these 2 tokens have no tag" in korean


@pytest.mark.exhaustive
def test_notebooks_and_the_command_line_take_gates(gated_runs: Path, tmp_path: Path) -> None:
    """Tokens are counted from 0 in Python and from 1 in the command, and both draw the same numbers."""
    run = str(gated_runs / "toy/sentiformer")
    drawn = draw(run, "gates", text=TEXT, gates_shut=[3], gates_open=[1])
    assert "This is an intervention" in drawn.source
    assert str(code(run, "gates", text=TEXT, gates_shut=(3,))).count("gates_shut=(3,)") == 1
    out = tmp_path / "gates.csv"
    arguments = ["export", run, "gates", "--text", TEXT, "-O", "gates_shut=4", "-O", "gates_open=2", "-o", str(out)]
    assert (result := CliRunner().invoke(main, arguments)).exit_code == 0, result.output
    import pandas as pd

    written = pd.read_csv(out, encoding="utf-8-sig")
    np.testing.assert_allclose(written["gate"], drawn.frame["gate"], atol=1e-6)
    for value in ("x", "0x3", "1,,2", "-1", "0"):
        refused = CliRunner().invoke(main, [*arguments, "-O", f"gates_shut={value}"])
        assert refused.exit_code and "gates_shut must be a number from 1, or several joined by commas" in refused.output
    assert "There is no token 99" in CliRunner().invoke(main, [*arguments, "-O", "gates_shut=99"]).output


@pytest.mark.exhaustive
def test_runs_without_gates_or_signals_are_refused_in_a_sentence(gated_runs: Path, tiny_run: Path) -> None:
    with pytest.raises(InputError, match=r"has no gates\. Runs of the preset sentiformer have gates"):
        draw(str(tiny_run), "gates")
    with pytest.raises(InputError, match="has no gates to open or shut"):
        draw(str(tiny_run), "strip", gates_shut=[1])
    with pytest.raises(InputError, match="have only one part"):
        draw(str(gated_runs / "toy/sentiformer-sinusoid"), "positions")
    assert not draw(str(gated_runs / "toy/sentiformer-sinusoid"), "gates").frame.empty


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_damaged_table_of_tags_is_one_sentence(gated_runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "toy" / "sentiformer"
    shutil.copytree(gated_runs / "toy/sentiformer", folder)
    (folder / "tagger.json.gz").write_bytes(ENGLISH.read_bytes()[:-9])
    with pytest.raises(RunError, match=r"tagger.json.gz is damaged or was replaced"):
        load(Run.open(folder, "toy/sentiformer"))
