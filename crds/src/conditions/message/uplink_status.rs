//! Messages of the conditions of an uplink, and of networks that cannot have theirs, which the
//! controller writes. The latter begin with the end of the field that names the uplink.

use super::count;
use crate::{EngineKind, IpFamily, UplinkName, VlanRanges, VlanTag};

pub const SPEC_VALID: &str = "the spec breaks no rule, and no network uses a VLAN that is not in vlans";
pub const NO_NODES: &str = "no entry in nics is for a node of the cluster";
/// Most networks in one message.
const NETWORKS_MAX: usize = 10;

// Accepted of a network is False.

pub fn uplink_missing(uplink: &UplinkName) -> String {
    format!(".name: there is no UserspaceUplink {uplink}: create it, or name another one (kubectl get usu)")
}

pub fn uplink_deleting(uplink: &UplinkName) -> String {
    format!(".name: UserspaceUplink {uplink} is being deleted: name another one")
}

pub fn uplink_invalid(uplink: &UplinkName, problem: &str) -> String {
    format!(".name: UserspaceUplink {uplink} is not valid and has to be corrected: {problem}")
}

pub fn uplink_of_other_engine(uplink: &UplinkName, its: EngineKind, own: EngineKind) -> String {
    format!(".name: UserspaceUplink {uplink} belongs to {its}, and the network to {own}: name an uplink of {own}")
}

pub fn vlan_required(uplink: &UplinkName, vlans: &VlanRanges) -> String {
    format!(
        ".vlan: the NICs of UserspaceUplink {uplink} are shared with the nodes, to which untagged frames belong: set a VLAN of {vlans}"
    )
}

pub fn vlan_not_available(uplink: &UplinkName, vlan: VlanTag, vlans: &VlanRanges, is_kept: bool) -> String {
    let available = if vlans.is_empty() { "has no VLANs".to_owned() } else { format!("has the VLANs {vlans}") };
    let kept = if is_kept { "; until then it stays on the nodes as it is" } else { "" };
    format!(
        ".vlan: UserspaceUplink {uplink} {available}, and not {vlan}: set another vlan, or add {vlan} to spec.vlans of the uplink{kept}"
    )
}

pub fn vlan_taken(uplink: &UplinkName, vlan: Option<VlanTag>, holder: &str) -> String {
    let what = vlan.map_or_else(|| "untagged frames".to_owned(), |vlan| format!("VLAN {vlan}"));
    format!(
        ".vlan: on UserspaceUplink {uplink}, {what} already belong{} to network {holder}: set another vlan, or delete network {holder}",
        if vlan.is_some() { "s" } else { "" }
    )
}

pub fn vlan_of_underlay(uplink: &UplinkName, vlan: Option<VlanTag>, is_kept: bool) -> String {
    let what = vlan.map_or_else(|| "untagged frames belong".to_owned(), |vlan| format!("VLAN {vlan} belongs"));
    let kept = if is_kept { "; until then it stays on the nodes as it is" } else { "" };
    format!(
        ".vlan: on UserspaceUplink {uplink}, {what} to the packets of overlays (spec.underlay): set another vlan{kept}"
    )
}

pub fn uplink_without_underlay(uplink: &UplinkName) -> String {
    format!(
        ".name: UserspaceUplink {uplink} has no addresses for overlays: set spec.underlay of it, or use the encapsulation Kernel"
    )
}

pub fn underlay_of_other_family(uplink: &UplinkName, family: IpFamily) -> String {
    format!(
        ".name: the underlay of UserspaceUplink {uplink} has addresses of {family}: set spec.topology.overlay.ipFamily to {family}"
    )
}

// Accepted of an uplink is False, or DeletionBlocked is True.

pub fn vlans_in_use(networks: &[(&str, VlanTag)]) -> String {
    let named: Vec<String> =
        networks.iter().take(NETWORKS_MAX).map(|(network, vlan)| format!("{network} (VLAN {vlan})")).collect();
    format!(
        "spec.vlans: {} still use VLANs that are not in it and stay on the nodes as they are: {}{}; add these VLANs again, or set another vlan in the networks",
        count(networks.len(), "network"),
        named.join(", "),
        more(networks.len())
    )
}

pub fn underlay_in_use(networks: &[&str]) -> String {
    let named: Vec<&str> = networks.iter().take(NETWORKS_MAX).copied().collect();
    format!(
        "spec.underlay: {} already have its VLAN, or the untagged frames, and stay on the nodes as they are: {}{}; set another vlan in underlay, or in the networks",
        count(networks.len(), "network"),
        named.join(", "),
        more(networks.len())
    )
}

/// Degraded is True.
pub fn degraded(nodes: usize, node: &str, problem: &str) -> String {
    format!("on {} it works in part; {node}: {problem}", count(nodes, "node"))
}

pub fn in_use(networks: &[&str]) -> String {
    let named: Vec<&str> = networks.iter().take(NETWORKS_MAX).copied().collect();
    format!(
        "{} still use it: {}{}; delete these networks, or set another spec.topology",
        count(networks.len(), "network"),
        named.join(", "),
        more(networks.len())
    )
}

const fn more(networks: usize) -> &'static str {
    if networks > NETWORKS_MAX { " and others" } else { "" }
}
