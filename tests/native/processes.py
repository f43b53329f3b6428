"""Programs of Python in processes of their own, for what cannot happen inside of a test."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# A process that hangs is ended; one that works needs a fraction of it, on a busy machine too.
LIMIT = 120.0


def start(program: str, *arguments: str) -> "subprocess.Popen[str]":
    """A fresh interpreter that runs the program, with warnings as errors."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: "subprocess.Popen[str]") -> str:
    """What the process printed; it must end by itself, with nothing to complain about."""
    try:
        printed, complaints = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its children, too: they hold the pipes
        printed, complaints = process.communicate()
        raise AssertionError(f"the process hangs; it printed {printed}{complaints}") from None
    assert (process.returncode, complaints) == (0, "")
    return printed


def run(program: str, *arguments: str) -> str:
    """Both of them."""
    return finish(start(program, *arguments))
