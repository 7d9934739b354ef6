# Everything a developer runs. Each target sets up its own environment in .venv; `make` alone lists the targets.

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$p"; break; }; done)

# Two stamps, renewed when what they install changes: the package alone, and with the tools of development.
PACKAGE := $(VENV)/.installed-package
TOOLS := $(VENV)/.installed-tools
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# The tests run one worker per core, and each worker computes on one thread.
WORKERS ?= auto
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8

.DEFAULT_GOAL := help
.PHONY: help test check docs docs-images demo bench format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

test: check docs  ## Check style, types and layers, build the documentation, run all tests
	$(PYTEST)

check: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(TOOLS)  ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

demo: $(PACKAGE)  ## Show the main job end to end, with pictures in demo-output/
	$(BIN)/python examples/demo.py

docs-images: $(PACKAGE)  ## Draw again the pictures that the documentation shows
	$(BIN)/python examples/demo.py docs/img

bench: $(TOOLS)  ## Run every benchmark, one after another; each writes to results/
	@for script in benchmarks/[!_]*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

format: $(TOOLS)  ## Format the code and mend what ruff can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## Remove the environment and everything built
	rm -rf $(VENV) build dist site demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Weft needs Python 3.11 or newer, found $$(python3 --version 2>&1)." \
		"Name one: make PYTHON=/path/to/python3.12"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(PACKAGE): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Weft into $(VENV); the first time takes some minutes."
	$(INSTALL) --editable .
	@touch $@

$(TOOLS): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Weft and its tools into $(VENV); the first time takes some minutes."
	$(INSTALL) --editable '.[dev,docs]'
	$(INSTALL) --no-deps strnn
	@touch $(PACKAGE) $@
