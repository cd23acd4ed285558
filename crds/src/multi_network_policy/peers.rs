//! Peers of rules, as prefixes and as selectors of pods.

use super::problem::PolicyProblem;
use super::reading::Reading;
use super::selector::{PodSelector, SelectedNamespaces, labels};
use super::spec::{IpBlock, RulePeer};
use crate::NamespaceName;
use crate::policy::pods::SelectorId;
use crate::policy::prefixes::without;
use crate::policy::rule::PeerAddresses;
use ipnet::IpNet;
use std::collections::BTreeSet;

/// What a peer of a rule selects.
enum Peer {
    Addresses(Vec<IpNet>),
    Pods(PodSelector),
}

/// The peers of a rule: their addresses, and the selectors of pods. No peer means any; peers of
/// which none can be enforced mean none. Pods without a selector of their namespaces are those of
/// the policy's own.
pub(super) fn peers(
    reading: &mut Reading,
    field: &str,
    own: Option<&NamespaceName>,
    peers: &[RulePeer],
) -> (PeerAddresses, BTreeSet<SelectorId>) {
    if peers.is_empty() {
        return (PeerAddresses::Any, BTreeSet::new());
    }
    let (mut addresses, mut pods) = (BTreeSet::new(), BTreeSet::new());
    for (place, peer) in peers.iter().enumerate() {
        match reading.check(&format!("{field}[{place}]"), of_peer(peer, own)) {
            Some(Peer::Addresses(prefixes)) => addresses.extend(prefixes),
            Some(Peer::Pods(selector)) => drop(pods.insert(reading.selector(selector))),
            None => {}
        }
    }
    (PeerAddresses::Within(addresses), pods)
}

fn of_peer(peer: &RulePeer, own: Option<&NamespaceName>) -> Result<Peer, PolicyProblem> {
    let RulePeer { pod_selector, namespace_selector, ip_block } = peer;
    let has_selector = pod_selector.is_some() || namespace_selector.is_some();
    match ip_block {
        Some(_) if has_selector => return Err(PolicyProblem::BlockWithSelector),
        Some(block) => return of_block(block).map(Peer::Addresses),
        None if !has_selector => return Err(PolicyProblem::EmptyPeer),
        None => {}
    }
    let namespaces = match (namespace_selector, own) {
        (Some(selector), _) => SelectedNamespaces::Labelled(labels(Some(selector))?),
        (None, Some(own)) => SelectedNamespaces::Only(own.clone()),
        // Such a policy is for no pods.
        (None, None) => return Err(PolicyProblem::EmptyPeer),
    };
    Ok(Peer::Pods(PodSelector { namespaces, pods: labels(pod_selector.as_ref())? }))
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
