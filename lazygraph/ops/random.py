"""Random tensors: pure functions of a key and a counter, wherever they are computed."""

import os
import threading
from typing import Any

import numpy as np

from lazygraph.dtypes import DEFAULT_FLOAT, as_dtype, float32, uint32, uint64
from lazygraph.errors import DTypeError
from lazygraph.graph.leaves import data_node
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Shape, Spec
from lazygraph.graph.tensor import Tensor, TensorLike, apply
from lazygraph.ops import threefry
from lazygraph.ops.conversion import astype
from lazygraph.ops.creation import ShapeLike, _shape
from lazygraph.ops.record import define
from lazygraph.ops.transcendental import cos, log, sqrt

# The way from the first process to this one: for each fork, the number that it had in its
# parent.
_lineage: list[int] = []
_forks = 0
_lock = threading.Lock()  # of all generators, so that a fork can make it anew


def _count_fork() -> None:
    global _forks
    _forks += 1


def _enter_child() -> None:
    global _forks, _lock
    _lineage.append(_forks)
    _forks, _lock = 0, threading.Lock()


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
        return apply(RANDOM_BITS, key, draw, params=(_shape(shape),))

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
