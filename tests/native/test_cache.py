"""Machine code on disk is found again, is nobody else's, and never in the way."""

import errno
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from llvmlite import ir

import lazygraph as lg
from lazygraph.backends.native import building, cache, targets
from lazygraph.backends.native.building import Unit, build
from lazygraph.backends.native.cache import entry_name, folder, read, write
from lazygraph.backends.native.waiting import I64
from lazygraph.settings import current
from tests.native.processes import finish, run, start

NAME = entry_name("some", "kernel")
OTHER = entry_name("another", "kernel")
CODE = bytes(range(256)) * 8


def constant(value: int) -> ir.Module:
    module = ir.Module("constant")
    function = ir.Function(module, ir.FunctionType(I64, []), "constant")
    ir.IRBuilder(function.append_basic_block("entry")).ret(I64(value))
    return module


@pytest.fixture
def where(tmp_path: Path) -> Iterator[Path]:
    """The folder for machine code, not there yet."""
    with lg.using(cache_folder=tmp_path / "cache"):
        yield tmp_path / "cache" / "native"


def entry(where: Path, name: str = NAME) -> Path:
    return where / f"{name}.object"


def test_what_is_written_is_read(where: Path) -> None:
    assert read(where, NAME) is None
    write(where, {NAME: CODE, OTHER: b""})
    assert read(where, NAME) == CODE
    assert read(where, OTHER) == b""


def test_files_are_for_the_user_alone(where: Path) -> None:
    before = os.umask(0)
    try:
        write(where, {NAME: CODE})
    finally:
        os.umask(before)
    assert stat.S_IMODE(where.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in where.iterdir()] == [0o600]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[:-1],
    "without code": lambda content: content[: -len(CODE)],
    "longer": lambda content: content + b"\0",
    "a bit flipped in the code": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "a bit flipped in the sum": lambda content: (
        content[: -len(CODE) - 1] + b"!" + content[-len(CODE) :]
    ),
    "of another format": lambda content: b"L" + content[1:],
    "zeros": lambda content: bytes(len(content)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_entry_counts_as_none(where: Path, damage: Callable[[bytes], bytes]) -> None:
    write(where, {NAME: CODE})
    content = entry(where).read_bytes()
    entry(where).write_bytes(damage(content))
    assert read(where, NAME) is None
    write(where, {NAME: CODE})
    assert read(where, NAME) == CODE


def test_an_entry_under_a_wrong_name_counts_as_none(where: Path) -> None:
    write(where, {NAME: CODE})
    os.rename(entry(where), entry(where, OTHER))
    assert read(where, OTHER) is None


def test_an_entry_that_others_may_write_counts_as_none(where: Path) -> None:
    write(where, {NAME: CODE})
    entry(where).chmod(0o620)
    assert read(where, NAME) is None


def test_a_link_counts_as_no_entry(where: Path, tmp_path: Path) -> None:
    write(where, {NAME: CODE})
    os.rename(entry(where), tmp_path / "elsewhere")
    entry(where).symlink_to(tmp_path / "elsewhere")
    assert read(where, NAME) is None


def test_a_damaged_entry_is_compiled_anew_and_mended(where: Path) -> None:
    written: list[int] = []

    def write_module() -> ir.Module:
        written.append(1)
        return constant(1)

    unit = Unit("constant one", write_module)
    (code,) = build([unit])
    (path,) = where.iterdir()
    for content in (b"", path.read_bytes()[:-1], b"nonsense"):
        path.write_bytes(content)
        assert build([unit]) == [code]
    assert len(written) == 4
    assert build([unit]) == [code]
    assert len(written) == 4


def test_what_was_used_longest_ago_goes_first(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [entry_name(str(i)) for i in range(8)]
    write(where, dict.fromkeys(names, CODE))
    for age, name in enumerate(reversed(names)):  # the first is the oldest
        os.utime(entry(where, name), (1e9 - age, 1e9 - age))
    assert read(where, names[0]) == CODE  # and now the last used
    size = entry(where, names[0]).stat().st_size
    monkeypatch.setattr(cache, "MOST_BYTES", 8 * size)
    write(where, {NAME: CODE})  # the ninth: a quarter must go
    kept = [name for name in names if entry(where, name).exists()]
    assert kept == [names[0], *names[4:]]
    assert read(where, NAME) == CODE


def test_what_was_never_finished_is_swept_away_once_it_is_old(where: Path) -> None:
    write(where, {NAME: CODE})
    old, young = where / "old.unfinished", where / "young.unfinished"
    old.touch()
    young.touch()
    os.utime(old, (1e9, 1e9))
    write(where, {OTHER: CODE})
    assert not old.exists()
    assert young.exists()


def test_a_folder_that_cannot_be_made_costs_one_warning(where: Path) -> None:
    where.parent.write_text("a file, where a folder should be")
    with pytest.warns(RuntimeWarning, match=r"machine code cannot be kept in .*native: "):
        (code,) = build([Unit("constant two", lambda: constant(2))])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build([Unit("constant two", lambda: constant(2))]) == [code]
    assert where.parent.is_file()


def test_a_full_disk_costs_one_warning(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(RuntimeWarning, match="No space left on device") as caught:
        codes = [build([Unit(f"constant {i}", lambda: constant(3))]) for i in range(3)]
    assert codes[0] == codes[1] == codes[2]
    assert len(caught) == 1
    assert list(where.iterdir()) == []


def test_a_folder_that_others_may_write_is_not_used(where: Path) -> None:
    where.mkdir(parents=True)
    where.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write there"):
        write(where, {NAME: CODE})
    assert list(where.iterdir()) == []


def test_nothing_is_written_outside_of_the_folder(where: Path, tmp_path: Path) -> None:
    build([Unit("constant four", lambda: constant(4))])
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.parent for path in found] == [where]


def test_clearing_deletes_our_files_and_no_others(where: Path) -> None:
    lg.clear_cache()  # there is none yet
    write(where, {NAME: CODE, OTHER: CODE})
    (where / "theirs.txt").touch()
    lg.clear_cache()
    assert [path.name for path in where.iterdir()] == ["theirs.txt"]


def test_the_name_depends_on_kernel_processor_and_versions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, unit = targets.host(), Unit("kernel", lambda: constant(0))
    names = [building._name(unit, host), building._name(unit, targets.baseline())]
    names.append(building._name(Unit("kernels", unit.write), host))
    names.append(entry_name("ab", "c"))
    names.append(entry_name("a", "bc"))
    versions = building._versions()
    for i in range(3):  # llvmlite, LLVM, lazygraph
        changed = (*versions[:i], "another", *versions[i + 1 :])
        monkeypatch.setattr(building, "_versions", lambda changed=changed: changed)
        names.append(building._name(unit, host))
    monkeypatch.undo()
    monkeypatch.setattr(cache, "FORMAT", 2)
    names.append(building._name(unit, host))
    assert len(set(names)) == len(names) == 9
    assert any("cache.py" in version for version in versions)


def test_the_folder_is_the_one_set_else_that_of_xdg_else_of_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder() == tmp_path / "xdg" / "lazygraph" / "native"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert folder() == tmp_path / "home" / ".cache" / "lazygraph" / "native"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folder() == tmp_path / "home" / ".cache" / "lazygraph" / "native"
    monkeypatch.chdir(tmp_path)
    with lg.using(cache_folder="here"):
        assert folder() == tmp_path / "here" / "native"
        lg.set_cache_folder(tmp_path / "there")
        monkeypatch.chdir("/")
        assert folder() == tmp_path / "there" / "native"
        lg.set_cache_folder(None)
        assert current().cache_folder is None
    assert folder() == tmp_path / "home" / ".cache" / "lazygraph" / "native"


def test_without_a_home_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "~")  # what stays of a user whom the system does not know
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folder() is None
    lg.clear_cache()
    with pytest.warns(RuntimeWarning, match="cannot be kept in ~: there is no such folder"):
        (code,) = build([Unit("constant five", lambda: constant(5))])
    assert build([Unit("constant five", lambda: constant(5))]) == [code]
    assert list(tmp_path.iterdir()) == []


BUILD = """
import sys
from llvmlite import ir
import lazygraph as lg
from lazygraph.backends.native.building import Unit, build

def constant(value):
    module = ir.Module("constant")
    function = ir.Function(module, ir.FunctionType(ir.IntType(64), []), "constant")
    ir.IRBuilder(function.append_basic_block("entry")).ret(ir.IntType(64)(value))
    return module

lg.set_cache_folder(sys.argv[1])
written = []
units = [Unit(f"number {i}", lambda i=i: written.append(i) or constant(i)) for i in range(6)]
build(units)
print(len(written))
"""


def test_processes_at_once_do_not_disturb_one_another(where: Path) -> None:
    processes = [start(BUILD, str(where.parent)) for _ in range(2)]
    for process in processes:
        assert 0 <= int(finish(process)) <= 6
    assert len(list(where.iterdir())) == 6
    # Another process finds all that they have written.
    assert run(BUILD, str(where.parent)) == "0\n"
