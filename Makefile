# Every target sets up what it needs in .venv on a machine with Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PYTEST_JOBS ?= 3

.PHONY: demo test pytest test-data test-spark lint mutants docs wheel bench bench-accuracy audit clean

demo: $(STAMPS)/package
	mkdir -p build
	$(BIN)/dpforest demo --report build/demo-report.html --force

# Tests start many interpreters: what one of them compiled, the others take.
pytest test-data test-spark mutants: export PYTHONDONTWRITEBYTECODE :=
# Processes that share two cores only wait for each other's threads of linear algebra.
pytest test-data: export OMP_NUM_THREADS ?= 1
pytest test-data: export OPENBLAS_NUM_THREADS ?= 1

test: lint pytest

pytest: $(STAMPS)/kernels
	$(BIN)/python -m pytest -n $(PYTEST_JOBS) --dist loadfile

test-data: $(STAMPS)/test
	$(BIN)/python -m pytest -n $(PYTEST_JOBS) --dist loadfile -m needs_tables $$(grep -rl needs_tables tests --include='test_*.py')

test-spark: $(STAMPS)/test $(STAMPS)/spark
	$(BIN)/python -m pytest tests/records/test_spark_store.py

lint: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

mutants: $(STAMPS)/test
	$(BIN)/python -m tests.mutants.run --jobs $(PYTEST_JOBS)

docs: $(STAMPS)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# In a clean environment the wheel has nothing but what it asks for; the README's first block must run there.
wheel:
	rm -rf dist build/clean
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	build/clean/bin/python -m pip install --quiet dist/*.whl
	awk '/^```$$/ && on {exit} on; /^```python$$/ {on = 1}' README.md > build/readme_example.py
	build/clean/bin/python -I build/readme_example.py

bench: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.speed

bench-accuracy: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.front_picture

audit: $(STAMPS)/test
	$(BIN)/python -m dpforest.audit.suite --report docs/audit.md

clean:
	rm -rf $(VENV) site dist build

$(STAMPS)/package: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	mkdir -p $(STAMPS) && touch $@

# Most kernels, compiled by one process while lint runs: those of the tests would each do it.
# What fails here, the tests tell.
$(STAMPS)/kernels: $(STAMPS)/test
	-$(BIN)/python -m dpforest.audit.fuzz --settings 30 > /dev/null
	touch $@

$(STAMPS)/test $(STAMPS)/spark $(STAMPS)/docs $(STAMPS)/bench: $(STAMPS)/package
	$(BIN)/python -m pip install --quiet --group $(notdir $@)
	touch $@
