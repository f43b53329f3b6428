"""What all optimizers have in common: parameters, a rate, state, and one indivisible step."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lazygraph as lg
from training.update import Slots, update_of_gradients, update_of_loss

Array = NDArray[Any]
State = dict[str, lg.Tensor]


class Optimizer(ABC):
    """An algorithm that moves parameters against their gradients.

    A subclass gives its numbers (`hyperparameters`), the first state of a parameter (`initial`)
    and one formula (`rule`). All of it is pure: `update` maps gradients, state and parameters
    to new ones, lazily, and a step commits the results at once.

    Args:
        params: the parameters: a list of Vars, or a mapping to them as a module's
            `parameters()` gives it. A Var that occurs twice counts once.
        lr: the learning rate, not negative.

    Raises:
        ValueError: no parameters, two of one name, or a rate that is negative or not finite.
        TypeError: something that is not a Var, or a Var that is not floating.
    """

    def __init__(self, params: Iterable[lg.Var] | Mapping[str, lg.Var], lr: float) -> None:
        self._params = _distinct(params)
        # As they were at the start: `rule` may go by them, and a module may rename Vars later.
        self.names = tuple(var.name for var in self._params)
        self.index_of = {var.identity: i for i, var in enumerate(self._params)}
        self.rate: lg.Cell[float] = lg.Cell(checked("lr", lr))
        self.state: lg.Cell[tuple[Slots, ...]] = lg.Cell(
            tuple(Slots(0, self.initial(var)) for var in self._params)
        )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls) and "update" not in vars(cls):
            raise TypeError(
                f"{cls.__name__} must define `update` with `step`: "
                "a training loop calls `update`"
            )

    @abstractmethod
    def hyperparameters(self) -> dict[str, Hashable]:
        """All numbers that `rule` uses: two optimizers of one class that agree in them, and in
        their parameters, compute the same thing.
        """

    @abstractmethod
    def initial(self, var: lg.Var) -> dict[str, Array]:
        """The state of a parameter that was never updated."""

    @abstractmethod
    def rule(
        self, name: str, g: lg.Tensor, state: State, p: lg.Tensor, lr: lg.Tensor
    ) -> tuple[lg.Tensor, State]:
        """The new value and state of one parameter, lazily.

        Args:
            name: the parameter's name.
            g: its gradient, of its spec.
            state: its arrays, as `initial` named them, and `step`, int64 of shape (), the
                number of updates before this one.
            p: its value.
            lr: the learning rate, float64 of shape ().
        """

    def update(
        self,
        grads: Mapping[str, lg.Tensor],
        state: Mapping[str, State],
        params: Mapping[str, lg.Tensor],
        lr: lg.Tensor,
    ) -> tuple[dict[str, lg.Tensor], dict[str, State]]:
        """The pure core: new parameters and state from gradients, lazily.

        Args:
            grads: the gradient of each parameter to be updated.
            state: the state of each of them, `step` included.
            params: the value of each of them.
            lr: the learning rate, float64 of shape ().

        Returns:
            New parameters and new states, for the names in `grads`.
        """
        new_params, new_state = {}, {}
        for name, g in grads.items():
            new_params[name], arrays = self.rule(name, g, state[name], params[name], lr)
            new_state[name] = {**arrays, "step": state[name]["step"] + 1}
        return new_params, new_state

    def params(self) -> list[lg.Var]:
        """The parameters, each once."""
        return list(self._params)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step."""
        return self.rate.get()

    def set_learning_rate(self, lr: float) -> None:
        """Change the learning rate.

        Raises:
            ValueError: negative or not finite.
        """
        lg.replace_all([(self.rate, checked("lr", lr))])

    def step(self, grads: Mapping[str, Any] | lg.GradientMap) -> None:
        """Update every parameter that has a gradient, in one realization.

        Args:
            grads: gradients by name, or what `backward()` gave. A parameter that is missing is
                left alone, its state too.

        Raises:
            KeyError: a name that is not a parameter's.
            ShapeError: a gradient of another shape than its parameter.
        """
        update_of_gradients(self, grads).commit()

    def backward_step(self, loss: lg.Tensor) -> None:
        """Update every parameter that the loss depends on, in one realization.

        Args:
            loss: a floating tensor of one element.
        """
        update_of_loss(self, loss).commit()

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on: the rate, and the state of each parameter by its name.

        Arrays in it are read-only, and no later step changes them.
        """
        return {
            "algorithm": type(self).__name__,
            "learning_rate": self.learning_rate,
            "state": {
                var.name: {"step": slots.step, **_read_only(slots.arrays)}
                for var, slots in zip(self._params, self.state.get(), strict=True)
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state that `state_dict` gave; on an error nothing is changed.

        Arrays are copied, and take the dtype that the optimizer gives them.

        Raises:
            ValueError: another algorithm, other names, arrays or shapes.
        """
        if state["algorithm"] != type(self).__name__:
            raise ValueError(
                f"the state must be of {type(self).__name__}; got one of {state['algorithm']}"
            )
        names = {var.name for var in self._params}
        if names != set(state["state"]):
            wrong = sorted(names ^ set(state["state"]))
            raise ValueError(f"the state must have the parameters' names; {wrong} differ")
        slots = tuple(self._loaded(var, state["state"][var.name]) for var in self._params)
        rate = checked("learning_rate", state["learning_rate"])
        lg.replace_all([(self.state, slots), (self.rate, rate)])

    def _loaded(self, var: lg.Var, given: Mapping[str, Any]) -> Slots:
        arrays = {}
        for key, array in self.initial(var).items():
            if key not in given or np.shape(given[key]) != array.shape:
                got = np.shape(given[key]) if key in given else "nothing"
                raise ValueError(f"{key} of {var.name} must be of {array.shape}; got {got}")
            arrays[key] = np.array(given[key], array.dtype)
        step = int(given.get("step", -1))
        if step < 0:
            got = given.get("step", "nothing")
            raise ValueError(f"step of {var.name} must not be negative; got {got}")
        return Slots(step, arrays)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        # Copied and unpickled Vars have identities of their own.
        self.index_of = {var.identity: i for i, var in enumerate(self._params)}

    def __repr__(self) -> str:
        numbers = ", ".join(f"{k}={v!r}" for k, v in self.hyperparameters().items())
        return f"{type(self).__name__}({len(self._params)} parameters, {numbers})"


def _distinct(params: Iterable[lg.Var] | Mapping[str, lg.Var]) -> tuple[lg.Var, ...]:
    given = params.values() if isinstance(params, Mapping) else params
    by_name: dict[str, lg.Var] = {}
    for var in given:
        if not isinstance(var, lg.Var):
            raise TypeError(f"an optimizer takes Vars; got {var!r}")
        if not var.dtype.is_floating:
            raise TypeError(f"an optimizer takes floating Vars; got {var!r}")
        if by_name.setdefault(var.name, var) is not var:
            raise ValueError(f"the names of parameters must differ; got {var.name!r} twice")
    if not by_name:
        raise ValueError("an optimizer needs at least one parameter; got none")
    return tuple(by_name.values())


def _read_only(arrays: Mapping[str, Array]) -> dict[str, Array]:
    views = {name: array.view() for name, array in arrays.items()}
    for view in views.values():
        view.flags.writeable = False
    return views


def checked(name: str, value: float, below: float = float("inf")) -> float:
    """A number in [0, below), or an error that names it."""
    if not 0.0 <= value < below:
        raise ValueError(f"{name} must be in [0, {below}); got {value}")
    return float(value)
