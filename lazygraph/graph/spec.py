"""Shape and dtype of a value that need not exist yet."""

import math
from typing import NamedTuple

from lazygraph.dtypes import DType

Shape = tuple[int, ...]


class Spec(NamedTuple):
    """What is known of a value when its node is recorded.

    A tuple, since specs are hashed and compared in every look-up of a plan.
    """

    shape: Shape
    dtype: DType

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without padding."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"
