//! The Ethernet devices on the PCI bus of the node, and the drivers that have them. A NIC that an
//! engine drives itself has no device in the kernel: only here is to be seen what became of it.
//!
//! - [`model`]: what is read. No IO.
//! - [`Sysfs`]: reads and binds them (IO), by `/sys/bus/pci` (Linux,
//!   `Documentation/ABI/testing/sysfs-bus-pci`). [`PciMonitor`] waits for changes (IO).

mod model;
mod monitor;
mod sysfs;
#[cfg(test)]
mod tests;

pub use model::{GroupMember, ObservedPci, ObservedPciNic, PciBlocker};
pub use monitor::PciMonitor;
pub use sysfs::{PciError, Sysfs, VFIO_DRIVER};
