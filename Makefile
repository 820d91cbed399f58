PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# A file's tests share fixtures, so they share a worker; tests/conftest.py says which others do.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope

.PHONY: bench test test-slow test-exhaustive test-wheel dashboard gate check kernels-report models self-check bench-store gpu-campaign gpu-bundle setup clean

bench: setup  ## measure the quick sweep on the checked-out commit, store it, print the table
	$(BIN)/fusebench run --axes quick

test: setup  ## everything that is fast enough to run at every change
	$(PYTEST) -m "not slow and not exhaustive"
	TRITON_INTERPRET=1 $(PYTEST) -m "interpreter and not slow and not exhaustive" tests/kernels

test-slow: setup  ## whole runs through asv and the browser
	$(PYTEST) -m "slow and not exhaustive"

test-exhaustive: setup  ## every combination of what the others sample, an hour: before a release, and of a subject that changed (TESTS=tests/kernels)
	FUSEBENCH_KILLS=3 $(PYTEST) -m "exhaustive or hypothesis" --hypothesis-profile exhaustive $(TESTS)
	TRITON_INTERPRET=1 $(PYTEST) -m "interpreter and exhaustive" tests/kernels

test-wheel: setup  ## the wheel with each extra, in an environment of its own; a part of test-slow
	$(PYTEST) tests/system/test_wheel.py

dashboard: setup  ## open the dashboard on what has been measured
	$(BIN)/fusebench dashboard

BASE ?= HEAD~1
HEAD ?= HEAD
gate: setup  ## did HEAD get slower than BASE?
	$(BIN)/fusebench gate --base $(BASE) --head $(HEAD)

check: setup  ## style, types, and who may import whom
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

kernels-report: setup  ## compile every kernel for GPUs that need not be here; compare with docs/kernels-report.md
	$(BIN)/python -m fused_mlp.static_checks --compare docs/kernels-report.md

models: .venv/models  ## which MLPs of models that people run `fuse` replaces (MODELS="--speed --width 1024 llama"); docs/kernels.md
	$(BIN)/python tools/fused_models.py $(MODELS)

.venv/models: .venv/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,models]' && touch $@

SELF_CHECKS ?= aa coverage company planted ceilings floors referee speed
self-check: setup  ## the ruler measured with itself, SELF_CHECKS of it, each to its end; for a quiet machine
	@failed=; for check in $(SELF_CHECKS); do echo "== self-check $$check"; \
		$(BIN)/python -m benchmarks.ruler.self_check $$check || failed="$$failed $$check"; done; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

bench-store: setup  ## how fast the store fills and answers; CORPUS=asv results, REPOSITORY=its git (or MADE=commits)
	$(BIN)/python tools/bench_store.py $(CORPUS) $(if $(REPOSITORY),--repository $(REPOSITORY)) \
		$(if $(MADE),--made $(MADE)) $(if $(POSTGRESQL),--postgresql $(POSTGRESQL))

DEVICE ?= cuda
BUDGET ?= quick
# Without a network nothing can be set up: the machine's own Python serves, if there is no environment.
CAMPAIGN_PYTHON ?= $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))
gpu-campaign:  ## check, tune and measure every kernel on DEVICE=cuda|cpu, BUDGET=quick|full [OUT=folder]; goes on where it ended
	$(CAMPAIGN_PYTHON) -m benchmarks.ruler.campaign all --device $(DEVICE) --budget $(BUDGET) $(if $(OUT),--out $(OUT)) $(if $(CAMPAIGN_SECONDS),--seconds $(CAMPAIGN_SECONDS))

BUNDLE ?= build/gpu-bundle
BUNDLE_PYTHON ?= 3.12
gpu-bundle: setup  ## what a machine without a network needs beside its own torch and triton, for Python BUNDLE_PYTHON
	rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)/wheels
	git bundle create -q $(BUNDLE)/fusebench.bundle HEAD --branches --tags
	cp benchmarks/campaign-requirements.txt $(BUNDLE)/requirements.txt
	$(BIN)/python -m pip download -q --disable-pip-version-check --only-binary=:all: --implementation cp --no-deps \
		--python-version $(BUNDLE_PYTHON) --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
		-c constraints.txt -r benchmarks/campaign-requirements.txt -d $(BUNDLE)/wheels
	@echo "$(BUNDLE): carry it whole; docs/gpu-campaign.md says how to go on"

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]' && touch $@

clean:  ## what make created; measurements under results/data/local stay
	rm -rf .venv build dist .asv env .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
