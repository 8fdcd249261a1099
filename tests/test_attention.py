"""Networks: the shared attention equation and its backends against loops, the LSTM and the convolution, and weights stored as codes."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from sentviz.data.texts import TokenizedText
from sentviz.errors import InputError, RunError
from sentviz.models import attention as at
from sentviz.models.baselines import Convolutional, Recurrent
from sentviz.models.batches import collate
from sentviz.models.encoder import Encoder
from sentviz.models.protocol import Inputs
from sentviz.models.weights import CodedEmbedding, coarser, code, exact, in_8_bits, pack, unpack
from sentviz.runs.configs import ConvolutionalConfig, EncoderConfig, RecurrentConfig
from sentviz.runs.presets import injections, preset, split
from sentviz.runs.store import Run
from sentviz.training.recipe import Recipe
from tests import slow
from tests.kit import refused, toy_trainer, use_toy_data
from tests.shipped import ASKABLE, of_each

DOUBLE = torch.float64


def drawn(seed: int, *shape: int) -> Tensor:
    """Return seeded normal numbers in double precision."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=DOUBLE)


def parts(seed: int, b: int, c: int, h: int, n: int, d: int, d_v: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return q, k, v and lambdas; the first lambda differs from 1, so that leaving it out is noticed."""
    sizes = ((b, c, h, n, d), (b, c, h, n, d), (b, h, n, d_v), (c,))
    q, k, v, lambdas = (drawn(seed + i, *size) for i, size in enumerate(sizes))
    return q, k, v, lambdas


def padding(lengths: list[int], n: int) -> Tensor:
    """Return a mask (B, n), True for real tokens."""
    return torch.tensor([[i < length for i in range(n)] for length in lengths])


def by_loops(
    q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, scale: float, lengths: list[int], **terms: list[slow.Pair]
) -> list[tuple[slow.Array, ...]]:
    """Apply the slow formula to each text of a batch, on its real tokens alone."""
    return [
        slow.attention(
            q[b, :, :, :length].numpy(),
            k[b, :, :, :length].numpy(),
            v[b, :, :length].numpy(),
            lambdas.tolist(),
            scale,
            **{name: of[b] for name, of in terms.items()},
        )
        for b, length in enumerate(lengths)
    ]


@pytest.mark.parametrize("d, d_v", [(3, 5), (5, 3), (4, 4)])
@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_attend_scores_maps_and_mix_are_the_formula(c: int, d: int, d_v: int) -> None:
    lengths, n, scale = [6, 4, 1], 6, 0.7
    q, k, v, lambdas = parts(c, 3, c, 2, n, d, d_v)
    structure = at.ScoreModifiers(padding(lengths, n))
    s = at.scores(q, k, scale, structure)
    a = at.maps(s, at.visible(structure, None, n))
    mixed, out = at.mix(a, lambdas), at.attend(q, k, v, lambdas, scale, structure)
    for b, (want, effective, maps, scores) in enumerate(by_loops(q, k, v, lambdas, scale, lengths)):
        m = lengths[b]
        np.testing.assert_allclose(s[b, :, :, :m, :m], scores, atol=1e-12)
        np.testing.assert_allclose(a[b, :, :, :m, :m], maps, atol=1e-12)
        np.testing.assert_allclose(a[b, :, :, :m, m:], 0)
        np.testing.assert_allclose(mixed[b, :, :m, :m], effective, atol=1e-12)
        np.testing.assert_allclose(out[b, :, :m], want, atol=1e-12)


def terms(seed: int, b: int, c: int, h: int, n: int) -> tuple[at.KeyTerm, at.LowRank, at.LowRank]:
    """Return a bias over keys, a bias of rank 3 and a factor of rank 2."""
    return (
        at.KeyTerm("gate", drawn(seed, b, 1, 1, n)),
        at.LowRank("lexicon", drawn(seed + 1, b, 1, h, n, 3), drawn(seed + 2, b, 1, 1, n, 3)),
        at.LowRank("factor", drawn(seed + 3, b, 1, h, n, 2), drawn(seed + 4, b, c, 1, n, 2)),
    )


@pytest.mark.parametrize("factored", [False, True])
@pytest.mark.parametrize("biases", ["", "g", "l", "gl"])
def test_biases_and_factor_are_what_they_say_in_every_path(biases: str, factored: bool) -> None:
    b, c, h, n, scale, lengths = 2, 2, 2, 5, 0.6, [5, 3]
    q, k, v, lambdas = parts(11, b, c, h, n, 3, 4)
    gate, lexicon, m = terms(20, b, c, h, n)
    chosen = tuple(term for term, letter in ((gate, "g"), (lexicon, "l")) if letter in biases)
    structure = at.ScoreModifiers(padding(lengths, n), chosen, m if factored else None)

    def bias_of(b: int) -> slow.Pair:
        def bias(c: int, h: int, i: int, j: int) -> float:
            total = float(gate.values[b, 0, 0, j]) if "g" in biases else 0.0
            return total + (float(lexicon.left[b, 0, h, i] @ lexicon.right[b, 0, 0, j]) if "l" in biases else 0.0)

        return bias

    def factor_of(b: int) -> slow.Pair:
        return lambda c, h, i, j: float(m.left[b, 0, h, i] @ m.right[b, c, 0, j]) if factored else 1.0

    extra = {"bias": [bias_of(0), bias_of(1)], "factor": [factor_of(0), factor_of(1)]}
    wanted = by_loops(q, k, v, lambdas, scale, lengths, **extra)
    s, out = at.scores(q, k, scale, structure), at.attend(q, k, v, lambdas, scale, structure)
    left, right = at.fold(q, k, scale, structure)
    np.testing.assert_allclose(left @ right.transpose(-1, -2), s, atol=1e-12)
    for b, (want, _, _, scores) in enumerate(wanted):
        size = lengths[b]
        np.testing.assert_allclose(s[b, :, :, :size, :size], scores, atol=1e-12)
        np.testing.assert_allclose(out[b, :, :size], want, atol=1e-12)


PATTERNS = [
    # n, window, globals of each of two texts, lengths
    (16, 4, [[], []], [16, 16]),
    (17, 4, [[0, 16], [0, 9]], [17, 10]),
    (17, 5, [[3], [-1]], [17, 2]),
    (13, 2, [[0, 5, 6], [-1, 0, 12]], [13, 13]),
    (3, 8, [[0, 2], [-1, 0]], [3, 1]),
    (1, 4, [[0], [0]], [1, 1]),
]


@pytest.mark.parametrize("n, window, places, lengths", PATTERNS)
@pytest.mark.parametrize("padded", [True, False])
def test_banded_is_the_dense_masked_formula(
    n: int, window: int, places: list[list[int]], lengths: list[int], padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at, "BLOCK", 4)
    lengths = lengths if padded else [n, n]
    c, scale = 2, 0.8
    q, k, v, lambdas = parts(n, 2, c, 2, n, 3, 4)
    real = padding(lengths, n)
    gate, lexicon, _ = terms(30, 2, c, 2, n)
    pattern = at.Pattern(window, torch.tensor(places, dtype=torch.long))
    structure = at.ScoreModifiers(real if padded else None, (gate, lexicon), None, pattern)
    left, right = at.fold(q, k, scale, structure)
    banded = at._banded(left, right, v, lambdas, structure.padding, pattern)
    chosen = at.attend(q, k, v, lambdas, scale, structure)
    assert bool(banded.isfinite().all())
    for b, size in enumerate(lengths):

        def bias(c: int, h: int, i: int, j: int, b: int = b) -> float:
            return float(gate.values[b, 0, 0, j] + lexicon.left[b, 0, h, i] @ lexicon.right[b, 0, 0, j])

        def sees(i: int, j: int, b: int = b) -> bool:
            return abs(i - j) <= window // 2 or j in places[b]

        arrays = (x[b, ..., :size, :].numpy() for x in (q, k, v))
        want, *_ = slow.attention(*arrays, lambdas.tolist(), scale, sees, bias)
        np.testing.assert_allclose(banded[b, :, :size], want, atol=1e-12)
        np.testing.assert_allclose(chosen[b, :, :size], want, atol=1e-12)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("c", [2, 4])
def test_backends_without_gradients_are_the_formula(c: int, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    n, lengths = 5, [5, 2, 4, 1, 5] if padded else [5] * 5
    q, k, v, lambdas = parts(40 + c, 5, c, 2, n, 3, 4)
    structure = at.ScoreModifiers(padding(lengths, n) if padded else None)
    wanted = by_loops(q, k, v, lambdas, 0.7, lengths)
    copies = tuple(x.clone() for x in (q, k, v, lambdas))
    for elements in (at.CACHED_ELEMENTS, 2 * c * 2 * n * n, 1):
        monkeypatch.setattr(at, "CACHED_ELEMENTS", elements)
        with torch.no_grad():
            out = at.attend(q, k, v, lambdas, 0.7, structure)
        for b, (want, *_) in enumerate(wanted):
            np.testing.assert_allclose(out[b, :, : lengths[b]], want, atol=1e-12)
    assert all(torch.equal(x, y) for x, y in zip((q, k, v, lambdas), copies, strict=True))


@pytest.mark.parametrize(
    "backend, components, window, grad",
    [("_fused", 1, 0, False), ("_fused", 2, 0, True), ("_mixed", 2, 0, False), ("_banded", 2, 4, True), ("_fused", 2, 31, True)],
)
def test_attend_takes_the_cheap_backend(backend: str, components: int, window: int, grad: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at, "NARROW", 31)
    called: list[str] = []
    for name in ("_fused", "_mixed", "_banded"):
        plain = getattr(at, name)
        monkeypatch.setattr(at, name, lambda *args, name=name, plain=plain: called.append(name) or plain(*args))
    q, k, v, lambdas = parts(1, 20, components, 1, 32, 2, 2)
    pattern = at.Pattern(window, torch.zeros(20, 1, dtype=torch.long)) if window else None
    with torch.set_grad_enabled(grad):
        at.attend(q, k, v, lambdas, 1.0, at.ScoreModifiers(pattern=pattern))
    assert called[0] == backend  # the banded one asks the fused one


@pytest.mark.parametrize("window, narrow", [(0, 0), (3, 0), (3, 32)])
def test_gradients_are_those_of_the_formula(window: int, narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients equal numerical ones, fused, banded and with a dense mask, and stay finite where nothing is seen."""
    monkeypatch.setattr(at, "NARROW", narrow)
    monkeypatch.setattr(at, "BLOCK", 4)
    n = 13 if window else 4
    q, k, v, lambdas = parts(5, 1, 2, 1, n, 2, 2)
    gate, right = drawn(6, 1, 1, 1, n), drawn(7, 1, 1, 1, n, 2)
    pattern = at.Pattern(window, torch.tensor([[0]])) if window else None

    def run(q: Tensor, k: Tensor, v: Tensor, lambdas: Tensor, gate: Tensor, right: Tensor) -> Tensor:
        structure = at.ScoreModifiers(None, (at.KeyTerm("gate", gate),), at.LowRank("m", right, right), pattern)
        return at.attend(q, k, v, lambdas, 0.9, structure)

    inputs = tuple(x.clone().requires_grad_() for x in (q, k, v, lambdas, gate, right))
    assert torch.autograd.gradcheck(run, inputs, fast_mode=window > 0)
    q, k, v, lambdas = (x.requires_grad_() for x in parts(8, 2, 2, 1, 20, 2, 2))
    pattern = at.Pattern(window, torch.tensor([[-1]])) if window else None
    real = padding([20, 3], 20)
    out = at.attend(q, k, v, lambdas, 1.0, at.ScoreModifiers(real, pattern=pattern))
    (out * real[:, None, :, None]).sum().backward()
    assert all(bool(x.grad.isfinite().all()) for x in (q, k, v, lambdas))
    np.testing.assert_array_equal(v.grad[1, :, 3:], 0)


def inputs(*lengths: int) -> Inputs:
    rng = np.random.default_rng(0)
    return collate([TokenizedText(rng.integers(4, 30, n)) for n in lengths])


def network(kind: str) -> Recurrent | Convolutional:
    torch.manual_seed(0)
    if kind == "bilstm":
        return Recurrent(RecurrentConfig(30, 3, 40, hidden=6, dropout=0.0)).eval()
    return Convolutional(ConvolutionalConfig(30, 3, 40, filters=4, dropout=0.0)).eval()


def test_the_lstm_and_the_convolution_are_those_of_torch_and_loops() -> None:
    ours, batch = network("bilstm"), inputs(9, 1, 4)
    whole = nn.LSTM(12, 6, num_layers=2, batch_first=True, bidirectional=True)
    state = {}
    for layer, lstm in enumerate(ours.lstms):  # type: ignore[arg-type]
        state |= {name.replace("l0", f"l{layer}"): tensor for name, tensor in lstm.state_dict().items()}
    whole.load_state_dict(state)
    with torch.no_grad():
        got = ours(batch)
        for text, n in enumerate((9, 1, 4)):
            states, _ = whole(ours.embedding(batch.ids[text : text + 1, :n]))
            torch.testing.assert_close(got.pooled[text], states[0].mean(dim=0), rtol=0, atol=1e-6)
            torch.testing.assert_close(got.logits[text], ours.classifier(states[0].mean(dim=0)), rtol=0, atol=1e-6)
    ours, batch = network("cnn"), inputs(9, 1, 4)
    with torch.no_grad():
        got = ours(batch).pooled
        for text, n in enumerate((9, 1, 4)):
            x = ours.embedding(batch.ids[text, :n])
            maxima = []
            for width, conv in zip((3, 4, 5), ours.filters, strict=True):  # type: ignore[arg-type]
                for f in range(4):
                    best = 0.0
                    for i in range(n):
                        total = float(conv.bias[f])
                        for tap in range(width):
                            place = i + tap - (width - 1) // 2
                            if 0 <= place < n:
                                total += float(conv.weight[f, :, tap] @ x[place])
                        best = max(best, total)
                    maxima.append(best)
            np.testing.assert_allclose(got[text].numpy(), maxima, atol=1e-5)
    ours, batch = network("cnn"), inputs(9, 3)
    vectors = ours.table[batch.ids].detach().requires_grad_()
    slopes = torch.autograd.grad(F.softmax(ours(Inputs(batch.ids, batch.mask, vectors=vectors)).logits, -1)[:, 0].sum(), vectors)[0]
    assert float(slopes[1, 3:].abs().max()) == 0 < float(slopes[1, :3].abs().max())


@pytest.mark.parametrize("kind", ["bilstm", "cnn"])
def test_padding_changes_nothing(kind: str) -> None:
    ours, batch = network(kind), inputs(9, 30, 2)
    with torch.no_grad():
        together = ours(batch).logits
        for text, n in enumerate((9, 30, 2)):
            torch.testing.assert_close(ours(Inputs(batch.ids[text : text + 1, :n])).logits[0], together[text], rtol=0, atol=1e-6)
    built = Recurrent(RecurrentConfig(1000, 2)) if kind == "bilstm" else Convolutional(ConvolutionalConfig(1000, 2))
    lstm = sum(2 * 4 * 256 * (size + 256 + 2) for size in (512, 512)) + 1000 * 512 + 2 * 513
    convolution = 100 * (300 * (3 + 4 + 5) + 3) + 1000 * 300 + 2 * 301
    assert built.parameters_count() == {"bilstm": lstm, "cnn": convolution}[kind]


def test_resuming_is_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_toy_data(monkeypatch)
    kind, changes = "cnn", {"shape": {"filters": 4}, "epochs": 1}
    whole = toy_trainer(tmp_path / "whole", kind, **changes)
    whole.fit(progress=False)
    toy_trainer(tmp_path / "two", kind, **changes).fit(progress=False, until=4)
    again = toy_trainer(tmp_path / "two", kind, **changes)
    assert again.resume()
    again.fit(progress=False)
    for name, tensor in whole.task.network.state_dict().items():
        assert torch.equal(tensor, again.task.network.state_dict()[name]), name
    assert whole.at.history == again.at.history


@pytest.mark.parametrize("base", ["cls", "ndt-unit-2"])
def test_an_injection_changes_the_lexicon_and_nothing_else(base: str) -> None:
    for injection in injections():
        name = f"{base}-{injection}"
        plain, fused = (preset(n, vocab_size=50, classes=2, max_length=9) for n in (base, name))
        assert split(name) == (base, injection) and fused.lexicon == ("multiply" if injection == "xia" else "add")
        assert dataclasses.replace(fused, lexicon="none", lexicon_heads="all", lexicon_scaled=False) == plain
        assert (fused.lexicon_heads == "last") == injection.startswith("last") and fused.lexicon_scaled == injection.endswith("scaled")
        assert Encoder(plain).parameters_count() == Encoder(fused).parameters_count()


@pytest.mark.parametrize("base", ["vanilla", "diff", "sentiformer-full"])
def test_parts_of_sentiformer_go_behind_any_encoder(base: str) -> None:
    rest = {"gate", "positions", "tags", "window", "global_tokens", "global_drawn", "lexicon", "lexicon_heads", "lexicon_scaled"}
    for behind in ("gated", "aware", "windowed", "aware-windowed-gated", "gated-last-scaled", "all-gated"):
        assert split(f"{base}-{behind}") == (base, behind)
        plain, more = (preset(n, vocab_size=50, classes=2, max_length=64, width=16, heads=2) for n in (base, f"{base}-{behind}"))
        assert isinstance(plain, EncoderConfig) and isinstance(more, EncoderConfig)
        wanted = {
            "gate": "gated" in behind or plain.gate,
            "positions": "aware" if "aware" in behind else plain.positions,
            "window": 64 if "windowed" in behind else plain.window,
            "lexicon": "add" if {"last", "all"} & set(behind.split("-")) else "none",
        }
        wanted |= {item.name: getattr(plain, item.name) for item in dataclasses.fields(plain) if item.name not in rest}
        assert {name: getattr(more, name) for name in wanted} == wanted
    assert Encoder(more).eval()(Inputs(torch.randint(4, 50, (2, 40)))).logits.isfinite().all()


def test_what_a_kind_cannot_have_is_refused() -> None:
    for name in ("cnn-gated", "hardmax-d2-aware", "bilstm-last", "nothing-gated"):
        refused(InputError, f"There is no model '{name}'", Recipe.read, "sst2", model=name)
    refused(InputError, "cls-all injects a lexicon, but the recipe names none", Recipe.read, "sst2", model="cls-all")
    assert Recipe.read("fused_sst2", model="cls-all").lexicon == "lexicon_en_vader"


@pytest.mark.parametrize("bits", [4, 8])
def test_rounded_weights_are_near_and_rows_are_those_of_the_whole(bits: int) -> None:
    """8 bits are within half a step of a row's largest entry. 4 bits are nearer, in squares, than the plain scale."""
    weights = torch.randn(40, 64, generator=torch.Generator().manual_seed(1))
    weights[3, :32] = 0
    coded = code(weights, bits)
    table = coded.expanded()
    if bits == 8:
        assert (abs(table - weights) <= weights.abs().amax(dim=1, keepdim=True) / 127 * 0.51).all()
    else:
        blocks = weights.reshape(-1, 32)
        scale = blocks.gather(1, blocks.abs().argmax(dim=1, keepdim=True)) / -8
        plain = (blocks / scale.where(scale != 0, torch.ones(()))).round().clamp(-8, 7) * scale
        assert (table - weights).square().sum() < 0.95 * (plain - blocks).square().sum()
    assert not table[3, :32].any()
    rows = torch.tensor([[7, 0], [39, 7]])
    assert torch.equal(CodedEmbedding(coded)(rows), table[rows]) and coded.shape == (40, 64)


def test_weights_on_a_grid_keep_their_codes_and_scales(tmp_path: Path) -> None:
    rng = torch.Generator().manual_seed(2)
    codes = torch.randint(-8, 8, (6, 32), generator=rng)
    codes[:, 5] = -8
    scale = (torch.rand(6, 1, generator=rng) / 50 + 0.003).half()
    coded = code((codes * scale.float()).half().float(), 4)
    assert torch.equal(coded.scale, scale)
    assert torch.equal(coded.expanded(), codes * scale.float())
    third = torch.tensor([1 / 3, 0.5])
    assert exact(third).dtype == torch.float32 and exact(third.half().float()).dtype == torch.float16
    refused(InputError, "divide a width of 48; store this base in 8 bits", code, torch.ones(4, 48), 4)
    refused(InputError, "in 4 or 8 bits, not 3", code, torch.ones(4, 32), 3)
    state = {"wide": torch.rand(4000, 16), "narrow": torch.rand(16000, 3), "small": torch.rand(20, 20)}
    assert {name for name in state if in_8_bits(state[name].shape)} == {"wide"}
    packed = pack(state)
    save_file(packed, tmp_path / "new.safetensors")
    assert coarser(tmp_path / "new.safetensors") == {}
    scale = (state["narrow"].amax(dim=1, keepdim=True) / 127).half()
    cut = {"narrow.int8": (state["narrow"] / scale.float()).round().to(torch.int8), "narrow.scale": scale}
    save_file({k: v for k, v in packed.items() if k != "narrow"} | cut, tmp_path / "old.safetensors")
    off = coarser(tmp_path / "old.safetensors")
    assert set(off) == {"narrow"}
    assert float((unpack(cut)["narrow"] - state["narrow"]).abs().max()) <= off["narrow"] + 1e-6
    (tmp_path / "torn.safetensors").write_bytes(b"no")
    refused(RunError, r"torn\.safetensors cannot be read", coarser, tmp_path / "torn.safetensors")


@of_each(ASKABLE)
def test_what_is_in_8_bits(run: Run) -> None:
    assert coarser(run.path(run.weights)) == {}
