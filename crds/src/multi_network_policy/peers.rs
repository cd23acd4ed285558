//! Peers of rules, as prefixes.

use super::problem::PolicyProblem;
use super::reading::Reading;
use super::spec::{IpBlock, RulePeer};
use crate::policy::prefixes::without;
use crate::policy::rule::PeerAddresses;
use ipnet::IpNet;
use std::collections::BTreeSet;

/// The addresses of peers. No peer means any; peers of which none can be enforced mean none.
pub(super) fn addresses(reading: &mut Reading, field: &str, peers: &[RulePeer]) -> PeerAddresses {
    if peers.is_empty() {
        return PeerAddresses::Any;
    }
    let mut all = BTreeSet::new();
    for (place, peer) in peers.iter().enumerate() {
        let field = format!("{field}[{place}]");
        all.extend(reading.check(&field, of_peer(peer)).into_iter().flatten());
    }
    PeerAddresses::Within(all)
}

fn of_peer(peer: &RulePeer) -> Result<Vec<IpNet>, PolicyProblem> {
    let has_selector = peer.pod_selector.is_some() || peer.namespace_selector.is_some();
    match &peer.ip_block {
        Some(_) if has_selector => Err(PolicyProblem::BlockWithSelector),
        None if has_selector => Err(PolicyProblem::PeerSelector),
        None => Err(PolicyProblem::EmptyPeer),
        Some(block) => of_block(block),
    }
}

fn of_block(IpBlock { cidr, except }: &IpBlock) -> Result<Vec<IpNet>, PolicyProblem> {
    let block = prefix(cidr).ok_or_else(|| PolicyProblem::Block(cidr.clone()))?;
    let exception = |text: &String| {
        let found = prefix(text).filter(|exception| block.contains(exception));
        found.ok_or_else(|| PolicyProblem::Exception(text.clone()))
    };
    let exceptions = except.iter().map(exception).collect::<Result<Vec<_>, _>>()?;
    without(block, &exceptions).ok_or(PolicyProblem::TooManyExceptions)
}

/// A prefix without what its host bits say. One of IPv4 addresses in IPv6 would have two forms, as
/// which packets do not have it.
fn prefix(text: &str) -> Option<IpNet> {
    let net: IpNet = text.parse().ok()?;
    let is_mapped = matches!(net, IpNet::V6(net) if net.prefix_len() >= 96 && net.addr().to_ipv4_mapped().is_some());
    (!is_mapped).then(|| net.trunc())
}
