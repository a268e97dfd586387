# Two commands do everything on a fresh machine with Python 3.11 and make:
#   make demo    rank the bundled survey
#   make test    lint, type-check and test
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types unit slow docs clean

demo: .venv/installed
	$(BIN)/quietrank demo

test: lint types unit

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy

unit: .venv/installed
	$(BIN)/pytest -n auto -m "not slow"

slow: .venv/installed
	$(BIN)/pytest -n auto

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

docs: .venv/installed
	$(BIN)/python docs/make_cli.py

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache
