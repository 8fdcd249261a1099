"""The papers' formulas once more, one token and one pair at a time, without the package's functions."""

import cmath
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from sentviz.models.encoder import Encoder
from sentviz.runs.configs import EncoderConfig

Array = npt.NDArray[np.float64]
Pair = Callable[[int, int, int, int], float]  # component, head, query, key


def attention(
    q: Array,
    k: Array,
    v: Array,
    lambdas: Sequence[float],
    scale: float,
    sees: Callable[[int, int], bool] = lambda i, j: True,
    bias: Pair = lambda c, h, i, j: 0.0,
    factor: Pair = lambda c, h, i, j: 1.0,
) -> tuple[Array, Array, Array, Array]:
    """Attend in one text: q, k (C, H, n, d_k), v (H, n, d_v) -> out (H, n, d_v), A, maps A_c, scores S_c."""
    components, heads, n, size = q.shape
    s, a = np.zeros((components, heads, n, n)), np.zeros((components, heads, n, n))
    for c in range(components):
        for h in range(heads):
            for i in range(n):
                for j in range(n):
                    product = sum(q[c, h, i, t] * k[c, h, j, t] for t in range(size))
                    s[c, h, i, j] = scale * product * factor(c, h, i, j) + bias(c, h, i, j)
                seen = [j for j in range(n) if sees(i, j)]
                if not seen:
                    a[c, h, i] = np.nan
                    continue
                top = max(s[c, h, i, j] for j in seen)
                total = sum(math.exp(s[c, h, i, j] - top) for j in seen)
                for j in seen:
                    a[c, h, i, j] = math.exp(s[c, h, i, j] - top) / total
    mixed = sum(lambdas[c] * a[c] for c in range(components))
    out = np.zeros(v.shape)
    for h in range(heads):
        for i in range(n):
            out[h, i] = sum(mixed[h, i, j] * v[h, j] for j in range(n))
    return out, mixed, a, s


@dataclass
class Seen:
    """Everything that the slow encoder computes."""

    logits: Array
    pooled: Array
    hidden: list[Array] = field(default_factory=list)
    effective: list[Array] = field(default_factory=list)  # per layer (H, n, n)
    components: list[Array] = field(default_factory=list)
    scores: list[Array] = field(default_factory=list)
    lambdas: list[list[float]] = field(default_factory=list)


def state_of(encoder: Encoder) -> dict[str, Array]:
    """Return the weights of an encoder as plain arrays."""
    return {name: tensor.numpy() for name, tensor in encoder.state_dict().items()}


def learned_lambdas(state: dict[str, Array], config: EncoderConfig, layer: int) -> list[float]:
    """Return (1, -lambda) of the Differential Transformer or (1, lambda_2 .. lambda_C) of NDT, from the stored vectors."""
    prefix = f"blocks.{layer}.attention.mixing."
    if config.mixing == "none":
        return [1.0]
    if config.mixing == "differential":
        lq1, lk1, lq2, lk2 = state[prefix + "vectors"]
        init = 0.8 - 0.6 * math.exp(-0.3 * layer)
        return [1.0, -(math.exp(lq1 @ lk1) - math.exp(lq2 @ lk2) + init)]
    result = [1.0]
    for i, start in enumerate(config.lambda_start[layer]):
        dot = float(state[prefix + "query"][i] @ state[prefix + "key"][i]) + float(state[prefix + "bias"][i])
        result.append(constrained(config.mixing, dot, start))
    return result


def constrained(constraint: str, move: float, start: float) -> float:
    """Return the value of a constraint whose raw value is `move` above the one for `start`."""
    if constraint == "unit":
        return 1 / (1 + math.exp(-(math.log(start / (1 - start)) + move)))
    if constraint == "symmetric":
        raw = 0.5 * math.log((1 + start) / (1 - start)) + move
        return (math.exp(raw) - math.exp(-raw)) / (math.exp(raw) + math.exp(-raw))
    if constraint == "nonneg":
        return math.log(1 + math.exp(math.log(math.exp(start) - 1) + move))
    return start + move


def norm(kind: str, x: Array, state: dict[str, Array], prefix: str, eps: float | None = None) -> Array:
    """Return RMSNorm (eps 1e-6) or LayerNorm (eps 1e-5) of a vector."""
    if kind == "rms":
        return x / math.sqrt((x**2).mean() + (1e-6 if eps is None else eps)) * state[prefix + "weight"]
    centred = x - x.mean()
    return centred / math.sqrt((centred**2).mean() + 1e-5) * state[prefix + "weight"] + state[prefix + "bias"]


def feed_forward(kind: str, x: Array, state: dict[str, Array], prefix: str) -> Array:
    """Return SwiGLU, W (silu(G x) * U x), or W act(U x)."""
    up = state[prefix + "up.weight"] @ x + state[prefix + "up.bias"]
    if kind == "swiglu":
        half = len(up) // 2
        wide = np.array([g / (1 + math.exp(-g)) * u for g, u in zip(up[:half], up[half:], strict=True)])
    elif kind == "relu":
        wide = np.array([max(u, 0.0) for u in up])
    else:
        wide = np.array([u * 0.5 * (1 + math.erf(u / math.sqrt(2))) for u in up])
    return state[prefix + "down.weight"] @ wide + state[prefix + "down.bias"]


def position(state: dict[str, Array], config: EncoderConfig, i: int) -> Array:
    """Return the vector that is added to the embedding at place `i`, (d,)."""
    if config.positions == "learned":
        return state["position"][i]
    if config.positions == "sinusoid":
        waves = [i / 10000 ** (2 * (t // 2) / config.width) for t in range(config.width)]
        return np.array([math.cos(w) if t % 2 else math.sin(w) for t, w in enumerate(waves)])
    return np.zeros(config.width)


def rotated(x: Array, place: int) -> Array:
    """Rotate by RoPE as a product of complex numbers x_t + i x_(t + d/2)."""
    half, result = len(x) // 2, x.copy()
    for t in range(half):
        turned = complex(x[t], x[t + half]) * cmath.exp(1j * place * 10000 ** (-t / half))
        result[t], result[t + half] = turned.real, turned.imag
    return result


def encode(
    state: dict[str, Array],
    config: EncoderConfig,
    ids: Sequence[int],
    *,
    polarity: Array | None = None,
    segments: Sequence[int] | None = None,
    lambdas: Any = None,
    heads_off: Collection[tuple[int, int]] = (),
) -> Seen:
    """Run one text through the encoder that `config` describes."""
    n = len(ids)
    x = [config.embedding_scale * state["embedding.weight"][ids[i]] + position(state, config, i) for i in range(n)]
    if segments is not None:
        x = [x[i] + state["segment.weight"][segments[i]] for i in range(n)]
    seen = Seen(np.zeros(0), np.zeros(0), [np.array(x)])
    for layer in range(config.layers):
        block = f"blocks.{layer}."
        first = config.norm_first
        read = [norm(config.norm, row, state, block + "attention_norm.") for row in x] if first else x
        mixed = list(learned_lambdas(state, config, layer) if lambdas is None else lambdas[layer])
        off = {head for at, head in heads_off if at == layer}
        out = attend_layer(state, config, layer, read, mixed, off, polarity, seen)
        x = [row + new for row, new in zip(x, out, strict=True)]
        if config.norm_first:
            read = [norm(config.norm, row, state, block + "ffn_norm.") for row in x]
            x = [row + feed_forward(config.ffn, new, state, block + "ffn.") for row, new in zip(x, read, strict=True)]
        else:
            x = [norm(config.norm, row, state, block + "attention_norm.") for row in x]
            x = [row + feed_forward(config.ffn, row, state, block + "ffn.") for row in x]
            x = [norm(config.norm, row, state, block + "ffn_norm.") for row in x]
        seen.hidden.append(np.array(x))
    last = [norm(config.norm, row, state, "final_norm.") for row in x] if config.norm_first else x
    seen.pooled = last[0] if config.pooling == "cls" else sum(last) / n
    seen.logits = state["classifier.weight"] @ seen.pooled + state["classifier.bias"]
    return seen


def attend_layer(
    state: dict[str, Array],
    config: EncoderConfig,
    layer: int,
    x: list[Array],
    lambdas: list[float],
    off: set[int],
    polarity: Array | None,
    seen: Seen,
) -> list[Array]:
    """Apply W_O to the heads' outputs; the packed projection holds Q by component and head, then K, then V by head."""
    prefix, n = f"blocks.{layer}.attention.", len(x)
    components, heads = config.components, config.heads
    size, value_size = config.key_width // heads, config.width // heads
    weight, offset = state[prefix + "project.weight"], state[prefix + "project.bias"]

    def rows(start: int, length: int, token: Array) -> Array:
        return weight[start : start + length] @ token + offset[start : start + length]

    q, k = np.zeros((components, heads, n, size)), np.zeros((components, heads, n, size))
    v = np.zeros((heads, n, value_size))
    for i in range(n):
        for h in range(heads):
            for c in range(components):
                q[c, h, i] = rows((c * heads + h) * size, size, x[i])
                k[c, h, i] = rows((components * heads + c * heads + h) * size, size, x[i])
                if config.positions == "rotary":
                    q[c, h, i], k[c, h, i] = rotated(q[c, h, i], i), rotated(k[c, h, i], i)
                if config.qk_norm:
                    q[c, h, i] /= math.sqrt((q[c, h, i] ** 2).sum())
                    k[c, h, i] /= math.sqrt((k[c, h, i] ** 2).sum())
            v[h, i] = rows(2 * components * heads * size + h * value_size, value_size, x[i])
    scale = float(state[prefix + "temperature"]) if config.qk_norm else 1 / math.sqrt(size)

    chosen = set(range(heads)) if config.lexicon_heads == "all" else {heads - 1}

    def sigma(i: int, j: int) -> float:
        assert polarity is not None
        return float(sum(polarity[i, t] * polarity[j, t] for t in range(3)))

    def bias(c: int, h: int, i: int, j: int) -> float:
        total = 0.0
        if config.gate:
            total += -math.log(1 + math.exp(-float(state[prefix + "gate.weight"][0] @ x[j])))
        if config.lexicon == "add" and h in chosen:
            total += sigma(i, j) / (math.sqrt(size) if config.lexicon_scaled else 1)
        return total

    def factor(c: int, h: int, i: int, j: int) -> float:
        return sigma(i, j) if config.lexicon == "multiply" and h in chosen else 1.0

    ends = {g if g >= 0 else n + g for g in config.global_tokens}

    def sees(i: int, j: int) -> bool:
        return not config.window or abs(i - j) <= config.window // 2 or j in ends

    heads_out, effective, maps, scores = attention(q, k, v, lambdas, scale, sees, bias, factor)
    seen.effective.append(effective)
    seen.components.append(maps)
    seen.scores.append(scores)
    seen.lambdas.append(lambdas)
    if config.head_norm:
        start = 0.8 - 0.6 * math.exp(-0.3 * layer)
        for h in range(heads):
            for i in range(n):
                heads_out[h, i] = norm("rms", heads_out[h, i], state, prefix + "head_norm.", 1e-5) * (1 - start)
    for h in off:
        heads_out[h] = 0
    joined = [np.concatenate([heads_out[h, i] for h in range(heads)]) for i in range(n)]
    return [state[prefix + "output.weight"] @ row + state[prefix + "output.bias"] for row in joined]


def gate_mean(texts: Sequence[tuple[Sequence[float], Sequence[float]]]) -> tuple[float, float, float, float]:
    """The mean gate of some tokens, half its 95 % interval over texts, and where 95 % of means lie when each text's gates are shuffled.

    texts: of each, the gates of those tokens, and of all its tokens.
    """
    from scipy.stats import t

    count = sum(len(inside) for inside, _ in texts)
    value = sum(gate for inside, _ in texts for gate in inside) / count
    squares, chance, variance, n = 0.0, 0.0, 0.0, 0
    for inside, all_ in texts:
        if inside:
            n += 1
            squares += (sum(gate - value for gate in inside) / count) ** 2
        mean = sum(all_) / len(all_)
        chance += len(inside) * mean / count
        for a in range(len(inside)):  # covariance of two draws without replacement: -s2 / (len - 1)
            for b in range(len(inside)):
                s2 = sum((gate - mean) ** 2 for gate in all_) / len(all_)
                variance += (s2 if a == b else -s2 / (len(all_) - 1)) / count**2
    half = float(t.ppf(0.975, n - 1)) * math.sqrt(n / (n - 1) * squares) if n > 1 else math.nan
    return value, half, chance - 1.96 * math.sqrt(max(variance, 0)), chance + 1.96 * math.sqrt(max(variance, 0))


def positive_share(
    sequences: Sequence[Sequence[int]], positive: Sequence[bool], queried: Sequence[int], order: int, weight: float
) -> float:
    """The share of positive ones among sequences that end in the last `order` words of `asked`, drawn towards that for one word less.

    Two sequences end alike where their last words are the same and both, or neither, begin within them.
    """
    share = 0.5
    for k in range(order + 1):
        rows = hits = 0
        for sequence, label in zip(sequences, positive, strict=True):
            alike = (len(sequence) >= k and len(queried) >= k) or len(sequence) == len(queried)
            for back in range(1, min(k, len(sequence), len(queried)) + 1):
                alike = alike and sequence[-back] == queried[-back]
            rows, hits = rows + alike, hits + (alike and label)
        share = (hits + weight * share) / (rows + weight)
    return share


def forgetting(right: Sequence[bool]) -> tuple[int, int, int]:
    """Return the place of the first right answer (-1 = none), turns from right to wrong, and turns back; Toneva et al. 2019, section 2."""
    first, forgotten, again = -1, 0, 0
    for place, now in enumerate(right):
        before = place > 0 and right[place - 1]
        if now and first < 0:
            first = place
        elif now and not before:
            again += 1
        if before and not now:
            forgotten += 1
    return first, forgotten, again


def nearest_turn(x: Sequence[Sequence[float]], y: Sequence[Sequence[float]], steps: int = 3600) -> float:
    """Return the smallest distance between the rows of x and y, both (n, 2), over `steps` rotations, mirrored or not. Both are centred and
    scaled alike.
    """

    def centred(rows: Sequence[Sequence[float]]) -> tuple[list[tuple[float, float]], float]:
        mean = [sum(row[c] for row in rows) / len(rows) for c in (0, 1)]
        moved = [(row[0] - mean[0], row[1] - mean[1]) for row in rows]
        return moved, math.sqrt(sum(u * u + v * v for u, v in moved))

    (a, size), (b, wanted) = centred(x), centred(y)
    best = math.inf
    for k in range(steps):
        c, s = math.cos(2 * math.pi * k / steps), math.sin(2 * math.pi * k / steps)
        for mirror in (1, -1):
            off = 0.0
            for (u, v), (p, q) in zip(a, b, strict=True):
                w = mirror * v
                off += ((c * u - s * w) * wanted / size - p) ** 2 + ((s * u + c * w) * wanted / size - q) ** 2
            best = min(best, off)
    return math.sqrt(best)


def best_cut(n: int, falls: Mapping[tuple[int, int], float], least: float) -> tuple[float, list[list[tuple[int, int]]]]:
    """Return the largest sum of |fall - sum of single falls| - least (words - 1) over all cuts of n words, and the cuts that reach it."""
    ways: list[tuple[float, list[tuple[int, int]]]] = []
    for borders in range(1 << (n - 1)):
        places = [0, *(i + 1 for i in range(n - 1) if borders >> i & 1), n]
        spans = list(pairwise(places))
        if all(span in falls for span in spans):
            value = 0.0
            for start, stop in spans:
                alone = sum(falls[i, i + 1] for i in range(start, stop))
                value += abs(falls[start, stop] - alone) - least * (stop - start - 1)
            ways.append((value, spans))
    best = max(value for value, _ in ways)
    return best, [spans for value, spans in ways if value > best - 1e-9]


def shapley_by_orders(n: int, value: Callable[[frozenset[int]], float]) -> tuple[list[float], list[list[float]]]:
    """Return Shapley values and the interaction index of n players, as means over all orders of the players.

    The interaction of i and j is the mean change of i's gain when j is there, over all orders in which i and j are one player.
    """
    values = [0.0] * n
    orders = list(permutations(range(n)))
    for order in orders:
        there: frozenset[int] = frozenset()
        for player in order:
            values[player] += (value(there | {player}) - value(there)) / len(orders)
            there = there | {player}
    pairs = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            merged = list(permutations([i, *(k for k in range(n) if k not in (i, j))]))
            for order in merged:
                before = frozenset(order[: order.index(i)])
                change = value(before | {i, j}) - value(before | {i}) - value(before | {j}) + value(before)
                pairs[i][j] += change / len(merged)
            pairs[j][i] = pairs[i][j]
    return values, pairs


def direct_streams(network: Any, trace: Any, feedforward: Any, k: int, j: int) -> dict[str, Any]:
    """Return what each stream adds to logit k minus logit j: every part of the states is followed alone through each frozen norm.

    Args:
        network: an `Encoder`. trace: with maps and projections. feedforward: (L) outputs (n, d) of the feed-forward networks.
    """

    def array(x: Any) -> Any:
        return x.detach().double().numpy()

    n, d = trace.hidden[0].shape
    layers, components, heads = trace.components.shape[:3]
    size = d // heads
    streams: dict[Any, Any] = {}

    def at(key: Any, token: int, vector: Any) -> None:
        streams.setdefault(key, np.zeros((n, d)))[token] += vector

    def norm(module: Any, these: dict[Any, Any]) -> dict[Any, Any]:
        if not list(module.parameters()):
            return these
        total = sum(these.values())
        scale, is_layer = array(module.weight), hasattr(module, "bias") and module.bias is not None
        out = {}
        for key, x in these.items():
            y = np.zeros((n, d))
            for i in range(n):
                middle = total[i].mean() if is_layer else 0.0
                spread = np.sqrt(((total[i] - middle) ** 2).mean() + module.eps)
                y[i] = (x[i] - (x[i].mean() if is_layer else 0.0)) * scale / spread
            out[key] = y
        if is_layer:
            out["norms"] = out.get("norms", np.zeros((n, d))) + array(module.bias)
        return out

    for i in range(n):
        at(("embedding", i), i, trace.hidden[0][i].astype(np.float64))
    for layer in range(layers):
        block = network.blocks[layer]
        attention, out = block.attention, array(block.attention.output.weight)
        for i in range(n):
            for h in range(heads):
                mixed = {
                    (c, s): trace.lambdas[layer, c]
                    * float(trace.components[layer, c, h, i, s])
                    * trace.values[layer, h, s].astype(np.float64)
                    for c in range(components)
                    for s in range(n)
                }
                whole = sum(mixed.values())
                factor = np.ones(size)
                if attention.head_norm is not None:
                    start = 1 - attention.config.lambda_start[layer][0]
                    factor = array(attention.head_norm.weight) * start / np.sqrt((whole**2).mean() + 1e-5)
                for (c, s), vector in mixed.items():
                    at(("heads", layer, c, h, s), i, out[:, h * size : (h + 1) * size] @ (vector * factor))
            at("biases", i, array(attention.output.bias))
        if not block.norm_first:
            streams = norm(block.attention_norm, streams)
        for i in range(n):
            at(("feedforward", layer, i), i, feedforward[layer][i])
        if not block.norm_first:
            streams = norm(block.ffn_norm, streams)
    streams = norm(network.final_norm, streams)
    pooled = {key: x[0] if trace.pooling == "cls" else x.mean(axis=0) for key, x in streams.items()}
    if network.dense is not None:
        pooled = {key: array(network.dense.weight) @ x for key, x in pooled.items()}
        pooled["biases"] = pooled["biases"] + array(network.dense.bias)
        before = sum(pooled.values())
        gelu = np.array([0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in before])
        after = np.tanh(before) if network.config.head == "tanh" else gelu
        pooled = {key: x * after / before for key, x in pooled.items()}
    row = array(network.classifier.weight)[k] - array(network.classifier.weight)[j]
    added = {key: float(row @ x) for key, x in pooled.items()}
    bias = array(network.classifier.bias)
    return {
        "embedding": np.array([added["embedding", i] for i in range(n)]),
        "heads": np.array(
            [[[[added["heads", l, c, h, s] for s in range(n)] for h in range(heads)] for c in range(components)] for l in range(layers)]  # noqa: E741
        ),
        "feedforward": np.array([[added["feedforward", layer, i] for i in range(n)] for layer in range(layers)]),
        "norms": added.get("norms", 0.0),
        "biases": added["biases"] + bias[k] - bias[j],
    }
