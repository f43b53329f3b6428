"""What the documentation shows is what happens: its blocks and docstrings are run."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture import read_modules
from tests.pages import Block, Example, read_blocks, read_examples
from tests.readme import ROOT, copy_project, list_files, read_commands

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = [
    module.name
    for package in ("lazygraph", "training")
    for module in read_modules(ROOT / package)
    if not module.name.endswith("__main__")  # importing it would start the program
]


def run_page(page: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    # A process of its own, as readers have it: counters start at zero, nothing is warm.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-P", "-W", "error", "-m", "tests.pages", str(page)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def compare(example: Example, printed: str) -> str:
    """How the output shown differs from the one printed: empty if not; `...` stands for any."""
    if example.output is None:
        return ""
    shown = doctest.Example(example.code.text, example.output.text)
    checker = doctest.OutputChecker()
    if checker.check_output(shown.want, printed.rstrip() + "\n", doctest.ELLIPSIS):
        return ""
    difference = checker.output_difference(shown, printed, doctest.ELLIPSIS)
    return f"the output in line {example.output.line} is another one\n{difference}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
class TestPages:
    def test_blocks_run_and_print_what_is_shown(self, page: Path, tmp_path: Path) -> None:
        examples = read_examples(page.read_text(encoding="utf-8"))
        if not examples:
            return
        process = run_page(page, tmp_path)
        assert process.returncode == 0, process.stderr
        outputs = json.loads(process.stdout)
        assert "\n".join(filter(None, map(compare, examples, outputs))) == ""

    def test_links_lead_to_files(self, page: Path) -> None:
        prose = page.read_text(encoding="utf-8")
        for block in read_blocks(prose):
            prose = prose.replace(block.text, "")
        targets = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", prose)
        assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    complaints: list[str] = []
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(test, out=complaints.append)
    assert "".join(complaints) == ""


def test_the_readme_has_one_command_to_train_and_one_to_test() -> None:
    train, test = read_commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert train.startswith("python3 -m venv .venv && ")
    assert "-m training " in train
    assert test.startswith("python3 -m venv .venv && ")
    assert "-m pytest" in test


def test_a_page_is_read_into_blocks_with_their_lines() -> None:
    page = "\n".join(
        [
            "# Title",
            "```python",
            "x = 1",
            "",
            "```",
            "1. In a list:",
            "   ```sh",
            "   make",
            "   ```",
            "````text title",
            "```",
            "````",
            "Inline ```code``` is none.",
            "~~~",
            "~~~",
        ]
    )
    assert read_blocks(page) == [
        Block("python", "x = 1\n\n", 3),
        Block("sh", "make\n", 8),
        Block("text", "```\n", 11),
        Block("", "", 15),
    ]


def test_only_the_next_block_is_the_output() -> None:
    page = "```python\na\n```\nprints\n```text\n1\n```\n```python\nb\n```\n```sh\nc\n```\n"
    first, second = read_examples(page)
    assert (first.code.text, first.output) == ("a\n", Block("text", "1\n", 6))
    assert (second.code.text, second.output) == ("b\n", None)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("# Title\n```python\nx = 1\n", "line 2: this fence is never closed"),
        ("```text\n1\n```\n", "line 2: a block of text is the output of Python before it"),
        ("```python\n```\n```sh\n```\n```text\n```\n", "line 6: a block of text is the output"),
    ],
)
def test_a_page_that_cannot_be_read_is_refused(page: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_examples(page)


def plant(folder: Path, *blocks: str) -> Path:
    page = folder / "Page.md"
    page.write_text("\n".join(f"Prose.\n```python\n{block}\n```" for block in blocks))
    return page


def test_blocks_share_names_and_each_keeps_its_own_output(tmp_path: Path) -> None:
    page = plant(tmp_path, "x = 2\nprint(x)", "def f():\n    return x + 1", "print(f())")
    assert json.loads(run_page(page, tmp_path).stdout) == ["2\n", "", "3\n"]


def test_an_error_in_a_block_is_told_as_of_a_script_of_all_blocks(tmp_path: Path) -> None:
    process = run_page(plant(tmp_path, "x = 2", "print(x)\nprint(x / 0)"), tmp_path)
    assert process.returncode == 1
    assert 'File "page.py", line 4, in <module>\n    print(x / 0)' in process.stderr
    assert "ZeroDivisionError" in process.stderr


def test_a_warning_in_a_block_is_an_error(tmp_path: Path) -> None:
    process = run_page(plant(tmp_path, "import warnings\nwarnings.warn('old')"), tmp_path)
    assert process.returncode == 1
    assert "UserWarning: old" in process.stderr


def test_classes_of_a_block_can_be_pickled(tmp_path: Path) -> None:
    block = "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)"
    assert json.loads(run_page(plant(tmp_path, block), tmp_path).stdout) == ["True\n"]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("1\n", "1\n", True),
        ("1\n", "1\n\n", True),
        ("took ... s\n", "took 0.2 s\n", True),
        ("1\n", "2\n", False),
        ("a b\n", "a  b\n", False),
        ("1\n2\n", "1\n", False),
        ("1\n", "", False),
    ],
)
def test_an_output_that_differs_is_found(shown: str, printed: str, same: bool) -> None:
    example = Example(Block("python", "f()\n", 1), Block("text", shown, 5))
    assert (compare(example, printed) == "") is same


@pytest.mark.parametrize("count", [1, 3])
def test_a_readme_without_exactly_two_commands_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"must have two blocks of sh; it has {count}"):
        read_commands("```sh\nmake\n```\n" * count)


def test_a_copy_of_the_project_has_no_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    project, copy = tmp_path / "project", tmp_path / "copy"
    for name in ("pyproject.toml", "a/b.py", ".venv/c", "a/__pycache__/d.pyc", "runs/1/e"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    assert list_files(project) == []  # not a repository
    copy_project(project, copy)
    files = [path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()]
    assert sorted(files) == ["a/b.py", "pyproject.toml"]
