"""The layers of a transformer in plain NumPy, written apart from those that they check."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
State = Mapping[str, Array]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def below(state: State, path: str) -> dict[str, Array]:
    """The part of a state under a path."""
    start = f"{path}."
    return {key.removeprefix(start): x for key, x in state.items() if key.startswith(start)}


def linear(state: State, x: Array) -> Array:
    y: Array = np.einsum("...i,io->...o", x, state["weight"])
    return y + state["bias"] if "bias" in state else y


def layer_norm(state: State, x: Array) -> Array:
    y: Array = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    y = y * state["weight"]
    return y + state["bias"] if "bias" in state else y


def gelu(x: Array) -> Array:
    below_x: Array = _erf(x / math.sqrt(2.0))
    return 0.5 * x * (1.0 + below_x)


def attention(state: State, x: Array, heads: int) -> Array:
    """Query by query and head by head, over what came before."""
    time, width = x.shape[-2:]
    d = width // heads
    query, key, value = np.split(linear(below(state, "qkv"), x), 3, axis=-1)
    y = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * d, (head + 1) * d)
        for t in range(time):
            seen = slice(0, t + 1)
            scores = np.einsum("...d,...sd->...s", query[..., t, part], key[..., seen, part])
            weights = np.exp(scores / math.sqrt(d))
            weights /= weights.sum(-1, keepdims=True)
            y[..., t, part] = np.einsum("...s,...sd->...d", weights, value[..., seen, part])
    return linear(below(state, "projection"), y)


def feed_forward(state: State, x: Array) -> Array:
    return linear(below(state, "projection"), gelu(linear(below(state, "expansion"), x)))


def block(state: State, x: Array, heads: int) -> Array:
    x = x + attention(below(state, "attention"), layer_norm(below(state, "ln_1"), x), heads)
    return x + feed_forward(below(state, "mlp"), layer_norm(below(state, "ln_2"), x))


def gpt(state: State, ids: Array, heads: int, head: Array | None = None) -> Array:
    """Logits; the last product uses `head`, by default the table of tokens again."""
    x = state["wte.weight"][ids] + state["wpe.weight"][: ids.shape[1]]
    depth = len({key.split(".")[1] for key in state if key.startswith("blocks.")})
    for i in range(depth):
        x = block(below(state, f"blocks.{i}"), x, heads)
    table = state["wte.weight"] if head is None else head
    logits: Array = np.einsum("bti,vi->btv", layer_norm(below(state, "ln_f"), x), table)
    return logits


def cross_entropy(logits: Array, targets: Array) -> float:
    share = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return float(-np.log(np.take_along_axis(share, targets[..., None], -1)).mean())
