//! All flows of a guarded bridge: those of its ports, and those of the policies of its network.
//! Pure.

use super::guard::{self, FORWARD};
use super::guarded::{FrameSource, GuardedPorts};
use super::network_policies::{ClosedNamespaces, NetworkPolicies};
use super::policy::{self, PolicyFlows};
use std::collections::{BTreeMap, BTreeSet};
use usnet_openflow::flow::{Flow, Group, GroupId};
use usnet_openflow::{Change, Difference, FlowMod, GroupMod, PortNumber};

/// What a guarded bridge has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeFlows {
    ports: GuardedPorts,
    /// `None` if no policies restrict the ports.
    policies: Option<NetworkPolicies>,
    compiled: PolicyFlows,
    too_large: Option<ClosedNamespaces>,
}

impl BridgeFlows {
    /// Compiles the flows. If the policies need more than a switch takes, ports of pods are closed.
    #[must_use]
    pub fn new(ports: GuardedPorts, policies: Option<NetworkPolicies>) -> Self {
        let (compiled, too_large) = match &policies {
            None => (PolicyFlows::default(), None),
            Some(policies) => policies.compile_what_fits(&ports),
        };
        Self { ports, policies, compiled, too_large }
    }

    /// Whether these are the flows for these ports and policies.
    #[must_use]
    pub fn are_for(&self, ports: &GuardedPorts, policies: Option<&NetworkPolicies>) -> bool {
        self.ports == *ports && self.policies.as_ref() == policies
    }

    /// Whose policies are not enforced and why, and whose ports are closed for that.
    #[must_use]
    pub const fn too_large(&self) -> Option<&ClosedNamespaces> {
        self.too_large.as_ref()
    }

    /// Whether the pods of ports are known, so that not all are closed.
    #[must_use]
    pub fn knows_ports(&self) -> bool {
        self.policies.as_ref().is_some_and(|policies| !policies.owners.is_empty())
    }

    /// With policies, the ports that were not there before.
    #[must_use]
    pub fn new_ports(&self, before: &Self) -> BTreeSet<PortNumber> {
        let ports = self.policies.iter().flat_map(|_| self.ports.keys());
        ports.filter(|number| !before.ports.contains_key(number)).copied().collect()
    }

    /// The zone of connections; `None` without policies.
    #[must_use]
    pub fn zone(&self) -> Option<u16> {
        self.policies.as_ref().map(|policies| policies.zone)
    }

    /// Whether a bridge that differs by this has not tracked connections in the zone before.
    pub(super) fn is_new_zone(&self, difference: &Difference) -> bool {
        self.compiled.flows.iter().filter(|flow| policy::is_of_zone(flow)).all(|flow| difference.missing.contains(flow))
    }

    pub(super) const fn ports(&self) -> &GuardedPorts {
        &self.ports
    }

    /// The flows of all tables.
    pub(super) fn all(&self) -> Vec<Flow> {
        let of_ports = self.ports.iter().flat_map(|(number, source)| self.of_port(*number, source));
        of_ports.chain(self.compiled.flows.iter().cloned()).collect()
    }

    /// What a port may send.
    pub(super) fn of_port(&self, number: PortNumber, source: &FrameSource) -> Vec<Flow> {
        let allowed = if self.policies.is_some() { policy::CHECK } else { FORWARD };
        source.flows(number, &allowed)
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.compiled.groups
    }

    /// The ports that get what is flooded, or those that do not. The agent sets that nothing is
    /// flooded to the local ports of all bridges.
    pub(super) fn flooded(&self, is_flooded: bool) -> BTreeMap<PortNumber, bool> {
        let others = self.ports.keys().filter(|number| **number != PortNumber::LOCAL);
        let numbers = others.filter(|number| self.compiled.unflooded.contains(number) != is_flooded);
        numbers.map(|number| (*number, is_flooded)).collect()
    }

    /// The ports whose senders are others than before, and those that are gone.
    pub(super) fn changed_ports(&self, before: &Self) -> BTreeSet<PortNumber> {
        let all: BTreeSet<PortNumber> = self.ports.keys().chain(before.ports.keys()).copied().collect();
        all.into_iter().filter(|number| self.ports.get(number) != before.ports.get(number)).collect()
    }

    /// The changes, for one bundle, by which a bridge with the flows `before` has these, if both
    /// are with policies. Groups come before the flows that send to them, and are deleted after
    /// these.
    pub(super) fn changes_since(&self, before: &Self) -> Vec<Change> {
        let flows = self.flow_changes_since(before);
        if flows.is_empty() && self.groups() == before.groups() {
            return Vec::new();
        }
        let groups = self.groups().iter().cloned().map(|group| Change::Group(GroupMod::Set(group)));
        let ids = |flows: &Self| flows.groups().iter().map(|group| group.id).collect::<BTreeSet<GroupId>>();
        let gone: Vec<GroupId> = ids(before).difference(&ids(self)).copied().collect();
        let gone = gone.into_iter().map(|id| Change::Group(GroupMod::Delete(id)));
        groups.chain(flows.into_iter().map(Change::Flow)).chain(gone).collect()
    }

    fn flow_changes_since(&self, before: &Self) -> Vec<FlowMod> {
        let changed = self.changed_ports(before);
        let is_of_changed = |flow: &Flow| flow.matches.in_port.is_some_and(|number| changed.contains(&number));
        let [now, then] = [self, before].map(|flows| by_match(&flows.compiled.flows));
        // The plugin may have written flows of a port, and a former port of its number may have
        // left some.
        let mut changes: Vec<FlowMod> = changed.iter().map(|number| guard::deletion(*number)).collect();
        let surplus = then.iter().filter(|(key, flow)| !now.contains_key(*key) && !is_of_changed(flow));
        changes.extend(surplus.map(|(_, flow)| {
            let Flow { table, priority, matches, .. } = flow;
            FlowMod::DeleteStrict { table: *table, priority: *priority, matches: matches.encode() }
        }));
        for (number, source) in self.ports.iter().filter(|(number, _)| changed.contains(number)) {
            changes.extend(self.of_port(*number, source).into_iter().map(FlowMod::Add));
        }
        let missing = now.iter().filter(|(key, flow)| then.get(*key) != Some(flow) || is_of_changed(flow));
        changes.extend(missing.map(|(_, flow)| FlowMod::Add((*flow).clone())));
        changes
    }
}

/// Flows by table, priority and match, of each of which a bridge has one.
fn by_match(flows: &[Flow]) -> BTreeMap<(u8, u16, Vec<u8>), &Flow> {
    let key = |flow: &Flow| (flow.table, flow.priority, flow.matches.encode().bytes().to_vec());
    flows.iter().map(|flow| (key(flow), flow)).collect()
}

#[cfg(test)]
mod tests;
