//! Reading it: dumps that are asked for in one go and put together.

use super::{Domain, Interface, Kind, Shown, features};
use crate::engine::EngineError;
use crate::observed::Tagging;
use crate::port::Connection;
use crate::vpp::limits::{Policed, Policers};
use crate::vpp::marks;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{Vlan, VlanTag};
use usnet_vpp::messages::{
    AfPacketDetails, AfPacketDump, BridgeDomainDetails, BridgeDomainDump, IfStatusFlags, MemifDetails, MemifDump,
    MemifRole, MemifSocketFilenameDetails, MemifSocketFilenameDump, NO_BRIDGE_DOMAIN, NO_INTERFACE, PolicerDump,
    SwInterfaceDetails, SwInterfaceDump, SwInterfaceVhostUserDetails, SwInterfaceVhostUserDump, VtrOp,
};
use usnet_vpp::{Answers, Api, Batch, DumpTicket};

/// From how many bridge domains on it is quicker to read all of them.
const MANY_DOMAINS: usize = 8;

/// Where the answers are.
#[derive(Debug)]
struct Dumps {
    domains: DumpTicket<BridgeDomainDump>,
    interfaces: DumpTicket<SwInterfaceDump>,
    memifs: Option<(DumpTicket<MemifDump>, DumpTicket<MemifSocketFilenameDump>)>,
    vhost_users: Option<DumpTicket<SwInterfaceVhostUserDump>>,
    devices: Option<DumpTicket<AfPacketDump>>,
    policers: Option<DumpTicket<PolicerDump>>,
}

impl Shown {
    /// Reads everything, in one go; then what is done to the frames of ports that have a VLAN or limits.
    pub(in crate::vpp) async fn read(api: &mut impl Api) -> Result<Self, EngineError> {
        let mut batch = Batch::new();
        // Before the interfaces: a port is marked before it gets a policer, so that one without a port is really an orphan.
        let policers = api.supports::<PolicerDump>().then(|| batch.dump(PolicerDump::default()));
        let interfaces = SwInterfaceDump { sw_if_index: NO_INTERFACE, ..SwInterfaceDump::default() };
        let dumps = Dumps {
            domains: batch.dump(BridgeDomainDump { bd_id: NO_BRIDGE_DOMAIN, sw_if_index: NO_INTERFACE }),
            interfaces: batch.dump(interfaces),
            // Without its plugin VPP has none of a kind, and does not know the question.
            memifs: api
                .supports::<MemifDump>()
                .then(|| (batch.dump(MemifDump {}), batch.dump(MemifSocketFilenameDump {}))),
            vhost_users: api
                .supports::<SwInterfaceVhostUserDump>()
                .then(|| batch.dump(SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE })),
            devices: api.supports::<AfPacketDump>().then(|| batch.dump(AfPacketDump {})),
            policers,
        };
        let answers = api.send(&batch).await?;
        let mut shown = Self::put_together(&answers, &dumps)?;
        features::read(api, &mut shown).await?;
        Ok(shown)
    }

    /// Reads one bridge domain, and the sockets of the kind that one port will have; no interfaces.
    pub(in crate::vpp) async fn read_for(
        api: &mut impl Api,
        domain_id: u32,
        connection: &Connection,
    ) -> Result<(Self, BTreeSet<String>), EngineError> {
        let mut batch = Batch::new();
        let domains = batch.dump(BridgeDomainDump { bd_id: domain_id, sw_if_index: NO_INTERFACE });
        let memifs = matches!(connection, Connection::Memif { .. }) && api.supports::<MemifSocketFilenameDump>();
        let memifs = memifs.then(|| batch.dump(MemifSocketFilenameDump {}));
        let vhost_users =
            matches!(connection, Connection::VhostUser { .. }) && api.supports::<SwInterfaceVhostUserDump>();
        let vhost_users = vhost_users.then(|| batch.dump(SwInterfaceVhostUserDump { sw_if_index: NO_INTERFACE }));
        let devices = matches!(connection, Connection::Veth { .. }) && api.supports::<AfPacketDump>();
        let devices = devices.then(|| batch.dump(AfPacketDump {}));
        let answers = api.send(&batch).await?;
        let domains = answers.details(domains)?.iter().map(|shown| (shown.bd_id, domain(shown))).collect();
        let memifs = memifs.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        let vhost_users = vhost_users.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        let devices = devices.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        let names = vhost_users.iter().map(|shown| shown.sock_filename.to_string());
        let names = names.chain(devices.iter().map(|shown| shown.host_if_name.to_string()));
        let names = names.chain(memifs.iter().map(|shown| shown.socket_filename.to_string())).collect();
        let sockets = memifs.iter().map(socket_name).collect();
        Ok((Self::new(domains, BTreeMap::new(), sockets, Policers::default()), names))
    }

    fn put_together(answers: &Answers, dumps: &Dumps) -> Result<Self, EngineError> {
        let (mut kinds, mut sockets) = (BTreeMap::new(), BTreeMap::new());
        if let Some((memifs, names)) = dumps.memifs {
            sockets = answers.details(names)?.iter().map(socket_name).collect();
            kinds.extend(answers.details(memifs)?.iter().map(|memif| (memif.sw_if_index, memif_kind(memif, &sockets))));
        }
        if let Some(vhost_users) = dumps.vhost_users {
            kinds.extend(answers.details(vhost_users)?.iter().map(|vhost| (vhost.sw_if_index, vhost_kind(vhost))));
        }
        if let Some(devices) = dumps.devices {
            let kind = |shown: &AfPacketDetails| Kind::Device { name: shown.host_if_name.to_string() };
            kinds.extend(answers.details(devices)?.iter().map(|shown| (shown.sw_if_index, kind(shown))));
        }
        let domains: BTreeMap<u32, Domain> =
            answers.details(dumps.domains)?.iter().map(|shown| (shown.bd_id, domain(shown))).collect();
        let member_of: BTreeMap<u32, u32> =
            domains.iter().flat_map(|(id, domain)| domain.members.iter().map(|member| (*member, *id))).collect();
        let interfaces = answers.details(dumps.interfaces)?;
        let interfaces = interfaces.iter().map(|shown| {
            let kind = kinds.remove(&shown.sw_if_index).unwrap_or(Kind::Other);
            (shown.sw_if_index, interface(shown, kind, member_of.get(&shown.sw_if_index).copied()))
        });
        let interfaces = interfaces.collect();
        let policers = dumps.policers.map_or_else(|| Ok(Vec::new()), |ticket| answers.details(ticket))?;
        Ok(Self::new(domains, interfaces, sockets, Policers::new(&policers)))
    }
}

/// Where the answers about some bridge domains are.
#[derive(Debug)]
pub(in crate::vpp) struct Domains(Vec<DumpTicket<BridgeDomainDump>>);

impl Domains {
    /// Asks for these bridge domains, behind what the batch has already.
    pub(in crate::vpp) fn ask(batch: &mut Batch, ids: &BTreeSet<u32>) -> Self {
        let all = BTreeSet::from([NO_BRIDGE_DOMAIN]);
        let ids = if ids.len() > MANY_DOMAINS { &all } else { ids };
        let of = |bd_id: &u32| BridgeDomainDump { bd_id: *bd_id, sw_if_index: NO_INTERFACE };
        Self(ids.iter().map(|id| batch.dump(of(id))).collect())
    }

    pub(in crate::vpp) fn read(self, answers: &Answers) -> Result<BTreeMap<u32, Domain>, EngineError> {
        let mut domains = BTreeMap::new();
        for ticket in self.0 {
            domains.extend(answers.details(ticket)?.iter().map(|shown| (shown.bd_id, domain(shown))));
        }
        Ok(domains)
    }
}

fn domain(shown: &BridgeDomainDetails) -> Domain {
    let tag = shown.bd_tag.to_string();
    Domain {
        mark: marks::network(&tag),
        is_tagged: !tag.is_empty(),
        learns: shown.learn,
        forwards: shown.forward,
        is_our_kind: shown.forward && shown.flood && shown.uu_flood && !shown.arp_term && !shown.arp_ufwd,
        mac_age_minutes: shown.mac_age,
        members: shown.sw_if_details.iter().map(|member| member.sw_if_index).collect(),
    }
}

fn interface(shown: &SwInterfaceDetails, kind: Kind, domain: Option<u32>) -> Interface {
    let tag = shown.tag.to_string();
    let [mtu, ..] = shown.mtu;
    Interface {
        name: shown.interface_name.to_string(),
        // Our tag on something that we do not make does not make it ours.
        mark: marks::attachment(&tag).filter(|_| kind != Kind::Other),
        is_tagged: !tag.is_empty(),
        kind,
        domain,
        mtu,
        tagging: tagging(shown),
        policed: Policed::default(),
        is_enabled: shown.flags.contains(IfStatusFlags::ADMIN_UP),
        has_peer: shown.flags.contains(IfStatusFlags::LINK_UP),
    }
}

/// A port in a VLAN pushes the VLAN's tag on what comes from its pod.
fn tagging(shown: &SwInterfaceDetails) -> Tagging {
    match (shown.vtr_op, shown.vtr_push_dot1q) {
        (VtrOp::Disabled, _) => Tagging::Untagged,
        (VtrOp::Push1, 1) => match VlanTag::try_from(i64::from(shown.vtr_tag1)) {
            Ok(tag) => Tagging::Vlan(Vlan::Access { tag }),
            Err(_) => Tagging::Other,
        },
        _ => Tagging::Other,
    }
}

fn socket_name(shown: &MemifSocketFilenameDetails) -> (u32, String) {
    (shown.socket_id, shown.socket_filename.to_string())
}

fn memif_kind(shown: &MemifDetails, sockets: &BTreeMap<u32, String>) -> Kind {
    Kind::Memif {
        socket_id: shown.socket_id,
        socket: sockets.get(&shown.socket_id).cloned().unwrap_or_default(),
        is_server: shown.role == MemifRole::Master,
    }
}

fn vhost_kind(shown: &SwInterfaceVhostUserDetails) -> Kind {
    Kind::VhostUser { socket: shown.sock_filename.to_string(), is_server: shown.is_server }
}
