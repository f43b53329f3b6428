"""Which calls have machine code of their own, though they are neither kernels nor products."""

from collections.abc import Callable

from lazygraph.backends.layout import Call
from lazygraph.backends.native import (
    chunk_sums,
    convolutions,
    drawing,
    picking,
    placing,
    poolings,
    scattering,
    unpoolings,
)
from lazygraph.backends.native.recipe import Special
from lazygraph.backends.native.steps import Places

# What says how a call is done, or None where only NumPy can.
PLANNERS: dict[str, Callable[[Call, Places], Special | None]] = {
    "concat": placing.concat,
    "conv2d": convolutions.forward,
    "conv2d_input": convolutions.to_input,
    "conv2d_weight": convolutions.to_weight,
    "gather": picking.gather,
    "max_pool2d": poolings.max_pool,
    "max_position2d": poolings.position,
    "pick2d": poolings.pick,
    "place": placing.place,
    "random_bits": drawing.draw,
    "scatter_add": scattering.scatter_add,
    "scatter_add_along_axis": scattering.scatter_add_along,
    "spread2d": unpoolings.spread,
    "sum": chunk_sums.channel_sum,
    "sum_pool2d": poolings.sum_pool,
    "take_along_axis": picking.take_along,
    "unpool2d": unpoolings.put_back,
}


def special(call: Call, places: Places) -> Special | None:
    """How a call is done by code of its own; None if it is not."""
    planner = PLANNERS.get(call.op.name)
    return planner(call, places) if planner else None
