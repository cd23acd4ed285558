//! Desired objects are created, and deleted when they are not desired any more.

use crate::switch::Switch;
use crate::values::{
    Values, access, apply, bridge, bridge_missing, changed, converge, observe, port_name, remove_bridge, update_bridge,
};
use usnet_crds::{MacAge, MacLearning, MacTableSize};
use usnet_dataplane::bridge_settings::MacTable;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::{ElementState, Peer};
use usnet_dataplane::plan::{Op, diff};
use usnet_dataplane::tagging::Tagging;

pub(crate) fn desired_objects_are_created_and_deleted(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let (blue, red) = (switch.network("blue"), changed(&switch.network("red"), 9000, 7));
    let desired = switch.desired(&[red.clone(), blue.clone()], &["c1", "c2"]);
    assert_eq!(converge(&mut engine, &desired).len(), 4);

    let observed = observe(&mut engine);
    let created = &observed.bridges[bridge(&red)];
    assert_eq!((created.network(), created.settings.mtu), (Some(&red.name), switch.bridge_mtu(&red)));
    assert_eq!((created.has_supported_datapath, &created.state), (true, &ElementState::Running));
    let port = &created.ports[&port_name("c1")];
    assert_eq!((port.settings.mtu, &port.state), (Some(9000), &ElementState::Running));
    assert_eq!(port.settings.tagging, Tagging::Vlan(access(7)));
    // The other end of a device is there from the beginning.
    let peer = if switch.backend("c1").is_of_kernel() { Peer::Connected } else { Peer::Absent };
    assert_eq!((port.settings.is_enabled, port.peer), (true, peer));
    assert_eq!(port.backend.as_ref(), Some(&switch.backend("c1")));
    assert_eq!((observed.bridges[bridge(&blue)].ports.len(), observed.unbridged_ports.len()), (0, 0));
    assert!(switch.forwards(bridge(&red), &port_name("c1")) && !switch.forwards(bridge(&blue), &port_name("c1")));

    converge(&mut engine, &switch.desired(std::slice::from_ref(&red), &["c2"]));
    let observed = observe(&mut engine);
    assert_eq!(observed.bridges.keys().collect::<Vec<_>>(), [bridge(&red)]);
    assert_eq!(observed.bridges[bridge(&red)].ports.keys().collect::<Vec<_>>(), [&port_name("c2")]);
    converge(&mut engine, &Desired::default());
    let observed = observe(&mut engine);
    assert!(observed.bridges.is_empty() && observed.unbridged_ports.is_empty(), "{observed:?}");
}

pub(crate) fn a_second_apply_changes_nothing(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = changed(&switch.network("blue"), 1600, 7);
    let created = converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let port = switch.desired_port("c1", &blue);
    let in_place = [update_bridge(&blue), Op::UpdatePort { port: port.into() }];
    let before = switch.dump();
    assert_eq!(apply(&mut engine, &created), [Ok(()), Ok(())]);
    assert_eq!(apply(&mut engine, &in_place[..1]), [Ok(())]);
    assert_eq!(switch.dump(), before);

    let removals = [switch.remove_port_op("c1", &blue), remove_bridge(&blue)];
    assert_eq!(apply(&mut engine, &removals), [Ok(()), Ok(())]);
    let before = switch.dump();
    assert_eq!(apply(&mut engine, &removals), [Ok(()), Ok(())]);
    assert_eq!(switch.dump(), before);
    let missing = Err(OpError::PortMissing { port: port_name("c1") });
    assert_eq!(apply(&mut engine, &in_place), [bridge_missing(&blue), missing]);
    assert_eq!(switch.dump(), before);
}

pub(crate) fn settings_change_in_place(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    let name = port_name("c1");
    let identity = switch.port_identity(&name);
    for network in [changed(&blue, 9000, 7), changed(&blue, 1600, 8), blue] {
        converge(&mut engine, &switch.desired(std::slice::from_ref(&network), &["c1", "c2"]));
        let observed = &observe(&mut engine).bridges[bridge(&network)];
        let tagging = Tagging::from(network.port.vlan.clone());
        assert_eq!(observed.settings.mtu, switch.bridge_mtu(&network));
        let port = &observed.ports[&name];
        assert_eq!((&port.settings.tagging, port.settings.mtu), (&tagging, Some(network.bridge.mtu.into())));
        assert_eq!(switch.port_identity(&name), identity);
    }
}

pub(crate) fn learning_and_age_of_mac_addresses_change_in_place(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let mut blue = switch.network("blue");
    converge(&mut engine, &switch.desired(std::slice::from_ref(&blue), &["c1"]));
    let identity = switch.port_identity(&port_name("c1"));
    for (learning, age) in [(MacLearning::Disabled, 600), (MacLearning::Disabled, 60), (MacLearning::Enabled, 3600)] {
        blue.bridge.mac_learning = learning;
        blue.bridge.mac_age_seconds = MacAge::try_from(age).expect("an age");
        let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
        assert_eq!(converge(&mut engine, &desired), [update_bridge(&blue)]);
        let observed = &observe(&mut engine).bridges[bridge(&blue)];
        assert_eq!((observed.settings.mac_learning, observed.settings.mac_age_seconds), (learning, Some(age)));
        switch.change_mac_settings(bridge(&blue));
        assert_eq!(converge(&mut engine, &desired), [update_bridge(&blue)], "others changed it");
    }
    assert_eq!(switch.port_identity(&port_name("c1")), identity);
    // It has them from the first moment on as well.
    blue.bridge.mac_learning = MacLearning::Disabled;
    converge(&mut engine, &Desired::default());
    assert_eq!(converge(&mut engine, &switch.desired(&[blue], &[])).len(), 1);
}

pub(crate) fn the_size_of_the_mac_table_is_set_and_kept(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let mut blue = switch.network("blue");
    for size in [8192, 16, 900_000] {
        blue.bridge.mac_table_size = MacTableSize::try_from(size).expect("a size");
        let desired = switch.desired(std::slice::from_ref(&blue), &["c1"]);
        converge(&mut engine, &desired);
        let observed = |engine: &mut _| observe(engine).bridges[bridge(&blue)].settings.mac_table;
        assert_eq!(observed(&mut engine), MacTable::Limited(size));
        switch.change_mac_table(bridge(&blue));
        assert_eq!(converge(&mut engine, &desired), [update_bridge(&blue)], "others changed it from {size}");
        assert_eq!(observed(&mut engine), MacTable::Limited(size));
    }
}

pub(crate) fn two_hundred_networks_in_one_go(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let networks: Vec<_> = (0..200).map(|number| switch.network(&format!("n{number}"))).collect();
    assert_eq!(converge(&mut engine, &switch.desired(&networks, &["c1", "c2"])).len(), 202);
    let observed = observe(&mut engine);
    assert!(observed.bridges.values().all(|bridge| bridge.state == ElementState::Running));
    assert_eq!(converge(&mut engine, &Desired::default()).len(), 202);
}

/// As the plugin does it: several pods at once, each with a connection of its own.
pub(crate) fn several_attach_at_once<S: Switch + Sync>(switch: &mut S) {
    let switch = &*switch;
    let blue = switch.network("blue");
    converge(&mut switch.engine(), &switch.desired(std::slice::from_ref(&blue), &[]));
    let containers = ["c1", "c2", "c3", "c4", "c5", "c6"];
    std::thread::scope(|scope| {
        for container in containers {
            let blue = &blue;
            scope.spawn(move || {
                let create = [switch.create_port(container, blue)];
                assert_eq!(apply(&mut switch.engine(), &create), [Ok(())], "{container}");
            });
        }
    });
    let observed = observe(&mut switch.engine());
    assert_eq!(diff(&switch.desired(std::slice::from_ref(&blue), &containers), &observed), []);
    assert_eq!(observed.bridges[bridge(&blue)].ports.len(), containers.len());
}
