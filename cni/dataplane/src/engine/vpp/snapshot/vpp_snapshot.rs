//! What is known of VPP, indexed by what its readers look up.

use super::bridge_domain::BridgeDomain;
use super::filters::Filter;
use super::interface::Interface;
use crate::engine::error::EngineError;
use crate::engine::vpp::policy::read_own_lists;
use crate::engine::vpp::ports::{PortInterface, SocketNames, Tunnel, TunnelKey};
use crate::engine::vpp::qos::{Policer, Policers};
use crate::engine::vpp::routing::RoutingSnapshot;
use crate::engine::vpp::spans::Spans;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::Owner;
use crate::model::port::PortName;
use std::collections::{BTreeMap, BTreeSet};
use usnet_vpp::Api;

/// A snapshot of VPP. Interface indexes identify interfaces here and nowhere else, because VPP
/// reuses an index immediately.
#[derive(Debug, Clone, Default)]
pub(in crate::engine::vpp) struct VppSnapshot {
    pub(in crate::engine::vpp) domains: BTreeMap<u32, BridgeDomain>,
    pub(in crate::engine::vpp) interfaces: BTreeMap<u32, Interface>,
    /// The names of memif sockets by their ids.
    pub(in crate::engine::vpp) sockets: SocketNames,
    pub(in crate::engine::vpp) policers: Policers,
    /// Empty unless interfaces were read.
    pub(in crate::engine::vpp) spans: Spans,
    /// Empty unless everything was read.
    pub(in crate::engine::vpp) routing: RoutingSnapshot,
    /// The interfaces that usnet owns, by the port names of their owners. There should be one for
    /// each name.
    owned: BTreeMap<PortName, Vec<u32>>,
    /// The interface that serves a socket, by the socket's name.
    serving: BTreeMap<String, u32>,
    /// The ids of memif sockets that no interface uses, by the socket's name.
    unused: BTreeMap<String, Vec<u32>>,
    tunnels: BTreeMap<TunnelKey, u32>,
    /// The numbers in the names of tunnels.
    tunnel_numbers: BTreeSet<u32>,
}

impl VppSnapshot {
    /// The indexes of the interfaces of pods.
    pub(super) fn ports_of_pods(&self) -> Vec<u32> {
        let of_pods = self.interfaces.iter().filter(|(_, found)| matches!(found.owner, Some(Owner::Attachment(_))));
        of_pods.map(|(index, _)| *index).collect()
    }

    /// Adds what filters interfaces, by their indexes.
    pub(super) fn set_filters(&mut self, filters: BTreeMap<u32, Filter>) {
        for (index, filter) in filters {
            if let Some(interface) = self.interfaces.get_mut(&index) {
                interface.filter = Some(filter);
            }
        }
    }

    /// Reads the access lists of usnet that ports of pods have, because they go with these.
    pub(in crate::engine::vpp) async fn read_acls(&mut self, api: &mut impl Api) -> Result<(), EngineError> {
        for (index, acls) in read_own_lists(api, self.ports_of_pods()).await? {
            if let Some(interface) = self.interfaces.get_mut(&index) {
                interface.acls = acls;
            }
        }
        Ok(())
    }

    pub(super) fn new(
        domains: BTreeMap<u32, BridgeDomain>,
        interfaces: BTreeMap<u32, Interface>,
        sockets: SocketNames,
        policers: Policers,
    ) -> Self {
        let (mut owned, mut serving, mut unused) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut tunnels, mut tunnel_numbers) = (BTreeMap::new(), BTreeSet::new());
        let mut used = BTreeSet::new();
        for (index, interface) in &interfaces {
            if let Some(owner) = &interface.owner {
                owned.entry(PortName::of_owner(owner)).or_insert_with(Vec::new).push(*index);
            }
            if let Some(socket) = interface.endpoint() {
                serving.entry(socket.to_owned()).or_insert(*index);
            }
            if let Some(tunnel) = &interface.tunnel {
                tunnels.insert(tunnel.key(), *index);
                tunnel_numbers.insert(tunnel.instance);
            }
            used.extend(interface.port.as_ref().and_then(PortInterface::socket_id));
        }
        for (id, name) in sockets.iter().filter(|(id, _)| !used.contains(*id)) {
            unused.entry(name.clone()).or_insert_with(Vec::new).push(*id);
        }
        let (routing, spans) = (RoutingSnapshot::default(), Spans::default());
        Self { domains, interfaces, sockets, policers, spans, routing, owned, serving, unused, tunnels, tunnel_numbers }
    }

    /// Interfaces that a gateway routes to count as if they were in its bridge domain.
    pub(super) fn place_routed(&mut self) {
        for (index, (domain, addresses)) in self.routing.routed_by_gateways() {
            if let Some(interface) = self.interfaces.get_mut(&index) {
                interface.domain = Some(domain);
                interface.routed = addresses;
            }
        }
    }

    /// The interfaces whose owners have this port name.
    pub(in crate::engine::vpp) fn owned(&self, name: &PortName) -> impl Iterator<Item = (u32, &Interface)> {
        self.owned.get(name).into_iter().flatten().filter_map(|index| self.find(*index))
    }

    /// The interface that serves a socket, whether usnet owns it or not.
    pub(in crate::engine::vpp) fn serving(&self, socket: &str) -> Option<(u32, &Interface)> {
        self.find(*self.serving.get(socket)?)
    }

    /// The tunnel that VPP identifies by this, whether usnet owns it or not.
    pub(in crate::engine::vpp) fn tunnel(&self, key: &TunnelKey) -> Option<(u32, &Interface, &Tunnel)> {
        let (index, interface) = self.find(*self.tunnels.get(key)?)?;
        Some((index, interface, interface.tunnel.as_ref()?))
    }

    /// Whether a tunnel has this number in its name.
    pub(in crate::engine::vpp) fn has_tunnel_number(&self, number: u32) -> bool {
        self.tunnel_numbers.contains(&number)
    }

    /// Policers of ports that are not there.
    pub(in crate::engine::vpp) fn orphaned_policers(&self) -> impl Iterator<Item = &Policer> {
        self.policers.orphans(|port| self.owned.contains_key(port))
    }

    fn find(&self, index: u32) -> Option<(u32, &Interface)> {
        Some((index, self.interfaces.get(&index)?))
    }

    /// The unused ids of usnet for a memif socket. Their reference count in VPP may be wrong: they
    /// have to be deleted before reuse.
    pub(in crate::engine::vpp) fn unused_ids(
        &self,
        socket: &str,
        own_socket_ids: MemifSocketIds,
    ) -> impl Iterator<Item = u32> {
        self.unused.get(socket).into_iter().flatten().copied().filter(move |id| own_socket_ids.contains(*id))
    }

    /// Whether a bridge domain is implicit: VPP silently creates one when an interface is added to
    /// a bridge domain that does not exist. It is untagged, and usnet owns all of its interfaces.
    pub(in crate::engine::vpp) fn is_implicit(&self, domain: &BridgeDomain) -> bool {
        let is_owned = |index| {
            self.interfaces.get(index).is_some_and(|interface| interface.owner.is_some() || interface.gateway.is_some())
        };
        !domain.is_tagged && !domain.members.is_empty() && domain.members.keys().all(is_owned)
    }
}
