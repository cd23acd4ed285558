//! Which networks use which uplinks, and which may not. The VLAN of the underlay of an uplink is
//! free for none; overlays share the underlay.

use super::arbiter::{Arbiter, Claim, Request, Resource};
use super::conflict::{Conflict, Conflicts, changed_keys};
use crate::cache::objects::{Compiled, Network, Uplink};
use std::collections::BTreeMap;
use usnet_crds::conditions::message::uplink_status as message;
use usnet_crds::conditions::reason::{UPLINK_MISSING, UPLINK_UNUSABLE, VLAN_NOT_AVAILABLE, VLAN_TAKEN};
use usnet_crds::network::topology::Topology;
use usnet_crds::{EngineKind, IpFamily, NodeTraffic, UplinkName, ValidUplink, VlanTag};

/// What a network has of an uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Used {
    /// A VLAN; none means untagged frames.
    Vlan(Option<VlanTag>),
    /// The underlay of the uplink, between addresses of this family.
    Underlay(IpFamily),
}

/// The uplink of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UsedUplink<'a> {
    pub(crate) uplink: &'a UplinkName,
    pub(crate) used: Used,
}

/// The networks of one uplink.
pub type Users = BTreeMap<String, Used>;

/// The uplinks of all networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UplinkUse {
    conflicts: Conflicts,
    /// By the name of the uplink: the networks that nodes have on it, or are to have.
    users: BTreeMap<String, Users>,
}

/// A network with an uplink.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    name: &'a str,
    network: &'a Network,
    engine: EngineKind,
    uplink: UsedUplink<'a>,
    /// What the network was compiled with.
    held: Option<UsedUplink<'a>>,
}

impl Resource for UsedUplink<'_> {
    type Key = Self;

    const TAKEN: &'static str = VLAN_TAKEN;

    fn key(&self) -> Self {
        *self
    }

    /// Overlays share an underlay.
    fn overlaps(&self, _: &Self) -> bool {
        matches!(self.used, Used::Vlan(_))
    }

    fn taken(&self, _: &str, claim: &Claim<'_, Self>) -> String {
        let vlan = match self.used {
            Used::Vlan(vlan) => vlan,
            Used::Underlay(_) => None,
        };
        format!("{}{}", self.field(), message::vlan_taken(self.uplink, vlan, claim.network))
    }
}

impl UplinkUse {
    /// The uplinks that these networks and compiled networks use.
    pub fn of(
        networks: &BTreeMap<String, Network>,
        compiled: &BTreeMap<String, Compiled>,
        uplinks: &BTreeMap<String, Uplink>,
    ) -> Self {
        let members = networks.iter().filter_map(|(name, network)| Member::of(name, network, compiled.get(name)));
        let members: Vec<Member<'_>> = members.collect();
        let unsuitable = members.iter().filter_map(|member| Some((member.name, member.unsuitable(uplinks)?)));
        let unsuitable: BTreeMap<&str, Conflict> = unsuitable.collect();
        // A VLAN that a network has been compiled with stays its own.
        let may_claim = |member: &&Member<'_>| member.keeps() || !unsuitable.contains_key(member.name);
        let requests = members.iter().filter(may_claim).map(Member::request).collect();
        let held = || compiled.iter().filter_map(|(name, compiled)| Some((name.as_str(), held(compiled)?)));
        let claims = held().map(|(network, resource)| Claim { network, resource });
        let mut conflicts = Arbiter::new(networks).decide(requests, claims);
        unsuitable.into_iter().for_each(|(name, conflict)| conflicts.insert(name, conflict));
        let mut users: BTreeMap<String, Users> = BTreeMap::new();
        let accepted = members.iter().filter(|member| conflicts.conflict(member.name).is_none());
        for (name, uplink) in accepted.map(|member| (member.name, member.uplink)).chain(held()) {
            users.entry(uplink.uplink.to_string()).or_default().insert(name.to_owned(), uplink.used);
        }
        Self { conflicts, users }
    }

    /// Why the network cannot have its uplink; none if it can, or has none.
    pub fn conflict(&self, network: &str) -> Option<&Conflict> {
        self.conflicts.conflict(network)
    }

    /// The networks that use this uplink.
    pub fn users(&self, uplink: &str) -> Option<&Users> {
        self.users.get(uplink)
    }

    /// The networks that can have their uplinks now and could not before, or vice versa.
    pub fn networks_changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        self.conflicts.changed_since(&before.conflicts)
    }

    /// The uplinks whose networks changed.
    pub fn uplinks_changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        changed_keys(&self.users, &before.users)
    }
}

/// The uplink of a network whose spec is valid.
pub(crate) fn uplink(network: &Network) -> Option<UsedUplink<'_>> {
    match &network.spec.as_ref().ok()?.topology {
        Topology::NodeLocal => None,
        Topology::Uplink(uplink) => Some(UsedUplink { uplink: &uplink.name, used: Used::Vlan(uplink.vlan) }),
        Topology::Overlay(overlay) => {
            Some(UsedUplink { uplink: overlay.underlay.as_ref()?, used: Used::Underlay(overlay.ip_family) })
        }
    }
}

/// The uplink that a network was compiled with.
pub(crate) fn held(compiled: &Compiled) -> Option<UsedUplink<'_>> {
    let selection = compiled.selection.as_ref()?;
    if let Some(uplink) = &selection.uplink {
        return Some(UsedUplink { uplink: &uplink.name, used: Used::Vlan(uplink.vlan) });
    }
    let overlay = selection.overlay.as_ref()?;
    Some(UsedUplink { uplink: overlay.underlay.as_ref()?, used: Used::Underlay(overlay.ip_family) })
}

impl UsedUplink<'_> {
    /// The field that messages begin with.
    const fn field(&self) -> &'static str {
        match self.used {
            Used::Vlan(_) => "spec.topology.uplink",
            Used::Underlay(_) => "spec.topology.overlay.underlay.uplink",
        }
    }
}

impl<'a> Member<'a> {
    fn of(name: &'a str, network: &'a Network, compiled: Option<&'a Compiled>) -> Option<Self> {
        let valid = network.spec.as_ref().ok()?;
        let (uplink, held) = (uplink(network)?, compiled.and_then(held));
        // One that is being deleted requests nothing: nodes drain what it was compiled with. A
        // missing compiled network is written once more, so that nodes learn of the deletion.
        let is_compiled_again = compiled.is_none() && network.has_finalizer();
        let is_none = valid.has_ambiguous_addresses() || network.is_deleting() && !is_compiled_again;
        (!is_none).then_some(Self { name, network, engine: valid.engine, uplink, held })
    }

    /// Whether it has been compiled with what it requests.
    fn keeps(&self) -> bool {
        self.held == Some(self.uplink)
    }

    fn request(&self) -> Request<'a, UsedUplink<'a>> {
        Request { name: self.name, network: self.network, resources: vec![self.uplink], is_held: self.keeps() }
    }

    /// Why the network cannot use the uplink, whatever others have.
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
        match vlan {
            None if uplink.node_traffic == NodeTraffic::Shared => {
                conflict(UPLINK_UNUSABLE, message::vlan_required(name, &uplink.vlans))
            }
            Some(vlan) if !uplink.vlans.contains(vlan) => {
                conflict(VLAN_NOT_AVAILABLE, message::vlan_not_available(name, vlan, &uplink.vlans, self.keeps()))
            }
            _ if uplink.underlay.is_some_and(|underlay| underlay.vlan == vlan) => {
                conflict(VLAN_TAKEN, message::vlan_of_underlay(name, vlan, self.keeps()))
            }
            _ => None,
        }
    }

    /// The message begins with the field.
    fn conflict(&self, reason: &'static str, message: &str) -> Conflict {
        Conflict::new(reason, format!("{}{message}", self.uplink.field()))
    }
}
