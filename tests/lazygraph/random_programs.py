"""Random programs over the public functions, whose moves can be made again on the same data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import lazygraph as lg
from tests.lazygraph.exactness import Array

LENGTHS = (1, 2, 3, 4, 5, 8, 9, 17)
LARGEST = 4000  # elements of any value

Function = Callable[..., lg.Tensor]
Move = tuple[str, Function, tuple[int, ...]]
Kind = Callable[["Program"], Move | None]


class Program:
    """Leaves, and moves that each make a value of those before it."""

    def __init__(self, seed: int, length: int = 10) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype: Any = (np.float32, np.float64)[self.below(2)]
        self.leaves = [self.numbers(self.shape()) for _ in range(3)]
        self.moves: list[Move] = []
        self.values = [lg.asarray(x) for x in self.leaves]
        while len(self.moves) < length:
            move = KINDS[self.rng.integers(len(KINDS))](self)
            if move is not None:
                self._make(move)

    def _make(self, move: Move) -> None:
        value = move[1](*(self.values[i] for i in move[2]))
        if value.size <= LARGEST:
            self.moves.append(move)
            self.values.append(value)

    def run(self, see: Callable[[lg.Tensor], object]) -> list[lg.Tensor]:
        """Make all moves on fresh leaves; each value made passes `see`."""
        values = [lg.asarray(x) for x in self.leaves]
        for _, function, operands in self.moves:
            values.append(function(*(values[i] for i in operands)))
            see(values[-1])
        return values

    def __str__(self) -> str:
        names = [f"{name}{list(operands)}" for name, _, operands in self.moves]
        return f"{[x.shape for x in self.leaves]} {self.dtype.__name__}: {'; '.join(names)}"

    # What moves draw from.

    def shape(self) -> tuple[int, ...]:
        while True:
            lengths = self.rng.choice(LENGTHS, self.rng.integers(0, 5))
            if lengths.prod() <= LARGEST:
                return tuple(lengths.tolist())

    def numbers(self, shape: tuple[int, ...]) -> Array:
        return np.asarray(self.rng.standard_normal(shape)).astype(self.dtype)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def operand(self, fits: Callable[[lg.Tensor], bool] = lambda x: True) -> int | None:
        found = [i for i, x in enumerate(self.values) if fits(x)]
        late = found[-6:] if self.chance(0.7) else found
        return late[self.below(len(late))] if late else None

    def axed(self, rank: int = 1) -> int | None:
        return self.operand(lambda x: x.ndim >= rank and x.size > 0)


UNARY: dict[str, Function] = {
    "tanh": lg.tanh,
    "sin": lg.sin,
    "exp": lambda x: lg.exp(-lg.abs(x)),
    "log": lambda x: lg.log(lg.abs(x) + 0.5),
    "sigmoid": lg.sigmoid,
    "erf": lg.erf,
    "sqrt": lambda x: lg.sqrt(lg.abs(x) + 0.1),
    "rsqrt": lambda x: lg.rsqrt(x * x + 0.1),
    "reciprocal": lambda x: lg.reciprocal(lg.abs(x) + 1),
    "square": lambda x: lg.square(lg.tanh(x)),
    "relu": lg.relu,
    "gelu": lg.gelu,
    "clip": lambda x: lg.clip(x, -0.5, 0.5),
    "negative twice": lambda x: lg.negative(-x),
    "times 1": lambda x: x * 1.0,
    "wide and back": lambda x: lg.astype(lg.astype(x, lg.float64), x.dtype),
    "the same either way": lambda x: lg.where(x > 0, x, x),
    "plus a negative": lambda x: lg.tanh(x) + -x,
    "detach": lambda x: x.detach(),
    "norm": lg.norm,
    "layer_norm": lambda x: lg.layer_norm(x) if x.ndim and x.size else x * 2,
    "other width": lambda x: lg.astype(x, lg.float32 if x.dtype is lg.float64 else lg.float64),
    "random": lambda x: x * lg.random.Generator(5).uniform(x.shape, dtype=x.dtype),
}
BINARY: dict[str, Function] = {
    "add": lg.add,
    "subtract": lg.subtract,
    "multiply": lambda a, b: lg.tanh(a) * b,
    "divide": lambda a, b: a / (lg.abs(b) + 1),
    "maximum": lg.maximum,
    "minimum": lg.minimum,
    "power": lambda a, b: (lg.abs(a) + 0.3) ** lg.tanh(b),
    "root": lambda a, b: (lg.abs(a) + 0.3) ** lg.full_like(a, 0.5) + b,
    "where": lambda a, b: lg.where(a > b, a, lg.tanh(b)),
}
REDUCTIONS: dict[str, Any] = {
    "sum": lg.sum,
    "mean": lg.mean,
    "max": lg.max,
    "min": lg.min,
    "var": lg.var,
    "logsumexp": lg.logsumexp,
}


def unary(p: Program) -> Move | None:
    name = str(p.rng.choice(list(UNARY)))
    i = p.operand()
    return None if i is None else (name, UNARY[name], (i,))


def binary(p: Program) -> Move | None:
    i = p.operand()
    if i is None:
        return None
    x = p.values[i]

    def fits(y: lg.Tensor) -> bool:
        pairs = zip(x.shape[::-1], y.shape[::-1], strict=False)
        return all(n == m or 1 in (n, m) for n, m in pairs)

    j = p.operand(fits)
    name = str(p.rng.choice(list(BINARY)))
    return None if j is None else (name, BINARY[name], (i, j))


def permuted(p: Program) -> Move | None:
    i = p.axed(2)
    if i is None:
        return None
    axes = tuple(p.rng.permutation(p.values[i].ndim).tolist())
    if p.chance(0.3):
        return "mT", lambda x: x.mT, (i,)
    return f"permute {axes}", lambda x: lg.permute_dims(x, axes), (i,)


def _key(p: Program, n: int) -> Any:
    first, step = p.below(n), 1 + p.below(2)
    keys = (slice(None), slice(None, None, -1), slice(first, None, step))
    more = (slice(first, None, -step), slice(0, max(1, n - 1)), first if n > 1 else slice(None))
    return (*keys, *more)[p.below(6)]


def sliced(p: Program) -> Move | None:
    i = p.axed()
    if i is None:
        return None
    key = tuple(_key(p, n) for n in p.values[i].shape)
    return f"slice {key}", lambda x: x[key], (i,)


def _factors(size: int) -> Iterator[int]:
    for prime in (2, 3, 5, 7, 11, 13, 17):
        while size % prime == 0 and size > 1:
            yield prime
            size //= prime
    yield size


def reshaped(p: Program) -> Move | None:
    i = p.axed()
    if i is None:
        return None
    shape = [1] * (1 + p.below(3))
    for factor in _factors(p.values[i].size):
        shape[p.below(len(shape))] *= factor
    if p.chance(0.3):
        return f"{shape} and back", lambda x: lg.reshape(lg.reshape(x, shape), x.shape), (i,)
    return f"reshape {shape}", lambda x: lg.reshape(x, shape), (i,)


def stretched(p: Program) -> Move | None:
    i = p.operand()
    if i is None:
        return None
    shape = tuple(2 + p.below(3) if n == 1 else n for n in p.values[i].shape)
    if p.chance(0.5):
        shape = (1 + p.below(3), *shape)
    return f"broadcast {shape}", lambda x: lg.broadcast_to(x, shape), (i,)


def reduced(p: Program) -> Move | None:
    i = p.axed()
    if i is None:
        return None
    rank, keep = p.values[i].ndim, p.chance(0.6)
    axes = tuple(p.rng.choice(rank, 1 + p.below(rank), replace=False).tolist())
    name = str(p.rng.choice([*REDUCTIONS, "softmax", "log_softmax"]))
    if name in REDUCTIONS:
        reduce = REDUCTIONS[name]
        return f"{name} {axes}", lambda x: reduce(x, axis=axes, keepdims=keep), (i,)
    across = lg.softmax if name == "softmax" else lg.log_softmax
    return f"{name} {axes[0]}", lambda x: across(x, axis=axes[0]), (i,)


def product_with_itself(p: Program) -> Move | None:
    i = p.axed(2)
    if i is None:
        return None
    if p.chance(0.5):
        return "x @ x.mT", lambda x: lg.tanh(x @ x.mT), (i,)
    return "x.mT @ x", lambda x: lg.tanh(x.mT @ x), (i,)


def product(p: Program) -> Move | None:
    i = p.axed()
    if i is None:
        return None
    x, n = p.values[i], int(p.rng.choice(LENGTHS))
    k = x.shape[-1]
    batch = [(), x.shape[:-2], (1,) * len(x.shape[:-2])][p.below(3)]
    right, turned, v = p.numbers((*batch, k, n)), p.numbers((*batch, n, k)), p.numbers((k,))
    left = p.numbers((n, *x.shape[-2:-1], 1)[:2])
    ways: list[tuple[str, Function]] = [
        (f"x @ {right.shape}", lambda x: lg.tanh(x @ right)),
        (f"x @ {turned.shape}.mT", lambda x: lg.tanh(x @ lg.asarray(turned).mT)),
        ("x @ v", lambda x: x @ v),
        (f"{left.shape} @ x", lambda x: lg.tanh(left @ x if x.ndim > 1 else left * x)),
        (f"x @ constants.T of {n}", lambda x: lg.tanh(x @ _constants(n, k, x.dtype).T)),
    ]
    name, function = ways[p.below(len(ways))]
    return name, function, (i,)


def _constants(rows: int, columns: int, dtype: lg.DType) -> lg.Tensor:
    """What a plan computes when it is built."""
    return lg.astype(lg.reshape(lg.arange(rows * columns), (rows, columns)), dtype) * 0.01


def gathered(p: Program) -> Move | None:
    i = p.axed()
    if i is None:
        return None
    x = p.values[i]
    axis = p.below(x.ndim)
    n, shape = x.shape[axis], tuple(1 + p.below(4) for _ in range(1 + p.below(2)))
    picked = p.rng.integers(-n, n, shape)
    if p.chance(0.5):
        return f"take {axis}", lambda x: lg.take(x, picked, axis=axis), (i,)
    along = (*x.shape[:axis], shape[0], *x.shape[axis + 1 :])
    places = p.rng.integers(-n, n, along)
    return f"along {axis}", lambda x: lg.take_along_axis(x, places, axis=axis), (i,)


def joined(p: Program) -> Move | None:
    i = p.axed()
    j = None if i is None else p.operand(lambda y: y.shape == p.values[i].shape)
    if i is None or j is None:
        return None
    axis, join = p.below(p.values[i].ndim), lg.concat if p.chance(0.5) else lg.stack
    return f"{join.__name__} {axis}", lambda x, y: join([x, y[::-1]], axis=axis), (i, j)


# As often as they are listed.
KINDS: tuple[Kind, ...] = (
    *(
        unary,
        unary,
        unary,
        binary,
        binary,
        binary,
        permuted,
        permuted,
        permuted,
        sliced,
        sliced,
    ),
    *(reshaped, reshaped, stretched, stretched, reduced, reduced, reduced),
    *(product_with_itself, product_with_itself, product, product, product, gathered, joined),
)
