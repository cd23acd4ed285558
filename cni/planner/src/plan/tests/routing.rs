//! Gateways and routing tables: the operations on an engine in memory, and properties of plans.

use super::model::Model;
use crate::model::desired::Desired;
use crate::model::observed::Observed;
use crate::model::routing::{NetworkGateway, ObservedGateway, RoutingTable};
use crate::plan::{Blocker, Op, RoutingOp, blockers, diff};
use crate::testing::network_with;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use usnet_crds::{EngineKind, Gateway, NodeNetwork};

/// What an engine refuses is an error.
pub(super) fn apply(observed: &mut Observed, operation: &RoutingOp) -> Result<(), String> {
    let routing = &mut observed.routing;
    match operation {
        RoutingOp::RemoveGateway { network } => {
            routing.gateways.remove(network).map(drop).ok_or("no such gateway".to_owned())
        }
        RoutingOp::CreateTable { table, .. } => match routing.tables.insert(table.clone(), true) {
            Some(true) => Err("it is there already".to_owned()),
            Some(false) | None => Ok(()),
        },
        RoutingOp::RemoveTable { table } => {
            let is_used = routing.gateways.values().any(|gateway| gateway.table.as_ref() == Some(table));
            let removed = routing.tables.remove(table).ok_or("no such table")?;
            if is_used { Err(format!("it is in use ({removed})")) } else { Ok(()) }
        }
        RoutingOp::SetGateway { gateway } => {
            let bridge = observed.bridges.get(gateway.bridge.as_str()).ok_or("no such bridge")?;
            let is_own = bridge.network() == Some(&gateway.network);
            let is_free = !routing.foreign_gateways.contains_key(gateway.bridge.as_str());
            let has_table = routing.tables.get(&gateway.table) == Some(&true);
            let before = routing.gateways.insert(gateway.network.clone(), as_observed(gateway));
            let changes = before != Some(as_observed(gateway));
            match (is_own, is_free, has_table, changes) {
                (true, true, true, true) => Ok(()),
                state => Err(format!("own bridge, free, table, changes: {state:?}")),
            }
        }
    }
}

fn as_observed(gateway: &NetworkGateway) -> ObservedGateway {
    ObservedGateway {
        bridge: (!gateway.is_held).then(|| gateway.bridge.to_string()),
        mac: gateway.mac.octets(),
        mtu: gateway.mtu.get().into(),
        addresses: gateway.addresses.clone(),
        table: Some(gateway.table.clone()),
        is_enabled: !gateway.is_held,
        is_twice: false,
        limits_neighbours: true,
        excess: None,
    }
}

fn with_gateway(name: &str, address: &str, domain: Option<&str>) -> NodeNetwork {
    let routing_domain = domain.map(|domain| domain.parse().unwrap());
    let gateway = Gateway { addresses: vec![address.parse().unwrap()], routing_domain };
    NodeNetwork { gateway: Some(gateway), ..network_with(EngineKind::Vpp, name) }
}

fn desired(networks: Vec<NodeNetwork>) -> Desired {
    Desired::new(networks, [])
}

fn texts(operations: &[Op]) -> Vec<String> {
    operations.iter().filter(|op| matches!(op, Op::Routing(_))).map(ToString::to_string).collect()
}

fn converged(desired: &Desired) -> Model {
    let mut engine = Model::empty(EngineKind::Vpp);
    engine.apply_all(&diff(desired, &engine.observed)).unwrap();
    engine
}

#[test]
fn networks_of_one_domain_share_a_table_and_others_have_their_own() {
    let all = desired(vec![
        with_gateway("blue", "10.1.0.1/24", Some("a")),
        with_gateway("green", "10.2.0.1/24", Some("a")),
        with_gateway("red", "10.1.0.1/24", None),
    ]);
    let engine = converged(&all);
    let tables: Vec<String> = engine.observed.routing.tables.keys().map(ToString::to_string).collect();
    assert_eq!(tables, ["the routing table of network red", "the routing table of domain a"]);
    let name: usnet_crds::NetworkName = "blue".parse().unwrap();
    let blue = &all.networks[&name];
    assert_eq!(engine.observed.routing.gateways[&blue.name].table, Some(RoutingTable::Domain("a".parse().unwrap())));

    // The gateway goes before its bridge, and the table last.
    let (id, red) = (&blue.bridge.name, with_gateway("red", "10.1.0.1/24", Some("a")));
    let operations = diff(&desired(vec![red.clone()]), &engine.observed);
    let red_id = &red.bridge.name;
    assert_eq!(
        texts(&operations),
        [
            "remove the gateway of network blue".to_owned(),
            "remove the gateway of network green".to_owned(),
            format!(
                "set 10.1.0.1/24 with the routing table of domain a on the gateway of network red on bridge {red_id}"
            ),
            "remove the routing table of network red".to_owned(),
        ]
    );
    let place = |text: &str| operations.iter().position(|op| op.to_string() == text).unwrap();
    let removed = place(&format!("remove bridge {id} of network blue"));
    assert!(place("remove the gateway of network blue") < removed);
}

#[test]
fn a_gateway_of_others_is_reported_and_kept() {
    let wanted = desired(vec![with_gateway("blue", "10.1.0.1/24", None)]);
    let plain = desired(vec![network_with(EngineKind::Vpp, "blue")]);
    let mut engine = converged(&plain);
    let bridge = wanted.networks.values().next().unwrap().bridge.name.clone();
    engine.observed.routing.foreign_gateways.insert(bridge.to_string(), "loop0".to_owned());
    assert_eq!(diff(&wanted, &engine.observed), []);
    let (name, interface) = ("blue".parse().unwrap(), "loop0".to_owned());
    assert_eq!(
        blockers(&wanted, &engine.observed),
        BTreeMap::from([(name, Blocker::GatewayExists { bridge, interface })])
    );
    assert_eq!(blockers(&plain, &engine.observed), BTreeMap::new(), "a network without a gateway does not need it");
}

#[test]
fn a_held_gateway_is_set_down_once_and_up_again() {
    let wanted = desired(vec![with_gateway("blue", "10.1.0.1/24", None), with_gateway("red", "10.2.0.1/24", None)]);
    let held = wanted.clone().with_held_gateways(["blue".parse().unwrap()].into());
    let mut engine = converged(&wanted);
    let operations = diff(&held, &engine.observed);
    assert_eq!(texts(&operations), ["set the gateway of network blue down"]);
    engine.apply_all(&operations).unwrap();
    assert_eq!(diff(&held, &engine.observed), []);
    let bridge = &wanted.networks.values().next().unwrap().bridge.name;
    let up = format!(
        "set 10.1.0.1/24 with the routing table of network blue on the gateway of network blue on bridge {bridge}"
    );
    assert_eq!(texts(&diff(&wanted, &engine.observed)), [up]);
}

/// The spec is gone, as when its compiled network cannot be read: pods go on.
#[test]
fn a_gateway_stays_with_the_bridge_of_attached_pods() {
    let network = with_gateway("blue", "10.1.0.1/24", None);
    let record = crate::testing::record("c1", &network);
    let mut engine = Model::empty(EngineKind::Vpp);
    engine.apply_all(&diff(&Desired::new([network], [&record]), &Observed::default())).unwrap();
    assert_eq!(diff(&Desired::new([], [&record]), &engine.observed), []);
}

fn network_strategy(name: &'static str) -> impl Strategy<Value = Option<NodeNetwork>> {
    let address = select(&["10.1.0.1/24", "10.2.0.1/24"][..]);
    let gateway = option::weighted(0.8, (address, option::of(select(&["a", "b"][..]))));
    option::weighted(0.8, gateway).prop_map(move |network| {
        network.map(|gateway| match gateway {
            Some((address, domain)) => with_gateway(name, address, domain),
            None => network_with(EngineKind::Vpp, name),
        })
    })
}

fn networks_strategy() -> impl Strategy<Value = Desired> {
    let each = ["blue", "green", "red"].map(network_strategy);
    each.prop_map(|networks| desired(networks.into_iter().flatten().collect()))
}

/// What others may do to what is there.
fn drift(engine: &mut Model, which: u8) {
    let routing = &mut engine.observed.routing;
    if let Some(gateway) = routing.gateways.values_mut().next() {
        match which {
            1 => gateway.bridge = None,
            2 => gateway.addresses.clear(),
            3 => gateway.table = None,
            4 => gateway.is_enabled = false,
            5 => gateway.is_twice = true,
            6 => gateway.mac = [2; 6],
            9 => gateway.limits_neighbours = false,
            _ => {}
        }
    }
    if which == 7 {
        routing.tables.values_mut().for_each(|is_complete| *is_complete = false);
    }
    if which == 8 {
        let bridges: Vec<String> = engine.observed.bridges.keys().cloned().collect();
        let routing = &mut engine.observed.routing;
        routing.gateways.clear();
        routing.foreign_gateways = bridges.into_iter().take(1).map(|bridge| (bridge, "loop9".to_owned())).collect();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_plan_converges_in_one_step_and_leaves_what_others_own(
        before in networks_strategy(), after in networks_strategy(), which in 0_u8..10,
    ) {
        let mut engine = converged(&before);
        drift(&mut engine, which);
        let foreign = engine.observed.routing.foreign_gateways.clone();
        let operations = diff(&after, &engine.observed);
        engine.apply_all(&operations).map_err(TestCaseError::fail)?;
        prop_assert_eq!(diff(&after, &engine.observed), vec![]);
        prop_assert_eq!(&engine.observed.routing.foreign_gateways, &foreign);
        for network in after.networks.values().filter_map(|network| NetworkGateway::new(network)) {
            let is_blocked = foreign.contains_key(network.bridge.as_str());
            let actual = engine.observed.routing.gateways.get(&network.network);
            prop_assert!(is_blocked || actual == Some(&as_observed(&network)), "{:?}", actual);
        }
    }
}
