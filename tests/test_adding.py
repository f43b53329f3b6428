"""Each addition of the page fits on a screen; its op needs no test but those of the table."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import read_examples
from tests.readme import ROOT

PAGE = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
OP = read_examples(PAGE)[0].code.text
TABLE = ["tests/lazygraph/test_op_table.py", "tests/lazygraph/test_op_gradients.py"]


def test_each_addition_fits_on_a_screen() -> None:
    sections = PAGE.split("\n## ")[1:]
    assert [section.splitlines()[0] for section in sections] == [
        "An op",
        "A rewrite rule",
        "An optimizer",
    ]
    assert max(len(section.strip().splitlines()) for section in sections) <= 45


def run_table(folder: Path, code: str) -> tuple[int, set[str]]:
    """How many tests of the table the op in a file of its own passes, and which it fails."""
    (folder / "softsign.py").write_text(code, encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "softsign"]
    ran = subprocess.run(
        [*command, *TABLE, "-k", "softsign"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"(\d+) passed", ran.stdout)
    failed = set(re.findall(r"^FAILED \S+::(\w+)", ran.stdout, flags=re.MULTILINE))
    assert ran.returncode == (1 if failed else 0), ran.stdout + ran.stderr
    return int(passed[1]) if passed else 0, failed


def test_an_op_in_a_file_of_its_own_is_taken_by_the_tests_of_the_table(tmp_path: Path) -> None:
    passed, failed = run_table(tmp_path, OP)
    assert failed == set()
    assert passed >= 15


@pytest.mark.parametrize(
    ("right", "wrong", "caught"),
    [
        ("[g / lg", "[-g / lg", "test_the_gradient_is_the_transpose_of_the_derivative"),
        ("k.absolute(x)", "x", "test_emit_describes_the_bits_of_evaluate"),
        ("out=out)", "out=out[:1])", "test_any_shape_will_do_empty_and_without_axes_included"),
    ],
    ids=["gradient", "emit", "value"],
)
def test_a_mistake_in_any_field_of_it_is_caught(
    right: str, wrong: str, caught: str, tmp_path: Path
) -> None:
    assert OP.count(right) == 1
    _, failed = run_table(tmp_path, OP.replace(right, wrong))
    assert caught in failed
