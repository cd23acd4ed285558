//! The plugin as a program, on real parts: Open vSwitch with DPDK, VPP, host-local, bind mounts. Needs root.

#![cfg(test)]

mod at_once;
mod attachment;
mod chained;
mod conformance;
mod defects;
mod devices;
mod dhcp;
mod disk;
mod fixed;
mod hostile_pod;
mod hostile_words;
mod interrupted;
mod old_configurations;
mod old_hand_over;
mod old_shared_dir;
mod old_state;
mod protocol;
mod refusals;
mod support;
mod verbs;
mod veth;
mod vpp;
mod wishes;
