//! The names of the images of a test bed.

/// The pause container of pods.
pub const PAUSE_IMAGE: &str = "pause:e2e";

/// busybox: a shell and common tools.
pub const BUSYBOX_IMAGE: &str = "busybox:e2e";

/// dpdk-testpmd with the drivers for vhost-user and memif, and busybox.
pub const TESTPMD_IMAGE: &str = "testpmd:e2e";

/// usnet: only the two static binaries.
pub const USNET_IMAGE: &str = "usnet:e2e";

/// The test program, by the name in the samples.
pub const TOOLS_IMAGE: &str = concat!("usnet-tools:", env!("CARGO_PKG_VERSION"));

/// QEMU and a guest, for tests of virtual machines.
pub const VIRTUAL_MACHINE_IMAGE: &str = "virtual-machine:e2e";

/// Open vSwitch with DPDK as `make image` writes it, with fewer drivers.
pub const OPENVSWITCH_IMAGE: &str = "openvswitch:e2e";

/// The VPP of this machine, for engines that usnet runs.
pub const VPP_IMAGE: &str = "vpp:e2e";
