//! All flows of a guarded bridge: those of its ports, and those of the policies of its network.
//! Pure.

use super::fitting_policies::ClosedNamespaces;
use super::guard::{self, FORWARD};
use super::guarded::{FrameSource, GuardedPorts};
use super::network_pods::NetworkPods;
use super::network_policies::NetworkPolicies;
use super::policy::differing::differences;
use super::policy::{self, ChangedFlows, PolicyParts};
use std::collections::{BTreeMap, BTreeSet};
use usnet_openflow::flow::{Flow, Group, GroupId};
use usnet_openflow::{Change, Difference, FlowMod, GroupMod, PortNumber};

/// What a guarded bridge has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeFlows {
    ports: GuardedPorts,
    /// `None` if no policies restrict the ports.
    policies: Option<NetworkPolicies>,
    /// The pods, as policies see them; `None` without policies.
    pods: Option<NetworkPods>,
    /// What the flows of the policies follow from; `None` without policies.
    compiled: Option<PolicyParts>,
    too_large: Option<ClosedNamespaces>,
}

impl BridgeFlows {
    /// Compiles the flows. If the policies need more than a switch takes, ports of pods are closed.
    #[must_use]
    pub fn new(ports: GuardedPorts, policies: Option<NetworkPolicies>) -> Self {
        Self::compiled(ports, policies, None)
    }

    /// The same flows. What is as it is in these is not compiled again.
    #[must_use]
    pub fn after(&self, ports: GuardedPorts, policies: Option<NetworkPolicies>) -> Self {
        Self::compiled(ports, policies, Some(self))
    }

    fn compiled(ports: GuardedPorts, policies: Option<NetworkPolicies>, before: Option<&Self>) -> Self {
        let Some(of_network) = &policies else {
            return Self { ports, policies, pods: None, compiled: None, too_large: None };
        };
        let after = before.and_then(|before| before.pods_after(&ports, of_network));
        let pods = after.unwrap_or_else(|| NetworkPods::of(of_network, &ports));
        let parts = before.and_then(|before| before.compiled.as_ref());
        let (compiled, too_large) = of_network.compile_what_fits(&ports, &pods, parts);
        Self { ports, policies, pods: Some(pods), compiled: Some(compiled), too_large }
    }

    /// The pods with these policies, if the ports are the same.
    fn pods_after(&self, ports: &GuardedPorts, policies: &NetworkPolicies) -> Option<NetworkPods> {
        let (before, pods) = (self.policies.as_ref()?, self.pods.as_ref()?);
        if self.ports == *ports { pods.after(before, policies, ports) } else { None }
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
        let fixed = self.compiled.as_ref().map(PolicyParts::fixed).unwrap_or_default();
        fixed.iter().filter(|flow| policy::is_of_zone(flow)).all(|flow| difference.missing.contains(flow))
    }

    pub(super) const fn ports(&self) -> &GuardedPorts {
        &self.ports
    }

    /// The flows of all tables.
    pub(super) fn all(&self) -> Vec<Flow> {
        let of_ports = self.ports.iter().flat_map(|(number, source)| self.of_port(*number, source));
        of_ports.chain(self.compiled.iter().flat_map(PolicyParts::flows)).collect()
    }

    /// What a port may send.
    pub(super) fn of_port(&self, number: PortNumber, source: &FrameSource) -> Vec<Flow> {
        let allowed = if self.policies.is_some() { policy::CHECK } else { FORWARD };
        source.flows(number, &allowed)
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        self.compiled.as_ref().map(PolicyParts::groups).unwrap_or_default()
    }

    /// The ports that get what is flooded, or those that do not. The agent sets that nothing is
    /// flooded to the local ports of all bridges.
    pub(super) fn flooded(&self, is_flooded: bool) -> BTreeMap<PortNumber, bool> {
        let others = self.ports.keys().filter(|number| **number != PortNumber::LOCAL);
        let numbers = others.filter(|number| self.is_flooded(**number) == is_flooded);
        numbers.map(|number| (*number, is_flooded)).collect()
    }

    /// The same, of these ports and of those of which it was otherwise before.
    pub(super) fn flooded_since(
        &self,
        before: &Self,
        changed: &BTreeSet<PortNumber>,
        is_flooded: bool,
    ) -> BTreeMap<PortNumber, bool> {
        let are_same = match (&self.compiled, &before.compiled) {
            (Some(now), Some(before)) => now.has_ports_of(before),
            _ => false,
        };
        if are_same && changed.is_empty() {
            return BTreeMap::new();
        }
        let others = self.ports.keys().filter(|number| **number != PortNumber::LOCAL);
        let is_new = |number: &&PortNumber| {
            let was_same = before.ports.contains_key(number) && before.is_flooded(**number) == is_flooded;
            self.is_flooded(**number) == is_flooded && (changed.contains(number) || !was_same)
        };
        others.filter(is_new).map(|number| (*number, is_flooded)).collect()
    }

    fn is_flooded(&self, number: PortNumber) -> bool {
        !self.compiled.as_ref().is_some_and(|compiled| compiled.is_unflooded(number))
    }

    /// The ports whose senders are others than before, and those that are gone.
    pub(super) fn changed_ports(&self, before: &Self) -> BTreeSet<PortNumber> {
        differences(&self.ports, &before.ports).concat().into_iter().map(|(number, _)| *number).collect()
    }

    /// The changes, for one bundle, by which a bridge with the flows `before` has these, if both
    /// are with policies: of the `changed` ports, and what differs besides. Groups come before the
    /// flows that send to them, and are deleted after these.
    pub(super) fn changes_since(&self, before: &Self, changed: &BTreeSet<PortNumber>) -> Vec<Change> {
        let flows = self.flow_changes_since(before, changed);
        let has_groups = self.has_groups_of(before);
        if has_groups && !flows.iter().any(FlowMod::sends_to_group) {
            return flows.into_iter().map(Change::Flow).collect();
        }
        let (groups, former) = (self.groups(), before.groups());
        let is_there = |id: GroupId| groups.iter().any(|group| group.id == id);
        let gone = former.iter().map(|group| group.id).filter(|id| !is_there(*id));
        let gone: Vec<Change> = gone.map(|id| Change::Group(GroupMod::Delete(id))).collect();
        let groups = groups.into_iter().map(|group| Change::Group(GroupMod::Set(group)));
        groups.chain(flows.into_iter().map(Change::Flow)).chain(gone).collect()
    }

    fn has_groups_of(&self, before: &Self) -> bool {
        match (&self.compiled, &before.compiled) {
            (Some(now), Some(before)) => now.has_groups_of(before),
            (now, before) => now.is_none() && before.is_none(),
        }
    }

    fn flow_changes_since(&self, before: &Self, changed: &BTreeSet<PortNumber>) -> Vec<FlowMod> {
        let is_of_changed = |flow: &Flow| flow.matches.in_port.is_some_and(|number| changed.contains(&number));
        let differing = self.differing_from(before, changed);
        let [now, then] = [&differing.now, &differing.before].map(|flows| by_match(flows));
        // The plugin may have written flows of a port, and a former port of its number may have
        // left some.
        let mut changes: Vec<FlowMod> = changed.iter().map(|number| guard::deletion(*number)).collect();
        let surplus = then.iter().filter(|(key, flow)| !now.contains_key(*key) && !is_of_changed(flow));
        changes.extend(surplus.map(|(_, flow)| FlowMod::strict_deletion(flow)));
        for (number, source) in self.ports.iter().filter(|(number, _)| changed.contains(number)) {
            changes.extend(self.of_port(*number, source).into_iter().map(FlowMod::Add));
        }
        let missing = now.iter().filter(|(key, flow)| then.get(*key) != Some(flow) || is_of_changed(flow));
        changes.extend(missing.map(|(_, flow)| FlowMod::Add((*flow).clone())));
        changes
    }

    fn differing_from(&self, before: &Self, changed: &BTreeSet<PortNumber>) -> ChangedFlows {
        match (&self.compiled, &before.compiled) {
            (Some(now), Some(before)) => now.changed_since(before, changed),
            (now, before) => {
                let all = |parts: &Option<PolicyParts>| parts.as_ref().map(PolicyParts::flows).unwrap_or_default();
                ChangedFlows { before: all(before), now: all(now) }
            }
        }
    }
}

/// Flows by table, priority and match, of each of which a bridge has one.
fn by_match(flows: &[Flow]) -> BTreeMap<(u8, u16, Vec<u8>), &Flow> {
    let key = |flow: &Flow| (flow.table, flow.priority, flow.matches.encode().bytes().to_vec());
    flows.iter().map(|flow| (key(flow), flow)).collect()
}

#[cfg(test)]
mod tests;
