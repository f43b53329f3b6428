"""Products of tensors whose axes have labels, summed over labels."""

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations
from typing import NamedTuple

from lazygraph.errors import ShapeError
from lazygraph.graph.blame import noted
from lazygraph.graph.tensor import Tensor
from lazygraph.ops.arithmetic import multiply
from lazygraph.ops.contraction import matmul
from lazygraph.ops.layout import permute_dims, reshape, strided_slice
from lazygraph.ops.spread import sum

Labels = tuple[str, ...]


class Term(NamedTuple):
    """A tensor and a label for each of its axes."""

    x: Tensor
    labels: Labels

    def length(self, labels: Collection[str]) -> int:
        """The number of elements along some of its axes."""
        pairs = zip(self.labels, self.x.shape, strict=True)
        return math.prod([n for label, n in pairs if label in labels])

    def lengths(self, labels: Sequence[str]) -> list[int]:
        """The lengths of its axes of these labels."""
        return [self.x.shape[self.labels.index(label)] for label in labels]


def diagonal(term: Term) -> Term:
    """The elements whose indices agree wherever labels do; each label is left once.

    In a square of side n they stand n + 1 apart.
    """
    x, labels = term
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            rest = [axis for axis, k in enumerate(labels) if k != label]
            same = [axis for axis, k in enumerate(labels) if k == label]
            x = permute_dims(x, (*rest, *same))
            *before, n, _ = x.shape
            span = (0, n, n + 1) if n else (0, 0, 1)
            x = strided_slice(
                reshape(x, (*before, n * n)), (*[(0, m, 1) for m in before], span)
            )
            labels = (*[labels[axis] for axis in rest], *[label] * (len(same) - 1))
    return Term(x, labels)


def multiplied(terms: Sequence[Term], output: Labels) -> Tensor:
    """The product of all terms, summed over every label that is not in the output.

    Two are multiplied at a time: those whose product adds the fewest elements to what is there.

    Args:
        terms: with each label once.
        output: the labels of the result, in order.
    """
    left = list(terms)
    for i, term in enumerate(left):
        left[i] = _summed(term, _wanted(output, left[:i] + left[i + 1 :]))
    while len(left) > 1:
        i, j = min(combinations(range(len(left)), 2), key=lambda ij: _growth(left, ij, output))
        b, a = left.pop(j), left.pop(i)
        left.append(_product(a, b, _wanted(output, left)))
    x, labels = left[0]
    return permute_dims(x, [labels.index(label) for label in output])


def _wanted(output: Labels, terms: Sequence[Term]) -> set[str]:
    """The labels that somebody still needs."""
    return {*output, *chain.from_iterable([term.labels for term in terms])}


def _growth(terms: Sequence[Term], pair: tuple[int, int], output: Labels) -> int:
    a, b = (terms[i] for i in pair)
    others = [term for i, term in enumerate(terms) if i not in pair]
    kept = _wanted(output, others)
    only_b = [label for label in b.labels if label not in a.labels]
    size = a.length(kept) * b.length(kept.intersection(only_b))
    return size - a.x.size - b.x.size


def _summed(term: Term, kept: Collection[str]) -> Term:
    axes = [axis for axis, label in enumerate(term.labels) if label not in kept]
    labels = tuple([label for label in term.labels if label in kept])
    return Term(sum(term.x, axis=axes, dtype=term.x.dtype), labels) if axes else term


def _product(a: Term, b: Term, kept: Collection[str]) -> Term:
    """The product of two terms, summed over the labels that both have and nobody needs."""
    both = [label for label in a.labels if label in b.labels]
    batch = [label for label in both if label in kept]
    inner = [label for label in both if label not in kept]
    rows = [label for label in a.labels if label not in both]
    columns = [label for label in b.labels if label not in both]
    labels = (*batch, *rows, *columns)
    before = a.lengths(batch)
    if not inner:
        tall = (*before, *a.lengths(rows), *[1] * len(columns))
        wide = (*before, *[1] * len(rows), *b.lengths(columns))
        y = multiply(
            _arranged(a, (*batch, *rows), tall), _arranged(b, (*batch, *columns), wide)
        )
        return Term(y, labels)
    left = _arranged(a, (*batch, *rows, *inner), (*before, a.length(rows), a.length(inner)))
    right = _arranged(
        b, (*batch, *inner, *columns), (*before, b.length(inner), b.length(columns))
    )
    y = reshape(matmul(left, right), (*before, *a.lengths(rows), *b.lengths(columns)))
    return Term(y, labels)


def _arranged(term: Term, labels: Sequence[str], shape: Sequence[int]) -> Tensor:
    """The tensor with its axes in the order of the labels, reshaped."""
    order = [term.labels.index(label) for label in labels]
    return reshape(permute_dims(term.x, order), shape)


def refusal(name: str, message: str, operands: Iterable[Tensor]) -> ShapeError:
    """The error of a function of that name, with a note for each operand."""
    return noted(ShapeError(f"{name}: {message}"), *(x.node for x in operands))
