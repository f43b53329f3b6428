"""Random tensors: pure functions of a key and a counter, wherever they are computed."""

import os
from typing import Any

import numpy as np

from lazygraph.dtypes import (
    DEFAULT_FLOAT,
    DEFAULT_INTEGER,
    INTEGER,
    DType,
    as_dtype,
    float32,
    uint32,
    uint64,
)
from lazygraph.errors import DTypeError
from lazygraph.graph.leaves import data_node
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.locks import lock_across_forks
from lazygraph.ops import threefry
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import ShapeLike, as_shape
from lazygraph.ops.rearranging import unstack
from lazygraph.ops.record import define
from lazygraph.ops.sorting import argsort
from lazygraph.ops.transcendental import cos, log, sqrt

# The way from the first process to this one: for each fork, the number that it had in its
# parent.
_lineage: list[int] = []
_forks = 0
_lock = lock_across_forks()  # of all generators


def _count_fork() -> None:
    global _forks
    _forks += 1


def _enter_child() -> None:
    global _forks
    _lineage.append(_forks)
    _forks = 0


if hasattr(os, "register_at_fork"):  # where processes can fork
    os.register_at_fork(before=_count_fork, after_in_child=_enter_child)


def _bits(key: Any, counter: Any, out: Any, *, shape: Shape) -> None:
    threefry.random_bits(key, counter, out)


RANDOM_BITS = define(
    "random_bits",
    infer=lambda key, counter, shape: Spec(shape, uint32),
    evaluate=_bits,
    kind=Kind.CREATION,
    params=("shape",),
    coerce=Coerce.NONE,
    samples=lambda rng: [
        Sample((np.array([1, 2], np.uint32), np.array(3, np.uint64)), ((3,),)),
        Sample((np.array([1, 2], np.uint32), np.array(3, np.uint64)), ((0, 2),)),
    ],
)


class Generator:
    """A source of independent draws: a key made from a seed, and a counter of the draws so far.

    Each draw is one graph node whose bits are a pure function of (key, counter): realized
    twice, differentiated or computed again, it gives the same numbers, and two draws differ. A
    process that was forked draws other numbers than its parent and its siblings.

    Args:
        seed: any non-negative integer below 2**64.

    Raises:
        ValueError: the seed is out of range.

    Source: the bits are those of Threefry-2x32 with 20 rounds; Salmon et al., "Parallel Random
    Numbers: As Easy as 1, 2, 3", SC 2011.

    Example:
        >>> a, b = Generator(7).uniform((2,)), Generator(7).uniform((2,))
        >>> a.tolist() == b.tolist()
        True
    """

    def __init__(self, seed: int) -> None:
        if not 0 <= seed < 2**64:
            raise ValueError(f"a seed must be in [0, 2**64); got {seed}")
        self._seed = int(seed)
        self._counter = 0

    def state_dict(self) -> dict[str, int]:
        """What is needed to go on from here: the seed and the number of draws so far."""
        return {"seed": self._seed, "counter": self._counter}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from a state that `state_dict` gave."""
        with _lock:
            self._seed, self._counter = int(state["seed"]), int(state["counter"])

    def bits(self, shape: ShapeLike) -> Tensor:
        """32 random bits an element, as uint32."""
        with _lock:
            counter, self._counter = self._counter, self._counter + 1
        words = np.array([self._seed & 0xFFFFFFFF, self._seed >> 32], np.uint32)
        for fork in _lineage:
            words = _folded(words, fork)
        key = Tensor(data_node(words))
        draw = Tensor(data_node(np.array(counter, uint64.dtype)))
        return apply(RANDOM_BITS, key, draw, params=(as_shape(shape),))

    def uniform(
        self,
        shape: ShapeLike = (),
        low: float = 0.0,
        high: float = 1.0,
        *,
        dtype: Any = DEFAULT_FLOAT,
    ) -> Tensor:
        """Numbers evenly spread over [low, high), of 24 (float32) or 48 random bits."""
        unit = self._unit(shape, as_dtype(dtype), 0.0)
        return unit if (low, high) == (0.0, 1.0) else unit * (high - low) + low

    def _unit(self, shape: ShapeLike, dtype: Any, shift: float) -> Tensor:
        """Multiples of 2**-24 (or 2**-48) in [0, 1), moved up by `shift` of them."""
        if not dtype.is_floating:
            raise DTypeError(f"random floats need a floating dtype; got {dtype}")
        high = astype(self.bits(shape) >> 8, dtype)
        if dtype is float32:
            return (high + shift) * 2.0**-24
        return (high + (astype(self.bits(shape) >> 8, dtype) + shift) * 2.0**-24) * 2.0**-24

    def normal(
        self,
        shape: ShapeLike = (),
        mean: float = 0.0,
        std: float = 1.0,
        *,
        dtype: Any = DEFAULT_FLOAT,
    ) -> Tensor:
        """Numbers from the normal distribution, by the Box-Muller transform.

        sqrt(-2 log(u)) cos(2 pi v),  u in (0, 1], v in [0, 1)
        """
        wanted = as_dtype(dtype)
        u, v = self._unit(shape, wanted, 1.0), self._unit(shape, wanted, 0.0)
        z = sqrt(-2.0 * log(u)) * cos(v * (2.0 * np.pi))
        return z if (mean, std) == (0.0, 1.0) else z * std + mean

    def bernoulli(self, p: TensorLike, shape: ShapeLike) -> Tensor:
        """Booleans, each true with probability `p`."""
        return self.uniform(shape) < p

    def integers(
        self, low: int, high: int, shape: ShapeLike = (), *, dtype: Any = DEFAULT_INTEGER
    ) -> Tensor:
        """Integers evenly spread over [low, high).

            low + floor(u (high - low) / 2^64),  u of 64 random bits

        Each integer has a probability within 2^-64 of `1 / (high - low)`.

        Args:
            low: the smallest integer.
            high: the one after the greatest.
            shape: the shape of the result.
            dtype: an integer dtype that holds them.

        Raises:
            ValueError: there is no integer from `low` to `high`.
            DTypeError: the dtype does not hold them.

        Example:
            >>> sorted(set(Generator(7).integers(-1, 2, (50,)).tolist()))
            [-1, 0, 1]
        """
        wanted = as_dtype(dtype)
        if low >= high:
            raise ValueError(f"integers needs low < high; got {low} and {high}")
        if wanted.category != INTEGER or not _holds(wanted, low, high - 1):
            raise DTypeError(
                f"integers needs an integer dtype that holds [{low}, {high}); got {wanted}"
            )
        scaled = _high_word(self._words(shape), high - low)
        return astype(scaled + low % 2**64, wanted)

    def permutation(self, n: int) -> Tensor:
        """The integers 0 .. n-1 in an order of which every one is equally likely.

        They are sorted by keys of 64 random bits. That two keys are alike, so that their
        integers stay in order, has a probability of about `n^2 / 2^65`.

        Args:
            n: how many integers.

        Returns:
            An int64 tensor of shape `(n,)`.

        Example:
            >>> sorted(Generator(7).permutation(4).tolist())
            [0, 1, 2, 3]
        """
        high, low = self._words((n,))
        return argsort((high << 32) | low)

    def _words(self, shape: ShapeLike) -> tuple[Tensor, Tensor]:
        """The halves of 64 random bits an element, each in a uint64."""
        high, low = unstack(astype(self.bits((*as_shape(shape), 2)), uint64), axis=-1)
        return high, low


def _holds(dtype: DType, smallest: int, greatest: int) -> bool:
    limits = np.iinfo(dtype.dtype)
    return bool(limits.min <= smallest and greatest <= limits.max)


def _high_word(words: tuple[Tensor, Tensor], factor: int) -> Tensor:
    """The upper 64 bits of a product of 64 bits and a factor up to 2^64, by long hand."""
    (a, b), (c, d) = words, divmod(factor, 2**32)
    middle = a * d + (b * d >> 32)
    if not c:
        return middle >> 32
    carried = b * c + (middle & 0xFFFFFFFF)
    return a * c + (middle >> 32) + (carried >> 32)


def _folded(words: Any, fork: int) -> Any:
    out = np.empty(2, np.uint32)
    threefry.random_bits(words, np.array(fork, np.uint64), out)
    return out


_default = Generator(0)


def seed(seed: int) -> None:
    """Start the default generator anew.

    Args:
        seed: any non-negative integer below 2**64.
    """
    _default.load_state_dict(Generator(seed).state_dict())


def default_generator() -> Generator:
    """The generator that the functions of this module draw from; its seed is 0 until `seed`."""
    return _default


def uniform(
    shape: ShapeLike = (), low: float = 0.0, high: float = 1.0, *, dtype: Any = DEFAULT_FLOAT
) -> Tensor:
    """`Generator.uniform` of the default generator."""
    return _default.uniform(shape, low, high, dtype=dtype)


def normal(
    shape: ShapeLike = (), mean: float = 0.0, std: float = 1.0, *, dtype: Any = DEFAULT_FLOAT
) -> Tensor:
    """`Generator.normal` of the default generator."""
    return _default.normal(shape, mean, std, dtype=dtype)


def bernoulli(p: TensorLike, shape: ShapeLike) -> Tensor:
    """`Generator.bernoulli` of the default generator."""
    return _default.bernoulli(p, shape)


def bits(shape: ShapeLike) -> Tensor:
    """`Generator.bits` of the default generator."""
    return _default.bits(shape)


def integers(
    low: int, high: int, shape: ShapeLike = (), *, dtype: Any = DEFAULT_INTEGER
) -> Tensor:
    """`Generator.integers` of the default generator."""
    return _default.integers(low, high, shape, dtype=dtype)


def permutation(n: int) -> Tensor:
    """`Generator.permutation` of the default generator."""
    return _default.permutation(n)
