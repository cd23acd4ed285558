//! VXLAN tunnels of networks whose overlay VPP encapsulates itself: one to each other node, as a
//! member of the bridge domain.
//!
//! All tunnels of a network are in one split-horizon group, so that a frame from one node is not
//! sent to a third one. A tunnel is tagged after its creation; until then the number in its name
//! says that it is one of usnet.

use super::missing::missing;
use crate::engine::error::EngineError;
use crate::engine::vpp::request::{Find, add, add_with};
use crate::model::port::TunnelEnds;
use std::collections::BTreeMap;
use std::net::IpAddr;
use usnet_crds::{UdpPort, Vni};
use usnet_vpp::messages::{
    DECAP_L2_INPUT, L2PortType, NO_INTERFACE, SwInterfaceSetL2Bridge, VxlanAddDelTunnelV3, VxlanTunnelV2Details,
    VxlanTunnelV2Dump,
};
use usnet_vpp::{Answers, Api, Batch, DumpTicket, ReturnCode};

/// The group of the tunnels in a bridge domain. All other members are in none.
pub(in crate::engine::vpp) const SPLIT_HORIZON_GROUP: u8 = 1;
/// The routing table of the underlay.
const TABLE: u32 = 0;
/// The numbers in the names of tunnels that usnet chooses begin here: VPP itself chooses small
/// ones.
const FIRST_INSTANCE: u32 = 0x4000_0000;
const INSTANCES: u32 = 0x4000_0000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct Tunnel {
    pub(in crate::engine::vpp) ends: TunnelEnds,
    /// The UDP port of the other end.
    peer_port: u16,
    table: u32,
    /// The number in its name.
    pub(in crate::engine::vpp) instance: u32,
}

impl Tunnel {
    /// `None` for one that usnet would never create.
    fn of(details: &VxlanTunnelV2Details) -> Option<Self> {
        let (local, remote) = (details.src_address.ip()?, details.dst_address.ip()?);
        let (vni, port) =
            (Vni::try_from(i64::from(details.vni)).ok()?, UdpPort::try_from(i64::from(details.src_port)).ok()?);
        let ends = TunnelEnds { vni, port, local, remote };
        Some(Self { ends, peer_port: details.dst_port, table: details.encap_vrf_id, instance: details.instance })
    }

    /// Whether it is exactly between these ends.
    pub(in crate::engine::vpp) fn is_between(&self, ends: &TunnelEnds) -> bool {
        self.ends == *ends && self.peer_port == ends.port.get() && self.table == TABLE
    }

    /// What VPP identifies it by.
    pub(in crate::engine::vpp) fn key(&self) -> TunnelKey {
        TunnelKey { table: self.table, ..TunnelKey::of(&self.ends) }
    }

    /// Whether usnet chose the number in its name.
    pub(in crate::engine::vpp) const fn has_own_name(&self) -> bool {
        self.instance >= FIRST_INSTANCE
    }

    fn delete(&self) -> VxlanAddDelTunnelV3 {
        VxlanAddDelTunnelV3 {
            is_add: false,
            dst_port: self.peer_port,
            encap_vrf_id: self.table,
            ..create(&self.ends, self.instance)
        }
    }
}

/// What VPP identifies tunnels by: of those with the same one it has only one. Those of IPv6 it
/// does not distinguish by their local ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine::vpp) struct TunnelKey {
    local: Option<IpAddr>,
    remote: IpAddr,
    vni: u32,
    port: u16,
    table: u32,
}

impl TunnelKey {
    /// The key of the tunnel that usnet creates between these ends.
    pub(in crate::engine::vpp) fn of(ends: &TunnelEnds) -> Self {
        let (local, vni, port) = (Some(ends.local).filter(IpAddr::is_ipv4), ends.vni.get(), ends.port.get());
        Self { local, remote: ends.remote, vni, port, table: TABLE }
    }
}

/// Numbers for a name, best first.
pub(in crate::engine::vpp) fn instances(hash: u64) -> impl Iterator<Item = u32> {
    let first = u32::try_from(hash % u64::from(INSTANCES)).unwrap_or_default();
    (0..INSTANCES).map(move |step| FIRST_INSTANCE + (first + step) % INSTANCES)
}

fn create(ends: &TunnelEnds, instance: u32) -> VxlanAddDelTunnelV3 {
    VxlanAddDelTunnelV3 {
        is_add: true,
        instance,
        src_address: ends.local.into(),
        dst_address: ends.remote.into(),
        src_port: ends.port.get(),
        dst_port: ends.port.get(),
        mcast_sw_if_index: NO_INTERFACE,
        encap_vrf_id: TABLE,
        decap_next_index: DECAP_L2_INPUT,
        vni: ends.vni.get(),
        is_l3: false,
    }
}

/// Why this VPP has no tunnels.
pub(in crate::engine::vpp) fn missing_message(api: &impl Api) -> Option<String> {
    let is_known = api.supports::<VxlanAddDelTunnelV3>() && api.supports::<VxlanTunnelV2Dump>();
    (!is_known).then(|| missing::<VxlanAddDelTunnelV3>(api.supports::<VxlanTunnelV2Dump>()))
}

/// Where the tunnels are in the answers.
#[derive(Debug)]
pub(in crate::engine::vpp) struct TunnelsTicket(DumpTicket<VxlanTunnelV2Dump>);

impl TunnelsTicket {
    /// Requests all of them, if this VPP has the plugin.
    pub(in crate::engine::vpp) fn request(batch: &mut Batch, api: &impl Api) -> Option<Self> {
        let all = VxlanTunnelV2Dump { sw_if_index: NO_INTERFACE };
        api.supports::<VxlanTunnelV2Dump>().then(|| Self(batch.dump(all)))
    }

    pub(in crate::engine::vpp) fn read(self, answers: &Answers) -> Result<BTreeMap<u32, Tunnel>, EngineError> {
        let details = answers.details(self.0)?;
        Ok(details.iter().filter_map(|details| Some((details.sw_if_index, Tunnel::of(details)?))).collect())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum TunnelCommand {
    Create {
        ends: TunnelEnds,
        instance: u32,
    },
    Delete {
        tunnel: Tunnel,
    },
    /// Adds it to a bridge domain, in the split-horizon group of tunnels.
    Join {
        index: u32,
        domain: u32,
    },
}

impl TunnelCommand {
    /// Whether it does no harm that VPP rejects it with this code: what it deletes is gone.
    pub(in crate::engine::vpp) fn is_harmless(&self, code: ReturnCode) -> bool {
        matches!(self, Self::Delete { .. }) && code == ReturnCode::NoSuchEntry
    }

    /// Whether another client changed VPP in between.
    pub(in crate::engine::vpp) fn is_conflict(&self, code: ReturnCode) -> bool {
        match self {
            Self::Create { .. } => matches!(code, ReturnCode::TunnelExist | ReturnCode::InstanceInUse),
            Self::Delete { .. } | Self::Join { .. } => code == ReturnCode::InvalidSwIfIndex,
        }
    }

    /// Adds its request to a batch.
    pub(in crate::engine::vpp) fn add_to(&self, batch: &mut Batch) -> Find {
        match self {
            Self::Create { ends, instance } => add_with(batch, create(ends, *instance), |reply| reply.sw_if_index),
            Self::Delete { tunnel } => add(batch, tunnel.delete()),
            Self::Join { index, domain } => {
                let (port_type, shg, enable) = (L2PortType::Normal, SPLIT_HORIZON_GROUP, true);
                let (rx_sw_if_index, bd_id) = (*index, *domain);
                add(batch, SwInterfaceSetL2Bridge { rx_sw_if_index, bd_id, port_type, shg, enable })
            }
        }
    }
}
