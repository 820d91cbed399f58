PYTHON ?= python3
BIN := .venv/bin

.PHONY: bench test test-slow dashboard gate check kernels-report self-check bench-store setup clean

bench: setup  ## measure the quick sweep on the checked-out commit, store it, print the table
	$(BIN)/fusebench run --axes quick

test: setup  ## everything that is fast enough to run at every change
	$(BIN)/python -m pytest -m "not slow"
	TRITON_INTERPRET=1 $(BIN)/python -m pytest -m "interpreter and not slow" tests/kernels

test-slow: setup  ## whole runs through asv and the browser
	$(BIN)/python -m pytest -m "slow"

dashboard: setup  ## open the dashboard on what has been measured
	$(BIN)/fusebench dashboard

BASE ?= HEAD~1
HEAD ?= HEAD
gate: setup  ## did HEAD get slower than BASE?
	$(BIN)/fusebench gate --base $(BASE) --head $(HEAD)

check: setup  ## style, types, and who may import whom
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

kernels-report: setup  ## compile every Triton kernel for GPUs that need not be here; registers, memory, instructions
	$(BIN)/python -m fused_mlp.static_checks

self-check: setup  ## the ruler measured with itself: A/A, replaying, overhead; for a quiet machine
	$(BIN)/python -m benchmarks.ruler.self_check aa && $(BIN)/python -m benchmarks.ruler.self_check speed

bench-store: setup  ## how fast the store fills and answers, on the asv results of CORPUS=path
	$(BIN)/python tools/bench_store.py $(CORPUS)

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]' && touch $@

clean:  ## what make created; measurements under results/data/local stay
	rm -rf .venv build dist .asv env .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
