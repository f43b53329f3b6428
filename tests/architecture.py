"""Reads modules with `ast` and says where one breaks a rule of the house."""

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import networkx

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 40
HOMELESS = ("common", "helpers", "misc", "util", "utils")
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A module: its dotted name, its source, and whether it is the `__init__` of a package."""

    name: str
    source: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, self.name)

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]


@dataclass(frozen=True)
class Import:
    """One module importing another, perhaps only for the type checker or inside a function."""

    importer: str
    imported: str
    typing_only: bool = False
    deferred: bool = False

    def __str__(self) -> str:
        return f"{self.importer} imports {self.imported}"


def read_modules(folder: Path) -> list[Module]:
    """The modules under a folder, named from its parent."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules.append(Module(name, path.read_text(encoding="utf-8"), is_package))
    return modules


class _ImportReader(ast.NodeVisitor):
    """Collects imports from every depth; `known` tells modules from the names inside them."""

    def __init__(self, module: Module, known: Collection[str]) -> None:
        self.module = module
        self.known = known
        self.found: list[Import] = []
        self.typing_only = False
        self.depth = 0

    def add(self, imported: str) -> None:
        self.found.append(Import(self.module.name, imported, self.typing_only, self.depth > 0))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.add(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        package = node.module or ""
        if node.level:
            parts = self.module.name.split(".")
            kept = len(parts) - node.level + self.module.is_package
            package = ".".join([*parts[:kept], *package.split(".")]).rstrip(".")
        for alias in node.names:
            inner = f"{package}.{alias.name}"
            self.add(inner if inner in self.known else package)

    def visit_Call(self, node: ast.Call) -> None:
        called = ast.unparse(node.func)
        match node.args:
            case [ast.Constant(value=str(name)), *_] if called in (
                "import_module",
                "importlib.import_module",
                "__import__",
            ):
                self.add(name)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        outer = self.typing_only
        condition = ast.unparse(node.test)
        self.typing_only = outer or condition in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for statement in node.body:
            self.visit(statement)
        self.typing_only = outer
        self.visit(node.test)
        for statement in node.orelse:
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit_body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_body(node)

    def visit_body(self, node: Function) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1


def read_imports(modules: Iterable[Module], known: Collection[str]) -> list[Import]:
    """All imports of the modules; `known` are the names that are modules themselves."""
    found: list[Import] = []
    for module in modules:
        reader = _ImportReader(module, known)
        reader.visit(module.tree)
        found += dict.fromkeys(reader.found)
    return found


def room_of(name: str) -> str:
    """The room of a module: `lazygraph.graph` for `lazygraph.graph.node`."""
    return ".".join(name.split(".")[:2])


def find_upward(imports: Iterable[Import], floors: Mapping[str, int]) -> Iterator[str]:
    """Imports between rooms that lead to a higher floor, those of the type checker included."""
    for each in imports:
        if room_of(each.importer) in floors and room_of(each.imported) in floors:
            here, there = floors[room_of(each.importer)], floors[room_of(each.imported)]
            if there > here:
                yield f"{each} (floor {here} to floor {there})"


def find_cycles(imports: Iterable[Import]) -> Iterator[str]:
    """Groups of modules that need one another to run."""
    graph = networkx.DiGraph(
        (each.importer, each.imported) for each in imports if not each.typing_only
    )
    for group in networkx.strongly_connected_components(graph):
        inside = graph.subgraph(group)
        if inside.number_of_edges():
            steps = [start for start, _ in networkx.find_cycle(inside)]
            first = steps.index(min(steps))
            yield " imports ".join([*steps[first:], *steps[:first], steps[first]])


def find_foreign(imports: Iterable[Import], allowed: Collection[str]) -> Iterator[str]:
    """Packages that an import brings in beyond `allowed` and the standard library."""
    known = {*allowed, *sys.stdlib_module_names}
    for each in imports:
        at_import = not (each.typing_only or each.deferred)
        if at_import and each.imported.split(".")[0] not in known:
            yield f"{each} outside of the function that needs it"


def find_private_uses(module: Module, package: str, public: Collection[str]) -> Iterator[str]:
    """Names that are used as `package.name`, or imported from it, and are not public."""
    handles = {
        alias.asname or package
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == package or (alias.name.startswith(f"{package}.") and not alias.asname)
    }
    for node in ast.walk(module.tree):
        names: list[str] = []
        match node:
            case ast.Attribute(value=ast.Name(id=handle), attr=name) if handle in handles:
                names = [name]
            case ast.ImportFrom(module=source, level=0) if source == package:
                names = [alias.name for alias in node.names]
        for name in names:
            if name not in public:
                yield f"{module.name} uses {package}.{name}, which is not public"


def find_bad_docstring(module: Module) -> Iterator[str]:
    """A module docstring whose first paragraph is not one sentence."""
    first = (ast.get_docstring(module.tree) or "").split("\n\n")[0]
    if not first:
        yield f"{module.name} has no docstring"
    elif not first.endswith((".", ":")) or re.search(r"[.!?]\s+[A-Z`]", first):
        yield f"{module.name}: the docstring must begin with one sentence"


def find_long(module: Module) -> Iterator[tuple[str, str]]:
    """The names of a module or functions in it that are too long, each with a complaint."""
    lines = module.source.count("\n")
    if lines >= MAX_FILE_LINES:
        yield module.name, f"{module.name} has {lines} lines; under {MAX_FILE_LINES} are wanted"
    for function in module.functions:
        lines = _count_lines(function)
        if lines >= MAX_FUNCTION_LINES:
            name = f"{module.name}.{function.name}"
            yield name, f"{name} has {lines} lines; under {MAX_FUNCTION_LINES} are wanted"


def _count_lines(function: Function) -> int:
    """Lines of a function, its docstring not counted: a good one may be long."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    match function.body[0]:
        case ast.Expr(value=ast.Constant(value=str())) as text:
            lines -= (text.end_lineno or text.lineno) - text.lineno + 1
    return lines


def find_environment_at_import(module: Module) -> Iterator[str]:
    """Lines that read the environment when the module is imported."""
    waiting: list[ast.AST] = [module.tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.Lambda):
            # Defaults and decorators run with the `def`, the body only with a call.
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            waiting += getattr(node, "decorator_list", [])
            continue
        waiting += ast.iter_child_nodes(node)
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "getenv" | "environb"):
                yield f"{module.name} reads the environment at import, in line {node.lineno}"
            case ast.ImportFrom(module="os") if {"environ", "getenv", "environb"} & {
                alias.name for alias in node.names
            }:
                yield f"{module.name} imports the environment by name, in line {node.lineno}"


def find_homeless(module: Module) -> Iterator[str]:
    """Module names that say nothing about what is inside."""
    if module.name.split(".")[-1] in HOMELESS:
        yield f"{module.name} is named after no idea: its functions have no home"


def find_postponed(module: Module) -> Iterator[str]:
    """Notes to do something later."""
    for number, line in enumerate(module.source.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield f"{module.name}, line {number}: {line.strip()}"


def find_empty_tests(module: Module) -> Iterator[str]:
    """Tests without an `assert`, and without a call of `raises` or `assert_...`."""
    for function in module.functions:
        if function.name.startswith("test_"):
            calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
            called = [ast.unparse(call).split(".")[-1] for call in calls]
            asserts = any(isinstance(node, ast.Assert) for node in ast.walk(function))
            if not asserts and not any(_asserts(name) for name in called):
                yield f"{module.name}.{function.name} asserts nothing"


def _asserts(name: str) -> bool:
    return name in ("raises", "warns") or name.startswith(("assert", "check"))
