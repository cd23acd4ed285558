use super::model::{Model, carries};
use super::strategies::{desired_strategy, engine_strategy, own_engine_strategy};
use crate::model::bridge::BridgeOwner;
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings};
use crate::model::desired::Desired;
use crate::model::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::model::owner::PortOwner;
use crate::model::port::{DesiredPort, PortBridge, PortName, PortPolicy};
use crate::plan::matching::port_matches;
use crate::plan::{Blocker, Op, blockers, diff};
use crate::testing::{network, record};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::Ownership;

pub(super) fn converge(desired: &Desired, mut engine: Model) -> Result<Observed, TestCaseError> {
    let operations = diff(desired, &engine.observed);
    engine.apply_all(&operations).map_err(TestCaseError::fail)?;
    Ok(engine.observed)
}

/// 0 for deletions, 1 for bridges, 2 for ports.
pub(super) fn rank(operation: &Op) -> u8 {
    match operation {
        Op::RemovePort { .. } | Op::RemoveBridge { .. } | Op::Routing(_) => 0,
        Op::CreateBridge { .. } | Op::TakeOverBridge { .. } | Op::UpdateBridge { .. } => 1,
        Op::CreatePort { .. } | Op::TakeOverPort { .. } | Op::UpdatePort { .. } | Op::SetAddress { .. } => 2,
    }
}

/// A port with its name and the bridge that it is on.
type Placed = (Option<String>, PortName, ObservedPort);

/// Objects that usnet does not own: bridges with their settings, and ports with their bridge, if
/// any.
fn foreign(desired: &Desired, engine: &Observed) -> (Vec<String>, Vec<Placed>) {
    let bridges = engine.bridges.iter().filter(|(_, bridge)| bridge.owner.is_none());
    let describe = |(name, bridge): (&String, &ObservedBridge)| {
        format!("{name} {:?}", ObservedBridge { ports: BTreeMap::new(), ..bridge.clone() })
    };
    let ports = engine.bridges.iter().flat_map(|(bridge, observed)| {
        let untagged = observed.ports.iter().filter(|(_, port)| port.owner.is_none());
        untagged.map(move |(name, port)| (Some(bridge.clone()), name.clone(), port.clone()))
    });
    // One with the socket of an attachment is incomplete: not tagged yet.
    let is_incomplete = |port: &ObservedPort| {
        let known = desired.attachments().map(|(_, port)| &port.backend);
        let detached = desired.detached.values().map(|detached| &detached.backend);
        known.chain(detached).any(|backend| port.backend.as_ref() == Some(backend))
    };
    let unbridged_ports =
        engine.unbridged_ports.iter().filter(|(_, port)| port.owner.is_none() && !is_incomplete(port));
    let unbridged_ports = unbridged_ports.map(|(name, port)| (None, name.clone(), port.clone()));
    (bridges.map(describe).collect(), ports.chain(unbridged_ports).collect())
}

fn ports_named<'a>(engine: &'a Observed, name: &'a PortName) -> impl Iterator<Item = (&'a String, &'a ObservedPort)> {
    engine.bridges.iter().filter_map(move |(bridge, observed)| Some((bridge, observed.ports.get(name)?)))
}

/// Whether a port on this bridge is as it should be.
fn is_in_place(spec: &DesiredPort, bridge: &str, name: &PortName, port: &ObservedPort) -> bool {
    on(spec).name.as_str() == bridge && spec.name == *name && port_matches(port, spec)
}

fn on(port: &DesiredPort) -> &PortBridge {
    port.bridge.as_ref().unwrap()
}

fn check_network(spec: &usnet_crds::NodeNetwork, engine: &Observed) -> Result<(), TestCaseError> {
    let name = spec.bridge.name.as_str();
    if spec.bridge.ownership == Ownership::Adopted {
        return Ok(());
    }
    match engine.bridges.get(name) {
        Some(bridge) if bridge.network() == Some(&spec.name) => {
            let desired = BridgeSettings::from(&spec.bridge);
            let of_vpp = BridgeSettings { mtu: BridgeMtu::OfPortsOnly, is_guarded: None, ..desired };
            let has_zone = bridge.settings.policy_zone.is_some();
            let without_zone = BridgeSettings { policy_zone: None, ..bridge.settings.clone() };
            let is_it = (without_zone == of_vpp && !has_zone)
                || (without_zone == desired && has_zone == spec.policies.are_enabled());
            prop_assert!(bridge.has_supported_datapath && is_it, "{bridge:?}");
        }
        // The name is in use by others, and was so before.
        Some(_) => {}
        None => {
            let port_has_name = ports_named(engine, &PortName::observed(name)).next().is_some();
            prop_assert!(port_has_name, "{name} is free and {} has no bridge", spec.name);
        }
    }
    Ok(())
}

fn check_port(spec: &DesiredPort, engine: &Observed) -> Result<(), TestCaseError> {
    let observed: Vec<_> = ports_named(engine, &spec.name).collect();
    let is_there = observed.iter().any(|(bridge, port)| is_in_place(spec, bridge, &spec.name, port));
    let PortBridge { name, owner, ownership } = on(spec);
    let bridge = engine.bridges.get(name.as_str());
    let accepts_ports = bridge.is_some_and(|bridge| match ownership {
        Ownership::Managed => bridge.owner.as_ref() == Some(owner) && bridge.has_supported_datapath,
        Ownership::Adopted => {
            bridge.owner.as_ref().is_none_or(|other| other == owner) && bridge.adoption_blocker.is_none()
        }
    });
    let name_is_free = observed.is_empty() && !engine.bridges.contains_key(spec.name.as_str());
    if spec.policy == PortPolicy::Ensure && accepts_ports && name_is_free {
        prop_assert!(is_there, "{:?} has no port", spec.owner);
    }
    Ok(())
}

fn check_leftovers(desired: &Desired, engine: &Observed) -> Result<(), TestCaseError> {
    for (name, port) in engine.unbridged_ports.iter().filter(|(_, port)| port.owner.is_some()) {
        let is_usable = desired.attachments().any(|(_, spec)| {
            carries(port, &spec.owner) && spec.name == *name && port.backend.as_ref() == Some(&spec.backend)
        });
        prop_assert!(is_usable, "{name} of {:?} is left on no bridge", port.owner);
    }
    for (name, bridge) in &engine.bridges {
        for (port_name, port) in bridge.ports.iter().filter(|(_, port)| port.owner.is_some()) {
            let is_desired = desired.ports.values().any(|spec| is_in_place(spec, name, port_name, port));
            prop_assert!(is_desired, "{port_name} of {:?} is left on {name}", port.owner);
        }
        if let Some(BridgeOwner::Network(network)) = &bridge.owner {
            let is_desired = desired.networks.get(network).is_some_and(|spec| spec.bridge.name.as_str() == name);
            let is_used = desired
                .attachments()
                .any(|(_, spec)| on(spec).name.as_str() == name && spec.owner.network.as_ref() == Some(network));
            prop_assert!(is_desired || is_used || !bridge.ports.is_empty(), "{name} is left");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_operation_is_refused_and_then_the_plan_is_empty(desired in desired_strategy(), engine in engine_strategy()) {
        let converged = converge(&desired, engine)?;
        prop_assert_eq!(diff(&desired, &converged), vec![]);
    }

    #[test]
    fn applying_a_plan_gives_the_desired_state(desired in desired_strategy(), engine in engine_strategy()) {
        let converged = converge(&desired, engine)?;
        for network in desired.networks.values() {
            check_network(network, &converged)?;
        }
        for port in desired.ports.values() {
            check_port(port, &converged)?;
        }
        check_leftovers(&desired, &converged)?;
    }

    #[test]
    fn foreign_objects_are_not_changed(desired in desired_strategy(), engine in engine_strategy()) {
        let before = foreign(&desired, &engine.observed);
        let (_, foreign_ports) = &before;
        for operation in diff(&desired, &engine.observed) {
            let is_owned = |name: &str, owner: &BridgeOwner| {
                engine.observed.bridges.get(name).is_some_and(|bridge| bridge.owner.as_ref() == Some(owner))
            };
            match &operation {
                Op::RemoveBridge { bridge, owner } => prop_assert!(is_owned(bridge, owner)),
                Op::UpdateBridge { bridge } => prop_assert!(is_owned(bridge.name().as_str(), &bridge.owner())),
                Op::RemovePort { port: changed, .. } => {
                    prop_assert!(!foreign_ports.iter().any(|(_, name, _)| name == changed), "{}", operation);
                }
                Op::UpdatePort { port } => {
                    prop_assert!(!foreign_ports.iter().any(|(_, name, _)| *name == port.name), "{}", operation);
                }
                Op::CreateBridge { .. } | Op::CreatePort { .. } | Op::SetAddress { .. } | Op::Routing(_) => {}
                // No record of these examples is that of the legacy plugin.
                Op::TakeOverBridge { .. } | Op::TakeOverPort { .. } => prop_assert!(false, "{}", operation),
            }
        }
        prop_assert_eq!(foreign(&desired, &converge(&desired, engine)?), before);
    }

    #[test]
    fn an_adopted_bridge_gets_ports_and_nothing_else(desired in desired_strategy(), engine in engine_strategy()) {
        let networks = desired.networks.values();
        let adopted = networks.filter(|network| network.bridge.ownership == Ownership::Adopted);
        let adopted: BTreeSet<_> = adopted.map(|network| &network.name).collect();
        for operation in diff(&desired, &engine.observed) {
            match &operation {
                Op::CreateBridge { bridge } | Op::UpdateBridge { bridge } => {
                    prop_assert!(!bridge.network().is_some_and(|network| adopted.contains(network)), "{}", operation);
                }
                // An owned bridge that some network still needs is kept, too.
                Op::RemoveBridge { bridge, owner } => {
                    prop_assert_eq!(engine.observed.bridges[bridge].owner.as_ref(), Some(owner));
                    let spec = owner.network().and_then(|network| desired.networks.get(network));
                    prop_assert!(spec.is_none_or(|spec| spec.bridge.name.as_str() != bridge));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn untagged_ports_are_deleted_only_by_the_socket_of_a_detached_attachment(desired in desired_strategy(), engine in engine_strategy()) {
        for operation in diff(&desired, &engine.observed) {
            let Op::RemovePort { bridge: None, port: name, owner, backend, .. } = &operation else { continue };
            let port = &engine.observed.unbridged_ports[name];
            if port.owner.is_none() {
                let (_, detached) = desired.detached.iter().find(|(id, detached)| *owner == PortOwner::new(&detached.network, id)).unwrap();
                prop_assert_eq!(Some(&detached.backend), port.backend.as_ref());
                prop_assert_eq!(backend, &port.backend);
                let is_in_use = desired.attachments().any(|(_, spec)| spec.backend == detached.backend);
                prop_assert!(!is_in_use, "{}", operation);
            }
        }
    }

    #[test]
    fn removals_come_before_bridges_and_bridges_before_ports(desired in desired_strategy(), engine in engine_strategy()) {
        let ranks: Vec<_> = diff(&desired, &engine.observed).iter().map(rank).collect();
        prop_assert!(ranks.is_sorted(), "{:?}", ranks);
    }

    #[test]
    fn bridges_and_ports_may_be_created_in_any_order(desired in desired_strategy(), engine in engine_strategy()) {
        let operations = diff(&desired, &engine.observed);
        let (removals, additions): (Vec<_>, Vec<_>) = operations.into_iter().partition(|operation| rank(operation) == 0);
        let mut reordered = removals;
        reordered.extend(additions.iter().rev().filter(|operation| rank(operation) == 1).cloned());
        reordered.extend(additions.iter().rev().filter(|operation| rank(operation) == 2).cloned());
        let mut other = engine.clone();
        other.apply_all(&reordered).map_err(TestCaseError::fail)?;
        prop_assert_eq!(other.observed, converge(&desired, engine)?);
    }

    #[test]
    fn a_port_that_matches_is_never_deleted(desired in desired_strategy(), engine in engine_strategy()) {
        let keep: BTreeSet<_> = desired.attachments().flat_map(|(_, spec)| {
            let network = spec.owner.network.as_ref().unwrap();
            let bridge = engine.observed.bridges.get(on(spec).name.as_str());
            let observed = bridge.and_then(|bridge| bridge.ports.get(&spec.name));
            // A bridge that another network owns is recreated for the network that needs it.
            let is_of_another = bridge.and_then(|bridge| bridge.network()).is_some_and(|owner| owner != network);
            let is_replaced = is_of_another && desired.networks.get(network).is_some_and(|network| network.bridge.name == on(spec).name);
            let fits = observed.is_some_and(|port| carries(port, &spec.owner) && port.backend.as_ref() == Some(&spec.backend));
            let is_on_one_bridge = ports_named(&engine.observed, &spec.name).count() == 1;
            (fits && !is_replaced && is_on_one_bridge).then(|| (Some(on(spec).name.to_string()), spec.name.clone()))
        }).collect();
        for operation in diff(&desired, &engine.observed) {
            if let Op::RemovePort { bridge, port, .. } = operation {
                prop_assert!(!keep.contains(&(bridge, port)));
            }
        }
    }

    #[test]
    fn a_bridge_with_a_conflicting_name_is_a_blocker(desired in desired_strategy(), engine in engine_strategy()) {
        let converged = converge(&desired, engine)?;
        let blockers = blockers(&desired, &converged);
        for network in desired.networks.values() {
            let bridge = converged.bridges.get(network.bridge.name.as_str());
            let is_owned = bridge.is_some_and(|bridge| bridge.network() == Some(&network.name));
            let is_fine = match network.bridge.ownership {
                Ownership::Managed => is_owned,
                Ownership::Adopted => bridge.is_some_and(|bridge| (is_owned || bridge.owner.is_none()) && bridge.adoption_blocker.is_none()),
            };
            let is_in_the_way = match (blockers.get(&network.name), network.bridge.ownership) {
                (Some(Blocker::BridgeExists { bridge }), Ownership::Managed)
                | (Some(Blocker::BridgeMissing { bridge } | Blocker::BridgeUnusable { bridge, .. }), Ownership::Adopted) => {
                    *bridge == network.bridge.name
                }
                _ => false,
            };
            prop_assert_eq!(is_in_the_way, !is_fine, "{}: {:?}", network.name, blockers.get(&network.name));
        }
    }

    #[test]
    fn the_order_of_networks_and_records_does_not_matter(
        (networks, records) in (Just(vec!["blue", "green", "red"]).prop_shuffle(), Just(vec!["c1", "c2", "c3"]).prop_shuffle()),
        engine in engine_strategy(),
    ) {
        let desired = |networks: &[&str], records: &[&str]| {
            let records: Vec<_> = records.iter().map(|container| record(container, &network("blue"))).collect();
            Desired::new(networks.iter().map(|name| network(name)), &records)
        };
        let sorted = desired(&["blue", "green", "red"], &["c1", "c2", "c3"]);
        prop_assert_eq!(diff(&desired(&networks, &records), &engine.observed), diff(&sorted, &engine.observed));
    }

    /// Exactly the desired state, whatever was there: the strongest property, for nodes without
    /// foreign objects.
    #[test]
    fn a_node_without_foreign_objects_converges_exactly(bridges in 1..=3_usize, pods in 0..=3_usize, engine in own_engine_strategy()) {
        let networks: Vec<_> = ["blue", "green", "red"][..bridges].iter().map(|name| network(name)).collect();
        let records: Vec<_> = ["c1", "c2", "c3"][..pods].iter().map(|pod| record(pod, &network("blue"))).collect();
        let desired = Desired::new(networks, &records);
        let kind = engine.kind;
        let mut converged = converge(&desired, engine)?;
        // Normalises what a plan does not compare: the state of the engine, and networks that the
        // tag of a port does not name.
        for bridge in converged.bridges.values_mut() {
            bridge.state = ElementState::Running;
            let network = bridge.network().cloned();
            for port in bridge.ports.values_mut() {
                (port.state, port.peer) = (ElementState::Running, Peer::Absent);
                port.owner.iter_mut().for_each(|owner| owner.network.clone_from(&network));
            }
        }
        prop_assert_eq!(&converged, &converge(&desired, Model::empty(kind))?);
        prop_assert_eq!(converged.bridges.len(), bridges);
        let names: BTreeSet<_> = converged.bridges["br-blue"].ports.keys().cloned().collect();
        prop_assert_eq!(names, records.iter().map(|record| PortName::of(&record.id)).collect());
    }
}
