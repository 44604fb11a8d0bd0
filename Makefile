# Two commands do everything on a fresh machine with Python 3.10+ and make: `make demo` and `make test`.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup demo demo-stop test .test-others .test-integration test-fast lint bench fuzz races chaos clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## create .venv and install everything, by name

# Compiled once, here: where PYTHONDONTWRITEBYTECODE is set, each salt-run would compile all of Salt again (2 s).
$(READY): setup.py pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed, found %s.%s: make PYTHON=python3.12 …" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[embedded,emulator,dev]'
	@$(BIN)/python -m compileall -qq -j 0 .venv/lib saltform hive_emulator || true # some packages hold files for Python 2
	@touch $@

demo: $(READY) ## the main job with real parts; KEEP=1 leaves it running
	@$(BIN)/python -m demo run $(if $(KEEP),--keep)

demo-stop: $(READY) ## end what `make demo KEEP=1` started
	@$(BIN)/python -m demo stop

# Six at once on two cores: aws providers and minions spend most of their time waiting. Integration tests are apart,
# because Salt leaves its sockets to the garbage collector, which would fail whatever test runs there next. Two jobs
# of make, so that Ctrl-C ends both; what the second one said is shown when it has ended.
test: $(READY) ## all tests: unit, functional with real parts, integration with live masters
	@$(MAKE) --no-print-directory -j 2 -k .test-others .test-integration

.test-others:
	$(BIN)/python -m pytest -q -n 4 --dist loadgroup tests/unit tests/functional

.test-integration:
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/integration >.venv/integration.log 2>&1; code=$$?; \
	printf '\ntests/integration:\n'; cat .venv/integration.log; exit $$code

test-fast: $(READY) ## unit tests, under a minute
	$(BIN)/python -m pytest -q -n 2 tests/unit

lint: $(READY) ## ruff, and types in the engine and the emulator
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) ## every measurement, side by side with what it is compared to
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

fuzz: $(READY) ## malformed requests against the emulator; SECONDS=300
	$(BIN)/python tests/functional/hive/hive_fuzz.py --seconds $(or $(SECONDS),300)

races: $(READY) ## two masters deploy one environment at once; ROUNDS=100
	SALTFORM_RACE_ROUNDS=$(or $(ROUNDS),100) $(BIN)/python -m pytest -q tests/functional/saltform/operations/test_races_real.py

chaos: $(READY) ## kill -9 at random moments, then resume; ROUNDS=1000 SEED=7
	SALTFORM_CHAOS_ROUNDS=$(or $(ROUNDS),1000) SALTFORM_CHAOS_SEED=$(or $(SEED),$(shell date +%s)) \
		$(BIN)/python -m pytest -q -s -n 2 tests/functional/saltform/operations/test_chaos_real.py

clean: ## remove what setup, demo and tests made
	-@test -x $(BIN)/python && $(BIN)/python -m demo stop 2>/dev/null
	rm -rf .venv .demo build dist *.egg-info .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
