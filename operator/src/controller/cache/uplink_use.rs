//! Which networks use which uplinks, and which may not. It follows from networks, compiled networks
//! and uplinks alone, so that a restart changes nothing:
//!
//! - a network keeps the VLAN that it has been compiled with;
//! - a VLAN that a compiled network has is not free, whatever the network requests now;
//! - of several networks that request one, the oldest gets it;
//! - the VLAN of the underlay of an uplink is free for none; overlays share it.

use super::conflict::Conflict;
use super::objects::{Compiled, Network, Uplink};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::uplink_status as message;
use usnet_crds::conditions::reason::{UPLINK_MISSING, UPLINK_UNUSABLE, VLAN_NOT_AVAILABLE, VLAN_TAKEN};
use usnet_crds::network::topology::Topology;
use usnet_crds::{EngineKind, IpFamily, NodeTraffic, UplinkName, ValidUplink, VlanTag};

/// What a network has of an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Used {
    /// A VLAN; none means untagged frames.
    Vlan(Option<VlanTag>),
    /// Its underlay, between addresses of this family.
    Underlay(IpFamily),
}

/// The uplink of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UsedUplink<'a> {
    pub(super) uplink: &'a UplinkName,
    pub(super) used: Used,
}

/// The networks of one uplink.
pub type Users = BTreeMap<String, Used>;

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
    uplink: UsedUplink<'a>,
    /// What it was compiled with.
    held: Option<UsedUplink<'a>>,
}

type Claims<'a> = BTreeMap<UsedUplink<'a>, &'a str>;

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
            match request.unsuitable(uplinks).or_else(|| request.taken(&claims, networks)) {
                Some(conflict) => drop(conflicts.insert(request.name.to_owned(), conflict)),
                None => drop(claims.insert(request.uplink, request.name)),
            }
        }
        let mut users: BTreeMap<String, Users> = BTreeMap::new();
        let accepted = requests.iter().filter(|request| !conflicts.contains_key(request.name));
        for (name, uplink) in accepted.map(|request| (request.name, request.uplink)).chain(held()) {
            users.entry(uplink.uplink.to_string()).or_default().insert(name.to_owned(), uplink.used);
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
pub(super) fn uplink(network: &Network) -> Option<UsedUplink<'_>> {
    match &network.spec.as_ref().ok()?.topology {
        Topology::NodeLocal => None,
        Topology::Uplink(uplink) => Some(UsedUplink { uplink: &uplink.name, used: Used::Vlan(uplink.vlan) }),
        Topology::Overlay(overlay) => {
            Some(UsedUplink { uplink: overlay.underlay.as_ref()?, used: Used::Underlay(overlay.ip_family) })
        }
    }
}

pub(super) fn held(compiled: &Compiled) -> Option<UsedUplink<'_>> {
    let selection = compiled.selection.as_ref()?;
    if let Some(uplink) = &selection.uplink {
        return Some(UsedUplink { uplink: &uplink.name, used: Used::Vlan(uplink.vlan) });
    }
    let overlay = selection.overlay.as_ref()?;
    Some(UsedUplink { uplink: overlay.underlay.as_ref()?, used: Used::Underlay(overlay.ip_family) })
}

impl<'a> Request<'a> {
    fn of(name: &'a str, network: &'a Network, compiled: Option<&'a Compiled>) -> Option<Self> {
        let valid = network.spec.as_ref().ok()?;
        let (uplink, held) = (uplink(network)?, compiled.and_then(held));
        // One that is being deleted requests nothing: nodes drain what it was compiled with. A
        // missing compiled network is written once more, so that nodes learn of the deletion.
        let is_compiled_again = compiled.is_none() && network.has_finalizer();
        let is_none = valid.has_ambiguous_addresses() || network.is_deleting() && !is_compiled_again;
        (!is_none).then_some(Self { name, network, engine: valid.engine, uplink, held })
    }

    fn age(&self) -> (bool, Option<&'a Time>, &'a str) {
        (self.network.created.is_none(), self.network.created.as_ref(), self.name)
    }

    /// Why the uplink is none for this network, whatever others have.
    fn unsuitable(&self, uplinks: &BTreeMap<String, Uplink>) -> Option<Conflict> {
        let name = self.uplink.uplink;
        let conflict = |reason, message: String| Some(self.conflict(reason, &message));
        let Some(uplink) = uplinks.get(name.as_str()) else {
            return conflict(UPLINK_MISSING, message::uplink_missing(name));
        };
        if uplink.is_deleting() && self.held.is_none_or(|held| held.uplink != name) {
            return conflict(UPLINK_UNUSABLE, message::uplink_deleting(name));
        }
        let valid = match &uplink.spec {
            Ok(valid) => valid,
            Err(problem) => return conflict(UPLINK_UNUSABLE, message::uplink_invalid(name, problem)),
        };
        if valid.engine != self.engine {
            return conflict(UPLINK_UNUSABLE, message::uplink_of_other_engine(name, valid.engine, self.engine));
        }
        match self.uplink.used {
            Used::Vlan(vlan) => self.unsuitable_vlan(valid, vlan),
            Used::Underlay(family) => match &valid.underlay {
                None => conflict(UPLINK_UNUSABLE, message::uplink_without_underlay(name)),
                Some(underlay) if underlay.family() != family => {
                    conflict(UPLINK_UNUSABLE, message::underlay_of_other_family(name, underlay.family()))
                }
                Some(_) => None,
            },
        }
    }

    fn unsuitable_vlan(&self, uplink: &ValidUplink, vlan: Option<VlanTag>) -> Option<Conflict> {
        let name = &uplink.name;
        let conflict = |reason, message: String| Some(self.conflict(reason, &message));
        let keeps = self.held == Some(self.uplink);
        match vlan {
            None if uplink.node_traffic == NodeTraffic::Shared => {
                conflict(UPLINK_UNUSABLE, message::vlan_required(name, &uplink.vlans))
            }
            Some(vlan) if !uplink.vlans.contains(vlan) => {
                conflict(VLAN_NOT_AVAILABLE, message::vlan_not_available(name, vlan, &uplink.vlans, keeps))
            }
            _ if uplink.underlay.is_some_and(|underlay| underlay.vlan == vlan) => {
                conflict(VLAN_TAKEN, message::vlan_of_underlay(name, vlan, keeps))
            }
            _ => None,
        }
    }

    /// Overlays share an underlay.
    fn taken(&self, claims: &Claims<'_>, networks: &BTreeMap<String, Network>) -> Option<Conflict> {
        let Used::Vlan(vlan) = self.uplink.used else { return None };
        let holder = claims.get(&self.uplink).filter(|holder| **holder != self.name)?;
        let message = format!("{}{}", self.field(), message::vlan_taken(self.uplink.uplink, vlan, holder));
        Some(Conflict::taken(VLAN_TAKEN, &message, (holder, networks)))
    }

    /// The message begins with the field.
    fn conflict(&self, reason: &'static str, message: &str) -> Conflict {
        Conflict::new(reason, format!("{}{message}", self.field()))
    }

    const fn field(&self) -> &'static str {
        match self.uplink.used {
            Used::Vlan(_) => "spec.topology.uplink",
            Used::Underlay(_) => "spec.topology.overlay.underlay.uplink",
        }
    }
}
