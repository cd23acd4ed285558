//! Rules on settings by engine and port type. Each has the message of the matching problem in
//! `validate`.

use super::rule;
use crate::limits::{MAC_AGE_OVS, MAC_AGE_VPP};
use crate::names::VPP_NETWORK_NAME_MAX;
use crate::validate::Problem;
use kube::core::Rule;

/// The type of the ports, with the default that depends on the engine.
const PORT_TYPE: &str = "(has(self.port.type) ? self.port.type : self.engine == 'VPP' ? 'Memif' : 'VhostUser')";

fn at(field: &str, expression: impl Into<String>, problem: &Problem) -> Rule {
    rule(expression, problem.to_string()).field_path(field)
}

/// VPP would truncate the tag that contains the name.
pub(crate) fn vpp_network_name() -> Rule {
    rule(
        format!("self.spec.engine != 'VPP' || size(self.metadata.name) <= {VPP_NETWORK_NAME_MAX}"),
        format!(
            "metadata.name is too long for VPP, which keeps it in the tag of a bridge domain: use at most {VPP_NETWORK_NAME_MAX} characters"
        ),
    )
}

pub(crate) fn bridge_name_with_vpp() -> Rule {
    at(".bridge.name", "self.engine != 'VPP' || !has(self.bridge.name)", &Problem::BridgeNameWithVpp)
}

pub(crate) fn bridge_id_with_ovs() -> Rule {
    at(".bridge.id", "self.engine != 'OVS' || !has(self.bridge.id)", &Problem::BridgeIdWithOvs)
}

pub(crate) fn adopted_without_name() -> Rule {
    let is_named = "self.bridge.ownership != 'Adopted' || has(self.bridge.name)";
    at(".bridge.name", format!("self.engine != 'OVS' || {is_named}"), &Problem::AdoptedWithoutName)
}

pub(crate) fn adopted_without_id() -> Rule {
    let is_named = "self.bridge.ownership != 'Adopted' || has(self.bridge.id)";
    at(".bridge.id", format!("self.engine != 'VPP' || {is_named}"), &Problem::AdoptedWithoutId)
}

pub(crate) fn mac_age_with_ovs() -> Rule {
    let (minimum, maximum) = MAC_AGE_OVS.into_inner();
    let fits = format!("self.bridge.macAgeSeconds >= {minimum} && self.bridge.macAgeSeconds <= {maximum}");
    at(".bridge.macAgeSeconds", format!("self.engine != 'OVS' || ({fits})"), &Problem::MacAgeWithOvs)
}

pub(crate) fn mac_age_with_vpp() -> Rule {
    let (minimum, maximum) = MAC_AGE_VPP.into_inner();
    let in_range = format!("self.bridge.macAgeSeconds >= {minimum} && self.bridge.macAgeSeconds <= {maximum}");
    let fits = format!("{in_range} && self.bridge.macAgeSeconds % {minimum} == 0");
    at(".bridge.macAgeSeconds", format!("self.engine != 'VPP' || ({fits})"), &Problem::MacAgeWithVpp)
}

pub(crate) fn memif_with_ovs() -> Rule {
    at(".port.type", format!("self.engine != 'OVS' || {PORT_TYPE} != 'Memif'"), &Problem::MemifWithOvs)
}

pub(crate) fn memif_with_its_type() -> Rule {
    at(".port.memif", format!("!has(self.port.memif) || {PORT_TYPE} == 'Memif'"), &Problem::OnlyForMemif)
}

pub(crate) fn vhost_user_with_its_type() -> Rule {
    at(
        ".port.vhostUser",
        format!("!has(self.port.vhostUser) || {PORT_TYPE} == 'VhostUser'"),
        &Problem::OnlyForVhostUser,
    )
}

pub(crate) fn engine_role_with_ovs() -> Rule {
    let is_server = "has(self.port.vhostUser) && self.port.vhostUser.engineRole == 'Server'";
    at(".port.vhostUser.engineRole", format!("self.engine != 'OVS' || !({is_server})"), &Problem::ServerWithOvs)
}

const OVS_VETH: &str = "self.engine == 'OVS' && has(self.port.type) && self.port.type == 'Veth'";

pub(crate) fn egress_of_veth_with_ovs() -> Rule {
    let is_limited = "has(self.port.rateLimit.egressKbps) && self.port.rateLimit.egressKbps > 0";
    at(".port.rateLimit.egressKbps", format!("!({OVS_VETH} && {is_limited})"), &Problem::EgressOfVethWithOvs)
}

pub(crate) fn fixed_egress_of_veth_with_ovs() -> Rule {
    let is_limited = "has(a.rateLimit) && has(a.rateLimit.egressKbps) && a.rateLimit.egressKbps > 0";
    let are_limited = format!("has(self.attachments) && self.attachments.exists(a, {is_limited})");
    at(".attachments", format!("!({OVS_VETH} && {are_limited})"), &Problem::EgressOfVethWithOvs)
}

pub(crate) fn trunk_with_vpp() -> Rule {
    let is_access = "!has(self.port.vlan) || self.port.vlan.mode == 'Access'";
    at(".port.vlan.mode", format!("self.engine != 'VPP' || {is_access}"), &Problem::TrunkWithVpp)
}

pub(crate) fn fixed_trunk_with_vpp() -> Rule {
    let are_access = "!has(self.attachments) || self.attachments.all(a, !has(a.vlan) || a.vlan.mode == 'Access')";
    at(".attachments", format!("self.engine != 'VPP' || {are_access}"), &Problem::TrunkWithVpp)
}

/// For the field `memif`.
pub(crate) fn memif_secret() -> Rule {
    at(".secret", "self.socket != 'Abstract' || self.secret != 'Generated'", &Problem::SecretWithoutVolume)
}
