//! What VPP shows, all of one moment: bridge domains, interfaces and memif sockets.

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

/// What VPP shows. Interfaces are known by their index here and nowhere else, because VPP gives an index away again at once.
#[derive(Debug, Clone, Default)]
pub(super) struct VppSnapshot {
    pub(super) domains: BTreeMap<u32, BridgeDomain>,
    pub(super) interfaces: BTreeMap<u32, Interface>,
    /// The names of memif sockets by their ids.
    pub(super) sockets: BTreeMap<u32, String>,
    pub(super) policers: Policers,
    /// The marked interfaces, by the names that their marks give them. Each should be one.
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
    /// Whether it forwards and floods and leaves ARP alone, as those do that we make.
    pub(super) has_supported_datapath: bool,
    pub(super) mac_age_minutes: u8,
    pub(super) members: BTreeSet<u32>,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interface {
    /// VPP's name of it.
    pub(super) name: String,
    /// The attachment that it is marked with.
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

/// What an interface is, as far as we make such.
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
    /// On a device of the kernel (af_packet).
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
    /// How it meets its pod; none when it is nothing that we make.
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

    /// Whether it is one that we began to make and did not get to mark: without a tag on a memif socket id of ours, or on a device that is named as ours
    /// are.
    pub(super) fn is_incomplete(&self, own_socket_ids: MemifSocketIds) -> bool {
        let is_on_ours = match &self.kind {
            InterfaceKind::Memif { socket_id, .. } => own_socket_ids.contains(*socket_id),
            InterfaceKind::AfPacket { name } => DeviceName::observed(name).has_generated_name(),
            InterfaceKind::VhostUser { .. } | InterfaceKind::Other => false,
        };
        !self.is_tagged && is_on_ours
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

    /// The interfaces whose marks give them this name.
    pub(super) fn owned(&self, name: &PortName) -> impl Iterator<Item = (u32, &Interface)> {
        self.owned.get(name).into_iter().flatten().filter_map(|index| self.find(*index))
    }

    /// The interface that serves a socket, whoever's it is.
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

    /// The ids of ours under which VPP knows a memif socket that no interface uses. VPP may count one of them wrong: it has to be deleted before it is used.
    pub(super) fn unused_ids(&self, socket: &str, own_socket_ids: MemifSocketIds) -> impl Iterator<Item = u32> {
        self.unused.get(socket).into_iter().flatten().copied().filter(move |id| own_socket_ids.contains(*id))
    }

    /// Whether VPP made a bridge domain by itself, as it does without a word when an interface is put into one that is not there, and only our ports are
    /// in it.
    pub(super) fn is_implicit(&self, domain: &BridgeDomain) -> bool {
        let is_ours = |index| self.interfaces.get(index).is_some_and(|interface| interface.owner.is_some());
        !domain.is_tagged && !domain.members.is_empty() && domain.members.iter().all(is_ours)
    }
}
