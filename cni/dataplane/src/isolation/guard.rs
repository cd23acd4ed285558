//! The chain of one device.

use crate::nftables::expression::{
    Base, Verdict, are_same, compared, equals, forward_to, loaded, masked, payload, verdict,
};
use crate::nftables::{BaseChain, Batch, ChainHook, ChainKind, Expression, Policy, Table};
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
    frames: Frames,
}

/// What becomes of the frames that a device receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frames {
    Dropped,
    /// Frames of these VLANs are dropped, the others are the node's.
    VlansDropped(BTreeSet<u16>),
    /// They are sent over the device with this index, and none is the node's.
    Forwarded(u32),
}

impl From<NicGuard> for Frames {
    fn from(guard: NicGuard) -> Self {
        match guard {
            NicGuard::All => Self::Dropped,
            NicGuard::Vlans(vlans) => Self::VlansDropped(vlans),
        }
    }
}

impl Frames {
    /// Whether frames that no rule decides about are dropped.
    pub(super) const fn are_dropped(&self) -> bool {
        !matches!(self, Self::VlansDropped(_))
    }

    fn rules(&self) -> Vec<Vec<Expression>> {
        match self {
            Self::Dropped => Vec::new(),
            Self::VlansDropped(vlans) => vlans.iter().map(|vlan| drop_vlan(*vlan)).collect(),
            Self::Forwarded(device) => vec![forward_to(*device).to_vec()],
        }
    }

    /// What the rules of a chain with this policy do; none if one of them is something else.
    pub fn of(rules: &[Vec<Expression>], are_dropped: bool) -> Option<Self> {
        let frames = match rules {
            [] if are_dropped => Self::Dropped,
            [rule] if are_dropped => Self::Forwarded(forwarded_to(rule)?),
            _ => Self::VlansDropped(rules.iter().map(|rule| dropped_vlan(rule)).collect::<Option<_>>()?),
        };
        (frames.are_dropped() == are_dropped).then_some(frames)
    }
}

impl Guard {
    /// The guard of a device that usnet made: a port of a pod, or of a network.
    pub fn port(device: &str) -> Self {
        Self { borrower: None, device: device.to_owned(), frames: Frames::Dropped }
    }

    /// The guard of a device all of whose frames are sent over another one.
    pub fn forwarding(device: &str, to: u32) -> Self {
        Self { borrower: None, device: device.to_owned(), frames: Frames::Forwarded(to) }
    }

    /// The guard of a device that an engine borrows: a NIC of the node, or the device by which a
    /// bridge of Open vSwitch appears on the node.
    pub fn borrowed(engine: EngineKind, device: &str, frames: NicGuard) -> Self {
        Self { borrower: Some(engine), device: device.to_owned(), frames: frames.into() }
    }

    /// The name of the chain.
    pub fn chain(&self) -> String {
        format!("{}{}", self.borrower.map(prefix).unwrap_or_default(), self.device)
    }

    pub fn device(&self) -> &str {
        &self.device
    }

    /// Whether this chain is that of a device that one of these engines borrowed.
    pub(super) fn is_borrowed_by(engines: &BTreeSet<EngineKind>, chain: &str) -> bool {
        engines.iter().any(|engine| chain.starts_with(&prefix(*engine)))
    }

    /// What becomes of the frames.
    pub(super) const fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Creates the chain, or changes what becomes of the frames.
    pub(super) fn add_to(&self, batch: &mut Batch) {
        let policy = if self.frames.are_dropped() { Policy::Drop } else { Policy::Accept };
        let hook = ChainHook::Ingress { device: self.device.clone() };
        batch.add_chain(
            TABLE,
            &BaseChain { name: self.chain(), hook, priority: PRIORITY, policy, kind: ChainKind::Filter },
        );
        let rules = self.frames.rules();
        if !rules.is_empty() {
            batch.flush_chain(TABLE, &self.chain());
        }
        for rule in rules {
            batch.add_rule(TABLE, &self.chain(), rule);
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

/// The VLAN that a rule drops; none of another rule.
fn dropped_vlan(rule: &[Expression]) -> Option<u16> {
    let vlan = rule.get(4).and_then(compared)?;
    let vlan = u16::from_be_bytes(vlan.try_into().ok()?);
    are_same(rule, &drop_vlan(vlan)).then_some(vlan)
}

/// The device that a rule sends all frames over; none of another rule.
fn forwarded_to(rule: &[Expression]) -> Option<u32> {
    let device = u32::from_ne_bytes(rule.first().and_then(loaded)?.try_into().ok()?);
    are_same(rule, &forward_to(device)).then_some(device)
}
