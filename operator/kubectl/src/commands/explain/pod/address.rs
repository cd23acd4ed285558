//! Requested addresses that host-local does not assign on the pod's node, by `spec.ipam` of the
//! network. Pure.

use super::context::Context;
use crate::commands::explain::finding::Finding;
use std::net::IpAddr;
use usnet_crds::FixedAttachment;
use usnet_crds::compiled_network::node_ranges::node_ranges;
use usnet_crds::network::ipam::node_prefix::HOST_LOCAL;
use usnet_crds::network::ipam::{AssignedRange, assigned_ranges};
use usnet_crds::validate::ValidNetwork;

/// The pod requests an address that is in no range, is in the part of another node, or is the
/// gateway.
pub(super) fn not_assigned(context: &Context<'_>) -> Option<Finding> {
    let valid = context.valid()?;
    let ipam = valid.ipam.as_ref().filter(|ipam| ipam.get("type").is_some_and(|plugin| plugin == HOST_LOCAL))?;
    let all = assigned_ranges(ipam);
    if all.is_empty() || has_fixed_addresses(context, valid) {
        return None;
    }
    let address = |text: &String| text.split('/').next().and_then(|text| text.parse::<IpAddr>().ok());
    context.element.ips.iter().filter_map(address).find_map(|address| problem(context, valid, &all, address))
}

/// Whether `spec.attachments` of the network, or a reservation, sets the addresses of the pod.
fn has_fixed_addresses(context: &Context<'_>, valid: &ValidNetwork) -> bool {
    let pod = context.pod;
    let mut fixed = fixed(context, valid).filter_map(|fixed| fixed.of_pod(&pod.namespace, &pod.name));
    fixed.any(|fixed| !fixed.ips.is_empty())
}

/// What the names of pods fix, by `spec.attachments` and by reservations.
pub(super) fn fixed<'a>(
    context: &'a Context<'_>,
    valid: &'a ValidNetwork,
) -> impl Iterator<Item = &'a FixedAttachment> {
    let compiled = context.snapshot.cache.compiled.get(valid.name.as_str());
    valid.attachments.iter().chain(compiled.into_iter().flat_map(|compiled| &compiled.attachments))
}

fn problem(context: &Context<'_>, valid: &ValidNetwork, all: &[AssignedRange], address: IpAddr) -> Option<Finding> {
    let network = &valid.name;
    if all.iter().any(|range| range.subnet.contains(&address) && range.gateway == address) {
        let why = format!("the pod requests {address}, which is the gateway of network {network}");
        return Some(Finding::new("AddressOfGateway", why, remedy(all)));
    }
    if !all.iter().any(|range| range.contains(address)) {
        let why =
            format!("the pod requests {address}, and the ranges of network {network} are {} (spec.ipam)", texts(all));
        return Some(Finding::new("AddressOutsideRange", why, remedy(all)));
    }
    let node = context.pod.node.as_deref()?;
    let own = part(context, valid, node)?;
    if own.iter().any(|range| range.contains(address)) {
        return None;
    }
    let states = context.snapshot.cache.states.keys();
    let has = |other: &&String| {
        part(context, valid, other).is_some_and(|part| part.iter().any(|range| range.contains(address)))
    };
    let owner = states.into_iter().find(has).map_or_else(|| "no node yet".to_owned(), |owner| format!("node {owner}"));
    let why = format!(
        "the pod requests {address}, which is in the part of {owner}: node {node} assigns {} of network {network} (spec.ipam.nodePrefix)",
        texts(&own)
    );
    let remedy = format!(
        "request an address of the node's part, or none; reserve {address} in spec.attachments of the network, which any node assigns; or run the pod on the node that has it"
    );
    Some(Finding::new("AddressOfOtherNode", why, remedy))
}

/// The ranges that a node assigns; `None` if the network is not divided among nodes.
fn part(context: &Context<'_>, valid: &ValidNetwork, node: &str) -> Option<Vec<AssignedRange>> {
    let (ipam, prefix) = (valid.ipam.as_ref()?, valid.node_prefix.as_ref()?);
    let number = context.snapshot.cache.states.get(node)?.number?;
    let fixed = fixed(context, valid).flat_map(|fixed| fixed.ips.iter().map(|ip| ip.ip()));
    Some(assigned_ranges(&node_ranges(ipam, prefix, number, fixed).ok()?))
}

fn texts(ranges: &[AssignedRange]) -> String {
    ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn remedy(all: &[AssignedRange]) -> String {
    let example = all.first().map_or_else(String::new, |range| format!(", such as {}", range.last));
    format!(
        "request an address of the ranges{example}, or none: the network then assigns one; and create the pod again"
    )
}
