# The two commands that matter: `make demo` and `make test`. Both bootstrap everything they need into this
# checkout (.venv and .stepwatch), given git and Python 3.11 or 3.12.

PY := .venv/bin/python

.PHONY: help demo test check unit wheel e2e bench stats-bench noise release-table docs constraints dev clean

help:  ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed 's/:.*##/\t/' | expand -t 14

demo:  ## the whole chain on real releases: measure, judge, show (no GPU, no account)
	@tools/bootstrap.sh
	@$(PY) -m stepwatch demo

test: check unit wheel e2e  ## everything CI runs

check: | dev  ## style, types, import direction, generated docs
	.venv/bin/ruff check bot suites tests tools
	.venv/bin/ruff format --check bot suites tests tools
	.venv/bin/mypy
	PYTHONPATH=bot .venv/bin/lint-imports
	$(PY) tools/reference.py --check

unit: | dev  ## fast tests in two processes, with branch coverage
	rm -f .coverage .coverage.*
	.venv/bin/coverage run -m pytest -q -n 2 --dist loadfile -m "not e2e and not parity" tests
	.venv/bin/coverage combine -q
	.venv/bin/coverage report --fail-under=90

wheel: | dev  ## the fast tests again, against the built wheel instead of the checkout
	tools/test_wheel.sh

e2e: | dev  ## parity of the frameworks and the real end-to-end runs
	.venv/bin/python -m pytest -q -n 2 --dist loadfile -m "e2e or parity" tests

bench: | dev  ## stepwatch's own speed, measured: ratios side by side
	$(PY) tools/bench.py

stats-bench: | dev  ## false alarms, power and speed of the statistics beside the peers (ARGS="--quick")
	@tools/stats_bench/environment.sh
	@OMP_NUM_THREADS=1 PYTHONPATH=tools .stepwatch/stats-bench-env/bin/python -m stats_bench $(ARGS)

noise: | dev  ## spread between sessions, idle and loaded: docs/reference/noise.md (about an hour)
	$(PY) tools/noise_table.py measure idle
	$(PY) tools/noise_table.py measure loaded
	$(PY) tools/noise_table.py page

release-table: | dev  ## ratios between JAX releases: docs/reference/jax-releases.md (about two hours)
	$(PY) tools/release_table.py run
	$(PY) tools/release_table.py page

docs: | dev  ## regenerate the generated pages
	$(PY) tools/reference.py

constraints: | dev  ## pin the newest working set of what stepwatch and its tests need
	.venv/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		--no-emit-find-links --group dev pyproject.toml -o tools/constraints.txt
	.venv/bin/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url \
		--no-emit-find-links --group peers pyproject.toml -o tools/constraints-peers.txt

dev:
	@tools/bootstrap.sh dev

clean:  ## remove what was built and measured in this checkout (not the package caches)
	rm -rf .venv .stepwatch results html demo report.json dist
