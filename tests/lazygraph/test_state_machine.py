"""Random programs agree with an eager model, line by line; wrong engines are found out."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

import lazygraph as lg
from lazygraph import plan
from lazygraph.backends import pool
from lazygraph.backends.numpy import compiler
from lazygraph.extend import OPS, Kind, Known
from lazygraph.ops import layout, transcendental
from tests.lazygraph.machine import Machine, MismatchError, fails, replay, script, shrunk
from tests.lazygraph.programs.statements import write

BLOCK = 25
FEW = 10  # lines, of the 34 of a program


def programs(seeds: range) -> Iterator[Machine]:
    """Machines that have run a program, let go of all that they held.

    A program that fails is printed as short as it can be made.
    """
    for seed in seeds:
        try:
            machine = write(seed)
            results = machine.results()
            machine.let_go()
            machine.lazy["results"] = results
        except MismatchError as error:
            if not fails(error.lines):
                continue  # the twins came too close to each other by chance
            lines = shrunk(error.lines)
            pytest.fail(f"seed {seed}: {fails(lines)}\n\n{script(lines)}\n")
        yield machine


@pytest.fixture
def no_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of an engine that is wrong on purpose must not outlive it."""
    monkeypatch.setattr(plan, "cache", plan.PlanCache())


@pytest.fixture(autouse=True)
def results_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of programs are small; their memory is used again all the same."""
    monkeypatch.setattr(pool, "_SMALL", -1)


@pytest.mark.parametrize("block", range(4))
def test_programs_agree_with_the_model(block: int) -> None:
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    assert len(list(programs(seeds))) >= BLOCK - 1


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(20))
def test_twenty_thousand_programs_agree_with_the_model(thousand: int) -> None:
    seeds = range(1_000_000 + thousand * 1000, 1_000_000 + (thousand + 1) * 1000)
    assert sum(1 for _ in programs(seeds)) >= 995


def without_asking(lines: Iterable[str]) -> Iterator[str]:
    """The lines, but for what does nothing but ask for values."""
    for line in lines:
        if not line.startswith("lg.realize(") and ".numpy()" not in line:
            yield line.replace(".realize()", "")


def test_bits_do_not_depend_on_where_values_are_asked_for() -> None:
    compared = 0
    for machine in programs(range(40)):
        lazily = replay(without_asking(machine.lines))
        for name, found in lazily.results().items():
            assert found == machine.lazy["results"][name], f"{name}\n{script(machine.lines)}"
            compared += 1
    assert compared > 400


def test_every_op_of_the_table_occurs_in_a_program() -> None:
    wanted = {op.name for op in OPS.values() if op.kind is not Kind.LEAF}
    found: set[str] = set()
    for machine in programs(range(300, 420)):
        found |= machine.ops
    sampled = {line for name in wanted - found for line in [f"t1 = sampled({name!r}, 0)"]}
    assert len(sampled) < len(wanted) // 4
    for line in sorted(sampled):
        found |= replay([line]).ops
    assert wanted <= found


def first_failure(seeds: Iterator[int]) -> list[str]:
    """The shortest form of the first program that fails."""
    for seed in seeds:
        try:
            write(seed).let_go()
        except MismatchError as error:
            return shrunk(error.lines)
    return []


@pytest.mark.usefixtures("no_plans")
class TestWrongEngines:
    """Each is found by a program that comes down to a few lines."""

    def test_a_flipped_sign(self, monkeypatch: pytest.MonkeyPatch) -> None:
        wrong = replace(transcendental.TANH, gradient=lambda g, y, x: [-g * (1.0 - y * y)])
        monkeypatch.setattr(transcendental, "TANH", wrong)
        lines = first_failure(iter(range(200)))
        assert 0 < len(lines) <= FEW
        assert "tanh" in script(lines)

    def test_a_lost_element(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def place(g: Any, out: Any, *, shape: Any, bounds: Any) -> None:
            out[...] = 0
            out[layout._keys(bounds)] = g
            out.reshape(-1)[-1:] = 0

        monkeypatch.setattr(layout, "PLACE", replace(layout.PLACE, evaluate=place))
        assert 0 < len(first_failure(iter(range(200)))) <= FEW

    def test_memory_that_is_used_again_too_soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def place(intervals: Any) -> Any:
            return [0 for _ in intervals], 1 << 16

        monkeypatch.setattr(compiler, "place", place)
        assert 0 < len(first_failure(iter(range(100)))) <= FEW

    def test_a_plan_that_forgets_what_it_took_for_granted(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Known, "guard", lambda self, node: None)
        with pytest.raises(MismatchError):
            list(map(write, range(300)))

    def test_a_var_whose_old_graphs_see_its_new_value(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def replace_in_place(self: lg.Var, array: Any) -> None:
            value = self.cell.get()[1]
            value.flags.writeable = True
            value[...] = array

        monkeypatch.setattr(lg.Var, "replace", replace_in_place)
        assert 0 < len(first_failure(iter(range(100)))) <= FEW

    def test_results_that_are_handed_out_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pool, "_UNUSED", 99)
        everything = lambda shelf: list(range(len(shelf.arrays)))  # noqa: E731
        monkeypatch.setattr(pool._Shelf, "unused", everything)
        assert 0 < len(first_failure(itertools.islice(itertools.count(), 100))) <= FEW
