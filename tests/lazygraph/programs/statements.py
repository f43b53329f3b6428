"""Lines of random programs, a function for each form, and whole programs."""

import random
import re
from collections.abc import Callable
from typing import Any

from tests.lazygraph.eager.steps import Optimizer
from tests.lazygraph.eager.tape import history
from tests.lazygraph.eager.values import Value
from tests.lazygraph.eager.variables import Var
from tests.lazygraph.machine import Machine
from tests.lazygraph.programs.expressions import EXPRESSIONS
from tests.lazygraph.programs.numbers import COMPARISONS, PAIRS
from tests.lazygraph.programs.places import masked
from tests.lazygraph.programs.writer import NothingFitsError, Writer, is_floating

SHAPES = ((), (1,), (3,), (4,), (2, 3), (3, 2), (3, 3), (1, 3), (2, 1), (2, 2, 3), (4, 1, 2))
DTYPES = ("float64",) * 6 + ("float32",) * 3 + ("int64", "int32", "uint8", "bool")
WITH_NUMBER = re.compile(
    r"(?P<name>t\d+) = "
    rf"(?P<before>[tw]\d+ [-+*/] |lg\.({'|'.join((*PAIRS, *COMPARISONS))})\([tw]\d+, )"
    r"-?[0-9.]+(?P<after>|\))"
)
INSIDE = ("with lg.no_realize(): ", 'with lg.scope("part"): ')
LENGTH = 34  # lines of a program, about


def build(w: Writer) -> str:
    forms, weights = zip(*EXPRESSIONS.items(), strict=True)
    (form,) = w.rng.choices(forms, weights)
    expression: str = form(w)
    inside = w.pick(INSIDE) if w.chance(0.06) and form is not masked else ""
    return f"{inside}{w.new()} = {expression}"


def variation(w: Writer) -> str:
    """An expression from before with another number in it: the same plan, if there is one."""
    alive = set(w.tensors(lambda x: True, variables=False))
    earlier = [found for line in w.machine.lines if (found := WITH_NUMBER.fullmatch(line))]
    fitting = [found for found in earlier if found["name"] in alive]
    if not fitting:
        raise NothingFitsError
    found = w.rng.choice(fitting)
    other = f"{found['before']}{w.number()}{found['after']}"
    return f"{found['name']}.realize(); {w.new()} = ({other}).realize()"


def given(w: Writer) -> str:
    """Data that is scribbled over as soon as it was given."""
    shape = w.rng.choice(SHAPES) if w.chance(0.95) else (0, 3)
    source, dtype = w.new("d"), w.pick(DTYPES)
    array = w.data(shape, dtype)
    return f"{source} = {array}; {w.new()} = lg.asarray({source}); {source}[...] = 1"


def variable(w: Writer) -> str:
    dtype = w.pick(("float64", "float64", "float32"))
    name = w.new("w")
    return f'{name} = lg.Var("{name}", {w.data(w.rng.choice(SHAPES[1:]), dtype)})'


def assign(w: Writer) -> str:
    name = w.pick(w.names(lambda x: isinstance(x, Var)))
    var = w.value(name)
    alike = w.tensors(lambda x: x.is_floating and x.shape == var.shape)
    if w.chance(0.3):
        return f"{name}.assign({w.data(var.shape, var.dtype)})"
    return f"{name}.assign({w.pick(alike)}{w.pick(('', ' * 0.5', ' - 0.25'))})"


def realize(w: Writer) -> str:
    names = w.tensors(lambda x: True, variables=False)
    several = [w.pick(names) for _ in range(w.rng.randint(1, 3))]
    return f"lg.realize({', '.join(several)})" if w.chance(0.6) else f"{several[0]}.realize()"


def read(w: Writer) -> str:
    return f"{w.new('a')} = {w.tensor(lambda x: True)}.numpy()"


def detach(w: Writer) -> str:
    return f"{w.new()} = {w.pick(w.tensors(is_floating, variables=False))}.detach()"


def clone(w: Writer) -> str:
    if w.chance(0.3):
        return f"{w.new('w')} = cloned({w.pick(w.names(lambda x: isinstance(x, Var)))})"
    names = w.tensors(lambda x: True, variables=False)
    name, how, twin = w.pick(names), w.pick(("pickled", "pickled", "cloned")), w.new()
    w.machine.copies.append((name, twin))
    return f"{twin} = {how}({name})"


def drop(w: Writer) -> str:
    return f"del {w.pick(w.tensors(lambda x: True, variables=False))}"


def look(w: Writer) -> str:
    name = w.pick(w.tensors(lambda x: True, variables=False))
    return f"{w.new('x')} = lg.{w.pick(('listing', 'explain', 'to_dot', 'to_json'))}({name})"


def verify(w: Writer) -> str:
    return f"lg.set_verify({w.chance(0.5)})"


def _roots(w: Writer, y: str) -> list[str]:
    """Names of floating tensors and Vars that `y` was computed from."""
    past = set(history([w.value(y)], stopping=True))

    def counts(x: Any) -> bool:
        if isinstance(x, Var):
            return any(leaf.owner is x for leaf in past)
        return isinstance(x, Value) and x.is_floating and x in past

    return [name for name in w.names(counts) if name[0] in "tw"]


def gradient(w: Writer) -> str:
    y = w.pick(w.tensors(is_floating, variables=False))
    x = w.value(y)
    upstream, ways = "", ""
    if x.size != 1 or w.chance(0.2):
        alike = w.tensors(lambda u: u.dtype == x.dtype and u.shape == x.shape, False)
        upstream = f", upstream={w.pick(alike)}"
    roots = _roots(w, y)
    wanted = [w.pick(roots) for _ in range(w.rng.randint(1, 3))]
    if w.chance(0.15):
        wanted.append(w.tensor())
        ways = w.pick((', missing="zero"', ""))
    if len(wanted) == 1 and not ways and w.chance(0.4):
        argument = upstream.removeprefix(", upstream=")
        slope = f"{y}.backward({argument})[{wanted[0]}]"
        use = w.pick(("{} * 1", "{} * 0.5", "lg.tanh({})", f"{{}} + {wanted[0]}"))
        return f"{w.new()} = together({use.format(slope)}).detach()"
    names = ", ".join(w.new() for _ in wanted)
    # Times 1: a gradient that is a leaf itself would keep its history.
    asked = f"[g * 1 for g in lg.grad({y}, [{', '.join(wanted)}]{upstream}{ways})]"
    with_y = w.pick(("", f"{y}, "))
    return f"{names}, = [g.detach() for g in together({with_y}{asked})]"


def second_gradient(w: Writer) -> str:
    y = w.pick(w.tensors(lambda x: x.dtype == "float64" and x.shape == (), False))
    names = [n for n in _roots(w, y) if n.startswith("t") and w.value(n).dtype == "float64"]
    x = w.pick(names)
    return f"{w.new('h')} = bend({y}, {x}, {w.data(w.value(x).shape, 'float64')})"


def loss(w: Writer) -> str:
    return f"{w.new()} = {_loss_of(w, w.pick(w.names(lambda x: isinstance(x, Var))))}"


def _loss_of(w: Writer, var: str) -> str:
    other = w.partner(var)
    inner = w.pick(
        (f"{var} * {other}", f"lg.tanh({var}) - {other}", f"lg.square({var} + {other})")
    )
    return f"lg.{w.pick(('mean', 'sum'))}({inner})"


def optimizer(w: Writer) -> str:
    # A clone has the name of its original, and an optimizer wants each name once.
    called = {w.machine.model[n].name: n for n in w.names(lambda x: isinstance(x, Var))}
    names = sorted(called.values())
    if not names:
        raise NothingFitsError
    some = w.rng.sample(names, w.rng.randint(1, min(3, len(names))))
    how = w.pick(
        (
            "SGD([{}], lr=0.1)",
            "SGD([{}], lr=0.05, momentum=0.9, nesterov=True)",
            "SGD([{}], lr=0.1, momentum=0.5, weight_decay=0.1)",
            "AdamW([{}], lr=0.05)",
            "AdamW([{}], lr=0.01, betas=(0.5, 0.9), eps=0.001, weight_decay=0.1)",
        )
    )
    loop = w.pick(("", "max_grad_norm=1.0", "max_grad_norm=100.0", "accumulate=2"))
    number = w.new("o")[1:]
    opt = how.format(", ".join(some))
    return f"o{number} = training.{opt}; l{number} = training.TrainingLoop({loop})"


def step(w: Writer) -> str:
    name = w.pick(w.names(lambda x: isinstance(x, Optimizer)))
    params: list[Var] = w.machine.model[name].params
    fresh = {var.value for var in params}

    def reaches(x: Value) -> bool:
        return x.is_floating and x.size == 1 and not fresh.isdisjoint(history([x]))

    losses = w.tensors(reaches, variables=False)
    if not losses:
        losses = [_loss_of(w, w.pick(w.names(lambda x: any(x is var for var in params))))]
    if w.chance(0.05):
        losses = w.tensors(lambda x: x.is_floating and x.size == 1, variables=False)
    more = w.pick(("", "", ", weight=3.0", f", also=[{w.tensor(lambda x: True)}]"))
    more = more if "=[w" not in more else ""
    return f"{w.new('r')} = l{name[1:]}.step({w.pick(losses)}, {name}{more})"


def rate(w: Writer) -> str:
    name = w.pick(w.names(lambda x: isinstance(x, Optimizer)))
    return f"{name}.set_learning_rate({w.rng.choice((0.2, 0.01, 0.0))})"


STATEMENTS: dict[Callable[[Writer], str], int] = {
    build: 60,
    variation: 5,
    given: 8,
    variable: 4,
    assign: 4,
    realize: 8,
    read: 6,
    detach: 2,
    clone: 4,
    drop: 7,
    verify: 2,
    look: 1,
    gradient: 12,
    second_gradient: 3,
    loss: 4,
    optimizer: 3,
    step: 9,
    rate: 1,
}


def write(seed: int, length: int = LENGTH) -> Machine:
    """Write a program while running it; a line that the model refuses is another line then."""
    machine = Machine(seed)
    w = Writer(machine, random.Random(seed))
    with machine.at_work():
        for form in (given, given, variable, given):
            machine.run(form(w))
        forms, weights = zip(*STATEMENTS.items(), strict=True)
        while len(machine.lines) < length:
            (form,) = w.rng.choices(forms, weights)
            try:
                machine.run(form(w))
            except NothingFitsError:
                continue
        machine.finish()
    return machine
