# Every verb of the project. Each line calls real tools; .ci/run calls these verbs.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.PHONY: help setup demo example-mail example-logs serve build docs bench bench-python bench-spark
.PHONY: check check-bench check-deps check-trace fix fuzz lock settings-page test test-all test-disks
.PHONY: test-spark spark-shared spark-apart interop differential compatibility wheels packages clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

WHEELS := target/wheels
WHEEL_SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md LICENSE \
  $(shell find src python -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name py.typed)
CARGO_DENY := target/tools/bin/cargo-deny
CARGO_DENY_VERSION := 0.20.2

help: ## Shows this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/wheel.stamp ## Makes .venv with the pinned tools and the wheel, built from these sources

$(VENV)/tools.stamp: requirements/dev.txt requirements/docs.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; assert v >= (3, 11), f"Python 3.11 or later, not {v}"'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: \
	  -r requirements/dev.txt -r requirements/docs.txt
	@touch $@

# Apart from the others, for it is half a gigabyte, which neither a demo nor a benchmark needs.
$(VENV)/spark.stamp: $(VENV)/tools.stamp requirements/spark.txt requirements/mail.txt
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: --no-binary pyspark \
	  -r requirements/spark.txt
	$(BIN)/pip install --quiet --require-hashes --only-binary :all: -r requirements/mail.txt
	@# It has no bytecode: every Python that Spark starts would compile PySpark anew, which takes
	@# three times as long, and Spark waits ten seconds for it. Without it, the one installed is used.
	rm -f $(VENV)/lib/python*/site-packages/pyspark/python/lib/pyspark.zip
	@touch $@

$(VENV)/wheel.stamp: $(VENV)/tools.stamp $(WHEEL_SOURCES)
	rm -rf $(WHEELS)
	maturin build --release --locked --quiet --out $(WHEELS)
	$(BIN)/pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	@touch $@

INPUT ?=
demo: setup ## Real text through a broker that is killed on the way; make demo INPUT=/some/folder
	$(BIN)/python examples/demo $(INPUT)

MAILS ?=
example-mail: setup $(VENV)/spark.stamp ## Prices out of mails; make example-mail MAILS=/some/folder, or =FILE.mbox
	PYTHONPATH=examples $(BIN)/python -m mail $(MAILS)

example-logs: setup $(VENV)/spark.stamp ## Logs, page views, metrics: Spark counts errors, and alerts are held to the truth
	PYTHONPATH=examples $(BIN)/python -m logs

serve: setup ## A broker on 127.0.0.1:9092 with its data in ./streamlog-data, until Ctrl-C
	@exec $(BIN)/python -m streamlog.broker

build: ## Builds the release binary, target/release/streamlog
	cargo build --release --locked --features cli --bin streamlog

# All layers public, and everything that stands on them, but for Python's module.
LAYERS := arrow,cli,internals
EXAMPLES := target/examples
check: setup $(VENV)/spark.stamp ## Format, lints, types, the stub and the rules of the house (under a minute when warm)
	cargo fmt --check
	cargo clippy --locked --all-targets --all-features -- -D warnings
	cargo clippy --locked --features python -- -A clippy::all -A clippy::pedantic -D warnings
	ruff format --check --quiet .
	ruff check --quiet .
	PYTHONPATH=tests python -m pages.typed $(EXAMPLES)
	mypy
	mypy $(EXAMPLES)
	basedpyright
	stubtest --mypy-config-file pyproject.toml streamlog._core
	pytest --quiet tests/tidy

BENCH ?=
bench: setup ## Measures broker and clients beside gates; make bench BENCH="--rounds 9 --json FILE growth"
	cargo build --release --locked --features cli,internals --bin streamlog --example client \
	  --example inside
	cargo build --manifest-path bench/Cargo.toml --locked --release
	python bench/suite.py $(BENCH)

docs: $(VENV)/spark.stamp ## The pages as a site, target/docs/html, and the Rust API, target/doc; a broken link fails
	sphinx-build -q -W --keep-going -d target/docs/doctrees docs target/docs/html
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --features arrow,broker --quiet

bench-python: setup ## The Python client beside those of others, at one broker
	PYTHONPATH=bench pytest bench/python --benchmark-only --benchmark-columns=median,iqr,rounds --benchmark-sort=name

SPARK ?=
bench-spark: setup $(VENV)/spark.stamp ## Spark beside its ceiling and Kafka's connector; SPARK="--rows 1000000"
	PYTHONPATH=bench:tests python -m on_spark $(SPARK)
	python bench/on_spark/offline.py

check-bench: ## The bench: its format and lints, and one short round of ruler and spike
	cargo fmt --manifest-path bench/Cargo.toml --check
	cargo clippy --manifest-path bench/Cargo.toml --locked --release -- -D warnings
	cargo build --manifest-path bench/Cargo.toml --locked --release
	$(PYTHON) bench/rounds.py --rounds 1 inline queued yielding

check-trace: setup ## What a broker asks of the kernel, by strace (installed if it is missing)
	@command -v strace >/dev/null || (apt-get update -qq && apt-get install -y -qq strace) >/dev/null
	pytest tests/py/faults/traced.py

check-deps: $(CARGO_DENY) ## Licences, duplicates and sources of all dependencies
	$(CARGO_DENY) --locked --all-features check licenses bans sources

$(CARGO_DENY):
	cargo install cargo-deny --version $(CARGO_DENY_VERSION) --locked --debug --quiet \
	  --target-dir target/tools/build --root target/tools
	rm -rf target/tools/build

fix: $(VENV)/tools.stamp ## Formats, and repairs what the linters can repair
	cargo fmt
	cargo fmt --manifest-path bench/Cargo.toml
	ruff format --quiet .
	ruff check --fix --quiet .
	ruff format --quiet .

TIME ?= 60
fuzz: ## Random bytes for every decoder, TIME=60 seconds each; a panic prints seed and input
	STREAMLOG_FUZZ_SECONDS=$(TIME) cargo test --locked --features $(LAYERS) --test it fuzzing:: -- --nocapture

settings-page: ## Makes docs/configuration.md anew from the rows of all settings
	STREAMLOG_WRITE_PAGES=1 cargo test --locked --features $(LAYERS) --quiet --lib broker::settings::page

lock: $(VENV)/tools.stamp ## Pins requirements/*.in anew as requirements/*.txt
	uv pip compile --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --quiet --output-file requirements/dev.txt requirements/dev.in
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

test: check docs ## All checks, then the Rust and the Python tests (sets everything up)
	cargo test --locked --features $(LAYERS)
	rm -rf target/embedded && cargo run --quiet --locked --example embedded target/embedded
	pytest tests/py tests/interop tests/pages tests/port
	$(MAKE) --no-print-directory test-spark

test-disks: setup ## The long forms of what disks do to a broker: 90 fills of each file system, every bit
	STREAMLOG_FILLS=6 cargo test --locked --features $(LAYERS) --test it full_disk:: -- --nocapture
	STREAMLOG_EVERY_BIT=1 cargo test --locked --features $(LAYERS) --lib every_bit
	STREAMLOG_EVERY_BIT=1 cargo test --locked --features $(LAYERS) --test it disks::small_files
	STREAMLOG_FLIPS=all pytest -s tests/py/faults/flipped.py

# Each of the two mostly waits, for processes to start and for time to pass.
test-spark: ## The tests on Spark, as two runs side by side; each is shown when it is over
	$(MAKE) --no-print-directory --jobs=2 --output-sync spark-shared spark-apart

spark-shared: setup $(VENV)/spark.stamp ## Of test-spark: those on the session that they share
	pytest --quiet -m shared tests/spark

spark-apart: setup $(VENV)/spark.stamp ## Of test-spark: those that start all that they need, and those without Spark
	pytest --quiet -m "not shared" tests/spark

test-all: test ## All of .ci/run (dependencies, bench, system calls, Apache Kafka, all clients), test-disks and packages
	$(MAKE) $$(awk '!/^#/ && NF { print $$3 }' .ci/lanes) test-disks packages

CLIENTS ?= all
interop: setup ## Every client, each against the others, and Apache's tools; CLIENTS=go,apache for some
	$(MAKE) --no-print-directory -C tests/interop/drivers
	pytest tests/interop --clients $(CLIENTS)

differential: setup ## The same requests to Apache Kafka and to streamlog, the answers compared
	$(MAKE) --no-print-directory -C tests/differential
	pytest tests/differential

compatibility: setup ## Tries all clients and writes what came of it to docs/compatibility.md
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
wheels: $(VENV)/tools.stamp ## Wheels for manylinux and musllinux, x86_64 and aarch64, and the sdist
	pip install --quiet --require-hashes --only-binary :all: -r requirements/packages.txt
	rustup --quiet target add $(MUSL) $(AARCH64) $(AARCH64_MUSL)
	rm -rf $(PACKAGES)
	$(WHEEL) --compatibility manylinux2014
	$(WHEEL) --compatibility manylinux2014 --target $(AARCH64)
	$(WHEEL) --compatibility musllinux_1_2 --target $(MUSL)
	$(WHEEL) --compatibility musllinux_1_2 --target $(AARCH64_MUSL)
	maturin sdist --out $(PACKAGES)

EMULATED := target/aarch64/python
$(EMULATED): tests/packages/aarch64.sh
	rm -rf $(@D)
	tests/packages/aarch64.sh $(@D)

packages: wheels $(EMULATED) ## Makes the wheels, and tries them: aarch64's on an emulator
	pytest tests/packages

clean: ## Removes everything that was built, .venv included
	rm -rf $(VENV) target bench/target .mypy_cache .ruff_cache .pytest_cache
