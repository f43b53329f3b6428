"""Fixtures for every test."""

import zlib

import numpy as np
import pytest


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on nothing but the test's own name."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
