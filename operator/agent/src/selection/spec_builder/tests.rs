use super::*;
use crate::model::input::{Compiled, NodeAddresses, PerNode, Unreadable};
use crate::model::spec::RefusedNetwork;
use crate::selection::testing::{compiled, input_of, report_of};
use crate::testing::{name, network};
use usnet_crds::node_slice::SliceNode;
use usnet_crds::{CompiledOverlay, Encapsulation, IpFamily, NodeNetwork};

/// A node whose reconcilers have programmed its spec.
struct Node {
    builder: SpecBuilder,
    input: Input,
    report: Report,
    now: Instant,
}

impl Node {
    fn new(compiled: &[Compiled]) -> Self {
        let input = input_of(compiled);
        Self { builder: SpecBuilder::new(None), input, report: report_of(None, &[]), now: Instant::now() }
    }

    fn next(&mut self) -> Option<Arc<NodeSpec>> {
        self.builder.next(&self.input, &self.report, self.now)
    }

    /// Builds the next spec, which the reconcilers report with these attachments.
    fn settle(&mut self, attachments: &[(&str, i64)]) -> Option<Arc<NodeSpec>> {
        let spec = self.next();
        self.report = report_of(Some(Arc::clone(&self.builder.last)), attachments);
        spec
    }

    fn phases(&self) -> Vec<(&str, Phase)> {
        self.builder.last.networks.iter().map(|network| (network.name.as_str(), network.phase)).collect()
    }
}

fn draining(version: u64, network: &str) -> Compiled {
    let compiled = compiled(version, network);
    let network = NodeNetwork { phase: Phase::Draining, ..NodeNetwork::clone(&compiled.network) };
    Compiled { network: Arc::new(network), ..compiled }
}

#[test]
fn the_first_spec_confirms_what_an_earlier_run_left() {
    let mut node = Node::new(&[compiled(5, "blue")]);
    let first = node.next().unwrap();
    assert_eq!((first.revision, first.through), (1, 5));
    node.builder = SpecBuilder::new(Some(Arc::new(NodeSpec { revision: 0, ..NodeSpec::clone(&first) })));
    let confirmed = node.next().expect("the same spec, and another revision");
    assert_eq!((confirmed.revision, &confirmed.networks), (1, &first.networks));
    assert_eq!(node.next(), None);
}

#[test]
fn a_change_that_does_not_concern_the_node_is_no_spec() {
    let mut node = Node::new(&[compiled(5, "blue")]);
    node.next();
    let selector = usnet_crds_selector("rack", "b");
    node.input.networks.insert(name("far"), Arc::new(Compiled { selector: Some(selector), ..compiled(9, "far") }));
    node.input.version = 9;
    assert_eq!(node.next(), None);
    node.input.networks.insert(name("near"), Arc::new(compiled(12, "near")));
    node.input.version = 12;
    assert_eq!(node.next().unwrap().through, 12);
}

/// The agent reads them after the first network that needs them.
#[test]
fn a_network_with_an_overlay_waits_for_the_addresses_of_nodes_but_not_for_long() {
    let overlay = CompiledOverlay {
        vni: 7.try_into().unwrap(),
        port: 4789.try_into().unwrap(),
        ip_family: IpFamily::V4,
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        multicast_group: None,
    };
    let per_node = PerNode { overlay: Some(overlay), node_prefix: None };
    let mut node = Node::new(&[Compiled { per_node, ..compiled(5, "blue") }, compiled(6, "plain")]);
    assert_eq!(node.next(), None);
    let expiry = node.builder.next_expiry(node.now).unwrap();
    assert_eq!(expiry - node.now, NODES_GRACE);
    let own = SliceNode { name: "a".into(), addresses: vec![[10, 0, 0, 1].into()], ..SliceNode::default() };
    let nodes = NodeAddresses { own: "a".into(), nodes: [("a".to_owned(), own)].into() };
    let without =
        Input { nodes: Some(Arc::new(NodeAddresses { own: "b".into(), ..nodes.clone() })), ..node.input.clone() };
    assert_eq!(node.builder.next(&without, &node.report, node.now), None, "the node is in no slice yet");
    let refused = SpecBuilder::new(None).settled(&without, &node.report, expiry);
    assert_eq!((refused.networks.len(), refused.refused.len()), (1, 1));
    node.input.nodes = Some(Arc::new(nodes));
    assert_eq!(node.next().unwrap().networks.len(), 2);
    assert_eq!(node.builder.next_expiry(node.now), None);
}

/// The watch of uplinks may be later than that of networks.
#[test]
fn a_network_with_an_uplink_waits_for_it_but_not_for_long() {
    let plain = compiled(5, "blue");
    let uplink = usnet_crds::NetworkUplink { name: "fab".parse().unwrap(), vlan: None };
    let network = Arc::new(NodeNetwork { uplink: Some(uplink), ..NodeNetwork::clone(&plain.network) });
    let mut node = Node::new(&[Compiled { network, ..plain }]);
    node.input.uplinks = Some(BTreeMap::new());
    assert_eq!(node.next(), None);
    let expiry = node.builder.next_expiry(node.now).unwrap();
    let refused = SpecBuilder::new(None).settled(&node.input, &node.report, expiry);
    assert_eq!((refused.networks.len(), refused.refused[0].reason.as_str()), (0, "UplinkNotReady"));
    let fab = crate::selection::testing::uplink("fab", 1, None, "eth1");
    node.input.uplinks = Some([(fab.name.clone(), Arc::new(fab))].into());
    let spec = node.next().unwrap();
    assert_eq!((spec.networks.len(), spec.uplinks.len(), node.builder.next_expiry(node.now)), (1, 1, None));
    // A change of VLANs alone changes nothing but the generation.
    let changed = crate::selection::testing::uplink("fab", 2, None, "eth1");
    node.input.uplinks = Some([(changed.name.clone(), Arc::new(changed))].into());
    assert_eq!(node.next().unwrap().uplinks.values().next().unwrap().generation, 2);
}

impl SpecBuilder {
    /// The spec once nothing is awaited any more.
    fn settled(mut self, input: &Input, report: &Report, now: Instant) -> Arc<NodeSpec> {
        self.next(input, report, now);
        self.next(input, report, now + NODES_GRACE).unwrap()
    }
}

fn usnet_crds_selector(key: &str, value: &str) -> kube::core::Selector {
    kube::core::Selector::from(kube::core::Expression::Equal(key.into(), value.into()))
}

#[test]
fn a_draining_network_is_removed_once_it_is_reported_as_draining_and_has_no_pods() {
    let mut node = Node::new(&[compiled(5, "blue")]);
    node.settle(&[]);
    node.input = input_of(&[draining(8, "blue")]);
    let spec = node.next().unwrap();
    assert_eq!((node.phases(), spec.through), (vec![("blue", Phase::Draining)], 8));
    assert_eq!(node.next(), None, "its network file may still say that pods can attach");
    node.settle(&[("blue", 2)]);
    assert_eq!(node.next(), None, "pods use it");
    node.report = report_of(Some(Arc::clone(&spec)), &[]);
    assert_eq!(node.next().unwrap().networks, []);
    node.settle(&[]);
    assert_eq!(node.next(), None);
}

#[test]
fn a_network_that_was_never_on_the_node_does_not_drain() {
    let mut node = Node::new(&[draining(8, "blue")]);
    let spec = node.next().unwrap();
    assert_eq!((spec.networks.len(), spec.through), (0, 8));
}

#[test]
fn a_lost_network_stays_as_it_is_for_a_while_and_then_drains() {
    let mut node = Node::new(&[compiled(5, "blue"), compiled(6, "red")]);
    node.settle(&[("blue", 1)]);
    node.input.networks.clear();
    assert_eq!(node.next(), None);
    assert_eq!(node.builder.next_expiry(node.now), Some(node.now + LOST_GRACE));
    node.now += LOST_GRACE / 2;
    node.input.networks.insert(name("red"), Arc::new(compiled(6, "red")));
    assert_eq!(node.next(), None, "red is back, and nothing has happened");
    node.now += LOST_GRACE / 2;
    node.settle(&[("blue", 1)]);
    assert_eq!(node.phases(), [("blue", Phase::Draining), ("red", Phase::Active)]);
    assert_eq!(node.builder.next_expiry(node.now), None);
    node.settle(&[]);
    assert_eq!(node.next().map(|spec| spec.networks.len()), Some(1));
}

#[test]
fn a_network_of_an_earlier_run_that_the_first_list_lacks_is_lost_from_then_on() {
    let previous = NodeSpec { generation: 1, networks: vec![Arc::new(network("blue"))], ..NodeSpec::default() };
    let mut node = Node::new(&[]);
    node.builder = SpecBuilder::new(Some(Arc::new(previous)));
    node.settle(&[]);
    assert_eq!(node.phases(), [("blue", Phase::Active)]);
    node.now += LOST_GRACE;
    node.settle(&[]);
    node.settle(&[]);
    assert!(node.phases().is_empty());
}

#[test]
fn a_network_whose_newest_version_is_unreadable_stays_and_is_reported() {
    let previous = NodeSpec { generation: 1, networks: vec![Arc::new(network("blue"))], ..NodeSpec::default() };
    let mut node = Node::new(&[]);
    node.builder = SpecBuilder::new(Some(Arc::new(previous)));
    let unreadable = Unreadable { version: 7, message: "unknown variant".into() };
    node.input = Input { unreadable: [(name("blue"), unreadable)].into(), version: 7, ..Input::default() };
    let spec = node.settle(&[]).unwrap();
    node.now += 2 * LOST_GRACE;
    assert_eq!(node.settle(&[]), None);
    assert_eq!(node.phases(), [("blue", Phase::Active)]);
    let [RefusedNetwork { reason, message, .. }] = spec.refused.as_slice() else { panic!("{spec:?}") };
    assert!(reason == "Unreadable" && message.contains("unknown variant"), "{message}");
    assert_eq!((spec.through, spec.versions.get(&name("blue"))), (7, Some(&7)));
}

#[test]
fn versions_that_go_back_are_followed() {
    let mut node = Node::new(&[compiled(500, "blue")]);
    node.settle(&[]);
    node.input = input_of(&[compiled(300, "blue")]);
    let spec = node.next().expect("what was reported is not true any more");
    assert_eq!((spec.through, spec.versions.get(&name("blue"))), (300, Some(&300)));
}

#[test]
fn without_an_engine_a_network_without_a_selector_is_not_selected() {
    let mut node = Node::new(&[compiled(5, "blue")]);
    let finding = usnet_crds::conditions::ConditionUpdate::new(
        engine_connected(EngineKind::OpenVswitch),
        usnet_crds::conditions::Status::False,
        NEVER_SEEN,
        "",
    );
    node.report.findings = vec![finding];
    assert_eq!(node.next().unwrap().networks, []);
    node.report.findings.clear();
    assert_eq!(node.next().unwrap().networks.len(), 1);
}
