"""One program on one workload, in a process of its own: runs it, and prints what it found.

    python -m benchmarks.measuring PROGRAM WORKLOAD SECONDS [CORES]

The last line is JSON. With 0 seconds nothing is timed: only losses are found. The process is
bound to `CORES` of its cores, if their number is given.
"""

import ctypes
import gc
import importlib
import json
import math
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.program import Program, UnavailableError
from benchmarks.workloads import WORKLOADS, Workload

PROGRAMS = {
    "ours": "benchmarks.ours",
    "by_hand": "benchmarks.by_hand",
    "autograd": "benchmarks.with_autograd",
    "jax": "benchmarks.with_jax",
    "torch": "benchmarks.with_torch",
}
WARM_STEPS, COMPARED = 20, (1, 10, 20)
FEWEST_SAMPLES, SAMPLE = 20, 0.004  # a sample is as many steps as fill so many seconds
MILLI, MEGA = 1e3, 1e6


def _memory(what: str) -> float:
    """Megabytes: of `VmRSS` now, of `VmHWM` at most so far. NaN where there is no /proc."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            name, value = line.split(":", 1)
            if name == what:
                return int(value.split()[0]) * 1024 / MEGA
    return math.nan


def _forget_peak() -> None:
    """From here on `VmHWM` is the peak of what follows; what was freed before is given back."""
    gc.collect()
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of the GNU C library
    if give_back is not None:
        give_back(0)
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        forget.write_text("5")


def _work_of_machine() -> float:
    """Seconds that the cores worked since the machine started. NaN where there is no /proc."""
    whole = Path("/proc/stat")
    if not whole.exists():
        return math.nan
    user, nice, system, _, _, irq, softirq, stolen = whole.read_text().split()[1:9]
    ticks = sum(map(int, (user, nice, system, irq, softirq, stolen)))
    return ticks / os.sysconf("SC_CLK_TCK")


def _warm(program: Program) -> tuple[dict[str, float], list[float]]:
    """The losses that are compared, and the seconds of each step."""
    losses, seconds = {}, []
    for number in range(1, WARM_STEPS + 1):
        start = time.perf_counter()
        handle = program.step()
        program.wait(handle)
        seconds.append(time.perf_counter() - start)
        if number in COMPARED:
            losses[str(number)] = program.loss(handle)
    return losses, seconds


def _samples(program: Program, least: float, guess: float) -> list[float]:
    """Seconds a step, of many samples: for `least` seconds, and at least so many."""
    steps = max(1, math.ceil(SAMPLE / guess))
    samples: list[float] = []
    begin = end = time.perf_counter()
    while len(samples) < FEWEST_SAMPLES or end - begin < least:
        start = time.perf_counter()
        for _ in range(steps):
            handle = program.step()
        program.wait(handle)
        end = time.perf_counter()
        samples.append((end - start) / steps)
    return samples


def _products(program: Program, workload: Workload) -> float:
    """Seconds that the matrix products of a step take by themselves."""
    total = 0.0
    for product in workload.shape.products():
        call = program.product(product)
        call()
        seconds: list[float] = []
        end = time.perf_counter() + 0.2
        while len(seconds) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        total += product.times * statistics.median(seconds)
    return total


def measure(program: Program, workload: Workload, least: float, base: float) -> dict[str, Any]:
    """Warm up, time, and look at the memory."""
    _forget_peak()
    losses, warm = _warm(program)
    found: dict[str, Any] = {"losses": losses, "first_ms": warm[0] * MILLI}
    if not least:
        return found
    gc.collect()
    gc.disable()
    work, own, start = _work_of_machine(), time.process_time(), time.perf_counter()
    samples = _samples(program, least, statistics.median(warm[3:]))
    own, wall = time.process_time() - own, time.perf_counter() - start
    work = _work_of_machine() - work
    gc.enable()
    peak = _memory("VmHWM")
    predicted = {what: n / MEGA for what, n in program.predicted().items()}
    return found | {
        "median_ms": statistics.median(samples) * MILLI,
        "least_ms": min(samples) * MILLI,
        "samples": len(samples),
        "products_ms": _products(program, workload) * MILLI,
        "cores": own / wall,
        "cores_of_others": max(0.0, (work - own) / wall),
        "peak_mb": peak,
        "used_mb": peak - base,  # the libraries themselves left out
        "predicted_mb": predicted,
    }


def main(arguments: list[str]) -> None:
    """Print the finding, or what is missing for it."""
    name, workload_name, seconds = arguments[:3]
    if arguments[3:]:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(arguments[3]) :])
    workload = WORKLOADS[workload_name]
    found: dict[str, Any] = {"python": platform.python_version()}
    try:
        module = importlib.import_module(PROGRAMS[name])
        base = _memory("VmRSS")
        found |= measure(module.prepare(workload), workload, float(seconds), base)
    except ModuleNotFoundError as error:
        found["missing"] = f"{error.name} is not installed"
    except UnavailableError as error:
        found["missing"] = str(error)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
