"""Runs the benchmarks: `python -m benchmarks` all of them, with names only those."""

import subprocess
import sys

# In the order in which they run, each in a process of its own: none warms another one up.
BENCHMARKS: tuple[str, ...] = ()


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    if unknown := sorted({*names} - {*BENCHMARKS}):
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
        return 2
    for name in names or BENCHMARKS:
        print(f"=== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
