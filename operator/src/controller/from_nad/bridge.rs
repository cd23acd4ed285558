//! One bridge and the definitions that name it, the oldest first.

use super::super::diff::Write;
use super::super::inputs::{Inputs, Network};
use super::{FromNad, Member, admits, is_from_nad, network_of, words};
use std::collections::BTreeSet;
use usnet_crds::network::SELECTOR_VALUES_MAX;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{BridgeName, Engine, NetworkName};

/// A bridge that definitions name.
#[derive(Debug)]
pub(super) struct Bridge<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) engine: Engine,
    pub(super) bridge: &'a BridgeName,
    /// The network that is made for it.
    pub(super) name: NetworkName,
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
    pub(super) fn decide(&self, members: &[Member<'a>], found: &mut FromNad) -> bool {
        match self.holder() {
            Holder::Ours(network) => self.make(members, network, found),
            Holder::Theirs(networks) => {
                found.notices.extend(members.iter().filter_map(|member| self.join(member, &networks)));
                false
            }
            Holder::NameTaken => {
                let notices = members.iter().map(|member| words::name_taken(member, &self.name));
                found.notices.extend(notices);
                false
            }
        }
    }

    fn holder(&self) -> Holder<'a> {
        let ours = self.inputs.networks.get(self.name.as_str());
        if let Some(network) = ours.filter(|network| is_from_nad(network)) {
            return Holder::Ours(Some(network));
        }
        let valid = self.inputs.networks.values().filter_map(|network| network.spec.as_ref().ok());
        let claims = valid.filter(|valid| valid.engine == self.engine && valid.bridge.name == *self.bridge);
        let claims: Vec<&ValidNetwork> = claims.collect();
        match (claims.is_empty(), ours) {
            (false, _) => Holder::Theirs(claims),
            (true, Some(_)) => Holder::NameTaken,
            (true, None) => Holder::Ours(None),
        }
    }

    /// The oldest definition says what the network is like; the others join it if that is what they ask for too.
    fn make(&self, members: &[Member<'a>], network: Option<&Network>, found: &mut FromNad) -> bool {
        let mut first: Option<(&Member<'a>, ValidNetwork)> = None;
        let (mut namespaces, mut refused) = (BTreeSet::new(), Vec::new());
        for member in members {
            match &first {
                None => match network_of(member.legacy, &BTreeSet::from([member.key.namespace.clone()])) {
                    Ok((_, valid)) => first = Some((member, valid)),
                    Err(problem) => {
                        found.notices.push(words::invalid(member.key, member.definition, &problem));
                        continue;
                    }
                },
                Some((oldest, valid)) => {
                    let differences = member.legacy.settings.disagreements(self.engine, &valid.bridge, &valid.port);
                    if !differences.is_empty() {
                        found.notices.push(words::disagrees(member, &self.name, oldest, &differences));
                        refused.push((member, differences));
                        continue;
                    }
                }
            }
            if namespaces.len() < SELECTOR_VALUES_MAX || namespaces.contains(&member.key.namespace) {
                namespaces.insert(member.key.namespace.clone());
            } else {
                found.notices.push(words::too_many_namespaces(member, &self.name));
            }
        }
        let Some((oldest, _)) = first else { return false };
        found.notices.extend(words::is_disagreed_with(oldest, &self.name, &refused));
        found.writes.extend(self.write(oldest, &namespaces, network));
        true
    }

    /// The write that is missing. A network that is being deleted is made anew once it is gone.
    fn write(&self, oldest: &Member<'a>, namespaces: &BTreeSet<String>, network: Option<&Network>) -> Option<Write> {
        let (object, valid) = network_of(oldest.legacy, namespaces).ok()?;
        let is_achieved = |network: &Network| network.is_deleting || network.spec.as_ref() == Ok(&valid);
        let uid = match network {
            Some(network) if is_achieved(network) => return None,
            network => network.map(|network| network.uid.clone()),
        };
        Some(Write::NetworkFromNad { network: self.name.to_string(), uid, spec: Box::new(object.spec) })
    }

    /// Joins one of the networks that people made for this bridge.
    fn join(&self, member: &Member<'a>, networks: &[&'a ValidNetwork]) -> Option<super::Notice> {
        let open = || networks.iter().filter(|network| admits(self.inputs, network, member.key));
        let differences =
            |network: &ValidNetwork| member.legacy.settings.disagreements(self.engine, &network.bridge, &network.port);
        if open().any(|network| differences(network).is_empty()) {
            return None;
        }
        match (open().next(), networks.first()) {
            (Some(network), _) => Some(words::does_not_fit(member, &network.name, &differences(network))),
            (None, Some(network)) => Some(words::not_selected(member.key, member.definition, &network.name)),
            (None, None) => None,
        }
    }
}
