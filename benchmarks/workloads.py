"""What is measured: seven workloads, their sizes, and the weights and batches of all."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = dict[str, Array]

# Of AdamW, on all weights, and of the clip by the global norm before it.
RATE, BETAS, EPSILON, DECAY, CLIP = 3e-4, (0.9, 0.99), 1e-8, 0.1, 1.0
NORM_EPSILON = 1e-5  # under the root of every layer norm
KERNEL = 3  # the side of a convolution's window
# A unit that comes alive gets a whole step of AdamW at once. With this seed rounding does not
# decide when, and losses can be compared.
_SEED = 1


@dataclass(frozen=True, slots=True)
class Product:
    """`count` products of `(m, k)` by `(k, n)`, done `times` times in a step.

    Attributes:
        turned: which operands are read by columns, as their transposes lie in memory.
    """

    m: int
    k: int
    n: int
    turned: tuple[bool, bool] = (False, False)
    count: int = 1
    times: int = 1


class Shape(Protocol):
    """A kind of model, with its sizes."""

    def weights(self, rng: Generator) -> Arrays:
        """The first weights, by name."""

    def batch(self, rng: Generator) -> Arrays:
        """The one batch that every step sees."""

    def products(self) -> Iterator[Product]:
        """The matrix products of a step; a convolution counts as that of its windows."""


def _uniform(rng: Generator, inputs: int, *shape: int) -> Array:
    bound = 1.0 / math.sqrt(inputs)
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def _normal(rng: Generator, *shape: int, scale: float = 1.0) -> Array:
    return scale * rng.standard_normal(shape, np.float32)


def _classes(rng: Generator, count: int, *shape: int) -> Array:
    return rng.integers(0, count, shape, np.int32)


def _dense(rows: int, inputs: int, outputs: int, times: int = 1) -> Iterator[Product]:
    """Forward, the gradient of the weights, and that of the inputs."""
    yield Product(rows, inputs, outputs, times=times)
    yield Product(inputs, rows, outputs, (True, False), times=times)
    yield Product(rows, outputs, inputs, (False, True), times=times)


def _first_dense(rows: int, inputs: int, outputs: int) -> list[Product]:
    return list(_dense(rows, inputs, outputs))[:2]  # nobody asks for the gradient of data


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Dense layers: with tanh and a squared error for a regression, else relu and classes."""

    widths: tuple[int, ...]
    rows: int
    regression: bool = False

    def weights(self, rng: Generator) -> Arrays:
        found = {}
        for i, (n, m) in enumerate(pairwise(self.widths)):
            found[f"weight{i}"] = _uniform(rng, n, n, m)
            found[f"bias{i}"] = _uniform(rng, n, m)
        return found

    def batch(self, rng: Generator) -> Arrays:
        x = _normal(rng, self.rows, self.widths[0])
        if self.regression:
            return {"x": x, "y": _normal(rng, self.rows, self.widths[-1])}
        return {"x": x, "y": _classes(rng, self.widths[-1], self.rows)}

    def products(self) -> Iterator[Product]:
        yield from _first_dense(self.rows, *self.widths[:2])
        for n, m in pairwise(self.widths[1:]):
            yield from _dense(self.rows, n, m)


@dataclass(frozen=True, slots=True)
class Transformer:
    """A GPT without biases and dropout, its head tied to the table of tokens."""

    layers: int
    heads: int
    width: int
    time: int
    rows: int
    characters: int = 65

    def weights(self, rng: Generator) -> Arrays:
        n = self.width
        onto_residual = 0.02 / math.sqrt(2 * self.layers)
        found = {
            "tokens": _normal(rng, self.characters, n, scale=0.02),
            "places": _normal(rng, self.time, n, scale=0.02),
        }
        for i in range(self.layers):
            found[f"{i}.norm1"] = np.ones(n, np.float32)
            found[f"{i}.qkv"] = _normal(rng, n, 3 * n, scale=0.02)
            found[f"{i}.mix"] = _normal(rng, n, n, scale=onto_residual)
            found[f"{i}.norm2"] = np.ones(n, np.float32)
            found[f"{i}.expand"] = _normal(rng, n, 4 * n, scale=0.02)
            found[f"{i}.contract"] = _normal(rng, 4 * n, n, scale=onto_residual)
        found["norm"] = np.ones(n, np.float32)
        return found

    def batch(self, rng: Generator) -> Arrays:
        x, y = _classes(rng, self.characters, 2, self.rows, self.time)
        return {"x": x, "y": y}

    def products(self) -> Iterator[Product]:
        n, t, each = self.width, self.time, self.width // self.heads
        rows, blocks = self.rows * t, self.rows * self.heads
        for inputs, outputs in ((n, 3 * n), (n, n), (n, 4 * n), (4 * n, n)):
            yield from _dense(rows, inputs, outputs, self.layers)
        yield from _dense(rows, n, self.characters)
        # q k' and g v', then p v, s k and s' q, p' g.
        yield Product(t, each, t, (False, True), blocks, 2 * self.layers)
        yield Product(t, t, each, (False, False), blocks, 2 * self.layers)
        yield Product(t, t, each, (True, False), blocks, 2 * self.layers)


@dataclass(frozen=True, slots=True)
class Convolutional:
    """Two convolutions without padding, max-pooling by two, and two dense layers."""

    side: int
    channels: tuple[int, int]
    hidden: int
    classes: int
    rows: int

    @property
    def pooled(self) -> int:
        """The side of an image after the pooling."""
        return (self.side - 2 * (KERNEL - 1)) // 2

    def weights(self, rng: Generator) -> Arrays:
        found: Arrays = {}
        inputs = 1
        for i, outputs in enumerate(self.channels):
            n = inputs * KERNEL * KERNEL
            found[f"kernel{i}"] = _uniform(rng, n, outputs, inputs, KERNEL, KERNEL)
            found[f"shift{i}"] = _uniform(rng, n, outputs)
            inputs = outputs
        widths = (inputs * self.pooled**2, self.hidden, self.classes)
        for i, (n, m) in enumerate(pairwise(widths)):
            found[f"weight{i}"] = _uniform(rng, n, n, m)
            found[f"bias{i}"] = _uniform(rng, n, m)
        return found

    def batch(self, rng: Generator) -> Arrays:
        x = _normal(rng, self.rows, 1, self.side, self.side)
        return {"x": x, "y": _classes(rng, self.classes, self.rows)}

    def products(self) -> Iterator[Product]:
        first, second = self.channels
        sides = [self.side - (KERNEL - 1) * (i + 1) for i in range(2)]
        yield from _first_dense(self.rows * sides[0] ** 2, KERNEL**2, first)
        yield from _dense(self.rows * sides[1] ** 2, KERNEL**2 * first, second)
        yield from _dense(self.rows, second * self.pooled**2, self.hidden)
        yield from _dense(self.rows, self.hidden, self.classes)


@dataclass(frozen=True, slots=True)
class Elements:
    """`mean((tanh(a x + b) sigmoid(c x) + exp(-x x))^2)`, forward and backward."""

    count: int

    def weights(self, rng: Generator) -> Arrays:
        return {name: _normal(rng, self.count) for name in "abc"}

    def batch(self, rng: Generator) -> Arrays:
        return {"x": _normal(rng, self.count)}

    def products(self) -> Iterator[Product]:
        yield from ()


@dataclass(frozen=True, slots=True)
class Rows:
    """The sum of squares of a softmax of a layer norm, forward and backward."""

    rows: int
    columns: int

    def weights(self, rng: Generator) -> Arrays:
        return {
            "x": _normal(rng, self.rows, self.columns),
            "scale": 1 + _normal(rng, self.columns, scale=0.1),
            "shift": _normal(rng, self.columns, scale=0.1),
        }

    def batch(self, rng: Generator) -> Arrays:
        return {}

    def products(self) -> Iterator[Product]:
        yield from ()


@dataclass(frozen=True, slots=True)
class Workload:
    """A model with its sizes, and whether a step also updates the weights.

    Attributes:
        name: what it is called on the command line.
        shape: the model.
        trained: clip and AdamW belong to a step; otherwise it is forward and backward only.
    """

    name: str
    shape: Shape
    trained: bool = True

    def draw(self) -> tuple[Arrays, Arrays]:
        """First weights and batch: the same on each call, and each time fresh arrays."""
        rng = np.random.default_rng([_SEED, *self.name.encode()])
        return self.shape.weights(rng), self.shape.batch(rng)

    def of(self, shape: Shape) -> "Workload":
        """The same with other sizes."""
        return replace(self, shape=shape)


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("tiny", Perceptron((16, 32, 1), 32, regression=True)),
        Workload("mlp", Perceptron((784, 512, 512, 10), 128)),
        Workload("gpt_baby_cpu", Transformer(layers=4, heads=4, width=128, time=64, rows=12)),
        Workload("gpt_small", Transformer(layers=6, heads=6, width=384, time=256, rows=8)),
        Workload("convnet", Convolutional(28, (32, 64), hidden=128, classes=10, rows=64)),
        Workload("pointwise", Elements(1 << 22), trained=False),
        Workload("layernorm_softmax", Rows(8192, 768), trained=False),
    )
}
