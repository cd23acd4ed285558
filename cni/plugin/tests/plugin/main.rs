//! The plugin as a program, on real parts: Open vSwitch with DPDK, host-local, bind mounts. Needs root.

#![cfg(test)]

mod attachment;
mod hostile_pod;
mod interrupted;
mod protocol;
mod refusals;
mod support;
