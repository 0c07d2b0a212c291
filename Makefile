# The one door: every task of the project is a target here.
#
# A fresh machine needs Rust (rustup picks the version of rust-toolchain.toml) and Python 3.10 or
# newer; everything else is installed by the targets.

CARGO ?= cargo
PYTHON ?= python3
VENV := .venv
EVEREDGE := target/release/everedge
PACKAGE := crates/everedge-python
EXTENSION := $(PACKAGE)/python/everedge/_native.abi3.so
WHEEL_TOOLS := target/wheel-tools

.PHONY: demo demo-cluster test test-rust test-python networkx extension wheel wheel-test lint ratios valgrind guide bench verify verify-cluster soak clean

# Builds, then shows the main job on real data and writes a report page.
demo: $(EVEREDGE)
	$(EVEREDGE) demo

# Builds, then shows a graph in shards on four workers of Dask on this machine, of which it kills two, and writes a page.
demo-cluster: $(VENV)/installed
	$(CARGO) build --release --package everedge-python
	cp target/release/libeveredge_python.so $(EXTENSION)
	PYTHONPATH=$(CURDIR)/$(PACKAGE)/python:$(CURDIR)/scripts $(VENV)/bin/python -m demo_cluster

$(EVEREDGE): FORCE
	$(CARGO) build --release --package everedge-cli

FORCE:

# Everything that a change must pass. The wheel, which is built anew as users get it, comes last.
test: lint test-rust test-python ratios guide wheel-test

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --workspace --no-deps --quiet

test-rust:
	$(CARGO) test --workspace --no-fail-fast

# The extension comes from the build of the tests: with all targets, cargo chooses the same
# features of the dependencies as for `cargo test`, and builds none of them twice.
extension:
	$(CARGO) build --workspace --all-targets
	cp target/debug/libeveredge_python.so $(EXTENSION)

test-python: extension $(VENV)/installed
	cd $(PACKAGE) && PYTHONPATH=$(CURDIR)/$(PACKAGE)/python $(CURDIR)/$(VENV)/bin/python -m pytest

# NetworkX's own tests, with all graphs converted and what the backend lacks left to NetworkX: ten minutes.
networkx: extension $(VENV)/installed
	$(VENV)/bin/python $(PACKAGE)/tests/entry_points.py target/networkx
	cd target/networkx && NETWORKX_TEST_BACKEND=everedge NETWORKX_FALLBACK_TO_NX=True \
		PYTHONPATH=$(CURDIR)/$(PACKAGE)/python:$(CURDIR)/target/networkx \
		$(CURDIR)/$(VENV)/bin/python -m pytest -p no:cacheprovider -q --pyargs networkx

$(VENV)/installed: crates/everedge-python/requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement $<
	touch $@

# A wheel for CPython 3.10 and newer on every Linux of this processor with glibc 2.28 or newer, in target/wheels. Zig
# compiles C and links for that glibc; maturin refuses a wheel that asks for a newer one.
wheel: $(WHEEL_TOOLS)/installed
	rm -rf target/wheels
	$(PYTHON) scripts/notices.py > $(PACKAGE)/THIRD-PARTY-NOTICES
	PATH="$(CURDIR)/$(WHEEL_TOOLS)/bin:$$PATH" maturin build --release --locked --quiet --zig \
		--compatibility manylinux_2_28 --manifest-path $(PACKAGE)/Cargo.toml --out target/wheels

# Installs the wheel in an environment of its own, and does there what the README does.
wheel-test: wheel
	$(PYTHON) $(PACKAGE)/tests/try_wheel.py target/wheels/*.whl

$(WHEEL_TOOLS)/installed: $(PACKAGE)/requirements-wheel.txt
	$(PYTHON) -m venv $(WHEEL_TOOLS)
	$(WHEEL_TOOLS)/bin/pip install --quiet --requirement $<
	touch $@

# The guide as a site, target/guide/index.html; a link that leads nowhere is an error. Its examples are tests
# of the package (`tests/test_guide.py`).
guide: $(VENV)/guide-installed
	$(VENV)/bin/python -m sphinx --fail-on-warning --quiet -d target/guide-doctrees docs/guide target/guide
	@echo "the guide: target/guide/index.html"

$(VENV)/guide-installed: docs/guide/requirements.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement $<
	touch $@

# Instructions of kernels, ingest and opening by those on a plain CSR, which a busy machine does not
# change: limits that a loop which is compiled worse does not keep.
ratios: extension valgrind
	@if command -v valgrind >/dev/null; then target/debug/examples/ratios; \
	else echo "ratios: not run, for there is no valgrind"; fi

valgrind:
	@command -v valgrind >/dev/null || apt-get install --yes --quiet valgrind >/dev/null 2>&1 \
	|| (apt-get update --quiet && apt-get install --yes --quiet valgrind) >/dev/null 2>&1 || true

# Measurements; half an hour. The machine should do nothing else.
bench: $(EVEREDGE)
	$(EVEREDGE) bench ingest --scale 20
	$(EVEREDGE) bench ingest --scale 22
	$(EVEREDGE) bench ingest --scale 20 --trials 1 --meter --on 2
	$(EVEREDGE) bench kernels --scale 20 --medium pmem --on 2
	$(EVEREDGE) bench delete --scale 20 --on 2
	$(EVEREDGE) bench recovery --scale 20 --on 2 --closed --early
	$(EVEREDGE) bench mixed --scale 20 --medium pmem --layout adjacency,pma,blocks --on 2
	$(EVEREDGE) bench dgap --scale 18
	$(EVEREDGE) bench pie --scale 18
	$(EVEREDGE) bench outofcore --scale 20

# The reliability checks at length; hours.
verify:
	EVEREDGE_EXPLORE_IMAGES=2000000 EVEREDGE_KILLS=10000 EVEREDGE_DAMAGE_STRIDE=1 \
		$(CARGO) test --release --package everedge-explorer --package everedge-chunks \
		--package everedge-cli -- --nocapture
	$(MAKE) verify-cluster

# Shards on workers of Dask: 200 runs with workers that are killed, and all real graphs on 2, 4 and 8 workers; an hour.
verify-cluster: extension $(VENV)/installed
	cd $(PACKAGE) && EVEREDGE_CLUSTER_KILLS=200 EVEREDGE_CLUSTER_WORKERS=2,4,8 \
		PYTHONPATH=$(CURDIR)/$(PACKAGE)/python $(CURDIR)/$(VENV)/bin/python -m pytest \
		tests/test_cluster.py tests/test_cluster_graphs.py

# Writers, readers, deletions and compaction at once: ten minutes.
soak:
	$(CARGO) test --release --package everedge-explorer --test it -- --ignored --nocapture soak

clean:
	$(CARGO) clean
	rm -rf $(VENV) $(EXTENSION) $(PACKAGE)/THIRD-PARTY-NOTICES demo-output bench-graphs
