"""Reverse mode over the tape of eager values."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lazygraph.errors import GradientError
from tests.lazygraph.eager.values import (
    RejectedError,
    Value,
    are_short,
    coarsest,
    disturbed,
    leaf,
)
from tests.lazygraph.exactness import Array

Arrays = Mapping[Value, Array]


def history(roots: Iterable[Value], stopping: bool = False) -> list[Value]:
    """All that the roots were computed from, in the order of birth.

    With `stopping` nothing below a detached value, which no gradient reaches.
    """
    found: set[Value] = set()
    waiting = list(roots)
    while waiting:
        x = waiting.pop()
        if x not in found:
            found.add(x)
            waiting += () if stopping and x.stops else x.parents
    return sorted(found, key=lambda x: x.born)


def check_versions(order: Iterable[Value]) -> None:
    """Raise GradientError if there are two versions of one Var."""
    seen: dict[Any, Value] = {}
    for x in order:
        if x.owner is not None and seen.setdefault(x.owner, x) is not x:
            raise GradientError("two versions of a Var")


def pulled_back(
    order: list[Value], arrays: Arrays, y: Value, u: Array, disturb: bool = False
) -> dict[Value, Array]:
    """The gradient of `<u, y>` for each value, at any point of the tape."""
    total: dict[Value, Array] = {y: u}
    with np.errstate(all="ignore"):
        for node in reversed(order):
            if node.pull is None or node not in total or node.stops:
                continue
            g = disturbed(total[node], node.dtype) if disturb else total[node]
            shares = node.pull(g, arrays[node], *[arrays[x] for x in node.parents])
            for x, share in zip(node.parents, shares, strict=True):
                if share is not None and x.is_floating:
                    share = summed_to(np.asarray(share), x.shape)
                    share = disturbed(share, x.dtype) if disturb else share
                    total[x] = total[x] + share if x in total else share
    return total


def summed_to(share: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting."""
    while share.ndim > len(shape):
        share = share.sum(axis=0)
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and share.shape[i] != 1)
    return np.asarray(share.sum(axis=stretched, keepdims=True)) if stretched else share


def gradients(y: Value, upstream: Value | None) -> dict[Value, Value]:
    """The gradient for every floating value that `y` depends on."""
    if not y.is_floating:
        raise GradientError("not floating")
    order = history([y], stopping=True)
    check_versions(order)
    u = leaf(np.ones(y.shape)) if upstream is None else upstream
    clean = pulled_back(order, {x: x.clean for x in order}, y, u.clean)
    noisy = clean
    if not (all(x.is_exact for x in (*order, u)) and all(map(are_short, clean.values()))):
        noisy = pulled_back(order, {x: x.noisy for x in order}, y, u.noisy, disturb=True)
        noisy = {x: disturbed(g, x.dtype) for x, g in noisy.items()}
    grain = coarsest(y.dtype, [*order, u])
    return {x: Value(g, noisy[x], x.dtype, grain=grain) for x, g in clean.items()}


def curvature(y: Value, x: Value, v: Array) -> Array:
    """The gradient for `x` of `<v, gradient of y for x>`, by differences of first gradients.

    Raises:
        RejectedError: steps of two sizes disagree: a kink is near.
    """
    order = history([y])

    def slope(step: float) -> Array:
        arrays: dict[Value, Array] = {}
        with np.errstate(all="ignore"):
            for node in order:
                at = [arrays[parent] for parent in node.parents]
                arrays[node] = np.asarray(node.forward(*at)) if node.forward else node.clean
                if node is x:
                    arrays[node] = node.clean + step * v
        return pulled_back(order, arrays, y, np.ones(y.shape))[x]

    def central(step: float) -> Array:
        return np.asarray((slope(step) - slope(-step)) / (2.0 * step))

    coarse, fine = central(2e-3), central(1e-3)
    best = np.asarray((4.0 * fine - coarse) / 3.0)
    ahead = (slope(1e-3) - slope(0.0)) / 1e-3
    scale = 1.0 + np.abs(best).max(initial=0.0)
    smooth = np.abs(fine - best) <= 1e-4 * scale
    if not np.all(smooth & (np.abs(ahead - fine) <= 0.02 * scale)) or scale > 1e3:
        raise RejectedError("a kink is near")
    return best


def copied(root: Value) -> Value:
    """The value with a history and Vars of its own, as a pickle makes it."""
    twins: dict[Value, Value] = {}
    owners: dict[Any, object] = {None: None}
    for x in history([root]):
        parents = [twins[p] for p in x.parents]
        twin = twins[x] = Value(x.clean, x.noisy, x.dtype, parents, x.forward, x.pull, x.grain)
        twin.realized, twin.stops = x.realized, x.stops
        twin.owner = owners.setdefault(x.owner, object())
    return twins[root]
