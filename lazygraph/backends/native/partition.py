"""Which calls are done together: each joins the kernel that makes its operands, if it may."""

from collections.abc import Sequence

from lazygraph.backends.layout import Call, Storage
from lazygraph.backends.native.growth import Growth
from lazygraph.backends.native.kernels import grow, knows
from lazygraph.backends.native.special import special
from lazygraph.backends.native.statements import Statement
from lazygraph.backends.native.steps import (
    KernelStep,
    NumpyStep,
    Places,
    ProductStep,
    SpecialStep,
    Step,
    is_product,
    statement,
)
from lazygraph.dtypes import as_dtype
from lazygraph.errors import BackendError

_LOOK_BACK = 12  # steps among which a call looks for one that reads what it reads
_MOST_STATEMENTS = 48  # of a kernel: what is live at once must fit into registers


class Partition:
    """Steps, and the kernels among them, built call by call.

    A call goes into the latest kernel that makes one of its operands. Other kernels that make
    some are put off until then, if nothing in between reads their results, and become one with
    it: so the whole update of a parameter is one pass over memory. A call whose operands come
    from elsewhere joins a kernel that reads one of them anyway, or begins one.
    """

    def __init__(self, calls: Sequence[Call], places: Places) -> None:
        self._places = places
        self._all: list[Step | None] = []  # None where a kernel was put off
        self._number: dict[Step, int] = {}
        self._maker: dict[Storage, Step] = {}
        self._readers: dict[Storage, set[Step]] = {}
        self._growing: dict[Step, Growth] = {}
        for call in calls:
            self._add(call)

    @property
    def steps(self) -> list[Step]:
        """In order."""
        return [step for step in self._all if step is not None]

    def _add(self, call: Call) -> None:
        if is_product(call):
            self._begin(ProductStep(), call)
            return
        work = special(call, self._places)
        if work is not None:
            self._begin(SpecialStep(work=work), call)
            return
        alone = self._kernel_of(call)
        if alone is None:
            self._begin(NumpyStep(), call)
            return
        (as_statement,) = alone.statements
        step = self._with_makers(call, as_statement) or self._with_sharer(call, as_statement)
        if step is not None:
            self._append(step, call)
        else:
            step = KernelStep()
            self._begin(step, call)
            self._growing[step] = alone

    def _kernel_of(self, call: Call) -> Growth | None:
        """A kernel of this call alone, if there is one."""
        if not knows(call.op, [as_dtype(entry.phantom.dtype) for entry in call.inputs]):
            return None
        try:
            return grow([statement(call, self._places, stored=True)])
        except BackendError:
            return None

    def _begin(self, step: Step, call: Call) -> None:
        self._number[step] = len(self._all)
        self._all.append(step)
        self._append(step, call)

    def _append(self, step: Step, call: Call) -> None:
        step.calls.append(call)
        self._maker[call.out.storage] = step
        for entry in call.inputs:
            self._readers.setdefault(entry.storage, set()).add(step)

    def _makers(self, call: Call) -> list[Step]:
        """The steps that make its operands, the latest first."""
        found = {self._maker[x.storage] for x in call.inputs if x.storage in self._maker}
        return sorted(found, key=self._number.__getitem__, reverse=True)

    def _with_makers(self, call: Call, as_statement: Statement) -> Step | None:
        makers = self._makers(call)
        if not makers or not self._may_join(makers[0], as_statement):
            return None
        target, *others = makers
        movable = [maker for maker in others if self._can_wait_for(maker, target, as_statement)]
        if movable and self._merged(movable, target, as_statement):
            return target
        return target if self._growing[target].join(as_statement) else None

    def _may_join(self, step: Step, as_statement: Statement) -> bool:
        growing = self._growing.get(step)
        if growing is None or len(growing.statements) >= _MOST_STATEMENTS:
            return False
        # A number for all is made before, or after, what differs from element to element.
        return (as_statement.size == 1) == (growing.most == 1)

    def _can_wait_for(self, maker: Step, target: Step, as_statement: Statement) -> bool:
        growing = self._growing.get(maker)
        if growing is None or growing.most != as_statement.size:
            return False
        readers = {
            reader for call in maker.calls for reader in self._readers.get(call.out.storage, ())
        }
        return readers <= {maker, target}

    def _merged(self, makers: list[Step], target: Step, as_statement: Statement) -> bool:
        """Whether the makers, the target and the statement have become one kernel."""
        kernels = [self._growing[step] for step in (*reversed(makers), target)]
        together = [x for growing in kernels for x in growing.statements]
        if len(together) >= _MOST_STATEMENTS:
            return False
        try:
            self._growing[target] = grow([*together, as_statement])
        except BackendError:
            return False
        for maker in makers:
            self._put_off(maker, target)
        return True

    def _put_off(self, maker: Step, target: Step) -> None:
        target.calls[:0] = maker.calls
        del self._growing[maker]
        self._all[self._number.pop(maker)] = None
        for call in maker.calls:
            self._maker[call.out.storage] = target
            for entry in (*call.inputs, call.out):
                readers = self._readers.get(entry.storage, set())
                if maker in readers:
                    readers.remove(maker)
                    readers.add(target)

    def _with_sharer(self, call: Call, as_statement: Statement) -> Step | None:
        """A kernel, behind all that makes its operands, that reads or makes one of them."""
        makers = self._makers(call)
        ready = self._number[makers[0]] if makers else 0
        wanted = {
            self._places.place(entry.storage)
            for entry in call.inputs
            if entry.phantom.size == as_statement.size
        }
        for step in reversed(self._all[max(ready, len(self._all) - _LOOK_BACK) :]):
            if step is None or not self._may_join(step, as_statement):
                continue
            growing = self._growing[step]
            if wanted & growing.places and growing.join(as_statement):
                return step
        return None
