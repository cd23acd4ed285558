//! Maps a change of the cache to what must be evaluated again. Pure. Anything that is not marked
//! here is unaffected: [`crate::evaluate`] verifies that with a property test.

use super::adopted_bridges;
use super::attachments::{Attachment, ObjectName};
use super::bridge_rivals;
use super::cluster::Cache;
use super::nads::NadKey;
use super::objects::{Compiled, Namespace, Network, Node, NodeSlice, NodeState, NodeStatus, Uplink};
use super::overlays::{UNICAST_NODES_MAX, overlay};
use super::routing_domains;
use super::uplink_use::{held, uplink};
use kube::core::SelectorExt;
use std::collections::BTreeSet;
use usnet_common::api::reflector::Changed;
use usnet_crds::node_slice::slice_name;

/// What must be evaluated again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dirty {
    /// Networks whose finalizer and compiled network are compared.
    pub networks: BTreeSet<String>,
    /// Networks whose status is compared.
    pub statuses: BTreeSet<String>,
    /// Nodes whose state is compared.
    pub nodes: BTreeSet<String>,
    /// Networks of which all NADs are compared.
    pub nads_of: BTreeSet<String>,
    /// Single NADs.
    pub nads: BTreeSet<NadKey>,
    /// Slices of nodes that are compared.
    pub slices: BTreeSet<String>,
    /// Uplinks whose finalizer and status are compared.
    pub uplinks: BTreeSet<String>,
    /// Attachments whose finalizer and status are compared.
    pub attachments: BTreeSet<ObjectName>,
    /// Nodes whose attachments are compared.
    pub attachment_nodes: BTreeSet<String>,
    /// Reservations whose status is compared.
    pub reservations: BTreeSet<ObjectName>,
    /// Networks whose reservations are decided on, at a limited rate.
    pub reserved: BTreeSet<String>,
    /// Networks whose reservations are decided on before they are compiled.
    pub undecided: BTreeSet<String>,
    /// Whether it is evaluated which networks use which uplinks.
    pub uplink_use: bool,
    /// Whether VNIs, and the nodes and labels of overlays, are evaluated.
    pub overlays: bool,
    /// Whether the subnets in routing domains are compared.
    pub routing_domains: bool,
    /// Whether users' NADs are evaluated.
    pub legacy: bool,
}

impl Dirty {
    /// Adds what else must be compared, except NADs, which are scanned apart.
    pub fn extend(&mut self, other: Self) {
        self.networks.extend(other.networks);
        self.statuses.extend(other.statuses);
        self.nodes.extend(other.nodes);
        self.slices.extend(other.slices);
        self.uplinks.extend(other.uplinks);
        self.attachments.extend(other.attachments);
        self.attachment_nodes.extend(other.attachment_nodes);
        self.reservations.extend(other.reservations);
        self.reserved.extend(other.reserved);
        self.undecided.extend(other.undecided);
        self.uplink_use |= other.uplink_use;
        self.overlays |= other.overlays;
        self.routing_domains |= other.routing_domains;
        self.legacy |= other.legacy;
    }

    /// All objects of the cache.
    pub fn everything(cache: &Cache) -> Self {
        let networks: BTreeSet<String> = cache.networks.keys().chain(cache.compiled.keys()).cloned().collect();
        let mut nads_of = networks.clone();
        nads_of.extend(cache.nads.generated_names().map(str::to_owned));
        let mut all = Self {
            statuses: networks.clone(),
            networks,
            nodes: cache.nodes.keys().chain(cache.states.keys()).cloned().collect(),
            nads_of,
            nads: BTreeSet::new(),
            slices: all_slices(cache),
            uplinks: cache.uplinks.keys().cloned().collect(),
            attachments: cache.attachments.objects.keys().cloned().collect(),
            attachment_nodes: cache.states.keys().cloned().collect(),
            uplink_use: true,
            overlays: true,
            routing_domains: true,
            legacy: true,
            ..Self::default()
        };
        all.all_reservations(cache);
        all
    }

    /// Whether nothing is dirty.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A UserspaceNetwork changed.
    pub fn network(&mut self, cache: &Cache, (name, before): Changed<String, Network>) {
        let now = cache.networks.get(&name);
        self.statuses.insert(name.clone());
        if before.is_some() != now.is_some() {
            let uses = |attachment: &Attachment| attachment.spec.as_ref().is_ok_and(|it| it.network.as_str() == name);
            let users = cache.attachments.objects.iter().filter(|(_, attachment)| uses(attachment));
            self.attachments.extend(users.map(|(name, _)| name.clone()));
        }
        let has_changed = before.as_ref().map(without_status) != now.map(without_status);
        let is_overlay = |network: Option<&Network>| network.is_some_and(|network| overlay(network).is_some());
        let vni = |network: Option<&Network>| network?.status.as_ref()?.overlay;
        self.overlays |=
            (has_changed || vni(before.as_ref()) != vni(now)) && (is_overlay(before.as_ref()) || is_overlay(now));
        let has_uplink = |network: Option<&Network>| network.is_some_and(|network| uplink(network).is_some());
        self.uplink_use |= has_changed && (has_uplink(before.as_ref()) || has_uplink(now));
        let has_domain = |network: Option<&Network>| network.is_some_and(|it| routing_domains::gateway(it).is_some());
        self.routing_domains |= has_changed && (has_domain(before.as_ref()) || has_domain(now));
        if before.as_ref().map(Network::attachments) != now.map(Network::attachments) {
            let changed = before.iter().chain(now);
            self.uplinks.extend(changed.filter_map(uplink).map(|used| used.uplink.to_string()));
        }
        let refused = |network: Option<&Network>| network.is_some_and(adopted_bridges::is_refused);
        if refused(before.as_ref()) != refused(now) {
            let changed = [before.as_ref(), now].into_iter().flatten();
            self.statuses.extend(
                changed.flat_map(|network| adopted_bridges::others(cache, network)).map(|(name, _)| name.clone()),
            );
        }
        let is_leaving = |network: Option<&Network>| network.is_some_and(Network::is_deleting);
        if is_leaving(before.as_ref()) != is_leaving(now) {
            let changed = [before.as_ref(), now].into_iter().flatten();
            self.statuses.extend(
                changed.flat_map(|network| bridge_rivals::rivals(cache, network)).map(|(name, _)| name.clone()),
            );
        }
        if has_changed {
            self.reservations_of_network(cache, &name);
            self.nads_of.insert(name.clone());
            self.networks.insert(name);
            self.legacy = true;
        }
    }

    /// A CompiledNetwork changed.
    pub fn compiled(&mut self, cache: &Cache, (name, before): Changed<String, Compiled>) {
        let has_overlay = |compiled: &Compiled| compiled.selection.as_ref().is_some_and(|it| it.overlay.is_some());
        self.overlays |= before.as_ref().is_some_and(has_overlay) || cache.compiled.get(&name).is_some_and(has_overlay);
        let has_uplink = |compiled: &Compiled| held(compiled).is_some();
        self.uplink_use |= before.as_ref().is_some_and(has_uplink) || cache.compiled.get(&name).is_some_and(has_uplink);
        let has_domain = |compiled: &Compiled| routing_domains::held(compiled).is_some();
        self.routing_domains |=
            before.as_ref().is_some_and(has_domain) || cache.compiled.get(&name).is_some_and(has_domain);
        self.reservations_of_compiled(cache, &name, before.as_ref());
        self.statuses.insert(name.clone());
        self.networks.insert(name);
    }

    /// A UserspaceUplink changed. It decides which nodes have networks without a selector.
    pub fn uplink(&mut self, cache: &Cache, (name, before): Changed<String, Uplink>) {
        let without_status = |uplink: &Uplink| Uplink { status: None, ..uplink.clone() };
        if before.as_ref().map(without_status) != cache.uplinks.get(&name).map(without_status) {
            self.uplink_use = true;
            let has_underlay = |uplink: &Uplink| uplink.spec.as_ref().is_ok_and(|valid| valid.underlay.is_some());
            self.overlays |=
                before.as_ref().is_some_and(has_underlay) || cache.uplinks.get(&name).is_some_and(has_underlay);
            let uses = |compiled: &Compiled| held(compiled).is_some_and(|used| used.uplink.as_str() == name);
            let users = cache.compiled.iter().filter(|(_, compiled)| uses(compiled));
            self.statuses.extend(users.map(|(name, _)| name.clone()));
        }
        self.uplinks.insert(name);
    }

    /// A Namespace changed.
    pub fn namespace(&mut self, cache: &Cache, (name, before): Changed<String, Namespace>) {
        let now = cache.namespaces.get(&name);
        let (before, nothing) = (before.as_ref(), Namespace::default());
        self.legacy = true;
        self.reservations_of_namespace(cache, &name, before);
        for (network, found) in &cache.networks {
            let Ok(valid) = &found.spec else { continue };
            let selects = |namespace: &Namespace| valid.namespaces.matches(&namespace.labels);
            if before.is_some_and(selects) != now.is_some_and(selects) && !valid.namespaces.selects_all() {
                self.networks.insert(network.clone());
                self.statuses.insert(network.clone());
            }
            let has = |namespace: &Namespace| found.needs_nad(valid, &name, namespace);
            let is_deleting = |namespace: Option<&Namespace>| namespace.unwrap_or(&nothing).is_deleting;
            if before.is_some_and(has) != now.is_some_and(has)
                || before.is_some() != now.is_some()
                || is_deleting(before) != is_deleting(now)
            {
                self.nads.insert(NadKey { namespace: name.clone(), name: network.clone() });
                self.statuses.insert(network.clone());
            }
        }
        // NADs of deleted networks can be deleted once a namespace of this name exists.
        if before.is_some() != now.is_some() {
            let orphans = cache.nads.generated_names().filter(|name| !cache.networks.contains_key(*name));
            let keys = orphans.map(|orphan| NadKey { namespace: name.clone(), name: orphan.to_owned() });
            self.nads.extend(keys);
        }
    }

    /// A Node changed.
    pub fn node(&mut self, cache: &Cache, (name, _): Changed<String, Node>) {
        self.slice_of(cache.states.get(&name));
        self.attachments.extend(cache.attachments.of_node(&name).map(|(name, _)| name.clone()));
        self.nodes.insert(name);
        // With fewer nodes no overlay has too many.
        self.overlays |= cache.nodes.len() >= UNICAST_NODES_MAX || cache.overlays.has_too_large();
        self.all_statuses(cache);
    }

    /// A UserspaceNodeSlice changed.
    pub fn slice(&mut self, (name, _): Changed<String, NodeSlice>) {
        self.slices.insert(name);
    }

    fn slice_of(&mut self, state: Option<&NodeState>) {
        self.slices.extend(state.and_then(|state| state.number).map(slice_name));
    }

    /// A UserspaceNodeState changed.
    pub fn node_state(&mut self, cache: &Cache, (name, before): Changed<String, NodeState>) {
        let now = cache.states.get(&name);
        let spec = |state: &NodeState| {
            (state.uid.clone(), state.owner.clone(), state.number, state.labels.clone(), state.created.clone())
        };
        let is_same_spec = before.as_ref().map(spec) == now.map(spec);
        if !is_same_spec {
            self.slice_of(before.as_ref());
            self.slice_of(now);
            self.nodes.insert(name.clone());
        }
        self.attachments_of_node(cache, &name, before.as_ref());
        let status = |state: Option<&NodeState>| state.and_then(|state| state.status.clone());
        match (status(before.as_ref()), status(now)) {
            (Some(before_status), Some(now_status)) if is_same_spec => {
                let selected = |state: Option<&NodeState>| state.map(|it| (it.selected_generation, it.is_observed()));
                if selected(before.as_ref()) == selected(now) {
                    self.node_status(cache, &before_status, &now_status);
                } else {
                    self.all_statuses(cache);
                }
            }
            (None, None) if is_same_spec => {}
            _ => self.all_statuses(cache),
        }
    }

    fn node_status(&mut self, cache: &Cache, before: &NodeStatus, now: &NodeStatus) {
        let of_node = |status: &NodeStatus| (status.missing.clone(), status.down.clone());
        if of_node(before) != of_node(now) {
            return self.all_statuses(cache);
        }
        let (low, high) = (before.through.min(now.through), before.through.max(now.through));
        let reached = cache.compiled.iter().filter(|(_, compiled)| low < compiled.version && compiled.version <= high);
        self.statuses.extend(reached.map(|(name, _)| name.clone()));
        let names = before.reports.keys().chain(now.reports.keys());
        let differs = |name: &&String| before.reports.get(*name) != now.reports.get(*name);
        self.statuses.extend(names.filter(differs).filter(|name| cache.networks.contains_key(*name)).cloned());
        let uplinks = before.uplinks.keys().chain(now.uplinks.keys());
        let differs = |name: &&String| before.uplinks.get(*name) != now.uplinks.get(*name);
        self.uplinks.extend(uplinks.filter(differs).cloned());
    }

    /// An attachment changed. Those of the same pod may have or lose its interface, unless only its
    /// conditions are others: of hundreds that fail, each must not have all evaluated again.
    pub fn attachment(&mut self, cache: &Cache, (name, before): Changed<ObjectName, Attachment>) {
        let now = cache.attachments.objects.get(&name);
        if before.as_ref().map(Attachment::claim) != now.map(Attachment::claim) {
            for changed in before.iter().chain(now) {
                self.attachment_nodes.extend(changed.node().map(str::to_owned));
                changed.pod(&name).iter().for_each(|pod| self.pod(cache, pod));
            }
        }
        self.attachments.insert(name);
    }

    /// Attachments were listed for the first time.
    pub fn all_attachments(&mut self, cache: &Cache) {
        self.attachments.extend(cache.attachments.objects.keys().cloned());
        self.attachment_nodes.extend(cache.states.keys().cloned());
    }

    /// A pod was read, or has to be read again.
    pub fn pod(&mut self, cache: &Cache, pod: &ObjectName) {
        self.attachments.extend(cache.attachments.of_pod(pod).map(|(name, _)| name.clone()));
    }

    fn attachments_of_node(&mut self, cache: &Cache, name: &str, before: Option<&NodeState>) {
        let now = cache.states.get(name);
        let requested = |state: &NodeState| {
            let observed = state.status.as_ref().map(|status| status.observed_generation);
            (state.uid.clone(), state.generation, state.attachments.clone(), observed)
        };
        let is_same = before.map(requested) == now.map(requested);
        let report = |state: Option<&NodeState>, uid: &str| state?.status.as_ref()?.attachments.get(uid).cloned();
        // Those without a node wait for the state of one.
        let is_concerned = |attachment: &Attachment| match attachment.node() {
            Some(node) if node != name => false,
            _ => !is_same || report(before, &attachment.uid) != report(now, &attachment.uid),
        };
        let concerned = cache.attachments.objects.iter().filter(|(_, attachment)| is_concerned(attachment));
        self.attachments.extend(concerned.map(|(name, _)| name.clone()));
        if !is_same {
            self.attachment_nodes.insert(name.to_owned());
        }
    }

    fn all_statuses(&mut self, cache: &Cache) {
        self.statuses.extend(cache.networks.keys().cloned());
        self.uplinks.extend(cache.uplinks.keys().cloned());
    }

    /// A NetworkAttachmentDefinition changed. `user_nads_changed`: one that a user wrote did.
    pub fn nad(&mut self, keys: Vec<NadKey>, user_nads_changed: bool) {
        self.legacy |= user_nads_changed;
        for key in keys {
            self.statuses.insert(key.name.clone());
            self.nads.insert(key);
        }
    }
}

/// The slices that there are, and those that there should be if there is an overlay.
pub(crate) fn all_slices(cache: &Cache) -> BTreeSet<String> {
    cache.slices.keys().cloned().chain(cache.node_numbers.all().map(slice_name)).collect()
}

fn without_status(network: &Network) -> Network {
    Network { status: None, ..network.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::attachment::validate::validate;
    use usnet_crds::{UserspaceAttachmentSpec, UserspaceAttachmentStatus};

    fn attachment(interface: &str) -> Attachment {
        let spec: UserspaceAttachmentSpec =
            serde_json::from_value(serde_json::json!({"pod": "web", "network": "blue", "interface": interface}))
                .unwrap();
        Attachment {
            uid: interface.to_owned(),
            generation: 1,
            created: None,
            deleted: None,
            finalizer: Some(0),
            owner: Some("web-uid".to_owned()),
            spec: Ok(validate(&spec).unwrap()),
            status: Some(UserspaceAttachmentStatus {
                node: "node-b".to_owned(),
                ..UserspaceAttachmentStatus::default()
            }),
        }
    }

    #[test]
    fn a_condition_of_an_attachment_concerns_it_alone_and_what_it_claims_all_of_the_pod() {
        let name = |name: &str| ObjectName { namespace: "team-a".to_owned(), name: name.to_owned() };
        let mut cache = Cache::default();
        for interface in ["net7", "net8", "net9"] {
            cache.attachments.objects.insert(name(interface), attachment(interface));
        }
        let marked = |change: fn(&mut Attachment)| {
            let (mut dirty, mut before) = (Dirty::default(), attachment("net7"));
            change(&mut before);
            dirty.attachment(&cache, (name("net7"), Some(before)));
            (dirty.attachments.len(), dirty.attachment_nodes.len())
        };
        assert_eq!(marked(|before| before.status.as_mut().unwrap().mac = "02:00:00:00:00:01".to_owned()), (1, 0));
        assert_eq!(marked(|before| before.status = None), (3, 1));
        assert_eq!(marked(|before| before.owner = None), (3, 1));
        assert_eq!(marked(|before| before.spec = attachment("net5").spec), (3, 1));
    }
}
