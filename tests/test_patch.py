"""Patching between two sentences against plain loops and forward hooks, and the sentences on what cannot be patched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

from sentviz.analysis.causal.patching import Pair, patch
from sentviz.charts.patching import signed_map
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.io.numbers import percent
from sentviz.models.baselines import Convolutional
from sentviz.models.model import Model
from sentviz.runs.configs import ConvolutionalConfig
from sentviz.runs.intervention import Edit, Intervention, Taken
from sentviz.runs.target import log_odds
from tests.kit import gated_model, random_model, small_model
from tests.shipped import often

A, B = "a warm garden and a dull song , but a clever town", "a cold garden and a clever song , and a dull soup"
LONGER = "a warm garden and never a dull song , but a clever town"
NDT: dict[str, Any] = {"components": 2, "mixing": "unit", "layers": 3}
MODELS = {
    "ndt": small_model(1, **NDT),
    "post-norm": small_model(2, **NDT, norm_first=False, norm="layer", ffn="gelu", pooling="cls", cls=True),
    "differential": small_model(3, components=2, mixing="differential", head_norm=True),
    "gated": gated_model(4),
}


@contextmanager
def hook(module: nn.Module, change: Callable[[Tensor], Tensor], *, before: bool = False) -> Iterator[None]:
    """Change a copy of a module's first input, or of its output, for a while."""
    if before:
        handle = module.register_forward_pre_hook(lambda _, args: (change(args[0].clone()), *args[1:]))
    else:
        handle = module.register_forward_hook(lambda _, args, out: change(out.clone()))
    try:
        yield
    finally:
        handle.remove()


def seen(model: Model, text: str, module: nn.Module, *, before: bool = False) -> Tensor:
    """Return a module's first input or its output in a pass over a text, (n, ..)."""
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


@pytest.mark.slow
@pytest.mark.parametrize("name", often(MODELS, "differential"))
@pytest.mark.parametrize("second", [B, LONGER], ids=["same length", "longer"])
def test_cells_are_those_of_plain_hooks(name: str, second: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell of states, heads, values and feed-forward outputs equals a pass of its own with a forward hook, to 1e-5 log-odds."""
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
    """A replaced component's output is that of its map times V, added up in a loop; a replaced residual that of the block's two sums."""
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


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODELS)
def test_all_states_bring_the_complete_answer_and_none_brings_nothing(name: str) -> None:
    """All states of B at one depth give B's logits; cells without a difference bring exactly 0; the reverse pair exchanges both."""
    pair = patch(MODELS[name], A, B)
    for depth in range(pair.model.capabilities.layers + 1):
        edits = [pair.edit("state", (depth, i)) for i in range(len(pair.first.tokens))]
        assert pair.joint(edits).share == pytest.approx(1, abs=1e-4)
        trace = pair.model.trace(A, change=pair.intervention(edits).text())
        np.testing.assert_allclose(trace.logits, pair.second.logits, atol=1e-5)
    states = pair.map("state").share
    changed = [a != b for a, b in zip(pair.first.tokens, pair.second.tokens, strict=True)]
    if not pair.model.capabilities.tags:
        assert not states[0][~np.array(changed)].any()
    assert pair.reverse().share(pair.first.logits) == pytest.approx(1) and pair.reverse().share(pair.second.logits) == pytest.approx(0)
    first = pair.map("head", tokens=True)
    joint = pair.joint([pair.edit("head", at) for at in ((0, 0, 2), (1, 1, 5))])
    np.testing.assert_allclose(joint.singles, [first.share[0, 0, 2], first.share[1, 1, 5]], atol=2e-5)
    assert joint.total == pytest.approx(sum(joint.singles)) and sum(joint.probabilities) == pytest.approx(1)


@pytest.mark.slow
def test_estimates_are_the_slope_and_order_the_exact_cells() -> None:
    """An estimate is the finite difference along the cell's change, to 1 %; the best cells are exact, and their ranks are compared."""
    pair = patch(MODELS["ndt"], A, B)
    exact, result = pair.map("head", tokens=True, exact=True), pair.map("head", tokens=True, exact=False)
    assert result.exact.sum() == 20 and result.estimate is not None and not exact.agreement
    np.testing.assert_allclose(result.share[result.exact], exact.share[result.exact], atol=1e-6)
    assert result.agreement == pytest.approx(
        np.corrcoef(*(np.argsort(np.argsort(x[result.exact])) for x in (result.estimate, exact.share)))[0, 1], abs=1e-6
    )
    network: Any = MODELS["ndt"].network.double()
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
    assert result.estimate[1, 1, 5] == pytest.approx((odds[1] - odds[0]) / 2e-3 / (pair.goal - pair.start), rel=1e-2)
    assert exact.frame.set_index(["layer", "head", "token"]).loc[(1, 1, 5), "share"] == exact.share[1, 1, 5]


def test_tokens_are_aligned_by_edit_and_by_choice() -> None:
    """A new word has no partner and is named; a chosen partner replaces the automatic one."""
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


def test_the_strongest_head_is_said_in_one_sentence() -> None:
    pair = patch(MODELS["ndt"], A, B)
    sentence, edit = pair.strongest()
    share = np.nanmax(pair.map("head", tokens=True).share)
    assert f"{percent(share, 0)} of the difference comes over" in sentence and pair.joint([edit]).share == pytest.approx(share, abs=1e-5)
    whole = pair.map("head").share[edit.at[0], edit.at[1]]
    assert sentence.endswith(f"With the head's outputs at all words, {percent(whole, 0)}.")
    assert pair.first.tokens[edit.at[2]] in sentence and f"ead {edit.at[1] + 1} of layer {edit.at[0] + 1}" in sentence


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (A, A, "Both sentences are the same"),
        ("", B, "The text is empty"),
        (A, "  ", "The text is empty"),
    ],
)
def test_what_cannot_be_patched_is_said(first: str, second: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        patch(MODELS["ndt"], first, second)


def test_models_without_states_and_answers_without_difference_are_refused() -> None:
    """A model without states, traces of another run, a frozen answer, an unknown quantity: one sentence each. One token is enough."""
    model = MODELS["ndt"]
    cnn = Convolutional(ConvolutionalConfig(model.tokenizer.vocab_size, 2, filters=4)).eval()
    for without in (random_model(5), Model("toy/cnn", cnn, model.tokenizer, model.labels)):
        with pytest.raises(InputError, match="needs a transformer"):
            patch(without, A, B)
    with pytest.raises(InputError, match="the states of two runs"):
        patch(model, A, MODELS["gated"].trace(B))
    with pytest.raises(InputError, match="different changes"):
        patch(model, A, model.trace(B, change="head:1.1=0"))
    with pytest.raises(InputError, match="no difference to bring over"):
        patch(model, "soup unseenword", "soup otherunseen")
    with pytest.raises(InputError, match="no component to replace"):
        patch(MODELS["gated"], A, B).map("component")
    with pytest.raises(InputError, match="at least one cell"):
        patch(model, A, B).joint([])
    assert patch(model, "warm", "dull").map("state").share[0, 0] == pytest.approx(1, abs=1e-5)


@pytest.mark.exhaustive
def test_a_text_of_512_tokens_is_estimated_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most `BEST` cells of a large map are computed, the others are estimated, and one sentence says both."""
    model = small_model(1, **NDT | {"max_length": 512})
    words = (A.split() * 60)[:512]
    monkeypatch.setattr("sentviz.analysis.causal.patching.WORK", 1e6)
    pair = patch(model, " ".join(words), " ".join(["cold" if i % 3 else word for i, word in enumerate(words)]))
    result = pair.map("head", tokens=True)
    assert len(pair.first.tokens) == 512 and result.exact.sum() == 20
    assert "estimated by one gradient; the 20 largest are exact" in result.note
    assert not pair.map("head", exact=True).note


def test_interventions_take_vectors_of_another_text() -> None:
    """The text form keeps the other text with any characters; a missing text or token is one sentence; numbers replace vectors, too."""
    model = MODELS["ndt"]
    change = Intervention((Edit("head", (0, 1, 2), to=Taken(4)), Edit("state", (2, 0), to=0.5)), ("soup ~ 정원=a%", None))
    assert Intervention.parse(change.text()) == change and change.with_(Edit("head", (1, 1))).donor == change.donor
    assert change.without("head").donor is None and "vectors of the text “soup" in change.sentences(model.trace(A).tokens)[0]
    pairs = Intervention((Edit("value", (0, 1, 2), to=Taken(0)),), ("one", "two~"))
    assert Intervention.parse(pairs.text()) == pairs
    with pytest.raises(InputError, match="which is missing"):
        model.trace(A, change="head:1.2.3=@5")
    with pytest.raises(InputError, match="the other text has 1 tokens"):
        model.trace(A, change="head:1.2.3=@5~donor:1=soup")
    for text in ("head:1.2=@5", "gate:3=@1", "term:gate=@1", "lambda:1.2=@1"):
        with pytest.raises(InputError, match="only the vector of one token"):
            Intervention.parse(text)
    with pytest.raises(InputError, match="no layer 4; here they go from 1 to 3"):
        model.trace(A, change="head:4.1.1=0")
    silent = model.trace(A, change="~".join(f"head:1.2.{i + 1}=0" for i in range(len(model.trace(A).tokens))))
    np.testing.assert_allclose(silent.logits, model.trace(A, change="head:1.2=0").logits, atol=1e-6)
    np.testing.assert_allclose(model.trace(A, change="feedforward:2=0.25").logits, _with_constant(model, 1, 0.25), atol=1e-6)


def _with_constant(model: Model, layer: int, value: float) -> Any:
    with hook(model.network.blocks[layer].ffn, lambda x: torch.full_like(x, value)):  # type: ignore[union-attr]
        return model.trace(A).logits


@pytest.mark.slow
def test_the_command_prints_shares_and_a_path(tiny_run: Path) -> None:
    """The strongest head, every quantity, the other direction and the joint effect; a wrong cell or alignment is one sentence."""
    arguments = ["patch", str(tiny_run), "a warm garden", "a dull garden"]
    result = CliRunner().invoke(main, [*arguments, "--cell", "state:0.3", "--cell", "head:1.2.3"])
    assert not result.exit_code, result.output
    for part in ("[warm ← dull]", "carries most", "Outputs of the components", "The other way", "Together", "the embedding at “warm”"):
        assert part in result.output
    for wrong, reason in ((["--cell", "head:9.1.1"], "no layer 9"), (["--align", "x"], "Write --align"), (["--align", "9=9"], "no such")):
        refused = CliRunner().invoke(main, [*arguments, *wrong])
        assert refused.exit_code and reason in refused.output


def test_a_map_has_its_numbers_outlines_and_one_scale() -> None:
    """Unsure numbers, and those that round to 0, are not written; a cell without a value takes no click; the scale is symmetric."""
    values, sure = [[0.5, -0.25, 0.001], [np.nan, 0.1, 0.2]], [[True, True, True], [True, False, True]]
    words: dict[str, Any] = {"name": "map", "title": "Map", "about": "About.", "notes": [["note"] * 3] * 2, "more": {}}
    figure = signed_map(values, ["one", "two"], ["a", "<b>", "c"], sure=sure, chosen=[(1, 2)], **words)
    plot = figure.plot
    assert {note.text for note in plot.layout.annotations} == {"50", "−25", "20"}
    assert [(shape.x0, shape.y0) for shape in plot.layout.shapes] == [(1.5, 0.5)] * 2
    scales = [trace for trace in plot.data if trace.type == "heatmap"]
    assert {(trace.zmin, trace.zmax) for trace in scales} == {(-0.5, 0.5)} and [trace.showscale for trace in scales] == [True, False]
    spots = [spot for trace in plot.data if trace.type == "scatter" for spot in trace.customdata]
    assert sorted((row, column) for _, row, column in spots) == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    assert "one, &lt;b&gt;<br>−25.0\u00a0% of the difference<br>note" in [text for trace in plot.data for text in trace.hovertext or ()]
