use super::model::apply_all;
use super::strategies::{desired_strategy, observed_strategy, own_observed_strategy};
use crate::attachment::AttachmentId;
use crate::desired::{Desired, DesiredAttachment, Presence};
use crate::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Tagging};
use crate::plan::{Obstacle, Op, obstacles, plan};
use crate::port::{PortMark, PortName};
use crate::testing::{network, record};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn achieve(desired: &Desired, mut engine: Observed) -> Result<Observed, TestCaseError> {
    let operations = plan(desired, &engine);
    apply_all(&mut engine, &operations).map_err(TestCaseError::fail)?;
    Ok(engine)
}

/// 0 for what takes away, 1 for bridges, 2 for ports.
fn rank(operation: &Op) -> u8 {
    match operation {
        Op::RemovePort { .. } | Op::RemoveBridge { .. } => 0,
        Op::CreateBridge { .. } | Op::UpdateBridge { .. } => 1,
        Op::CreatePort { .. } | Op::UpdatePort { .. } => 2,
    }
}

/// What is not ours: bridges with their settings, and ports with the bridge that they are on.
fn foreign(engine: &Observed) -> (Vec<String>, Vec<(String, PortName, ObservedPort)>) {
    let bridges = engine.bridges.iter().filter(|(_, bridge)| bridge.mark.is_none());
    let describe = |(name, bridge): (&String, &ObservedBridge)| {
        format!("{name} {} {:?} {:?}", bridge.userspace, bridge.mtu, bridge.state)
    };
    let ports = engine.bridges.iter().flat_map(|(bridge, shown)| {
        let unmarked = shown.ports.iter().filter(|(_, port)| port.mark.is_none());
        unmarked.map(move |(name, port)| (bridge.clone(), name.clone(), port.clone()))
    });
    (bridges.map(describe).collect(), ports.collect())
}

fn ports_named<'a>(engine: &'a Observed, name: &'a PortName) -> impl Iterator<Item = (&'a String, &'a ObservedPort)> {
    engine.bridges.iter().filter_map(move |(bridge, shown)| Some((bridge, shown.ports.get(name)?)))
}

fn is_as_wanted(id: &AttachmentId, wanted: &DesiredAttachment, bridge: &str, port: &ObservedPort) -> bool {
    let tagging = wanted.port.settings.vlan.map_or(Tagging::Untagged, |tag| Tagging::Access(tag.into()));
    let mark = PortMark { network: wanted.network.clone(), attachment: id.to_string() };
    bridge == wanted.port.bridge.as_str()
        && port.mark == Some(mark)
        && port.connection.as_ref() == Some(&wanted.port.connection)
        && (port.mtu, port.tagging) == (Some(wanted.port.settings.mtu.into()), tagging)
}

fn check_network(wanted: &usnet_crds::NodeNetwork, engine: &Observed) -> Result<(), TestCaseError> {
    let name = wanted.bridge.name.as_str();
    match engine.bridges.get(name) {
        Some(bridge) if bridge.mark.as_ref() == Some(&wanted.name) => {
            prop_assert!(bridge.userspace && bridge.mtu == Some(wanted.bridge.mtu.into()), "{bridge:?}");
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
    let bridge_is_ours = bridge.is_some_and(|bridge| bridge.mark.as_ref() == Some(&wanted.network) && bridge.userspace);
    let name_is_free = shown.is_empty() && !engine.bridges.contains_key(wanted.port.name.as_str());
    if wanted.presence == Presence::Required && bridge_is_ours && name_is_free {
        prop_assert!(is_there, "{id} has no port");
    }
    Ok(())
}

fn check_leftovers(desired: &Desired, engine: &Observed) -> Result<(), TestCaseError> {
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
    fn no_operation_is_refused_and_then_the_plan_is_empty(desired in desired_strategy(), engine in observed_strategy()) {
        let achieved = achieve(&desired, engine)?;
        prop_assert_eq!(plan(&desired, &achieved), vec![]);
    }

    #[test]
    fn applying_a_plan_gives_the_desired_state(desired in desired_strategy(), engine in observed_strategy()) {
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
    fn what_is_not_ours_is_not_touched(desired in desired_strategy(), engine in observed_strategy()) {
        let before = foreign(&engine);
        let (_, foreign_ports) = &before;
        for operation in plan(&desired, &engine) {
            let is_marked = |name: &str, network| {
                engine.bridges.get(name).is_some_and(|bridge| bridge.mark.as_ref() == Some(network))
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
        prop_assert_eq!(foreign(&achieve(&desired, engine)?), before);
    }

    #[test]
    fn removals_come_before_bridges_and_bridges_before_ports(desired in desired_strategy(), engine in observed_strategy()) {
        let ranks: Vec<_> = plan(&desired, &engine).iter().map(rank).collect();
        prop_assert!(ranks.is_sorted(), "{:?}", ranks);
    }

    #[test]
    fn bridges_and_ports_may_be_made_in_any_order(desired in desired_strategy(), engine in observed_strategy()) {
        let operations = plan(&desired, &engine);
        let (removals, additions): (Vec<_>, Vec<_>) = operations.into_iter().partition(|operation| rank(operation) == 0);
        let mut reordered = removals;
        reordered.extend(additions.iter().rev().filter(|operation| rank(operation) == 1).cloned());
        reordered.extend(additions.iter().rev().filter(|operation| rank(operation) == 2).cloned());
        let mut other = engine.clone();
        apply_all(&mut other, &reordered).map_err(TestCaseError::fail)?;
        prop_assert_eq!(other, achieve(&desired, engine)?);
    }

    #[test]
    fn a_port_that_fits_is_never_taken_away(desired in desired_strategy(), engine in observed_strategy()) {
        let keep: BTreeSet<_> = desired.attachments.iter().flat_map(|(id, wanted)| {
            let mark = PortMark { network: wanted.network.clone(), attachment: id.to_string() };
            let shown = engine.bridges.get(wanted.port.bridge.as_str()).and_then(|bridge| bridge.ports.get(&wanted.port.name));
            let fits = shown.is_some_and(|port| {
                port.mark == Some(mark) && port.connection.as_ref() == Some(&wanted.port.connection)
            });
            let is_on_one_bridge = ports_named(&engine, &wanted.port.name).count() == 1;
            (fits && is_on_one_bridge).then(|| (wanted.port.bridge.to_string(), wanted.port.name.clone()))
        }).collect();
        for operation in plan(&desired, &engine) {
            if let Op::RemovePort { bridge, port, .. } = operation {
                prop_assert!(!keep.contains(&(bridge, port)));
            }
        }
    }

    #[test]
    fn a_bridge_that_is_in_the_way_is_an_obstacle(desired in desired_strategy(), engine in observed_strategy()) {
        let achieved = achieve(&desired, engine)?;
        let obstacles = obstacles(&desired, &achieved);
        for network in desired.networks.values() {
            let bridge = achieved.bridges.get(network.bridge.name.as_str());
            let has_bridge = bridge.is_some_and(|bridge| bridge.mark.as_ref() == Some(&network.name));
            let named = Obstacle::BridgeExists { bridge: network.bridge.name.clone() };
            prop_assert_eq!(obstacles.get(&network.name) == Some(&named), !has_bridge, "{}", network.name);
        }
    }

    #[test]
    fn the_order_of_networks_and_records_does_not_matter(
        (networks, records) in (Just(vec!["blue", "green", "red"]).prop_shuffle(), Just(vec!["c1", "c2", "c3"]).prop_shuffle()),
        engine in observed_strategy(),
    ) {
        let desired = |networks: &[&str], records: &[&str]| {
            let records: Vec<_> = records.iter().map(|container| record(container, &network("blue"))).collect();
            Desired::new(networks.iter().map(|name| network(name)), &records)
        };
        let sorted = desired(&["blue", "green", "red"], &["c1", "c2", "c3"]);
        prop_assert_eq!(plan(&desired(&networks, &records), &engine), plan(&sorted, &engine));
    }

    /// Only what is wanted and nothing else, whatever was there: the strongest form, for nodes without anything foreign.
    #[test]
    fn a_node_of_our_own_becomes_exactly_as_wanted(bridges in 1..=3_usize, pods in 0..=3_usize, engine in own_observed_strategy()) {
        let networks: Vec<_> = ["blue", "green", "red"][..bridges].iter().map(|name| network(name)).collect();
        let records: Vec<_> = ["c1", "c2", "c3"][..pods].iter().map(|pod| record(pod, &network("blue"))).collect();
        let desired = Desired::new(networks, &records);
        let mut achieved = achieve(&desired, engine)?;
        // What the engine makes of it is no business of a plan.
        achieved.bridges.values_mut().for_each(|bridge| bridge.state = ElementState::Running);
        prop_assert_eq!(&achieved, &achieve(&desired, Observed::default())?);
        prop_assert_eq!(achieved.bridges.len(), bridges);
        let names: BTreeSet<_> = achieved.bridges["br-blue"].ports.keys().cloned().collect();
        prop_assert_eq!(names, records.iter().map(|record| PortName::of(&record.id)).collect());
    }
}
