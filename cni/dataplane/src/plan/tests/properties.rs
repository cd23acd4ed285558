use super::model::Model;
use super::strategies::{desired_strategy, engine_strategy, own_engine_strategy};
use crate::attachment::AttachmentId;
use crate::desired::{Desired, DesiredAttachment, Presence};
use crate::observed::{BridgeMtu, ElementState, Observed, ObservedBridge, ObservedPort, Peer, Tagging};
use crate::plan::{Obstacle, Op, obstacles, plan};
use crate::port::{PortName, PortSettings};
use crate::testing::{network, record};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::Ownership;

pub(super) fn achieve(desired: &Desired, mut engine: Model) -> Result<Observed, TestCaseError> {
    let operations = plan(desired, &engine.shown);
    engine.apply_all(&operations).map_err(TestCaseError::fail)?;
    Ok(engine.shown)
}

/// 0 for what takes away, 1 for bridges, 2 for ports.
fn rank(operation: &Op) -> u8 {
    match operation {
        Op::RemovePort { .. } | Op::RemoveBridge { .. } => 0,
        Op::CreateBridge { .. } | Op::UpdateBridge { .. } => 1,
        Op::CreatePort { .. } | Op::UpdatePort { .. } => 2,
    }
}

/// A port with its name and the bridge that it is on.
type Placed = (Option<String>, PortName, ObservedPort);

/// What is not ours: bridges with their settings, and ports with the bridge that they are on, if any.
fn foreign(desired: &Desired, engine: &Observed) -> (Vec<String>, Vec<Placed>) {
    let bridges = engine.bridges.iter().filter(|(_, bridge)| bridge.mark.is_none());
    let describe = |(name, bridge): (&String, &ObservedBridge)| {
        format!("{name} {:?}", ObservedBridge { ports: BTreeMap::new(), ..bridge.clone() })
    };
    let ports = engine.bridges.iter().flat_map(|(bridge, shown)| {
        let unmarked = shown.ports.iter().filter(|(_, port)| port.mark.is_none());
        unmarked.map(move |(name, port)| (Some(bridge.clone()), name.clone(), port.clone()))
    });
    // One with the socket of an attachment was begun for it, and not marked yet.
    let was_begun = |port: &ObservedPort| {
        let known = desired.attachments.values().map(|wanted| &wanted.port.connection);
        let ended = desired.ended.values().map(|ended| &ended.connection);
        known.chain(ended).any(|connection| port.connection.as_ref() == Some(connection))
    };
    let loose = engine.loose.iter().filter(|(_, port)| port.mark.is_none() && !was_begun(port));
    let loose = loose.map(|(name, port)| (None, name.clone(), port.clone()));
    (bridges.map(describe).collect(), ports.chain(loose).collect())
}

fn ports_named<'a>(engine: &'a Observed, name: &'a PortName) -> impl Iterator<Item = (&'a String, &'a ObservedPort)> {
    engine.bridges.iter().filter_map(move |(bridge, shown)| Some((bridge, shown.ports.get(name)?)))
}

fn is_as_wanted(id: &AttachmentId, wanted: &DesiredAttachment, bridge: &str, port: &ObservedPort) -> bool {
    let PortSettings { mtu, vlan, rate_limit } = &wanted.port.settings;
    bridge == wanted.port.bridge.as_str()
        && port.mark.as_ref().is_some_and(|mark| mark.is_of(&wanted.network, id))
        && port.is_enabled
        && port.connection.as_ref() == Some(&wanted.port.connection)
        && port.mtu == Some((*mtu).into())
        && port.tagging == Tagging::from(vlan.clone())
        && port.rate_limit == Some(*rate_limit)
}

fn check_network(wanted: &usnet_crds::NodeNetwork, engine: &Observed) -> Result<(), TestCaseError> {
    let name = wanted.bridge.name.as_str();
    if wanted.bridge.ownership == Ownership::Adopted {
        return Ok(());
    }
    match engine.bridges.get(name) {
        Some(bridge) if bridge.mark.as_ref() == Some(&wanted.name) => {
            let mtus = [BridgeMtu::OfPortsOnly, BridgeMtu::Set(wanted.bridge.mtu.into())];
            prop_assert!(bridge.is_our_kind && mtus.contains(&bridge.mtu), "{bridge:?}");
            prop_assert_eq!(bridge.mac_learning, wanted.bridge.mac_learning);
            prop_assert_eq!(bridge.mac_age_seconds, Some(wanted.bridge.mac_age_seconds.into()));
        }
        // Somebody else has the name; it must have been so before.
        Some(_) => {}
        None => {
            let port_has_name = ports_named(engine, &PortName::observed(name)).next().is_some();
            prop_assert!(port_has_name, "{name} is free and {} has no bridge", wanted.name);
        }
    }
    Ok(())
}

fn check_attachment(id: &AttachmentId, wanted: &DesiredAttachment, engine: &Observed) -> Result<(), TestCaseError> {
    let shown: Vec<_> = ports_named(engine, &wanted.port.name).collect();
    let is_there = shown.iter().any(|(bridge, port)| is_as_wanted(id, wanted, bridge, port));
    let bridge = engine.bridges.get(wanted.port.bridge.as_str());
    let takes_ports = bridge.is_some_and(|bridge| match (wanted.port.ownership, &bridge.mark) {
        (Ownership::Managed, mark) => mark.as_ref() == Some(&wanted.network) && bridge.is_our_kind,
        (Ownership::Adopted, mark) => {
            mark.as_ref().is_none_or(|mark| *mark == wanted.network) && bridge.unusable.is_none()
        }
    });
    let name_is_free = shown.is_empty() && !engine.bridges.contains_key(wanted.port.name.as_str());
    if wanted.presence == Presence::Required && takes_ports && name_is_free {
        prop_assert!(is_there, "{id} has no port");
    }
    Ok(())
}

fn check_leftovers(desired: &Desired, engine: &Observed) -> Result<(), TestCaseError> {
    for (name, port) in engine.loose.iter().filter(|(_, port)| port.mark.is_some()) {
        let is_usable = desired.attachments.iter().any(|(id, wanted)| {
            let is_its = port.mark.as_ref().is_some_and(|mark| mark.is_of(&wanted.network, id));
            is_its && wanted.port.name == *name && port.connection.as_ref() == Some(&wanted.port.connection)
        });
        prop_assert!(is_usable, "{name} of {:?} is left on no bridge", port.mark);
    }
    for (name, bridge) in &engine.bridges {
        for (port_name, port) in bridge.ports.iter().filter(|(_, port)| port.mark.is_some()) {
            let is_wanted = desired.attachments.iter().any(|(id, wanted)| is_as_wanted(id, wanted, name, port));
            prop_assert!(is_wanted, "{port_name} of {:?} is left on {name}", port.mark);
        }
        if let Some(network) = &bridge.mark {
            let is_wanted = desired.networks.get(network).is_some_and(|wanted| wanted.bridge.name.as_str() == name);
            let is_used = desired
                .attachments
                .values()
                .any(|wanted| (wanted.port.bridge.as_str(), &wanted.network) == (name, network));
            prop_assert!(is_wanted || is_used || !bridge.ports.is_empty(), "{name} is left");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_operation_is_refused_and_then_the_plan_is_empty(desired in desired_strategy(), engine in engine_strategy()) {
        let achieved = achieve(&desired, engine)?;
        prop_assert_eq!(plan(&desired, &achieved), vec![]);
    }

    #[test]
    fn applying_a_plan_gives_the_desired_state(desired in desired_strategy(), engine in engine_strategy()) {
        let achieved = achieve(&desired, engine)?;
        for network in desired.networks.values() {
            check_network(network, &achieved)?;
        }
        for (id, attachment) in &desired.attachments {
            check_attachment(id, attachment, &achieved)?;
        }
        check_leftovers(&desired, &achieved)?;
    }

    #[test]
    fn what_is_not_ours_is_not_touched(desired in desired_strategy(), engine in engine_strategy()) {
        let before = foreign(&desired, &engine.shown);
        let (_, foreign_ports) = &before;
        for operation in plan(&desired, &engine.shown) {
            let is_marked = |name: &str, network| {
                engine.shown.bridges.get(name).is_some_and(|bridge| bridge.mark.as_ref() == Some(network))
            };
            match &operation {
                Op::RemoveBridge { bridge, network } => prop_assert!(is_marked(bridge, network)),
                Op::UpdateBridge { bridge, network } => {
                    prop_assert!(is_marked(bridge.name.as_str(), network));
                }
                Op::RemovePort { port, .. } | Op::UpdatePort { port, .. } => {
                    prop_assert!(!foreign_ports.iter().any(|(_, name, _)| name == port), "{}", operation);
                }
                Op::CreateBridge { .. } | Op::CreatePort { .. } => {}
            }
        }
        prop_assert_eq!(foreign(&desired, &achieve(&desired, engine)?), before);
    }

    #[test]
    fn an_adopted_bridge_gets_ports_and_nothing_else(desired in desired_strategy(), engine in engine_strategy()) {
        let networks = desired.networks.values();
        let adopted = networks.filter(|network| network.bridge.ownership == Ownership::Adopted);
        let adopted: BTreeSet<_> = adopted.map(|network| &network.name).collect();
        for operation in plan(&desired, &engine.shown) {
            match &operation {
                Op::CreateBridge { network, .. } | Op::UpdateBridge { network, .. } => {
                    prop_assert!(!adopted.contains(network), "{}", operation);
                }
                // A bridge with our mark that some network still asks for stays, too.
                Op::RemoveBridge { bridge, network } => {
                    prop_assert_eq!(engine.shown.bridges[bridge].mark.as_ref(), Some(network));
                    prop_assert!(desired.networks.get(network).is_none_or(|wanted| wanted.bridge.name.as_str() != bridge));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn without_a_mark_only_the_socket_of_an_ended_attachment_goes(desired in desired_strategy(), engine in engine_strategy()) {
        for operation in plan(&desired, &engine.shown) {
            let Op::RemovePort { bridge: None, port: name, mark, connection } = &operation else { continue };
            let port = &engine.shown.loose[name];
            if port.mark.is_none() {
                let (_, ended) = desired.ended.iter().find(|(id, ended)| mark.is_of(&ended.network, id)).unwrap();
                prop_assert_eq!(Some(&ended.connection), port.connection.as_ref());
                prop_assert_eq!(connection, &port.connection);
                let is_in_use = desired.attachments.values().any(|wanted| wanted.port.connection == ended.connection);
                prop_assert!(!is_in_use, "{}", operation);
            }
        }
    }

    #[test]
    fn removals_come_before_bridges_and_bridges_before_ports(desired in desired_strategy(), engine in engine_strategy()) {
        let ranks: Vec<_> = plan(&desired, &engine.shown).iter().map(rank).collect();
        prop_assert!(ranks.is_sorted(), "{:?}", ranks);
    }

    #[test]
    fn bridges_and_ports_may_be_made_in_any_order(desired in desired_strategy(), engine in engine_strategy()) {
        let operations = plan(&desired, &engine.shown);
        let (removals, additions): (Vec<_>, Vec<_>) = operations.into_iter().partition(|operation| rank(operation) == 0);
        let mut reordered = removals;
        reordered.extend(additions.iter().rev().filter(|operation| rank(operation) == 1).cloned());
        reordered.extend(additions.iter().rev().filter(|operation| rank(operation) == 2).cloned());
        let mut other = engine.clone();
        other.apply_all(&reordered).map_err(TestCaseError::fail)?;
        prop_assert_eq!(other.shown, achieve(&desired, engine)?);
    }

    #[test]
    fn a_port_that_fits_is_never_taken_away(desired in desired_strategy(), engine in engine_strategy()) {
        let keep: BTreeSet<_> = desired.attachments.iter().flat_map(|(id, wanted)| {
            let bridge = engine.shown.bridges.get(wanted.port.bridge.as_str());
            let shown = bridge.and_then(|bridge| bridge.ports.get(&wanted.port.name));
            // A bridge with another network's mark is made anew for the network that wants it.
            let is_of_another = bridge.and_then(|bridge| bridge.mark.as_ref()).is_some_and(|mark| *mark != wanted.network);
            let network = desired.networks.get(&wanted.network);
            let is_replaced = is_of_another && network.is_some_and(|network| network.bridge.name == wanted.port.bridge);
            let fits = shown.is_some_and(|port| {
                let is_its = port.mark.as_ref().is_some_and(|mark| mark.is_of(&wanted.network, id));
                is_its && port.connection.as_ref() == Some(&wanted.port.connection)
            });
            let is_on_one_bridge = ports_named(&engine.shown, &wanted.port.name).count() == 1;
            (fits && !is_replaced && is_on_one_bridge).then(|| (Some(wanted.port.bridge.to_string()), wanted.port.name.clone()))
        }).collect();
        for operation in plan(&desired, &engine.shown) {
            if let Op::RemovePort { bridge, port, .. } = operation {
                prop_assert!(!keep.contains(&(bridge, port)));
            }
        }
    }

    #[test]
    fn a_bridge_that_is_in_the_way_is_an_obstacle(desired in desired_strategy(), engine in engine_strategy()) {
        let achieved = achieve(&desired, engine)?;
        let obstacles = obstacles(&desired, &achieved);
        for network in desired.networks.values() {
            let bridge = achieved.bridges.get(network.bridge.name.as_str());
            let is_marked = bridge.is_some_and(|bridge| bridge.mark.as_ref() == Some(&network.name));
            let is_fine = match network.bridge.ownership {
                Ownership::Managed => is_marked,
                Ownership::Adopted => bridge.is_some_and(|bridge| (is_marked || bridge.mark.is_none()) && bridge.unusable.is_none()),
            };
            let is_in_the_way = match (obstacles.get(&network.name), network.bridge.ownership) {
                (Some(Obstacle::BridgeExists { bridge }), Ownership::Managed)
                | (Some(Obstacle::BridgeMissing { bridge } | Obstacle::BridgeUnusable { bridge, .. }), Ownership::Adopted) => {
                    *bridge == network.bridge.name
                }
                _ => false,
            };
            prop_assert_eq!(is_in_the_way, !is_fine, "{}: {:?}", network.name, obstacles.get(&network.name));
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
        prop_assert_eq!(plan(&desired(&networks, &records), &engine.shown), plan(&sorted, &engine.shown));
    }

    /// Only what is wanted and nothing else, whatever was there: the strongest form, for nodes without anything foreign.
    #[test]
    fn a_node_of_our_own_becomes_exactly_as_wanted(bridges in 1..=3_usize, pods in 0..=3_usize, engine in own_engine_strategy()) {
        let networks: Vec<_> = ["blue", "green", "red"][..bridges].iter().map(|name| network(name)).collect();
        let records: Vec<_> = ["c1", "c2", "c3"][..pods].iter().map(|pod| record(pod, &network("blue"))).collect();
        let desired = Desired::new(networks, &records);
        let kind = engine.kind;
        let mut achieved = achieve(&desired, engine)?;
        // What the engine makes of it is no business of a plan, nor is what the mark of a port does not say.
        for bridge in achieved.bridges.values_mut() {
            bridge.state = ElementState::Running;
            for port in bridge.ports.values_mut() {
                (port.state, port.peer) = (ElementState::Running, Peer::Absent);
                port.mark.iter_mut().for_each(|mark| mark.network = bridge.mark.clone());
            }
        }
        prop_assert_eq!(&achieved, &achieve(&desired, Model::empty(kind))?);
        prop_assert_eq!(achieved.bridges.len(), bridges);
        let names: BTreeSet<_> = achieved.bridges["br-blue"].ports.keys().cloned().collect();
        prop_assert_eq!(names, records.iter().map(|record| PortName::of(&record.id)).collect());
    }
}
