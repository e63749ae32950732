# `make up` starts the platform, `make check` is for every commit, `make test` is everything. The rest of the commands: .venv/bin/python manage.py help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable
PROCESSES ?= 2
PYTEST_FLAGS ?=
FAULTS_FLAGS ?=
BENCH_FLAGS ?=
LOAD_FLAGS ?=

.PHONY: up check test integration bench faults load lint ruff types contracts migrations lock client

# Tests start a hundred Python processes: the first one compiles for all, even where the shell forbids it.
unexport PYTHONDONTWRITEBYTECODE

up: $(INSTALLED)
	@exec $(BIN)/python manage.py up

# Two processes, each with servers of its own; the tests of a file stay together, in the order of tests/conftest.py.
PYTEST := $(BIN)/python -m pytest -q -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
# Left to `make test`: browsers, faults and kills, presets, and what starts a whole platform, apps or Ray for itself.
SLOW := tests/e2e tests/benchmarks/test_faults.py tests/experiments/presets/test_quick_scales.py \
  tests/workers/apps/test_process.py tests/workers/apps/test_hostile.py tests/workers/queue/test_app_runs.py \
  tests/workers/engine/test_resume.py::test_a_run_that_is_killed_ends_equal_to_the_bit tests/config/test_worker_host.py \
  tests/workers/apps/test_examples_are_flower_apps.py::test_flowers_own_simulation_gives_what_the_reference_says \
  tests/config/test_health_and_secrets.py tests/experiments/catalog/test_plugins_live.py \
  tests/clients/test_notebook.py tests/clients/test_outage.py \
  tests/config/test_up.py::test_it_starts_serves_restarts_what_crashes_stops_and_comes_back_with_its_data \
  tests/workers/engine/test_ray.py::test_it_is_stopped_and_goes_on_to_the_end_that_the_sequential_executor_reaches \
  tests/workers/engine/test_ray.py::test_a_runtime_that_does_not_start_is_started_again_and_one_that_ends_later_fails_the_run
WITHOUT_SLOW := $(foreach each,$(SLOW),$(if $(findstring ::,$(each)),--deselect,--ignore)=$(each))

check: $(TESTABLE) lint
	@$(PYTEST) --hypothesis-profile=check $(WITHOUT_SLOW) $(PYTEST_FLAGS)

test: $(TESTABLE) lint
	@$(PYTEST) $(PYTEST_FLAGS)

# What needs programs that are too large for every test: a paper in TeX with a downloaded figure and table, a cluster of two Ray
# nodes, MLflow, a store that speaks S3, a Slurm cluster of one node.
integration: $(TESTABLE)
	@sh tests/install-texlive.sh
	@sh tests/install-slurm.sh
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -r tests/integration-requirements.txt -c requirements.lock
	@$(BIN)/python -m pytest -q tests/experiments/papers/compile_paper.py tests/workers/engine/ray_cluster.py \
	  tests/clients/mlflow_partner.py tests/workers/queue/s3_store.py tests/experiments/queue/slurm_cluster.py

bench: $(INSTALLED)
	@$(BIN)/python -m benchmarks $(BENCH_FLAGS)

faults: $(INSTALLED)
	@$(BIN)/python -m benchmarks.faults $(FAULTS_FLAGS)

load: $(INSTALLED)
	@$(BIN)/python -m benchmarks.load $(LOAD_FLAGS)

# Two at a time, types first: they take the longest.
lint: $(TESTABLE)
	@$(MAKE) --no-print-directory -j $(PROCESSES) --output-sync=target types ruff contracts migrations

types: $(TESTABLE)
	@$(BIN)/mypy workers experiments platform/config clients/python/src/tributary

ruff: $(TESTABLE)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

contracts: $(TESTABLE)
	@PYTHONPATH=.:platform $(BIN)/lint-imports

# Only the models are looked at here; the tests apply the migrations to a real PostgreSQL.
migrations: $(TESTABLE)
	@$(BIN)/python manage.py makemigrations --check --dry-run

# After a change of a pin. What torch's build brings along is left to it: it differs from machine to machine.
lock: $(TESTABLE)
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --custom-compile-command "make lock" \
	  --output-file requirements.lock requirements.txt tests/requirements.txt
	@sed -i -E '/^(nvidia-|cuda-|triton==)/d' requirements.lock

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Tributary needs Python 3.11 or newer: name one, as in 'make up PYTHON=python3.12'."; exit 1; }
	@echo "Making $(VENV) ..."
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is missing: 'apt-get install python3-venv', then 'make up' again."; exit 1; }

$(INSTALLED): requirements.txt requirements.lock | $(BIN)/python
	@echo "Installing what Tributary needs (PyTorch and Flower among it): some minutes the first time ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -r requirements.txt -c requirements.lock || \
	  { echo "Installing failed: the lines above say why. If a compiler is missing: 'apt-get install build-essential python3-dev'."; exit 1; }
	@$(BIN)/python -c "from workers.engine.training.compiled_chain import compile_ahead; compile_ahead()"
	@touch $@

$(TESTABLE): tests/requirements.txt $(INSTALLED)
	@echo "Installing what the tests need ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input -r tests/requirements.txt -c requirements.lock
	@sh tests/install-chromium.sh $(BIN)
	@touch $@

# The Python client's wheel, in clients/python/dist.
client: $(INSTALLED)
	@$(BIN)/python -m pip wheel -qq --disable-pip-version-check --no-deps --wheel-dir clients/python/dist ./clients/python
	@ls clients/python/dist/*.whl
