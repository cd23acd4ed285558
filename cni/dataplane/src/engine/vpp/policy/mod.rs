//! Access lists by which VPP enforces policies (the ACL plugin), on what comes from a port (input)
//! and on what goes to it (output).
//!
//! - [`rule_set`], [`rules`]: from policies to the rules of a port. No IO;
//! - [`limits`]: what is too much. No IO;
//! - [`memory`]: what ports had before, which a change depends on. No IO;
//! - `plan`: from what VPP has to what changes. No IO;
//! - [`ports`]: the ports of pods in bridge domains of networks (IO);
//! - [`enforce()`]: changes access lists, and reads them again (IO);
//! - `close`: a new port has access lists before it is up (IO);
//! - `own_lists`: the access lists of ports that are deleted (IO);
//! - [`sessions`]: how many sessions there are and may be (IO).
//!
//! Access lists of usnet have a tag; those of others are only read. On a port with policies usnet
//! has the lists alone. VPP deletes none that is used, so that one that several ports share can be
//! deleted with any of them.

mod close;
mod enforce;
pub mod limits;
pub mod memory;
mod own_lists;
mod plan;
pub mod ports;
pub mod rule_set;
pub mod rules;
pub mod sessions;
#[cfg(test)]
mod tests;

pub(super) use close::{ClosedTickets, ListTicket, close_new};
pub use enforce::{Enforced, PortPolicy, enforce};
pub(super) use own_lists::read_own_lists;

use usnet_vpp::messages::{AclAddReplace, L2FlagsGet};
use usnet_vpp::wire::FixedText;
use usnet_vpp::{Api, Message as _};

/// The tag of access lists of usnet.
pub const TAG: &str = "usnet:policy";

fn tag() -> FixedText<64> {
    // It is short enough.
    FixedText::new(TAG).unwrap_or_default()
}

/// Why this VPP cannot enforce policies: it lacks the plugin, or does not tell whether packets are
/// compared with access lists.
pub fn unenforceable(api: &impl Api) -> Option<String> {
    if !api.supports::<AclAddReplace>() {
        return Some(format!(
            "VPP does not know the message {}: load acl_plugin.so in its startup.conf",
            AclAddReplace::NAME
        ));
    }
    (!api.supports::<L2FlagsGet>())
        .then(|| format!("VPP does not know the message {}: policies need VPP 26.06", L2FlagsGet::NAME))
}
