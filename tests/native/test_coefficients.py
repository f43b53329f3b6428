"""The coefficients are those that the script prints."""

import inspect

import pytest

from benchmarks import fit_polynomials
from lazygraph.backends.native import coefficients


@pytest.mark.slow
def test_the_script_prints_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    fit_polynomials.main()
    assert capsys.readouterr().out == inspect.getsource(coefficients)
