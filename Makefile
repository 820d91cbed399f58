PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
# A file's tests share fixtures, so they share a worker; tests/conftest.py says which others do.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope

.PHONY: bench test test-slow test-exhaustive test-wheel fleet-test mutation check kernels-report version-matrix \
	dashboard gate measurements readme-outputs screenshots history-picture article-page claims plotly-bundle models \
	history history-check rivals self-check bench-store bench-dashboard bench-judgement bench-two-commits bench-real-aa \
	bench-fleet gpu-campaign gpu-bundle gpu-half-hour gpu-half-hour-dry-run setup clean help

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

dashboard: setup  ## open the dashboard on what is published and what has been measured here
	-$(BIN)/fusebench ingest
	$(BIN)/fusebench dashboard

BASE ?= HEAD~1
HEAD ?= HEAD
gate: setup  ## did HEAD get slower than BASE?
	$(BIN)/fusebench gate --base $(BASE) --head $(HEAD)

check: setup  ## style, types, and who may import whom
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

kernels-report: setup  ## compile every kernel for GPUs that need not be here; compare with docs/kernels-report.md
	$(BIN)/python -m fused_mlp.static_checks --compare docs/kernels-report.md

MODELS ?= --write docs/fuse.md
models: .venv/models  ## which MLPs of models that people run `fuse` replaces, into docs/fuse.md (MODELS="--speed llama" times)
	$(BIN)/python tools/fused_models.py $(MODELS)

.venv/models: .venv/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev,models]' && touch $@

version-matrix:  ## the kernels' fast tests under each of TORCHES and PYTHONS, an environment of its own each; docs/kernels.md
	$(PYTHON) tools/version_matrix.py $(if $(TORCHES),--torch $(TORCHES)) $(if $(PYTHONS),--python $(PYTHONS)) $(if $(ROWS),--rows $(ROWS))

SELF_CHECKS ?= aa coverage re-warming company planted ceilings floors referee speed
self-check: setup  ## the ruler measured with itself, SELF_CHECKS of it, each to its end; what the machine disturbed is not counted
	@failed= undecided=; for check in $(SELF_CHECKS); do echo "== self-check $$check"; \
		$(BIN)/python -m benchmarks.ruler.self_check $$check; \
		code=$$?; case $$code in 0) ;; 64|130|143) exit $$code;; 3) undecided="$$undecided $$check";; *) failed="$$failed $$check";; esac; done; \
	test -z "$$undecided" || echo "undecided, as the machine was disturbed:$$undecided"; \
	test -z "$$failed" || { echo "failed:$$failed"; exit 2; }; test -z "$$undecided" || exit 3

bench-two-commits: setup  ## simulate comparisons of two commits: how often equal ones differ, and steps are found (COMPARISONS=200, SEED=0)
	$(BIN)/python tools/bench_two_commits.py --comparisons $(or $(COMPARISONS),200) --seed $(or $(SEED),0)

bench-real-aa: setup  ## compare equal commits on this machine five times, and ones slower by 5 and 10 %; goes on where it ended; REAL_AA="--only aa-1"
	PYTHONPATH=tools $(BIN)/python -m real_aa $(REAL_AA)

JUDGEMENT ?=
bench-judgement: setup  ## how well changes are found in made histories, beside asv's and otava's detectors; JUDGEMENT="--series 300 --seed 2"
	$(BIN)/python tools/bench_judgement.py $(JUDGEMENT)

mutation: setup  ## plant faults in the verdict rules, one at a time, and let the tests find each; half an hour. MUTATION="--module sides"
	PYTHONPATH=tools $(BIN)/python -m mutation $(MUTATION)

fleet-test: setup  ## a fleet on Ray, submitit and a Slurm of three nodes on this machine; installs what is missing
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[fleet-ray,fleet-slurm]' kubernetes-validate
	@command -v slurmctld >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q --no-install-recommends slurmctld slurmd slurm-client; } || echo "without Slurm: apt-get install slurmctld slurmd slurm-client, as root"
	$(BIN)/python -m pytest tests/benchmarks/fleet tests/system/fleet tests/results/ingest/test_hosts_at_once.py

bench-fleet: setup  ## how a fleet of 64 GPUs scales: planning, journals, PostgreSQL by eight processes (docs/fleet.md)
	PYTHONPATH=tools $(BIN)/python tools/fleet/bench.py $(SIZES)

bench-store: setup  ## how fast the store fills and answers; CORPUS=asv results, REPOSITORY=its git (or MADE=commits)
	$(BIN)/python tools/bench_store.py $(CORPUS) $(if $(REPOSITORY),--repository $(REPOSITORY)) \
		$(if $(MADE),--made $(MADE)) $(if $(POSTGRESQL),--postgresql $(POSTGRESQL))

# CORPUS: asv results of any project, or a database filled from them.
bench-dashboard: setup  ## how fast the dashboard answers, alone and to 30 readers, against its aims; CORPUS=asv results, needs Chromium
	$(BIN)/python tools/bench_dashboard.py $(CORPUS) $(if $(COMMITS),--commits $(COMMITS)) $(if $(MADE_STORE),--made $(MADE_STORE))

# MACHINE names this machine; HISTORY are further options, see python -m benchmarks.ruler.history --help.
MEASURE_COMMITS = $(BIN)/python -m benchmarks.ruler.history $(if $(MACHINE),--machine $(MACHINE)) $(HISTORY)
history: setup  ## measure milestones of this repository on MACHINE=name, single-threaded, into results/data/published; goes on where it ended
	$(MEASURE_COMMITS)

history-check: setup  ## build the wheel of every milestone and check its results; times nothing
	$(MEASURE_COMMITS) --check

rivals: setup  ## measure HEAD against every rival on MACHINE=name, into results/data/published
	$(MEASURE_COMMITS) --axes rivals --commits HEAD

measurements: setup  ## make docs/measurements.md from what is published
	$(BIN)/python -m benchmarks.ruler.history.measurements

readme-outputs: setup  ## run the commands whose output README.md shows, minutes, and put it there
	$(BIN)/python tools/readme_outputs.py

history-picture: setup  ## draw docs/overview.png and docs/history.png from what is published; needs Chromium
	$(BIN)/python tools/history_picture.py

# STORE: another database, or a folder of journals or asv results.
screenshots: setup  ## pictures of every page of the dashboard, light and dark, at three widths, into build/screenshots; needs Chromium
	$(BIN)/python tools/screenshots.py $(if $(STORE),--store $(STORE))

plotly-bundle: setup  ## the part of plotly's script that our figures need, of the installed version, from npm
	cd dashboard/bundles && npm pack -s plotly.js-basic-dist-min@$$($(CURDIR)/$(BIN)/python -c "from plotly.offline import get_plotlyjs_version as v; print(v())") \
		&& tar xzf plotly.js-basic-dist-min-*.tgz && mv package/plotly-basic.min.js . && mv package/LICENSE plotly-basic.LICENSE \
		&& rm -r package plotly.js-basic-dist-min-*.tgz

article-page: setup  ## measure the article's cases, and make docs/article.md's output and pictures of them; needs Chromium
	$(BIN)/python tools/article_page.py

claims: setup  ## check each claim of docs/claims.md, and write what was found; ten minutes
	$(BIN)/python tools/claims.py

DEVICE ?= cuda
BUDGET ?= quick
# Without a network nothing can be set up: the machine's own Python serves, if there is no environment.
CAMPAIGN_PYTHON ?= $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))
gpu-campaign:  ## check, tune and measure every kernel on DEVICE=cuda|cpu, BUDGET=quick|half-hour|full [CAMPAIGN_OUT=folder]; goes on where it ended
	$(CAMPAIGN_PYTHON) -m benchmarks.ruler.campaign all --device $(DEVICE) --budget $(BUDGET) $(if $(CAMPAIGN_OUT),--out $(CAMPAIGN_OUT)) $(if $(CAMPAIGN_SECONDS),--seconds $(CAMPAIGN_SECONDS))

BUNDLE ?= build/gpu-bundle
BUNDLE_PYTHON ?= 3.12
# A Python with the machine's own torch and triton, which fills Triton's cache; without one, kernels compile there.
CACHE_PYTHON ?=
gpu-bundle: setup  ## what a machine without a network needs beside its own torch and triton, for Python BUNDLE_PYTHON
	@test -z "$$(git status --porcelain -- kernels benchmarks device)" || { echo "commit what differs from HEAD in kernels, benchmarks or device, or put it away:"; git status --short -- kernels benchmarks device; exit 1; }
	rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)/wheels
	git bundle create -q $(BUNDLE)/fusebench.bundle HEAD --branches --tags
	git rev-parse HEAD > $(BUNDLE)/COMMIT
	echo $(BUNDLE_PYTHON) > $(BUNDLE)/PYTHON
	git ls-files kernels benchmarks device | tr '\n' '\0' | xargs -0 sha256sum > $(BUNDLE)/files.sha256
	cp benchmarks/campaign-requirements.txt $(BUNDLE)/requirements.txt
	$(BIN)/python -m pip download -q --disable-pip-version-check --only-binary=:all: --implementation cp --no-deps \
		--python-version $(BUNDLE_PYTHON) --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 \
		-c constraints.txt -r benchmarks/campaign-requirements.txt -d $(BUNDLE)/wheels
	$(if $(CACHE_PYTHON),PYTHONPATH=kernels $(CACHE_PYTHON) -m fused_mlp.compiled_ahead $(BUNDLE)/triton-cache $$($(BIN)/python -m benchmarks.ruler.campaign cells))
	@echo "$(BUNDLE): carry it whole; docs/gpu-campaign.md says how to go on"

gpu-half-hour:  ## all that three calls on a rented GPU need, in device/; device/README.md says how to spend them
	$(MAKE) gpu-bundle BUNDLE=device/bundle
	@du -sh device/bundle

gpu-half-hour-dry-run: setup  ## the three calls on this CPU, each killed once and resumed on a bare copy; DRY_PYTHON=the machine's Python
	$(BIN)/python tools/half_hour_dry_run.py --python $(or $(DRY_PYTHON),$(BIN)/python)

setup: .venv/installed  ## the environment of everything else, in .venv

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]' && touch $@

clean:  ## what make created; measurements under results/data/local stay
	rm -rf .venv build dist .asv env .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

help:  ## this list
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 24
