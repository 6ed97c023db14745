# `make demo` and `make test` need only Python 3.11 or later and make: each makes the
# environment it needs in .venv. Remove .venv to start over.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := progress,devito,jax,segy,schedules,zfp,zstd,mpi,docs

.PHONY: help demo test test-oldest-jax lint types docs doctest nightly bench clean

help:
	@echo "make demo     an acoustic gradient under a budget, checked bit for bit, with a report"
	@echo "make test     all tests, in an environment of their own"
	@echo "make lint     ruff, codespell;  make types  pyright;  make docs  the documentation"
	@echo "make nightly  long random searches;  make bench  benchmarks against peers"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[progress,segy]"
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --group test --editable ".[$(EXTRAS)]"
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group lint
	@touch $@

demo: $(VENV)/.core
	OMP_NUM_THREADS=1 $(BIN)/adjourn demo $(DEMO)

test: $(VENV)/.test
	$(BIN)/python -m pytest -m "not nightly" $(PYTEST)

# The oldest JAX that pyproject.toml allows: the tests that reach its less public parts.
OLDEST_JAX := 0.6.0
OLDEST := .venv-oldest-jax
OLDEST_TESTS := $(addprefix tests/jax/test_,body.py program.py checkpoint.py while.py)

$(OLDEST)/.done: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --editable . hypothesis pytest pytest-timeout \
		"jax==$(OLDEST_JAX)" "jaxlib==$(OLDEST_JAX)"
	@touch $@

test-oldest-jax: $(OLDEST)/.done
	$(OLDEST)/bin/python -m pytest $(OLDEST_TESTS) \
		-k "not chain_of_40 and not loops_in_loops and not memory and not online"

nightly: $(VENV)/.test
	ADJOURN_PROFILE=nightly $(BIN)/python -m pytest $(PYTEST)

doctest: $(VENV)/.test
	$(BIN)/python -m pytest --doctest-modules src/adjourn --ignore=src/adjourn/devito --ignore=src/adjourn/mpi.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src tests docs benchmarks examples README.md

types: $(VENV)/.lint
	$(BIN)/pyright

docs: $(VENV)/.test
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The peers are installed apart, so that the tests never see them. pyrevolve needs g++.
bench:
	$(MAKE) VENV=.venv-bench .venv-bench/.test
	.venv-bench/bin/python -m pip install --quiet --group bench
	for script in benchmarks/[a-z]*.py; do OMP_NUM_THREADS=1 .venv-bench/bin/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(OLDEST) build dist docs/_build .pytest_cache .hypothesis .ruff_cache
