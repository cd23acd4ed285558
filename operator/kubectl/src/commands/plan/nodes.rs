//! The operations of a node, by the planner of agents, which starts from the state of a node
//! without problems. Pure.

use super::compiled::selection;
use super::input::Input;
use crate::model::{Objects, Snapshot};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_controller::cache::objects::Selection;
use usnet_controller::cache::{Cache, NodeState};
use usnet_controller::status::selected_nodes::NodeView;
use usnet_crds::conditions::message::node::bridge_conflict;
use usnet_crds::{CompiledNetworkSpec, EngineKind, NetworkName, NodeNetwork, Ownership, ValidUplink};
use usnet_planner::model::attachment::Record;
use usnet_planner::model::bridge::BridgeOwner;
use usnet_planner::model::bridge_settings::{BridgeMtu, BridgeSettings};
use usnet_planner::model::desired::Desired;
use usnet_planner::model::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use usnet_planner::model::policy_zone::PolicyZone;
use usnet_planner::plan::{Op, diff};

/// The changes on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeChange {
    pub node: String,
    pub effect: Effect,
    /// The operations, as the history of the node has them afterwards.
    pub operations: Vec<String>,
    /// The same, naming only what differs.
    pub changes: Vec<String>,
    /// Returns the pods whose ports change.
    pub pods: Vec<String>,
    /// The number of attached interfaces.
    pub attachments: i64,
    /// The number of attached interfaces whose pods are unknown.
    pub unknown: i64,
    /// What delays the change on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Effect {
    Added,
    /// The network changes in place.
    Changed,
    Removed,
    /// Pods that use the network keep it; the node removes it after their end.
    Drains,
}

/// Returns the nodes on which something changes.
pub(super) fn changes(snapshot: &Snapshot, cache: &Cache, input: &Input, new: &CompiledNetworkSpec) -> Vec<NodeChange> {
    let change = Change::new(cache, input, new);
    let views = cache.nodes_with_states().map(|(name, node, state)| NodeView { name, node, state });
    views.filter_map(|view| change.on_node(snapshot, view)).collect()
}

/// A network before and after the change.
struct Change<'a> {
    cache: &'a Cache,
    input: &'a Input,
    name: Option<NetworkName>,
    old: Option<(&'a CompiledNetworkSpec, Selection)>,
    new: (&'a CompiledNetworkSpec, Option<Selection>),
}

impl<'a> Change<'a> {
    fn new(cache: &'a Cache, input: &'a Input, new: &'a CompiledNetworkSpec) -> Self {
        let old = input.compiled.as_ref().and_then(|old| Some((old, selection(old)?)));
        let name = input.manifest.name.parse().ok();
        Self { cache, input, name, old, new: (new, selection(new)) }
    }

    fn on_node(&self, snapshot: &Snapshot, view: NodeView<'_>) -> Option<NodeChange> {
        let name = self.name.as_ref()?;
        let attachments =
            view.state.and_then(|state| state.report(name.as_str())).map_or(0, |report| report.attachments);
        let records = self.input.records.get(view.name).map(Vec::as_slice).unwrap_or_default();
        let on_node = |(spec, _): &(&CompiledNetworkSpec, Selection)| spec.on_node(name.clone());
        let old = self.old.as_ref().filter(|(_, selection)| self.selects(view, selection)).map(on_node);
        // A draining network stays on the node as long as pods use it.
        let present = old.clone().or_else(|| self.old.as_ref().filter(|_| attachments > 0).map(on_node));
        let new = self.new.1.as_ref().filter(|selection| self.selects(view, selection));
        let new = new.map(|_| self.new.0.on_node(name.clone()));
        let effect = match (&old, &new) {
            (None, None) => return None,
            (None, Some(_)) => Effect::Added,
            (Some(_), Some(_)) => Effect::Changed,
            (Some(_), None) if attachments > 0 => Effect::Drains,
            (Some(_), None) => Effect::Removed,
        };
        let (operations, observed) = match effect {
            Effect::Drains => Default::default(),
            _ => operations(present, new.clone(), records),
        };
        if operations.is_empty() && effect == Effect::Changed {
            return None;
        }
        let listed = i64::try_from(records.len()).unwrap_or(i64::MAX);
        Some(NodeChange {
            node: view.name.to_owned(),
            effect,
            pods: pods(&operations, records),
            operations: operations.iter().map(|it| with_pod(it, it.to_string(), records)).collect(),
            changes: operations.iter().map(|it| with_pod(it, it.change_text(&observed), records)).collect(),
            attachments,
            unknown: (attachments - listed).max(0),
            problem: new
                .as_ref()
                .and_then(|new| self.conflict(view, new))
                .or_else(|| problem(snapshot, view, self.new.0)),
        })
    }

    fn selects(&self, view: NodeView<'_>, selection: &Selection) -> bool {
        view.is_selected(selection, self.uplink(selection))
    }

    fn uplink(&self, selection: &Selection) -> Option<&'a ValidUplink> {
        self.cache.uplinks.get(selection.uplink_name()?.as_str())?.spec.as_ref().ok()
    }

    /// Returns the conflict if another network has the bridge on this node.
    fn conflict(&self, view: NodeView<'_>, new: &NodeNetwork) -> Option<String> {
        let other = self.cache.networks.iter().find(|(name, network)| {
            let Some(valid) = network.spec.as_ref().ok().filter(|_| name.as_str() != new.name.as_str()) else {
                return false;
            };
            let has_bridge = valid.engine == new.engine && valid.bridge.name == new.bridge.name;
            let selection = self.cache.compiled.get(*name).and_then(|compiled| compiled.selection.as_ref());
            has_bridge
                && valid.bridge.ownership == Ownership::Managed
                && selection.is_some_and(|it| self.selects(view, it))
        });
        let owner: NetworkName = other?.0.parse().ok()?;
        Some(format!("BridgeConflict: {}", bridge_conflict(new.engine, &new.bridge.name, &owner)))
    }
}

/// Returns what delays the change on a node.
fn problem(snapshot: &Snapshot, view: NodeView<'_>, new: &CompiledNetworkSpec) -> Option<String> {
    let down = |state: &NodeState| state.status.as_ref()?.down.get(&new.engine).cloned();
    let agent = snapshot.agent(view.name);
    if !view.node.is_ready && snapshot.has_read(Objects::Nodes) {
        Some("the node is NotReady; the change is applied when it is Ready again".to_owned())
    } else if snapshot.has_read(Objects::UsnetPods) && !agent.is_some_and(|agent| agent.is_ready) {
        Some("no agent is ready there; the change is applied when one is".to_owned())
    } else {
        view.state
            .and_then(down)
            .map(|message| format!("{} is not connected; the change is applied when it is ({message})", new.engine))
    }
}

/// Returns the operations that change one version of a network into another, and the observed state
/// before. That state lacks gateways, uplinks and devices, whose operations would be planned for
/// the old version as well; those that are the same are left out.
fn operations(old: Option<NodeNetwork>, new: Option<NodeNetwork>, records: &[Record]) -> (Vec<Op>, Observed) {
    let before = Desired::new(old, records);
    let observed = observed_after(&before);
    let unrelated = diff(&before, &observed);
    let after = Desired::new(new, records);
    let operations = diff(&after, &observed).into_iter().filter(|operation| !unrelated.contains(operation));
    (operations.collect(), observed)
}

/// Returns the observed bridges and ports of an engine that is in the desired state.
fn observed_after(desired: &Desired) -> Observed {
    let mut bridges: BTreeMap<String, ObservedBridge> = BTreeMap::new();
    for network in desired.networks.values() {
        let is_managed = network.bridge.ownership == Ownership::Managed;
        let bridge = ObservedBridge {
            owner: is_managed.then(|| BridgeOwner::Network(network.name.clone())),
            has_supported_datapath: true,
            adoption_blocker: None,
            settings: settings(network),
            state: ElementState::Running,
            ports: BTreeMap::new(),
        };
        bridges.insert(network.bridge.name.to_string(), bridge);
    }
    for (_, port) in desired.attachments() {
        if let Some(bridge) = port.bridge_name().and_then(|name| bridges.get_mut(name.as_str())) {
            bridge.ports.insert(port.name.clone(), ObservedPort { peer: Peer::Connected, ..port.into() });
        }
    }
    Observed { bridges, ..Observed::default() }
}

/// Returns the bridge settings of a network; bridge domains of VPP have no MTU.
fn settings(network: &NodeNetwork) -> BridgeSettings {
    let settings = BridgeSettings::from(&network.bridge);
    match network.engine {
        EngineKind::OpenVswitch => {
            let policy_zone = network.policies.are_enabled().then_some(PolicyZone::FIRST);
            BridgeSettings { policy_zone, ..settings }
        }
        EngineKind::Vpp => BridgeSettings { mtu: BridgeMtu::OfPortsOnly, ..settings },
    }
}

/// Returns the pods whose ports change.
fn pods(operations: &[Op], records: &[Record]) -> Vec<String> {
    let changed: BTreeSet<_> = operations.iter().filter_map(Op::attachment).collect();
    let pods = records.iter().filter(|record| changed.contains(&record.id));
    pods.map(|record| record.pod.to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the text of an operation with the name of the pod instead of its container id.
fn with_pod(operation: &Op, text: String, records: &[Record]) -> String {
    let record = operation.attachment().and_then(|id| records.iter().find(|record| record.id == *id));
    match record {
        Some(record) => text.replace(&record.id.to_string(), &format!("{} of pod {}", record.id.interface, record.pod)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::{Mtu, Vlan};
    use usnet_planner::testing::{network, record};

    fn texts(operations: &[Op]) -> Vec<String> {
        operations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bridge_domain_of_vpp_has_no_mtu_that_changes() {
        let blue = NodeNetwork { engine: EngineKind::Vpp, ..network("blue") };
        let small = usnet_crds::Bridge { mtu: Mtu::try_from(1400).unwrap(), ..blue.bridge.clone() };
        let changed = NodeNetwork { bridge: small, ..blue.clone() };
        let records = [record("c1", &blue)];
        let (operations, _) = operations(Some(blue), Some(changed), &records);
        assert!(matches!(operations.as_slice(), [Op::UpdatePort { .. }]), "{operations:?}");
    }

    #[test]
    fn the_same_network_needs_no_operation() {
        let blue = network("blue");
        let records = [record("c1", &blue), record("c2", &blue)];
        assert_eq!(operations(Some(blue.clone()), Some(blue.clone()), &records).0, []);
        let adopted =
            NodeNetwork { bridge: usnet_crds::Bridge { ownership: Ownership::Adopted, ..blue.bridge.clone() }, ..blue };
        assert_eq!(operations(Some(adopted.clone()), Some(adopted), &[]).0, []);
    }

    #[test]
    fn changes_are_those_of_the_planner() {
        let blue = network("blue");
        let records = [record("c1", &blue)];
        let mut changed = blue.clone();
        changed.bridge.mtu = Mtu::try_from(9000).unwrap();
        changed.port.vlan = Some(Vlan::Access { tag: 7.try_into().unwrap() });
        let (found, observed) = operations(Some(blue.clone()), Some(changed), &records);
        let texts = texts(&found);
        assert_eq!(found.len(), 2, "{texts:?}");
        assert!(texts[0].starts_with("set MTU 9000") && texts[1].contains("VLAN 7"), "{texts:?}");
        assert_eq!(pods(&found, &records), [records[0].pod.to_string()]);
        let changes: Vec<_> = found.iter().map(|it| with_pod(it, it.change_text(&observed), &records)).collect();
        let port = format!("port {} of net1 of pod {}", records[0].port.name, records[0].pod);
        let expected = ["set MTU 9000 of bridge br-blue".to_owned(), format!("set MTU 9000 and VLAN 7 on {port}")];
        assert_eq!(changes, expected);
        assert!(self::texts(&operations(None, Some(blue.clone()), &[]).0)[0].starts_with("create bridge br-blue"));
        assert_eq!(self::texts(&operations(Some(blue), None, &[]).0), ["remove bridge br-blue of network blue"]);
    }
}
