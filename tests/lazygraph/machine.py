"""A differential state machine: one program, run by lazygraph and by an eager model of it."""

import copy
import gc
import pickle
import random
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import lazygraph as lg
import training
from lazygraph.extend import OPS, apply, postorder
from tests.lazygraph import eager, op_cases
from tests.lazygraph.eager.steps import Outcome
from tests.lazygraph.eager.values import RejectedError, Value, roll_again, tolerance
from tests.lazygraph.exactness import Array, bits

PREAMBLE = """\
import copy, pickle
import numpy as np
import lazygraph as lg, training
from tests.lazygraph.machine import bend, pickled, sampled, together
cloned = copy.deepcopy
"""
REFUSALS = (lg.errors.GradientError, KeyError)
# What the model, or NumPy in it, says of lines that make no sense.
NONSENSE = (RejectedError, NameError, ValueError, IndexError, ArithmeticError)


class MismatchError(AssertionError):
    """Lazygraph and the model disagree, after some lines."""

    lines: Sequence[str] = ()


# What programs call by these names.


def pickled(x: Any) -> Any:
    """A tensor, or a Var, that went through a pickle."""
    return pickle.loads(pickle.dumps(x))


def together(*tensors: Any) -> Any:
    """The last of them, after all were realized at once."""
    lg.realize(*tensors)
    return tensors[-1]


def bend(y: lg.Tensor, x: lg.Tensor, v: Array) -> Array:
    """The gradient of the gradient of `y` for `x` along `v`."""
    slope = lg.sum(lg.grad(y, x) * v)
    found: Array = lg.grad(slope, x, missing="zero").numpy()
    return found


def sampled(name: str, seed: int) -> lg.Tensor:
    """One of the samples of a record; its gradient is tested elsewhere."""
    op = OPS[name]
    sample = op_cases.samples(op, np.random.default_rng(seed))[0]
    return lg.stop_gradient(apply(op, *map(lg.asarray, sample.inputs), params=sample.params))


class Machine:
    """The two worlds that a program is run in, and what is remembered to be checked later."""

    def __init__(self, seed: int) -> None:
        self.model = dict(eager.NAMESPACE)
        self.lazy: dict[str, Any] = {
            "np": np,
            "lg": lg,
            "training": training,
            "sampled": sampled,
            "pickled": pickled,
            "cloned": copy.deepcopy,
            "bend": bend,
            "together": together,
        }
        self.common = set(self.model) | {"__builtins__"}
        self.lines: list[str] = []
        self.held: list[tuple[Array, bytes]] = []
        self.copies: list[tuple[str, str]] = []
        self.nodes: list[weakref.ref[lg.Node]] = []
        self.ops: set[str] = set()
        roll_again(seed)

    def names(self) -> list[str]:
        """What the program has defined, and not deleted."""
        return [name for name in self.lazy if name not in self.common]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Settings end with the program, the collector waits, and errors know the lines."""
        gc.disable()
        try:
            with lg.using(verify=False):
                yield
        except Exception as error:
            wrong = error if isinstance(error, MismatchError) else MismatchError(repr(error))
            wrong.lines = list(self.lines)
            raise wrong from error
        finally:
            gc.enable()

    def run(self, line: str) -> bool:
        """Run a line in both worlds and compare what it made; False if the model refuses."""
        code = compile(line, "<program>", "exec")
        before = set(self.model)
        refusal: type[BaseException] | None = None
        try:
            with warnings.catch_warnings(action="ignore"):  # of NumPy, about empty axes
                exec(code, self.model)
        except NONSENSE:
            return False
        except REFUSALS as error:
            refusal = type(error)
        self.lines.append(line)
        try:
            exec(code, self.lazy)
        except REFUSALS as error:
            if refusal is None or not isinstance(error, refusal):
                raise MismatchError(f"{line}: {error!r} instead of {refusal}") from error
            return True
        if refusal is not None:
            raise MismatchError(f"{line}: no {refusal}")
        for name in sorted(self.model.keys() - before - self.common):
            self._compare_new(name)
        self._recheck()
        return True

    def _compare_new(self, name: str) -> None:
        found, wanted = self.lazy[name], self.model[name]
        if isinstance(found, lg.Tensor):
            assert isinstance(wanted, Value)
            if (found.shape, found.dtype.name) != (wanted.shape, wanted.dtype):
                raise MismatchError(f"{name}: {found.node.spec} instead of {wanted.dtype}")
            self._know_again(name, found)
        elif isinstance(found, training.StepOutcome):
            self._compare_outcomes(name, found, wanted)
        elif isinstance(found, np.ndarray) and isinstance(wanted, Value):
            self._compare(name, found, wanted)
            self.held.append((found, found.tobytes()))
        elif isinstance(found, np.ndarray):
            scale = 1.0 + float(np.abs(wanted).max(initial=0.0))
            if not np.allclose(found, wanted, rtol=0.0, atol=3e-4 * scale):
                raise MismatchError(f"{name}: {found} instead of {wanted}")

    def _know_again(self, name: str, found: lg.Tensor) -> None:
        """A tensor with the node of another one has the other's history too."""
        for other in self.names():
            known = self.lazy[other]
            if isinstance(known, lg.Var) and known.tensor().node is found.node:
                self.model[name] = self.model[other].value
            elif other != name and isinstance(known, lg.Tensor) and known.node is found.node:
                self.model[name] = self.model[other]
        self.nodes.append(weakref.ref(found.node))
        self.ops.update(node.op.name for node in postorder([found.node]))

    def _compare(self, name: str, found: Array, wanted: Value) -> None:
        if found.flags.writeable:
            raise MismatchError(f"{name} can be written to")
        if (found.shape, found.dtype.name) != (wanted.shape, wanted.dtype):
            raise MismatchError(f"{name}: {found.dtype}{found.shape}, not {wanted.dtype}")
        off = np.abs(found.astype(float) - wanted.clean.astype(float))
        if off.size and not off.max() <= tolerance(wanted):
            text = f"{found}\ninstead of\n{wanted.clean}\noff by {off.max():.3g}"
            raise MismatchError(f"{name}:\n{text}, allowed {tolerance(wanted):.3g}")

    def _compare_outcomes(
        self, name: str, found: training.StepOutcome, wanted: Outcome
    ) -> None:
        for field in ("global_step", "applied", "clipped", "missing", "lr"):
            if getattr(found, field) != getattr(wanted, field):
                raise MismatchError(f"{name}.{field}: {found} instead of {wanted}")
        for measured, value in (
            (found.loss, wanted.loss),
            (found.grad_norm, wanted.grad_norm),
        ):
            if value is None or measured is None:
                if value is not None or measured is not None:
                    raise MismatchError(f"{name}: a norm of {measured}, not {value}")
            elif abs(measured - float(value.clean.reshape(()))) > tolerance(value):
                raise MismatchError(f"{name}: {measured} instead of {value.clean}")

    def _recheck(self) -> None:
        """Arrays that were handed out are as they were."""
        for array, kept in self.held:
            if array.tobytes() != kept:
                raise MismatchError("an array that was handed out has changed")

    def finish(self) -> None:
        """Ask for everything that is left, in an order that the lines decide."""
        names = self.names()
        random.Random("\n".join(self.lines)).shuffle(names)
        for name in names:
            found, wanted = self.lazy[name], self.model[name]
            if isinstance(found, lg.Tensor | lg.Var):
                value = wanted if isinstance(wanted, Value) else wanted.value
                self._compare(name, found.numpy(), value)
        for one, other in self.copies:
            if {one, other} <= set(names) and bits(self.lazy[one]) != bits(self.lazy[other]):
                raise MismatchError(f"{one} and its copy {other} differ")
        self._recheck()

    def results(self) -> dict[str, Any]:
        """The bits of every tensor and Var that is left."""
        return {
            name: bits(np.asarray(self.lazy[name]))
            for name in self.names()
            if isinstance(self.lazy[name], lg.Tensor | lg.Var)
        }

    def let_go(self) -> None:
        """Forget all names: every node must go with them, without the collector's help."""
        self.lazy.clear()
        alive = [ref for ref in self.nodes if ref() is not None]
        if alive:
            raise MismatchError(f"{len(alive)} nodes outlive the program: {alive[0]()!r}")


def replay(lines: Iterable[str], seed: int = 0) -> Machine:
    """Run lines that were written before, those that still make sense."""
    machine = Machine(seed)
    with machine.at_work():
        for line in lines:
            machine.run(line)
        machine.finish()
    return machine


def fails(lines: Sequence[str]) -> MismatchError | None:
    """How a program fails, if it does so whatever way the model's twins are disturbed."""
    found: MismatchError | None = None
    for seed in range(3):
        try:
            replay(lines, seed).let_go()
        except MismatchError as error:
            found = error.with_traceback(None)
        else:
            return None
    return found


def shrunk(lines: Sequence[str]) -> list[str]:
    """The fewest of the lines that still fail, leaving out ever smaller runs of them."""
    kept = list(lines)
    length = max(1, len(kept) // 2)
    while length:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + length :]
            if fails(fewer):
                kept = fewer
            else:
                start += length
        length //= 2
    return kept


def script(lines: Iterable[str]) -> str:
    """A program that stands alone."""
    return PREAMBLE + "\n".join(lines)
