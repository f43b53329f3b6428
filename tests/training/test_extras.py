"""A missing optional package is one sentence; a broken one is not hidden behind it."""

import sys

import pytest

from lazygraph import errors
from training.extras import needs, require

MESSAGE = "rich is not installed; pip install 'lazygraph[train]' brings it"


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)  # as Python marks what cannot be imported
    with pytest.raises(errors.MissingExtraError) as caught:
        require("json", "rich")
    assert str(caught.value) == MESSAGE


def test_a_missing_part_of_a_package_counts_as_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(errors.MissingExtraError), needs("rich"):
        from rich.console import Console  # noqa: F401


def test_what_a_package_itself_misses_is_not_blamed_on_it() -> None:
    with pytest.raises(ModuleNotFoundError, match="something_below") as caught, needs("rich"):
        raise ModuleNotFoundError("no something_below", name="something_below")
    assert not isinstance(caught.value, errors.MissingExtraError)


def test_packages_that_are_there_are_no_news() -> None:
    require("json", "rich", "matplotlib", "safetensors")
    assert "safetensors" in sys.modules
