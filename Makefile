# `make up` starts the platform, `make check` is for every commit, `make test` is everything. The rest of the commands: .venv/bin/python manage.py help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
PROCESSES ?= 2
PYTEST_FLAGS ?=
FAULTS_FLAGS ?=

.PHONY: up check test bench faults lint

up: $(INSTALLED)
	@exec $(BIN)/python manage.py up

# Two processes, each with servers of its own; the tests of a file stay together, in the order of tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -q -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
SLOW := tests/e2e tests/benchmarks/test_faults.py tests/experiments/presets/test_quick_scales.py

check: $(TESTABLE) lint
	@$(PYTEST) $(SLOW:%=--ignore=%) $(PYTEST_FLAGS)

test: $(TESTABLE) lint
	@$(PYTEST) $(PYTEST_FLAGS)

bench: $(INSTALLED)
	@$(BIN)/python -m benchmarks

faults: $(INSTALLED)
	@$(BIN)/python -m benchmarks.faults $(FAULTS_FLAGS)

# makemigrations looks only at the models here; the tests apply the migrations to a real PostgreSQL.
lint: $(TESTABLE)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy workers experiments platform/config
	@PYTHONPATH=.:platform $(BIN)/lint-imports
	@$(BIN)/python manage.py makemigrations --check --dry-run

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Tributary needs Python 3.11 or newer: name one, as in 'make up PYTHON=python3.12'."; exit 1; }
	@echo "Making $(VENV) ..."
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is missing: 'apt-get install python3-venv', then 'make up' again."; exit 1; }

$(INSTALLED): requirements.txt | $(BIN)/python
	@echo "Installing what Tributary needs (PyTorch and Flower among it): some minutes the first time ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -r requirements.txt || \
	  { echo "Installing failed: the lines above say why. If a compiler is missing: 'apt-get install build-essential python3-dev'."; exit 1; }
	@touch $@

$(TESTABLE): tests/requirements.txt $(INSTALLED)
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -r tests/requirements.txt
	@sh tests/install-chromium.sh $(BIN)
	@touch $@
