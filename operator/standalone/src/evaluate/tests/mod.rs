mod nads;
mod numbers;

use super::*;
use std::fs;
use std::sync::Arc;
use std::time::Instant;
use tempfile::TempDir;
use usnet_agent::model::report::Report;
use usnet_agent::model::spec::NodeSpec;
use usnet_agent::selection::spec_builder::SpecBuilder;
use usnet_crds::conditions::reason::{BRIDGE_CONFLICT, NEVER_SEEN};
use usnet_crds::conditions::{ConditionUpdate, Status, VPP_CONNECTED};
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::{Namespaces, NodeNetwork};
use usnet_dataplane::node_file::NodeFile;

/// A node whose agent programs its spec at once.
struct Node {
    place: TempDir,
    folder: Folder,
    last: Option<Input>,
    builder: SpecBuilder,
    /// The last spec.
    spec: Option<Arc<NodeSpec>>,
    report: Report,
    /// The number of pods on each network.
    attachments: i64,
}

/// Evaluates a folder; returns the spec and the problems.
#[derive(Debug, PartialEq)]
struct Evaluated {
    spec: NodeSpec,
    problems: Vec<Problem>,
}

impl Node {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path().to_owned());
        let report = Report {
            spec: None,
            networks: Vec::new(),
            uplinks: Vec::new(),
            engines: Vec::new(),
            engine_ends: Vec::new(),
            affected_pods: Vec::new(),
            policy_pods: Vec::new(),
            findings: Vec::new(),
        };
        Self { place, folder, last: None, builder: SpecBuilder::new(None), spec: None, report, attachments: 0 }
    }

    /// A node that never had VPP.
    fn without_vpp() -> Self {
        let mut node = Self::new();
        node.report.findings = vec![ConditionUpdate::new(VPP_CONNECTED, Status::False, NEVER_SEEN, "no socket")];
        node
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.place.path().join(file), text).unwrap();
    }

    fn remove(&self, file: &str) {
        fs::remove_file(self.place.path().join(file)).unwrap();
    }

    fn evaluate(&mut self) -> Evaluated {
        let evaluated = self.evaluate_before_report();
        self.report();
        evaluated
    }

    /// Evaluates the folder before the agent has reported the last spec.
    fn evaluate_before_report(&mut self) -> Evaluated {
        self.folder.update(self.folder.texts());
        let baseline = Baseline::new(self.report.spec.as_ref(), self.last.as_ref());
        let Evaluation { input, problems } = evaluate(&self.folder, "node-a", &baseline);
        self.spec = self.builder.next(&input, &self.report, Instant::now()).or_else(|| self.spec.take());
        self.last = Some(input);
        // The revision counts within one run of the agent.
        let spec = NodeSpec { revision: 0, ..NodeSpec::clone(self.spec.as_ref().unwrap()) };
        Evaluated { spec, problems }
    }

    fn report(&mut self) {
        let spec = self.spec.clone().unwrap();
        let report = |network: &Arc<NodeNetwork>| NetworkReport {
            name: network.name.to_string(),
            generation: network.generation,
            state: NetworkState::Programmed,
            reason: String::new(),
            message: String::new(),
            attachments: self.attachments,
            connected: 0,
            pods: Vec::new(),
            degraded: Vec::new(),
        };
        self.report.networks = spec.networks.iter().map(|network| report(network).into()).collect();
        self.report.spec = Some(spec);
    }

    fn set_attachments(&mut self, attachments: i64) {
        self.attachments = attachments;
        self.report();
    }

    /// Restarts the process, which then has only the node file.
    fn restart(&mut self) {
        let NodeSpec { generation, through, networks, uplinks, versions, refused, .. } =
            NodeSpec::clone(self.spec.as_ref().unwrap());
        let file = NodeFile { generation, through, networks, versions, refused, uplinks, ..NodeFile::default() };
        let file: NodeFile = serde_json::from_str(&serde_json::to_string(&file).unwrap()).unwrap();
        let NodeFile { generation, through, networks, versions, refused, uplinks, .. } = file;
        let held = Arc::new(NodeSpec { revision: 0, generation, through, networks, uplinks, versions, refused });
        self.folder = Folder::new(self.place.path().to_owned());
        self.builder = SpecBuilder::new(Some(Arc::clone(&held)));
        (self.last, self.spec) = (None, Some(held));
        self.report();
    }
}

fn network(name: &str, spec: &str) -> String {
    format!("---\napiVersion: usnet.dev/v1alpha1\nkind: UserspaceNetwork\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

fn names(evaluated: &Evaluated) -> Vec<(&str, i64, Phase)> {
    let networks = evaluated.spec.networks.iter();
    networks.map(|network| (network.name.as_str(), network.generation, network.phase)).collect()
}

const ALL: &str = "{engine: OVS, namespaceSelector: {}}";

fn input(node: &Node) -> &Input {
    node.last.as_ref().unwrap()
}

fn problem_places(evaluated: &Evaluated) -> Vec<(&str, &str)> {
    let problems = evaluated.problems.iter();
    problems.map(|problem| (problem.file.as_str(), problem.field.as_str())).collect()
}

#[test]
fn a_network_that_is_removed_before_the_agent_answers_does_not_stay() {
    let mut node = Node::new();
    node.write("b.yaml", &network("green", ALL));
    node.evaluate();
    node.write("a.yaml", &network("blue", ALL));
    node.evaluate_before_report();
    node.remove("a.yaml");
    let evaluated = node.evaluate_before_report();
    assert_eq!(names(&evaluated), [("blue", 1, Phase::Draining), ("green", 1, Phase::Active)]);
    node.report();
    assert_eq!(names(&node.evaluate()), [("green", 1, Phase::Active)]);
}

#[test]
fn a_network_that_left_the_node_may_come_back_with_another_engine() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.evaluate();
    node.remove("a.yaml");
    assert_eq!(names(&node.evaluate()), [("blue", 1, Phase::Draining)]);
    node.write("a.yaml", &network("blue", "{engine: VPP, namespaceSelector: {}}"));
    let waiting = node.evaluate();
    assert_eq!((names(&waiting), problem_places(&waiting)), (vec![], vec![("a.yaml", "spec.engine")]), "it goes first");
    let evaluated = node.evaluate();
    assert_eq!((names(&evaluated), evaluated.problems.len()), (vec![("blue", 1, Phase::Active)], 0));
}

#[test]
fn an_empty_folder_is_a_spec_too() {
    let evaluated = Node::new().evaluate();
    assert_eq!(evaluated.spec, NodeSpec { generation: 1, ..NodeSpec::default() });
}

#[test]
fn a_network_without_a_file_stays_until_its_pods_are_deleted() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.evaluate();
    node.set_attachments(2);
    node.remove("a.yaml");
    assert_eq!(names(&node.evaluate()), [("blue", 1, Phase::Draining)]);
    node.restart();
    assert_eq!(names(&node.evaluate()), [("blue", 1, Phase::Draining)]);
    node.set_attachments(0);
    node.evaluate();
    assert_eq!(names(&node.evaluate()), []);
    node.evaluate();
    assert!(input(&node).networks.is_empty(), "it is forgotten");
}

#[test]
fn a_file_that_comes_back_ends_the_draining() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.evaluate();
    node.set_attachments(2);
    node.remove("a.yaml");
    node.evaluate();
    node.write("a.yaml", &network("blue", ALL));
    assert_eq!(names(&node.evaluate()), [("blue", 2, Phase::Active)]);
}

#[test]
fn a_broken_file_changes_nothing_before_and_after_a_restart() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    node.write("b.yaml", &network("green", ALL));
    let good = node.evaluate();
    node.write("a.yaml", "spec: [");
    let kept = node.evaluate();
    assert_eq!(kept.spec, good.spec);
    assert_eq!(kept.problems.iter().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), ["a.yaml"]);
    node.restart();
    node.remove("b.yaml");
    let after = node.evaluate();
    assert_eq!(names(&after), names(&good), "the broken file may have either of the two");
    assert_eq!(names(&node.evaluate()), names(&good));
    node.write("a.yaml", &network("blue", ALL));
    assert_eq!(names(&node.evaluate())[1], ("green", 1, Phase::Draining), "now it is known that it is in none");
}

#[test]
fn a_bad_document_keeps_its_network_and_lets_the_others_go_on() {
    let mut node = Node::new();
    node.write("a.yaml", &(network("blue", ALL) + &network("green", ALL)));
    node.evaluate();
    let changed = "{engine: OVS, namespaceSelector: {}, bridge: {mtu: 1400}}";
    node.write("a.yaml", &(network("blue", &changed.replace("1400", "1")) + &network("green", changed)));
    let evaluated = node.evaluate();
    assert_eq!(names(&evaluated), [("blue", 1, Phase::Active), ("green", 2, Phase::Active)]);
    let problem = &evaluated.problems[0];
    assert_eq!((problem.field.as_str(), problem.document, problem.line), ("spec.bridge.mtu", Some(1), Some(5)));
    assert_eq!(evaluated.problems.len(), 1, "{:?}", evaluated.problems);
}

#[test]
fn what_cannot_change_is_rejected_and_reported() {
    let mut node = Node::new();
    node.write("a.yaml", &network("blue", ALL));
    let before = node.evaluate();
    node.write("a.yaml", &network("blue", "{engine: VPP, namespaceSelector: {}}"));
    let after = node.evaluate();
    assert_eq!(after.spec, before.spec);
    assert_eq!(after.problems[0].field, "spec.engine");
}

#[test]
fn of_two_networks_for_one_bridge_the_agent_rejects_one_and_two_of_one_name_are_reported() {
    let mut node = Node::new();
    let spec = "{engine: OVS, namespaceSelector: {}, bridge: {name: br0}}";
    let dated = network("red", spec).replace("{name: red", "{creationTimestamp: 2020-01-01T00:00:00Z, name: red");
    node.write("a.yaml", &(network("blue", spec) + &network("green", spec)));
    node.write("b.yaml", &network("blue", ALL));
    let evaluated = node.evaluate();
    assert_eq!(names(&evaluated), [("blue", 1, Phase::Active)]);
    let [refused] = evaluated.spec.refused.as_slice() else { panic!("{evaluated:?}") };
    assert_eq!((refused.name.as_str(), refused.reason.as_str()), ("green", BRIDGE_CONFLICT));
    assert_eq!(problem_places(&evaluated), [("b.yaml", "metadata.name")], "{:?}", evaluated.problems);
    node.write("c.yaml", &dated);
    assert_eq!(names(&node.evaluate()), [("blue", 1, Phase::Active)], "the one that has the bridge keeps it");
    node.remove("b.yaml");
    node.remove("a.yaml");
    node.evaluate();
    node.write("a.yaml", &network("green", spec));
    node.evaluate();
    assert_eq!(names(&node.evaluate()), [("red", 1, Phase::Active)], "the older gets it");
}

#[test]
fn namespaces_are_those_that_are_named() {
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
    let evaluated = node.evaluate();
    let allowed = |name: &str| -> Namespaces {
        let network = evaluated.spec.networks.iter().find(|network| network.name.as_str() == name).unwrap();
        Namespaces { selector: String::new(), ..network.namespaces.clone() }
    };
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Namespaces>();
    assert_eq!(allowed("all"), Namespaces::all());
    assert_eq!(allowed("named"), set(&["db", "web"]));
    assert_eq!(allowed("team"), set(&["shop"]));
    assert_eq!(allowed("other"), set(&["db", "web"]), "a selector that leaves some out never opens a network for all");
}

#[test]
fn a_network_without_its_engine_or_for_other_nodes_is_not_here() {
    let mut node = Node::without_vpp();
    let here = "{engine: OVS, namespaceSelector: {}, nodeSelector: {matchLabels: {rack: one}}}";
    node.write("a.yaml", &network("blue", "{engine: VPP, namespaceSelector: {}}"));
    node.write("b.yaml", &network("green", here));
    assert_eq!(names(&node.evaluate()), []);
    node.write("a.yaml", &network("blue", ALL));
    assert_eq!(names(&node.evaluate()), [("blue", 2, Phase::Active)], "the engine of what is not here can change");
    node.write("c.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: one}}\n");
    assert_eq!(names(&node.evaluate()), [("blue", 2, Phase::Active), ("green", 1, Phase::Active)]);
    node.remove("c.yaml");
    node.set_attachments(1);
    let draining = [("blue", 2, Phase::Active), ("green", 1, Phase::Draining)];
    assert_eq!(names(&node.evaluate()), draining);
    node.write("b.yaml", &network("green", "{engine: ?}"));
    assert_eq!(names(&node.evaluate()), draining, "a broken document does not bring it back");
    node.restart();
    assert_eq!(names(&node.evaluate()), draining);
}

#[test]
fn a_file_that_could_never_be_read_may_have_the_labels_of_the_node() {
    let mut node = Node::new();
    let labels = "apiVersion: v1\nkind: Node\nmetadata: {name: node-a, labels: {rack: one}}\n";
    node.write("a.yaml", &network("blue", &ALL.replace("}}", "}, nodeSelector: {matchLabels: {rack: one}}}")));
    node.write("b.yaml", labels);
    let good = node.evaluate();
    assert_eq!(names(&good), [("blue", 1, Phase::Active)]);
    node.write("b.yaml", "[");
    node.restart();
    assert_eq!(node.evaluate().spec, good.spec);
    assert_eq!(node.evaluate().spec, good.spec);
    node.write("b.yaml", &labels.replace("one", "two"));
    assert_eq!(names(&node.evaluate()), [("blue", 1, Phase::Draining)]);
}
