# Every target makes its own virtual environment first; nothing needs to be installed by hand
# but Python >= 3.11 and make.  `make demo` and `make test` are the two commands to know.

VENV     ?= .venv
EXTRAS   ?= dev
WORKERS  ?= 2
COVERAGE ?= 97
PYTEST_ARGS ?=

BIN  := $(VENV)/bin
DEV  := $(VENV)/.installed-$(EXTRAS)
TRY  := $(VENV)/.installed-cli-plot
GPU  := $(VENV)/.installed-dev-gpu
TORCH := $(VENV)/.looked-for-torch
BROWSER := $(VENV)/.looked-for-browser
PEER := $(VENV)/.installed-dev-bench
PACK := $(VENV)/.installed-release
TYPES := $(VENV)/.installed-dev-types
SITE := $(VENV)/.installed-docs
LOWEST := .venv-lowest/.installed
CODE := src tests bench examples tools conftest.py
# What needs a device to run in full; its coverage is reported apart.
DEVICE := */mercer/engines/cuda/*,*/mercer/learners/_device.py
# What writes instructions while Numba compiles, and so never where machine code is kept.
WRITER := */mercer/_machine/lanes/*
# The fast heart of the tests: the foundation, the formula, the rules of the tree.
QUICK := tests/test_tiny.py tests/test_layers.py tests/test_config.py tests/test_machine.py \
	tests/test_tiles.py tests/test_snippets.py tests/formula tests/kernels/test_algebra.py \
	tests/kernels/test_grammar.py tests/kernels/test_params.py tests/gram/test_operator.py

# What is run without Numba: the foundation, and learners whose tests are small enough for loops
# in plain Python. All others are fitted once by tests/test_no_numba.py.
NO_NUMBA := tests/test_tiny.py tests/solvers/neighbors tests/learners/test_lean.py \
	tests/learners/test_ridge.py tests/learners/test_neighbors.py tests/gram/test_rows.py tests/gram/test_fourier_product.py

# Tests start many processes, which need not compile what is compiled; and where each worker has a
# core, threads of BLAS and OpenMP would only wait for one another (they wait busily).
export PYTHONDONTWRITEBYTECODE =
SHARE := OMP_NUM_THREADS=1

.PHONY: help demo quick test test-lab test-slow attack test-peers test-cluster test-gpu test-no-numba test-lowest test-pythons test-types test-workflows ci wheel bench docs test-docs lint format clean
.DEFAULT_GOAL := help

help:
	@echo "make demo       from the bundled digits to a scoreboard, a report and a model (1-2 minutes)"
	@echo "make quick      ruff, mypy and the fast heart of the tests, in less than a minute"
	@echo "make test       lint, types, the fast tests with coverage, README and examples"
	@echo "make test-slow  the slow tests too (real data from MERCER_DATA, where present)"
	@echo "make test-lab   all tests of the laboratory, with its page in a browser"
	@echo "make attack     every fuzzer, 10,000 attempts each (ATTACK=\"1000 7\" for count and seed)"
	@echo "make test-peers peers' own tests, and scikit-learn's contract, on our classes (PEERS=\"svm\")"
	@echo "make test-cluster  rows in pieces, and a Dask cluster whose workers die"
	@echo "make test-gpu   the tests of the device engine on a CUDA device, without an interpreter"
	@echo "make test-no-numba  what a machine without Numba runs"
	@echo "make test-lowest   with the lowest version of every dependency;  make test-pythons  with every"
	@echo "                   Python on PATH;  make wheel  builds, checks, installs and tries the package"
	@echo "make test-types   public types, by mypy and pyright"
	@echo "make ci         all that the public workflows run, in a fresh clone, with every Python on PATH"
	@echo "make bench      every speed and memory claim, side by side with its peer"
	@echo "make docs       the site, every block and script of it executed, into build/docs"
	@echo "make test-docs  the same, and every page in a browser, with axe-core on one of each kind"
	@echo "make lint       ruff and mypy;  make format  rewrites;  make clean  removes what make made"

$(DEV): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) $(EXTRAS)
	touch $@

$(TRY): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) cli,plot
	touch $@

$(GPU): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) dev,gpu
	touch $@

$(PEER): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) dev,bench
	touch $@

$(PACK): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) release
	touch $@

$(TYPES): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) dev,types
	touch $@

$(SITE): pyproject.toml tools/venv.sh
	tools/venv.sh $(VENV) docs
	touch $@

$(TORCH): $(DEV) tools/torch.sh
	tools/torch.sh $(VENV)
	touch $@

$(BROWSER): $(DEV) tools/browser.sh
	tools/browser.sh $(VENV)
	touch $@

$(LOWEST): pyproject.toml tools/lowest.sh tools/lowest.py
	tools/lowest.sh .venv-lowest dev
	touch $@

# The demo needs less than the tests do, so a fresh clone has less to wait for.
demo: $(if $(wildcard $(DEV)),$(DEV),$(TRY))
	$(BIN)/python examples/demo.py

lint: $(DEV)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/python tools/house.py --check

format: $(DEV)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)
	$(BIN)/python tools/snippets.py --write README.md CONTRIBUTING.md
	$(BIN)/python tools/catalog.py --write
	$(BIN)/python tools/solvers.py --write
	$(BIN)/python tools/speed.py --write
	$(BIN)/python tools/gpu.py --write

quick: $(DEV)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q $(QUICK) $(PYTEST_ARGS)

# The README, CONTRIBUTING and the examples are run by tests, so they are part of this.
# Compiled functions are invisible to the tracer and excluded by decorator (see pyproject.toml).
test: $(TORCH) $(BROWSER) lint
	$(SHARE) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --cov --cov-report= $(PYTEST_ARGS)
	@$(BIN)/python -m coverage report --omit="$(DEVICE),$(WRITER)" --fail-under=$(COVERAGE)
	@echo "Code that needs a device, as far as it runs without one:" \
		"$$($(BIN)/python -m coverage report --include="$(DEVICE)" --format=total) %"

# The page in a browser, as a person uses it; pictures are kept under build/lab.
test-lab: $(BROWSER)
	$(BIN)/python -m pytest -m "not gpu" tests/lab $(PYTEST_ARGS)

test-slow: $(DEV)
	$(BIN)/python -m pytest -m "not gpu" $(PYTEST_ARGS)

# ATTACK="1000 7": so many attempts of each fuzzer, and the seed.
attack: $(DEV)
	$(BIN)/python tests/attack.py $(ATTACK)

# PEERS="svm neighbors": only those suites.
test-peers: $(PEER)
	WORKERS=$(WORKERS) $(BIN)/python tests/peers/run.py $(PEERS)

# The option -m replaces the one of pyproject.toml, so that slow tests run, too.
test-cluster: $(DEV)
	$(BIN)/python -m pytest -m "cluster or not cluster" tests/engines/cluster $(PYTEST_ARGS)

test-gpu: $(GPU)
	$(BIN)/python -m pytest -m "gpu or not gpu" tests/engines/cuda $(PYTEST_ARGS)

# Files about machine code itself are left out.
test-no-numba: $(DEV)
	MERCER_NUMBA=0 $(SHARE) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(NO_NUMBA) $(PYTEST_ARGS)
	$(BIN)/python -m pytest -m "" tests/test_no_numba.py $(PYTEST_ARGS)

test-lowest: $(LOWEST)
	$(SHARE) .venv-lowest/bin/python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-pythons:
	$(SHARE) tools/pythons.sh -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

# What type checkers see of the library: mypy --strict and pyright in the program of a user.
test-types: $(TYPES)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -m "" tests/test_types.py tests/test_user_program.py $(PYTEST_ARGS)

# The workflows of .github: credentials, injected text, actions that are not pinned.
test-workflows: $(PACK)
	$(BIN)/zizmor --offline .github

# PYTEST_ARGS="tests/test_tiny.py" for a first look; CI="wheel docs" for some of the targets.
ci:
	WORKERS="$(WORKERS)" PYTEST_ARGS="$(PYTEST_ARGS)" tools/ci.sh $(CI)

wheel: $(PACK)
	tools/wheel.sh $(VENV)

bench: $(PEER)
	$(BIN)/python bench/run.py $(BENCH)

# Warnings are errors; it opens from the file system: build/docs/index.html.
docs: $(SITE)
	$(SHARE) $(BIN)/python tools/site.py

# Every built page in a browser: its width, errors of scripts, accessibility, the search.
test-docs: docs $(BROWSER)
	$(BIN)/python tools/look.py

clean:
	rm -rf $(VENV) .venv-lowest .venv-3.* build dist demo htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench examples tools -name __pycache__ -type d -prune -exec rm -rf {} +
