"""The checks of the house fail where they should: each on a small planted source."""

from collections.abc import Iterator

import pytest

from tests import architecture
from tests.architecture import Import, Module

FLOORS = {"lazygraph.errors": 0, "lazygraph.graph": 1, "lazygraph.ops": 2, "lazygraph": 7}


def plant(**sources: str) -> list[Module]:
    """Modules of a small `lazygraph`: `graph__node` stands for lazygraph.graph.node."""
    names = {"lazygraph." + name.replace("__", "."): text for name, text in sources.items()}
    return [
        Module(name, text, any(other.startswith(name + ".") for other in names))
        for name, text in names.items()
    ]


def imports_of(**sources: str) -> list[Import]:
    modules = plant(**sources)
    return architecture.read_imports(modules, {module.name for module in modules})


UPWARD = "lazygraph.graph.node imports lazygraph.ops.layout (floor 1 to floor 2)"


@pytest.mark.parametrize(
    "source",
    [
        "import lazygraph.ops.layout",
        "import lazygraph.ops.layout as layout",
        "from lazygraph.ops import layout",
        "from lazygraph.ops.layout import reshape",
        "from ..ops import layout",
        "from ..ops.layout import reshape",
        "def shape(x):\n    from lazygraph.ops import layout",
        "async def shape(x):\n    from lazygraph.ops import layout",
        "class A:\n    def shape(self):\n        import lazygraph.ops.layout",
        "if TYPE_CHECKING:\n    from lazygraph.ops import layout",
        "try:\n    from lazygraph.ops import layout\nexcept ImportError:\n    pass",
        "import importlib\nlayout = importlib.import_module('lazygraph.ops.layout')",
        "layout = __import__('lazygraph.ops.layout')",
    ],
)
def test_an_import_that_points_up_is_found_wherever_it_stands(source: str) -> None:
    imports = imports_of(graph="", graph__node=source, ops="", ops__layout="")
    assert list(architecture.find_upward(imports, FLOORS)) == [UPWARD]


def test_an_import_of_the_package_itself_points_up() -> None:
    imports = imports_of(graph="from lazygraph import Tensor", errors="import lazygraph as lg")
    assert list(architecture.find_upward(imports, FLOORS)) == [
        "lazygraph.graph imports lazygraph (floor 1 to floor 7)",
        "lazygraph.errors imports lazygraph (floor 0 to floor 7)",
    ]


def test_imports_down_and_within_a_floor_are_fine() -> None:
    imports = imports_of(
        errors="import sys",
        graph="from .node import Node",
        graph__node="from lazygraph.errors import ShapeError\nfrom .spec import Spec",
        graph__spec="import numpy as np",
        ops="from lazygraph.graph import Node\nfrom lazygraph import errors",
    )
    assert len(imports) == 7
    assert list(architecture.find_upward(imports, FLOORS)) == []


def test_a_relative_import_counts_from_the_package_it_stands_in() -> None:
    modules = [Module("a.b", "from . import c\nfrom .c import d\nfrom .. import e", True)]
    modules += [Module("a.f", "from . import e\nfrom .b import c\nfrom .b.c import d")]
    imports = architecture.read_imports(modules, {"a", "a.b", "a.b.c", "a.e", "a.f"})
    assert list(map(str, imports)) == [
        "a.b imports a.b.c",
        "a.b imports a.e",
        "a.f imports a.e",
        "a.f imports a.b.c",
    ]


def test_a_circle_is_found_and_told_in_order() -> None:
    imports = imports_of(
        graph__node="import lazygraph.graph.walk",
        graph__walk="def walk():\n    from lazygraph.graph.spec import Spec",
        graph__spec="from lazygraph.graph import node",
        errors="import lazygraph.graph.node",
    )
    assert list(architecture.find_cycles(imports)) == [
        "lazygraph.graph.node imports lazygraph.graph.walk "
        "imports lazygraph.graph.spec imports lazygraph.graph.node"
    ]


def test_a_circle_through_the_init_of_a_package_is_found() -> None:
    imports = imports_of(
        graph="from lazygraph.graph.node import Node",
        graph__node="from lazygraph.graph import Node",
    )
    assert list(architecture.find_cycles(imports)) == [
        "lazygraph.graph imports lazygraph.graph.node imports lazygraph.graph"
    ]


def test_a_module_that_imports_itself_is_a_circle() -> None:
    imports = imports_of(graph__node="import lazygraph.graph.node")
    assert list(architecture.find_cycles(imports)) == [
        "lazygraph.graph.node imports lazygraph.graph.node"
    ]


def test_two_modules_may_name_each_other_to_the_type_checker() -> None:
    imports = imports_of(
        graph__node="import lazygraph.graph.op",
        graph__op="import typing\nif typing.TYPE_CHECKING:\n    import lazygraph.graph.node",
    )
    assert list(architecture.find_cycles(imports)) == []


def test_the_other_branch_of_type_checking_runs() -> None:
    (first, second) = imports_of(errors="if TYPE_CHECKING:\n    import a\nelse:\n    import b")
    assert (first.imported, first.typing_only) == ("a", True)
    assert (second.imported, second.typing_only) == ("b", False)


def test_a_package_that_comes_along_with_the_import_is_found() -> None:
    imports = imports_of(
        errors="import numpy.linalg\nimport os.path\nfrom rich import progress",
        graph="def view():\n    import networkx",
        ops="import typing\nif typing.TYPE_CHECKING:\n    import networkx",
    )
    assert list(architecture.find_foreign(imports, {"numpy"})) == [
        "lazygraph.errors imports rich outside of the function that needs it"
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import lazygraph as lg\nlg.graph.node.Node",
        "import lazygraph\nlazygraph.graph",
        "import lazygraph.extend\nlazygraph.graph",
        "from lazygraph import graph",
        "def build():\n    from lazygraph import graph as g",
    ],
)
def test_a_name_that_is_not_public_is_found(source: str) -> None:
    module = Module("training.loop", source)
    assert list(architecture.find_private_uses(module, "lazygraph", {"Tensor"})) == [
        "training.loop uses lazygraph.graph, which is not public"
    ]


def test_a_public_name_is_fine() -> None:
    source = "import lazygraph as lg\nfrom lazygraph import Tensor\nx = lg.Tensor.graph"
    module = Module("training.loop", source)
    assert list(architecture.find_private_uses(module, "lazygraph", {"Tensor"})) == []


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("x = 1", "a has no docstring"),
        ('"""Two things. They differ."""', "a: the docstring must begin with one sentence"),
        ('"""No full stop"""', "a: the docstring must begin with one sentence"),
    ],
)
def test_a_docstring_that_is_not_a_sentence_is_found(source: str, complaint: str) -> None:
    assert list(architecture.find_bad_docstring(Module("a", source))) == [complaint]


@pytest.mark.parametrize(
    "docstring",
    [
        "exp, log, sqrt: smooth functions.",
        "One sentence\non two lines.",
        "One.\n\n  More. Still.",
    ],
)
def test_a_sentence_and_more_below_is_a_good_docstring(docstring: str) -> None:
    assert list(architecture.find_bad_docstring(Module("a", f'"""{docstring}"""'))) == []


def test_a_function_of_forty_lines_is_long_and_its_docstring_is_free() -> None:
    docstring = '    """Say.\n\n    More.\n    """\n'
    short = "def f():\n" + docstring + "    x = 1\n" * 38
    assert list(architecture.find_long(Module("a", short))) == []
    assert list(architecture.find_long(Module("a", short + "    y = 1\n"))) == [
        ("a.f", "a.f has 40 lines; under 40 are wanted")
    ]


def test_a_method_and_an_inner_function_are_measured_too() -> None:
    method = "class A:\n    def f(self):\n        def g():\n" + "            x = 1\n" * 40
    assert [name for name, _ in architecture.find_long(Module("a", method))] == ["a.f", "a.g"]


def test_a_file_of_three_hundred_lines_is_long() -> None:
    assert list(architecture.find_long(Module("a", "x = 1\n" * 299))) == []
    assert list(architecture.find_long(Module("a", "x = 1\n" * 300))) == [
        ("a", "a has 300 lines; under 300 are wanted")
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\nx = os.environ['A']", 1),
        ("import os\nif True:\n    x = os.getenv('A')", 1),
        ("import os\nclass A:\n    x = os.getenv('A')", 1),
        ("import os\ndef f(x=os.getenv('A')):\n    pass", 1),
        ("from os import environ", 1),
        ("import os\ndef f():\n    return os.environ['A']", 0),
        ("import os\nf = lambda: os.environ['A']", 0),
        ("import os\nx = os.sep", 0),
    ],
)
def test_reading_the_environment_at_import_is_found(source: str, found: int) -> None:
    complaints = list(architecture.find_environment_at_import(Module("a", source)))
    assert len(complaints) == found


def test_modules_without_an_idea_and_notes_for_later_are_found() -> None:
    later = "TO" + "DO"
    assert list(architecture.find_homeless(Module("training.utils", ""))) == [
        "training.utils is named after no idea: its functions have no home"
    ]
    assert list(architecture.find_homeless(Module("training.loop", ""))) == []
    assert list(architecture.find_postponed(Module("a", f"x = 1\ny = 2  # {later}: z"))) == [
        f"a, line 2: y = 2  # {later}: z"
    ]


@pytest.mark.parametrize(
    ("body", "asserts"),
    [
        ("x = 1", False),
        ("print(x)", False),
        ("assert x == 1", True),
        ("for x in y:\n        assert x", True),
        ("with pytest.raises(ValueError):\n        f()", True),
        ("np.testing.assert_allclose(x, y)", True),
        ("check_close(x, y)", True),
    ],
)
def test_a_test_without_an_assertion_is_found(body: str, asserts: bool) -> None:
    found: Iterator[str] = architecture.find_empty_tests(
        Module("tests.test_a", f"def test_x():\n    {body}\n\ndef f():\n    pass")
    )
    assert list(found) == ([] if asserts else ["tests.test_a.test_x asserts nothing"])
