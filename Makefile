# The commands that .ci/run calls, under short names. `make check test` is enough before a commit.
PYTHON ?= .venv/bin/python

.PHONY: check test docs slow bench ci

check:  ## format, lint, types
	.ci/check $(PYTHON)

test:  ## everything but the slow tests
	$(PYTHON) -m pytest

docs:  ## the blocks and docstrings of the documentation
	$(PYTHON) -m pytest tests/test_documentation.py

slow:  ## the tests that take longer than ten seconds
	.ci/slow $(PYTHON)

bench:  ## all benchmarks, each in a process of its own
	$(PYTHON) -m benchmarks

ci:  ## what the server runs
	.ci/run
