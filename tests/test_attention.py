"""The shared attention equation and its backends, against loops over its formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from sentviz.models import attention as at
from tests import slow
from tests.shipped import often

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
    """Fused and written-out paths equal loops, for every C, unequal head sizes and padding."""
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
    """S = scale QK * M + B equals loops in `scores`, `fold` and `attend`; M multiplies before the biases are added."""
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
    (13, 1, [[0], [0]], [13, 7]),
    (13, 2, [[0, 5, 6], [-1, 0, 12]], [13, 13]),
    (9, 3, [[4], [8]], [9, 9]),
    (3, 8, [[0, 2], [-1, 0]], [3, 1]),
    (1, 4, [[0], [0]], [1, 1]),
    (24, 7, [[0, 23], [0, 4]], [24, 5]),
]


@pytest.mark.parametrize("n, window, places, lengths", PATTERNS)
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("block", often([1, 4, 64], 4))
def test_banded_is_the_dense_masked_formula(
    n: int, window: int, places: list[list[int]], lengths: list[int], padded: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The banded backend and `attend` equal loops in which keys outside window and globals do not exist."""
    monkeypatch.setattr(at, "BLOCK", block)
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
    [
        ("_fused", 1, 0, False),
        ("_fused", 2, 0, True),
        ("_mixed", 2, 0, False),
        ("_banded", 2, 4, True),
        ("_fused", 2, 31, True),
        ("_fused", 2, 62, True),
    ],
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


@pytest.mark.parametrize("window, narrow", [(0, 0), (3, 0), (3, 16)])
def test_gradients_are_those_of_the_formula(window: int, narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numerical gradients of q, k, v, lambda, a bias and a factor equal the analytical ones, fused, banded and with a dense mask."""
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


@pytest.mark.parametrize("window, narrow", [(0, 0), (3, 0), (3, 32)])
def test_gradients_stay_finite_where_nothing_is_seen(window: int, narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at, "NARROW", narrow)
    monkeypatch.setattr(at, "BLOCK", 4)
    q, k, v, lambdas = (x.requires_grad_() for x in parts(8, 2, 2, 1, 20, 2, 2))
    pattern = at.Pattern(window, torch.tensor([[-1]])) if window else None
    real = padding([20, 3], 20)
    out = at.attend(q, k, v, lambdas, 1.0, at.ScoreModifiers(real, pattern=pattern))
    (out * real[:, None, :, None]).sum().backward()
    assert all(bool(x.grad.isfinite().all()) for x in (q, k, v, lambdas))
    np.testing.assert_array_equal(v.grad[1, :, 3:], 0)
