# On a fresh machine with Python 3.11+ and make: `make run` starts a broker, `make test` passes.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup run test check bench chaos docs clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@

run: setup
	$(BIN)/odradek broker $(ARGS)

check: setup
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/render_docs.py --check

test: setup
	$(BIN)/pytest -q -n 2 --dist worksteal $(ARGS)

bench: setup
	$(BIN)/python -m benchmarks.compare $(ARGS)

# kill -9 under load, ROUNDS times: no acknowledged record may be lost, doubled or reordered.
ROUNDS ?= 1000
chaos: setup
	ODRADEK_CHAOS_ROUNDS=$(ROUNDS) $(BIN)/pytest -q tests/safety/test_kill.py -p no:randomly --timeout=0

docs: setup
	$(BIN)/python scripts/render_docs.py

clean:
	rm -rf .venv build dist src/*.egg-info
