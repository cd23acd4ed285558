//! Tests of the plugin's program with real components: Open vSwitch with DPDK, VPP, host-local,
//! bind mounts. Needs root.

#![cfg(test)]

mod attachment;
mod concurrent;
mod conformance;
mod defects;
mod devices;
mod dhcp;
mod disk;
mod failures;
mod hostile_pod;
mod interrupted;
mod invalid_names;
mod legacy_configurations;
mod legacy_handoff;
mod legacy_shared_dir;
mod legacy_state;
mod multi_network;
mod node_files;
mod protocol;
mod requested;
mod static_ips;
mod support;
mod verbs;
mod veth;
mod vpp;
