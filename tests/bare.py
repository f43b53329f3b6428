"""Checks an installation without extras: what came along, and what the import costs."""

import subprocess
import sys
from importlib.metadata import distributions

WANTED = {"lazygraph", "networkx", "numpy"}
INSTALLERS = {"pip", "setuptools", "wheel"}
LOADED = "import sys, lazygraph, training; print('networkx' in sys.modules)"
TIMED = """
import numpy, time
start = time.perf_counter()
import lazygraph
print(time.perf_counter() - start)
"""


def run(program: str) -> str:
    """What a fresh interpreter prints; warnings are errors, and this folder is out of sight."""
    command = [sys.executable, "-P", "-W", "error", "-c", program]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> None:
    """Print what was found, or fail with a sentence."""
    installed = {found.name.lower() for found in distributions()} - INSTALLERS
    if installed != WANTED:
        sys.exit(
            f"the bare package must bring {sorted(WANTED)}; it brought {sorted(installed)}"
        )
    if run(LOADED) != "False":
        sys.exit("importing the packages must not import networkx: do it where it is needed")
    seconds = min(float(run(TIMED)) for _ in range(7))
    print(f"installed: {', '.join(sorted(installed))}")
    print(f"import lazygraph: {seconds * 1000:.0f} ms beyond numpy (promised: under 150 ms)")


if __name__ == "__main__":
    main()
