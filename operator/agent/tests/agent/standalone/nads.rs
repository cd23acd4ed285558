//! NADs of the Userspace CNI (Intel) on a node without an API server: the bridges that they name
//! exist, for their namespaces.

use crate::support::node::{Node, until};
use crate::support::standalone_agent::{Manifests, StandaloneAgent};
use usnet_crds::NodeNetwork;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_test_openvswitch::OpenVswitch;
use usnet_test_vpp::{Kind, Vpp};

/// NADs as users write them for `kubectl apply`, without a namespace.
const LEGACY_DEFINITIONS: &str = include_str!("../../../../../e2e/testdata/old-definitions.yaml");
const NETWORKS: [&str; 5] = ["ovs-br-old", "ovs-br-old-vlan", "vpp-12", "vpp-4", "vpp-5"];

fn definition(namespace: &str, name: &str, mtu: u16) -> String {
    let host = format!(
        r#"{{"engine": "ovs-dpdk", "iftype": "vhostuser", "mtu": {mtu}, "vhost": {{"mode": "client"}}, "bridge": {{"bridgeName": "br-old"}}}}"#
    );
    format!(
        "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  config: '{{\"type\": \"userspace\", \"host\": {host}}}'\n"
    )
}

fn programmed(node: &Node, name: &str) -> Option<NodeNetwork> {
    match node.file(name) {
        Some(NetworkFile::Programmed(file)) => Some(NodeNetwork::clone(&file.network)),
        _ => None,
    }
}

fn wait_for_namespaces(node: &Node, expected: &[&str]) {
    until(&format!("ovs-br-old is for {expected:?}"), || {
        programmed(node, "ovs-br-old").filter(|network| network.namespaces.names.iter().eq(expected))
    });
}

#[test]
fn legacy_definitions_as_they_are_get_their_bridges_which_are_removed_with_them() {
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    let vpp = Vpp::start(Kind::Simulator).unwrap();
    let node = Node::new(Some(ovs.socket().to_owned()), Some(vpp.socket().to_owned()));
    let manifests = Manifests::new();
    manifests.write("old.yaml", LEGACY_DEFINITIONS);
    let agent = StandaloneAgent::start(&node.paths, manifests.path());
    NETWORKS.iter().for_each(|name| node.wait_until_programmed(name));
    assert_eq!(ovs.vsctl(&["get", "Bridge", "br-old", "datapath_type"]).unwrap().trim(), "netdev");
    assert_eq!(ovs.vsctl(&["get", "Interface", "br-old-vlan", "mtu_request"]).unwrap().trim(), "9000");
    wait_for_namespaces(&node, &["default"]);
    let accepted = agent.wait_until_accepted("True");
    assert_eq!(accepted.manifest_problems, []);

    manifests.write("joins.yaml", &definition("web", "joins", 1500));
    wait_for_namespaces(&node, &["default", "web"]);
    manifests.write("joins.yaml", &definition("web", "joins", 9000));
    wait_for_namespaces(&node, &["default"]);
    let problems = agent.wait_until_accepted("False").manifest_problems;
    let places: Vec<_> = problems.iter().map(|problem| (problem.file.as_str(), problem.document)).collect();
    assert_eq!(places, [("joins.yaml", Some(1)), ("old.yaml", Some(1))], "{problems:?}");
    assert!(problems[0].message.contains("\"host.mtu\" requests 9000"), "{problems:?}");
    assert_eq!(
        ovs.vsctl(&["get", "Interface", "br-old", "mtu_request"]).unwrap().trim(),
        "1500",
        "the first one decides"
    );
    manifests.write("joins.yaml", &definition("web", "joins", 1500));
    agent.wait_until_accepted("True");

    manifests.remove("old.yaml");
    wait_for_namespaces(&node, &["web"]);
    until("the other bridges are removed", || (ovs.vsctl(&["list-br"]).unwrap().trim() == "br-old").then_some(()));
    let network = programmed(&node, "ovs-br-old").unwrap();
    let socket = SocketPath::try_from(ovs.folder().join("c1.sock")).unwrap();
    let engine_role = network.port.vhost_user.engine_role;
    let pod = node.record("c1", &network, PortBackend::VhostUser { socket, engine_role });
    node.write(&pod);
    agent.wait_for_network("ovs-br-old", "has a pod", |entry| entry.attachments == 1);
    manifests.remove("joins.yaml");
    until("it drains", || matches!(node.file("ovs-br-old"), Some(NetworkFile::Draining { .. })).then_some(()));
    assert_eq!(ovs.vsctl(&["list-ports", "br-old"]).unwrap().trim(), pod.port.name.as_str(), "the pod lost its port");
    std::fs::remove_file(node.paths.attachments().join(format!("{}.json", pod.id))).unwrap();
    until("the last bridge is removed", || ovs.vsctl(&["list-br"]).unwrap().is_empty().then_some(()));
    agent.wait_for_state("no network", |state| state.status.networks.is_empty().then_some(()));
}

#[test]
fn over_a_restart_a_broken_definition_leaves_its_network_alone() {
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    let node = Node::new(Some(ovs.socket().to_owned()), None);
    let manifests = Manifests::new();
    manifests.write("one.yaml", &definition("web", "one", 1500));
    let agent = StandaloneAgent::start(&node.paths, manifests.path());
    node.wait_until_programmed("ovs-br-old");
    let bridge = || ovs.vsctl(&["get", "Bridge", "br-old", "_uuid"]).unwrap();
    let before = bridge();
    manifests.write("one.yaml", &definition("web", "one", 1500).replace("ovs-dpdk", "ovs-dkpd"));
    agent.wait_until_accepted("False");
    drop(agent);
    let agent = StandaloneAgent::start(&node.paths, manifests.path());
    let state = agent.wait_for_state("that it works with what it had", |state| {
        (state.status.summary.networks == "1/1" && !state.manifest_problems.is_empty()).then(|| state.clone())
    });
    let problem = &state.manifest_problems[0];
    assert_eq!((problem.file.as_str(), problem.field.as_str()), ("one.yaml", "spec.config"));
    assert!(problem.message.contains("ovs-dkpd"), "{problem}");
    assert_eq!(bridge(), before, "the bridge was recreated");
    wait_for_namespaces(&node, &["web"]);
}
