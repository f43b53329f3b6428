"""Machine code does what the module says, on each processor that it was made for."""

import ctypes
import threading
from importlib.machinery import ModuleSpec

import numpy as np
import pytest
from llvmlite import ir
from llvmlite.binding import ffi

from lazygraph.backends.native import building, compile, extra, targets
from lazygraph.backends.native.building import Unit, build, load, unit
from lazygraph.backends.native.compile import assembly, machine_code, optimized
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.targets import Target, baseline, host
from lazygraph.backends.native.waiting import I64, POINTER, VOID
from lazygraph.errors import MissingExtraError
from tests.native.processes import run as run_process
from tests.native.programs import repeated

COUNT = 64
FLOAT = ir.FloatType()


def square_and_add(added: float = 1.0) -> ir.Module:
    """`y[i] = x[i] * x[i] + added`, for 64 elements."""
    module = ir.Module("square")
    function = ir.Function(module, ir.FunctionType(VOID, [POINTER, POINTER]), "square")
    x, y = function.args
    x.add_attribute("noalias")
    y.add_attribute("noalias")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    with repeated(b, COUNT) as i:
        value = b.load(b.gep(x, [i], source_etype=FLOAT), typ=FLOAT)
        total = b.fadd(b.fmul(value, value), ir.Constant(FLOAT, added))
        b.store(total, b.gep(y, [i], source_etype=FLOAT))
    b.ret_void()
    return module


def results(code: bytes) -> list[float]:
    library = Library(code, ["square"])
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    x, y = np.arange(COUNT, dtype=np.float32), np.empty(COUNT, np.float32)
    kind(library.addresses["square"])(x.ctypes.data, y.ctypes.data)
    return [float(value) for value in y]


@pytest.mark.parametrize("target", [host(), baseline()], ids=["host", "baseline"])
def test_code_computes_what_the_module_says(target: Target) -> None:
    code = machine_code(str(square_and_add()), target)
    assert results(code) == [i * i + 1.0 for i in range(COUNT)]


def test_loops_become_vectors_and_the_baseline_has_no_wide_ones() -> None:
    text = str(square_and_add())
    assert " x float>" in optimized(text, host())
    assert " x float>" in optimized(text, baseline())
    assert "ymm" not in assembly(text, baseline())
    assert "zmm" not in assembly(text, baseline())


def test_a_product_and_a_sum_are_rounded_apart() -> None:
    for target in (host(), baseline()):
        text = assembly(str(square_and_add()), target)
        assert "mul" in text
        assert "fma" not in text
        assert "fmla" not in text


def test_the_same_text_gives_the_same_code() -> None:
    text = str(square_and_add())
    assert machine_code(text, host()) == machine_code(text, host())


def test_code_can_be_loaded_twice_and_dropped_in_between() -> None:
    code = machine_code(str(square_and_add()), host())
    first = results(code)
    assert results(code) == first


def test_within_using_code_is_made_for_another_processor() -> None:
    assert targets.current() == host()
    with targets.using(baseline()):
        assert targets.current() == baseline()
        narrow = build([unit(square_and_add())])[0]
    assert narrow == machine_code(str(square_and_add()), baseline())
    assert targets.current() == host()


def test_equal_units_are_written_once() -> None:
    written = []

    def write() -> ir.Module:
        written.append(1)
        return square_and_add(2.0)

    first, second = build([Unit("twice the same", write)] * 2)
    assert first == second
    assert len(written) == 1
    assert build([Unit("twice the same", write)]) == [first]
    assert len(written) == 1


def test_equal_units_share_what_is_loaded_as_long_as_somebody_holds_it() -> None:
    wanted = Unit("shared", lambda: square_and_add(5.0), exports=("square",))
    first, second = load([wanted, wanted], {})
    (third,) = load([wanted], {})
    assert first is second is third
    other, again = load([Unit("not shared", wanted.write, exports=("square",)), wanted], {})
    assert other is not first
    assert again is first
    assert other.addresses != first.addresses


def test_units_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each waits inside for the other: one after the other, they would wait in vain.
    meeting = threading.Barrier(2, timeout=30)

    def compile_together(text: str, target: Target, effort: int) -> bytes:
        meeting.wait()
        return machine_code(text, target, effort)

    monkeypatch.setattr(building, "machine_code", compile_together)
    monkeypatch.setattr(building, "available_cores", lambda: 2)
    codes = build([unit(square_and_add(3.0)), unit(square_and_add(4.0))])
    assert [results(code)[0] for code in codes] == [3.0, 4.0]


FORKED = """
import os, threading, warnings
from lazygraph.backends.native.compile import machine_code
from lazygraph.backends.native.targets import baseline, host
from tests.native.test_compile import results, square_and_add

warnings.simplefilter("ignore")  # newer Pythons warn of a fork with threads
text, stopped = str(square_and_add()), []

def compile_on_and_on():
    while not stopped:
        machine_code(text, baseline())

threading.Thread(target=compile_on_and_on).start()
for _ in range(4):
    child = os.fork()
    assert results(machine_code(text, host()))[:3] == [1.0, 2.0, 5.0]
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stopped.append(True)
print("done")
"""


def test_a_child_forked_while_another_thread_compiles_can_compile() -> None:
    assert run_process(FORKED) == "done\n"


def test_compiling_does_not_wait_for_the_lock_of_llvmlite() -> None:
    # The lock is held here, and belongs to this thread: another one must get through.
    done = []
    call = compile._unlocked("LLVMPY_GetVersionInfo")
    with ffi.lib._lock:
        other = threading.Thread(target=lambda: done.append(call()))
        other.start()
        other.join(30)
    assert done


@pytest.mark.parametrize("name", ["llvmlite", "scipy-openblas32"])
def test_a_missing_package_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(wanted: str) -> ModuleSpec | None:
        module = name.replace("-", "_")
        return None if wanted == module else ModuleSpec(wanted, None)

    monkeypatch.setattr(extra, "find_spec", find)
    sentence = f"{name} is not installed; pip install 'lazygraph[native]' brings it"
    assert extra.missing() == sentence
    with pytest.raises(MissingExtraError) as caught:
        extra.package(name.replace("-", "_"))
    assert caught.value.args == (sentence,)


def test_an_exported_function_is_at_an_address_of_its_own() -> None:
    module = ir.Module("two")
    for name, value in (("one", 1), ("two", 2)):
        function = ir.Function(module, ir.FunctionType(I64, []), name)
        ir.IRBuilder(function.append_basic_block("entry")).ret(I64(value))
    library = Library(build([unit(module)])[0], ["one", "two"])
    answers = {
        name: ctypes.CFUNCTYPE(ctypes.c_int64)(address)()
        for name, address in library.addresses.items()
    }
    assert answers == {"one": 1, "two": 2}
