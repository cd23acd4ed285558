//! From what VPP shows to what we compare. Pure.

use super::shown::{Domain, Interface, Shown};
use crate::memif::MemifSocketIds;
use crate::observed::{BridgeMtu, ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::port::{PortMark, PortName};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{MacLearning, RateLimit};

pub(super) const SECONDS_PER_MINUTE: i64 = 60;

/// All that VPP shows. A bridge domain that it made by itself is none that anybody asked for: ours in it are on no bridge.
pub(super) fn observe(shown: &Shown, ours: MemifSocketIds) -> Observed {
    let names = names(shown);
    let port = |index: &u32| {
        let interface = shown.interfaces.get(index)?;
        Some((names.get(index)?.clone(), observe_port(shown, interface)))
    };
    let is_bridge = |(_, domain): &(&u32, &Domain)| !shown.is_stray(domain);
    let bridges = shown.domains.iter().filter(is_bridge).map(|(id, domain)| {
        let ports = domain.members.iter().filter_map(port).collect();
        (id.to_string(), ObservedBridge { ports, ..observe_domain(domain) })
    });
    let is_on_bridge = |interface: &Interface| {
        let domain = interface.domain.and_then(|id| shown.domains.get(&id));
        domain.is_some_and(|domain| !shown.is_stray(domain))
    };
    let is_loose =
        |interface: &Interface| !is_on_bridge(interface) && (interface.mark.is_some() || interface.is_begun(ours));
    let loose = shown.interfaces.iter().filter(|(_, interface)| is_loose(interface));
    Observed { bridges: bridges.collect(), loose: loose.filter_map(|(index, _)| port(index)).collect() }
}

/// A bridge domain without its ports.
pub(super) fn observe_domain(domain: &Domain) -> ObservedBridge {
    ObservedBridge {
        mark: domain.mark.clone(),
        is_our_kind: domain.is_our_kind,
        unusable: unusable(domain),
        mtu: BridgeMtu::OfPortsOnly,
        mac_learning: if domain.learns { MacLearning::Enabled } else { MacLearning::Disabled },
        mac_age_seconds: Some(i64::from(domain.mac_age_minutes) * SECONDS_PER_MINUTE),
        state: ElementState::Running,
        ports: BTreeMap::new(),
    }
}

/// One without a tag cannot be told from one that VPP made by itself, once only our ports are in it.
fn unusable(domain: &Domain) -> Option<String> {
    match domain {
        Domain { is_tagged: false, .. } => Some("it has no tag (bd-tag), which says that somebody made it".to_owned()),
        Domain { forwards: false, .. } => Some("it does not forward".to_owned()),
        Domain { .. } => None,
    }
}

pub(super) fn observe_port(shown: &Shown, interface: &Interface) -> ObservedPort {
    let network = interface.domain.and_then(|id| shown.domains.get(&id)).and_then(|domain| domain.mark.clone());
    ObservedPort {
        mark: interface.mark.clone().map(|attachment| PortMark { network, attachment }),
        connection: interface.connection(),
        mtu: Some(interface.mtu.into()),
        tagging: interface.tagging.clone(),
        rate_limit: match &interface.mark {
            Some(mark) => shown.policers.limits(&PortName::of_mark(mark), interface.policed),
            None => Some(RateLimit::default()),
        },
        is_enabled: interface.is_enabled,
        peer: if interface.has_peer { Peer::Connected } else { Peer::Absent },
        state: ElementState::Running,
    }
}

/// The names of ports by the index of their interface. A port of ours has the name that its attachment gives it; what is not ours, and a
/// second one with the same mark, has VPP's name.
pub(super) fn names(shown: &Shown) -> BTreeMap<u32, PortName> {
    let mut given = BTreeSet::new();
    let name = |(index, interface): (&u32, &Interface)| {
        let ours = interface.mark.as_deref().filter(|mark| given.insert((*mark).to_owned()));
        let name = ours.map_or_else(|| PortName::observed(&interface.name), PortName::of_mark);
        (*index, name)
    };
    shown.interfaces.iter().map(name).collect()
}
