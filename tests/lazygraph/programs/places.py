"""Expressions that move, pick, combine and make elements."""

import numpy as np

from tests.lazygraph.eager import SAMPLED
from tests.lazygraph.eager.values import Value
from tests.lazygraph.programs.writer import (
    MOST,
    Writer,
    is_integer,
    is_number,
)


def reshaped(w: Writer) -> str:
    a = w.tensor(lambda x: True)
    size = w.value(a).size
    shapes = ((-1,), (size,), (1, -1), (2, -1), (-1, 3), (3, 2, -1), (2, 1, -1))
    return f"lg.reshape({a}, {w.rng.choice(shapes)})"


def permuted(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 1)
    if w.chance(0.4):
        return f"{a}.mT" if w.chance(0.5) and a.startswith("t") else f"lg.matrix_transpose({a})"
    rank = w.value(a).ndim
    if w.chance(0.3):
        return f"lg.moveaxis({a}, {w.rng.randrange(rank)}, {w.rng.randrange(-rank, 0)})"
    return f"lg.permute_dims({a}, {tuple(w.rng.sample(range(rank), rank))})"


def stretched(w: Writer) -> str:
    a = w.tensor(lambda x: True)
    x = w.value(a)
    form = w.rng.randrange(4)
    if form == 0:
        shape = (w.rng.randint(1, 3), *(3 if n == 1 else n for n in x.shape))
        return f"lg.broadcast_to({a}, {shape})"
    if form == 1:
        return f"lg.expand_dims({a}, {w.rng.randint(-x.ndim - 1, x.ndim)})"
    if form == 2:
        return f"lg.repeat({a}, {w.rng.randint(1, 3)}, axis={w.rng.choice((None, w.axis(x)))})"
    return f"lg.tile({a}, {tuple(w.rng.randint(1, 2) for _ in range(w.rng.randint(1, 3)))})"


def squeezed(w: Writer) -> str:
    a = w.tensor(lambda x: 1 in x.shape)
    return f"lg.squeeze({a}, {w.value(a).shape.index(1)})"


def turned(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 0)
    x = w.value(a)
    if w.chance(0.5):
        return f"lg.flip({a}, axis={w.axes(x)})"
    return f"lg.roll({a}, {w.rng.randint(-3, 3)}, axis={w.rng.choice((None, w.axis(x)))})"


def framed(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 0)
    widths = [(w.rng.randint(0, 2), w.rng.randint(0, 1)) for _ in w.value(a).shape]
    return f"lg.pad({a}, {widths}, value={w.rng.choice((0, 1, 0))})"


def triangle(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 1)
    return f"lg.{w.pick(('tril', 'triu'))}({a}, k={w.rng.randint(-1, 1)})"


def joined(w: Writer) -> str:
    a = w.tensor(is_number)
    x = w.value(a)
    others = w.tensors(lambda y: is_number(y) and y.shape == x.shape)
    several = ", ".join([a, *(w.pick(others) for _ in range(w.rng.randint(0, 2)))])
    if w.chance(0.5):
        return f"lg.stack([{several}], axis={w.rng.randint(-x.ndim - 1, x.ndim)})"
    return f"lg.concat([{several}], axis={w.axis(x)})"


def apart(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 0 and x.shape[0] > 0)
    return f"lg.unstack({a})[{w.rng.randrange(w.value(a).shape[0])}]"


def sliced(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 0)
    keys = [_key(w, n) for n in w.value(a).shape[: w.rng.randint(1, w.value(a).ndim)]]
    if w.chance(0.2):
        keys.insert(w.rng.randint(0, len(keys)), w.pick(("None", "...")))
    return f"{a}[{', '.join(keys)}]"


def _key(w: Writer, n: int) -> str:
    form = w.rng.randrange(5)
    if form == 0 and n:
        return str(w.rng.randrange(-n, n))
    if form == 1 and n:
        return f"np.array({[w.rng.randrange(-n, n) for _ in range(w.rng.randint(1, 4))]})"
    step = w.rng.choice((1, 1, 2, -1, -2))
    ends = [str(w.rng.randint(-n, n)) if w.chance(0.5) else "" for _ in range(2)]
    return f"{ends[0]}:{ends[1]}:{step}"


def masked(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 0)
    shape = w.value(a).shape
    mask = w.pick(w.tensors(lambda y: y.dtype == "bool" and y.shape == shape, False))
    return f"{a}[{mask}]"


def gathered(w: Writer) -> str:
    a = w.tensor(lambda x: x.ndim > 0 and x.size > 0)
    x = w.value(a)
    axis = w.axis(x)
    n = x.shape[axis]

    def points_inside(i: Value) -> bool:
        return is_integer(i) and i.size > 0 and bool(np.all((i.clean >= 0) & (i.clean < n)))

    if w.chance(0.3):
        along = w.tensor(lambda i: points_inside(i) and _matches(i, x, axis))
        return f"lg.take_along_axis({a}, {along}, axis={axis})"
    if w.chance(0.5):
        found = w.tensor(lambda i: points_inside(i) and i.size * x.size <= MOST * 3)
        return f"lg.take({a}, {found}, axis={axis})"
    indices = [w.rng.randrange(-n, n) for _ in range(w.rng.randint(1, 4))]
    return f"lg.take({a}, np.array({indices}), axis={axis})"


def _matches(i: Value, x: Value, axis: int) -> bool:
    axis %= x.ndim
    return i.ndim == x.ndim and all(
        n == m for a, (n, m) in enumerate(zip(i.shape, x.shape, strict=True)) if a != axis
    )


def chosen(w: Writer) -> str:
    a = w.tensor(lambda x: x.is_floating and x.ndim > 0)
    axis = w.axis(w.value(a))
    k = w.rng.randint(0, w.value(a).shape[axis])
    return f"lg.topk({a}, {k}, axis={axis}, largest={w.chance(0.5)})[{w.rng.randrange(2)}]"


def searched(w: Writer) -> str:
    row = w.tensor(
        lambda x: is_number(x) and x.ndim == 1 and bool(np.all(np.diff(x.clean) >= 0))
    )
    return f"lg.searchsorted({row}, {w.tensor(is_number)}, side={w.pick(('left', 'right'))!r})"


def one_hot(w: Writer) -> str:
    a = w.tensor(
        lambda x: is_integer(x) and x.size > 0 and 0 <= x.clean.min() <= x.clean.max() < 5
    )
    return f"lg.one_hot({a}, 5)"


def matrix_product(w: Writer) -> str:
    a = w.tensor(lambda x: is_number(x) and x.ndim > 0)
    x = w.value(a)
    turned = [f"lg.matrix_transpose({n})" for n in w.tensors(lambda y: _fits(x, y, -1))]
    return f"{a} @ {w.pick([*w.tensors(lambda y: _fits(x, y, -2)), *turned])}"


def _fits(x: Value, y: Value, axis: int) -> bool:
    if y.dtype == "bool" or y.ndim < 2 or y.shape[axis] != x.shape[-1]:
        return False
    try:
        np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        return False
    return x.size * y.size <= MOST * 12


def attention(w: Writer) -> str:
    a = w.tensor(lambda x: x.is_floating and x.ndim == 2 and x.size > 0)
    return f"lg.attention({a}, {a}, {a}, causal={w.chance(0.5)})"


def converted(w: Writer) -> str:
    a = w.tensor(lambda x: True)
    dtype = w.pick(("float64", "float32", "float64", "int64", "int32", "bool"))
    return f"lg.astype({a}, lg.{dtype if dtype != 'bool' else 'bool_'})".replace(
        "lg.bool_", '"bool"'
    )


def made(w: Writer) -> str:
    a = w.tensor(is_number)
    return w.pick(
        (
            f"lg.zeros_like({a})",
            f"lg.ones_like({a})",
            f"lg.full_like({a}, 2)",
            "lg.arange(0, 4)",
            "lg.arange(3, -3, -2, dtype=lg.float64)",
            "lg.linspace(-1.0, 1.0, 5, dtype=lg.float64)",
            "lg.eye(2, 3, dtype=lg.float64)",
            "lg.full((2, 3), 0.5, dtype=lg.float64)",
            "lg.ones((3,))",
            "lg.zeros((2, 0))",
        )
    )


def drawn(w: Writer) -> str:
    generator = f"lg.random.Generator({w.rng.randrange(5)})"
    shape = w.rng.choice(((3,), (2, 3), (), (3, 3)))
    form = w.rng.randrange(4)
    if form == 0:
        return f"{generator}.bernoulli(0.5, {shape})"
    if form == 1:
        return f"{generator}.bits({shape})"
    if form == 2:
        return f"{generator}.uniform({shape}, -1.0, 2.0, dtype=lg.float64)"
    return f"{generator}.normal({shape}, dtype=lg.{w.pick(('float32', 'float64'))})"


def sample(w: Writer) -> str:
    return f"sampled({w.pick(SAMPLED)!r}, {w.rng.randrange(9)})"
