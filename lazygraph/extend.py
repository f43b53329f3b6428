"""Everything that a contributor of ops, rules, backends or training code may build on."""

from lazygraph.autodiff import gradients, reach
from lazygraph.backends.base import Backend, Program, Step
from lazygraph.graph.blame import noted
from lazygraph.graph.engine import OPS
from lazygraph.graph.leaves import VARIABLE
from lazygraph.graph.op import Coerce, Kind, Op, Sample
from lazygraph.graph.spec import Spec
from lazygraph.graph.tensor import TensorLike, apply, as_tensor
from lazygraph.graph.var import VarIdentity
from lazygraph.graph.verify import verify
from lazygraph.graph.walk import postorder
from lazygraph.ops import infer
from lazygraph.ops.arithmetic import multiply_no_nan
from lazygraph.ops.record import define
from lazygraph.ops.spread import constant
from lazygraph.passes.rewrite import Known, Rule, apply_rules, rule
from lazygraph.plan import Scan, scan
from lazygraph.realization import realize_derived
from lazygraph.source import describe, hide_frames

__all__ = [
    "OPS",
    "VARIABLE",
    "Backend",
    "Coerce",
    "Kind",
    "Known",
    "Op",
    "Program",
    "Rule",
    "Sample",
    "Scan",
    "Spec",
    "Step",
    "TensorLike",
    "VarIdentity",
    "apply",
    "apply_rules",
    "as_tensor",
    "constant",
    "define",
    "describe",
    "gradients",
    "hide_frames",
    "infer",
    "multiply_no_nan",
    "noted",
    "postorder",
    "reach",
    "realize_derived",
    "rule",
    "scan",
    "verify",
]
