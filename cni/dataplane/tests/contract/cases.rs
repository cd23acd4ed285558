//! The cases. Each gets a switch of its own.

use crate::Switch;
use crate::values::{
    achieve, apply, attachment, changed, create_bridge, create_port, desired, network, observe, port, port_name,
    try_apply,
};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::{Engine, EngineError, OpError};
use usnet_dataplane::observed::{ElementState, Tagging};
use usnet_dataplane::plan::{Obstacle, Op, obstacles, plan};
use usnet_dataplane::port::PortMark;

pub(crate) fn what_is_asked_for_is_made_and_taken_away(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let (blue, red) = (network("blue"), changed(&network("red"), 9000, 7));
    let wanted = desired(&[red.clone(), blue], &["c1", "c2"]);
    assert_eq!(achieve(&mut engine, &wanted).len(), 4);

    let shown = observe(&mut engine);
    let bridge = &shown.bridges["br-red"];
    assert_eq!(
        (bridge.mark.as_ref(), bridge.mtu, &bridge.state),
        (Some(&red.name), Some(9000), &ElementState::Running)
    );
    let port = &bridge.ports[&port_name("c1")];
    assert_eq!((port.mtu, port.tagging, &port.state), (Some(9000), Tagging::Access(7), &ElementState::Running));
    assert_eq!(shown.bridges["br-blue"].ports.len(), 0);
    assert!(
        switch.forwards("br-red", port_name("c1").as_str()) && !switch.forwards("br-blue", port_name("c1").as_str())
    );

    achieve(&mut engine, &desired(&[red], &["c2"]));
    let shown = observe(&mut engine);
    assert_eq!(shown.bridges.keys().collect::<Vec<_>>(), ["br-red"]);
    assert_eq!(shown.bridges["br-red"].ports.keys().collect::<Vec<_>>(), [&port_name("c2")]);
    achieve(&mut engine, &Desired::default());
    assert!(observe(&mut engine).bridges.is_empty());
}

pub(crate) fn the_second_time_nothing_changes(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = changed(&network("blue"), 1600, 7);
    let made = achieve(&mut engine, &desired(std::slice::from_ref(&blue), &["c1"]));
    let mark = PortMark { network: blue.name.clone(), attachment: attachment("c1").to_string() };
    let settings = port("c1", &blue).settings;
    let in_place = [
        Op::UpdateBridge { network: blue.name.clone(), bridge: blue.bridge.clone() },
        Op::UpdatePort { port: port_name("c1"), mark: mark.clone(), settings },
    ];
    let before = switch.dump();
    assert_eq!(apply(&mut engine, &made), [Ok(()), Ok(())]);
    assert_eq!(apply(&mut engine, &in_place[..1]), [Ok(())]);
    assert_eq!(switch.dump(), before);

    let removals = [
        Op::RemovePort { bridge: "br-blue".into(), port: port_name("c1"), mark },
        Op::RemoveBridge { bridge: "br-blue".into(), network: blue.name },
    ];
    assert_eq!(apply(&mut engine, &removals), [Ok(()), Ok(())]);
    let before = switch.dump();
    assert_eq!(apply(&mut engine, &removals), [Ok(()), Ok(())]);
    assert_eq!(switch.dump(), before);
    assert_eq!(
        apply(&mut engine, &in_place),
        [Err(OpError::BridgeMissing { bridge: "br-blue".into() }), Err(OpError::PortMissing { port: port_name("c1") })]
    );
    assert_eq!(switch.dump(), before);
}

pub(crate) fn a_foreign_bridge_of_the_same_name_is_left_alone(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    switch.add_foreign_bridge("br-blue");
    let wanted = desired(&[network("blue")], &["c1"]);
    let shown = observe(&mut engine);
    assert_eq!(plan(&wanted, &shown), []);
    let obstacle = Obstacle::BridgeExists { bridge: network("blue").bridge.name };
    assert_eq!(obstacles(&wanted, &shown).into_values().collect::<Vec<_>>(), [obstacle]);

    let before = switch.dump();
    let blue = network("blue");
    let operations = [
        create_bridge(&blue),
        create_port("c1", &blue),
        Op::UpdateBridge { network: blue.name.clone(), bridge: blue.bridge.clone() },
        Op::RemoveBridge { bridge: "br-blue".into(), network: blue.name },
    ];
    let foreign = || Err(OpError::Foreign { what: "bridge br-blue".into() });
    let missing = Err(OpError::BridgeMissing { bridge: "br-blue".into() });
    for (operation, expected) in operations.iter().zip([foreign(), missing, foreign(), foreign()]) {
        assert_eq!(apply(&mut engine, std::slice::from_ref(operation)), [expected], "{operation}");
    }
    assert_eq!(switch.dump(), before);
}

pub(crate) fn a_foreign_port_survives_in_our_bridge(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = network("blue");
    achieve(&mut engine, &desired(std::slice::from_ref(&blue), &["c1"]));
    switch.add_foreign_port("br-blue", "foreign0");
    achieve(&mut engine, &desired(&[changed(&blue, 1600, 7)], &["c2"]));
    assert!(achieve(&mut engine, &Desired::default()).len() == 1, "only our own port goes");

    let remove = [Op::RemoveBridge { bridge: "br-blue".into(), network: blue.name }];
    let before = switch.dump();
    assert_eq!(apply(&mut engine, &remove), [Err(OpError::BridgeInUse { bridge: "br-blue".into() })]);
    assert_eq!(switch.dump(), before);
    let ports = &observe(&mut engine).bridges["br-blue"].ports;
    assert_eq!(ports.keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["foreign0"]);

    switch.remove_port("br-blue", "foreign0");
    assert_eq!(achieve(&mut engine, &Desired::default()), remove);
}

pub(crate) fn what_others_took_away_comes_back(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let wanted = desired(&[network("blue"), network("red")], &["c1", "c2"]);
    achieve(&mut engine, &wanted);
    let identity = switch.port_identity(port_name("c2").as_str());

    switch.remove_port("br-blue", port_name("c1").as_str());
    assert_eq!(achieve(&mut engine, &wanted), [create_port("c1", &network("blue"))]);
    assert_eq!(switch.port_identity(port_name("c2").as_str()), identity, "a port beside it was touched");

    switch.remove_bridge("br-blue");
    assert_eq!(achieve(&mut engine, &wanted).len(), 3);
    for container in ["c1", "c2"] {
        assert!(switch.forwards("br-blue", port_name(container).as_str()), "{container}");
    }
}

pub(crate) fn a_port_that_others_moved_is_brought_back(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let wanted = desired(&[network("blue"), network("red")], &["c1"]);
    achieve(&mut engine, &wanted);
    switch.move_port(port_name("c1").as_str(), "br-blue", "br-red");
    assert_eq!(observe(&mut engine).bridges["br-red"].ports.len(), 1);

    let refused = &apply(&mut engine, &[create_port("c1", &network("blue"))])[0];
    assert!(
        matches!(refused, Err(OpError::PortDiffers { found, .. }) if found.contains("another bridge")),
        "{refused:?}"
    );
    assert_eq!(achieve(&mut engine, &wanted).len(), 2);
    let shown = observe(&mut engine);
    assert_eq!((shown.bridges["br-blue"].ports.len(), shown.bridges["br-red"].ports.len()), (1, 0));
    assert!(switch.forwards("br-blue", port_name("c1").as_str()));
}

pub(crate) fn settings_change_in_place(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = network("blue");
    achieve(&mut engine, &desired(std::slice::from_ref(&blue), &["c1", "c2"]));
    let name = port_name("c1");
    let identity = switch.port_identity(name.as_str());
    for network in [changed(&blue, 9000, 7), changed(&blue, 1600, 8), blue] {
        let operations = achieve(&mut engine, &desired(std::slice::from_ref(&network), &["c1", "c2"]));
        assert_eq!(operations.len(), 3, "{operations:?}");
        let shown = observe(&mut engine);
        let tagging =
            network.port.vlan.map_or(Tagging::Untagged, |usnet_crds::Vlan::Access { tag }| Tagging::Access(tag.into()));
        assert_eq!(shown.bridges["br-blue"].mtu, Some(network.bridge.mtu.into()));
        assert_eq!(shown.bridges["br-blue"].ports[&name].tagging, tagging);
        assert_eq!(switch.port_identity(name.as_str()), identity);
    }
}

pub(crate) fn a_bridge_without_our_mark_is_no_longer_ours(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    achieve(&mut engine, &desired(&[network("blue")], &[]));
    switch.remove_mark("br-blue");
    assert_eq!(plan(&Desired::default(), &observe(&mut engine)), []);
    let before = switch.dump();
    let remove = [Op::RemoveBridge { bridge: "br-blue".into(), network: network("blue").name }];
    assert_eq!(apply(&mut engine, &remove), [Err(OpError::Foreign { what: "bridge br-blue".into() })]);
    assert_eq!(apply(&mut engine, &[create_port("c1", &network("blue"))]).len(), 1);
    assert_eq!(switch.dump(), before);
}

pub(crate) fn a_failing_operation_does_not_hold_up_the_others(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    switch.add_foreign_bridge("br-green");
    let (blue, green, red) = (network("blue"), network("green"), network("red"));
    let operations = [
        create_bridge(&blue),
        create_bridge(&green),
        create_bridge(&red),
        create_port("c1", &blue),
        create_port("c2", &green),
        create_port("c3", &network("nowhere")),
        create_port("c4", &red),
    ];
    assert_eq!(
        apply(&mut engine, &operations),
        [
            Ok(()),
            Err(OpError::Foreign { what: "bridge br-green".into() }),
            Ok(()),
            Ok(()),
            Err(OpError::BridgeMissing { bridge: "br-green".into() }),
            Err(OpError::BridgeMissing { bridge: "br-nowhere".into() }),
            Ok(()),
        ]
    );
    let shown = observe(&mut engine);
    assert_eq!((shown.bridges["br-blue"].ports.len(), shown.bridges["br-red"].ports.len()), (1, 1));
    assert!(shown.bridges["br-green"].ports.is_empty());
}

pub(crate) fn one_socket_serves_one_port(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = network("blue");
    achieve(&mut engine, &desired(std::slice::from_ref(&blue), &["c1"]));
    let mut thief = port("c2", &blue);
    thief.connection = port("c1", &blue).connection;
    let usnet_dataplane::port::Connection::VhostUser { socket } = &thief.connection;
    let in_use = Err(OpError::SocketInUse { socket: socket.as_path().to_owned() });
    let before = switch.dump();
    let create = [Op::CreatePort { network: blue.name, attachment: attachment("c2"), port: thief }];
    assert_eq!(apply(&mut engine, &create), [in_use]);
    assert_eq!(switch.dump(), before);
}

/// Two attachments with one port name, which only the engine as a whole can find out.
pub(crate) fn a_name_that_is_asked_for_twice_is_given_once(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let blue = network("blue");
    let mut second = port("c2", &blue);
    second.name = port_name("c1");
    let operations = [
        create_bridge(&blue),
        create_port("c1", &blue),
        create_port("c3", &blue),
        Op::CreatePort { network: blue.name.clone(), attachment: attachment("c2"), port: second },
        create_port("c4", &blue),
    ];
    let results = apply(&mut engine, &operations);
    let failed: Vec<_> = results.iter().map(Result::is_err).collect();
    assert_eq!(failed, [false, false, false, true, false], "{results:?}");
    assert!(matches!(&results[3], Err(OpError::PortDiffers { found, .. }) if found.contains("c1.net1")), "{results:?}");
}

pub(crate) fn a_switch_that_does_not_act_is_an_error_and_made_good_later(switch: &mut impl Switch) {
    let wanted = desired(&[network("blue")], &["c1"]);
    let mut engine = switch.engine();
    achieve(&mut engine, &desired(&[network("red")], &[]));
    switch.kill_forwarding();
    let operations = plan(&wanted, &observe(&mut engine));
    for _ in 0..2 {
        let result = try_apply(&mut engine, &operations);
        assert!(matches!(result, Err(EngineError::NotActing { .. })), "{result:?}");
    }
    switch.start_forwarding();
    achieve(&mut engine, &wanted);
    assert!(switch.forwards("br-blue", port_name("c1").as_str()));
}

pub(crate) fn a_switch_that_does_not_answer_never_looks_empty(switch: &mut impl Switch) {
    let wanted = desired(&[network("blue")], &["c1"]);
    let mut engine = switch.engine();
    achieve(&mut engine, &wanted);
    switch.kill_control();
    assert!(usnet_ovsdb::blocking::ready(engine.observe()).expect("a blocking engine").is_err());
    assert!(try_apply(&mut engine, &[create_bridge(&network("red"))]).is_err());
    switch.start_control();
    assert_eq!(plan(&wanted, &observe(&mut engine)), []);
}

pub(crate) fn two_hundred_networks_in_one_go(switch: &mut impl Switch) {
    let mut engine = switch.engine();
    let networks: Vec<_> = (0..200).map(|number| network(&format!("n{number}"))).collect();
    assert_eq!(achieve(&mut engine, &desired(&networks, &["c1", "c2"])).len(), 202);
    let shown = observe(&mut engine);
    assert!(shown.bridges.values().all(|bridge| bridge.state == ElementState::Running));
    assert_eq!(achieve(&mut engine, &Desired::default()).len(), 202);
}

/// As the plugin does it: several pods at once, each with a connection of its own.
pub(crate) fn several_attach_at_once<S: Switch + Sync>(switch: &mut S) {
    let switch = &*switch;
    let blue = network("blue");
    achieve(&mut switch.engine(), &desired(std::slice::from_ref(&blue), &[]));
    let containers = ["c1", "c2", "c3", "c4", "c5", "c6"];
    std::thread::scope(|scope| {
        for container in containers {
            let blue = &blue;
            scope.spawn(move || {
                assert_eq!(apply(&mut switch.engine(), &[create_port(container, blue)]), [Ok(())], "{container}");
            });
        }
    });
    assert_eq!(plan(&desired(&[blue], &containers), &observe(&mut switch.engine())), []);
}
