"""Tests as functions that can be run again and again, and which rules of gradients they ask."""

import importlib
import inspect
import itertools
import signal
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from lazygraph import plan
from tests.lazygraph.mutants import Rule

LIMIT = 2.0  # seconds of computing for a test


@dataclass(frozen=True, eq=False)
class Trial:
    """A test with its parameters."""

    name: str
    run: Callable[[], Any]

    def passes(self) -> bool:
        """Whether nothing is found to be wrong; a test that never ends finds something."""
        plans, plan.cache = plan.cache, plan.PlanCache()  # a plan may hold a broken rule
        before = signal.signal(signal.SIGVTALRM, _give_up)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            self.run()
        except Exception:  # noqa: BLE001 - whatever a broken rule leads to
            return False
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, before)
            plan.cache = plans
        return True


def _give_up(*_: Any) -> None:
    raise TimeoutError


def trials(module: str) -> Iterator[Trial]:
    """The tests of a module that need nothing but parameters and random numbers."""
    for name, function in _tests(importlib.import_module(module)):
        parameters = set(inspect.signature(function).parameters)
        for number, values in enumerate(_parameters(function)):
            if parameters - values.keys() <= {"rng"}:
                title = f"{module}.{name}, {number}"
                yield _trial(title, function, values, "rng" in parameters)


def _tests(place: Any) -> Iterator[tuple[str, Any]]:
    """Test functions of a module, and methods of its classes of tests."""
    for name, found in vars(place).items():
        if name.startswith("test_") and inspect.isfunction(found):
            yield name, found
        elif name.startswith("Test") and inspect.isclass(found):
            case = found()
            for method in [m for m in vars(found) if m.startswith("test_")]:
                yield f"{name}.{method}", getattr(case, method)


def _trial(title: str, function: Any, values: dict[str, Any], random: bool) -> Trial:
    def run() -> None:
        more = {"rng": np.random.default_rng(zlib.crc32(title.encode()))} if random else {}
        function(**values, **more)

    return Trial(title, run)


def _parameters(function: Any) -> Iterator[dict[str, Any]]:
    """Every combination of what the marks of a test list."""
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    choices = []
    for mark in marks:
        names, rows = mark.args[:2]
        names = [n.strip() for n in names.split(",")] if isinstance(names, str) else names
        choices.append([_row(names, row) for row in rows])
    for combination in itertools.product(*choices):
        yield {name: value for row in combination for name, value in row.items()}


def _row(names: Sequence[str], row: Any) -> dict[str, Any]:
    if isinstance(row, type(pytest.param())):
        row = row.values
    elif len(names) == 1:
        row = (row,)
    return dict(zip(names, row, strict=True))


def uses(rules: Sequence[Rule], trials: Sequence[Trial]) -> dict[Rule, list[Trial]]:
    """The tests in which each rule is asked.

    Raises:
        AssertionError: one of them fails without any change.
    """
    asked: set[Rule] = set()

    def noted(rule: Rule) -> Any:
        function = rule.function

        def ask(*args: Any, **named: Any) -> Any:
            asked.add(rule)
            return function(*args, **named)

        return ask

    found: dict[Rule, list[Trial]] = {rule: [] for rule in rules}
    with ExitStack() as stack:
        for rule in rules:
            stack.enter_context(rule.replaced(noted(rule)))
        for trial in trials:
            asked.clear()
            assert trial.passes(), trial.name
            for rule in asked:
                found[rule].append(trial)
    return found
