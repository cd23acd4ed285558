//! Machines: nodes with real NICs, which are virtual machines of QEMU with the root of this one.
//! A test bed in namespaces has veth pairs, which no driver of DPDK, no receive offload and no PCI
//! address can be tested on.
//!
//! - [`packages`]: QEMU and the kernel, as `e2e/tools/machines` gets them; [`model`]: what QEMU
//!   emulates;
//! - [`command_line`], [`initramfs`]: what a machine is made of, and what it starts with;
//! - [`machine`]: a running machine, and [`pair`]: two of them that are connected;
//! - [`channel`]: commands in a machine; [`qmp`]: QEMU itself; [`wire`]: faults of cables and NICs;
//! - [`measure`], [`datagrams`]: the program that counts frames in machines; [`processors`]: what
//!   their processors did meanwhile;
//! - [`arguments`]: the command line of `e2e/machines`, for use by hand.

pub mod arguments;
pub mod channel;
pub mod command_line;
pub mod datagrams;
pub mod initramfs;
pub mod machine;
pub mod measure;
pub mod model;
pub mod packages;
pub mod pair;
pub mod processors;
pub mod qmp;
pub mod wire;
