"""Patching between two sentences against plain loops and forward hooks, and the sentences on what cannot be patched."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

from sentviz.analysis.causal.direct import direct_attribution
from sentviz.analysis.causal.patching import Pair, patch
from sentviz.analysis.explain import explained, score
from sentviz.charts.gallery import draw
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.io.numbers import percent
from sentviz.models.baselines import Convolutional
from sentviz.models.model import Model
from sentviz.runs.configs import ConvolutionalConfig
from sentviz.runs.intervention import Edit, Intervention, Taken
from sentviz.runs.target import Target, log_odds
from tests.kit import gated_model, hook, random_model, small_model
from tests.shipped import often
from tests.slow import direct_streams

A, B = "a warm garden and a dull song , but a clever town", "a cold garden and a clever song , and a dull soup"
LONGER = "a warm garden and never a dull song , but a clever town"
NDT: dict[str, Any] = {"components": 2, "mixing": "unit", "layers": 3}
MODELS = {
    "ndt": small_model(1, **NDT),
    "post-norm": small_model(2, **NDT, norm_first=False, norm="layer", ffn="gelu", pooling="cls", cls=True),
    "differential": small_model(3, components=2, mixing="differential", head_norm=True),
    "gated": gated_model(4),
}
MORE = {
    "pooler": small_model(5, norm_first=False, norm="layer", ffn="gelu", pooling="cls", cls=True, head="tanh", layers=3),
    "three classes": small_model(6, labels=("bad", "mixed", "good"), norm_first=True, norm="layer", ffn="relu", head="gelu"),
}


def seen(model: Model, text: str, module: nn.Module, *, before: bool = False) -> Tensor:
    inputs: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        inputs.append(x[0])
        return x

    with hook(module, keep, before=before):
        model.trace(text)
    return inputs[0]


def place(model: Model, what: str, layer: int, head: int) -> tuple[nn.Module, bool, slice]:
    """Return the module that has a quantity, whether it is its input, and the numbers of a head."""
    block: Any = model.network.blocks[layer]  # type: ignore[union-attr]
    size = model.config.width // model.capabilities.heads
    mine = slice(head * size, (head + 1) * size)
    match what:
        case "state":
            return block, True, slice(None)
        case "feedforward":
            return block.ffn, False, slice(None)
        case "head":
            return block.attention.output, True, mine
        case _:
            start = sum(block.attention.widths[:2])
            return block.attention.project, False, slice(start + mine.start, start + mine.stop)


def by_hooks(pair: Pair, what: str, layer: int, head: int, tokens: list[int]) -> float:
    """Return the share of one cell: a pass of the complete model with a hook."""
    module, before, size = place(pair.model, what, layer, head)
    theirs = seen(pair.model, pair.second.text, module, before=before)

    def change(x: Tensor) -> Tensor:
        for i in tokens:
            x[0, i, size] = theirs[pair.partners[i], size]
        return x

    with hook(module, change, before=before):
        logits = pair.model.trace(pair.first.text).logits
    return float((log_odds(logits, *pair.target) - pair.start) / (pair.goal - pair.start))


@pytest.mark.parametrize("name", often(MODELS, "differential"))
@pytest.mark.parametrize("second", [B, LONGER], ids=["same length", "longer"])
def test_cells_are_those_of_plain_hooks(name: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = patch(MODELS[name], A, second)
    monkeypatch.setattr("sentviz.models.batches.TOKENS_PER_BATCH", 3 * len(pair.first.tokens))
    aligned, scale = [i for i, j in enumerate(pair.partners) if j is not None], pair.goal - pair.start
    for what in ("state", "feedforward", "head", "value"):
        for tokens in (True, False) if what in ("head", "value") else (True,):
            result = pair.map(what, tokens=tokens, exact=True)
            assert result.exact.sum() == np.isfinite(result.share).sum()
            for at in [at for at in np.ndindex(result.share.shape) if at[0] < pair.model.capabilities.layers][:: 13 if tokens else 1]:
                if tokens and at[-1] not in aligned:
                    assert np.isnan(result.share[at])
                    continue
                of = [at[-1]] if tokens else aligned
                wanted = by_hooks(pair, what, at[0], at[1] if what in ("head", "value") else 0, of)
                assert result.share[at] * scale == pytest.approx(wanted * scale, abs=1e-5), (what, at)
            assert np.nanmax(np.abs(result.share)) > 1e-3


def test_components_and_residuals_are_those_of_a_slow_layer() -> None:
    model = MODELS["ndt"]
    pair = patch(model, A, B)
    mine, theirs = (model.trace(text, projections=True) for text in (A, B))
    result, scale = pair.map("component", tokens=True), pair.goal - pair.start
    residual = pair.map("residual")
    for layer, component, token in [(0, 0, 2), (1, 1, 5), (2, 0, 7)]:
        outputs = np.zeros((len(mine.tokens), model.config.width), dtype=np.float32)
        for i in range(len(mine.tokens)):
            for h in range(2):
                for c in range(2):
                    source = theirs if (i, c) == (token, component) else mine
                    row = sum(source.components[layer, c, h, i, j] * source.values[layer, h, j] for j in range(len(mine.tokens)))
                    outputs[i, 4 * h : 4 * h + 4] += mine.lambdas[layer, c] * row
        with hook(model.network.blocks[layer].attention.output, lambda x, new=outputs: torch.from_numpy(new)[None], before=True):
            logits = model.trace(A).logits
        assert result.share[layer, component, token] * scale == pytest.approx(log_odds(logits, *pair.target) - pair.start, abs=1e-5)
        block: Any = model.network.blocks[layer]
        at_ffn = [seen(model, text, block.ffn_norm, before=True) for text in (A, B)]

        def out(x: Tensor, block: Any = block, at_ffn: list[Tensor] = at_ffn, token: int = token) -> Tensor:
            new = at_ffn[1][token]
            x[0, token] = new + block.ffn(block.ffn_norm(new))
            return x

        handle = block.register_forward_hook(lambda _, args, got, out=out: (out(got[0].clone()), got[1]))
        logits = model.trace(A).logits
        handle.remove()
        assert residual.share[layer, token] * scale == pytest.approx(log_odds(logits, *pair.target) - pair.start, abs=1e-5)


def test_all_states_bring_the_complete_answer_and_none_brings_nothing() -> None:
    pair = patch(MODELS["ndt"], A, B)
    edits = [pair.edit("state", (2, i)) for i in range(len(pair.first.tokens))]
    assert pair.joint(edits).share == pytest.approx(1, abs=1e-4)
    np.testing.assert_allclose(pair.model.trace(A, change=pair.intervention(edits).text()).logits, pair.second.logits, atol=1e-5)
    same = [a == b for a, b in zip(pair.first.tokens, pair.second.tokens, strict=True)]
    assert not pair.map("state").share[0][same].any()
    assert [pair.reverse().share(trace.logits) for trace in (pair.first, pair.second)] == pytest.approx([1, 0])
    first, whole = pair.map("head", tokens=True).share, pair.map("head").share
    joint = pair.joint([pair.edit("head", at) for at in ((0, 0, 2), (1, 1, 5))])
    np.testing.assert_allclose(joint.singles, [first[0, 0, 2], first[1, 1, 5]], atol=2e-5)
    assert joint.total == pytest.approx(sum(joint.singles)) and sum(joint.probabilities) == pytest.approx(1)
    sentence, edit = pair.strongest()
    layer, head, token = edit.at
    assert first[edit.at] == np.nanmax(first) and pair.first.tokens[token] in sentence
    assert f"ead {head + 1} of layer {layer + 1}" in sentence
    assert f"{percent(first[edit.at], 0)} of the difference" in sentence and sentence.endswith(f"{percent(whole[layer, head], 0)}.")


def slope(pair: Pair) -> float:
    """Return how fast the share moves with the second head of the second layer at one token, from two passes of the complete model."""
    network: Any = pair.model.network.double()
    try:
        mine, theirs = (seen(pair.model, text, network.blocks[1].attention.output, before=True) for text in (A, B))
        odds = []
        for sign in (-1e-3, 1e-3):
            moved = mine.clone()
            moved[5, 4:] += sign * (theirs[5, 4:] - mine[5, 4:])
            with hook(network.blocks[1].attention.output, lambda x, new=moved: new[None], before=True):
                odds.append(float(log_odds(pair.model.trace(A).logits, *pair.target)))
    finally:
        network.float()
    return (odds[1] - odds[0]) / 2e-3 / (pair.goal - pair.start)


def test_estimates_are_the_slope_and_order_the_exact_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = patch(MODELS["ndt"], A, B)
    exact, result = pair.map("head", tokens=True, exact=True), pair.map("head", tokens=True, exact=False)
    assert result.exact.sum() == 20 and result.estimate is not None and not exact.agreement and not exact.note
    np.testing.assert_allclose(result.share[result.exact], exact.share[result.exact], atol=1e-6)
    ranks = [np.argsort(np.argsort(x[result.exact])) for x in (result.estimate, exact.share)]
    assert result.agreement == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-6)
    assert result.estimate[1, 1, 5] == pytest.approx(slope(pair), rel=1e-2)
    for target in (Target("bad"), Target("bad", "good")):
        of_three = patch(MORE["three classes"], MORE["three classes"].trace(A).for_target(target), B)
        estimate = of_three.map("head", tokens=True, exact=False).estimate
        assert estimate is not None and estimate[1, 1, 5] == pytest.approx(slope(of_three), rel=1e-2)
    assert exact.frame.set_index(["layer", "head", "token"]).loc[(1, 1, 5), "share"] == exact.share[1, 1, 5]
    monkeypatch.setattr("sentviz.analysis.causal.patching.WORK", 1)
    assert "estimated by one gradient; the 20 largest are exact" in pair.map("head", tokens=True).note


def test_tokens_are_aligned_and_what_cannot_be_patched_is_said() -> None:
    model = MODELS["ndt"]
    pair = patch(model, LONGER, A)
    new = pair.first.tokens.index("never")
    assert pair.partners[new] is None and "“never”" in pair.notes()[0] and "“never”" in pair.reverse().notes()[0]
    with pytest.raises(InputError, match="has no partner"):
        pair.edit("head", (0, 0, new))
    assert patch(model, LONGER, A, partners={new: 0}).edit("head", (0, 0, new)) == Edit("head", (0, 0, new), to=Taken(0))
    assert patch(model, LONGER, A, partners={0: None}).partners[0] is None
    with pytest.raises(InputError, match="no such token"):
        patch(model, LONGER, A, partners={0: 99})
    model = MODELS["ndt"]
    cnn = Convolutional(ConvolutionalConfig(model.tokenizer.vocab_size, 2, filters=4)).eval()
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: patch(model, A, A), "Both sentences are the same"),
        (lambda: patch(model, "", B), "The text is empty"),
        (lambda: patch(model, A, "  "), "The text is empty"),
        (lambda: patch(random_model(5), A, B), "needs a transformer"),
        (lambda: patch(Model("toy/cnn", cnn, model.tokenizer, model.labels), A, B), "needs a transformer"),
        (lambda: patch(model, A, MODELS["gated"].trace(B)), "the states of two runs"),
        (lambda: patch(model, A, model.trace(B, change="head:1.1=0")), "different changes"),
        (lambda: patch(model, "soup unseenword", "soup otherunseen"), "no difference to bring over"),
        (lambda: patch(MODELS["gated"], A, B).map("component"), "no component to replace"),
        (lambda: patch(model, A, B).joint([]), "at least one cell"),
    ]
    for call, reason in cases:
        with pytest.raises(InputError, match=reason):
            call()
    assert patch(model, "warm", "dull").map("state").share[0, 0] == pytest.approx(1, abs=1e-5)


def test_interventions_take_vectors_of_another_text_and_silenced_heads_add_nothing() -> None:
    model = MODELS["ndt"]
    change = Intervention((Edit("head", (0, 1, 2), to=Taken(4)), Edit("state", (2, 0), to=0.5)), ("soup ~ 정원=a%", None))
    pairs = Intervention((Edit("value", (0, 1, 2), to=Taken(0)),), ("one", "two~"))
    assert [Intervention.parse(each.text()) for each in (change, pairs)] == [change, pairs]
    assert change.with_(Edit("head", (1, 1))).donor == change.donor and change.without("head").donor is None
    assert "vectors of the text “soup" in change.sentences(model.trace(A).tokens)[0]
    for text, reason in (
        ("head:1.2.3=@5", "which is missing"),
        ("head:1.2.3=@5~donor:1=soup", "the other text has 1 tokens"),
        ("head:4.1.1=0", "no layer 4; here they go from 1 to 3"),
        *((text, "only the vector of one token") for text in ("head:1.2=@1", "gate:3=@1", "term:gate=@1", "lambda:1.2=@1")),
    ):
        with pytest.raises(InputError, match=reason):
            model.trace(A, change=text)
    silent = model.trace(A, change="~".join(f"head:1.2.{i + 1}=0" for i in range(len(model.trace(A).tokens))))
    np.testing.assert_allclose(silent.logits, model.trace(A, change="head:1.2=0").logits, atol=1e-6)
    with hook(model.network.blocks[1].ffn, lambda x: torch.full_like(x, 0.25)):  # type: ignore[union-attr]
        wanted = model.trace(A).logits
    np.testing.assert_allclose(model.trace(A, change="feedforward:2=0.25").logits, wanted, atol=1e-6)
    model = MODELS["ndt"]
    trace = model.trace(A, change="head:1.2=0")
    sums = direct_attribution(model, trace)
    assert not sums.heads[0, 1] and sums.heads[0, 0] and abs(sums.rest) < 1e-4
    negated = direct_attribution(model, replace(trace, target=Target(sums.against)))
    np.testing.assert_allclose(negated.read, -sums.read, atol=1e-6)
    with pytest.raises(InputError, match="needs a transformer"):
        direct_attribution(random_model(5), random_model(5).trace(A))


def test_the_command_refuses_and_the_figure_has_the_parts_of_the_bars(tiny_run: Path) -> None:
    arguments = ["patch", str(tiny_run), "a warm garden", "a dull garden"]
    for wrong, reason in ((["--cell", "head:9.1.1"], "no layer 9"), (["--align", "x"], "Write --align"), (["--align", "9=9"], "no such")):
        refused = CliRunner().invoke(main, [*arguments, *wrong])
        assert refused.exit_code and reason in refused.output
    done = CliRunner().invoke(main, [*arguments, "--cell", "state:0.3", "--cell", "head:1.2.3"])
    assert not done.exit_code and "Together" in done.output
    bars, heads, tokens = (draw(str(tiny_run), "attribution-direct", text="a warm garden", by=by).frame for by in ("part", "head", "token"))
    of_heads, biases = (bars["part"].str.contains(name) for name in ("heads$", "bias"))
    assert heads["log_odds"].sum() == pytest.approx(bars["value"][of_heads].sum(), abs=1e-5)
    assert tokens["log_odds"].sum() == pytest.approx(bars["value"][~biases].sum(), abs=1e-5)


@pytest.mark.parametrize("name", [*MODELS, *MORE])
def test_contributions_are_those_of_streams_followed_in_loops(name: str) -> None:
    model = (MODELS | MORE)[name]
    trace, feedforward = model.trace(A, projections=True), []
    for block in model.network.blocks:  # type: ignore[union-attr]
        with hook(block.ffn, lambda x: (feedforward.append(x[0].numpy().astype(np.float64)), x)[1]):
            model.trace(A)
    sums = direct_attribution(model, trace)
    k = int(trace.logits.argmax())
    j = int(np.argsort(-trace.logits)[1])
    assert (sums.label, sums.against) == (trace.labels[k], trace.labels[j])
    wanted = direct_streams(model.network, trace, feedforward, k, j)
    np.testing.assert_allclose(sums.embedding, wanted["embedding"], atol=1e-4)
    np.testing.assert_allclose(sums.read, wanted["heads"], atol=1e-4)
    np.testing.assert_allclose(sums.feedforward, wanted["feedforward"], atol=1e-4)
    assert sums.norms == pytest.approx(wanted["norms"], abs=1e-4) and sums.biases == pytest.approx(wanted["biases"], abs=1e-4)
    assert sums.total == pytest.approx(trace.logits[k] - trace.logits[j], abs=1e-4) and abs(sums.rest) < 1e-4
    np.testing.assert_allclose(sums.written.sum(axis=3), sums.read.sum(axis=3), atol=1e-4)
    assert sums.frame["value"].sum() == pytest.approx(sums.total, abs=1e-4)
    assert sums.lens[-1] == pytest.approx(sums.total, abs=1e-4) and len(sums.lens) == model.capabilities.layers + 1
    assert np.abs(sums.read).max() > 0.01 and (model.cls or np.abs(sums.written[..., 1:]).max() > 0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_needs_gradients_makes_them_itself(mode: Callable[[], AbstractContextManager[Any]]) -> None:
    model, names = MODELS["differential"], ("gradient", "integrated-gradients")

    def numbers() -> list[Any]:
        trace = explained(model, model.trace(A, projections=True), names)
        shares = patch(model, model.trace(A), model.trace(B)).map("state", exact=False).estimate
        return [*(score(trace, name) for name in names), direct_attribution(model, trace).read, shares]

    outside = numbers()
    with mode():
        inside = numbers()
    for ours, wanted in zip(inside, outside, strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-6)
