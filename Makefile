# What a person types. Each target sets up all that it needs; see README.md.

.PHONY: demo test unit-test world-test upgrade-test life faults across virtual-machines hot-plug resource-claims gitops fuzz lint bench shell crds image release release-test clean

demo:
	USNET_PACKAGES=install e2e/world --nodes 2 -- e2e/scripts/demo

test: unit-test world-test

# Most tests wait for an engine to start: twice as many at once as there are cores keep the cores busy.
unit-test: setup
	USNET_TOOLS=$$(e2e/tools/build) RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) * 2))} cargo test --workspace

world-test: setup
	cargo test --workspace --features usnet-e2e/world --test world
	e2e/scripts/cluster-tests

# A long soak test, where `make test` has a short one; USNET_LIFE_SEED repeats a run.
life: setup
	USNET_LIFE_STEPS=$${USNET_LIFE_STEPS:-2500} e2e/world --nodes 2 -- \
	  cargo test --workspace --features usnet-e2e/world --test cluster -- --nocapture soak::

# Each part is killed or broken under traffic, USNET_FAULT_ROUNDS times, and the packets are counted (docs/faults.md); then each engine is killed
# USNET_RESTARTS times below an agent. `make test` has a short form of both.
faults: setup
	USNET_FAULT_ROUNDS=$${USNET_FAULT_ROUNDS:-3} e2e/world --nodes 2 -- \
	  cargo test --workspace --features usnet-e2e/world --test cluster -- --nocapture faults::
	USNET_RESTARTS=$${USNET_RESTARTS:-200} cargo test -p usnet-operator --test agent -- --nocapture --test-threads=1 restarts::

# Networks across three nodes: broadcasts counted one by one, faults under traffic, addresses; tables at the end. `make test` has a short form.
across: setup
	e2e/scripts/across $(TESTS)

# Virtual machines under QEMU on both engines: USNET_VM_ROUNDS restarts of engines, removed ports and live migrations, with tables of the
# figures. `make test` has one round.
virtual-machines: setup
	USNET_VM_ROUNDS=$${USNET_VM_ROUNDS:-5} e2e/world --nodes 2 -- \
	  cargo test --workspace --features usnet-e2e/world --test cluster -- --nocapture --test-threads=1 virtual_machines::

# Interfaces plugged into running pods and unplugged, USNET_HOT_PLUG_CYCLES times for each type of port of each engine by Multus' daemon
# (docs/hot-plug-multus.md), and by UserspaceAttachments (docs/hot-plug.md). USNET_DYNAMIC_NETWORKS names the program of
# multus-dynamic-networks-controller; without it a stand-in is used, as in `make test`, which has a short form of both.
hot-plug: setup
	USNET_HOT_PLUG_CYCLES=$${USNET_HOT_PLUG_CYCLES:-100} e2e/world --nodes 2 -- \
	  cargo test --workspace --features usnet-e2e/world --test cluster -- --nocapture --test-threads=1 pods::hot_plug:: pods::attachments::

# Resource claims (docs/resource-claims.md), with the figures of ten pods that start at once and of a node without agent.
# USNET_KUBERNETES=1.34 for a Kubernetes without shared devices.
resource-claims: setup
	USNET_CLAIM_SPEED=1 e2e/world --nodes 2 $${USNET_KUBERNETES:+--kubernetes $$USNET_KUBERNETES} -- \
	  cargo test --workspace --features usnet-e2e/world --test cluster -- --nocapture --test-threads=1 resource_claims::

# Networks, and usnet itself, delivered by Flux, Argo CD and Helm, changed, removed and put back, with tables (docs/gitops.md). `make test` has
# the part of Flux.
gitops:
	e2e/scripts/setup --gitops
	e2e/scripts/gitops $(TESTS)

# Malformed inputs for each parser, USNET_FUZZ_SECONDS for each of five programs, an hour in all, where `make test` has seconds; USNET_FUZZ_SEED selects others.
fuzz:
	USNET_FUZZ_SECONDS=$${USNET_FUZZ_SECONDS:-720} cargo test --profile fuzz -p usnet-ovsdb -p usnet-vpp -p usnet-crds -p usnet-dataplane -p usnet-plugin \
	  --test malformed -- --nocapture

# Agent and plugin of USNET_PREVIOUS=REVISION (default: the commit before this one) are replaced by this version's under running pods, and back.
upgrade-test: setup
	e2e/scripts/upgrade-test

lint:
	.ci/check-words
	.ci/check-comments
	.ci/check-links
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	if command -v cargo-deny >/dev/null; then cargo deny check; fi

# PART=speed: the plugin, or with one engine PART=ovs, PART=vpp (docs/performance.md). PART=bulk: the agent with a thousand networks. PART=across: packets between two nodes, and a thousand overlays. PART=scale: the control plane with many nodes and networks; USNET_SCALE=full for the largest sizes.
bench: setup
	e2e/scripts/bench $(PART)

shell:
	@cat e2e/scripts/shell.txt
	USNET_PACKAGES=install e2e/world --nodes 2 -- "$${SHELL:-/bin/sh}"

# The images as archives, dist/usnet-VERSION-oci.tar and that of the test program; IMAGE=registry.example/usnet names them. No container engine is needed.
image:
	e2e/scripts/release image

# All files of a release, in dist/ (docs/install.md).
release: setup
	e2e/scripts/release all

# Two releases, built in two places, have the same bytes; the chart is what kustomize makes of config/; both are installed, upgraded and
# removed in a test bed that runs the released image.
release-test: setup
	e2e/scripts/release-test

crds:
	cargo run -q -p usnet-crds --bin crdgen

.PHONY: setup
setup:
	@e2e/scripts/setup

clean:
	cargo clean
	rm -rf e2e/world.failed
