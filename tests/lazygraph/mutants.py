"""Gradient rules with one thing wrong each."""

import ast
import copy
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from lazygraph.extend import OPS, Op

# Calls that tell no number from another: without them nothing would be wrong, or everything.
BLAND = ("apply", "constant", "len", "list", "partial", "range", "sorted", "tuple", "zip")
FOLDERS = ("lazygraph.ops.", "lazygraph.autodiff.")
Definition = ast.Lambda | ast.FunctionDef

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}


@dataclass(eq=False)
class Rule:
    """A function that gradients come from: of some ops, or a helper of such functions.

    Attributes:
        function: what it is now.
        ops: the ops whose rule it is.
    """

    function: FunctionType
    ops: list[Op] = field(default_factory=list)

    @property
    def name(self) -> str:
        module = self.function.__module__.rsplit(".", 1)[-1]
        own = self.function.__name__
        return f"{module}.{own}" if own != "<lambda>" else "/".join(op.name for op in self.ops)

    @contextmanager
    def replaced(self, function: Any) -> Iterator[None]:
        """Let another function stand in its place, wherever it is called from."""
        names = self.function.__globals__
        known = names.get(self.function.__name__) is self.function
        kept = [(op, op.gradient) for op in self.ops]
        try:
            for op in self.ops:
                object.__setattr__(op, "gradient", function)  # records are frozen
            if known:
                names[self.function.__name__] = function
            yield
        finally:
            for op, gradient in kept:
                object.__setattr__(op, "gradient", gradient)
            if known:
                names[self.function.__name__] = self.function


@dataclass(frozen=True, eq=False)
class Mutant:
    """A rule with one change."""

    rule: Rule
    change: str
    function: Any

    def __str__(self) -> str:
        return f"{self.rule.name}: {self.change}"


def rules() -> list[Rule]:
    """Every rule of the table, and the private functions that they call."""
    found: dict[CodeType, Rule] = {}
    waiting: list[tuple[Any, Op | None]] = [
        (op.gradient, op) for op in OPS.values() if op.gradient is not None
    ]
    while waiting:
        function, op = waiting.pop(0)
        rule = found.get(function.__code__)
        if rule is None:
            rule = found[function.__code__] = Rule(function)
            waiting += [(helper, None) for helper in _helpers(function)]
        if op is not None:
            rule.ops.append(op)
    return list(found.values())


def _helpers(function: FunctionType) -> Iterator[FunctionType]:
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
    for name in sorted(names):
        helper = function.__globals__.get(name)
        if not (name.startswith("_") and isinstance(helper, FunctionType)):
            continue
        if helper.__module__.startswith(FOLDERS):
            yield helper


@cache
def _tree(filename: str) -> ast.Module:
    with open(filename, encoding="utf-8") as file:
        return ast.parse(file.read())


def definition(function: FunctionType) -> Definition:
    """Where a function is written down."""
    code = function.__code__
    for node in ast.walk(_tree(code.co_filename)):
        if isinstance(node, Definition) and node.lineno == code.co_firstlineno:
            made = _made(node, function).__code__
            if all(getattr(made, part) == getattr(code, part) for part in _PARTS):
                return node
    raise LookupError(f"no source of {function}")


_PARTS = ("co_names", "co_varnames")


def _made(node: Definition, function: FunctionType) -> Any:
    """A function of the definition, in the module of another one."""
    if isinstance(node, ast.Lambda):
        whole = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(whole, "<mutant>", "eval"), function.__globals__)
    module = ast.fix_missing_locations(ast.Module([node], []))
    local: dict[str, Any] = {}
    exec(compile(module, "<mutant>", "exec"), function.__globals__, local)
    return local[node.name]


def mutants(rule: Rule) -> Iterator[Mutant]:
    """The rule with one change, for every change that we can think of."""
    whole = definition(rule.function)
    # A rule is called with g, y and the operands; helpers have arguments of any kind.
    operands = [arg.arg for arg in whole.args.args[1:]] if rule.ops else []
    operands = [
        name for name in operands if name not in {p for op in rule.ops for p in op.params}
    ]
    seen: Counter[str] = Counter()
    for old in _expressions(whole):
        for new in variants(old, operands):
            memo: dict[int, Any] = {}
            twin = copy.deepcopy(whole, memo)
            change = f"{ast.unparse(old)} -> {ast.unparse(new)}"
            seen[change] += 1
            if seen[change] > 1:
                change += f" (number {seen[change]})"
            changed = _Change(memo[id(old)], new).visit(twin)
            yield Mutant(rule, change, _made(changed, rule.function))


def _expressions(whole: Definition) -> Iterator[ast.expr]:
    """The expressions of the body; not annotations, types, messages of errors and texts."""
    waiting: list[ast.AST] = list(whole.body) if isinstance(whole.body, list) else [whole.body]
    while waiting:
        node = waiting.pop(0)
        match node:
            case ast.AnnAssign(value=ast.expr() as value):
                waiting.append(value)
                continue
            case ast.Raise() | ast.JoinedStr() | ast.FunctionDef() | ast.keyword(arg="strict"):
                continue
            case ast.Call(func=ast.Name("isinstance"), args=[value, _]):
                yield node
                waiting.append(value)
                continue
            case ast.Call(func=ast.Name("constant"), args=[number, _]):
                waiting.append(number)  # of the other argument the spec counts alone
                continue
            case ast.expr():
                yield node
        waiting += ast.iter_child_nodes(node)


class _Change(ast.NodeTransformer):
    """Puts one expression in the place of another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else super().visit(node)


def variants(x: ast.expr, operands: Sequence[str]) -> Iterator[ast.expr]:
    """What may stand in the place of an expression by mistake."""
    match x:
        case ast.UnaryOp(ast.USub() | ast.Not(), inner) if not isinstance(inner, ast.Constant):
            yield inner
        case ast.BoolOp(op, values):
            yield from values
            yield ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.Attribute(matrix, "mT"):
            yield matrix
        case ast.BinOp():
            yield from _of_two(x)
        case ast.Compare(left, [op], [right]):
            for other in COMPARISONS[type(op)]:
                yield ast.Compare(left, [other()], [right])
        case ast.IfExp(_, then, otherwise):
            yield from (then, otherwise)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(None):
            return
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1)
            if isinstance(value, float):
                yield ast.UnaryOp(ast.USub(), x)
        case ast.Call():
            yield from _of_a_call(x)
        case ast.List(elements, ast.Load()):
            yield from _of_shares(elements)
        case ast.Name(word, ast.Load()) if word in operands:
            for operand in operands:
                if operand != word:
                    yield ast.Name(operand, ast.Load())


def _of_two(x: ast.BinOp) -> Iterator[ast.expr]:
    """A term or a factor lost, another operation, operands in another order."""
    yield from (x.left, x.right)
    match x.op:
        case ast.Add():
            yield ast.BinOp(x.left, ast.Sub(), x.right)
        case ast.Sub():
            yield ast.BinOp(x.left, ast.Add(), x.right)
        case ast.Mult():
            yield ast.BinOp(x.left, ast.Div(), x.right)
        case ast.Div():
            yield ast.BinOp(x.left, ast.Mult(), x.right)
    if not isinstance(x.op, ast.Add | ast.Mult):
        yield ast.BinOp(x.right, x.op, x.left)


def _of_a_call(x: ast.Call) -> Iterator[ast.expr]:
    """The call left out, or two of its arguments changing places."""
    name = ast.unparse(x.func)
    if name == "apply":
        op, *given = x.args
        yield from (ast.Call(x.func, [op, *other], x.keywords) for other in _exchanged(given))
    if name in BLAND or any(isinstance(arg, ast.Starred) for arg in x.args):
        return
    yield from x.args[:1]
    if name in OPS and not OPS[name].params:
        yield from x.args[1:]
        if not OPS[name].commutes:
            yield from (ast.Call(x.func, other, x.keywords) for other in _exchanged(x.args))
    if name == "multiply_no_nan":
        yield ast.BinOp(x.args[0], ast.Mult(), x.args[1])


def _exchanged(args: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """The arguments, two of which have changed places."""
    for i, j in itertools.combinations(range(len(args)), 2):
        order = list(args)
        order[i], order[j] = order[j], order[i]
        yield order


def _of_shares(elements: list[ast.expr]) -> Iterator[ast.expr]:
    """A share lost, or of the other sign, or all of them in another order."""
    texts = [ast.unparse(share) for share in elements]
    if texts != texts[::-1]:
        yield ast.List(elements[::-1], ast.Load())
    for i, share in enumerate(elements):
        wrong: list[ast.expr] = []
        if not isinstance(share, ast.Starred | ast.Constant):
            wrong = [ast.Constant(None), ast.UnaryOp(ast.USub(), share)]
        if isinstance(share, ast.Call) and ast.unparse(share.func) == "constant":
            wrong.pop()  # it is zero
        for new in wrong:
            yield ast.List([*elements[:i], new, *elements[i + 1 :]], ast.Load())
