"""Without llvmlite, one sentence says what to install."""

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["llvmlite"] = None
import lazygraph
try:
    import lazygraph.backends.native.scalars
except lazygraph.errors.MissingExtraError as error:
    print(error)
"""


def test_the_sentence_names_the_extra() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    wanted = "llvmlite is not installed; pip install 'lazygraph[native]' brings it\n"
    assert (found.stdout, found.stderr) == (wanted, "")
