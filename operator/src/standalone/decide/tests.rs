mod definitions;

use super::*;
use crate::controller::inputs::NodeStatus;
use std::collections::BTreeSet;
use std::fs;
use tempfile::TempDir;
use usnet_crds::Engine;
use usnet_crds::node_state::{NetworkReport, NetworkState};

/// A node that does at once what it is told.
struct Node {
    place: TempDir,
    folder: Folder,
    held: Option<NodeSpec>,
    status: NodeStatus,
}

impl Node {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path().to_owned());
        Self { place, folder, held: None, status: NodeStatus::default() }
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.place.path().join(file), text).unwrap();
    }

    fn remove(&self, file: &str) {
        fs::remove_file(self.place.path().join(file)).unwrap();
    }

    fn decide(&mut self) -> Decision {
        self.folder.take(self.folder.texts());
        let facts = NodeFacts { name: "node-a", held: self.held.as_ref(), status: &self.status };
        let decision = decide(&self.folder, facts);
        self.held = Some(decision.spec.clone());
        decision
    }

    /// A new process, which knows the node file only.
    fn restart(&mut self) {
        self.folder = Folder::new(self.place.path().to_owned());
    }

    /// The agent says that it has done what it was told, with so many pods on each network.
    fn report(&mut self, attachments: i64) {
        let held = self.held.clone().unwrap();
        self.status.observed_generation = Some(held.generation);
        let report = |network: &NodeNetwork| {
            let state = match network.phase {
                Phase::Active => NetworkState::Programmed,
                Phase::Draining => NetworkState::Draining,
            };
            let (name, generation) = (network.name.to_string(), network.generation);
            let (reason, message, pods) = (String::new(), String::new(), Vec::new());
            NetworkReport { name, generation, state, reason, message, attachments, connected: 0, pods }
        };
        self.status.reports = held.networks.iter().map(report).collect();
    }
}

fn network(name: &str, spec: &str) -> String {
    format!("---\napiVersion: usnet.dev/v1alpha1\nkind: UserspaceNetwork\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

fn names(decision: &Decision) -> Vec<(&str, i64, Phase)> {
    let networks = decision.spec.networks.iter();
    networks.map(|network| (network.name.as_str(), network.generation, network.phase)).collect()
}

const ALL: &str = "{engine: OVS, namespaceSelector: {}}";

#[test]
fn generations_go_up_with_the_content_and_over_a_restart() {
    let mut node = Node::new();
    node.write("a.yaml", &(network("blue", ALL) + &network("green", "{engine: VPP, namespaceSelector: {}}")));
    let first = node.decide();
    assert_eq!(first.spec.generation, 1);
    assert_eq!(names(&first), [("blue", 1, Phase::Active), ("green", 1, Phase::Active)]);
    node.restart();
    assert_eq!(node.decide(), first, "nothing has changed");
    node.write("b.yaml", &network("blue", ALL).replace("{engine: OVS", "{bridge: {mtu: 1400}, engine: OVS"));
    node.write("a.yaml", &network("green", "{engine: VPP, namespaceSelector: {}}"));
    let second = node.decide();
    assert_eq!(second.spec.generation, 2);
    assert_eq!(names(&second), [("blue", 2, Phase::Active), ("green", 1, Phase::Active)], "blue alone has changed");
}

#[test]
fn an_empty_folder_is_an_answer_too() {
    let decision = Node::new().decide();
    assert_eq!(decision.spec, NodeSpec { generation: 1, networks: Vec::new() });
}

#[test]
fn a_network_without_a_file_stays_until_its_pods_have_gone() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.decide();
    node.report(2);
    node.remove("a.yaml");
    let draining = node.decide();
    assert_eq!(names(&draining), [("blue", 1, Phase::Draining)]);
    node.report(2);
    assert_eq!(names(&node.decide()), [("blue", 1, Phase::Draining)]);
    node.report(0);
    assert_eq!(names(&node.decide()), []);
}

#[test]
fn a_file_that_comes_back_ends_the_draining() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.decide();
    node.report(2);
    node.remove("a.yaml");
    node.decide();
    node.write("a.yaml", &network("blue", ALL));
    assert_eq!(names(&node.decide()), [("blue", 2, Phase::Active)]);
}

#[test]
fn a_broken_file_changes_nothing_before_and_after_a_restart() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.write("b.yaml", &network("green", ALL));
    let good = node.decide();
    node.report(0);
    node.write("a.yaml", "spec: [");
    let kept = node.decide();
    assert_eq!(kept.spec, good.spec);
    assert_eq!(kept.problems.iter().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), ["a.yaml"]);
    node.restart();
    node.remove("b.yaml");
    let after = node.decide();
    assert_eq!(names(&after), names(&good), "the broken file may have either of the two");
    node.write("a.yaml", &network("blue", ALL));
    assert_eq!(names(&node.decide())[1], ("green", 1, Phase::Draining), "now it is known that it is in none");
}

#[test]
fn a_bad_document_keeps_its_network_and_lets_the_others_go_on() {
    let mut node = Node::new();
    node.write("a.yaml", &(network("blue", ALL) + &network("green", ALL)));
    node.decide();
    let changed = "{engine: OVS, namespaceSelector: {}, bridge: {mtu: 1400}}";
    node.write("a.yaml", &(network("blue", &changed.replace("1400", "1")) + &network("green", changed)));
    let decision = node.decide();
    assert_eq!(names(&decision), [("blue", 1, Phase::Active), ("green", 2, Phase::Active)]);
    let problem = &decision.problems[0];
    assert_eq!((problem.field.as_str(), problem.document, problem.line), ("spec.bridge.mtu", Some(1), Some(5)));
    assert_eq!(decision.problems.len(), 1, "{:?}", decision.problems);
}

#[test]
fn what_cannot_change_is_refused_and_said() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    let before = node.decide();
    node.write("a.yaml", &network("blue", "{engine: VPP, namespaceSelector: {}}"));
    let after = node.decide();
    assert_eq!(after.spec, before.spec);
    assert_eq!(after.problems[0].field, "spec.engine");
}

#[test]
fn two_networks_for_one_bridge_and_two_of_one_name_are_told() {
    let mut node = Node::new();
    let spec = "{engine: OVS, namespaceSelector: {}, bridge: {name: br0}}";
    node.write("a.yaml", &(network("blue", spec) + &network("green", spec)));
    node.write("b.yaml", &network("blue", ALL));
    let decision = node.decide();
    assert_eq!(names(&decision), [("blue", 1, Phase::Active)]);
    let fields: Vec<_> =
        decision.problems.iter().map(|problem| (problem.file.as_str(), problem.field.as_str())).collect();
    assert_eq!(fields, [("a.yaml", "spec.bridge.name"), ("b.yaml", "metadata.name")], "{:?}", decision.problems);
}

#[test]
fn namespaces_are_those_that_somebody_names() {
    let mut node = Node::new();
    let by_name = "{engine: OVS, namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [web, db]}]}}";
    node.write("a.yaml", &network("all", ALL));
    node.write("b.yaml", &network("named", by_name));
    node.write("c.yaml", &network("team", "{engine: OVS, namespaceSelector: {matchLabels: {team: a}}}"));
    node.write(
        "d.yaml",
        &network(
            "other",
            "{engine: OVS, namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}",
        ),
    );
    node.write("e.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n");
    let decision = node.decide();
    let allowed = |name: &str| -> BTreeSet<String> {
        let network = decision.spec.networks.iter().find(|network| network.name.as_str() == name).unwrap();
        network.allowed_namespaces.clone()
    };
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(allowed("all"), set(&["*", "db", "shop", "web"]));
    assert_eq!(allowed("named"), set(&["db", "web"]));
    assert_eq!(allowed("team"), set(&["shop"]));
    assert_eq!(allowed("other"), set(&["db", "web"]), "a selector that leaves some out never opens a network for all");
    let network = decision.spec.networks.iter().find(|network| network.name.as_str() == "all").unwrap();
    assert!(network.allows("never-heard-of"));
}

#[test]
fn a_network_without_its_engine_or_for_other_nodes_is_not_here() {
    let mut node = Node::new();
    node.status.missing_engines = [Engine::Vpp].into();
    let here = "{engine: OVS, namespaceSelector: {}, nodeSelector: {matchLabels: {rack: one}}}";
    node.write("a.yaml", &network("blue", "{engine: VPP, namespaceSelector: {}}"));
    node.write("b.yaml", &network("green", here));
    assert_eq!(names(&node.decide()), []);
    node.write("c.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: one}}\n");
    assert_eq!(names(&node.decide()), [("green", 1, Phase::Active)]);
}
