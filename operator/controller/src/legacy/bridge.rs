//! A bridge and the NADs of Intel's userspace CNI that name it, the oldest first.

use super::evaluation::LegacyEvaluation;
use super::member::{Member, admits};
use super::messages;
use crate::cache::{Cache, Network};
use crate::events::EventRecord;
use crate::write::Write;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::legacy::network_of;
use usnet_crds::network::SELECTOR_VALUES_MAX;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{BridgeName, EngineKind, NetworkName};

/// A bridge that NADs of Intel's userspace CNI name.
#[derive(Debug)]
pub(super) struct LegacyBridge<'a> {
    pub(super) cache: &'a Cache,
    /// The networks of each bridge.
    pub(super) owners: &'a BridgeOwners<'a>,
    pub(super) engine: EngineKind,
    pub(super) bridge: &'a BridgeName,
    /// The name of the network that is generated for it.
    pub(super) name: NetworkName,
}

/// The networks of each bridge.
#[derive(Debug)]
pub(super) struct BridgeOwners<'a>(BTreeMap<(EngineKind, &'a BridgeName), Vec<&'a ValidNetwork>>);

impl<'a> BridgeOwners<'a> {
    pub(super) fn of(cache: &'a Cache) -> Self {
        let mut owners: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for valid in cache.networks.values().filter_map(|network| network.spec.as_ref().ok()) {
            owners.entry((valid.engine, &valid.bridge.name)).or_default().push(valid);
        }
        Self(owners)
    }
}

/// The owner of a bridge.
enum BridgeOwner<'a> {
    /// The network that was generated for it; none yet when the bridge is free.
    Generated(Option<&'a Network>),
    /// Users' networks, which may be on different nodes.
    Users(Vec<&'a ValidNetwork>),
    /// A user's network of another bridge has the name of the generated network.
    NameTaken,
}

impl<'a> LegacyBridge<'a> {
    /// Evaluates these NADs; true when the generated network of the bridge is desired.
    pub(super) fn reconcile(&self, members: &[Member<'a>], evaluation: &mut LegacyEvaluation) -> bool {
        match self.owner() {
            BridgeOwner::Generated(network) => self.reconcile_generated(members, network, evaluation),
            BridgeOwner::Users(networks) => {
                evaluation.records.extend(members.iter().filter_map(|member| self.check_join(member, &networks)));
                false
            }
            BridgeOwner::NameTaken => {
                let records = members.iter().map(|member| messages::name_taken(member, &self.name));
                evaluation.records.extend(records);
                false
            }
        }
    }

    /// Whether its network would have to be created.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.owner(), BridgeOwner::Generated(None))
    }

    fn owner(&self) -> BridgeOwner<'a> {
        let ours = self.cache.networks.get(self.name.as_str());
        if let Some(network) = ours.filter(|network| network.is_from_nad()) {
            return BridgeOwner::Generated(Some(network));
        }
        match (self.owners.0.get(&(self.engine, self.bridge)), ours) {
            (Some(networks), _) => BridgeOwner::Users(networks.clone()),
            (None, Some(_)) => BridgeOwner::NameTaken,
            (None, None) => BridgeOwner::Generated(None),
        }
    }

    /// The oldest NAD defines the network; the others join it when their settings match.
    fn reconcile_generated(
        &self,
        members: &[Member<'a>],
        network: Option<&Network>,
        evaluation: &mut LegacyEvaluation,
    ) -> bool {
        let mut first: Option<(&Member<'a>, ValidNetwork)> = None;
        let (mut namespaces, mut conflicting) = (BTreeSet::new(), Vec::new());
        for member in members {
            match &first {
                None => match network_of(member.legacy, &BTreeSet::from([member.key.namespace.clone()])) {
                    Ok((_, valid)) => first = Some((member, valid)),
                    Err(problem) => {
                        evaluation.records.push(messages::invalid(member.key, member.nad, &problem));
                        continue;
                    }
                },
                Some((oldest, valid)) => {
                    let mismatches = member.mismatches(self.engine, valid);
                    if !mismatches.is_empty() {
                        evaluation.records.push(messages::mismatch_with_oldest(
                            member,
                            &self.name,
                            oldest,
                            &mismatches,
                        ));
                        conflicting.push((member, mismatches));
                        continue;
                    }
                }
            }
            if namespaces.len() < SELECTOR_VALUES_MAX || namespaces.contains(&member.key.namespace) {
                namespaces.insert(member.key.namespace.clone());
            } else {
                evaluation.records.push(messages::too_many_namespaces(member, &self.name));
            }
        }
        let Some((oldest, _)) = first else { return false };
        evaluation.records.extend(messages::conflicting_nads(oldest, &self.name, &conflicting));
        evaluation.writes.extend(self.write(oldest, &namespaces, network));
        true
    }

    /// The required write. A network that is being deleted is recreated after its deletion.
    fn write(&self, oldest: &Member<'a>, namespaces: &BTreeSet<String>, network: Option<&Network>) -> Option<Write> {
        let (object, valid) = network_of(oldest.legacy, namespaces).ok()?;
        let is_achieved = |network: &Network| network.is_deleting() || network.spec.as_ref() == Ok(&valid);
        let uid = match network {
            Some(network) if is_achieved(network) => return None,
            network => network.map(|network| network.uid.clone()),
        };
        Some(Write::NetworkFromNad { network: self.name.to_string(), uid, spec: Box::new(object.spec) })
    }

    /// Checks whether the NAD can join one of the users' networks of this bridge.
    fn check_join(&self, member: &Member<'a>, networks: &[&'a ValidNetwork]) -> Option<EventRecord> {
        let open = || networks.iter().filter(|network| admits(self.cache, network, member.key));
        let mismatches = |network: &ValidNetwork| member.mismatches(self.engine, network);
        if open().any(|network| mismatches(network).is_empty()) {
            return None;
        }
        match (open().next(), networks.first()) {
            (Some(network), _) => Some(messages::mismatch_with_network(member, &network.name, &mismatches(network))),
            (None, Some(network)) => Some(messages::not_selected(member.key, member.nad, &network.name)),
            (None, None) => None,
        }
    }
}
