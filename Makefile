# What a person types. Each target sets up all that it needs; see README.md.

.PHONY: demo test unit-test screenshots world-test nightly versions upgrade-test life faults across real-nics engine-guest virtual-machines hot-plug resource-claims engines gitops fuzz lint docs bench shell crds image release release-test clean

# A cluster with a network and two pods whose packets are counted; nothing of it is left.
demo:
	USNET_PACKAGES=install e2e/world --nodes 2 -- e2e/scripts/demo

# All tests.
test: unit-test world-test

# Most tests wait for an engine to start: twice as many at once as there are cores keep the cores busy.
unit-test: setup
	USNET_TOOLS=$$(e2e/tools/build) RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$(($$(nproc) * 2))} cargo test --workspace

# The pages of `kubectl usnet report` and `graph` of a small and of a large cluster, in a browser: screenshots/*.png, to look at.
screenshots: setup
	USNET_SCREENSHOTS=$(CURDIR)/screenshots cargo test -p usnet-kubectl --lib browser -- --nocapture

# The test bed itself, all cluster tests in it, and one of `make real-nics`: once more if it fails, because a guest without KVM has been seen to
# hang at its start.
world-test: setup
	cargo test --workspace --features usnet-e2e/world --test world
	e2e/scripts/cluster-tests
	USNET_REAL_NICS_FRAMES=2000 timeout 400 e2e/scripts/real-nics open_vswitch_carries_all_frames_over_e1000e_by_a_packet_socket || \
	  USNET_REAL_NICS_FRAMES=2000 timeout 400 e2e/scripts/real-nics open_vswitch_carries_all_frames_over_e1000e_by_a_packet_socket

# The long tests, which `make test` leaves out; docs/decisions/0103-long-tests-run-nightly.md says why these.
nightly: setup
	cargo test --workspace --features usnet-e2e/world --test contract -- --ignored
	cargo test --workspace --features usnet-e2e/world --test integration -- --ignored before_each_system_call
	cargo test --workspace --features usnet-e2e/world --test agent -- --ignored killed_twenty_times
	USNET_FAST_PATH_SECONDS=600 cargo test --workspace --features usnet-e2e/world --test agent -- --nocapture tcp_and_udp_do_not_stall
	e2e/scripts/cluster-tests --long

# A long soak test of USNET_LIFE_STEPS steps (default 2500), where `make test` has a short one; USNET_LIFE_SEED repeats a run.
life: setup
	e2e/scripts/long-test life

# Each part is killed or broken under traffic, USNET_FAULT_ROUNDS times (default 3), and the packets are counted (docs/faults.md); then each
# engine is killed USNET_RESTARTS times (default 200) below an agent. `make nightly` has a short form of the first, `make test` of the second.
faults: setup
	e2e/scripts/long-test faults

# Networks across three nodes: broadcasts counted one by one, faults under traffic, addresses; tables at the end. `make test` has a short form.
across: setup
	e2e/scripts/across $(TESTS)

# Uplinks on real NICs, which QEMU emulates (e1000e, igb, virtio-net), between two virtual machines that are nodes: frames counted one by one, TCP,
# cables that are cut; tables at the end. TESTS=virtio runs the tests with that in their names. `make test` has one of them.
real-nics: setup
	e2e/scripts/real-nics $(TESTS)

# An engine that usnet runs on a node that is a virtual machine, whose kubelet gives it hugepages and CPUs; five to fifteen minutes, by
# what else the machine does. It is not in `make test`.
engine-guest: setup
	e2e/scripts/engine-guest

# Virtual machines under QEMU on both engines: USNET_VM_ROUNDS (default 5) restarts of engines, removed ports and live migrations, with tables
# of the figures. `make test` has one round.
virtual-machines: setup
	e2e/scripts/long-test virtual-machines

# Interfaces plugged into running pods and unplugged, USNET_HOT_PLUG_CYCLES times (default 100) for each type of port of each engine by Multus' daemon
# (docs/hot-plug-multus.md), and by UserspaceAttachments (docs/hot-plug.md). USNET_DYNAMIC_NETWORKS names the program of
# multus-dynamic-networks-controller; without it a stand-in is used, as in `make test`, which has a short form of both.
hot-plug: setup
	e2e/scripts/long-test hot-plug

# Resource claims (docs/resource-claims.md), with the figures of ten pods that start at once and of a node without agent.
# USNET_KUBERNETES=1.34 for a Kubernetes without shared devices.
resource-claims: setup
	e2e/scripts/long-test resource-claims

# Engines that usnet runs (docs/engines.md) on three nodes: updates forth and back under traffic, what is set up wrongly, a process that hangs.
# USNET_VPP for VPP, too. `make test` has two nodes.
engines: setup
	e2e/scripts/long-test engines

# Networks, and usnet itself, delivered by Flux, Argo CD and Helm, changed, removed and put back, with tables (docs/gitops.md). `make nightly`
# has the part of Flux.
gitops:
	e2e/scripts/setup --gitops
	e2e/scripts/gitops $(TESTS)

# Malformed inputs for each parser, USNET_FUZZ_SECONDS for each of six programs, an hour in all, where `make test` has seconds; USNET_FUZZ_SEED selects others.
fuzz:
	USNET_FUZZ_SECONDS=$${USNET_FUZZ_SECONDS:-600} cargo test --profile fuzz -p usnet-ovsdb -p usnet-openflow -p usnet-vpp -p usnet-crds -p usnet-dataplane -p usnet-plugin \
	  --test integration -- --nocapture malformed::

# A short set of tests with each version of Open vSwitch and DPDK (from releases of Debian), Kubernetes and containerd that users have, and a
# table of it; then what is behind the newest versions. ROWS="trixie kubernetes-1.34" runs some (e2e/scripts/versions). Each row takes three
# minutes at most, and what it needs is built before: about ten minutes for a Kubernetes. It is not in `make test`.
versions: setup
	e2e/scripts/versions

# Agent and plugin of USNET_PREVIOUS=REVISION (default: the commit before this one) are replaced by this version's under running pods, and back.
upgrade-test: setup
	e2e/scripts/upgrade-test

# Words, comments, links, the site, format, lints, the documentation of the code, and what it depends on.
lint:
	.ci/check-words
	.ci/check-comments
	.ci/check-links
	docs/site/build --quiet
	.ci/check-dependencies
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	@# Naming `--examples`, of which there are none, chooses the features of dependencies that clippy has, so that they are not checked again.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --document-private-items --lib --bins --examples

# README and docs/ as a site with search, in target/docs.
docs:
	docs/site/build

# PART=speed: the plugin, or with one engine PART=ovs, PART=vpp (docs/performance.md). PART=bulk: the agent with a thousand networks. PART=across: packets between two nodes, and a thousand overlays. PART=datapath: packets with guards and policies. PART=checks: what these add to ADD. PART=ideal: ADD and DEL beside the least that a program with the same promises can do. PART=policies: the controller of policies with 10,000 pods of which 20 start in a second; USNET_SCALE=policies@50 for more. PART=scale: the control plane with many nodes and networks; USNET_SCALE=full for the largest sizes.
bench: setup
	e2e/scripts/bench $(PART)

# A shell in a cluster of two nodes.
shell:
	@cat e2e/scripts/shell.txt
	USNET_PACKAGES=install e2e/world --nodes 2 -- "$${SHELL:-/bin/sh}"

# The images as archives, dist/usnet-VERSION-oci.tar and that of the test program; IMAGE=registry.example/usnet names them. No container
# engine is needed.
image:
	e2e/scripts/release image

# All files of a release, in dist/ (docs/install.md). URL=https://… is where they will be published.
release: setup
	e2e/scripts/release all

# Two releases, built in two places, have the same bytes; the chart is what kustomize makes of config/; both are installed, upgraded and
# removed in a test bed that runs the released image.
release-test: setup
	e2e/scripts/release-test

# The CRDs in config/crd, docs/reference.md, and errors and reasons in docs/errors.md, from crds.
crds:
	$$(e2e/build-static testbed)/crdgen

# What the targets above need of this machine: Debian packages, and the Go programs of a cluster.
.PHONY: setup
setup:
	@e2e/scripts/setup

# What was built here; programs in ~/.cache/usnet stay.
clean:
	cargo clean
	rm -rf e2e/world.failed
