"""The passes, in their order, and why in that order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lazygraph.graph.node import Node
from lazygraph.graph.verify import verify
from lazygraph.passes import canonical, fold, orient, share, simplify
from lazygraph.passes.rewrite import Known, apply_rules

Run = Callable[[Sequence[Node], Known, fold.Evaluate], tuple[Node, ...]]


@dataclass(frozen=True, slots=True)
class Pass:
    """A step from roots to roots.

    Attributes:
        name: its name in explanations.
        run: the step.
        because: why it stands where it stands.
    """

    name: str
    run: Run
    because: str


PIPELINE = (
    Pass(
        "orient",
        lambda roots, known, _: apply_rules(roots, orient.RULES, known),
        because="how operands lie must not depend on what rules make of them",
    ),
    Pass(
        "canonical",
        lambda roots, known, _: apply_rules(roots, canonical.RULES, known),
        because="later rules then have one case each",
    ),
    Pass(
        "fold",
        fold.run,
        because="constants must be numbers before identities look at them",
    ),
    Pass(
        "simplify",
        lambda roots, known, _: apply_rules(roots, simplify.RULES, known),
        because="fewer nodes make sharing cheaper",
    ),
    Pass(
        "share",
        lambda roots, known, _: share.run(roots, known),
        because="after simplify: rewriting creates new twins",
    ),
    Pass(
        "fold what is left",
        fold.run,
        because="simplify moves computations before broadcasts, where they are constant",
    ),
)


def run(
    roots: Sequence[Node], known: Known, evaluate: fold.Evaluate, verified: bool = False
) -> tuple[Node, ...]:
    """All passes, one after the other.

    Args:
        roots: the recorded targets.
        known: what the plan may know of values; collects what was used.
        evaluate: computes constants, by the backend that will run the plan.
        verified: check the graph after each pass.

    Returns:
        The roots to be run, in the same order.
    """
    result = tuple(roots)
    for step in PIPELINE:
        known.begin(step.name)
        result = step.run(result, known, evaluate)
        if verified:
            verify(result, after=f"the pass {step.name!r}")
    return orient.lay_out_as_recorded(roots, result)
