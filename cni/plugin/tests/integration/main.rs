//! Tests of the plugin's program with real components: Open vSwitch with DPDK, VPP, host-local,
//! bind mounts. They need root.
//!
//! - `protocol`: the CNI specification's rules for calls, verbs and names.
//! - `attachment`: what ADD creates and DEL removes, for each kind of request and of port.
//! - `multi_network`: several networks in one call, without Multus.
//! - `faults`: calls that fail, are killed or run concurrently; hostile pods.
//! - `legacy`: configurations, files and attachments of Intel's userspace CNI.
//! - `node_files`: golden files of everything on a node.
//! - `vpp`: port types and failures that only VPP has.
//! - `malformed`: generated input for the parsers and for the program.
//! - `cost`: how many system calls ADD and DEL make.
//! - `dependencies`: the packages that are linked into the program.

#![cfg(test)]

mod attachment;
mod cost;
mod dependencies;
mod faults;
mod legacy;
mod malformed;
mod multi_network;
mod node_files;
mod protocol;
mod support;
mod vpp;
