//! The agent alone adds and removes the networks of its node.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::{Node, network, until};
use crate::support::selecting_agent::{SelectingAgent, compiled, name};
use std::sync::Arc;
use usnet_agent::model::input::Compiled;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{EngineKind, NodeNetwork, SocketRole};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_test_openvswitch::OpenVswitch;

#[test]
fn a_draining_network_is_removed_with_its_last_pod() {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let agent = SelectingAgent::start(&testbed.paths);
    agent.apply(compiled("blue", 5));
    testbed.wait_until_programmed("blue");
    agent.wait_until_through(5);
    let socket = SocketPath::try_from(testbed.ovs.folder().join("c1.sock")).unwrap();
    let connection = PortBackend::VhostUser { socket, engine_role: SocketRole::Client };
    let pod = testbed.record("c1", &network("blue"), connection);
    testbed.write(&pod);
    agent.wait_for_network("blue", "Programmed  1");

    agent.drain("blue", 8);
    let report = agent.wait_until_through(8);
    assert_eq!(report.networks[0].state, NetworkState::Draining);
    assert!(matches!(testbed.file("blue"), Some(NetworkFile::Draining { .. })));
    assert_eq!(testbed.vsctl("list-ports br-blue"), pod.port.name.as_str());

    std::fs::remove_file(testbed.paths.attachments().join(format!("{}.json", pod.id))).unwrap();
    let report = agent.wait_for("blue is removed", |report| report.networks.is_empty());
    assert_eq!((testbed.bridges(), testbed.file("blue"), report.through()), (Vec::new(), None, Some(8)));
}

#[test]
fn a_draining_network_without_pods_is_removed_at_once_even_while_its_engine_is_down() {
    let mut testbed = OvsTestbed::start();
    let agent = SelectingAgent::start(&testbed.paths);
    agent.apply(compiled("blue", 5));
    testbed.wait_until_programmed("blue");
    testbed.ovs.kill_ovsdb_server().unwrap();
    assert_eq!(testbed.wait_until_unavailable("blue"), "EngineUnreachable");
    agent.drain("blue", 8);
    agent.wait_for("blue is removed", |report| report.through() == Some(8) && report.networks.is_empty());
    assert_eq!(testbed.file("blue"), None);
    testbed.ovs.start_ovsdb_server().unwrap();
    until("the bridge is removed", || testbed.bridges().is_empty().then_some(()));
}

#[test]
fn a_network_whose_bridge_belongs_to_another_reports_it_until_that_is_removed() {
    let testbed = OvsTestbed::start();
    let agent = SelectingAgent::start(&testbed.paths);
    agent.apply(compiled("blue", 5));
    agent.wait_for_network("blue", "Programmed  0");
    let other = NodeNetwork { bridge: network("blue").bridge, ..network("other") };
    agent.apply(Compiled { network: Arc::new(other), ..compiled("other", 6) });
    let report = agent.wait_for_network("other", "Failed BridgeConflict 0");
    assert!(report.networks[1].message.contains("network blue"), "{:?}", report.networks);
    assert_eq!(testbed.wait_until_unavailable("other"), "BridgeConflict");
    assert!(testbed.is_programmed("blue"));

    agent.drain("blue", 7);
    testbed.wait_until_programmed("other");
    agent.wait_for_network("other", "Programmed  0");
    assert_eq!(testbed.bridges(), ["br-blue"]);
    assert_eq!(testbed.vsctl("get Bridge br-blue external_ids").matches("other").count(), 1);
}

#[test]
fn a_change_for_other_nodes_causes_no_report() {
    let testbed = OvsTestbed::start();
    let agent = SelectingAgent::start(&testbed.paths);
    agent.apply(compiled("blue", 5));
    let before = agent.wait_for_network("blue", "Programmed  0").revision().unwrap();
    let selector = kube_selector("rack", "far");
    for version in 6..20 {
        let far = compiled(&format!("far-{version}"), version);
        agent.apply(Compiled { selector: Some(selector.clone()), ..far });
    }
    agent.apply(compiled("red", 20));
    let report = agent.wait_until_through(20);
    assert_eq!(report.revision(), Some(before + 1), "only red concerns the node");
    assert_eq!(report.networks.len(), 2);
}

fn kube_selector(key: &str, value: &str) -> kube::core::Selector {
    kube::core::Selector::from(kube::core::Expression::Equal(key.into(), value.into()))
}

#[test]
fn an_engine_that_comes_gets_the_networks_without_a_selector() {
    let node = Node::new(None, None);
    let agent = SelectingAgent::start(&node.paths);
    agent.apply(compiled("blue", 5));
    let report = agent.wait_until_through(5);
    assert!(report.networks.is_empty(), "{report:?}");
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    std::os::unix::fs::symlink(ovs.socket(), node.paths.engine_socket(EngineKind::OpenVswitch)).unwrap();
    agent.wait_for_network("blue", "Programmed  0");
    agent.change(|input| drop(input.networks.remove(&name("blue"))));
    assert!(node.is_programmed("blue"), "a network that was not draining is not given up at once");
}
