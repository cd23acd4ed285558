//! NICs of the node, which uplinks have. They belong to the node: usnet reads them, and sets those
//! up that the node does not use itself. While an engine has a NIC it merges no received packets,
//! and with VPP takes frames to any address. No IO.

mod bonds;
mod dpdk;
mod find;
mod model;
mod offloads;
mod resolve;
mod resolved_uplink;
#[cfg(test)]
mod tests;

pub use model::{
    JoinedNic, KernelNic, NicBlocker, NodeNics, NodeUse, ObservedNic, ObservedNics, ReleasedNic, ResolvedNic,
};
pub use offloads::{ObservedOffloads, ReceiveOffload};
pub use resolve::{described, resolve};
pub use resolved_uplink::{ResolvedMember, ResolvedUplink, UplinkRequest};

use super::LinkError;
use usnet_crds::InterfaceAddress;

/// The NICs of a node.
pub trait Nics {
    /// Reads all of them.
    ///
    /// # Errors
    /// Something could not be read. It never looks like a node without NICs.
    fn observe_nics(&mut self) -> Result<ObservedNics, LinkError>;

    /// Reads what merges packets that one receives. A kernel or a device without such features has
    /// none.
    fn receive_offloads(&mut self, index: u32) -> Result<ObservedOffloads, LinkError>;

    /// Reads on how many queues one receives: 1 where its driver does not say.
    fn receive_queues(&mut self, index: u32) -> Result<u32, LinkError>;

    /// Removes an XDP program from one.
    fn remove_program(&mut self, index: u32) -> Result<(), LinkError>;

    /// Switches one of these on or off. The driver may refuse without an error.
    fn set_receive_offload(&mut self, index: u32, offload: ReceiveOffload, is_on: bool) -> Result<(), LinkError>;

    /// Sets one up.
    fn set_nic_up(&mut self, index: u32) -> Result<(), LinkError>;

    /// Gives a device of usnet an address, or takes it away. That it is so already is no error.
    fn set_address(&mut self, index: u32, address: InterfaceAddress, is_present: bool) -> Result<(), LinkError>;

    /// Gives a NIC its name back. One that is up is set down for it.
    fn rename_nic(&mut self, index: u32, name: &str) -> Result<(), LinkError>;

    /// Lets one take frames to any address, or not any more.
    fn set_nic_promiscuous(&mut self, index: u32, is_promiscuous: bool) -> Result<(), LinkError>;
}
