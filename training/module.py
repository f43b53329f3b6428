"""Modules: the parts of a model, which find their parameters and give them a path."""

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import lazygraph as lg
from lazygraph import errors

Keys = tuple[Any, ...]


class Module:
    """A part of a model: Vars, other modules, and `forward`, which says what it computes.

    Attributes that are Vars or modules, and lists, tuples and dicts of them, are found without
    being declared. Where one stands is its path: the names, positions and keys that lead to it,
    joined by dots. Calling a module runs `forward` in a scope named by the path, so that
    listings and pictures of the graph show it. Modules can be copied and pickled; what is tied
    stays tied.

    Attributes:
        training: whether layers that behave differently in training, such as dropout, do so.
        buffer_names: of attributes whose Vars no optimizer moves, such as running statistics.
        pending: the next values of those, by name, until `updates` hands them out.

    Example:
        >>> class Line(Module):
        ...     def __init__(self) -> None:
        ...         self.slope, self.shift = lg.Var("slope", 2.0), lg.Var("shift", 1.0)
        ...
        ...     def forward(self, x):
        ...         return self.slope * x + self.shift
        >>> Line()(3.0).item()
        7.0
    """

    training: bool = True
    buffer_names: tuple[str, ...] = ()
    pending: Mapping[str, lg.Tensor] = {}
    _path: str = ""  # from the root that last listed its parameters
    _routes: Mapping[int, tuple[Keys, str]] = {}  # from here to the modules below, by their id

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; call the module itself, so that the nodes get its scope."""
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        caller, above = _calling.get()
        path = self._path if caller is None else caller._path_to(self)
        token = _calling.set((self, _joined(above, path)))
        try:
            if not path:
                return self.forward(*args, **kwargs)
            with lg.scope(path):
                return self.forward(*args, **kwargs)
        finally:
            _calling.reset(token)

    def parameters(self) -> dict[str, lg.Var]:
        """The Vars for an optimizer by path, in the order of definition, without buffers.

        A tied one is at its first path only. Each Var takes its path as its name, unless this
        module has been listed as a part of another one: then names go on to say where a Var
        stands in the whole.

        Returns:
            A new dict of the model's own Vars.

        Raises:
            ValueError: two Vars have one path, as the keys of a dict can bring about.
        """
        held = {id(var) for var in self._held()}
        return {path: var for path, var in self._vars().items() if id(var) not in held}

    def buffers(self) -> dict[str, lg.Var]:
        """The Vars that no optimizer moves, such as running statistics, as `parameters`."""
        held = {id(var) for var in self._held()}
        return {path: var for path, var in self._vars().items() if id(var) in held}

    def updates(self) -> list[tuple[lg.Var, lg.Tensor]]:
        """The next values of buffers, lazily, that runs since the last call led to.

        Each is handed out once, for the step that belongs to those runs:

            loop.step(loss, optimizer, assign=model.updates())

        Returns:
            Pairs of a Var and its next value; none, if no module has buffers.
        """
        pairs: list[tuple[lg.Var, lg.Tensor]] = []
        for module in self.modules().values():
            pairs += [(vars(module)[name], value) for name, value in module.pending.items()]
            module.pending = {}
        return pairs

    def _held(self) -> Iterator[lg.Var]:
        for module in self.modules().values():
            for name in module.buffer_names:
                yield vars(module)[name]

    def _vars(self) -> dict[str, lg.Var]:
        """Parameters and buffers, each named by its path."""
        found: dict[str, lg.Var] = {}
        parts = list(_first_places(self))
        for path, part in parts:
            if isinstance(part, lg.Var):
                if path in found:
                    raise ValueError(f"a path must lead to one Var; got two for {path!r}")
                found[path] = part
        if not self._path:
            for path, part in parts:
                if isinstance(part, lg.Var):
                    part.name = path
                else:
                    part._path = path
        return found

    def modules(self) -> dict[str, "Module"]:
        """This module, whose path is empty, and all below by path, each at its first."""
        return {path: part for path, part in _first_places(self) if isinstance(part, Module)}

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The values of parameters and buffers by path: arrays that nothing changes."""
        return {path: var.numpy() for path, var in self._vars().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace the values of all parameters and buffers, or of none.

        Args:
            state: for each path an array of the parameter's shape. A floating parameter keeps
                its dtype and takes any number (float64 is rounded to float32); an integer one
                takes no floats. A tied parameter may be there under several of its paths, with
                equal values.

        Raises:
            CheckpointError: in one sentence, all that is missing, unexpected or does not fit.

        Example:
            >>> class Scale(Module):
            ...     def __init__(self) -> None:
            ...         self.factor = lg.Var("factor", [1.0, 2.0])
            >>> Scale().load_state_dict({"factor": [7.0], "shift": [0.0]})
            Traceback (most recent call last):
            lazygraph.errors.CheckpointError: a state must fit its model; unexpected: shift; ...
        """
        found = self._vars()
        values = _fitting(self, found, state)
        lg.replace_all([(var.cell, var.successor(values[path])) for path, var in found.items()])

    def train(self) -> Self:
        """Make this module and all below behave as in training; returns the module."""
        for module in self.modules().values():
            module.training = True
        return self

    def eval(self) -> Self:
        """Make this module and all below behave as in use; returns the module."""
        for module in self.modules().values():
            module.training = False
        return self

    def _path_to(self, part: "Module") -> str:
        """The path from here to a module below; empty if it is none of ours."""
        keys, path = self._routes.get(id(part), ((), ""))
        if _follow(self, keys) is not part:
            # Never asked for, or attributes have changed: a remembered route is only a hint.
            places = [*_places(self)][::-1]  # so that a part with two goes by its first
            self._routes = {id(each): (keys, _text(keys)) for keys, each in places}
            keys, path = self._routes.get(id(part), ((), ""))
        return path


# The module whose `forward` is running, and its path from the outermost one.
_calling: ContextVar[tuple[Module | None, str]] = ContextVar("calling", default=(None, ""))


def path_now(module: Module) -> str:
    """The path of a module: from the outermost one that is running, else as last listed."""
    caller, path = _calling.get()
    return path if caller is module else module._path


def _joined(above: str, path: str) -> str:
    return f"{above}.{path}" if above and path else above or path


def _text(keys: Keys) -> str:
    return ".".join(map(str, keys))


def _members(module: Module) -> Iterator[tuple[Keys, Module | lg.Var]]:
    """The Vars and modules among the attributes, and in lists, tuples and dicts there."""
    attributes = [((name,), value) for name, value in vars(module).items() if name != "_routes"]
    waiting: list[tuple[Keys, Any]] = attributes[::-1]
    while waiting:
        keys, value = waiting.pop()
        if isinstance(value, Module | lg.Var):
            yield keys, value
        elif isinstance(value, list | tuple | dict):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*keys, key), item) for key, item in items][::-1]


def _places(root: Module) -> Iterator[tuple[Keys, Module | lg.Var]]:
    """Every place of every part, in order; what a module holds at its first place only."""
    entered: set[int] = set()
    waiting: list[tuple[Keys, Module | lg.Var]] = [((), root)]
    while waiting:
        keys, part = waiting.pop()
        yield keys, part
        if isinstance(part, Module) and id(part) not in entered:
            entered.add(id(part))
            waiting += [((*keys, *more), member) for more, member in _members(part)][::-1]


def _first_places(root: Module) -> Iterator[tuple[str, Module | lg.Var]]:
    """Every part once, at its first place."""
    seen: set[int] = set()
    for keys, part in _places(root):
        if id(part) not in seen:
            seen.add(id(part))
            yield _text(keys), part


def _follow(module: Module, keys: Keys) -> Any:
    """What the keys lead to, or None."""
    item: Any = module
    try:
        for key in keys:
            item = vars(item)[key] if isinstance(item, Module) else item[key]
    except (KeyError, IndexError, TypeError):
        return None
    return item


def _fitting(
    model: Module, own: Mapping[str, lg.Var], state: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """The new value of each of its own Vars, if the state has one for all and nothing else."""
    first = {id(var): path for path, var in own.items()}
    found = {_text(keys): part for keys, part in _places(model) if isinstance(part, lg.Var)}
    known = {path: found[path] for path in state if path in found}
    given = {id(var) for var in known.values()}
    missing = [path for number, path in first.items() if number not in given]
    unexpected = [path for path in state if path not in found]
    faults = [f"missing: {', '.join(missing)}"] if missing else []
    faults += [f"unexpected: {', '.join(map(str, unexpected))}"] if unexpected else []
    values: dict[str, NDArray[Any]] = {}
    for path, var in known.items():
        try:
            array = var.accepted(state[path])
        except (errors.ShapeError, errors.DTypeError) as error:
            faults.append(f"{path}: {str(error).removeprefix(f'{var.name}: ')}")
            continue
        copy = values.setdefault(first[id(var)], array)
        if copy is not array and not np.array_equal(copy, array, equal_nan=True):
            faults.append(f"{path}: a tied parameter must be equal to {first[id(var)]}")
    if faults:
        raise errors.CheckpointError(f"a state must fit its model; {'; '.join(faults)}")
    return values
