//! Uplinks of VPP.
//!
//! The NIC of an uplink is a host interface (af_packet) in no bridge domain. A network in a VLAN
//! has a sub-interface of it in its bridge domain, which removes and adds the tag. The network
//! without a VLAN has the interface of the NIC itself in its bridge domain, because VPP has no
//! sub-interfaces for untagged frames; a second sub-interface, which is down, then takes the frames
//! of all other VLANs, that the interface would have. It has the tag of that network, and stands
//! for its port.
//!
//! The interface of the NIC has the EFP filter in a bridge domain: without it, pods could send
//! frames into other VLANs. A sub-interface must not have it: the filter of VPP 26.06 takes what
//! follows the tag for a second one, looks behind the end of its table, and drops IP packets by
//! what is there. What a pod tags itself gets the tag of the VLAN as well, and so stays in it.
//!
//! The address of the node for overlays is on the interface of the NIC, or on a sub-interface with
//! the tag of the uplink (`underlay`).
//!
//! `sub_interface` and `command` have the messages, `read` performs IO, the others are pure.

mod command;
mod lookup;
mod observe;
mod plan;
mod read;
mod sub_interface;
mod underlay;

pub(super) use command::SubInterfaceCommand;
pub(super) use observe::{domain_of, is_enabled, tagging_of, taken_devices};
pub(super) use plan::{connect, join_nic, remove_connection, remove_nic};
pub(super) use read::read_addresses;
pub(super) use sub_interface::SubInterface;
pub(super) use underlay::{addresses, set_address};
