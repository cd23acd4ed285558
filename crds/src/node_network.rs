//! One network for one node: the agent selects, programs and publishes it, and the plugin attaches
//! pods to it.

use crate::{
    BridgeDomainId, BridgeName, DevicePlugin, FixedAttachment, MacAge, Mtu, NetworkName, Queues, RateLimit, RingSize,
    Vlan,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The software switch that carries a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Engine {
    /// Open vSwitch with its userspace (netdev) datapath.
    #[serde(rename = "OVS")]
    OpenVswitch,
    /// VPP (fd.io).
    #[serde(rename = "VPP")]
    Vpp,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OpenVswitch, Self::Vpp];

    /// The default bridge of a network.
    pub fn default_bridge(self, network: &NetworkName) -> BridgeName {
        match self {
            Self::OpenVswitch => BridgeName::default_for(network),
            Self::Vpp => BridgeDomainId::default_for(network).into(),
        }
    }

    /// The default port type: what most programs for this engine support.
    pub const fn default_port_type(self) -> PortType {
        match self {
            Self::OpenVswitch => PortType::VhostUser,
            Self::Vpp => PortType::Memif,
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenVswitch => formatter.write_str("Open vSwitch"),
            Self::Vpp => formatter.write_str("VPP"),
        }
    }
}

/// How a pod's interface meets the engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum PortType {
    /// A vhost-user socket; who listens on it is [`VhostUser::engine_role`].
    #[default]
    VhostUser,
    /// A memif socket that VPP listens on and the pod's program connects to.
    Memif,
    /// A device of the pod's kernel: one end of a veth pair, whose other end the engine has.
    Veth,
}

/// Which end of a socket listens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum SocketRole {
    /// It connects, and connects again when the other end comes back.
    #[default]
    Client,
    /// It makes the socket and listens.
    Server,
}

/// Ports of the type vhost-user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct VhostUser {
    /// Client (the default): the pod's program listens and the engine connects. Server: the other way round, with VPP only.
    pub engine_role: SocketRole,
}

/// Where a pod finds the socket of its memif.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MemifSocketKind {
    /// A file in the pod's `usnet` volume.
    #[default]
    Volume,
    /// An abstract socket in the pod's network namespace, named like the interface. It needs no volume.
    Abstract,
}

/// Whether a memif asks its peer for a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MemifSecretKind {
    /// No secret: the socket is the pod's own, and most programs bring none.
    #[default]
    None,
    /// A new one for each attachment, in the description that the pod finds in its volume.
    Generated,
}

/// Ports of the type memif.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Memif {
    /// Where the socket is. Volume (the default): a file in the pod's `usnet` volume. Abstract: in the pod's network namespace, named like the
    /// interface, which needs no volume.
    pub socket: MemifSocketKind,
    /// Whether the pod's program has to know a secret. None (the default): the socket is the pod's own, and most programs bring none. Generated: a
    /// new one for each attachment, in the description that the pod finds in its volume; only with the socket Volume.
    pub secret: MemifSecretKind,
}

/// Whether a bridge learns where MAC addresses are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum MacLearning {
    /// It does.
    #[default]
    Enabled,
    /// It does not: each frame goes to every port.
    Disabled,
}

/// Whose a network's bridge is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Ownership {
    /// It is made, kept as the network says, and removed with the network.
    #[default]
    Managed,
    /// Somebody else made it: it gets ports, and nothing else of it is changed.
    Adopted,
}

/// The bridge of a network on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Bridge {
    /// Its name in the engine; with VPP the digits of the bridge domain's id.
    pub name: BridgeName,
    /// Its MTU in bytes, and that of every port on it.
    pub mtu: Mtu,
    /// Whether it learns where MAC addresses are.
    #[serde(default)]
    pub mac_learning: MacLearning,
    /// How long it remembers them, in seconds.
    #[serde(default)]
    pub mac_age_seconds: MacAge,
    /// Whether it is ours to make.
    #[serde(default)]
    pub ownership: Ownership,
}

impl Bridge {
    /// A bridge with the usual settings.
    pub fn named(name: BridgeName) -> Self {
        Self {
            name,
            mtu: Mtu::default(),
            mac_learning: MacLearning::default(),
            mac_age_seconds: MacAge::default(),
            ownership: Ownership::default(),
        }
    }
}

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

/// The namespaces whose pods may attach to a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Namespaces {
    /// Every namespace, also one that is created later.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// These namespaces, sorted.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[cfg_attr(feature = "api", schemars(schema_with = "crate::schema::namespace_names"))]
    pub names: BTreeSet<String>,
}

impl Namespaces {
    /// Every namespace.
    pub const fn all() -> Self {
        Self { all: true, names: BTreeSet::new() }
    }

    /// Whether pods of this namespace may attach.
    pub fn allow(&self, namespace: &str) -> bool {
        self.all || self.names.contains(namespace)
    }
}

impl<S: Into<String>> FromIterator<S> for Namespaces {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self { all: false, names: names.into_iter().map(Into::into).collect() }
    }
}

/// Whether pods may still join a network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Phase {
    /// Pods may attach.
    #[default]
    Active,
    /// The network is being deleted, or the node is no longer selected: running pods keep it, new ones are refused.
    Draining,
}

/// One network as one node should have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeNetwork {
    /// The network's name.
    pub name: NetworkName,
    /// The `metadata.generation` of the network that this was compiled from.
    pub generation: i64,
    /// Whether pods may still join.
    #[serde(default)]
    pub phase: Phase,
    /// Who carries it.
    pub engine: Engine,
    /// Its bridge.
    pub bridge: Bridge,
    /// What its ports start from.
    pub port: Port,
    /// Namespaces whose pods may attach.
    #[serde(default)]
    pub namespaces: Namespaces,
    /// A CNI IPAM configuration, passed on as it is; none means that ports get no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipam: Option<serde_json::Value>,
    /// What the names of pods fix, sorted by namespace and pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<FixedAttachment>,
    /// How kubelet counts its attachments; none means that it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_plugin: Option<DevicePlugin>,
}

impl NodeNetwork {
    /// What is fixed for a pod.
    pub fn fixed(&self, namespace: &str, pod: &str) -> Option<&FixedAttachment> {
        self.attachments.iter().find(|fixed| fixed.namespace.as_str() == namespace && fixed.pod.as_str() == pod)
    }

    /// Whether a pod meets the engine in a folder. A device of the pod's kernel and a socket without a file need none.
    pub fn needs_folder(&self) -> bool {
        let memif = self.port.memif;
        match self.port.port_type {
            PortType::VhostUser => true,
            PortType::Memif => memif.socket == MemifSocketKind::Volume || memif.secret == MemifSecretKind::Generated,
            PortType::Veth => false,
        }
    }

    /// Whether pods of this namespace may attach.
    pub fn allows(&self, namespace: &str) -> bool {
        self.namespaces.allow(namespace)
    }
}
