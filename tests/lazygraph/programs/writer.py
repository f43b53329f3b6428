"""What a line of a random program may speak of."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.lazygraph.eager.values import Value
from tests.lazygraph.eager.variables import Var
from tests.lazygraph.machine import Machine

NUMBERS = ("2", "0.5", "1", "1.0", "0", "0.0", "-0.0", "-1.5", "3", "-1", "0.25")
MOST = 72  # elements of a tensor


class NothingFitsError(Exception):
    """Nothing is there yet that the line could speak of."""


def is_floating(x: Value) -> bool:
    return x.is_floating


def is_integer(x: Value) -> bool:
    return not x.is_floating and x.dtype != "bool"


def is_number(x: Value) -> bool:
    return x.dtype != "bool"


def is_mask(x: Value) -> bool:
    return x.dtype == "bool"


class Writer:
    """Draws the parts of lines, by what the model of a machine says is there."""

    def __init__(self, machine: Machine, rng: random.Random) -> None:
        self.machine, self.rng = machine, rng
        self.count = 0

    def new(self, letter: str = "t") -> str:
        """A name that was never used."""
        self.count += 1
        return f"{letter}{self.count}"

    def names(self, wanted: Callable[[Any], bool]) -> list[str]:
        return [name for name in self.machine.names() if wanted(self.machine.model[name])]

    def value(self, name: str) -> Value:
        found: Any = self.machine.model[name]
        result: Value = found.value if isinstance(found, Var) else found
        return result

    def tensors(self, wanted: Callable[[Value], bool], variables: bool = True) -> list[str]:
        """Names of tensors, and of Vars, whose present value counts."""
        letters = "tw" if variables else "t"
        return [
            name
            for name in self.machine.names()
            if name[0] in letters and wanted(self.value(name))
        ]

    def tensor(self, wanted: Callable[[Value], bool] = is_floating) -> str:
        return self.pick(self.tensors(wanted))

    def pick(self, options: Sequence[str]) -> str:
        if not options:
            raise NothingFitsError
        return self.rng.choice(options)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def number(self) -> str:
        return self.rng.choice(NUMBERS)

    def operand(self, wanted: Callable[[Value], bool] = is_floating) -> str:
        """A tensor, or a small expression that nobody will hold."""
        name = self.tensor(wanted)
        if self.value(name).is_floating and self.chance(0.25):
            return f"({name} {self.rng.choice('+-*')} {self.number()})"
        return name

    def partner(self, name: str) -> str:
        """A number, or what broadcasts with a tensor."""
        x = self.value(name)
        if self.chance(0.25):
            return self.number()

        def fits(y: Value) -> bool:
            try:
                shape = np.broadcast_shapes(x.shape, y.shape)
            except ValueError:
                return False
            return y.dtype != "bool" and int(np.prod(shape)) <= MOST

        return self.tensor(fits)

    def axis(self, x: Value) -> int:
        """One axis, counted from either end."""
        if not x.ndim:
            raise NothingFitsError
        return self.rng.randrange(-x.ndim, x.ndim)

    def axes(self, x: Value) -> Any:
        """None, an axis, or several."""
        if not x.ndim or self.chance(0.3):
            return None
        if self.chance(0.6):
            return self.axis(x)
        return tuple(sorted(self.rng.sample(range(x.ndim), self.rng.randint(1, x.ndim))))

    def data(self, shape: tuple[int, ...], dtype: str) -> str:
        """An array: short numbers, whose ties and zeros are exact, or others."""
        size = int(np.prod(shape))
        if dtype == "bool":
            entries: list[Any] = [self.chance(0.5) for _ in range(size)]
        elif not dtype.startswith("float"):
            low = 0 if dtype.startswith("u") else -3
            entries = [self.rng.randint(low, 4) for _ in range(size)]
        elif self.chance(0.5):
            entries = [self.rng.randint(-8, 8) / 4.0 for _ in range(size)]
        else:
            entries = [round(self.rng.uniform(-2.0, 2.0), 3) for _ in range(size)]
        if not size:
            return f'np.zeros({shape}, "{dtype}")'
        text = np.array2string(
            np.reshape(np.array(entries, object), shape),
            separator=", ",
            max_line_width=10_000,
            threshold=10_000,
        )
        return f'np.array({" ".join(text.split())}, "{dtype}")'
