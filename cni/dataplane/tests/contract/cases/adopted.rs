//! Ports are added to an adopted bridge, and nothing else of it changes.

use crate::switch::Settings;
use crate::values::{Values, access, apply, bridge, converge, observe, port_name};
use usnet_crds::{MacAge, MacLearning, Mtu, NodeNetwork, Ownership};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::{Op, diff};
use usnet_dataplane::tagging::Tagging;

/// A network that would configure its bridge differently, if it owned it.
fn adopting(switch: &impl Settings) -> NodeNetwork {
    let mut blue = switch.network("blue");
    blue.bridge.ownership = Ownership::Adopted;
    blue.bridge.mtu = Mtu::try_from(9000).expect("an MTU");
    blue.bridge.mac_learning = MacLearning::Disabled;
    blue.bridge.mac_age_seconds = MacAge::try_from(600).expect("an age");
    blue
}

pub(crate) fn an_adopted_bridge_gets_ports_and_nothing_else(switch: &mut impl Settings) {
    let mut engine = switch.engine();
    let blue = adopting(switch);
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]);
    switch.add_foreign_bridge(bridge(&blue));
    let foreign = switch.add_foreign_port(bridge(&blue));
    let before = switch.bridge_settings(bridge(&blue));

    assert_eq!(converge(&mut engine, &desired), ["c1", "c2"].map(|container| switch.create_port(container, &blue)));
    let observed = &observe(&mut engine).bridges[bridge(&blue)];
    assert_eq!((observed.owner.as_ref(), observed.ports.len()), (None, 3));
    assert_eq!(observed.ports[&port_name("c1")].settings.mtu, Some(9000));
    assert!(switch.forwards(bridge(&blue), &port_name("c1")));
    assert_eq!(switch.bridge_settings(bridge(&blue)), before);

    switch.remove_port(bridge(&blue), &port_name("c1"));
    assert_eq!(converge(&mut engine, &desired), [switch.create_port("c1", &blue)]);
    assert_eq!(converge(&mut engine, &Desired::default()).len(), 2);
    let observed = &observe(&mut engine).bridges[bridge(&blue)];
    assert_eq!(observed.ports.keys().collect::<Vec<_>>(), [&foreign]);
    assert_eq!(switch.bridge_settings(bridge(&blue)), before);
}

pub(crate) fn a_missing_bridge_is_not_created_to_be_adopted(switch: &mut impl Settings) {
    let mut engine = switch.engine();
    let blue = adopting(switch);
    let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
    let before = switch.dump();
    assert_eq!(diff(&desired, &observe(&mut engine)), []);
    let refused = &apply(&mut engine, &[switch.create_port("c1", &blue)])[0];
    assert!(
        matches!(refused, Err(OpError::BridgeUnusable { found, .. }) if found.contains("does not exist")),
        "{refused:?}"
    );
    assert_eq!(switch.dump(), before);
    // The ports come by themselves with the bridge.
    switch.add_foreign_bridge(bridge(&blue));
    assert_eq!(converge(&mut engine, &desired), [switch.create_port("c1", &blue)]);
}

pub(crate) fn a_bridge_of_another_network_is_not_adopted(switch: &mut impl Settings) {
    let mut engine = switch.engine();
    let blue = adopting(switch);
    let mut red = switch.network("red");
    red.bridge.name = blue.bridge.name.clone();
    converge(&mut engine, &switch.desired(std::slice::from_ref(&red), &[]));
    let before = switch.dump();
    let refused = &apply(&mut engine, &[switch.create_port("c1", &blue)])[0];
    assert!(matches!(refused, Err(OpError::BridgeUnusable { found, .. }) if found.contains("red")), "{refused:?}");
    assert_eq!(switch.dump(), before);
}

/// For engines that learn MAC addresses for each VLAN.
pub(crate) fn networks_that_share_an_adopted_bridge_leave_each_others_ports_alone(switch: &mut impl Settings) {
    let mut engine = switch.engine();
    let (mut blue, mut red) = (adopting(switch), switch.network("red"));
    red.bridge = blue.bridge.clone();
    (blue.port.vlan, red.port.vlan) = (Some(access(5)), Some(access(6)));
    switch.add_foreign_bridge(bridge(&blue));
    let foreign = switch.add_foreign_port(bridge(&blue));
    let both = |blue: &NodeNetwork, red: &NodeNetwork| {
        let (one, other) = (blue.clone(), red.clone());
        switch.with_pods(switch.desired(&[one, red.clone()], &["c1"]), [("c2", &other)])
    };
    assert_eq!(converge(&mut engine, &both(&blue, &red)).len(), 2);
    let identities = ["c1", "c2"].map(|container| switch.port_identity(&port_name(container)));

    // A change of one network is a change of its own ports.
    red.port.vlan = Some(access(7));
    let operations = converge(&mut engine, &both(&blue, &red));
    let [Op::UpdatePort { port }] = operations.as_slice() else { panic!("{operations:?}") };
    assert_eq!(port.name, port_name("c2"));
    let observed = &observe(&mut engine).bridges[bridge(&blue)];
    let tagging = |container| observed.ports[&port_name(container)].settings.tagging.clone();
    assert_eq!(["c1", "c2"].map(tagging), [5, 7].map(|tag| Tagging::Vlan(access(tag))));

    // So is its end.
    let operations = converge(&mut engine, &switch.desired(std::slice::from_ref(&red), &[]));
    assert_eq!(operations.len(), 2, "both pods ended");
    assert_eq!(converge(&mut engine, &both(&blue, &red)).len(), 2);
    let second = switch.port_identity(&port_name("c2"));
    let operations = converge(&mut engine, &switch.desired(std::slice::from_ref(&red), &["c2"]));
    assert!(
        matches!(operations.as_slice(), [Op::RemovePort { port, .. }] if *port == port_name("c1")),
        "{operations:?}"
    );
    assert_eq!(switch.port_identity(&port_name("c2")), second);
    assert_ne!(second, identities[1], "it was created again in between");
    let observed = &observe(&mut engine).bridges[bridge(&blue)];
    assert!(observed.ports.contains_key(&foreign) && observed.owner.is_none());
}
