//! A snapshot of VPP: bridge domains, interfaces, memif sockets and policers.

mod features;
mod read;

use super::limits::{Policed, Policer, Policers};
use crate::memif::{MemifSocket, MemifSocketIds};
use crate::observed::Tagging;
use crate::port::{DeviceName, PortBackend, PortName, SocketPath};
pub(super) use features::{FeatureTickets, Features};
pub(super) use read::BridgeDomainTickets;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use usnet_crds::{NetworkName, SocketRole};

/// A snapshot of VPP. Interface indexes are used here and nowhere else, because VPP reuses an index
/// immediately.
#[derive(Debug, Clone, Default)]
pub(super) struct VppSnapshot {
    pub(super) domains: BTreeMap<u32, BridgeDomain>,
    pub(super) interfaces: BTreeMap<u32, Interface>,
    /// The names of memif sockets by their ids.
    pub(super) sockets: BTreeMap<u32, String>,
    pub(super) policers: Policers,
    /// The interfaces that usnet owns, by the port names of their owners. There should be one for
    /// each name.
    owned: BTreeMap<PortName, Vec<u32>>,
    /// The interface that serves a socket, by the socket's name.
    serving: BTreeMap<String, u32>,
    /// The ids of memif sockets that no interface uses, by the socket's name.
    unused: BTreeMap<String, Vec<u32>>,
}

/// A bridge domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BridgeDomain {
    pub(super) owner: Option<NetworkName>,
    pub(super) is_tagged: bool,
    pub(super) learns: bool,
    pub(super) forwards: bool,
    /// Whether it forwards and floods and does not answer ARP, as the bridge domains of usnet.
    pub(super) has_supported_datapath: bool,
    pub(super) mac_age_minutes: u8,
    pub(super) members: BTreeSet<u32>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interface {
    /// VPP's name of it.
    pub(super) name: String,
    /// The attachment that owns it.
    pub(super) owner: Option<String>,
    pub(super) is_tagged: bool,
    pub(super) kind: InterfaceKind,
    /// The bridge domain that it is in.
    pub(super) domain: Option<u32>,
    pub(super) mtu: u32,
    pub(super) tagging: Tagging,
    pub(super) policed: Policed,
    pub(super) is_enabled: bool,
    pub(super) has_peer: bool,
}

/// The kind of an interface, as far as usnet supports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InterfaceKind {
    Memif {
        socket_id: u32,
        socket: String,
        is_server: bool,
    },
    VhostUser {
        socket: String,
        is_server: bool,
    },
    /// A host interface (af_packet) on a kernel device.
    AfPacket {
        name: String,
    },
    Other,
}

impl InterfaceKind {
    /// The name of its socket or device.
    pub(super) fn socket(&self) -> Option<&str> {
        match self {
            Self::Memif { socket, .. } | Self::VhostUser { socket, .. } => Some(socket),
            Self::AfPacket { name } => Some(name),
            Self::Other => None,
        }
    }

    /// The id of its memif socket.
    pub(super) fn socket_id(&self) -> Option<u32> {
        match self {
            Self::Memif { socket_id, .. } => Some(*socket_id),
            Self::VhostUser { .. } | Self::AfPacket { .. } | Self::Other => None,
        }
    }
}

impl Interface {
    /// Its endpoint towards the pod; `None` if usnet does not support this kind.
    pub(super) fn backend(&self) -> Option<PortBackend> {
        match &self.kind {
            InterfaceKind::Memif { socket, is_server: true, .. } => {
                Some(PortBackend::Memif { socket: MemifSocket::parse(socket)? })
            }
            InterfaceKind::VhostUser { socket, is_server } => {
                let engine_role = if *is_server { SocketRole::Server } else { SocketRole::Client };
                Some(PortBackend::VhostUser { socket: SocketPath::try_from(PathBuf::from(socket)).ok()?, engine_role })
            }
            InterfaceKind::AfPacket { name } => Some(PortBackend::Veth { device: DeviceName::observed(name) }),
            InterfaceKind::Memif { is_server: false, .. } | InterfaceKind::Other => None,
        }
    }

    /// Whether its creation by usnet was interrupted before it was tagged: it is untagged, and is
    /// on a memif socket id that usnet owns or on a device with a generated name.
    pub(super) fn is_incomplete(&self, own_socket_ids: MemifSocketIds) -> bool {
        let has_own_endpoint = match &self.kind {
            InterfaceKind::Memif { socket_id, .. } => own_socket_ids.contains(*socket_id),
            InterfaceKind::AfPacket { name } => DeviceName::observed(name).has_generated_name(),
            InterfaceKind::VhostUser { .. } | InterfaceKind::Other => false,
        };
        !self.is_tagged && has_own_endpoint
    }
}

impl VppSnapshot {
    fn new(
        domains: BTreeMap<u32, BridgeDomain>,
        interfaces: BTreeMap<u32, Interface>,
        sockets: BTreeMap<u32, String>,
        policers: Policers,
    ) -> Self {
        let (mut owned, mut serving, mut unused) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut used = BTreeSet::new();
        for (index, interface) in &interfaces {
            if let Some(owner) = &interface.owner {
                owned.entry(PortName::of_owner(owner)).or_insert_with(Vec::new).push(*index);
            }
            if let Some(socket) = interface.kind.socket() {
                serving.entry(socket.to_owned()).or_insert(*index);
            }
            used.extend(interface.kind.socket_id());
        }
        for (id, name) in sockets.iter().filter(|(id, _)| !used.contains(*id)) {
            unused.entry(name.clone()).or_insert_with(Vec::new).push(*id);
        }
        Self { domains, interfaces, sockets, policers, owned, serving, unused }
    }

    /// The interfaces whose owners have this port name.
    pub(super) fn owned(&self, name: &PortName) -> impl Iterator<Item = (u32, &Interface)> {
        self.owned.get(name).into_iter().flatten().filter_map(|index| self.find(*index))
    }

    /// The interface that serves a socket, whether usnet owns it or not.
    pub(super) fn serving(&self, socket: &str) -> Option<(u32, &Interface)> {
        self.find(*self.serving.get(socket)?)
    }

    /// Policers of ports that are not there.
    pub(super) fn orphaned_policers(&self) -> impl Iterator<Item = &Policer> {
        self.policers.orphans(|port| self.owned.contains_key(port))
    }

    fn find(&self, index: u32) -> Option<(u32, &Interface)> {
        Some((index, self.interfaces.get(&index)?))
    }

    /// The unused ids of usnet for a memif socket. Their reference count in VPP may be wrong: they
    /// have to be deleted before reuse.
    pub(super) fn unused_ids(&self, socket: &str, own_socket_ids: MemifSocketIds) -> impl Iterator<Item = u32> {
        self.unused.get(socket).into_iter().flatten().copied().filter(move |id| own_socket_ids.contains(*id))
    }

    /// Whether a bridge domain is implicit: VPP silently creates one when an interface is added to
    /// a bridge domain that does not exist. It is untagged, and usnet owns all of its interfaces.
    pub(super) fn is_implicit(&self, domain: &BridgeDomain) -> bool {
        let is_owned = |index| self.interfaces.get(index).is_some_and(|interface| interface.owner.is_some());
        !domain.is_tagged && !domain.members.is_empty() && domain.members.iter().all(is_owned)
    }
}
