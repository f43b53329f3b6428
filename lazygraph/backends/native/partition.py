"""Which calls are done together: each joins the kernel that makes its operands, if it may."""

from collections.abc import Iterable, Sequence

from lazygraph.backends.layout import Call, Storage
from lazygraph.backends.native.kernels import accepts, joins
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
        self._statements: dict[Step, list[Statement]] = {}
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
        as_statement = statement(call, self._places, stored=True)
        if not accepts(as_statement):
            self._begin(NumpyStep(), call)
            return
        step = self._with_makers(call, as_statement) or self._with_sharer(call, as_statement)
        if step is None:
            step = KernelStep()
            self._statements[step] = []
            self._begin(step, call)
        else:
            self._append(step, call)
        self._statements[step].append(as_statement)

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
        if not makers or makers[0] not in self._statements:
            return None
        target, *others = makers
        movable = [maker for maker in others if self._can_wait_for(maker, target, as_statement)]
        for chosen in [movable, []] if movable else [[]]:
            before = [x for maker in reversed(chosen) for x in self._statements[maker]]
            if self._fits([*before, *self._statements[target]], as_statement):
                for maker in chosen:
                    self._put_off(maker, target)
                return target
        return None

    def _can_wait_for(self, maker: Step, target: Step, as_statement: Statement) -> bool:
        if maker not in self._statements or self._size(maker) != as_statement.size:
            return False
        readers = {
            reader for call in maker.calls for reader in self._readers.get(call.out.storage, ())
        }
        return readers <= {maker, target}

    def _put_off(self, maker: Step, target: Step) -> None:
        target.calls[:0] = maker.calls
        self._statements[target][:0] = self._statements.pop(maker)
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
        wanted = {x.place for x in as_statement.inputs if _size(x.shape) == as_statement.size}
        for step in reversed(self._all[max(ready, len(self._all) - _LOOK_BACK) :]):
            if step is None or step not in self._statements:
                continue
            statements = self._statements[step]
            known = {operand.place for x in statements for operand in x.operands}
            if wanted & known and self._fits(statements, as_statement):
                return step
        return None

    def _fits(self, statements: Sequence[Statement], as_statement: Statement) -> bool:
        if len(statements) >= _MOST_STATEMENTS:
            return False
        if (as_statement.size == 1) != all(x.size == 1 for x in statements):
            return False  # a number for all is made before, or after
        return joins(statements, as_statement)

    def _size(self, step: Step) -> int:
        return max(x.size for x in self._statements[step])


def _size(shape: Iterable[int]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
