"""Control flow as `with` blocks: the generator is indented like the code that it generates."""

from collections.abc import Iterator
from contextlib import contextmanager

from lazygraph.backends.native.types import ir


@contextmanager
def counted_loop(b: ir.IRBuilder, count: ir.Value, step: int = 1) -> Iterator[ir.Value]:
    """Emit `for i in range(0, count, step)`; yields `i`, an integer of `count`'s type.

    The last round may reach beyond `count`, as it may in Python: give a multiple of the step
    to a loop whose body handles `step` elements at a time.

    Args:
        b: where to emit; behind the block it stands after the loop.
        count: a signed integer; the loop does not run if it is 0 or less.
        step: how far `i` goes with every round, positive.
    """
    before = b.block
    head, body, after = (b.append_basic_block(name) for name in ("loop", "body", "after"))
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(count.type, "i")
    i.add_incoming(ir.Constant(count.type, 0), before)
    b.cbranch(b.icmp_signed("<", i, count), body, after)
    b.position_at_end(body)
    yield i
    i.add_incoming(b.add(i, ir.Constant(count.type, step), flags=["nsw"]), b.block)
    b.branch(head)
    b.position_at_end(after)


@contextmanager
def if_(b: ir.IRBuilder, condition: ir.Value, likely: bool | None = None) -> Iterator[None]:
    """Emit `if condition:`.

    Args:
        b: where to emit; behind the block it stands where both ways meet.
        condition: one bit.
        likely: which way most runs go, if that is known.
    """
    with b.if_then(condition, likely=likely):
        yield
