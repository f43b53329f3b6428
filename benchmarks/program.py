"""What a program offers to be measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.workloads import Product


class UnavailableError(Exception):
    """The program cannot do a workload; the message says why."""


def by_numpy(product: Product) -> Callable[[], object]:
    """Does a product, in memory that is kept."""
    rng = np.random.default_rng(0)

    def operand(rows: int, columns: int, turned: bool) -> Any:
        rows, columns = (columns, rows) if turned else (rows, columns)
        shape = (product.count, rows, columns) if product.count > 1 else (rows, columns)
        x = rng.standard_normal(shape, np.float32)
        return x.mT if turned else x

    a = operand(product.m, product.k, product.turned[0])
    b = operand(product.k, product.n, product.turned[1])
    out = a @ b
    return lambda: np.matmul(a, b, out=out)


def _nothing(handle: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Program:
    """One workload in one library, ready to run.

    Attributes:
        step: runs a step, or begins to, and returns a handle on it.
        loss: the loss of the step, before its update.
        wait: returns when the step is done, its update included.
        product: makes a call that does a matrix product as the program would.
        predicted: bytes that the program says it needs, by what they are for.
    """

    step: Callable[[], Any]
    loss: Callable[[Any], float] = float
    wait: Callable[[Any], object] = _nothing
    product: Callable[[Product], Callable[[], object]] = by_numpy
    predicted: Callable[[], Mapping[str, int]] = dict
