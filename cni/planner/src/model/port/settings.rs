//! The settings of a port: what an engine should have and reports of them, whether these are the
//! same, and their text.
//!
//! A new setting of pods' ports is a field of [`PortSettings`], [`DesiredSettings`] and
//! [`ObservedSettings`]; then this file and `port_settings` of each engine's driver do not compile
//! until they have it.

use super::backend::PortBackend;
use super::difference::Difference;
use super::guard::Guard;
use super::queue_settings::{ObservedQueues, QueueSettings};
use crate::model::tagging::Tagging;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use usnet_crds::{
    AddressPair, AntiSpoofing, Mtu, NodeNetwork, Policies, Polling, Queues, RateLimit, TransmitRetries, Vlan, VlanTag,
};

/// What can be changed on a pod's port while packets flow, as it is in a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PortSettings {
    /// Largest payload, in bytes.
    pub mtu: Mtu,
    /// The VLANs of the port; `None` means untagged.
    #[serde(default, deserialize_with = "vlan_or_tag")]
    pub vlan: Option<Vlan>,
    /// How much it may send and receive.
    #[serde(default)]
    pub rate_limit: RateLimit,
    /// The addresses of the pod that the engine routes to this port; none if it is on a bridge.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub routed: BTreeSet<IpAddr>,
    /// How VPP reads the queues of the pod; `None` leaves it to VPP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// How often Open vSwitch tries again to send to the pod; `None` means its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_retries: Option<TransmitRetries>,
    /// Which frames the pod may send.
    #[serde(default, skip_serializing_if = "AntiSpoofing::is_off")]
    pub anti_spoofing: AntiSpoofing,
    /// The addresses that the pod may use besides its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_address_pairs: Vec<AddressPair>,
    /// Whether policies restrict the connections of the pod.
    #[serde(default, skip_serializing_if = "are_disabled")]
    pub policies: Policies,
}

const fn are_disabled(policies: &Policies) -> bool {
    !policies.are_enabled()
}

/// Records of earlier releases have only the number of an access port's VLAN.
fn vlan_or_tag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vlan>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum VlanOrTag {
        Tag(VlanTag),
        Vlan(Vlan),
    }
    let read = Option::<VlanOrTag>::deserialize(deserializer)?;
    Ok(read.map(|read| match read {
        VlanOrTag::Tag(tag) => Vlan::Access { tag },
        VlanOrTag::Vlan(vlan) => vlan,
    }))
}

impl PortSettings {
    /// The settings of a pod's port on a network: those fixed for the pod's name, otherwise the
    /// network's. The pod itself can request a lower rate than the network's, not a higher one.
    pub fn of_pod(network: &NodeNetwork, namespace: &str, pod: &str, requested: RateLimit) -> Self {
        let fixed = network.fixed(namespace, pod);
        Self {
            mtu: network.bridge.mtu,
            vlan: fixed.as_ref().and_then(|fixed| fixed.vlan.clone()).or_else(|| network.port.vlan.clone()),
            rate_limit: fixed
                .as_ref()
                .and_then(|fixed| fixed.rate_limit)
                .unwrap_or_else(|| network.port.rate_limit.at_most(requested)),
            routed: BTreeSet::new(),
            polling: network.port.polling,
            transmit_retries: network.port.transmit_retries,
            anti_spoofing: network.port.anti_spoofing,
            allowed_address_pairs: fixed.map(|fixed| fixed.allowed_address_pairs).unwrap_or_default(),
            policies: network.policies,
        }
    }

    /// What the engine should have, without a guard: the settings of a port with this backend,
    /// whose program was given so many queues.
    pub fn desired(self, backend: &PortBackend, queues: Queues) -> DesiredSettings {
        let Self {
            mtu,
            vlan,
            rate_limit,
            routed,
            polling,
            transmit_retries,
            anti_spoofing: _,
            allowed_address_pairs: _,
            policies: _,
        } = self;
        let has_program = backend.of_pod().is_some_and(|pod| pod.program_role().is_some());
        let queues = has_program.then(|| QueueSettings::new(queues, polling, transmit_retries));
        DesiredSettings {
            mtu: PortMtu::Set(mtu),
            tagging: Some(vlan.into()),
            rate_limit: Some(rate_limit),
            routed,
            receive_queues: None,
            queues,
            guard: None,
        }
    }
}

/// What a port of an engine should have. `None` stands for a setting that usnet leaves alone on
/// ports of this owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredSettings {
    pub mtu: PortMtu,
    pub tagging: Option<Tagging>,
    pub rate_limit: Option<RateLimit>,
    /// The addresses that the engine routes to this port.
    pub routed: BTreeSet<IpAddr>,
    /// The queues on which a NIC receives.
    pub receive_queues: Option<Queues>,
    pub queues: Option<QueueSettings>,
    /// What its pod may claim to be; `None` if that is anything, and for ports of no pod.
    pub guard: Option<Guard>,
}

/// The MTU that a port should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortMtu {
    /// The engine is asked for this one.
    Set(Mtu),
    /// The kernel device has this one already. The engine must not be asked for any, because it
    /// would change the device.
    OfDevice(Mtu),
    Unmanaged,
}

/// What an engine reports of the settings of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedSettings {
    /// The requested MTU, in bytes; `None` if the engine was asked for none.
    pub mtu: Option<i64>,
    pub tagging: Tagging,
    /// `None` means limits that usnet does not set.
    pub rate_limit: Option<RateLimit>,
    /// The addresses that the engine routes to the port.
    pub routed: BTreeSet<IpAddr>,
    /// The requested queues on which a NIC receives; `None` if the engine was asked for none.
    pub receive_queues: Option<i64>,
    pub queues: ObservedQueues,
    /// What its pod may claim to be, as the port says; `None` if it says nothing.
    pub guard: Option<Guard>,
    /// Whether the port may forward: the admin state of VPP. Open vSwitch has none, there it always
    /// may.
    pub is_enabled: bool,
}

impl From<&DesiredSettings> for ObservedSettings {
    /// What an engine reports of an enabled port that needs no update.
    fn from(desired: &DesiredSettings) -> Self {
        let DesiredSettings { mtu, tagging, rate_limit, routed, receive_queues, queues, guard } = desired;
        Self {
            mtu: mtu.requested().map(i64::from),
            tagging: tagging.clone().unwrap_or(Tagging::Untagged),
            rate_limit: Some(rate_limit.unwrap_or_default()),
            routed: routed.clone(),
            receive_queues: receive_queues.map(i64::from),
            queues: queues.map(ObservedQueues::from).unwrap_or_default(),
            guard: guard.clone(),
            is_enabled: true,
        }
    }
}

impl DesiredSettings {
    /// Nothing but how frames are tagged; `None` leaves that alone as well.
    pub const fn tagging(tagging: Option<Tagging>) -> Self {
        Self {
            mtu: PortMtu::Unmanaged,
            tagging,
            rate_limit: None,
            routed: BTreeSet::new(),
            receive_queues: None,
            queues: None,
            guard: None,
        }
    }

    /// Untagged and without limits, as every port that joins a network with other nodes.
    pub fn plain(mtu: PortMtu) -> Self {
        let tagging = Some(Tagging::Untagged);
        Self { mtu, rate_limit: Some(RateLimit::default()), ..Self::tagging(tagging) }
    }
}

impl PortMtu {
    fn matches(self, observed: Option<i64>) -> bool {
        match self {
            Self::Set(mtu) => observed == Some(mtu.into()),
            Self::OfDevice(_) => observed.is_none(),
            Self::Unmanaged => true,
        }
    }

    /// The MTU to ask the engine for.
    pub fn requested(self) -> Option<Mtu> {
        match self {
            Self::Set(mtu) => Some(mtu),
            Self::OfDevice(_) | Self::Unmanaged => None,
        }
    }
}

impl ObservedSettings {
    /// Whether a port with these settings needs no update, whether it is enabled or not.
    pub fn match_desired(&self, desired: &DesiredSettings) -> bool {
        let DesiredSettings { mtu, tagging, rate_limit, routed, receive_queues, queues, guard } = desired;
        mtu.matches(self.mtu)
            && tagging.as_ref().is_none_or(|tagging| self.tagging == *tagging)
            && rate_limit.is_none_or(|limit| self.rate_limit == Some(limit))
            && self.routed == *routed
            && receive_queues.is_none_or(|queues| self.receive_queues == Some(queues.into()))
            && queues.is_none_or(|queues| self.queues.match_desired(queues))
            && self.guard == *guard
    }

    /// The settings that an update to the desired ones changes, as text.
    pub(crate) fn changes(&self, desired: &DesiredSettings) -> Vec<String> {
        let DesiredSettings { mtu, tagging, rate_limit, routed, receive_queues, queues, guard } = desired;
        let vlan = |tagging: &Tagging| match tagging {
            Tagging::Vlan(vlan) => vlan.to_string(),
            _ => "no VLAN".to_owned(),
        };
        let all = [
            mtu.requested().filter(|_| !mtu.matches(self.mtu)).map(|mtu| format!("MTU {mtu}")),
            tagging.as_ref().filter(|tagging| self.tagging != **tagging).map(vlan),
            rate_limit.filter(|limit| self.rate_limit != Some(*limit)).map(|limit| limit.to_string()),
            (self.routed != *routed).then(|| format!("routes to {}", addresses_text(routed))),
            receive_queues.filter(|queues| self.receive_queues != Some((*queues).into())).map(queues_text),
            (self.guard != *guard).then(|| format!("frames from {}", guard_text(guard.as_ref()))),
        ];
        let queues = queues.map(|queues| self.queues.changes(queues)).unwrap_or_default();
        all.into_iter().flatten().chain(queues).collect()
    }

    pub(crate) fn differences(&self, desired: &DesiredSettings) -> impl Iterator<Item = Difference> {
        let DesiredSettings { mtu, tagging, rate_limit, routed, receive_queues, queues, guard } = desired;
        let all = [
            mtu.requested().map(|desired| {
                let observed = self.mtu.map_or_else(|| "unset".to_owned(), |mtu| mtu.to_string());
                ("the MTU", observed, desired.to_string())
            }),
            tagging.as_ref().map(|desired| ("the VLAN", vlan_text(&self.tagging), vlan_text(desired))),
            rate_limit.map(|desired| {
                let observed = self.rate_limit.map_or_else(|| NOT_SET_BY_USNET.to_owned(), |limit| limit.to_string());
                ("the rate limit", observed, desired.to_string())
            }),
            Some(("the source of its frames", guard_text(self.guard.as_ref()), guard_text(guard.as_ref()))),
            Some(("the routed addresses", addresses_text(&self.routed), addresses_text(routed))),
            receive_queues.map(|desired| {
                let observed = self.receive_queues.map_or_else(|| "unset".to_owned(), |queues| queues.to_string());
                ("the number of receive queues", observed, desired.to_string())
            }),
        ];
        let differences = all.into_iter().flatten().filter(|(_, observed, desired)| observed != desired);
        let differences = differences.map(|(setting, observed, desired)| Difference { setting, observed, desired });
        differences.chain(queues.iter().flat_map(|queues| self.queues.differences(*queues)))
    }
}

const NOT_SET_BY_USNET: &str = "a value that usnet does not set";

fn vlan_text(tagging: &Tagging) -> String {
    match tagging {
        Tagging::Untagged => "none".to_owned(),
        Tagging::Vlan(vlan) => vlan.to_string(),
        Tagging::OnlyUntagged | Tagging::UntaggedAndTrunk(_) | Tagging::Other => NOT_SET_BY_USNET.to_owned(),
    }
}

/// The queues on which a NIC receives, as text.
pub(crate) fn queues_text(queues: Queues) -> String {
    if i64::from(queues) == 1 { "1 receive queue".to_owned() } else { format!("{queues} receive queues") }
}

/// What a pod may claim to be, as text.
fn guard_text(guard: Option<&Guard>) -> String {
    guard.map_or_else(|| "anybody".to_owned(), Guard::to_string)
}

fn addresses_text(all: &BTreeSet<IpAddr>) -> String {
    if all.is_empty() {
        return "none".to_owned();
    }
    all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" and ")
}

impl fmt::Display for DesiredSettings {
    /// The settings of a pod's port in an operation.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mtu) = self.mtu.requested() {
            write!(formatter, "MTU {mtu}, ")?;
        }
        match &self.tagging {
            Some(Tagging::Vlan(vlan)) => write!(formatter, "{vlan}")?,
            _ => formatter.write_str("no VLAN")?,
        }
        if let Some(limit) = &self.rate_limit {
            write!(formatter, " and {limit}")?;
        }
        self.queues.iter().try_for_each(|queues| queues.fmt(formatter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_vlan_of_an_earlier_release_is_that_of_an_access_port() {
        let read = |settings| serde_json::from_value::<PortSettings>(settings).unwrap();
        let access = Vlan::Access { tag: VlanTag::try_from(7).unwrap() };
        assert_eq!(read(json!({"mtu": 1500, "vlan": 7})).vlan, Some(access.clone()));
        assert_eq!(read(json!({"mtu": 1500, "vlan": null})).vlan, None);
        let settings = PortSettings { vlan: Some(access), ..read(json!({"mtu": 9000, "vlan": 7})) };
        assert_eq!(read(serde_json::to_value(&settings).unwrap()), settings);
    }

    #[test]
    fn a_setting_that_usnet_leaves_alone_never_differs() {
        let observed = ObservedSettings {
            mtu: Some(9000),
            tagging: Tagging::Other,
            rate_limit: None,
            routed: BTreeSet::new(),
            receive_queues: None,
            queues: ObservedQueues::default(),
            guard: None,
            is_enabled: true,
        };
        assert!(observed.match_desired(&DesiredSettings::tagging(None)));
        assert!(!observed.match_desired(&DesiredSettings::tagging(Some(Tagging::Untagged))));
        let device = DesiredSettings::plain(PortMtu::OfDevice(Mtu::default()));
        let plain = ObservedSettings { tagging: Tagging::Untagged, rate_limit: Some(RateLimit::default()), ..observed };
        assert!(!plain.match_desired(&device), "the engine was asked to change the device");
        assert!(ObservedSettings { mtu: None, ..plain }.match_desired(&device));
    }
}
