"""The workloads in JAX: one compiled step whose state is donated, clip and AdamW from optax."""

import importlib
from typing import Any

from benchmarks import workloads
from benchmarks.program import Program
from benchmarks.workloads import (
    KERNEL,
    NORM_EPSILON,
    Arrays,
    Convolutional,
    Elements,
    Perceptron,
    Rows,
    Shape,
    Transformer,
    Workload,
)

jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")
optax: Any = importlib.import_module("optax")


def perceptron(shape: Perceptron, p: Any, x: Any) -> Any:
    last = len(shape.widths) - 2
    for i in range(last + 1):
        x = x @ p[f"weight{i}"] + p[f"bias{i}"]
        if i < last:
            x = jnp.tanh(x) if shape.regression else jax.nn.relu(x)
    return x


def norm(x: Any, scale: Any, shift: Any = 0.0) -> Any:
    distance = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(distance * distance, axis=-1, keepdims=True)
    return distance * jax.lax.rsqrt(variance + NORM_EPSILON) * scale + shift


def transformer(shape: Transformer, p: Any, x: Any) -> Any:
    size = (shape.rows, shape.time, 3, shape.heads, shape.width // shape.heads)
    seen = jnp.tril(jnp.ones((shape.time, shape.time), bool))
    h = p["tokens"][x] + p["places"]
    for i in range(shape.layers):
        qkv = norm(h, p[f"{i}.norm1"]) @ p[f"{i}.qkv"]
        q, k, v = qkv.reshape(size).transpose(2, 0, 3, 1, 4)
        scores = (q @ k.swapaxes(-1, -2)) * size[-1] ** -0.5
        y = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ v
        h = h + y.transpose(0, 2, 1, 3).reshape(h.shape) @ p[f"{i}.mix"]
        wide = norm(h, p[f"{i}.norm2"]) @ p[f"{i}.expand"]
        h = h + jax.nn.gelu(wide, approximate=False) @ p[f"{i}.contract"]
    return norm(h, p["norm"]) @ p["tokens"].T


def convolutional(p: Any, x: Any) -> Any:
    x = x.transpose(0, 2, 3, 1)
    for i in range(2):
        axes = ("NHWC", "HWIO", "NHWC")
        kernel = p[f"kernel{i}"]
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=axes)
        x = jax.nn.relu(x + p[f"shift{i}"])
    window = (1, 2, 2, 1)
    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
    x = jax.nn.relu(x.reshape(len(x), -1) @ p["weight0"] + p["bias0"])
    return x @ p["weight1"] + p["bias1"]


def elements(p: Any, x: Any) -> Any:
    y = jnp.tanh(p["a"] * x + p["b"]) * jax.nn.sigmoid(p["c"] * x) + jnp.exp(-x * x)
    return jnp.mean(y**2)


def rows(p: Any) -> Any:
    return jnp.sum(jax.nn.softmax(norm(p["x"], p["scale"], p["shift"]), axis=-1) ** 2)


def _classified(scores: Any, y: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()


def loss_of(shape: Shape, p: Any, batch: Any) -> Any:
    """The loss of a batch."""
    match shape:
        case Perceptron(regression=True):
            return jnp.mean((perceptron(shape, p, batch["x"]) - batch["y"]) ** 2)
        case Perceptron():
            return _classified(perceptron(shape, p, batch["x"]), batch["y"])
        case Transformer():
            return _classified(transformer(shape, p, batch["x"]), batch["y"])
        case Convolutional():
            return _classified(convolutional(p, batch["x"]), batch["y"])
        case Elements():
            return elements(p, batch["x"])
        case Rows():
            return rows(p)
    raise TypeError(f"no program is written for {type(shape).__name__}")


def _channels_last(shape: Convolutional, weights: Arrays) -> Arrays:
    """Convolutions of images whose channels come last are the quicker ones."""
    moved = dict(weights)
    for name, array in weights.items():
        if array.ndim == 4:
            assert array.shape[2:] == (KERNEL, KERNEL)
            moved[name] = array.transpose(2, 3, 1, 0)
    pixels = (shape.channels[1], shape.pooled, shape.pooled, shape.hidden)
    dense = weights["weight0"]
    moved["weight0"] = dense.reshape(pixels).transpose(1, 2, 0, 3).reshape(dense.shape)
    return moved


def prepare(workload: Workload) -> Program:
    """The program for a workload."""
    weights, data = workload.draw()
    shape = workload.shape
    if isinstance(shape, Convolutional):
        weights = _channels_last(shape, weights)
    state = {name: jnp.array(array) for name, array in weights.items()}
    batch = {name: jnp.array(array) for name, array in data.items()}
    differentiated = jax.value_and_grad(lambda p, batch: loss_of(shape, p, batch))
    if not workload.trained:
        both = jax.jit(differentiated)
        return Program(lambda: both(state, batch), lambda h: float(h[0]), jax.block_until_ready)

    b1, b2 = workloads.BETAS
    rule = optax.chain(
        optax.clip_by_global_norm(workloads.CLIP),
        optax.adamw(workloads.RATE, b1, b2, workloads.EPSILON, weight_decay=workloads.DECAY),
    )

    def change(p: Any, moments: Any, batch: Any) -> Any:
        loss, gradients = differentiated(p, batch)
        updates, moments = rule.update(gradients, moments, p)
        return optax.apply_updates(p, updates), moments, loss

    compiled = jax.jit(change, donate_argnums=(0, 1))
    now = (state, rule.init(state))

    def step() -> Any:
        nonlocal now
        p, moments, loss = compiled(*now, batch)
        now = (p, moments)
        return loss

    return Program(step, wait=lambda loss: jax.block_until_ready((now, loss)))
