# make run     set up a local environment and stream the embedded data sets through PocketClassifier
# make test    all tests, Python and C++
# make lint    ruff, mypy and clang-format
# make bench   what a round costs, against a bare pass and against peers, and through each API

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find src core bindings -name '*.py' -o -name '*.pyi' -o -name '*.hpp' -o -name '*.cpp' \
                   -o -name '*.html' -o -name '*.css' -o -name '*.csv') \
           CMakeLists.txt pyproject.toml README.md

.PHONY: run test test-python test-cpp lint bench clean

run: $(VENV)/installed
	$(BIN)/python -m pocketkernel demo

test: test-python test-cpp

test-python: $(VENV)/tools-test
	$(BIN)/python -m pytest

test-cpp:
	$(MAKE) -C tests/cpp -j2

lint: $(VENV)/tools-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(shell find core bindings tests -name '*.?pp')

bench: $(VENV)/tools-bench
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/apis.py

clean:
	rm -rf $(VENV) build tests/cpp/build

$(VENV)/created:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

# A plain install, as a user would do it.
$(VENV)/installed: $(VENV)/created $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

$(VENV)/tools-%: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group $*
	touch $@
