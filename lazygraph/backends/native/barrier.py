"""Where the threads of one run meet.

A team is memory that its threads share. A run begins when its `generation` grows, and ends at a
barrier; each number that threads wait for has a line of the cache to itself.
"""

from typing import NamedTuple

from llvmlite import ir

from lazygraph.backends.native.waiting import (
    CONDITION,
    I32,
    I64,
    POINTER,
    VOID,
    Sleep,
    at,
    define_wait,
    define_wake,
    extern,
    look,
)

# Offsets in the memory of a team.
GENERATION, IDLE = 0, 64  # grows with each run; workers asleep between runs
PROGRAM, CONTEXT, THREADS = 128, 136, 144  # of the run
ARRIVED, PHASE, BLOCKED = 192, 256, 320  # of the barrier; BLOCKED counts who sleeps there
SCRATCH = CONDITION + 256  # a line of numbers for each thread
SCRATCH_BYTES = 2048

# void program(void* context, int64 thread, int64 threads, void* team)
PROGRAM_TYPE = ir.FunctionType(VOID, [POINTER, I64, I64, POINTER])
# All pointers are alike to LLVM; the builder calls only one that knows its function's type.
_PROGRAM = PROGRAM_TYPE.as_pointer()
_BARRIER_TYPE = ir.FunctionType(VOID, [POINTER, I64])
BARRIER_NAME = "lazygraph_barrier"


class Crew(NamedTuple):
    """Who runs: the last three arguments of a program, as a generator passes them on."""

    thread: ir.Value
    threads: ir.Value
    team: ir.Value


def team_bytes(threads: int) -> int:
    """The memory that a team needs."""
    return SCRATCH + threads * SCRATCH_BYTES


def barrier(b: ir.IRBuilder, crew: Crew) -> None:
    """Emit a barrier: no thread of the run goes on before all are here.

    What any of them wrote before, each can read behind it. Every thread must come by.
    """
    b.call(extern(b.module, BARRIER_NAME, _BARRIER_TYPE), [crew.team, crew.threads])


def runtime_module(sleep: Sleep) -> ir.Module:
    """The functions that teams are made of: barrier, start of a run, life of a worker."""
    module = ir.Module("runtime")
    wait, wake = define_wait(module, sleep), define_wake(module, sleep)
    _define_barrier(module, wait, wake)
    _define_start(module, wake)
    _define_run(module)
    _define_worker(module, wait)
    return module


def _define_barrier(module: ir.Module, wait: ir.Function, wake: ir.Function) -> None:
    function = ir.Function(module, _BARRIER_TYPE, BARRIER_NAME)
    team, threads = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    with b.if_then(b.icmp_signed("==", threads, I64(1))):
        b.ret_void()
    phase, arrived, blocked = at(b, team, PHASE), at(b, team, ARRIVED), at(b, team, BLOCKED)
    seen = look(b, phase)  # it cannot grow before this thread arrives
    before = b.atomic_rmw("add", arrived, I32(1), "seq_cst")
    last = b.icmp_signed("==", before, b.sub(b.trunc(threads, I32), I32(1)))
    with b.if_else(last) as (then, otherwise):
        with then:
            b.atomic_rmw("xchg", arrived, I32(0), "seq_cst")
            b.atomic_rmw("add", phase, I32(1), "seq_cst")
            b.call(wake, [team, phase, blocked])
        with otherwise:
            b.call(wait, [team, phase, blocked, seen])
    b.ret_void()


def _define_start(module: ir.Module, wake: ir.Function) -> None:
    """`start(team, program, context, threads)` sets workers to work; no program ends them."""
    kind = ir.FunctionType(VOID, [POINTER, _PROGRAM, POINTER, I64])
    function = ir.Function(module, kind, "start")
    team, program, context, threads = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.store(program, at(b, team, PROGRAM))
    b.store(context, at(b, team, CONTEXT))
    b.store(threads, at(b, team, THREADS))
    generation = at(b, team, GENERATION)
    b.atomic_rmw("add", generation, I32(1), "seq_cst")
    b.call(wake, [team, generation, at(b, team, IDLE)])
    b.ret_void()


def _define_run(module: ir.Module) -> None:
    """`run(team, program, context, threads)` is a run, for the thread that asks for it."""
    start = module.get_global("start")
    function = ir.Function(module, start.function_type, "run")
    team, program, context, threads = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    with b.if_then(b.icmp_signed(">", threads, I64(1))):
        b.call(start, [team, program, context, threads])
    _take_part(b, program, context, Crew(I64(0), threads, team))
    b.ret_void()


def _take_part(b: ir.IRBuilder, program: ir.Value, context: ir.Value, crew: Crew) -> None:
    b.call(program, [context, *crew])
    barrier(b, crew)


def _define_worker(module: ir.Module, wait: ir.Function) -> None:
    """`worker(seat)` is the life of a worker; a seat holds the team and the thread's number."""
    function = ir.Function(module, ir.FunctionType(POINTER, [POINTER]), "worker")
    entry, ready = function.append_basic_block("entry"), function.append_basic_block("ready")
    b = ir.IRBuilder(entry)
    team = b.load(function.args[0], typ=POINTER)
    thread = b.load(at(b, function.args[0], 8), typ=I64)
    b.branch(ready)
    b.position_at_end(ready)
    seen = b.phi(I32)
    seen.add_incoming(I32(0), entry)
    b.call(wait, [team, at(b, team, GENERATION), at(b, team, IDLE), seen])
    program = b.load(at(b, team, PROGRAM), typ=_PROGRAM)
    with b.if_then(b.icmp_unsigned("==", program, ir.Constant(_PROGRAM, None))):
        b.ret(ir.Constant(POINTER, None))
    context = b.load(at(b, team, CONTEXT), typ=POINTER)
    threads = b.load(at(b, team, THREADS), typ=I64)
    _take_part(b, program, context, Crew(thread, threads, team))
    # The next run cannot begin before this one has ended, so it is the one behind `seen`.
    seen.add_incoming(b.add(seen, I32(1)), b.basic_block)
    b.branch(ready)
