# Everything runs in .venv, which the first command that needs it creates.
PYTHON ?= python3
BIN = .venv/bin
# What the tests install. EXTRAS=dev and TORCH= leave out the larger libraries, whose tests are then skipped.
EXTRAS ?= dev,peers,ann
TORCH ?= torch==2.13.0
# A test runs on each core; threads of several tests that wait for each other would take longer.
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo test floor coverage mutants lint docs results bench package clean help

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: .venv/demo  ## align the bundled English and French vectors and show translations and scores
	$(BIN)/fipp demo

test: .venv/dev lint  ## check style and types, run every test, every docstring and every code block of the README
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal

floor: .venv-floor/bin/python  ## run every test with the oldest versions of the dependencies that pyproject.toml allows
	$(PYTHON) scripts/floor_versions.py | grep -v ^torch > .venv-floor/floor.txt
	.venv-floor/bin/python -m pip install --quiet --constraint .venv-floor/floor.txt --editable '.[test,ann]'
	$(ONE_THREAD) .venv-floor/bin/python -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal

coverage: .venv/dev  ## run every test and print which lines and branches of fipp no test runs; below 92 % is an error
	$(BIN)/coverage erase
	# This one interrupts a command, which can leave it waiting for a lock of coverage's own for ever.
	$(ONE_THREAD) $(BIN)/coverage run -m pytest --numprocesses=auto --maxprocesses=8 --dist=worksteal \
	    --deselect tests/reproduce/test_reproduce_run.py::test_ctrl_c_keeps_what_is_finished_and_says_where
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

mutants: .venv/dev  ## change operators and constants of four rooms one at a time, and see whether their tests notice
	$(BIN)/python scripts/mutate.py
	$(BIN)/python benchmarks/results.py

lint: .venv/dev  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/dev  ## build the documentation as a site in build/site
	$(BIN)/mkdocs build --strict
	@echo 'open build/site/index.html'

results: .venv/dev  ## write all tables and figures of the docs; RUN=1 measures first, RUN="auto fit" some, AGAIN=1 anew
	$(BIN)/python benchmarks/results.py $(if $(RUN),--run $(patsubst 1,all,$(RUN))) $(if $(AGAIN),--again)

bench: .venv/dev  ## measure fipp beside other tools, with the least that each work could take, and write docs/results/bench.md
	$(BIN)/python benchmarks/results.py --run bench --again

package: .venv/dev  ## build the wheel and the source archive, check both, and run the demo from the wheel in an empty environment
	rm -rf dist build/empty
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet "$$(ls dist/*.whl)[plot]"
	cd build && empty/bin/fipp demo

clean:
	rm -rf .venv .venv-floor demo-output build dist

%/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("fipp needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $*

.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[plot]'
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	@test -z '$(TORCH)' || $(BIN)/python -m pip install --quiet '$(TORCH)' || echo 'without $(TORCH), its tests are skipped' >&2
	@touch $@
