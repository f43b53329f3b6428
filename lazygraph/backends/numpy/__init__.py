"""The backend that defines the meaning: a list of NumPy calls over planned memory."""

from lazygraph.backends.numpy.compiler import NumpyBackend

__all__ = ["NumpyBackend"]
