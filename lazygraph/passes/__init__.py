"""Passes over a recorded graph: each takes roots and gives roots of the same values."""
