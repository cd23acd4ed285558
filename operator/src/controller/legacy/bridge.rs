//! One bridge and the definitions that name it, the oldest first.

use super::super::cache::{Cache, Network};
use super::super::events::Notice;
use super::super::write::Write;
use super::{Consequences, Member, admits, messages, network_of};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::network::SELECTOR_VALUES_MAX;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{BridgeName, Engine, NetworkName};

/// A bridge that definitions name.
#[derive(Debug)]
pub(super) struct Bridge<'a> {
    pub(super) cache: &'a Cache,
    /// Who has which bridge.
    pub(super) owners: &'a Owners<'a>,
    pub(super) engine: Engine,
    pub(super) bridge: &'a BridgeName,
    /// The network that is made for it.
    pub(super) name: NetworkName,
}

/// The networks of each bridge.
#[derive(Debug)]
pub(super) struct Owners<'a>(BTreeMap<(Engine, &'a BridgeName), Vec<&'a ValidNetwork>>);

impl<'a> Owners<'a> {
    pub(super) fn of(cache: &'a Cache) -> Self {
        let mut owners: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for valid in cache.networks.values().filter_map(|network| network.spec.as_ref().ok()) {
            owners.entry((valid.engine, &valid.bridge.name)).or_default().push(valid);
        }
        Self(owners)
    }
}

/// Who has the bridge.
enum Holder<'a> {
    /// The network that was made for it, or nobody yet.
    Ours(Option<&'a Network>),
    /// Networks of people, which may be on different nodes.
    Theirs(Vec<&'a ValidNetwork>),
    /// A person's network of another bridge has our name.
    NameTaken,
}

impl<'a> Bridge<'a> {
    /// Decides what becomes of these definitions; true when the network that is made for the bridge should be there.
    pub(super) fn decide(&self, members: &[Member<'a>], found: &mut Consequences) -> bool {
        match self.holder() {
            Holder::Ours(network) => self.make(members, network, found),
            Holder::Theirs(networks) => {
                found.notices.extend(members.iter().filter_map(|member| self.join(member, &networks)));
                false
            }
            Holder::NameTaken => {
                let notices = members.iter().map(|member| messages::name_taken(member, &self.name));
                found.notices.extend(notices);
                false
            }
        }
    }

    /// Whether its network would have to be created.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.holder(), Holder::Ours(None))
    }

    fn holder(&self) -> Holder<'a> {
        let ours = self.cache.networks.get(self.name.as_str());
        if let Some(network) = ours.filter(|network| network.is_from_nad()) {
            return Holder::Ours(Some(network));
        }
        match (self.owners.0.get(&(self.engine, self.bridge)), ours) {
            (Some(networks), _) => Holder::Theirs(networks.clone()),
            (None, Some(_)) => Holder::NameTaken,
            (None, None) => Holder::Ours(None),
        }
    }

    /// The oldest definition says what the network is like; the others join it if that is what they ask for too.
    fn make(&self, members: &[Member<'a>], network: Option<&Network>, found: &mut Consequences) -> bool {
        let mut first: Option<(&Member<'a>, ValidNetwork)> = None;
        let (mut namespaces, mut refused) = (BTreeSet::new(), Vec::new());
        for member in members {
            match &first {
                None => match network_of(member.legacy, &BTreeSet::from([member.key.namespace.clone()])) {
                    Ok((_, valid)) => first = Some((member, valid)),
                    Err(problem) => {
                        found.notices.push(messages::invalid(member.key, member.definition, &problem));
                        continue;
                    }
                },
                Some((oldest, valid)) => {
                    let differences = member.legacy.settings.disagreements(self.engine, &valid.bridge, &valid.port);
                    if !differences.is_empty() {
                        found.notices.push(messages::disagrees(member, &self.name, oldest, &differences));
                        refused.push((member, differences));
                        continue;
                    }
                }
            }
            if namespaces.len() < SELECTOR_VALUES_MAX || namespaces.contains(&member.key.namespace) {
                namespaces.insert(member.key.namespace.clone());
            } else {
                found.notices.push(messages::too_many_namespaces(member, &self.name));
            }
        }
        let Some((oldest, _)) = first else { return false };
        found.notices.extend(messages::is_disagreed_with(oldest, &self.name, &refused));
        found.writes.extend(self.write(oldest, &namespaces, network));
        true
    }

    /// The write that is missing. A network that is being deleted is made anew once it is gone.
    fn write(&self, oldest: &Member<'a>, namespaces: &BTreeSet<String>, network: Option<&Network>) -> Option<Write> {
        let (object, valid) = network_of(oldest.legacy, namespaces).ok()?;
        let is_achieved = |network: &Network| network.is_deleting() || network.spec.as_ref() == Ok(&valid);
        let uid = match network {
            Some(network) if is_achieved(network) => return None,
            network => network.map(|network| network.uid.clone()),
        };
        Some(Write::NetworkFromNad { network: self.name.to_string(), uid, spec: Box::new(object.spec) })
    }

    /// Joins one of the networks that people made for this bridge.
    fn join(&self, member: &Member<'a>, networks: &[&'a ValidNetwork]) -> Option<Notice> {
        let open = || networks.iter().filter(|network| admits(self.cache, network, member.key));
        let differences =
            |network: &ValidNetwork| member.legacy.settings.disagreements(self.engine, &network.bridge, &network.port);
        if open().any(|network| differences(network).is_empty()) {
            return None;
        }
        match (open().next(), networks.first()) {
            (Some(network), _) => Some(messages::does_not_fit(member, &network.name, &differences(network))),
            (None, Some(network)) => Some(messages::not_selected(member.key, member.definition, &network.name)),
            (None, None) => None,
        }
    }
}
