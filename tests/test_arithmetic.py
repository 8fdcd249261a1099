"""One cell's arithmetic and one token's way from lexicon to attention, against the slow encoder's loops and the definition."""

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from sentviz.analysis.maps.arithmetic import cell, plain
from sentviz.analysis.maps.injection import described, entries_of, reached, row
from sentviz.data.lexicon import Lexicon
from sentviz.data.tokenizers import Tokenizer
from sentviz.errors import InputError
from sentviz.models.model import Model
from sentviz.runs.configs import EncoderConfig, HardmaxConfig
from sentviz.runs.presets import injections
from tests import injected, slow
from tests.charts import figure_of, stub
from tests.injected import TERMS, random_model
from tests.kit import refused, small_model

TEXT = "what a bright , warm song we saw ! I say"
FORMS: dict[str, dict[str, Any]] = {
    "vanilla": {"positions": "sinusoid", "norm": "layer", "norm_first": False, "ffn": "relu"},
    "ndt-3": {"components": 3, "mixing": "symmetric"},
    "diff": {"components": 2, "mixing": "differential", "head_norm": True, "lambda_std": 0.1},
    "gate and window": {"gate": True, "window": 4, "global_tokens": (0, -2, -30)},
    "rope, qk-norm": {"positions": "rotary", "qk_norm": True, "components": 2, "mixing": "unit"},
    "add": {"lexicon": "add", "lexicon_heads": "last", "gate": True},
    "multiply, last": {"lexicon": "multiply", "lexicon_heads": "last", "components": 2, "mixing": "free"},
}
CELLS = [(0, 0, 3, 2), (1, 1, 0, 9), (1, 0, 6, 6), (0, 1, 4, 10)]


def model_of_form(name: str, patch: pytest.MonkeyPatch) -> tuple[Model, np.ndarray, slow.Seen]:
    """Return a model of a form, with random polarities if it has a lexicon, and the slow encoder's view of the text."""
    model = small_model(2, **FORMS[name])
    encoder, ids = model.network, model.encode(TEXT).ids
    polarity = np.random.default_rng(1).dirichlet([1.0] * 3, size=len(ids))
    forward = encoder.forward
    fed = torch.tensor(polarity, dtype=torch.float32)[None]
    patch.setattr(encoder, "forward", lambda batch, *rest: forward(replace(batch, polarity=fed), *rest))
    return model, polarity, slow.encode(slow.state_of(encoder), encoder.config, ids.tolist(), polarity=polarity)


@pytest.mark.parametrize("name", FORMS)
def test_every_number_is_the_formulas(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, polarity, seen = model_of_form(name, monkeypatch)
    config = model.config
    for layer, head, query, key in CELLS:
        got = cell(model, TEXT, layer, head, query, key)
        assert got.attention == pytest.approx(seen.effective[layer][head, query, key], abs=1e-5)
        assert [part.weight for part in got.parts] == pytest.approx(seen.lambdas[layer], abs=1e-5)
        assert sum(part.weight * part.attention for part in got.parts) == pytest.approx(got.attention, abs=1e-6)
        visible = seen.components[layer][0, head, query] > 0
        assert (got.seen == visible).all()
        for part in got.parts:
            scores = seen.scores[layer][part.place, head, query]
            assert part.score == pytest.approx(scores[key], abs=2e-5)
            assert part.attention == pytest.approx(seen.components[layer][part.place, head, query, key], abs=1e-5)
            assert part.top == np.where(visible, scores, -np.inf).argmax()
            assert part.total == pytest.approx(np.exp(scores[visible] - scores[visible].max()).sum(), rel=1e-4)
            assert part.scaled == pytest.approx(part.product * got.scale)
            factor = 1.0 if part.factor is None else part.factor
            assert part.scaled * factor + sum(part.biases.values()) == pytest.approx(part.score, abs=1e-5)
            if config.lexicon == "multiply":
                sigma = float(polarity[query] @ polarity[key]) if config.lexicon_heads == "all" or head == 1 else 1.0
                assert factor == pytest.approx(sigma, abs=1e-3)
            if config.lexicon == "add":
                sigma = float(polarity[query] @ polarity[key]) if head == 1 else 0.0
                assert part.biases["lexicon"] == pytest.approx(sigma, abs=1e-5)
            assert ("gate" in part.biases) == config.gate


@pytest.mark.parametrize("name", ["diff", "gate and window"])
def test_the_row_is_a_smoother(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel values normalised are A, times the values they sum to the head's output, and shares sum to 1 (SentiFormer, Definition 1)."""
    model, _, _ = model_of_form(name, monkeypatch)
    trace = model.trace(TEXT, projections=True, scores=True)
    assert trace.values is not None and trace.attention is not None and trace.scores is not None
    for layer, head, query, key in CELLS:
        got = cell(model, trace, layer, head, query, key)
        frame, values, weights = got.smoother(), trace.values[layer, head].astype(float), trace.attention[layer, head, query]
        out = sum(weights[j] * values[j] for j in range(len(values)))
        np.testing.assert_allclose(got.output, out, atol=1e-5)
        for part in got.parts:
            kernel = frame[f"kernel_a{part.place + 1}"]
            np.testing.assert_allclose(kernel / kernel.sum(), frame[f"attention_a{part.place + 1}"], atol=1e-5)
            j, raw = int(got.seen.argmax()), np.exp(trace.scores[layer, part.place, head, query].astype(float))
            assert kernel[j] == pytest.approx(raw[j] / raw[got.seen].max(), rel=1e-4)
        for j, moved in enumerate(weights[:, None] * values):
            assert frame["contribution"][j] == pytest.approx(np.sqrt((moved**2).sum()), abs=1e-5)
            assert frame["along"][j] == pytest.approx(moved @ out / (out @ out), abs=1e-4)
        assert frame["share"].sum() == pytest.approx(1) and frame["along"].sum() == pytest.approx(1)


def test_traces_texts_and_numbers_are_read_alike() -> None:
    model = small_model(components=2, mixing="free")
    rich, changed = model.trace(TEXT, scores=True, projections=True), model.trace(TEXT, lambdas=[[1, -0.7], [1, 0.4]])
    same = [cell(model, source, 1, 0, 2, 5) for source in (TEXT, model.trace(TEXT), rich, model.trace(TEXT, heads=(1,), components=(1,)))]
    assert all(got.attention == pytest.approx(same[0].attention, abs=1e-6) and got.steps() == same[0].steps() for got in same)
    for got in (cell(model, changed, 1, 0, 2, 5), cell(model, rich, 1, 0, 2, 5, change=changed.change)):
        assert got.attention == pytest.approx(float(changed.map(1, 0)[2, 5]), abs=1e-6) and got.parts[1].weight == pytest.approx(0.4)
    for at in ((9, 0, 0, 0), (0, 9, 0, 0), (0, 0, 99, 0), (0, 0, 0, 99), (0, 0, 0, -1)):
        refused(InputError, ".", cell, model, TEXT, *at)
    values = {0: "0", 1.27: "1.270", -0.5: "−0.500", 0.00031: "0.00031", 2e-7: "2.0e−7", -4e-5: "−0.00004", 0.001: "0.001"}
    assert {value: plain(value) for value in values} == values


def numbers(line: str) -> list[float]:
    return [float(x.replace("−", "-")) for x in re.findall(r"−?\d+\.?\d*(?:e[−+]\d+)?", line)]


@pytest.mark.parametrize("name", ["diff", "rope, qk-norm", "gate and window", "multiply, last"])
def test_the_lines_can_be_checked_by_hand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each printed number follows from the line before, within the rounding of the printed digits; a hidden key has no softmax step."""
    model, _, _ = model_of_form(name, monkeypatch)
    got = cell(model, TEXT, 0, 1, 4, 4)
    part, lines, low = got.parts[0], got.component_steps(0), "₁" if len(got.parts) > 1 else ""
    assert lines[0].startswith(f"cos(q{low}, k{low})" if got.cosine else f"q{low}·k{low}")
    assert numbers(lines[0])[-1] == pytest.approx(part.product, abs=6e-4)
    assert lines[1].endswith(plain(part.scaled)) and ("temperature" in lines[1] if got.cosine else f"√{got.key_size}" in lines[1])
    assert f"S{low} = {plain(part.score)}" in lines
    assert lines[-1].startswith(f"exp({plain(part.score)}") and lines[-1].endswith(f"A{low} = {plain(part.attention)}")
    assert np.exp(part.score - part.top_score) / numbers(lines[-1])[-2] == pytest.approx(part.attention, rel=5e-3)
    total = got.sum_steps()[0]
    assert total.endswith(plain(got.attention)) if len(got.parts) > 1 else "as it is" in total
    assert any("root mean square" in line for line in got.sum_steps()) == (name == "diff")
    assert got.frame.query("component == -1")["value"].item() == got.attention
    if name == "gate and window":
        hidden = cell(model, TEXT, 0, 0, 5, 1)
        assert not hidden.seen[1] and hidden.attention == 0 and "outside the window of 4 tokens" in hidden.component_steps(0)[-1]
        assert "the 7 of 11 visible keys" in cell(model, TEXT, 0, 0, 5, 6).component_steps(0)[-2]


MIXED = {"components": 2, "mixing": "unit"}


def softmax(values: Any) -> Any:
    powers = np.exp(np.asarray(values, dtype=float) - np.max(values))
    return powers / powers.sum()


def sigma_by_hand(polarity: Any, i: int) -> list[float]:
    return [sum(float(polarity[i, side]) * float(polarity[j, side]) for side in range(3)) for j in range(len(polarity))]


@pytest.mark.parametrize(("strength", "more"), [(2.5, {}), (-0.5, MIXED)], ids=["one map", "two maps"])
@pytest.mark.parametrize("injection", injections())
def test_every_number_of_a_row_follows_from_the_definition(injection: str, strength: float, more: dict[str, Any]) -> None:
    model = random_model(**injections()[injection], **more)
    whole, plain = (model.trace(injected.TEXT, scores=True, strength=each) for each in (strength, 0))
    heads, size, token, component = model.config.heads, model.config.key_size, 4, 1 if more else 0
    similar = sigma_by_hand(whole.polarity, token)
    for layer in range(2):
        for head in range(heads):
            computed = row(model, whole, layer, head, token, component)
            gets = strength if head == heads - 1 or not injection.startswith("last") else 0.0
            if injection == "xia":
                wanted = [gets * s + 1 - gets for s in similar]
                total = computed.plain * wanted
            else:
                wanted = [gets * s / (math.sqrt(size) if injection.endswith("scaled") else 1.0) for s in similar]
                total = computed.plain + wanted
                np.testing.assert_allclose(whole.biases["lexicon"][layer, component, head, token], wanted, atol=1e-6)
            for got, want in (
                (computed.sigma, similar),
                (computed.injected, wanted),
                (computed.scores, total),
                (computed.scores, whole.scores[layer, component, head, token]),
                (computed.after, softmax(computed.scores)),
                (computed.after, whole.components[layer, component, head, token]),
                (computed.before, plain.components[layer, component, head, token]),
            ):
                np.testing.assert_allclose(got, want, atol=1e-5)
            if not layer:  # the same Q and K before and after
                np.testing.assert_allclose(computed.plain, plain.scores[layer, component, head, token], atol=1e-5)


def test_rows_need_a_lexicon_and_entries_make_its_table() -> None:
    model = random_model()
    trace = model.trace(injected.TEXT)
    refused(InputError, "no lexicon", row, model, trace.replace(polarity=None), 0, 0, 0)
    for place in ((9, 0, 0), (0, 9, 0), (0, 0, 99)):
        refused(InputError, "There is no", row, model, trace, *place)
    trace = model.trace(f"{injected.TEXT} {injected.TEXT} the end")
    computed = row(model, trace, 0, 1, 6)
    figure = figure_of("lexicon-attention", stub(trace=trace, once=lambda key, compute: computed), head=1, token=6)
    assert len(figure.frame) == len(computed.tokens) > 20 and 14 <= figure.frame["shown"].sum() <= 15 and "most attention" in figure.caption
    base = EncoderConfig(9, 2, width=64, heads=4, lexicon="add")
    last = replace(base, lexicon_heads="last")
    assert [reached(config) for config in (base, last, replace(base, lexicon="none"), HardmaxConfig(9))] == [(0, 1, 2, 3), (3,), (), ()]
    assert described(replace(last, lexicon_scaled=True)) == "adds σ / √16 to the scores of the last head of every layer"
    assert described(replace(base, lexicon="multiply")) == "multiplies the scores of all heads of every layer by σ"
    lexicon = Lexicon.of("own", pd.DataFrame({"term": list(TERMS), "polarity": list(TERMS.values())}))
    tokenizer = Tokenizer.train_words([*TERMS, "a warm garden"], 1)
    table = lexicon.polarity(tokenizer)
    for token in range(4, tokenizer.vocab_size):
        entries = entries_of(lexicon, tokenizer, token)
        wanted = [term for term in TERMS if tokenizer.token_of(token) in term.split()]
        assert sorted(entries.frame["term"]) == sorted(wanted)
        np.testing.assert_allclose(entries.polarity, table[token], atol=1e-6)
        assert bool(wanted) == bool(entries.sums.any())
    warm = entries_of(lexicon, tokenizer, tokenizer.id_of("warm"))
    np.testing.assert_allclose(warm.sums, [1 + 3 / 3 + 1 + 2 / 3, 0, 0])
    np.testing.assert_allclose(warm.polarity, [(11 / 3 + 1) / (11 / 3 + 3), 1 / (11 / 3 + 3), 1 / (11 / 3 + 3)])
