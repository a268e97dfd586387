# Two commands do everything on a fresh machine with Python 3.11 and make:
#   make demo    rank the bundled survey
#   make test    lint, type-check and test
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint types unit coverage slow browser browser-slow engines wheel lowest audit bench peers docs figure clean

demo: .venv/installed
	$(BIN)/quietrank demo

test: lint types unit

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/installed
	$(BIN)/mypy --num-workers 2

# Tests start programs, which would compile every module anew where Python is told to keep no bytecode.
unit: export PYTHONDONTWRITEBYTECODE :=
unit: .venv/installed
	$(BIN)/pytest -n auto -m "not slow and not engines"

# Which lines and branches all tests but the long ones run, in the browser and on servers too; less than 95 % is an error.
coverage: .venv/browser .venv/engines
	$(BIN)/pytest -n auto --dist loadgroup -m "not slow" --cov --cov-report=term --cov-report=html:build/coverage

slow: .venv/installed
	QUIETRANK_EXAMPLES=thorough $(BIN)/pytest -n auto --dist loadgroup

# The report and the app in a real browser; needs a Chromium on the path, such as Debian's package chromium, and npm.
browser: .venv/browser
	QUIETRANK_REQUIRE_BROWSER=1 $(BIN)/pytest -n 2 -m "browser and not slow" || \
	QUIETRANK_REQUIRE_BROWSER=1 $(BIN)/pytest --last-failed --last-failed-no-failures none -m "browser and not slow"

browser-slow: .venv/browser
	QUIETRANK_REQUIRE_BROWSER=1 $(BIN)/pytest -s -m "browser and slow"

.venv/browser: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints/tested.txt --editable '.[browser]'
	if command -v npm > /dev/null; then npm install --silent --no-save --prefix .venv/axe axe-core@4; fi
	touch $@

# The same numbers on real servers: needs the programs of a PostgreSQL server and Java 17.
engines: .venv/engines
	QUIETRANK_REQUIRE_SERVERS=1 $(BIN)/pytest -n auto --dist loadgroup -m "engines and not slow"
	QUIETRANK_REQUIRE_SERVERS=1 $(BIN)/pytest -m "engines and slow" tests/votes/test_failures.py tests/votes/test_spark_cluster.py

.venv/engines: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints/tested.txt --editable '.[postgres,spark]'
	touch $@

.venv/installed: pyproject.toml constraints/tested.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints/tested.txt --editable '.[dev]'
	touch $@

# What is handed out: wheel and sdist, built twice to the same bytes; docs/first-use.md typed into a shell beside the sdist,
# with the user's own pip; then the wheel in an environment of its own, with tests
# that run beside no checkout. `make wheel PYTHON=python3.13` does it with another Python, `make wheel WITH='--constraint
# constraints/lowest.txt'` with other versions of what it needs.
wheel: .venv/installed
	rm -rf dist build/installed
	for copy in one two; do SOURCE_DATE_EPOCH=1577836800 $(BIN)/python -m build --outdir dist/$$copy . >/dev/null || exit 1; done
	cmp dist/one/*.whl dist/two/*.whl && cmp dist/one/*.tar.gz dist/two/*.tar.gz
	QUIETRANK_SDIST="$$(echo $(CURDIR)/dist/one/*.tar.gz)" $(BIN)/pytest tests/test_first_use.py
	$(PYTHON) -m venv --clear build/installed/venv
	build/installed/venv/bin/pip install --quiet $(WITH) "$$(echo dist/one/*.whl)[app]" pytest hypothesis pandas polars
	cp -r tests docs examples benchmarks README.md pyproject.toml build/installed
	cd build/installed && venv/bin/python -m pytest -q -m "not slow and not browser" $(INSTALLED_TESTS)

WITH ?= --constraint constraints/tested.txt
INSTALLED_TESTS = tests/test_small_examples.py tests/test_edge.py tests/cli/test_demo.py tests/cli/test_app.py tests/app/test_orders.py

# All tests with the oldest versions that pyproject.toml allows.
lowest:
	$(PYTHON) -m venv --clear build/lowest
	build/lowest/bin/pip install --quiet --constraint constraints/lowest.txt --editable '.[dev]'
	build/lowest/bin/python -m pytest -n auto -m "not slow and not engines and not browser"

audit: .venv/installed
	$(BIN)/quietrank audit

# The quick ones; benchmarks/README.md lists all. What needs peers (`make peers`) or many minutes is started by itself.
bench: .venv/installed
	for name in startup mechanisms million ledger ingest; do $(BIN)/python -m benchmarks.$$name.run || exit 1; done

# The peers of benchmarks/solver and benchmarks/intervals, in build/peers: one of them pins an older NumPy than ours.
# The versions are a whole solution, so pip need not look for one, which takes it many minutes.
peers:
	$(PYTHON) -m venv --clear build/peers
	build/peers/bin/pip install --quiet --no-deps --requirement constraints/bench.txt --editable .
	build/peers/bin/pip check

# The site, in site/: pages that scripts write are written, then all are built; a warning or a broken link is an error.
docs: .venv/docs
	for page in cli api modules noise benchmarks; do $(BIN)/python docs/make_$$page.py || exit 1; done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

.venv/docs: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints/tested.txt --editable '.[docs]'
	touch $@

# docs/demo.png of the README, from the release in docs/demo.json
figure: .venv/installed
	$(BIN)/python docs/make_demo.py

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site
