"""Small modules that tests share."""

from typing import Any

import lazygraph as lg
from training.module import Module


class Scale(Module):
    def __init__(self, value: Any = 2.0) -> None:
        self.factor = lg.Var("factor", value)

    def forward(self, x: lg.Tensor) -> lg.Tensor:
        return x * self.factor


class Tower(Module):
    """Has parts in every kind of container; `last` is tied to the first of `scales`."""

    def __init__(self) -> None:
        self.shift = lg.Var("any name", 1.0)
        self.size = 3
        self.scales = [Scale(2.0), Scale(3.0)]
        self.named = {"left": (Scale(4.0), [lg.Var("x", 5.0)]), "right": None}
        self.last = Scale(6.0)
        self.last.factor = self.scales[0].factor
        self.same = self.scales[1]

    def forward(self, x: lg.Tensor) -> list[lg.Tensor]:
        parts = [*self.scales, self.named["left"][0], self.last, self.same]  # type: ignore[index]
        return [x + self.shift, *(part(x) for part in parts)]


PATHS = [
    "shift",
    "scales.0.factor",
    "scales.1.factor",
    "named.left.0.factor",
    "named.left.1.0",
]


def scopes(tensors: list[lg.Tensor]) -> list[str]:
    return [tensor.node.scope for tensor in tensors]
