//! Attachments: one interface of one pod, joined to a network.

mod id;
mod legacy_status;
mod record;

pub use id::{
    AttachmentId, CONTAINER_ID_MAX, ClaimUid, ContainerId, INTERFACE_NAME_MAX, InterfaceName, InvalidIdentifier, PodUid,
};
pub use legacy_status::LegacyInterfaceStatus;
pub(crate) use legacy_status::{BridgeEnd, End, Interface, Ip, IpResult, MemifEnd, VhostEnd};
pub use record::{Address, Pod, Progress, Record, needs_interface};
