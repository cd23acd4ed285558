//! What a node would do: the operations of the planner of agents, from the state that a node
//! without a problem has. Pure.

use super::compiled::selection;
use super::input::Input;
use crate::controller::cache::objects::Selection;
use crate::controller::cache::{Cache, NodeState};
use crate::controller::status::selected_nodes::NodeView;
use crate::kubectl::model::{Part, Snapshot};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::node::bridge_conflict;
use usnet_crds::{CompiledNetworkSpec, EngineKind, NetworkName, NodeNetwork, Ownership, ValidUplink};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::bridge_settings::{BridgeMtu, BridgeSettings};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::{Op, diff};

/// What a node does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeChange {
    pub node: String,
    pub effect: Effect,
    pub operations: Vec<String>,
    /// Pods whose ports change.
    pub pods: Vec<String>,
    /// Attached interfaces.
    pub attachments: i64,
    /// Those of them that are not known by name.
    pub unknown: i64,
    /// What keeps the node from following.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What becomes of a network on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Effect {
    /// The node gets it.
    Added,
    /// It changes in place.
    Changed,
    /// The node removes it.
    Removed,
    /// No pod uses it any more once those that do have ended; then the node removes it.
    Drains,
}

/// The nodes on which something changes.
pub(super) fn changes(snapshot: &Snapshot, cache: &Cache, input: &Input, new: &CompiledNetworkSpec) -> Vec<NodeChange> {
    let change = Change::new(cache, input, new);
    let views = cache.nodes_with_states().map(|(name, node, state)| NodeView { name, node, state });
    views.filter_map(|view| change.on_node(snapshot, view)).collect()
}

/// A network before and after.
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
        // It stays on a node that no longer carries it as long as pods use it there.
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
        let operations = if effect == Effect::Drains { Vec::new() } else { operations(present, new.clone(), records) };
        if operations.is_empty() && effect == Effect::Changed {
            return None;
        }
        let listed = i64::try_from(records.len()).unwrap_or(i64::MAX);
        Some(NodeChange {
            node: view.name.to_owned(),
            effect,
            pods: pods(&operations, records),
            operations: operations.iter().map(|operation| describe(operation, records)).collect(),
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

    /// Another network has the bridge on this node.
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

/// What keeps the node from following at once.
fn problem(snapshot: &Snapshot, view: NodeView<'_>, new: &CompiledNetworkSpec) -> Option<String> {
    let down = |state: &NodeState| state.status.as_ref()?.down.get(&new.engine).cloned();
    let agent = snapshot.agent(view.name);
    if !view.node.is_ready && snapshot.knows(Part::Nodes) {
        Some("the node is NotReady: applied when it is back".to_owned())
    } else if snapshot.knows(Part::UsnetPods) && !agent.is_some_and(|agent| agent.is_ready) {
        Some("no agent is ready there: applied when one is".to_owned())
    } else {
        view.state
            .and_then(down)
            .map(|message| format!("{} is not connected: applied when it is ({message})", new.engine))
    }
}

/// The operations that lead from one form of a network to the other. What this state of the engine
/// does not describe (gateways, uplinks, devices) would be planned for the old form as well, and is
/// left out where it is the same.
fn operations(old: Option<NodeNetwork>, new: Option<NodeNetwork>, records: &[Record]) -> Vec<Op> {
    let before = Desired::new(old, records);
    let observed = achieved(&before);
    let unrelated = diff(&before, &observed);
    let after = Desired::new(new, records);
    diff(&after, &observed).into_iter().filter(|operation| !unrelated.contains(operation)).collect()
}

/// The bridges and ports of an engine that has what is desired.
fn achieved(desired: &Desired) -> Observed {
    let mut bridges: BTreeMap<String, ObservedBridge> = BTreeMap::new();
    for network in desired.networks.values() {
        let is_managed = network.bridge.ownership == Ownership::Managed;
        let bridge = ObservedBridge {
            owner: is_managed.then(|| network.name.clone()),
            uplink: None,
            has_supported_datapath: true,
            adoption_blocker: None,
            settings: settings(network),
            state: ElementState::Running,
            ports: BTreeMap::new(),
        };
        bridges.insert(network.bridge.name.to_string(), bridge);
    }
    for (id, attachment) in &desired.attachments {
        let port = &attachment.port;
        let Some(bridge) = bridges.get_mut(port.bridge.as_str()) else { continue };
        let observed = ObservedPort {
            owner: Some(PortOwner::new(&attachment.network, id)),
            backend: Some(port.backend.clone()),
            patch_peer: None,
            tunnel: None,
            mtu: Some(port.settings.mtu.into()),
            tagging: port.settings.vlan.clone().into(),
            routed: port.settings.routed.clone(),
            rate_limit: Some(port.settings.rate_limit),
            is_enabled: true,
            peer: Peer::Connected,
            state: ElementState::Running,
        };
        bridge.ports.insert(port.name.clone(), observed);
    }
    Observed { bridges, ..Observed::default() }
}

/// Bridge domains of VPP have no MTU.
fn settings(network: &NodeNetwork) -> BridgeSettings {
    let settings = BridgeSettings::from(&network.bridge);
    match network.engine {
        EngineKind::OpenVswitch => settings,
        EngineKind::Vpp => BridgeSettings { mtu: BridgeMtu::OfPortsOnly, ..settings },
    }
}

/// The pods whose ports change.
fn pods(operations: &[Op], records: &[Record]) -> Vec<String> {
    let changed: BTreeSet<_> = operations.iter().filter_map(Op::attachment).collect();
    let pods = records.iter().filter(|record| changed.contains(&record.id));
    pods.map(|record| record.pod.to_string()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// An operation with the pod instead of its container.
fn describe(operation: &Op, records: &[Record]) -> String {
    let text = operation.to_string();
    let record = operation.attachment().and_then(|id| records.iter().find(|record| record.id == *id));
    record.map_or_else(
        || text.clone(),
        |record| text.replace(&record.id.to_string(), &format!("{} of pod {}", record.id.interface, record.pod)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::{Mtu, Vlan};
    use usnet_dataplane::testing::{network, record};

    fn texts(operations: &[Op]) -> Vec<String> {
        operations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bridge_domain_of_vpp_has_no_mtu_that_changes() {
        let blue = NodeNetwork { engine: EngineKind::Vpp, ..network("blue") };
        let small = usnet_crds::Bridge { mtu: Mtu::try_from(1400).unwrap(), ..blue.bridge.clone() };
        let changed = NodeNetwork { bridge: small, ..blue.clone() };
        let records = [record("c1", &blue)];
        let operations = operations(Some(blue), Some(changed), &records);
        assert!(matches!(operations.as_slice(), [Op::UpdatePort { .. }]), "{operations:?}");
    }

    #[test]
    fn the_same_network_needs_no_operation() {
        let blue = network("blue");
        let records = [record("c1", &blue), record("c2", &blue)];
        assert_eq!(operations(Some(blue.clone()), Some(blue.clone()), &records), []);
        let adopted =
            NodeNetwork { bridge: usnet_crds::Bridge { ownership: Ownership::Adopted, ..blue.bridge.clone() }, ..blue };
        assert_eq!(operations(Some(adopted.clone()), Some(adopted), &[]), []);
    }

    #[test]
    fn changes_are_those_of_the_planner() {
        let blue = network("blue");
        let records = [record("c1", &blue)];
        let mut changed = blue.clone();
        changed.bridge.mtu = Mtu::try_from(9000).unwrap();
        changed.port.vlan = Some(Vlan::Access { tag: 7.try_into().unwrap() });
        let found = operations(Some(blue.clone()), Some(changed), &records);
        let texts = texts(&found);
        assert_eq!(found.len(), 2, "{texts:?}");
        assert!(texts[0].starts_with("set MTU 9000") && texts[1].contains("VLAN 7"), "{texts:?}");
        assert_eq!(pods(&found, &records), [records[0].pod.to_string()]);
        assert!(describe(&found[1], &records).contains("net1 of pod"), "{}", describe(&found[1], &records));
        assert!(self::texts(&operations(None, Some(blue.clone()), &[]))[0].starts_with("create bridge br-blue"));
        assert_eq!(self::texts(&operations(Some(blue), None, &[])), ["remove bridge br-blue of network blue"]);
    }
}
