//! The status of an uplink: its [`conditions`], and its progress on [`nodes`].

mod conditions;
mod nodes;

use super::selected_nodes::SelectedNodes;
use crate::cache::{Cache, Network};
use conditions::Inputs;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use usnet_crds::UserspaceUplinkStatus;
use usnet_crds::conditions::merge;
use usnet_crds::uplink::status::UPLINK_NETWORKS_MAX;

/// The desired status of an uplink; none before it has its finalizer and once it may be deleted.
pub fn evaluate(cache: &Cache, selected: &SelectedNodes<'_>, name: &str, now: &Time) -> Option<UserspaceUplinkStatus> {
    let uplink = cache.uplinks.get(name).filter(|uplink| uplink.has_finalizer())?;
    let users = cache.uplink_use.users(name);
    if uplink.is_deleting() && users.is_none() {
        return None;
    }
    let tally = nodes::tally(selected, name, uplink);
    let old = uplink.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = Some(uplink.generation);
    let networks: Vec<&String> = users.into_iter().flat_map(|users| users.keys()).collect();
    // From the statuses of networks: counting their reports would take networks × nodes.
    let attachments = networks.iter().filter_map(|name| cache.networks.get(*name)).map(Network::attachments);
    let attachments = attachments.fold(0_i64, i64::saturating_add);
    let counts = tally.counts();
    let failures = tally.failures.clone();
    let degraded = nodes::degraded(selected, name, uplink);
    let conditions = conditions::conditions(&Inputs { uplink, users, tally, degraded });
    Some(UserspaceUplinkStatus {
        observed_generation: generation,
        conditions: merge(old, conditions, generation, now),
        nodes: counts,
        network_count: i64::try_from(networks.len()).unwrap_or(i64::MAX),
        networks: networks.into_iter().take(UPLINK_NETWORKS_MAX).cloned().collect(),
        attachments,
        failures,
    })
}
