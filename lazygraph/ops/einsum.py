"""Sums of products over axes that are named by letters."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from lazygraph.errors import ShapeError
from lazygraph.graph.tensor import Tensor, TensorLike, as_tensor
from lazygraph.ops.labelled import Labels, Term, diagonal, multiplied, refusal
from lazygraph.ops.layout import reshape

_FORM = re.compile(r"((?:[A-Za-z,]|\.{3})*)(?:->((?:[A-Za-z]|\.{3})*))?")


def einsum(subscripts: str, /, *operands: TensorLike) -> Tensor:
    """The sum of products over every axis whose letter is not in the result.

        "ij,jk->ik":  y[i, k] = sum over j of a[i, j] b[j, k]

    A letter that one operand has twice takes its diagonal. `...` stands for the axes that no
    letter names; those of several operands broadcast. Without `->`, the result has the axes of
    `...` and then the letters that occur once, as the alphabet has them. Of three operands and
    more, those two are multiplied next whose product adds the fewest elements.

    Args:
        subscripts: the letters of each operand, divided by commas, and of the result.
        operands: tensors, brought to one dtype.

    Returns:
        A tensor whose axes are those of the result.

    Raises:
        ShapeError: subscripts that cannot be read, or that do not fit the operands.

    Example:
        >>> import lazygraph as lg
        >>> a = lg.asarray([[1, 2], [3, 4]])
        >>> lg.einsum("ij,jk->ik", a, a).tolist(), lg.einsum("ii", a).item()
        ([[7, 10], [15, 22]], 5)
    """
    tensors = [as_tensor(x) for x in operands]
    try:
        inputs, output = _read(subscripts, [x.ndim for x in tensors])
        terms = [Term(x, labels) for x, labels in zip(tensors, inputs, strict=True)]
        lengths = _lengths(terms)
    except ShapeError as error:
        raise refusal("einsum", str(error), tensors) from None
    return multiplied([diagonal(_unstretched(term, lengths)) for term in terms], output)


def _read(subscripts: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the result."""
    found = _FORM.fullmatch(subscripts.replace(" ", ""))
    if found is None:
        raise ShapeError(
            f"subscripts must be letters, '...', commas and one '->'; got {subscripts!r}"
        )
    texts = found[1].split(",")
    if len(texts) != len(ranks):
        raise ShapeError(
            f"subscripts must be for as many operands as there are, {len(ranks)}; "
            f"got {subscripts!r}"
        )
    inputs = [_labels(text, rank) for text, rank in zip(texts, ranks, strict=True)]
    counts = Counter(chain.from_iterable(inputs))
    dots = sorted((k for k in counts if k[0] == "."), key=lambda k: -int(k[1:]))
    if found[2] is None:
        once = sorted(k for k in counts if k[0] != "." and counts[k] == 1)
        return inputs, (*dots, *once)
    if dots and "..." not in found[2]:
        raise ShapeError(f"the result must have the axes of '...' too; got {subscripts!r}")
    output = _labels(found[2], len(dots) + len(found[2].replace("...", "")))
    if len(set(output)) < len(output) or not set(output) <= counts.keys():
        raise ShapeError(
            f"each letter of the result must occur there once, and in an operand; got "
            f"{subscripts!r}"
        )
    return inputs, output


def _labels(text: str, rank: int) -> Labels:
    before, dots, behind = text.partition("...")
    more = rank - len(before) - len(behind)
    if "." in behind:
        raise ShapeError(f"'...' must stand once for an operand or the result; got {text!r}")
    if more < 0 or (more and not dots):
        needed = f"{len(before + behind)} axes" + (" or more" if dots else "")
        raise ShapeError(f"{text!r} is for an operand of {needed}; got one of {rank}")
    return (*before, *(f".{k}" for k in reversed(range(more))), *behind)


def _lengths(terms: Sequence[Term]) -> dict[str, int]:
    lengths: dict[str, int] = {}
    for x, labels in terms:
        for label, n in zip(labels, x.shape, strict=True):
            known = lengths.setdefault(label, n)
            if label[0] == "." and 1 in (n, known):
                lengths[label] = n if known == 1 else known
            elif n != known:
                what = "axes of '...'" if label[0] == "." else f"the axes of letter {label}"
                raise ShapeError(f"{what} must have one length; got {known} and {n}")
    return lengths


def _unstretched(term: Term, lengths: dict[str, int]) -> Term:
    """The term without axes of length 1 that another term has longer."""
    kept = [(k, n) for k, n in zip(term.labels, term.x.shape, strict=True) if n == lengths[k]]
    return Term(reshape(term.x, [n for _, n in kept]), tuple([k for k, _ in kept]))
