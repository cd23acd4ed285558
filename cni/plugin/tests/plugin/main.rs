//! The plugin as a program, on real parts: Open vSwitch with DPDK, VPP, host-local, bind mounts. Needs root.

#![cfg(test)]

mod at_once;
mod attachment;
mod conformance;
mod fixed;
mod hostile_pod;
mod interrupted;
mod old_configurations;
mod protocol;
mod refusals;
mod support;
mod verbs;
mod veth;
mod vpp;
mod wishes;
