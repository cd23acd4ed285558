//! Which networks use which uplinks, and which may not. It follows from networks, compiled networks
//! and uplinks alone, so that a restart changes nothing:
//!
//! - a network keeps the VLAN that it has been compiled with;
//! - a VLAN that a compiled network has is not free, whatever the network requests now;
//! - of several networks that request one, the oldest gets it.

use super::objects::{Compiled, Network, Uplink};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::uplink_status as message;
use usnet_crds::conditions::reason::{UPLINK_MISSING, UPLINK_UNUSABLE, VLAN_NOT_AVAILABLE, VLAN_TAKEN};
use usnet_crds::{EngineKind, NetworkUplink, NodeTraffic, VlanTag};

/// Why a network cannot have its uplink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The reason of the condition.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: String,
}

/// The VLANs of the networks of one uplink; none is untagged.
pub type Users = BTreeMap<String, Option<VlanTag>>;

/// The uplinks of all networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UplinkUse {
    /// By the name of the network.
    conflicts: BTreeMap<String, Conflict>,
    /// By the name of the uplink: the networks that nodes have on it, or are to have.
    users: BTreeMap<String, Users>,
}

/// A network with an uplink.
#[derive(Debug, Clone, Copy)]
struct Request<'a> {
    name: &'a str,
    network: &'a Network,
    engine: EngineKind,
    uplink: &'a NetworkUplink,
    /// What it was compiled with.
    held: Option<&'a NetworkUplink>,
}

type Claims<'a> = BTreeMap<&'a NetworkUplink, &'a str>;

impl UplinkUse {
    /// Of these networks, compiled networks and uplinks.
    pub fn of(
        networks: &BTreeMap<String, Network>,
        compiled: &BTreeMap<String, Compiled>,
        uplinks: &BTreeMap<String, Uplink>,
    ) -> Self {
        let mut requests: Vec<Request<'_>> =
            networks.iter().filter_map(|(name, network)| Request::of(name, network, compiled.get(name))).collect();
        requests.sort_by(|one, other| one.age().cmp(&other.age()));
        let held = || compiled.iter().filter_map(|(name, compiled)| Some((name.as_str(), held(compiled)?)));
        // Two compiled networks with one VLAN can only come from others: one of them has it.
        let mut claims: Claims<'_> = Claims::new();
        for request in requests.iter().filter(|request| request.held == Some(request.uplink)) {
            claims.entry(request.uplink).or_insert(request.name);
        }
        for (name, uplink) in held() {
            claims.entry(uplink).or_insert(name);
        }
        let mut conflicts = BTreeMap::new();
        for request in &requests {
            match request.unsuitable(uplinks).or_else(|| request.taken(&claims)) {
                Some(conflict) => drop(conflicts.insert(request.name.to_owned(), conflict)),
                None => drop(claims.insert(request.uplink, request.name)),
            }
        }
        let mut users: BTreeMap<String, Users> = BTreeMap::new();
        let accepted = requests.iter().filter(|request| !conflicts.contains_key(request.name));
        for (name, uplink) in accepted.map(|request| (request.name, request.uplink)).chain(held()) {
            users.entry(uplink.name.to_string()).or_default().insert(name.to_owned(), uplink.vlan);
        }
        Self { conflicts, users }
    }

    /// Why the network cannot have its uplink; none if it can, or has none.
    pub fn conflict(&self, network: &str) -> Option<&Conflict> {
        self.conflicts.get(network)
    }

    /// The networks that use this uplink.
    pub fn users(&self, uplink: &str) -> Option<&Users> {
        self.users.get(uplink)
    }

    /// The networks that can have their uplinks now and could not before, or vice versa.
    pub fn networks_changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        let names: BTreeSet<&String> = self.conflicts.keys().chain(before.conflicts.keys()).collect();
        names.into_iter().filter(|name| self.conflicts.get(*name) != before.conflicts.get(*name))
    }

    /// The uplinks whose networks changed.
    pub fn uplinks_changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        let names: BTreeSet<&String> = self.users.keys().chain(before.users.keys()).collect();
        names.into_iter().filter(|name| self.users.get(*name) != before.users.get(*name))
    }
}

/// The uplink of a network whose spec is valid.
pub(super) fn uplink(network: &Network) -> Option<&NetworkUplink> {
    network.spec.as_ref().ok()?.topology.uplink()
}

pub(super) fn held(compiled: &Compiled) -> Option<&NetworkUplink> {
    compiled.selection.as_ref()?.uplink.as_ref()
}

impl<'a> Request<'a> {
    fn of(name: &'a str, network: &'a Network, compiled: Option<&'a Compiled>) -> Option<Self> {
        let valid = network.spec.as_ref().ok()?;
        let (uplink, held) = (valid.topology.uplink()?, compiled.and_then(held));
        // It is rejected for another reason, or leaves before nodes had it.
        let is_none = valid.has_ambiguous_addresses() || network.is_deleting() && held.is_none();
        (!is_none).then_some(Self { name, network, engine: valid.engine, uplink, held })
    }

    fn age(&self) -> (bool, Option<&'a Time>, &'a str) {
        (self.network.created.is_none(), self.network.created.as_ref(), self.name)
    }

    /// Why the uplink is none for this network, whatever others have.
    fn unsuitable(&self, uplinks: &BTreeMap<String, Uplink>) -> Option<Conflict> {
        let name = &self.uplink.name;
        let conflict = |reason, message| Some(Conflict { reason, message });
        let Some(uplink) = uplinks.get(name.as_str()) else {
            return conflict(UPLINK_MISSING, message::uplink_missing(name));
        };
        if uplink.is_deleting() && self.held.is_none_or(|held| held.name != *name) {
            return conflict(UPLINK_UNUSABLE, message::uplink_deleting(name));
        }
        let valid = match &uplink.spec {
            Ok(valid) => valid,
            Err(problem) => return conflict(UPLINK_UNUSABLE, message::uplink_invalid(name, problem)),
        };
        if valid.engine != self.engine {
            return conflict(UPLINK_UNUSABLE, message::uplink_of_other_engine(name, valid.engine, self.engine));
        }
        match self.uplink.vlan {
            None if valid.node_traffic == NodeTraffic::Shared => {
                conflict(UPLINK_UNUSABLE, message::vlan_required(name, &valid.vlans))
            }
            Some(vlan) if !valid.vlans.contains(vlan) => {
                let keeps = self.held == Some(self.uplink);
                conflict(VLAN_NOT_AVAILABLE, message::vlan_not_available(name, vlan, &valid.vlans, keeps))
            }
            _ => None,
        }
    }

    fn taken(&self, claims: &Claims<'_>) -> Option<Conflict> {
        let holder = claims.get(self.uplink).filter(|holder| **holder != self.name)?;
        let message = message::vlan_taken(&self.uplink.name, self.uplink.vlan, holder);
        Some(Conflict { reason: VLAN_TAKEN, message })
    }
}
