//! The names of the images of a test bed.

/// What holds a pod's namespaces.
pub const PAUSE_IMAGE: &str = "pause:e2e";

/// A shell and the usual tools.
pub const BUSYBOX_IMAGE: &str = "busybox:e2e";

/// dpdk-testpmd with the drivers for vhost-user and memif, and busybox.
pub const TESTPMD_IMAGE: &str = "testpmd:e2e";

/// usnet: the two static binaries and nothing else.
pub const USNET_IMAGE: &str = "usnet:e2e";

/// The test program, by the name that samples have.
pub const TOOLS_IMAGE: &str = concat!("usnet-tools:", env!("CARGO_PKG_VERSION"));

/// QEMU and a guest, where a test needs them.
pub const VIRTUAL_MACHINE_IMAGE: &str = "virtual-machine:e2e";
