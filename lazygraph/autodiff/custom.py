"""Functions that bring their own gradient."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, overload
from weakref import WeakSet

import numpy as np

from lazygraph.autodiff.closures import Recipe, recipe_of
from lazygraph.autodiff.gradcheck import gradcheck
from lazygraph.errors import GradientError, ShapeError
from lazygraph.graph.leaves import VARIABLE
from lazygraph.graph.op import Coerce, Kind, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import Tensor, apply, as_tensor
from lazygraph.graph.var import Var
from lazygraph.graph.walk import postorder
from lazygraph.ops.conversion import STOP, astype
from lazygraph.ops.infer import broadcast_shapes
from lazygraph.ops.record import define
from lazygraph.ops.spread import broadcast_to
from lazygraph.source import capture, describe, place

Forward = Callable[..., tuple[Tensor, Callable[[Tensor], Any]]]


@overload
def custom_gradient(
    function: Forward, *, check: Sequence[Any] | None = None
) -> Callable[..., Tensor]: ...


@overload
def custom_gradient(
    *, check: Sequence[Any] | None = None
) -> Callable[[Forward], Callable[..., Tensor]]: ...


def custom_gradient(
    function: Forward | None = None, *, check: Sequence[Any] | None = None
) -> Any:
    """A function whose gradient is what it says, whatever its ops would give.

        value, pullback = function(*tensors);   shares = pullback(upstream)

    The pullback gives for each tensor among the arguments its share of the gradient, of the
    tensor's shape or one that broadcasts with it, or None if no gradient flows there: a tuple,
    or the share itself if there is one. It is run when a gradient is asked for, and recorded as
    everything else, so that it has a gradient of its own. What it closes over may be tensors,
    numbers, texts, tuples and frozen dataclasses of these, functions and modules. Anything else
    may change unnoticed: then no plan that contains the function is used twice, which a warning
    says.

    Args:
        function: from tensors and other arguments to a tensor and its pullback. Arguments that
            are tensors, Vars or arrays arrive as tensors. May be left out in a decorator.
        check: arguments to check the gradient at, by `gradcheck`, before it is used.

    Returns:
        A function of the same arguments that returns the value. Use it as a decorator too.

    Raises:
        GradientError: what `gradcheck` finds; later, a Var that is used but no argument, which
            would get no gradient, and a pullback that does not give one share each.

    Example:
        >>> import lazygraph as lg
        >>> @lg.custom_gradient
        ... def identity_with_clipped_gradient(x):
        ...     return x, lambda g: lg.clip(g, -1.0, 1.0)
        >>> x = lg.asarray([1.0, 2.0])
        >>> loss = lg.sum(identity_with_clipped_gradient(x) * lg.asarray([0.5, -9.0]))
        >>> loss.backward()[x].tolist()
        [0.5, -1.0]
    """
    if function is None:
        return functools.partial(custom_gradient, check=check)
    recorded = _recorded(function)
    if check is not None:
        gradcheck(recorded, check)
    return recorded


def _recorded(function: Forward) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def recorded(*args: Any, **options: Any) -> Tensor:
        given = [as_tensor(x) if isinstance(x, _TENSORS) else x for x in args]
        inputs = [x for x in given if isinstance(x, Tensor)]
        if any(isinstance(x, _TENSORS) for x in options.values()):
            raise TypeError(
                f"{_name(function)} must be given tensors by position; got a keyword"
            )
        value, pullback = _checked(function, function(*given, **options))
        _check_sources(function, value, inputs)
        recipe, tensors = recipe_of(pullback)
        if recipe.unsure:
            _report(function, recipe)
        return apply(CUSTOM, value, *inputs, *tensors, params=(recipe,))

    return recorded


_TENSORS = (Tensor, Var, np.ndarray)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _checked(function: Forward, result: Any) -> tuple[Tensor, Callable[[Tensor], Any]]:
    match result:
        case (Tensor() as value, pullback) if callable(pullback):
            return value, pullback
    raise TypeError(
        f"{_name(function)} must return a tensor and a function of its upstream; got {result!r}"
    )


def _check_sources(function: Forward, value: Tensor, inputs: Sequence[Tensor]) -> None:
    known = {x.node for x in inputs}
    for node in postorder([value.node], lambda node: node in known or node.op is STOP):
        if node.op is VARIABLE and node not in known:
            name = node.params[0].name  # type: ignore[attr-defined]
            raise GradientError(
                f"{_name(function)} must be given every Var that it uses as an argument, or "
                f"use it detached; got Var {name!r} from elsewhere"
            )


_reported: WeakSet[Any] = WeakSet()


def _report(function: Forward, recipe: Recipe) -> None:
    """Warn, once for each function."""
    if function in _reported:
        return
    _reported.add(function)
    names = ", ".join(map(repr, dict.fromkeys(recipe.unsure)))
    line = place(capture())
    warnings.warn_explicit(
        f"the gradient of {_name(function)} depends on {names}, whose contents may change: "
        "every realization with it will build a plan of its own",
        UserWarning,
        line.filename,
        line.lineno,
    )


def _shares(
    g: Tensor, y: Tensor, value: Tensor, *rest: Tensor, pullback: Recipe
) -> list[Tensor | None]:
    count = len(rest) - pullback.tensors
    inputs, tensors = rest[:count], rest[count:]
    found = pullback.build(tensors)(g)
    shares = list(found) if isinstance(found, tuple | list) else [found]
    if len(shares) != count:
        raise GradientError(
            f"{pullback.name} must give a share for each of {count} tensors; got "
            f"{len(shares)}, for what was recorded at {describe(y.node.source)}"
        )
    given = [_share(share, x, pullback) for share, x in zip(shares, inputs, strict=True)]
    return [None, *given, *[None] * len(tensors)]


def _share(share: Any, x: Tensor, pullback: Recipe) -> Tensor | None:
    if share is None:
        return None
    tensor = as_tensor(share, x.dtype)
    try:
        shape = broadcast_shapes(tensor.shape, x.shape)
    except ShapeError:
        raise ShapeError(
            f"{pullback.name} must give a share of the shape {x.shape}; got {tensor.shape}"
        ) from None
    return broadcast_to(astype(tensor, x.dtype), shape)


def _first(value: Spec, *others: Spec, pullback: Recipe) -> Spec:
    return value


CUSTOM = define(
    "custom_gradient",
    infer=_first,
    evaluate=lambda value, *others, pullback: value[...],
    gradient=_shares,
    kind=Kind.VIEW,
    params=("pullback",),
    coerce=Coerce.NONE,
    # Integers, since the gradient with respect to the value is none, on purpose.
    samples=lambda rng: [
        Sample((np.arange(6).reshape(2, 3),), (recipe_of(lambda g: g)[0],)),
    ],
)
