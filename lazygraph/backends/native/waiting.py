"""How a thread waits for a number in memory to change: it looks for a moment, then sleeps.

    wait(team, word, sleepers, seen)  returns once the number at `word` is not `seen`
    wake(team, word, sleepers)        wakes all who wait for it, after it was changed

`sleepers` counts those who may be asleep, so that nobody calls the system in vain. A thread
adds itself, looks once more and sleeps; one that changes the word does so before it reads the
count. All agree on one order of these steps (`seq_cst`), hence one of the two sees the other.
"""

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

VOID = ir.VoidType()
BYTE = ir.IntType(8)
I32 = ir.IntType(32)
I64 = ir.IntType(64)
POINTER = ir.PointerType()

# Looks before sleep: some microseconds. Waking takes more, yet where another process wants the
# core, each look is time taken from the thread that is waited for.
LOOKS = 200
_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221, "s390x": 238}
_WAIT, _WAKE = 128, 129  # for threads of one process
_ALL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Sleep:
    """How threads sleep on a system.

    Attributes:
        imports: the functions of the system that it calls.
        wait: emits sleep while the number at a word (of a team) is the one that was seen.
        wake: emits that all sleepers wake.
    """

    imports: tuple[str, ...]
    wait: Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], None]
    wake: Callable[[ir.IRBuilder, ir.Value, ir.Value], None]


def sleep_here() -> Sleep:
    """How threads sleep on this system: by futex on Linux, else on a condition variable."""
    number = _FUTEX.get(platform.machine())
    return futex(number) if sys.platform == "linux" and number else condition()


def futex(number: int) -> Sleep:
    """Sleep by Linux's futex, the system call of the given number."""

    def call(b: ir.IRBuilder, word: ir.Value, action: int, value: ir.Value) -> None:
        system = extern(b.module, "syscall", ir.FunctionType(I64, [I64], var_arg=True))
        no_limit = ir.Constant(POINTER, None)
        b.call(system, [I64(number), word, I64(action), b.sext(value, I64), no_limit])

    def wait(b: ir.IRBuilder, team: ir.Value, word: ir.Value, seen: ir.Value) -> None:
        call(b, word, _WAIT, seen)

    def wake(b: ir.IRBuilder, team: ir.Value, word: ir.Value) -> None:
        call(b, word, _WAKE, I32(_ALL))

    return Sleep(("syscall",), wait, wake)


# Where a team keeps what `condition` needs; both are larger than on any system we know.
MUTEX, CONDITION = 512, 768


def condition() -> Sleep:
    """Sleep on one condition variable of POSIX a team, for systems without futex."""
    names = ("lock", "unlock")
    mutex_calls = {name: f"pthread_mutex_{name}" for name in names}

    def call(b: ir.IRBuilder, name: str, *pointers: ir.Value) -> None:
        kind = ir.FunctionType(I32, [POINTER] * len(pointers))
        b.call(extern(b.module, name, kind), pointers)

    def wait(b: ir.IRBuilder, team: ir.Value, word: ir.Value, seen: ir.Value) -> None:
        mutex = at(b, team, MUTEX)
        call(b, mutex_calls["lock"], mutex)
        same = b.icmp_signed("==", look(b, word), seen)
        with b.if_then(same):
            call(b, "pthread_cond_wait", at(b, team, CONDITION), mutex)
        call(b, mutex_calls["unlock"], mutex)

    def wake(b: ir.IRBuilder, team: ir.Value, word: ir.Value) -> None:
        mutex = at(b, team, MUTEX)
        call(b, mutex_calls["lock"], mutex)
        call(b, "pthread_cond_broadcast", at(b, team, CONDITION))
        call(b, mutex_calls["unlock"], mutex)

    waits = ("pthread_cond_wait", "pthread_cond_broadcast")
    return Sleep((*mutex_calls.values(), *waits), wait, wake)


def extern(module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    """The declaration of a function that is found when the code is loaded."""
    found = module.globals.get(name)
    return found if found is not None else ir.Function(module, kind, name)


def at(b: ir.IRBuilder, base: ir.Value, offset: int) -> ir.Value:
    """The place so many bytes behind another."""
    return b.gep(base, [I64(offset)], source_etype=BYTE)


def look(b: ir.IRBuilder, word: ir.Value) -> ir.Value:
    """The number at a word, and all that was written before it was."""
    return b.load_atomic(word, "seq_cst", 4, typ=I32)


def define_wait(module: ir.Module, sleep: Sleep) -> ir.Function:
    """Emit `wait(team, word, sleepers, seen)`."""
    wait = ir.Function(module, ir.FunctionType(VOID, [POINTER] * 3 + [I32]), "wait")
    wait.linkage = "internal"
    team, word, sleepers, seen = wait.args
    entry = wait.append_basic_block("entry")
    looking, pausing = wait.append_basic_block("looking"), wait.append_basic_block("pausing")
    tired, sleeping = wait.append_basic_block("tired"), wait.append_basic_block("sleeping")
    awake, done = wait.append_basic_block("awake"), wait.append_basic_block("done")
    b = ir.IRBuilder(entry)
    b.branch(looking)
    b.position_at_end(looking)
    count = b.phi(I32)
    count.add_incoming(I32(0), entry)
    b.cbranch(b.icmp_signed("!=", look(b, word), seen), done, pausing)
    b.position_at_end(pausing)
    _pause(b)
    more = b.add(count, I32(1))
    count.add_incoming(more, pausing)
    b.cbranch(b.icmp_signed("<", more, I32(LOOKS)), looking, tired)
    b.position_at_end(tired)
    b.atomic_rmw("add", sleepers, I32(1), "seq_cst")
    b.branch(sleeping)
    b.position_at_end(sleeping)
    with b.if_then(b.icmp_signed("==", look(b, word), seen)):
        sleep.wait(b, team, word, seen)
        b.branch(sleeping)
    b.branch(awake)
    b.position_at_end(awake)
    b.atomic_rmw("sub", sleepers, I32(1), "seq_cst")
    b.branch(done)
    b.position_at_end(done)
    b.ret_void()
    return wait


def define_wake(module: ir.Module, sleep: Sleep) -> ir.Function:
    """Emit `wake(team, word, sleepers)`."""
    wake = ir.Function(module, ir.FunctionType(VOID, [POINTER] * 3), "wake")
    wake.linkage = "internal"
    team, word, sleepers = wake.args
    b = ir.IRBuilder(wake.append_basic_block("entry"))
    with b.if_then(b.icmp_signed(">", look(b, sleepers), I32(0))):
        sleep.wake(b, team, word)
    b.ret_void()
    return wake


def _pause(b: ir.IRBuilder) -> None:
    """Tell the core that we only wait, where there is a way to."""
    match platform.machine().lower():
        case "x86_64" | "amd64":
            pause = extern(b.module, "llvm.x86.sse2.pause", ir.FunctionType(VOID, []))
            b.call(pause, [])
        case "aarch64" | "arm64":
            hint = extern(b.module, "llvm.aarch64.hint", ir.FunctionType(VOID, [I32]))
            b.call(hint, [I32(1)])
