//! NICs of the node, which uplinks have. They belong to the node: usnet reads them, and sets those
//! up that the node does not use itself. A NIC of VPP also has to take frames to any address while
//! VPP has it. No IO.

mod model;
mod resolve;
#[cfg(test)]
mod tests;

pub use model::{JoinedNic, NicBlocker, NodeUse, ObservedNic, ObservedNics};
pub use resolve::{ResolvedUplink, UplinkRequest, resolve};

use super::LinkError;
use usnet_crds::InterfaceAddress;

/// The NICs of a node.
pub trait Nics {
    /// Reads all of them.
    ///
    /// # Errors
    /// Something could not be read. It never looks like a node without NICs.
    fn observe_nics(&mut self) -> Result<ObservedNics, LinkError>;

    /// Sets one up.
    ///
    /// # Errors
    /// The kernel's error.
    fn set_nic_up(&mut self, index: u32) -> Result<(), LinkError>;

    /// Gives a device of usnet an address, or takes it away. That it is so already is no error.
    ///
    /// # Errors
    /// The kernel's error.
    fn set_address(&mut self, index: u32, address: InterfaceAddress, is_present: bool) -> Result<(), LinkError>;

    /// Lets one take frames to any address, or not any more.
    ///
    /// # Errors
    /// The kernel's error.
    fn set_nic_promiscuous(&mut self, index: u32, is_promiscuous: bool) -> Result<(), LinkError>;
}
