"""A kernel that statements join one after the other."""

from collections.abc import Sequence

from lazygraph.backends.native.spaces import Frame
from lazygraph.backends.native.staging import Numbering
from lazygraph.backends.native.statements import Statement
from lazygraph.errors import BackendError


class Growth:
    """Statements that have a kernel, and what is known of it so far.

    What `kernels.joins` says of a statement, said without planning the others again wherever
    their space stays as it is.

    Raises:
        BackendError: there is no kernel of the statements.
    """

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = list(statements)
        self.places = {x.place for statement in statements for x in statement.operands}
        self._frame = Frame(statements)
        self._numbering = Numbering()
        for statement, accesses in zip(statements, self._frame.accesses, strict=True):
            self._numbering.add(statement, accesses, self.most)

    @property
    def most(self) -> int:
        """The number of elements that are iterated over."""
        return self._frame.total

    def join(self, statement: Statement) -> bool:
        """Take a statement in that `kernels.accepts`, if there is a kernel with it."""
        try:
            accesses = self._frame.followed_by(statement)
            if accesses is not None:
                self._numbering.add(statement, accesses, self.most)
            else:
                grown = Growth([*self.statements, statement])
                self._frame, self._numbering = grown._frame, grown._numbering
        except BackendError:
            return False
        self.statements.append(statement)
        self.places.update(operand.place for operand in statement.operands)
        return True
