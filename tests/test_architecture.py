"""The house stands: imports point down, nothing goes in circles, exports are in order."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lazygraph
import training
from tests import architecture
from tests.architecture import Module

# A room is a module or a folder directly in `lazygraph`. A module imports from its own floor
# and from those below, never from one above; imports inside functions count.
FLOORS = {
    "lazygraph.errors": 0,  # ground: needs nothing else of ours
    "lazygraph.source": 0,
    "lazygraph.settings": 0,
    "lazygraph.locks": 0,
    "lazygraph.dtypes": 0,
    "lazygraph.counters": 0,
    "lazygraph.graph": 1,  # what a graph is
    "lazygraph.ops": 2,  # what each op means
    "lazygraph.autodiff": 3,  # graph -> graph
    "lazygraph.passes": 3,
    "lazygraph.backends": 4,  # how a plan's steps are run
    "lazygraph.plan": 5,  # values: look the plan up, run it, hand values back
    "lazygraph.realization": 5,
    "lazygraph.inspection": 6,  # listings and pictures
    "lazygraph": 7,  # the public names
    "lazygraph.extend": 7,
}

# Modules and functions that may be longer than the rest, each with the one idea that it holds.
LONG: dict[str, str] = {
    "lazygraph": "two lists of the public names",
}

ROOT = Path(__file__).resolve().parent.parent
ENGINE = architecture.read_modules(ROOT / "lazygraph")
TRAINING = architecture.read_modules(ROOT / "training")
BENCHMARKS = architecture.read_modules(ROOT / "benchmarks")
TESTS = architecture.read_modules(ROOT / "tests")
PACKAGES = [*ENGINE, *TRAINING, *BENCHMARKS]
EVERYTHING = [*PACKAGES, *TESTS]

ENGINE_IMPORTS = architecture.read_imports(ENGINE, {module.name for module in ENGINE})
# What training imports from lazygraph is a name of it, even where that name is a module.
TRAINING_IMPORTS = architecture.read_imports(TRAINING, {module.name for module in TRAINING})


def assert_none(complaints: Iterable[str]) -> None:
    found = list(complaints)
    assert not found, "\n".join(["", *found])


def each(check: Callable[[Module], Iterator[str]], modules: Iterable[Module]) -> list[str]:
    return [complaint for module in modules for complaint in check(module)]


def is_native(name: str) -> bool:
    """Whether a module belongs to the extra `native`, and is imported when that is used."""
    return name.startswith("lazygraph.backends.native.")


def test_every_room_has_a_floor() -> None:
    rooms = {architecture.room_of(module.name) for module in ENGINE}
    assert_none(f"{room} has no floor: FLOORS" for room in sorted(rooms - FLOORS.keys()))


def test_imports_point_down() -> None:
    assert_none(architecture.find_upward(ENGINE_IMPORTS, FLOORS))


def test_no_module_needs_itself_in_a_circle() -> None:
    assert_none(architecture.find_cycles(ENGINE_IMPORTS))
    assert_none(architecture.find_cycles(TRAINING_IMPORTS))


def test_the_engine_does_not_know_the_training_library() -> None:
    assert_none(str(i) for i in ENGINE_IMPORTS if i.imported.split(".")[0] == "training")


def test_the_training_library_uses_public_names_only() -> None:
    doors = ("lazygraph", "lazygraph.extend")
    inside = [i for i in TRAINING_IMPORTS if i.imported.split(".")[0] == "lazygraph"]
    assert_none(str(i) for i in inside if i.imported not in doors)

    def find_private(module: Module) -> Iterator[str]:
        public = {*lazygraph.__all__, "__version__", "extend"}
        return architecture.find_private_uses(module, "lazygraph", public)

    assert_none(each(find_private, TRAINING))


def test_only_numpy_is_imported_with_the_packages() -> None:
    # The native backend stands on LLVM; its modules are imported when it is asked for.
    native = [i for i in ENGINE_IMPORTS if i.importer.startswith("lazygraph.backends.native.")]
    assert_none(architecture.find_foreign(native, {"lazygraph", "numpy", "llvmlite"}))
    others = [i for i in ENGINE_IMPORTS if i not in native]
    assert_none(architecture.find_foreign(others, {"lazygraph", "numpy"}))
    ours = {"lazygraph", "training", "numpy"}
    assert_none(architecture.find_foreign(TRAINING_IMPORTS, ours))


def test_nothing_of_llvm_is_imported_with_the_packages() -> None:
    program = "import sys, lazygraph, training; print('llvmlite' in sys.modules)"
    command = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.check_output(command, cwd=ROOT, text=True).strip() == "False"


def test_of_the_native_backend_only_its_name_is_imported_with_the_packages() -> None:
    program = "import sys, lazygraph; print(*sorted(m for m in sys.modules if '.native.' in m))"
    loaded = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    names = {name.rpartition(".")[2] for name in loaded.split()}
    assert names == {"backend", "extra"}


def test_a_module_says_in_one_sentence_what_it_is() -> None:
    assert_none(each(architecture.find_bad_docstring, EVERYTHING))


def test_a_module_is_named_after_its_idea() -> None:
    assert_none(each(architecture.find_homeless, EVERYTHING))


def test_files_and_functions_are_short() -> None:
    long = dict(found for module in EVERYTHING for found in architecture.find_long(module))
    assert_none(complaint for name, complaint in long.items() if name not in LONG)
    assert_none(f"{name} is short by now: LONG" for name in LONG.keys() - long.keys())


def test_nothing_is_read_from_the_environment_at_import() -> None:
    assert_none(each(architecture.find_environment_at_import, PACKAGES))


def test_every_lock_is_one_that_forks_wait_for() -> None:
    makers = {module.name for module in PACKAGES if "Lock()" in module.source}
    assert makers == {"lazygraph.locks"}


def test_nothing_is_put_off() -> None:
    assert_none(each(architecture.find_postponed, PACKAGES))


def test_every_test_asserts_something() -> None:
    assert_none(each(architecture.find_empty_tests, TESTS))


@pytest.mark.parametrize("package", [lazygraph, training], ids=lambda package: package.__name__)
class TestExports:
    """`__all__` is what users may rely on."""

    def test_are_sorted_and_named_once(self, package: ModuleType) -> None:
        assert package.__all__ == sorted(set(package.__all__))

    def test_exist(self, package: ModuleType) -> None:
        assert_none(name for name in package.__all__ if not hasattr(package, name))

    def test_are_documented(self, package: ModuleType) -> None:
        for name in package.__all__:
            export = getattr(package, name)
            if inspect.isroutine(export) or inspect.isclass(export):
                assert (export.__doc__ or "").strip(), f"{name} has no docstring"
