//! Reading a snapshot: dumps that are requested in one batch and combined.

use super::addresses;
use super::bridge_domain::BridgeDomain;
use super::features::{self, FeatureTickets};
use super::filters::FilterTablesTicket;
use super::interface::Interface;
use super::learn_limits::{FEW_DOMAINS, LearnLimitsTickets};
use super::vpp_snapshot::VppSnapshot;
use crate::engine::error::EngineError;
use crate::engine::vpp::bridge_settings;
use crate::engine::vpp::ports::{self, EndpointDump, PortInterface, SocketNames, Tunnel, TunnelsTicket};
use crate::engine::vpp::qos::Policers;
use crate::engine::vpp::queues::{self, RxQueuesTicket};
use crate::engine::vpp::routing::{self, TablesTicket};
use crate::engine::vpp::spans::SpansTicket;
use crate::engine::vpp::tags;
use crate::model::bridge_settings::MacTable;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::{NetworkTunnel, Owner, PatchedNetwork};
use crate::model::port::PortBackend;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::UplinkName;
use usnet_vpp::messages::{
    BridgeDomainDetails, BridgeDomainDump, L2FlagsGet, NO_BRIDGE_DOMAIN, NO_INTERFACE, PolicerDump, SwInterfaceDetails,
    SwInterfaceDump,
};
use usnet_vpp::wire::Text;
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

/// A part of the names of all loopback interfaces, which marks are.
const LOOPBACKS: &str = "loop";

#[derive(Debug)]
struct Dumps {
    domains: DumpTicket<BridgeDomainDump>,
    interfaces: DumpTicket<SwInterfaceDump>,
    ports: ports::Dumps,
    policers: Option<DumpTicket<PolicerDump>>,
    tables: TablesTicket,
    tunnels: Option<TunnelsTicket>,
    spans: SpansTicket,
    learn_limits: LearnLimitsTickets,
    queues: RxQueuesTicket,
}

impl VppSnapshot {
    /// Reads everything in one batch; then the L2 features of ports that have a VLAN or limits, the
    /// threads that send to pods with several queues, and the addresses of gateways and NICs.
    pub(in crate::engine::vpp) async fn read(api: &mut impl Api) -> Result<Self, EngineError> {
        let mut batch = Batch::new();
        // Before the interfaces: a port is tagged before it gets a policer, so that a policer
        // without a port is certain to be an orphan.
        let policers = api.supports::<PolicerDump>().then(|| batch.dump(PolicerDump::default()));
        let interfaces = SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() };
        let dumps = Dumps {
            domains: batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE }),
            interfaces: batch.dump(interfaces),
            ports: ports::Dumps::request(&mut batch, api),
            policers,
            tables: TablesTicket::request(&mut batch),
            tunnels: TunnelsTicket::request(&mut batch, api),
            spans: SpansTicket::request(&mut batch, api),
            learn_limits: LearnLimitsTickets::request_all(&mut batch),
            queues: RxQueuesTicket::request(&mut batch, api),
        };
        let tables = FilterTablesTicket::request(&mut batch, api);
        let answers = api.send(&batch).await?;
        let mut snapshot = Self::assemble(&answers, dumps)?;
        features::read(api, &mut snapshot).await?;
        let filters = tables.read(&answers, api, snapshot.ports_of_pods()).await?;
        snapshot.set_filters(filters);
        queues::read_threads(api, &mut snapshot).await?;
        let is_routed = |interface: &Interface| interface.port.as_ref().is_some_and(PortInterface::is_routed);
        let routed = snapshot.interfaces.iter().filter(|(_, interface)| is_routed(interface));
        let routed = routed.map(|(index, _)| *index).collect();
        routing::read(api, &mut snapshot.routing, routed).await?;
        addresses::read(api, &mut snapshot).await?;
        snapshot.place_routed();
        Ok(snapshot)
    }

    /// Reads bridge domains and nothing else; `None` if that does not tell whether VPP created one
    /// of them implicitly.
    pub(in crate::engine::vpp) async fn read_domains(
        api: &mut impl Api,
        ids: &BTreeSet<u32>,
    ) -> Result<Option<Self>, EngineError> {
        let mut batch = Batch::new();
        let tickets = BridgeDomainTickets::request(&mut batch, ids);
        let limits = LearnLimitsTickets::request(&mut batch, ids);
        let answers = api.send(&batch).await?;
        let mut domains = tickets.read(&answers)?;
        limit(&mut domains, &limits.read(&answers));
        domains.retain(|id, _| ids.contains(id));
        let is_certain = |domain: &BridgeDomain| domain.is_tagged || domain.members.is_empty();
        let are_certain = domains.values().all(is_certain);
        let snapshot = || Self::new(domains, BTreeMap::new(), SocketNames::default(), Policers::default());
        Ok(are_certain.then(snapshot))
    }

    /// Reads one bridge domain, and the sockets or devices of the type that one port will have, or
    /// its memif socket alone; no interfaces.
    pub(in crate::engine::vpp) async fn read_for(
        api: &mut impl Api,
        domain_id: u32,
        backend: &PortBackend,
        own_socket_ids: MemifSocketIds,
    ) -> Result<(Self, BTreeSet<String>), EngineError> {
        let mut batch = Batch::new();
        let domains = batch.dump(BridgeDomainDump { bd_id: domain_id, sw_if_index: NO_INTERFACE });
        let endpoints = EndpointDump::request(&mut batch, api, backend, own_socket_ids);
        let answers = api.send(&batch).await?;
        let details = answers.details(domains)?;
        let mut domains = details.iter().map(|details| (details.bd_id, domain(details))).collect();
        read_marks(api, &mut domains).await?;
        let names = endpoints.map(|dump| dump.read(&answers)).transpose()?.unwrap_or_default();
        Ok((Self::new(domains, BTreeMap::new(), SocketNames::default(), Policers::default()), names))
    }

    /// Reads the interface with this index, as far as it can be a port with this backend, and one
    /// bridge domain. Policers are read only if VPP does not tell whether the interface has any.
    pub(in crate::engine::vpp) async fn read_port(
        api: &mut impl Api,
        index: u32,
        domain_id: u32,
        backend: &PortBackend,
    ) -> Result<Self, EngineError> {
        let mut batch = Batch::new();
        let dump = batch.dump(SwInterfaceDump { sw_if_index: index, ..SwInterfaceDump::default() });
        let domains = BridgeDomainTickets::request(&mut batch, &BTreeSet::from([domain_id]));
        let needs_policers = api.supports::<PolicerDump>() && !api.supports::<L2FlagsGet>();
        let policers = needs_policers.then(|| batch.dump(PolicerDump::default()));
        let features = FeatureTickets::request(&mut batch, api, [index]);
        let spans = SpansTicket::request(&mut batch, api);
        let tables = FilterTablesTicket::request(&mut batch, api);
        let answers = api.send(&batch).await?;
        let (domains, features) = (domains.read(&answers)?, features.read(&answers));
        let member_of = domains.iter().find(|(_, domain)| domain.members.contains_key(&index)).map(|(id, _)| *id);
        let interfaces = answers.details(dump)?;
        // Asked for index 0, VPP shows all interfaces.
        let interfaces = interfaces.iter().filter(|details| details.sw_if_index == index).map(|details| {
            let port = PortInterface::recognise(details, backend);
            let policed = features.get(&index).map(|features| features.policed).unwrap_or_default();
            (index, Interface { policed, ..Interface::of(details, port, member_of) })
        });
        let interfaces = interfaces.collect();
        let policers = policers.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        let mut snapshot = Self::new(domains, interfaces, SocketNames::default(), Policers::new(&policers));
        snapshot.spans = spans.read(&answers)?;
        let filters = tables.read(&answers, api, snapshot.ports_of_pods()).await?;
        snapshot.set_filters(filters);
        snapshot.read_acls(api).await?;
        Ok(snapshot)
    }

    fn assemble(answers: &Answers, dumps: Dumps) -> Result<Self, EngineError> {
        let (mut ports, sockets) = dumps.ports.read(answers)?;
        let domain_details = answers.details(dumps.domains)?;
        let mut domains: BTreeMap<u32, BridgeDomain> =
            domain_details.iter().map(|details| (details.bd_id, domain(details))).collect();
        limit(&mut domains, &dumps.learn_limits.read(answers));
        let member_of: BTreeMap<u32, u32> =
            domains.iter().flat_map(|(id, domain)| domain.members.keys().map(|member| (*member, *id))).collect();
        let interface_details = answers.details(dumps.interfaces)?;
        let routing = dumps.tables.read(answers, &domain_details, &interface_details)?;
        let interfaces = interface_details.iter().map(|details| {
            let port = ports.remove(&details.sw_if_index);
            (details.sw_if_index, Interface::of(details, port, member_of.get(&details.sw_if_index).copied()))
        });
        let mut interfaces: BTreeMap<u32, Interface> = interfaces.collect();
        dumps.queues.read(answers, &mut interfaces)?;
        own_connections(&mut interfaces, &interface_details);
        mark(&mut domains, &mut interfaces, &interface_details);
        let tunnels = dumps.tunnels.map_or_else(|| Ok(BTreeMap::new()), |ticket| ticket.read(answers))?;
        own_tunnels(&mut interfaces, tunnels, &interface_details);
        let policers = dumps.policers.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        let mut snapshot = Self::new(domains, interfaces, sockets, Policers::new(&policers));
        (snapshot.routing, snapshot.spans) = (routing, dumps.spans.read(answers)?);
        Ok(snapshot)
    }
}

/// Where the answers about some bridge domains are.
#[derive(Debug)]
pub(in crate::engine::vpp) struct BridgeDomainTickets(Vec<DumpTicket<BridgeDomainDump>>);

impl BridgeDomainTickets {
    /// Requests these bridge domains, after the present requests of the batch.
    pub(in crate::engine::vpp) fn request(batch: &mut Batch, ids: &BTreeSet<u32>) -> Self {
        let all = BTreeSet::from([NO_BRIDGE_DOMAIN]);
        let ids = if ids.len() > FEW_DOMAINS { &all } else { ids };
        let of = |bd_id: &u32| BridgeDomainDump { bd_id: *bd_id, sw_if_index: NO_INTERFACE };
        Self(ids.iter().map(|id| batch.dump(of(id))).collect())
    }

    pub(in crate::engine::vpp) fn read(self, answers: &Answers) -> Result<BTreeMap<u32, BridgeDomain>, EngineError> {
        let mut domains = BTreeMap::new();
        for ticket in self.0 {
            domains.extend(answers.details(ticket)?.iter().map(|details| (details.bd_id, domain(details))));
        }
        Ok(domains)
    }
}

fn domain(details: &BridgeDomainDetails) -> BridgeDomain {
    let tag = details.bd_tag.to_string();
    BridgeDomain {
        owner: tags::network(&tag),
        is_tagged: !tag.is_empty(),
        forwards: details.forward,
        has_supported_datapath: bridge_settings::has_supported_datapath(details),
        settings: bridge_settings::observe(details),
        members: details.sw_if_details.iter().map(|member| (member.sw_if_index, member.shg)).collect(),
        marker: None,
    }
}

/// Applies the marks of bridge domains that were taken over: each counts as if it had a tag.
fn mark(
    domains: &mut BTreeMap<u32, BridgeDomain>,
    interfaces: &mut BTreeMap<u32, Interface>,
    details: &[SwInterfaceDetails],
) {
    for details in details {
        let index = details.sw_if_index;
        let Some(network) = tags::marker(details.tag.as_str()) else { continue };
        let Some(domain) = interfaces.get(&index).and_then(|interface| domains.get_mut(&interface.domain?)) else {
            continue;
        };
        if !domain.is_tagged {
            domain.mark(network, index);
            interfaces.remove(&index);
        }
    }
}

/// Applies the marks of bridge domains that were read without their interfaces. Nothing is read if
/// all of them have tags.
pub(in crate::engine::vpp) async fn read_marks(
    api: &mut impl Api,
    domains: &mut BTreeMap<u32, BridgeDomain>,
) -> Result<(), EngineError> {
    if domains.values().all(|domain| domain.is_tagged) {
        return Ok(());
    }
    let mut batch = Batch::new();
    let name_filter = Text::from(LOOPBACKS);
    let loopbacks = batch.dump(SwInterfaceDump { sw_if_index: NO_INTERFACE, name_filter_valid: true, name_filter });
    let answers = api.send(&batch).await?;
    for SwInterfaceDetails { sw_if_index, tag, .. } in answers.details(loopbacks)? {
        let Some(network) = tags::marker(tag.as_str()) else { continue };
        let is_its = |domain: &&mut BridgeDomain| !domain.is_tagged && domain.members.contains_key(&sw_if_index);
        if let Some(domain) = domains.values_mut().find(is_its) {
            domain.mark(network, sw_if_index);
        }
    }
    Ok(())
}

/// Adds what was read of the sizes of their tables.
fn limit(domains: &mut BTreeMap<u32, BridgeDomain>, limits: &BTreeMap<u32, u32>) {
    for (id, domain) in domains {
        if let Some(limit) = limits.get(id) {
            domain.settings.mac_table = MacTable::Limited((*limit).into());
        }
    }
}

/// A sub-interface with the tag of a network, of the NIC of an uplink, connects both; one with the
/// tag of the uplink has the address of the node there.
fn own_connections(interfaces: &mut BTreeMap<u32, Interface>, details: &[SwInterfaceDetails]) {
    let uplink = |interface: &Interface| match &interface.owner {
        Some(Owner::Nic(nic)) => Some(nic.uplink.clone()),
        _ => None,
    };
    let nics: BTreeMap<u32, UplinkName> =
        interfaces.iter().filter_map(|(index, interface)| Some((*index, uplink(interface)?))).collect();
    for details in details {
        let Some(interface) = interfaces.get_mut(&details.sw_if_index) else { continue };
        let uplink = interface.sub.as_ref().and_then(|sub| nics.get(&sub.parent)).cloned();
        interface.underlay_of =
            uplink.clone().filter(|uplink| tags::underlay(details.tag.as_str()).as_ref() == Some(uplink));
        let connected = uplink.zip(tags::network(details.tag.as_str()));
        interface.owner = match connected {
            Some((uplink, network)) => Some(Owner::Patch(PatchedNetwork { uplink, network })),
            None => interface.owner.take(),
        };
    }
}

/// A tunnel with the tag of a network connects it to another node.
fn own_tunnels(
    interfaces: &mut BTreeMap<u32, Interface>,
    mut tunnels: BTreeMap<u32, Tunnel>,
    details: &[SwInterfaceDetails],
) {
    for details in details {
        let Some(interface) = interfaces.get_mut(&details.sw_if_index) else { continue };
        let Some(tunnel) = tunnels.remove(&details.sw_if_index) else { continue };
        let network = tags::network(details.tag.as_str());
        interface.owner = network.map(|network| Owner::Tunnel(NetworkTunnel { network, peer: tunnel.ends.remote }));
        interface.tunnel = Some(tunnel);
    }
}
