//! Matches on port, Ethernet, VLAN and ARP.

use super::oxm::NiciraField;
use super::oxm::{Field, Oxm};
use super::{ConnectionState, Ipv4, Ipv6, Masked, Register};
use crate::PortNumber;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

const ARP: u16 = 0x0806;
const RARP: u16 = 0x8035;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// `OFPVID_PRESENT`.
const VLAN_PRESENT: u16 = 0x1000;

/// Which frames a flow is for. The default is all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Match {
    pub in_port: Option<PortNumber>,
    pub eth_src: Option<Masked<[u8; 6]>>,
    pub eth_dst: Option<Masked<[u8; 6]>>,
    pub vlan: Vlan,
    pub payload: Payload,
    pub registers: BTreeMap<Register, Masked<u32>>,
    /// The mark that the node gave a packet, which is 0 on netdev bridges. Flows of the datapath
    /// have it, unlike registers.
    pub packet_mark: Option<Masked<u32>>,
    pub connection: ConnectionState,
    /// The conjunction whose dimensions all match.
    pub conjunction: Option<u32>,
}

/// The outer VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vlan {
    /// With a tag or without. The switch looks behind one tag, and sees the type of a second one as
    /// the type of the frame.
    #[default]
    Any,
    Untagged,
    Tagged,
    Id(VlanId),
}

/// A VLAN of a tag; 0 is a tag that has only a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VlanId(u16);

impl VlanId {
    #[must_use]
    pub const fn new(id: u16) -> Option<Self> {
        if id < 0x1000 { Some(Self(id)) } else { None }
    }
}

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Payload {
    #[default]
    Any,
    EtherType(u16),
    Arp(Arp),
    /// Reverse ARP, whose fields are those of ARP.
    Rarp(Arp),
    Ipv4(Ipv4),
    Ipv6(Ipv6),
}

/// Fields of ARP for IPv4 on Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arp {
    pub operation: Option<ArpOperation>,
    pub sender_ip: Option<Masked<Ipv4Addr>>,
    pub target_ip: Option<Masked<Ipv4Addr>>,
    pub sender_mac: Option<Masked<[u8; 6]>>,
    pub target_mac: Option<Masked<[u8; 6]>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ArpOperation {
    Request = 1,
    Reply = 2,
    ReverseRequest = 3,
    ReverseReply = 4,
}

impl Match {
    /// The match in OXM.
    #[must_use]
    pub fn encode(&self) -> Oxm {
        let mut oxm = Oxm::default();
        if let Some(port) = self.in_port {
            oxm.push(Field::InPort, &port.long().to_be_bytes());
        }
        oxm.push_masked(Field::EthDst, self.eth_dst);
        oxm.push_masked(Field::EthSrc, self.eth_src);
        let vlan = match self.vlan {
            Vlan::Any => None,
            Vlan::Untagged => Some(0.into()),
            Vlan::Tagged => Some(Masked::new(VLAN_PRESENT, VLAN_PRESENT)),
            Vlan::Id(VlanId(id)) => Some((id | VLAN_PRESENT).into()),
        };
        oxm.push_masked(Field::VlanVid, vlan);
        for (register, value) in &self.registers {
            oxm.push_register(*register, *value);
        }
        oxm.push_nicira(NiciraField::PacketMark, self.packet_mark);
        oxm.push_nicira(NiciraField::ConjunctionId, self.conjunction.map(Masked::from));
        self.connection_state().encode(&mut oxm);
        self.payload.encode(&mut oxm);
        oxm
    }

    /// A match on the first packet of a connection is one on tracked packets.
    #[must_use]
    pub fn connection_state(&self) -> ConnectionState {
        let has_original = match &self.payload {
            Payload::Ipv4(ipv4) => !ipv4.original.is_any(),
            Payload::Ipv6(ipv6) => !ipv6.original.is_any(),
            _ => false,
        };
        match self.connection {
            ConnectionState::Any if has_original => ConnectionState::Tracked,
            state => state,
        }
    }
}

impl Payload {
    fn encode(&self, oxm: &mut Oxm) {
        let mut of_type = |number: u16| oxm.push(Field::EthType, &number.to_be_bytes());
        match self {
            Self::Any => {}
            Self::EtherType(number) => of_type(*number),
            Self::Arp(arp) => {
                of_type(ARP);
                arp.encode(oxm);
            }
            Self::Rarp(arp) => {
                of_type(RARP);
                arp.encode(oxm);
            }
            Self::Ipv4(ipv4) => {
                of_type(IPV4);
                ipv4.encode(oxm);
            }
            Self::Ipv6(ipv6) => {
                of_type(IPV6);
                ipv6.encode(oxm);
            }
        }
    }
}

impl Arp {
    fn encode(&self, oxm: &mut Oxm) {
        if let Some(operation) = self.operation {
            oxm.push(Field::ArpOp, &[0, operation as u8]);
        }
        oxm.push_masked(Field::ArpSpa, self.sender_ip);
        oxm.push_masked(Field::ArpTpa, self.target_ip);
        oxm.push_masked(Field::ArpSha, self.sender_mac);
        oxm.push_masked(Field::ArpTha, self.target_mac);
    }
}
