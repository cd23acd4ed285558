//! What VPP does with packets of a port that has access lists: sessions, then the first rule that
//! matches.

use crate::engine::vpp::policy::rules::PortRules;
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::net::IpAddr;
use usnet_vpp::messages::{AclAction, AclRule, Prefix};

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const SYN: u8 = 0x02;
pub(super) const ACK: u8 = 0x10;
const ICMP: [u8; 2] = [1, 58];
/// Requests and answers to them.
const ECHO: [[u16; 2]; 2] = [[8, 0], [128, 129]];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: u8,
    /// The port, or the type of ICMP.
    pub(super) from: u16,
    /// The port, or the code of ICMP.
    pub(super) to: u16,
    pub(super) flags: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    Pod,
    Peer,
}

type Key = (u8, BTreeSet<(IpAddr, u16)>);

#[derive(Debug)]
pub(super) struct Port {
    pub(super) rules: PortRules,
    pub(super) sessions: BTreeSet<Key>,
}

impl Packet {
    /// The first packet of a connection, or a request of ICMP if it has no port.
    pub(super) fn first(source: IpAddr, destination: IpAddr, service: Option<(u8, u16)>) -> Self {
        let Some((protocol, to)) = service else { return Self::echo(source, destination) };
        Self { source, destination, protocol, from: 40_000, to, flags: SYN }
    }

    fn echo(source: IpAddr, destination: IpAddr) -> Self {
        let family = usize::from(source.is_ipv6());
        Self { source, destination, protocol: ICMP[family], from: ECHO[family][0], to: 0, flags: 0 }
    }

    /// A later packet of the connection.
    pub(super) fn next(self) -> Self {
        Self { flags: ACK, ..self }
    }

    pub(super) fn answer(self) -> Self {
        let Self { source: destination, destination: source, .. } = self;
        if ICMP.contains(&self.protocol) {
            let [_, from] = ECHO[usize::from(source.is_ipv6())];
            return Self { source, destination, from, ..self };
        }
        let (from, to) = (self.to, self.from);
        let flags = if self.flags & ACK == 0 { SYN | ACK } else { ACK };
        Self { source, destination, from, to, flags, ..self }
    }

    /// What a session is found by; `None` of packets that add none and that none lets pass.
    fn key(&self) -> Option<Key> {
        let ends = match ICMP.contains(&self.protocol) {
            false => [(self.source, self.from), (self.destination, self.to)],
            true if ECHO.as_flattened().contains(&self.from) => [(self.source, 0), (self.destination, 0)],
            true => return None,
        };
        Some((self.protocol, ends.into()))
    }

    fn matches(&self, rule: &AclRule) -> bool {
        let within = |prefix: &Prefix, address: IpAddr| {
            let net = IpNet::new(prefix.ip().unwrap(), prefix.length).unwrap();
            net.contains(&address)
        };
        let has = |value: u16, first: u16, last: u16| (first..=last).contains(&value);
        let has_ports = rule.protocol == 0
            || (rule.protocol == self.protocol
                && has(self.from, rule.first_source, rule.last_source)
                && has(self.to, rule.first_destination, rule.last_destination)
                && (self.protocol != TCP || self.flags & rule.tcp_flags_mask == rule.tcp_flags_value));
        within(&rule.source, self.source) && within(&rule.destination, self.destination) && has_ports
    }
}

impl Port {
    pub(super) fn new(rules: PortRules) -> Self {
        Self { rules, sessions: BTreeSet::new() }
    }

    pub(super) fn passes(&mut self, packet: Packet, towards: Towards) -> bool {
        let key = packet.key();
        if key.as_ref().is_some_and(|key| self.sessions.contains(key)) {
            return true;
        }
        let rules = match towards {
            Towards::Pod => &self.rules.output,
            Towards::Peer => &self.rules.input,
        };
        match rules.iter().find(|rule| packet.matches(rule)).map(|rule| rule.action) {
            Some(AclAction::Permit) => true,
            Some(AclAction::PermitReflect) => {
                self.sessions.extend(key);
                true
            }
            Some(AclAction::Deny | AclAction::Other(_)) | None => false,
        }
    }
}
