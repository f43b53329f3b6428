"""Fixtures for the tests of training."""

import pytest

from lazygraph import plan


@pytest.fixture
def no_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without plans, so that those which a test builds can be counted."""
    monkeypatch.setattr(plan, "cache", plan.PlanCache())
