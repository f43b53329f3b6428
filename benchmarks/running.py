"""Starts `measuring` in a process of its own and gets its finding, whatever becomes of it."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent.parent
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
Finding = dict[str, Any]  # what `measuring` prints, or one entry: "missing" or "failed"


@dataclass(frozen=True, slots=True)
class Options:
    """How programs are run.

    Attributes:
        seconds: how long each is timed, at least.
        timeout: seconds after which a process is ended.
        threads: how many threads each may use; None leaves it to them.
        pythons: the interpreter of a program, if it is another one.
    """

    seconds: float = 3.0
    timeout: float = 300.0
    threads: int | None = None
    pythons: dict[str, str] = field(default_factory=dict)


def run(program: str, workload: str, options: Options, seconds: float) -> Finding:
    """Measure in a process of its own; one that fails or hangs is a finding too."""
    python = options.pythons.get(program, sys.executable)
    command = [python, "-m", "benchmarks.measuring", program, workload, str(seconds)]
    environment = dict(os.environ)
    if options.threads is not None:
        command.append(str(options.threads))
        environment |= dict.fromkeys(_THREADS, str(options.threads))
    try:
        child = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        return {"failed": f"{python}: {error.strerror}"}
    with child:
        try:
            out, err = child.communicate(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return {"failed": f"no answer within {options.timeout:g} s"}
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    if child.returncode:
        lines = err.strip().splitlines() or ["nothing was said"]
        return {"failed": f"{_ending(child.returncode)}: {lines[-1]}"}
    finding: Finding = json.loads(out.splitlines()[-1])
    return finding


def _ending(code: int) -> str:
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
