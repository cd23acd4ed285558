//! `UserspaceReservation`s, and what is decided on them for each network.

use super::attachments::ObjectName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::reservation::validate::ValidReservation;
use usnet_crds::{FixedAttachment, UserspaceReservationStatus};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reservations {
    pub objects: BTreeMap<ObjectName, Reservation>,
    /// By network, as last evaluated.
    pub decided: BTreeMap<String, Decision>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reservation {
    pub uid: String,
    pub generation: i64,
    pub created: Option<Time>,
    pub is_deleting: bool,
    pub spec: Result<ValidReservation, String>,
    /// The status that was written last.
    pub status: Option<UserspaceReservationStatus>,
}

/// What the reservations of one network get.
pub type Decision = BTreeMap<ObjectName, Verdict>;

/// What a reservation gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its pods have these settings.
    Fixed(FixedAttachment),
    Refused {
        reason: &'static str,
        message: String,
    },
    /// The network is invalid: nodes keep what they have.
    Unknown,
}

impl Verdict {
    pub const fn fixed(&self) -> Option<&FixedAttachment> {
        match self {
            Self::Fixed(fixed) => Some(fixed),
            Self::Refused { .. } | Self::Unknown => None,
        }
    }
}

impl Reservation {
    /// The network that it names, if its spec is valid.
    pub fn network(&self) -> Option<&str> {
        self.spec.as_ref().ok().map(|valid| valid.network.as_str())
    }

    /// What decisions depend on.
    pub(super) fn claim(&self) -> impl PartialEq + '_ {
        (&self.uid, &self.created, self.is_deleting, &self.spec)
    }
}

impl Reservations {
    pub fn of_network<'a>(&'a self, network: &'a str) -> impl Iterator<Item = (&'a ObjectName, &'a Reservation)> {
        self.objects.iter().filter(move |(_, reservation)| reservation.network() == Some(network))
    }

    /// What reservations fix on this network.
    pub fn fixed(&self, network: &str) -> impl Iterator<Item = &FixedAttachment> {
        self.decided.get(network).into_iter().flat_map(BTreeMap::values).filter_map(Verdict::fixed)
    }

    /// The networks on which something is reserved or requested.
    pub(super) fn networks(&self) -> BTreeSet<String> {
        let requested = self.objects.values().filter_map(|it| it.network().map(str::to_owned));
        self.decided.keys().cloned().chain(requested).collect()
    }

    /// Whether something is reserved or requested on this network.
    pub(super) fn concern(&self, network: &str) -> bool {
        self.decided.contains_key(network) || self.of_network(network).next().is_some()
    }
}
