//! The ports of a network: what users write ([`PortSpec`]), its rules in CEL and in Rust, and what
//! nodes read ([`Port`]).

#[cfg(feature = "api")]
pub(super) mod anti_spoofing;
#[cfg(feature = "api")]
pub(super) mod memif_mode;
#[cfg(feature = "api")]
mod serving;
#[cfg(feature = "api")]
mod veth;
#[cfg(feature = "api")]
pub(super) mod vlan;

use crate::types::anti_spoofing::AntiSpoofing;
use crate::types::limits::{Queues, RingSize, TransmitRetries};
use crate::types::names::{DEFAULT_VOLUME, VolumeName};
use crate::types::port_type::{Memif, Polling, PortType, Veth, VhostUser};
use crate::types::rate::RateLimit;
use crate::types::vlan::Vlan;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub(crate) use spec::rate_limit;
#[cfg(feature = "api")]
pub use spec::{PortSpec, RateLimitSpec};
#[cfg(feature = "api")]
pub(super) use spec::{engine_rules, port, unlimited_egress};

/// The defaults of every port of a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// How the pod's interface is connected to the engine.
    #[serde(rename = "type")]
    pub port_type: PortType,
    /// Queue pairs, passed to the pod's program. With more than one the engine spreads over them
    /// what it sends to the pod.
    pub queues: Queues,
    /// Descriptors of each ring, passed to the pod's program.
    #[serde(default)]
    pub ring_size: RingSize,
    /// The VLAN; none means untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,
    /// How much a port may send and receive.
    #[serde(default)]
    pub rate_limit: RateLimit,
    /// The volume of the pod in which its sockets are; none means the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumeName>,
    /// The settings of ports of the type Memif.
    #[serde(default)]
    pub memif: Memif,
    /// The settings of ports of the type VhostUser.
    #[serde(default)]
    pub vhost_user: VhostUser,
    /// The settings of ports of the type Veth.
    #[serde(default, skip_serializing_if = "Veth::is_default")]
    pub veth: Veth,
    /// How VPP reads the queues of the pod; none leaves it to VPP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// How often Open vSwitch tries again to send to the pod; none means its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_retries: Option<TransmitRetries>,
    /// Which frames a pod may send.
    #[serde(default, skip_serializing_if = "AntiSpoofing::is_off")]
    pub anti_spoofing: AntiSpoofing,
}

impl Port {
    /// Whether pods may not send everything.
    pub const fn is_guarded(&self) -> bool {
        !self.anti_spoofing.is_off()
    }

    /// The name of the pod's volume.
    pub fn volume_name(&self) -> &str {
        self.volume.as_ref().map_or(DEFAULT_VOLUME, VolumeName::as_str)
    }
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::Port;
    use super::{anti_spoofing, serving, veth};
    use crate::cel::{at, is, is_set, or_default, range, rule, with_engine};
    use crate::engine::EngineTraits;
    use crate::network::bridge::spec::BridgeSpec;
    use crate::network::port::vlan::{VlanSpec, vlan};
    use crate::problem::{Problem, Problems};
    use crate::types::limits::{Queues, RingSize, TransmitRetries};
    use crate::types::names::{NAMESPACE_NAME_PATTERN, VOLUME_NAME_MAX};
    use crate::{
        AntiSpoofing, EngineKind, KilobitsPerSecond, Memif, MemifSecretKind, MemifSocketKind, Polling, PortType,
        RateLimit, Veth, VhostUser, VolumeName,
    };
    use kube::KubeSchema;
    use kube::core::Rule;
    use serde::{Deserialize, Serialize};

    /// The defaults of every port of a network.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[serde(rename_all = "camelCase")]
    pub struct PortSpec {
        /// How a pod's interface is connected to the engine: VhostUser, Veth, or with VPP also
        /// Memif and Tap. Default VhostUser with OVS, Memif with VPP. A change applies to pods that
        /// attach afterwards.
        // CRD defaults cannot depend on another field. So the field is left out, and readers derive
        // the default from the engine.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "PortType")]
        pub port_type: Option<PortType>,
        /// Queue pairs, passed to the pod's program: 1 to 128. Frames to the pod are spread over
        /// them by their flows. Not for Veth and Tap.
        #[serde(default = "default_queues")]
        #[x_kube(validation = queues())]
        pub queues: i64,
        /// Descriptors of each ring, passed to the pod's program: a power of two from 2 to 32768. A
        /// memif has no more than 16384, whatever its program asks for. Not for Veth and Tap.
        #[serde(default = "default_ring_size")]
        #[x_kube(validation = ring_size())]
        pub ring_size: i64,
        /// The VLAN of the ports; default untagged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub vlan: Option<VlanSpec>,
        /// How much each port may send and receive; default no limit.
        #[serde(default)]
        pub rate_limit: RateLimitSpec,
        /// The name of the emptyDir volume of a pod in which sockets and descriptions of interfaces
        /// are; default `usnet`. Not for Veth and Tap. A change applies to pods that attach
        /// afterwards.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = VOLUME_NAME_MAX))]
        #[x_kube(validation = volume())]
        pub volume: Option<String>,
        /// The settings of ports of the type Memif; not with another type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[x_kube(validation = memif_secret())]
        pub memif: Option<Memif>,
        /// The settings of ports of the type VhostUser; not with another type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub vhost_user: Option<VhostUser>,
        /// The settings of ports of the type Veth with OVS; not with another type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub veth: Option<Veth>,
        /// How VPP reads the queues of the pod's program: Polling takes a whole core and is the
        /// fastest, Interrupt costs nothing while nothing is sent, and Adaptive changes between
        /// both. Default what VPP does by itself. With VPP, not for Veth and Tap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Polling")]
        pub polling: Option<Polling>,
        /// How often Open vSwitch tries again to send to a pod whose queue is full, before it drops
        /// the frames: 0 to 32. Default 8. With OVS and VhostUser where it connects.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[x_kube(validation = transmit_retries())]
        pub transmit_retries: Option<i64>,
        /// What pods may claim to be in the frames that they send: Off, anything; MAC, the MAC
        /// address of their interface; Address, also the addresses that they were given, and
        /// neither a router nor a DHCP server. Frames of others are dropped. Default Off. With OVS
        /// and bridge.ownership Managed, or with VPP and not for memifs in the mode IP.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "AntiSpoofing")]
        pub anti_spoofing: Option<AntiSpoofing>,
    }

    /// How much a port may send and receive, as the pod sees it.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct RateLimitSpec {
        /// What the pod receives, in thousands of bits per second; 0 means no limit.
        #[serde(default)]
        #[x_kube(validation = rate())]
        pub ingress_kbps: i64,
        /// What the pod sends, in thousands of bits per second; 0 means no limit. Not for Veth with
        /// OVS.
        #[serde(default)]
        #[x_kube(validation = rate())]
        pub egress_kbps: i64,
    }

    fn default_queues() -> i64 {
        Queues::default().into()
    }

    fn default_ring_size() -> i64 {
        RingSize::default().into()
    }

    impl Default for PortSpec {
        fn default() -> Self {
            Self {
                port_type: None,
                queues: default_queues(),
                ring_size: default_ring_size(),
                vlan: None,
                rate_limit: RateLimitSpec::default(),
                volume: None,
                memif: None,
                vhost_user: None,
                veth: None,
                polling: None,
                transmit_retries: None,
                anti_spoofing: None,
            }
        }
    }

    fn queues() -> Rule {
        range("number of queues", Queues::MINIMUM, Queues::MAXIMUM)
    }

    fn transmit_retries() -> Rule {
        range("number of retries", TransmitRetries::MINIMUM, TransmitRetries::MAXIMUM)
    }

    /// CEL has no operators for bits; there are few enough powers of two to name them all.
    fn ring_size() -> Rule {
        let sizes: Vec<String> = RingSize::all().map(|size| i64::from(size).to_string()).collect();
        let (minimum, maximum) = (RingSize::MINIMUM, RingSize::MAXIMUM);
        rule(
            format!("self in [{}]", sizes.join(", ")),
            format!("not a ring size: use a power of two from {minimum} to {maximum}"),
        )
    }

    fn volume() -> Rule {
        rule(
            format!("self.matches('{NAMESPACE_NAME_PATTERN}')"),
            format!("not the name of a volume: use 1 to {VOLUME_NAME_MAX} lower-case letters, digits and '-'"),
        )
    }

    /// A rate of 0 means no limit.
    fn rate() -> Rule {
        range("rate", 0, KilobitsPerSecond::MAXIMUM)
    }

    /// A rule of the field `memif`.
    fn memif_secret() -> Rule {
        let is_unknowable = format!("{} && {}", is(".socket", "Abstract"), is(".secret", "Generated"));
        at(".secret", format!("!({is_unknowable})"), &Problem::SecretWithoutVolume)
    }

    /// The type of the ports, with the default that depends on the engine.
    fn port_type() -> String {
        let usual = PortType::default();
        let others = EngineKind::ALL.into_iter().filter(|engine| engine.default_port_type() != usual);
        let default = others.fold(format!("'{}'", usual.as_str()), |rest, engine| {
            let row = engine.traits();
            format!("self.engine == '{}' ? '{}' : {rest}", row.api_name, row.default_port_type.as_str())
        });
        or_default(".port.type", &default)
    }

    /// Rules of the spec: what not every engine and type of port supports.
    pub(crate) fn engine_rules() -> impl Iterator<Item = Rule> {
        let type_rules = unsupported(PortType::ALL, |row| row.port_types).map(|(engine, port_type)| {
            let is_other = format!("{} != '{}'", self::port_type(), port_type.as_str());
            at(".port.type", with_engine(engine, &is_other), &Problem::PortType { engine, port_type })
        });
        type_rules
            .chain(settings_rules())
            .chain(serving::rules(&port_type()))
            .chain(veth::rules(&port_type()))
            .chain(anti_spoofing::rules())
            .chain(egress_rules())
    }

    /// Each engine with each value that it does not support.
    fn unsupported<T: PartialEq + Copy + 'static, const N: usize>(
        all: [T; N],
        supported: fn(&EngineTraits) -> &'static [T],
    ) -> impl Iterator<Item = (EngineKind, T)> {
        EngineKind::ALL.into_iter().flat_map(move |engine| {
            let lacking = all.into_iter().filter(move |one| !supported(engine.traits()).contains(one));
            lacking.map(move |one| (engine, one))
        })
    }

    fn settings_rules() -> [Rule; 2] {
        let only = |field: &str, port_type: PortType| {
            let is_type = format!("{} == '{}'", self::port_type(), port_type.as_str());
            at(field, format!("!{} || {is_type}", is_set(field)), &Problem::OnlyForType(port_type))
        };
        [only(".port.memif", PortType::Memif), only(".port.vhostUser", PortType::VhostUser)]
    }

    fn egress_rules() -> impl Iterator<Item = Rule> {
        const EGRESS: &str = "rateLimit.egressKbps";
        let pairs = EngineKind::ALL
            .into_iter()
            .flat_map(|engine| engine.traits().unlimited_egress.iter().map(move |port_type| (engine, *port_type)));
        pairs.flat_map(|(engine, port_type)| {
            let (api_name, type_name) = (engine.traits().api_name, port_type.as_str());
            let is_type = format!("self.engine == '{api_name}' && {} == '{type_name}'", self::port_type());
            let is_limited = format!("{} && self.port.{EGRESS} > 0", is_set(&format!(".port.{EGRESS}")));
            let is_fixed = format!("has(a.rateLimit) && has(a.{EGRESS}) && a.{EGRESS} > 0");
            let are_limited = format!("has(self.attachments) && self.attachments.exists(a, {is_fixed})");
            let problem = Problem::EgressLimit { engine, port_type };
            [
                at(&format!(".port.{EGRESS}"), format!("!({is_type} && {is_limited})"), &problem),
                at(".attachments", format!("!({is_type} && {are_limited})"), &problem),
            ]
        })
    }

    pub(crate) fn port(
        problems: &mut Problems,
        engine: EngineKind,
        bridge: &BridgeSpec,
        spec: &PortSpec,
    ) -> Option<Port> {
        let ownership = bridge.ownership;
        let port_type = spec.port_type.unwrap_or_else(|| engine.default_port_type());
        let is_unsupported = !engine.traits().port_types.contains(&port_type);
        problems.add_if(is_unsupported, "spec.port.type", Problem::PortType { engine, port_type });
        let queues = problems.check("spec.port.queues", spec.queues.try_into());
        let ring_size = problems.check("spec.port.ringSize", spec.ring_size.try_into());
        let vlan = vlan(problems, engine, "spec.port.vlan", spec.vlan.as_ref());
        let rate_limit = rate_limit(problems, "spec.port.rateLimit", spec.rate_limit);
        let volume = spec.volume.clone().map(|name| problems.check("spec.port.volume", VolumeName::try_from(name)));
        settings(problems, port_type, spec);
        let veth = veth::veth(problems, engine, port_type, (bridge, spec));
        let (polling, transmit_retries) = serving::serving(problems, engine, port_type, spec);
        let anti_spoofing = anti_spoofing::anti_spoofing(problems, engine, ownership, spec);
        Some(Port {
            port_type,
            queues: queues?,
            ring_size: ring_size?,
            vlan: vlan?,
            rate_limit: rate_limit?,
            volume: match volume {
                Some(checked) => Some(checked?),
                None => None,
            },
            memif: spec.memif.unwrap_or_default(),
            vhost_user: spec.vhost_user.unwrap_or_default(),
            veth,
            polling,
            transmit_retries,
            anti_spoofing,
        })
    }

    /// Checks the settings that only ports of one type have.
    fn settings(problems: &mut Problems, port_type: PortType, spec: &PortSpec) {
        if let Some(memif) = spec.memif {
            let is_foreign = port_type != PortType::Memif;
            problems.add_if(is_foreign, "spec.port.memif", Problem::OnlyForType(PortType::Memif));
            let is_unknowable = (memif.socket, memif.secret) == (MemifSocketKind::Abstract, MemifSecretKind::Generated);
            problems.add_if(is_unknowable, "spec.port.memif.secret", Problem::SecretWithoutVolume);
        }
        let is_foreign = spec.vhost_user.is_some() && port_type != PortType::VhostUser;
        problems.add_if(is_foreign, "spec.port.vhostUser", Problem::OnlyForType(PortType::VhostUser));
    }

    /// Checks the types of ports on which the engine cannot limit what a pod sends.
    pub(crate) fn unlimited_egress(
        problems: &mut Problems,
        engine: EngineKind,
        port: &PortSpec,
        fixed_rates: impl Iterator<Item = RateLimitSpec>,
    ) {
        let port_type = port.port_type.unwrap_or_else(|| engine.default_port_type());
        if !engine.traits().unlimited_egress.contains(&port_type) {
            return;
        }
        let mut check = |field: &str, rate: RateLimitSpec| {
            let problem = Problem::EgressLimit { engine, port_type };
            problems.add_if(rate.egress_kbps > 0, &format!("{field}.egressKbps"), problem);
        };
        check("spec.port.rateLimit", port.rate_limit);
        for (index, rate) in fixed_rates.enumerate() {
            check(&format!("spec.attachments[{index}].rateLimit"), rate);
        }
    }

    /// None when the rate is wrong.
    pub(crate) fn rate_limit(problems: &mut Problems, field: &str, spec: RateLimitSpec) -> Option<RateLimit> {
        let mut rate = |name: &str, kbps: i64| match kbps {
            0 => Some(None),
            kbps => problems.check(&format!("{field}.{name}"), KilobitsPerSecond::try_from(kbps)).map(Some),
        };
        let (ingress_kbps, egress_kbps) =
            (rate("ingressKbps", spec.ingress_kbps), rate("egressKbps", spec.egress_kbps));
        Some(RateLimit { ingress_kbps: ingress_kbps?, egress_kbps: egress_kbps? })
    }
}
