"""Expressions of random programs, a function for each form."""

from typing import Any

import numpy as np

from tests.lazygraph.eager import SAMPLED
from tests.lazygraph.eager.values import Value
from tests.lazygraph.programs.writer import (
    MOST,
    Writer,
    is_integer,
    is_mask,
    is_number,
)

SMOOTH = (
    *("tanh", "sin", "cos", "tan", "exp", "expm1", "log", "log2", "log10", "log1p", "sqrt"),
    *("rsqrt", "reciprocal", "erf", "sigmoid", "softplus", "silu", "gelu", "sinh", "cosh"),
    *("asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "negative", "positive"),
)
KINKED = ("relu", "abs", "sign", "floor", "ceil", "trunc", "round")
PAIRS = (
    *("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "hypot"),
    *("atan2", "logaddexp", "floor_divide", "remainder", "copysign"),
)
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
REDUCTIONS = (
    *("sum", "mean", "max", "min", "prod", "var", "std", "logsumexp", "vector_norm"),
    *("sum", "mean"),
)


def smooth(w: Writer) -> str:
    return f"lg.{w.pick(SMOOTH)}({w.operand()})"


def kinked(w: Writer) -> str:
    return f"lg.{w.pick(KINKED)}({w.operand()})"


def positive_argument(w: Writer) -> str:
    inner = f"lg.square({w.operand()}) + 0.5"
    return f"lg.{w.pick(('log', 'sqrt', 'rsqrt', 'reciprocal', 'log2'))}({inner})"


def of_two(w: Writer) -> str:
    a = w.tensor(is_number)
    b = w.partner(a)
    a, b = (a, b) if w.chance(0.7) else (b, a)
    return f"lg.{w.pick(PAIRS)}({a}, {b})"


def operator(w: Writer) -> str:
    a = w.tensor(is_number)
    b = w.partner(a)
    a, b = (a, b) if w.chance(0.5) else (b, a)
    return f"{a} {w.pick(('+', '-', '*', '/', '+', '*'))} {b}"


def power(w: Writer) -> str:
    return f"{w.operand()} ** {w.pick(('2', '3', '0.5', '-1', '1.5', '1', '0'))}"


def comparison(w: Writer) -> str:
    a = w.tensor(is_number)
    return f"lg.{w.pick(COMPARISONS)}({a}, {w.partner(a)})"


def logic(w: Writer) -> str:
    a = w.tensor(is_mask)
    if w.chance(0.3):
        return f"lg.logical_not({a})"
    b = w.tensor(lambda y: y.dtype == "bool" and y.shape == w.value(a).shape)
    return f"lg.logical_{w.pick(('and', 'or', 'xor'))}({a}, {b})"


def bitwise(w: Writer) -> str:
    a = w.tensor(is_integer)
    if w.chance(0.4):
        return f"lg.bitwise_{w.pick(('left', 'right'))}_shift({a}, {w.rng.randint(0, 3)})"
    if w.chance(0.3):
        return f"lg.bitwise_invert({a})"
    shape = w.value(a).shape
    b = w.tensor(lambda y: is_integer(y) and y.shape == shape)
    return f"lg.bitwise_{w.pick(('and', 'or', 'xor'))}({a}, {b})"


def classified(w: Writer) -> str:
    return f"lg.{w.pick(('isfinite', 'isnan', 'isinf', 'signbit'))}({w.tensor()})"


def where(w: Writer) -> str:
    a = w.tensor(is_number)
    x = w.value(a)
    masks = w.tensors(lambda y: y.dtype == "bool" and y.shape in (x.shape, ()))
    condition = w.pick(masks) if masks and w.chance(0.6) else f"{a} > {w.number()}"
    return f"lg.where({condition}, {a}, {w.partner(a)})"


def clip(w: Writer) -> str:
    low, high = w.pick(("-1.0", "None", "0")), w.pick(("0.5", "2", "1"))
    return f"lg.clip({w.operand()}, {low}, {high})"


def reduction(w: Writer) -> str:
    a = w.tensor(is_number)
    f = w.pick(REDUCTIONS)
    if not w.value(a).is_floating and f in ("logsumexp", "vector_norm", "max", "min"):
        f = "sum"
    return f"lg.{f}({a}, axis={w.axes(w.value(a))}, keepdims={w.chance(0.4)})"


def truth(w: Writer) -> str:
    a = w.tensor(lambda x: True)
    f = w.pick(("any", "all", "count_nonzero"))
    return f"lg.{f}({a}, axis={w.axes(w.value(a))}, keepdims={w.chance(0.4)})"


def place(w: Writer) -> str:
    a = w.tensor(is_number)
    axis = w.axis(w.value(a)) if w.chance(0.7) else None
    return f"lg.{w.pick(('argmax', 'argmin'))}({a}, axis={axis}, keepdims={w.chance(0.3)})"


def along_an_axis(w: Writer) -> str:
    f = w.pick(("softmax", "log_softmax", "cumulative_sum", "sort", "argsort", "diff"))
    a = w.tensor(lambda x: x.is_floating and x.size > 0)
    more = f", descending={w.chance(0.5)}" if f.endswith("sort") else ""
    return f"lg.{f}({a}, axis={w.axis(w.value(a))}{more})"


def whole_norm(w: Writer) -> str:
    return f"lg.norm({w.tensor()})"


def layer_norm(w: Writer) -> str:
    return f"lg.layer_norm({w.tensor(lambda x: x.is_floating and x.ndim > 0)}, eps=0.1)"


def reshaped(w: Writer) -> str:
    a = w.tensor(lambda x: True)
    size = w.value(a).size
    shapes = [s for s in ((-1,), (size,), (1, -1), (2, -1), (-1, 3), (3, 2, -1), (2, 1, -1))]
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
    row = w.tensor(lambda x: is_number(x) and x.ndim == 1 and bool(np.all(np.diff(x.clean) >= 0)))
    return f"lg.searchsorted({row}, {w.tensor(is_number)}, side={w.pick(('left', 'right'))!r})"


def one_hot(w: Writer) -> str:
    a = w.tensor(lambda x: is_integer(x) and x.size > 0 and 0 <= x.clean.min() <= x.clean.max() < 5)
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


EXPRESSIONS: dict[Any, int] = {
    smooth: 14,
    kinked: 5,
    positive_argument: 4,
    of_two: 10,
    operator: 18,
    power: 4,
    comparison: 5,
    logic: 3,
    bitwise: 3,
    classified: 1,
    where: 6,
    clip: 3,
    reduction: 12,
    truth: 2,
    place: 2,
    along_an_axis: 6,
    whole_norm: 1,
    layer_norm: 2,
    reshaped: 5,
    permuted: 6,
    stretched: 6,
    squeezed: 2,
    turned: 3,
    framed: 3,
    triangle: 2,
    joined: 5,
    apart: 1,
    sliced: 9,
    masked: 2,
    gathered: 5,
    chosen: 2,
    searched: 1,
    one_hot: 1,
    matrix_product: 8,
    attention: 1,
    converted: 4,
    made: 2,
    drawn: 3,
    sample: 2,
}
