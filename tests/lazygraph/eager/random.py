"""Random numbers of a generator of the same seed, asked for at once."""

from collections.abc import Callable
from typing import Any

import lazygraph
from tests.lazygraph.eager.values import Value, leaf


class Generator:
    """Draws as often as the generator under test, and realizes each draw by itself."""

    def __init__(self, seed: int) -> None:
        self._generator = lazygraph.random.Generator(seed)

    def _asked(self, draw: Callable[..., lazygraph.Tensor], *args: Any, **named: Any) -> Value:
        return leaf(draw(*args, **named).numpy())

    def bits(self, shape: Any) -> Value:
        return self._asked(self._generator.bits, shape)

    def uniform(self, shape: Any, low: float = 0.0, high: float = 1.0, **named: Any) -> Value:
        return self._asked(self._generator.uniform, shape, low, high, **named)

    def normal(self, shape: Any, mean: float = 0.0, std: float = 1.0, **named: Any) -> Value:
        return self._asked(self._generator.normal, shape, mean, std, **named)

    def bernoulli(self, p: float, shape: Any) -> Value:
        return self._asked(self._generator.bernoulli, p, shape)
