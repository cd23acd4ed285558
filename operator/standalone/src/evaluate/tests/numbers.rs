//! Generations and versions, which an API server would count.

use super::nads::legacy_nad;
use super::*;

fn versions(node: &Node) -> Vec<(&str, u64)> {
    input(node).networks.iter().map(|(name, network)| (name.as_str(), network.version)).collect()
}

#[test]
fn generations_and_versions_count_changes_of_the_content() {
    let mut node = Node::new();
    node.write("a.yaml", &(network("blue", ALL) + &network("green", "{engine: VPP, namespaceSelector: {}}")));
    let first = node.evaluate();
    assert_eq!((first.spec.generation, first.spec.through), (1, 1));
    assert_eq!(names(&first), [("blue", 1, Phase::Active), ("green", 1, Phase::Active)]);
    node.write("b.yaml", &network("blue", ALL).replace("{engine: OVS", "{bridge: {mtu: 1400}, engine: OVS"));
    node.write("a.yaml", &network("green", "{engine: VPP, namespaceSelector: {}}"));
    let second = node.evaluate();
    assert_eq!((second.spec.generation, second.spec.through), (1, 2), "the labels are the same");
    assert_eq!(names(&second), [("blue", 2, Phase::Active), ("green", 1, Phase::Active)], "blue alone has changed");
    assert_eq!(versions(&node), [("blue", 2), ("green", 1)]);
}

#[test]
fn the_input_of_an_unchanged_folder_is_the_same_after_a_restart() {
    let mut node = Node::without_vpp();
    let bridge = "{engine: OVS, namespaceSelector: {}, bridge: {name: br0}}";
    node.write("a.yaml", &(network("blue", ALL) + &network("green", bridge) + &network("red", bridge)));
    node.write("b.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: one}}\n");
    node.evaluate();
    node.write("c.yaml", &network("grey", ALL));
    node.write("b.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: two}}\n");
    node.write("d.yaml", &legacy_nad("web/one", "br1", ""));
    node.attachments = 1;
    node.evaluate();
    node.remove("c.yaml");
    let evaluated = node.evaluate();
    assert_eq!(evaluated.spec.refused[0].reason, BRIDGE_CONFLICT);
    assert_eq!(names(&evaluated).iter().filter(|(_, _, phase)| *phase == Phase::Draining).count(), 1);
    let last = node.last.clone();
    assert_eq!((input(&node).generation, input(&node).version), (2, 3));
    node.restart();
    assert_eq!(node.evaluate(), evaluated);
    assert_eq!(node.last, last);
    assert_eq!(node.evaluate(), evaluated, "and it stays so");
    assert_eq!(node.last, last);
}

#[test]
fn two_changes_before_the_agent_answers_are_two_generations() {
    let mut node = Node::new();
    let with_mtu = |mtu: &str| network("blue", &ALL.replace("{}", &format!("{{}}, bridge: {{mtu: {mtu}}}")));
    node.write("a.yaml", &with_mtu("1500"));
    node.evaluate();
    node.write("a.yaml", &with_mtu("1400"));
    node.evaluate_before_report();
    node.write("a.yaml", &with_mtu("1300"));
    assert_eq!(names(&node.evaluate_before_report()), [("blue", 3, Phase::Active)]);
    node.write("a.yaml", &with_mtu("1500"));
    assert_eq!(names(&node.evaluate()), [("blue", 4, Phase::Active)]);
}

#[test]
fn labels_alone_change_the_generation_of_the_input() {
    let mut node = Node::new();
    node.evaluate();
    node.write("c.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: one}}\n");
    assert_eq!(node.evaluate().spec.generation, 2);
    node.write("a.yaml", &network("blue", ALL));
    assert_eq!(node.evaluate().spec.generation, 2);
}

#[test]
fn the_part_of_a_range_is_that_of_the_first_node_and_is_no_change_after_a_restart() {
    let mut node = Node::new();
    let ipam = "ipam: {type: host-local, subnet: 10.1.0.0/16, nodePrefix: {ipv4: 24}}";
    node.write("a.yaml", &network("blue", &ALL.replace("{}", &format!("{{}}, {ipam}"))));
    let first = node.evaluate();
    let range = &first.spec.networks[0].ipam.as_ref().unwrap()["ranges"][0][0];
    assert_eq!((&range["rangeStart"], &range["rangeEnd"]), (&"10.1.0.2".into(), &"10.1.0.255".into()));
    node.restart();
    assert_eq!(node.evaluate(), first);
    node.write("a.yaml", &network("blue", &ALL.replace("{}", &format!("{{}}, {}", ipam.replace("24", "25")))));
    assert_eq!(names(&node.evaluate()), [("blue", 2, Phase::Active)]);
}

#[test]
fn uplinks_are_read_from_files_and_their_networks_checked() {
    let mut node = Node::new();
    let uplink = "apiVersion: usnet.dev/v1alpha1\nkind: UserspaceUplink\nmetadata: {name: fab}\nspec: {engine: OVS, vlans: [\"7\"], nics: [{device: {type: Name, name: eth1}}]}\n";
    let on_vlan = |vlan: u32| {
        ALL.replace("{}", &format!("{{}}, topology: {{type: Uplink, uplink: {{name: fab, vlan: {vlan}}}}}"))
    };
    node.write("a.yaml", &network("blue", &on_vlan(7)));
    let missing = node.evaluate();
    assert_eq!((names(&missing), missing.problems[0].field.as_str()), (vec![], "spec.topology.uplink.name"));
    node.write("b.yaml", uplink);
    let evaluated = node.evaluate();
    assert_eq!((names(&evaluated), evaluated.problems.len()), (vec![("blue", 1, Phase::Active)], 0));
    assert_eq!(evaluated.spec.uplinks.len(), 1);
    node.write("c.yaml", &network("red", &on_vlan(8)));
    let rejected = node.evaluate();
    assert!(rejected.problems[0].message.contains("has the VLANs 7, and not 8"), "{:?}", rejected.problems);
    // The file is gone, and the network keeps its uplink.
    node.remove("b.yaml");
    let kept = node.evaluate();
    assert_eq!((names(&kept).len(), &kept.spec.uplinks), (1, &evaluated.spec.uplinks));
    node.restart();
    assert_eq!(node.evaluate().spec.uplinks, evaluated.spec.uplinks);
}

#[test]
fn an_overlay_is_refused_because_no_other_node_is_known() {
    let mut node = Node::new();
    let overlay = ALL.replace("{}", "{}, topology: {type: Overlay, overlay: {}}");
    node.write("a.yaml", &(network("blue", ALL) + &network("joined", &overlay)));
    let evaluated = node.evaluate();
    assert_eq!(names(&evaluated), [("blue", 1, Phase::Active)]);
    assert_eq!(evaluated.spec.refused[0].reason, "PeersUnknown");
    assert!(evaluated.spec.refused[0].message.contains("without an API server"), "{:?}", evaluated.spec.refused);
}
