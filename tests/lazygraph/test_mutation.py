"""Every change of a gradient rule is noticed by a test, or changes nothing."""

from functools import cache

import pytest

from lazygraph.extend import OPS
from tests.lazygraph.mutants import Mutant, Rule, mutants, rules
from tests.lazygraph.trials import Trial, trials, uses

MODULES = (
    *("test_op_gradients", "test_rules_at_the_edge", "test_conventions", "test_trigonometry"),
    *("test_logarithm", "test_rounding", "test_norms", "test_products", "test_updating"),
    *("test_recomputation", "test_custom_gradient", "test_wholes"),
)
EVERY = 30  # one in so many mutants is tried in the default run

# Why a change is none. Each of these was looked at.
SPEC = "both have the same spec, and nothing else is asked of it"
RANK = "an operand has one axis here, if not more"
SUMMED = "the driver sums a share over the axes that its operand lacks or has with length 1"
BESIDE = "y has the numbers of the value beside it, whose own history bends as they do"
AXES = "reduced axes stay: both have as many axes"
SHORTCUT = "one tall product instead of many is faster; the sum is the same"
EQUIVALENT = {
    "astype: astype(g, x.dtype) if x.dtype.is_floating else None -> astype(g, x.dtype)": (
        "nobody reads the share of an operand that is not floating"
    ),
    "astype: x -> y": "a rule is asked if y is floating; the share of an integer x is not read",
    "broadcast_to: sum_to(g, x.shape) -> g": SUMMED,
    "broadcast_to: x -> y": SUMMED,
    "floor_at: bound -> y": "x >= max(x, bound) just where x >= bound, NaN included",
    "cap_at: bound -> y": "x <= min(x, bound) just where x <= bound, NaN included",
    "choice._picked: a > b -> a >= b": "ties were chosen before",
    "choice._picked: b > a -> b >= a": "ties were chosen before",
    "relu: y -> x": "max(x, 0) > 0 just where x > 0",
    "asinh: 1.0 -> -1.0": "hypot takes the sizes of its operands",
    "trigonometry._per: length == 0 -> length <= 0": "no length is negative",
    "logarithm._logaddexp_gradient: y -> a": "where a = b, y is infinite just where they are",
    "logarithm._logaddexp_gradient: y -> b": "where a = b, y is infinite just where they are",
    "reduction._extreme_gradient: astype(x == y, x.dtype) -> x == y": (
        "the sum of booleans is an integer, and both yield to the dtype of g"
    ),
    "reduction._extreme_gradient: x -> y (number 2)": SPEC,
    "sorting._sort_gradient: x -> y (number 2)": SPEC,
    "sorting._sort_gradient: True -> False": "no place in an order is negative",
    "updating._set_gradient: x -> y": SPEC,
    "updating._multiply_gradient: x -> y (number 2)": SPEC,
    # Products of matrices.
    "contraction._matmul_gradient: b.ndim == 1 -> b.ndim <= 1": RANK,
    "contraction._matmul_gradient: b.ndim == 1 -> b.ndim <= 1 (number 2)": RANK,
    "contraction._matmul_gradient: a.ndim == 1 -> a.ndim <= 1": RANK,
    "contraction._matmul_gradient: a.ndim == 1 -> a.ndim <= 1 (number 2)": RANK,
    "contraction._matmul_gradient: a.ndim == 1 -> a.ndim <= 1 (number 3)": RANK,
    "contraction._matmul_gradient: columns.ndim == 2 -> columns.ndim <= 2": RANK,
    "contraction._matmul_gradient: 1 -> 2 (number 14)": (
        "the last two lengths of a shape that has one are that one"
    ),
    "contraction._matmul_gradient: a.ndim == 1 -> a.ndim >= 1": SUMMED,
    (
        "contraction._matmul_gradient: "
        "reshape(a, (1, *a.shape)) if a.ndim == 1 else a -> reshape(a, (1, *a.shape))"
    ): SUMMED,
    (
        "contraction._matmul_gradient: of_a.ndim < a.ndim or a.ndim == 1 -> of_a.ndim < a.ndim"
    ): SUMMED,
    "contraction._matmul_gradient: a -> y (number 5)": SUMMED,
    "contraction._matmul_gradient: a -> b (number 5)": SUMMED,
    (
        "contraction._matmul_gradient: columns.ndim == 2 and rows.ndim > 2 -> columns.ndim == 2"
    ): "a single matrix is as tall as it is",
    "contraction._matmul_gradient: rows.ndim > 2 -> rows.ndim >= 2": SHORTCUT,
    "contraction._matmul_gradient: rows.ndim > 2 -> rows.ndim < 2": SHORTCUT,
    "contraction._matmul_gradient: 2 -> 3 (number 2)": SHORTCUT,
    # Norms.
    "norms._vector_norm_gradient: y == 0 -> y <= 0": "no norm is negative",
    "norms._vector_norm_gradient: y == 0 -> y <= 0 (number 2)": "no norm is negative",
    "norms._vector_norm_gradient: logical_or(x == 0, y == 0) -> x == 0": (
        "a norm of 0 of other elements is of negative order: inf^(ord - 1) is 0 as well"
    ),
    "norms._vector_norm_gradient: y -> x": (
        "a norm of 0 of other elements is of negative order: inf^(ord - 1) is 0 as well"
    ),
    "norms._vector_norm_gradient: where(dead, constant(1, x), abs(x) / y) -> abs(x) / y": (
        "dead elements are masked below; power and divide make 0 of an upstream of 0"
    ),
    "norms._vector_norm_gradient: 1 -> 2": "dead elements are masked below",
    # Products.
    "products._prod_gradient: 0 -> 1": "there is no element",
    "products._prod_gradient: x -> y (number 4)": AXES,
    "products._prod_gradient: x -> y (number 5)": AXES,
    (
        "products._products_of_others: [x, ones((x.shape[0], 1), dtype=x.dtype)] -> "
        "[-x, ones((x.shape[0], 1), dtype=x.dtype)]"
    ): "of an odd number of factors, the others are an even number: signs cancel",
    # Values beside their operands.
    "softmax: y -> value": BESIDE,
    "softmax: y -> value (number 2)": BESIDE,
    "neural._standardized_gradient: y -> value": BESIDE,
    "neural._standardized_gradient: y -> value (number 2)": BESIDE,
    "neural._standardized_gradient: x -> y": SPEC,
    "neural._standardized_gradient: x -> y (number 2)": SPEC,
    "neural._standardized_gradient: x -> value": SPEC,
    "neural._standardized_gradient: x -> value (number 2)": SPEC,
    "neural._standardized_gradient: x -> scale (number 2)": AXES,
    # Checkpoints.
    "recomputation._shares: set(stand_ins) -> stand_ins": "both have the same members",
    "recomputation._shares: value -> y (number 2)": (
        "y is one node more, behind the value, and gets no gradient"
    ),
    # Updates.
    (
        "updating._is_last: gathered(winner, indices, first, wrap) == number -> "
        "gathered(winner, indices, first, wrap) <= number"
    ): "the winner is the last, so no number is greater",
    "updating._is_last: as_tensor(0) -> 0": "broadcast_to makes a tensor of it",
    "updating._is_last: 0 -> 1": "every place that is read was written before",
    "updating._addresses: as_tensor(0) -> 0": "the first sum makes a tensor of it",
    "updating._addresses: 0 -> 1": "every address is moved by the same distance",
    (
        "updating._addresses: address * n + where(i < 0, i + n, i) -> "
        "address * n - where(i < 0, i + n, i)"
    ): "every address changes its sign",
    "updating._products_before: step < count -> step <= count": (
        "one more round, over rows[count:], which are none"
    ),
}


@cache
def asked() -> dict[Rule, list[Trial]]:
    found = [trial for module in MODULES for trial in trials(f"tests.lazygraph.{module}")]
    return uses(rules(), found)


def survives(mutant: Mutant) -> bool:
    """Whether no test notices; one that then fails with the right rule too has not."""
    for trial in asked()[mutant.rule]:
        with mutant.rule.replaced(mutant.function):
            passes = trial.passes()
        if not passes and trial.passes():
            return False
    return True


def every_mutant() -> list[Mutant]:
    return [mutant for rule in asked() for mutant in mutants(rule)]


def test_every_rule_is_there_and_asked() -> None:
    found = {op.name for rule in asked() for op in rule.ops}
    assert found == {op.name for op in OPS.values() if op.gradient is not None}
    silent = [rule for rule, several in asked().items() if not several]
    assert [rule.name for rule in silent if list(mutants(rule))] == []


def test_a_rule_that_is_put_back_is_right_again() -> None:
    rule = next(rule for rule in asked() if rule.name == "tanh")
    assert survives(Mutant(rule, "none", rule.function))
    caught = [mutant for mutant in mutants(rule) if not survives(mutant)]
    assert len(caught) == len(list(mutants(rule))) > 5
    assert all(trial.passes() for trial in asked()[rule])


def test_some_mutants_are_caught() -> None:
    some = every_mutant()[::EVERY]
    assert len(some) > 40
    survivors = {str(mutant) for mutant in some if survives(mutant)}
    assert "\n".join(sorted(survivors - EQUIVALENT.keys())) == ""


@pytest.mark.slow
def test_every_mutant_is_caught_or_changes_nothing() -> None:
    every = every_mutant()
    survivors = {str(mutant) for mutant in every if survives(mutant)}
    assert "\n".join(sorted(survivors - EQUIVALENT.keys())) == ""
    assert "\n".join(sorted(EQUIVALENT.keys() - survivors)) == ""
    assert len({str(mutant) for mutant in every}) == len(every) > 25 * len(EQUIVALENT)
