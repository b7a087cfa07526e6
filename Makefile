# Every target sets up what it needs: a virtual environment in .venv, with the pinned build of torch.
# On a machine with a GPU: make CONSTRAINTS= demo
PYTHON ?= python3
CONSTRAINTS ?= -c constraints.txt
BIN := .venv/bin
READY := .venv/ready
READY_TO_TEST := .venv/ready-to-test
WORKERS ?= 2

.PHONY: demo test test-all quick check format mutants bench browser clean

demo: $(READY)
	$(BIN)/widealign demo

test: $(READY_TO_TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(PYTEST)

test-all: $(READY_TO_TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) $(PYTEST)

quick: $(READY_TO_TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) -m quick $(PYTEST)

check: $(READY_TO_TEST)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyrefly check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q --doctest-modules src/widealign
	$(MAKE) test
	$(BIN)/python tools/smoke_wheel.py

format: $(READY_TO_TEST)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

mutants: $(READY_TO_TEST)
	OMP_NUM_THREADS=1 $(BIN)/python tools/mutants.py

bench: $(READY)
	$(BIN)/widealign bench --out bench.json
	$(BIN)/widealign bench --compile --network cnn --width 8,32,64 --rule align-ada,align-zero --out compiled.json
	$(BIN)/python bench/performance_table.py bench.json compiled.json --into docs/performance.md

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade "pip>=25" 2>&1 | grep -v -e WARNING -e notice || true
	$(BIN)/pip install --quiet $(CONSTRAINTS) torch
	$(BIN)/pip install --quiet $(CONSTRAINTS) --editable ".[report]"
	touch $(READY)

$(READY_TO_TEST): $(READY)
	$(BIN)/pip install --quiet $(CONSTRAINTS) --editable ".[test,check,report,logs,images,sweep,examples,browser]"
	touch $(READY_TO_TEST)

# A Chromium for the tests of the page. Debian's where we may install it, else playwright's own; without either the
# tests say that they are skipped.
browser: $(READY_TO_TEST)
	tools/get_browser.sh $(BIN)/playwright

clean:
	rm -rf .venv dist build
