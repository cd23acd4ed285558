//! The ports of a network: what users write ([`PortSpec`]), its rules in CEL and in Rust, and what
//! nodes read ([`Port`]).

use crate::types::limits::{Queues, RingSize};
use crate::types::port_type::{Memif, PortType, VhostUser};
use crate::types::rate::RateLimit;
use crate::types::vlan::Vlan;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub use spec::{PortSpec, RateLimitSpec};
#[cfg(feature = "api")]
pub(super) use spec::{
    egress_of_veth_with_ovs, egress_over_veth, engine_role_with_ovs, fixed_egress_of_veth_with_ovs,
    memif_with_its_type, memif_with_ovs, port, rate_limit, vhost_user_with_its_type,
};

/// What every port of a network starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// How the pod's interface meets the engine.
    #[serde(rename = "type")]
    pub port_type: PortType,
    /// Queue pairs, told to the pod's program.
    pub queues: Queues,
    /// Descriptors of each ring, told to the pod's program.
    #[serde(default)]
    pub ring_size: RingSize,
    /// The VLAN; none means untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<Vlan>,
    /// How much a port may send and receive.
    #[serde(default)]
    pub rate_limit: RateLimit,
    /// With the type memif.
    #[serde(default)]
    pub memif: Memif,
    /// With the type vhost-user.
    #[serde(default)]
    pub vhost_user: VhostUser,
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::Port;
    use crate::cel::{at, range, rule};
    use crate::network::vlan::{VlanSpec, vlan};
    use crate::problem::{Problem, Problems};
    use crate::types::limits::{Queues, RingSize};
    use crate::{
        EngineKind, KilobitsPerSecond, Memif, MemifSecretKind, MemifSocketKind, PortType, RateLimit, SocketRole,
        VhostUser,
    };
    use kube::KubeSchema;
    use kube::core::Rule;
    use serde::{Deserialize, Serialize};

    /// What every port of a network starts from.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[serde(rename_all = "camelCase")]
    pub struct PortSpec {
        /// How a pod's interface meets the engine: VhostUser, Veth, or with VPP also Memif. Default VhostUser with OVS, Memif with VPP. A change is
        /// for pods that attach from then on.
        // CRD defaults cannot depend on another field. So the field is left out, and readers derive the
        // default from the engine.
        #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "PortType")]
        pub port_type: Option<PortType>,
        /// Queue pairs, told to the pod's program: 1 to 128. Not for Veth.
        #[serde(default = "default_queues")]
        #[x_kube(validation = queues())]
        pub queues: i64,
        /// Descriptors of each ring, told to the pod's program: a power of two from 2 to 32768. A memif has no more than 16384, whatever its
        /// program asks for. Not for Veth.
        #[serde(default = "default_ring_size")]
        #[x_kube(validation = ring_size())]
        pub ring_size: i64,
        /// The VLAN of the ports; default untagged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub vlan: Option<VlanSpec>,
        /// How much each port may send and receive; default no limit.
        #[serde(default)]
        pub rate_limit: RateLimitSpec,
        /// Only with the type Memif.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[x_kube(validation = memif_secret())]
        pub memif: Option<Memif>,
        /// Only with the type VhostUser.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub vhost_user: Option<VhostUser>,
    }

    /// How much a port may send and receive, as the pod sees it.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    pub struct RateLimitSpec {
        /// What the pod receives, in thousands of bits per second; 0 means no limit.
        #[serde(default)]
        #[x_kube(validation = rate())]
        pub ingress_kbps: i64,
        /// What the pod sends, in thousands of bits per second; 0 means no limit. Not for Veth with OVS.
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
                memif: None,
                vhost_user: None,
            }
        }
    }

    fn queues() -> Rule {
        range("number of queues", Queues::MINIMUM, Queues::MAXIMUM)
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

    /// 0 means no limit.
    fn rate() -> Rule {
        range("rate", 0, KilobitsPerSecond::MAXIMUM)
    }

    /// For the field `memif`.
    fn memif_secret() -> Rule {
        at(".secret", "self.socket != 'Abstract' || self.secret != 'Generated'", &Problem::SecretWithoutVolume)
    }

    /// The type of the ports, with the default that depends on the engine.
    const PORT_TYPE: &str = "(has(self.port.type) ? self.port.type : self.engine == 'VPP' ? 'Memif' : 'VhostUser')";
    const OVS_VETH: &str = "self.engine == 'OVS' && has(self.port.type) && self.port.type == 'Veth'";

    pub(crate) fn memif_with_ovs() -> Rule {
        at(".port.type", format!("self.engine != 'OVS' || {PORT_TYPE} != 'Memif'"), &Problem::MemifWithOvs)
    }

    pub(crate) fn memif_with_its_type() -> Rule {
        at(".port.memif", format!("!has(self.port.memif) || {PORT_TYPE} == 'Memif'"), &Problem::OnlyForMemif)
    }

    pub(crate) fn vhost_user_with_its_type() -> Rule {
        at(
            ".port.vhostUser",
            format!("!has(self.port.vhostUser) || {PORT_TYPE} == 'VhostUser'"),
            &Problem::OnlyForVhostUser,
        )
    }

    pub(crate) fn engine_role_with_ovs() -> Rule {
        let is_server = "has(self.port.vhostUser) && self.port.vhostUser.engineRole == 'Server'";
        at(".port.vhostUser.engineRole", format!("self.engine != 'OVS' || !({is_server})"), &Problem::ServerWithOvs)
    }

    pub(crate) fn egress_of_veth_with_ovs() -> Rule {
        let is_limited = "has(self.port.rateLimit.egressKbps) && self.port.rateLimit.egressKbps > 0";
        at(".port.rateLimit.egressKbps", format!("!({OVS_VETH} && {is_limited})"), &Problem::EgressOfVethWithOvs)
    }

    pub(crate) fn fixed_egress_of_veth_with_ovs() -> Rule {
        let is_limited = "has(a.rateLimit) && has(a.rateLimit.egressKbps) && a.rateLimit.egressKbps > 0";
        let are_limited = format!("has(self.attachments) && self.attachments.exists(a, {is_limited})");
        at(".attachments", format!("!({OVS_VETH} && {are_limited})"), &Problem::EgressOfVethWithOvs)
    }

    pub(crate) fn port(problems: &mut Problems, engine: EngineKind, spec: &PortSpec) -> Option<Port> {
        let port_type = spec.port_type.unwrap_or_else(|| engine.default_port_type());
        problems.add_if((engine, port_type) == OVS_MEMIF, "spec.port.type", Problem::MemifWithOvs);
        let queues = problems.check("spec.port.queues", spec.queues.try_into());
        let ring_size = problems.check("spec.port.ringSize", spec.ring_size.try_into());
        let vlan = vlan(problems, engine, "spec.port.vlan", spec.vlan.as_ref());
        let rate_limit = rate_limit(problems, "spec.port.rateLimit", spec.rate_limit);
        settings(problems, engine, port_type, spec);
        Some(Port {
            port_type,
            queues: queues?,
            ring_size: ring_size?,
            vlan: vlan?,
            rate_limit: rate_limit?,
            memif: spec.memif.unwrap_or_default(),
            vhost_user: spec.vhost_user.unwrap_or_default(),
        })
    }

    const OVS_MEMIF: (EngineKind, PortType) = (EngineKind::OpenVswitch, PortType::Memif);
    const UNKNOWABLE_SECRET: Memif = Memif { socket: MemifSocketKind::Abstract, secret: MemifSecretKind::Generated };

    /// What is only for ports of one type.
    fn settings(problems: &mut Problems, engine: EngineKind, port_type: PortType, spec: &PortSpec) {
        let is_foreign = |own: PortType| port_type != own;
        if let Some(memif) = spec.memif {
            problems.add_if(is_foreign(PortType::Memif), "spec.port.memif", Problem::OnlyForMemif);
            problems.add_if(memif == UNKNOWABLE_SECRET, "spec.port.memif.secret", Problem::SecretWithoutVolume);
        }
        if let Some(vhost_user) = spec.vhost_user {
            problems.add_if(is_foreign(PortType::VhostUser), "spec.port.vhostUser", Problem::OnlyForVhostUser);
            let cannot = (engine, vhost_user.engine_role) == (EngineKind::OpenVswitch, SocketRole::Server);
            problems.add_if(cannot, "spec.port.vhostUser.engineRole", Problem::ServerWithOvs);
        }
    }

    /// Open vSwitch's userspace datapath receives frames of kernel devices through a packet socket,
    /// before the kernel polices them.
    pub(crate) fn egress_over_veth(
        problems: &mut Problems,
        engine: EngineKind,
        port: &PortSpec,
        fixed_rates: impl Iterator<Item = RateLimitSpec>,
    ) {
        if (engine, port.port_type) != (EngineKind::OpenVswitch, Some(PortType::Veth)) {
            return;
        }
        let mut check = |field: &str, rate: RateLimitSpec| {
            problems.add_if(rate.egress_kbps > 0, &format!("{field}.egressKbps"), Problem::EgressOfVethWithOvs);
        };
        check("spec.port.rateLimit", port.rate_limit);
        for (index, rate) in fixed_rates.enumerate() {
            check(&format!("spec.attachments[{index}].rateLimit"), rate);
        }
    }

    /// `None` when it is wrong.
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
