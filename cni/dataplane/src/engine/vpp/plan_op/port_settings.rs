//! What can be changed on a port that is in its place.

use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::qos::{LimitSupport, policer_commands};
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::model::port::{PortName, PortSettings};
use crate::model::tagging::Tagging;
use usnet_crds::{Vlan, VlanTag};

/// Commands for settings that differ, including the admin state.
pub(super) fn configure(
    snapshot: &VppSnapshot,
    (index, interface): (u32, &Interface),
    port: &PortName,
    settings: &PortSettings,
) -> Vec<VppCommand> {
    let mtu =
        (interface.mtu != u32::from(settings.mtu.get())).then_some(VppCommand::SetMtu { index, mtu: settings.mtu });
    let is_tagged = interface.tagging == Tagging::from(settings.vlan.clone());
    let vlan = if is_tagged { Vec::new() } else { vlan_commands(index, settings.vlan.as_ref()) };
    let limits = policer_commands(&snapshot.policers, port, &settings.rate_limit, (index, interface.policed));
    let routes = snapshot.routing.route_changes(index, &settings.routed).into_iter().map(VppCommand::Routing);
    let set_admin_up = (!interface.is_enabled).then_some(VppCommand::SetAdminUp { index });
    mtu.into_iter().chain(vlan).chain(limits).chain(routes).chain(set_admin_up).collect()
}

/// The rewrite is set only while the filter is, because VPP always reports the rewrite, but the
/// filter only since 26.06.
pub(in crate::engine::vpp) fn vlan_commands(index: u32, vlan: Option<&Vlan>) -> Vec<VppCommand> {
    match vlan.and_then(access) {
        Some(tag) => {
            vec![VppCommand::SetEfpFilter { index, is_on: true }, VppCommand::SetVlan { index, vlan: Some(tag) }]
        }
        None => vec![VppCommand::SetVlan { index, vlan: None }, VppCommand::SetEfpFilter { index, is_on: false }],
    }
}

const fn access(vlan: &Vlan) -> Option<VlanTag> {
    match vlan {
        Vlan::Access { tag } => Some(*tag),
        Vlan::Trunk { .. } | Vlan::NativeTagged { .. } | Vlan::NativeUntagged { .. } => None,
    }
}

/// Refuses what this VPP, or any VPP, cannot do.
pub(super) fn check(port: &PortName, settings: &PortSettings, support: LimitSupport) -> Result<(), OpError> {
    let is_trunk = settings.vlan.as_ref().is_some_and(|vlan| access(vlan).is_none());
    // The API server and the controller refuse it before.
    let trunk = is_trunk.then(|| "a port of VPP has only one VLAN: use the VLAN mode Access".to_owned());
    match trunk.or_else(|| support.refusal(&settings.rate_limit)) {
        Some(reason) => Err(OpError::Refused { what: format!("port {port}"), reason }),
        None => Ok(()),
    }
}
