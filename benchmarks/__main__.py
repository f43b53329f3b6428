"""Runs the benchmarks: `python -m benchmarks` the quick ones, or `NAME [ARGUMENT ...]` one."""

import subprocess
import sys

# What each one measures.
BENCHMARKS = {
    "recording": "what laziness costs: recording a node, finding the plan of a graph",
    "compare": "[WORKLOAD ...] [--against NAME ...]: training steps beside those of others",
    "shakespeare": "TEXT [SEED ...]: nanoGPT's documented run, against PyTorch's figures",
}
# In this order, each in a process of its own: none warms another one up.
QUICK = (("recording",), ("compare", "tiny", "mlp", "--rounds", "2", "--seconds", "1"))


def _listing() -> str:
    return "\n".join(f"  {name:12s} {what}" for name, what in BENCHMARKS.items())


def main(arguments: list[str]) -> int:
    """Run the named benchmark, or the quick ones."""
    if arguments and arguments[0] not in BENCHMARKS:
        asked = arguments[0] in ("-h", "--help")
        print(
            f"{__doc__}\n" if asked else f"no benchmark is called {arguments[0]!r}; there are"
        )
        print(_listing())
        return 0 if asked else 2
    for name, *rest in [arguments] if arguments else QUICK:
        print(f"=== {' '.join([name, *rest])}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *rest]
        if code := subprocess.run(command).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
