"""A model of lazygraph: the same names, computed at once by NumPy, with a tape of its own."""
