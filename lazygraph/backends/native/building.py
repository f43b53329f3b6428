"""Machine code for descriptions of it: out of the cache, else compiled on all cores."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm
from llvmlite import ir

import lazygraph.backends.native as our_folder
from lazygraph.backends.native import cache as disk
from lazygraph.backends.native import targets
from lazygraph.backends.native.compile import EFFORT, machine_code
from lazygraph.backends.native.loading import Library
from lazygraph.backends.native.targets import Target
from lazygraph.settings import available_cores


@dataclass(frozen=True, slots=True)
class Unit:
    """What becomes one piece of machine code.

    Attributes:
        identity: text that says all that the code depends on; versions and the processor are
            added to it. Changes in files of this folder count as another version.
        write: makes the module; called only if the code is not in the cache.
        effort: how hard LLVM tries, from 0 to 3.
        exports: the functions that `load` finds the addresses of; the same for one identity.
    """

    identity: str
    write: Callable[[], ir.Module]
    effort: int = EFFORT
    exports: tuple[str, ...] = ()


def unit(module: ir.Module, effort: int = EFFORT) -> Unit:
    """A unit that is identified by its own text."""
    return Unit(str(module), lambda: module, effort)


# What is in memory now, by what it was made from.
_loaded: WeakValueDictionary[str, Library] = WeakValueDictionary()


def load(units: Sequence[Unit], imports: Mapping[str, int]) -> list[Library]:
    """The functions of each unit, ready to be called; equal units share them.

    Args:
        units: what is wanted.
        imports: the addresses of what the code calls, the same in each call.

    Returns:
        A library for each, which holds its code for as long as it lives.
    """
    target = targets.current()
    wanted = {_name(each, target): each for each in units}
    held = {name: library for name in wanted if (library := _loaded.get(name))}
    missing = {name: each for name, each in wanted.items() if name not in held}
    for (name, each), code in zip(missing.items(), build(list(missing.values())), strict=True):
        held[name] = _loaded[name] = Library(code, each.exports, imports)
    return [held[_name(each, target)] for each in units]


def build(units: Sequence[Unit]) -> list[bytes]:
    """The machine code of each unit, for `loading.Library`.

    What is not in the cache is written by this thread, one by one, and compiled meanwhile by as
    many threads as there are cores. Equal units are compiled once.

    Args:
        units: what is wanted.

    Returns:
        An object file for each.
    """
    where, target = disk.folder(), targets.current()
    names = [_name(each, target) for each in units]
    wanted = dict(zip(names, units, strict=True))
    found = {name: disk.read(where, name) for name in wanted}
    missing = {name: wanted[name] for name, code in found.items() if code is None}
    fresh = _compile(missing, target)
    disk.write(where, fresh)
    return [found[name] or fresh[name] for name in names]


def _compile(units: dict[str, Unit], target: Target) -> dict[str, bytes]:
    if len(units) < 2:  # a thread would cost more than it saves
        return {
            name: machine_code(str(each.write()), target, each.effort)
            for name, each in units.items()
        }
    futures: dict[str, Future[bytes]] = {}
    with ThreadPoolExecutor(min(available_cores(), len(units)), "compile") as pool:
        for name, each in units.items():
            futures[name] = pool.submit(machine_code, str(each.write()), target, each.effort)
        return {name: future.result() for name, future in futures.items()}


def _name(each: Unit, target: Target) -> str:
    processor = (target.triple, target.cpu, target.features, str(each.effort))
    return disk.entry_name(str(disk.FORMAT), *_versions(), *processor, each.identity)


@cache
def _versions() -> tuple[str, ...]:
    try:
        ours = version("lazygraph")
    except PackageNotFoundError:  # run from a folder that was never installed
        ours = "unknown"
    files = sorted(os.scandir(Path(*our_folder.__path__)), key=lambda entry: entry.name)
    stats = [(e.name, e.stat()) for e in files if e.name.endswith(".py")]
    written = [f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in stats]
    return (llvmlite.__version__, str(llvm.llvm_version_info), ours, *written)
