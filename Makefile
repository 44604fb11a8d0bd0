# Two commands do everything on a fresh machine with Python 3.10+ and make: `make demo` and `make test`.

PYTHON ?= python3
# The Salt line to set up, test and demonstrate with: 3006, 3007 or 3008, each in an environment of its own.
SALT ?= 3008
LINE := $(if $(filter-out 3008,$(SALT)),-$(SALT))
VENV := .venv$(LINE)
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What fails beside everything else is tried once more, alone: a busy machine passes then, a defect fails twice.
AGAIN := $(BIN)/python tools/try_again.py
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: help setup demo demo-stop test .test-others .test-unit test-integration test-fast machines test-machines lint update wheel providers bench fuzz races chaos clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(READY) ## create .venv and install what requirements.lock says; SALT=3006 and SALT=3007 have their own

$(READY): setup.py pyproject.toml tools/setup_venv.py $(wildcard requirements$(LINE).lock)
	@$(PYTHON) tools/setup_venv.py $(SALT) $(VENV)

demo: $(READY) ## the main job with real parts; KEEP=1 leaves it running
	@$(BIN)/python -m demo run $(if $(KEEP),--keep)

demo-stop: $(READY) ## end what `make demo KEEP=1` started
	@$(BIN)/python -m demo stop

# Six at once on two cores: aws providers and minions spend most of their time waiting. Integration tests are apart,
# because Salt leaves its sockets to the garbage collector, which would fail whatever test runs there next. Two jobs
# of make, so that Ctrl-C ends both; what the second one said is shown when it has ended.
test: $(READY) ## all tests: unit, functional with real parts, integration with live masters; SALT=3006: what meets Salt
	@$(MAKE) --no-print-directory -j 2 -k $(if $(LINE),.test-unit,.test-others) test-integration

.test-others:
	@$(BIN)/python -m pytest -q -n 4 --dist loadgroup tests/unit tests/functional 2>&1 | tee $(VENV)/others.log \
		|| $(AGAIN) $(VENV)/others.log

# Functional tests don't meet Salt, or only its loader: an older line is shown by the two others.
.test-unit: $(READY)
	$(BIN)/python -m pytest -q -n 2 tests/unit

# Before 3008 each file has a process of its own: a client of Salt 3006 in a worker of xdist was seen to wait for ever.
INTEGRATION := $(BIN)/python -m pytest -q $(if $(LINE),,-n 2 --dist loadfile tests/integration)
test-integration: $(READY) ## live masters and minions only; SALT=3006
	@$(if $(LINE),ls tests/integration/test_*.py | xargs -P 2 -n 1) $(INTEGRATION) >$(VENV)/integration.log 2>&1; code=$$?; \
	printf '\ntests/integration with Salt $(SALT):\n'; cat $(VENV)/integration.log; \
	[ $$code = 0 ] || $(AGAIN) $(VENV)/integration.log

test-fast: .test-unit ## unit tests, under a minute

# Debian's packages by name, and the root file system once, in the user's cache folder (SALTFORM_MACHINES: elsewhere).
MACHINE_PACKAGES := debootstrap e2fsprogs iproute2 nftables openssh-client passwd systemd-container util-linux
machines: $(READY) ## what machines need (root): Debian's packages, and the root file system, built once
	@dpkg -s $(MACHINE_PACKAGES) >/dev/null 2>&1 || { apt-get update -q && \
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $(MACHINE_PACKAGES); }
	@$(MAKE) --no-print-directory wheel >/dev/null
	@$(BIN)/python -m machines.rootfs --wheel dist/*.whl --lock requirements.lock

test-machines: machines ## real machines and networks (root)
	$(BIN)/python -m pytest -q tests/machines

lint: $(READY) ## ruff, and types in the engine and the emulator
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

update: $(READY) ## renew the locks, show what changed, and run all tests on it
	@$(BIN)/python tools/update_locks.py
	@$(MAKE) --no-print-directory lint test

wheel: $(READY) ## this very build for workers, in dist/, and the pillar that installs it
	@rm -rf dist
	@$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist .
	@cd dist && printf 'worker:\n  wheel:\n    source: salt://files/%s\n    hash: sha256=%s\n' \
		*.whl "$$(sha256sum *.whl | cut -d ' ' -f 1)"

providers: ## build the Terraform providers that tests use, by name through the Go module proxy, into a cache folder
	@$(PYTHON) tools/build_providers.py $(PROVIDERS)

bench: $(READY) ## every measurement, side by side with what it is compared to
	@for file in benchmarks/[a-z]*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

fuzz: $(READY) ## malformed requests against the emulator; SECONDS=300
	$(BIN)/python tests/functional/hive/hive_fuzz.py --seconds $(or $(SECONDS),300)

races: $(READY) ## two masters deploy one environment at once; ROUNDS=100
	SALTFORM_RACE_ROUNDS=$(or $(ROUNDS),100) $(BIN)/python -m pytest -q tests/functional/saltform/verbs/test_races_real.py

chaos: $(READY) ## kill -9 and cut connections at random moments, then resume; ROUNDS=1000 SEED=7
	SALTFORM_CHAOS_ROUNDS=$(or $(ROUNDS),1000) SALTFORM_CHAOS_SEED=$(or $(SEED),$(shell date +%s)) \
		$(BIN)/python -m pytest -q -s -n 2 tests/functional/saltform/verbs/test_chaos_real.py \
		tests/functional/saltform/verbs/test_chaos_postgresql_real.py

clean: ## remove what setup, demo and tests made
	-@test -x $(BIN)/python && $(BIN)/python -m demo stop 2>/dev/null
	rm -rf .venv .venv-3006 .venv-3007 .demo build dist *.egg-info .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
