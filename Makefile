# Four commands set everything up by themselves, in .venv:
#
#   make demo    a liver study asked in SQL: a dozen private answers, their cost, and a refusal
#   make serve   the same study served over HTTP: open the printed link
#   make test    everything that CI runs: lint, types, layers, tests, doctests, docs
#   make docs    the documentation as a site, in docs/_build/html
#
# make test runs three processes, as one often waits; make test WORKERS=8 runs eight. Spark needs a Java, which it installs
# where it may. Without two free cores it takes longer, and nothing fails.
#
# Further: make notebooks (the tutorials for Jupyter), make test-slow, make audits, make benchmark,
# make format, make lock, make clean.
# make mutations plants faults outside the privacy kernel and inside: answers stay private, or the
# kernel's tests notice.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 3

# What a process has compiled is kept for the next, also where the environment asks for the opposite:
# make test starts hundreds, and each would spend a second of processor time on it.
unexport PYTHONDONTWRITEBYTECODE

# Warnings are errors: a broken link, an unknown name, a page that no page leads to.
SPHINX := $(BIN)/python -m sphinx -q -W --keep-going -n

.PHONY: demo serve reference docs notebooks test suite system lint style types test-slow audits mutations benchmark format lock clean
.DELETE_ON_ERROR:

demo: $(VENV)/demo.stamp
	@$(BIN)/quaestor demo
	@echo "Serve it, and sign in by a link:  make serve"

serve: $(VENV)/demo.stamp
	@test -f demo/liver/quaestor.toml || $(BIN)/quaestor demo
	@$(BIN)/quaestor serve --catalog demo/liver/quaestor.toml --dev

# The pages of the reference that are written from the code.
reference: $(VENV)/docs.stamp
	@$(BIN)/python -m docs.generate

docs: $(VENV)/docs.stamp
	@tests/system.sh node
	@$(SPHINX) -b html docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

notebooks: $(VENV)/test.stamp
	@$(BIN)/python docs/notebooks.py docs/_build/notebooks
	@echo "Open them in Jupyter: docs/_build/notebooks"

# The same in one Markdown file and one PDF.
docs-print: $(VENV)/docs.stamp
	@tests/system.sh node
	@$(BIN)/python -m docs.one_file
	@echo "docs/_build/quaestor.md, docs/_build/quaestor.pdf"

# Types are checked while the first tests run: by themselves they take a minute of one core.
test: system style
	@$(MAKE) --no-print-directory --jobs=2 types suite

suite: $(VENV)/test.stamp
	@$(BIN)/python -m pytest -m "not slow" --numprocesses $(WORKERS) --dist loadfile

system:
	@tests/system.sh

lint: style types

style: $(VENV)/test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports

types: $(VENV)/test.stamp
	@$(BIN)/mypy

# Spark is a cluster here, and compiles its statements, also for what make test asks of it.
test-slow: system $(VENV)/test.stamp
	@QUAESTOR_TEST_SPARK=cluster $(BIN)/python -m pytest -m slow
	@QUAESTOR_TEST_SPARK=cluster $(BIN)/python -m pytest -m "not slow" -k spark tests/curator

# Whole questions against the auditor, long enough to see a loss of 1.5 that is charged as 1.
audits: $(VENV)/test.stamp
	@$(BIN)/python -m pytest -m slow tests/curator/hostile/test_audits.py

mutations: $(VENV)/test.stamp
	@$(BIN)/python -m tests.curator.kernel.mutate

benchmark: $(VENV)/test.stamp $(VENV)/benchmark.stamp $(VENV)/peers/opendp.stamp $(VENV)/peers/smartnoise.stamp
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.sampling
	@$(BIN)/python -m benchmarks.training
	@$(BIN)/python -m benchmarks.sketching
	@$(BIN)/python -m benchmarks.auditing
	@$(BIN)/python -m benchmarks.ledger
	@$(BIN)/python -m benchmarks.curator
	@$(BIN)/python -m benchmarks.tables
	@$(BIN)/python -m benchmarks.growth
	@$(BIN)/python -m benchmarks.spark
	@$(BIN)/python -m benchmarks.accuracy

format: $(VENV)/test.stamp
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# One environment for all. A stamp is as new as the lock file whose packages it stands for, so that
# a second run installs nothing.

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed; say which:  make PYTHON=/path/to/python3.11 ..." >&2; \
	    exit 1; }
	@echo "Making the environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/%.stamp: requirements/%.lock pyproject.toml | $(VENV)/bin/python
	@echo "Installing requirements/$*.lock (once) ..."
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r $<
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps \
	  --no-build-isolation --editable .
	@touch $@

# Peers in the benchmark of tables, each in an environment of its own.
$(VENV)/peers/%.stamp: requirements/peer-%.lock
	@echo "Installing requirements/peer-$*.lock (once) ..."
	@$(PYTHON) -m venv $(VENV)/peers/$*
	@$(VENV)/peers/$*/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r $<
	@touch $@

# Names, versions and hashes only. Needs uv (pip install uv).
lock:
	uv pip compile pyproject.toml --python-version 3.11 --generate-hashes --no-header \
	  --extra plot --extra curator --extra service --group demo \
	  --output-file requirements/demo.lock --quiet
	uv pip compile pyproject.toml --python-version 3.11 --generate-hashes --no-header \
	  --extra plot --extra curator --extra ibis --extra postgres --extra service --extra spark --extra notebook \
	  --group test \
	  --constraint requirements/demo.lock --output-file requirements/test.lock --quiet
	uv pip compile pyproject.toml --python-version 3.11 --generate-hashes --no-header \
	  --extra plot --extra interop --extra curator --extra service --extra notebook --group docs \
	  --constraint requirements/test.lock --output-file requirements/docs.lock --quiet
	uv pip compile pyproject.toml --python-version 3.11 --generate-hashes --no-header \
	  --group benchmark --constraint requirements/test.lock \
	  --output-file requirements/benchmark.lock --quiet
	for peer in opendp smartnoise; do \
	  uv pip compile --group peer-$$peer --python-version 3.11 --generate-hashes \
	    --no-header --output-file requirements/peer-$$peer.lock --quiet || exit 1; done
