//! The settings of a port: how they are read, and the commands that set them.

use super::command::VppCommand;
use super::port_setting_command::PortSettingCommand;
use super::qos::{LimitSupport, policer_commands};
use super::snapshot::{Filter, Interface, VppSnapshot};
use crate::engine::error::OpError;
use crate::model::owner::Owner;
use crate::model::port::{DesiredSettings, ObservedSettings, PortMtu, PortName};
use crate::model::tagging::Tagging;
use usnet_crds::{Mtu, RateLimit, Vlan, VlanTag};

/// The settings of a port, given its interface.
pub(super) fn observe(snapshot: &VppSnapshot, interface: &Interface) -> ObservedSettings {
    ObservedSettings {
        // VPP has an MTU for each interface. Where the device has one, usnet asks for none.
        mtu: match &interface.owner {
            Some(Owner::Network(_) | Owner::Nic(_) | Owner::Patch(_) | Owner::Tunnel(_)) => None,
            Some(Owner::Attachment(_)) | None => Some(interface.mtu.into()),
        },
        tagging: snapshot.tagging_of(interface),
        rate_limit: match &interface.owner {
            Some(owner) => snapshot.policers.limits(&PortName::of_owner(owner), interface.policed),
            None => Some(RateLimit::default()),
        },
        routed: interface.routed.clone(),
        receive_queues: None,
        queues: interface.queues.observe(),
        guard: interface.filter.as_ref().and_then(Filter::guard),
        is_enabled: snapshot.is_enabled(interface),
    }
}

/// Commands for the settings of a new port that are set before it joins its bridge domain.
pub(super) fn set_before_joining(index: u32, settings: &DesiredSettings) -> Option<VppCommand> {
    mtu(settings).map(|mtu| PortSettingCommand::Mtu { index, mtu }.into())
}

/// Commands for the settings of a new port as a member of its bridge domain. A VLAN is set also if
/// there is none: a new interface inherits the rewrite of a previous one with the same index that
/// was in no bridge domain.
pub(super) fn set_as_member(index: u32, settings: &DesiredSettings) -> Vec<VppCommand> {
    vlan_commands(index, settings.tagging.as_ref().unwrap_or(&Tagging::Untagged))
}

/// Whether a member of a bridge domain with these settings has the filter.
pub(super) fn is_filtered(settings: &DesiredSettings) -> bool {
    settings.tagging.as_ref().is_some_and(|tagging| access(tagging).is_some())
}

/// The MTU that the interface of a port gets.
fn mtu(settings: &DesiredSettings) -> Option<Mtu> {
    match settings.mtu {
        PortMtu::Set(mtu) | PortMtu::OfDevice(mtu) => Some(mtu),
        PortMtu::Unmanaged => None,
    }
}

/// Commands for the settings of a port in its place that differ, including the admin state.
pub(super) fn configure(
    snapshot: &VppSnapshot,
    (index, interface): (u32, &Interface),
    port: &PortName,
    settings: &DesiredSettings,
) -> Vec<VppCommand> {
    // A new setting does not compile before it is handled here. The guard is set by commands that
    // depend on replies.
    let DesiredSettings { mtu: _, tagging, rate_limit, routed, receive_queues: _, queues, guard: _ } = settings;
    let differs = |mtu: &Mtu| interface.mtu != u32::from(mtu.get());
    let mtu = mtu(settings).filter(differs).map(|mtu| PortSettingCommand::Mtu { index, mtu }.into());
    let vlan = tagging.as_ref().filter(|tagging| interface.tagging != **tagging);
    let vlan = vlan.map(|tagging| vlan_commands(index, tagging)).unwrap_or_default();
    let limits = rate_limit
        .iter()
        .flat_map(|limit| policer_commands(&snapshot.policers, port, limit, (index, interface.policed)));
    let routes = snapshot.routing.route_changes(index, routed).into_iter().map(VppCommand::Routing);
    let queues = queues.iter().flat_map(|queues| interface.queues.configure(index, *queues));
    let set_admin_up = (!interface.is_enabled).then_some(VppCommand::SetAdminUp { index });
    mtu.into_iter().chain(vlan).chain(limits).chain(routes).chain(queues).chain(set_admin_up).collect()
}

/// The rewrite is set only while the filter is, because VPP always reports the rewrite, but the
/// filter only since 26.06.
fn vlan_commands(index: u32, tagging: &Tagging) -> Vec<VppCommand> {
    use PortSettingCommand::{EfpFilter, Vlan};
    match access(tagging) {
        Some(tag) => {
            vec![EfpFilter { index, is_on: true }.into(), Vlan { index, vlan: Some(tag) }.into()]
        }
        None => vec![Vlan { index, vlan: None }.into(), EfpFilter { index, is_on: false }.into()],
    }
}

/// The VLAN of an access port.
const fn access(tagging: &Tagging) -> Option<VlanTag> {
    match tagging {
        Tagging::Vlan(Vlan::Access { tag }) => Some(*tag),
        _ => None,
    }
}

/// Refuses what this VPP, or any VPP, cannot do.
pub(super) fn check(port: &PortName, settings: &DesiredSettings, support: LimitSupport) -> Result<(), OpError> {
    let is_trunk =
        settings.tagging.as_ref().is_some_and(|tagging| *tagging != Tagging::Untagged && access(tagging).is_none());
    // The API server and the controller refuse it before.
    let trunk = is_trunk.then(|| "a port of VPP has only one VLAN: use the VLAN mode Access".to_owned());
    match trunk.or_else(|| support.refusal(&settings.rate_limit.unwrap_or_default())) {
        Some(reason) => Err(OpError::Refused { what: format!("port {port}"), reason }),
        None => Ok(()),
    }
}
