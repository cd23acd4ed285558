//! The chain of one device.

use crate::nftables::expression::{Base, Verdict, are_same, compared, equals, masked, payload, verdict};
use crate::nftables::{BaseChain, Batch, ChainHook, Expression, Policy, Table};
use std::collections::BTreeSet;
use std::fmt;
use usnet_crds::EngineKind;

/// The table of these chains. Tables of others are never changed.
pub const TABLE: Table = Table::netdev("usnet");

/// Before the chains of others, which could decide otherwise about what is to be dropped anyway.
pub(super) const PRIORITY: i32 = -500;

/// What a NIC of the node gives an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NicGuard {
    /// Everything.
    All,
    /// Frames of these VLANs; the others are the node's.
    Vlans(BTreeSet<u16>),
}

/// The chain that a device should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Who borrows the device; none if usnet made it.
    borrower: Option<EngineKind>,
    device: String,
    frames: NicGuard,
}

impl Guard {
    /// Of a device that usnet made: a port of a pod, or of a network.
    pub fn port(device: &str) -> Self {
        Self { borrower: None, device: device.to_owned(), frames: NicGuard::All }
    }

    /// Of a device that an engine borrows: a NIC of the node, or the device by which a bridge of
    /// Open vSwitch appears on the node.
    pub fn borrowed(engine: EngineKind, device: &str, frames: NicGuard) -> Self {
        Self { borrower: Some(engine), device: device.to_owned(), frames }
    }

    /// The name of the chain.
    pub fn chain(&self) -> String {
        format!("{}{}", self.borrower.map(prefix).unwrap_or_default(), self.device)
    }

    /// The device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether this chain is that of a device that one of these engines borrowed.
    pub(super) fn is_borrowed_by(engines: &BTreeSet<EngineKind>, chain: &str) -> bool {
        engines.iter().any(|engine| chain.starts_with(&prefix(*engine)))
    }

    /// The VLANs that are dropped; none if everything is.
    pub(super) fn vlans(&self) -> Option<&BTreeSet<u16>> {
        match &self.frames {
            NicGuard::All => None,
            NicGuard::Vlans(vlans) => Some(vlans),
        }
    }

    /// Creates the chain.
    pub(super) fn add_to(&self, batch: &mut Batch) {
        let policy = if self.vlans().is_none() { Policy::Drop } else { Policy::Accept };
        let hook = ChainHook::Ingress { device: self.device.clone() };
        batch.add_chain(TABLE, &BaseChain { name: self.chain(), hook, priority: PRIORITY, policy });
        for vlan in self.vlans().into_iter().flatten() {
            batch.add_rule(TABLE, &self.chain(), drop_vlan(*vlan));
        }
    }
}

fn prefix(borrower: EngineKind) -> String {
    format!("{}.", borrower.traits().api_name)
}

impl fmt::Display for Guard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.device)
    }
}

/// The VLAN protocol.
const VLAN: [u8; 2] = [0x81, 0x00];
/// The bits of the VLAN's number; the others are the priority.
const NUMBER: [u8; 2] = [0x0f, 0xff];

/// The kernel shows the tag in its place, also when the NIC has removed it.
fn drop_vlan(vlan: u16) -> Vec<Expression> {
    vec![
        payload(Base::Link, 12, 2),
        equals(&VLAN),
        payload(Base::Link, 14, 2),
        masked(&NUMBER),
        equals(&vlan.to_be_bytes()),
        verdict(Verdict::Drop),
    ]
}

/// The VLANs that rules drop; none if one of them is something else.
pub fn dropped_vlans(rules: &[Vec<Expression>]) -> Option<BTreeSet<u16>> {
    let vlan = |rule: &Vec<Expression>| {
        let vlan = rule.get(4).and_then(compared)?;
        let vlan = u16::from_be_bytes(vlan.try_into().ok()?);
        are_same(rule, &drop_vlan(vlan)).then_some(vlan)
    };
    rules.iter().map(vlan).collect()
}
