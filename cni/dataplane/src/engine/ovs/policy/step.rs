//! Tables, registers and the parts that flows of all tables have.

use usnet_openflow::PortNumber;
use usnet_openflow::flow::{
    Action, Cookie, Flow, Fragments, Ipv4, Ipv6, Masked, Match, Output, Payload, Register, Step,
};

/// The first bits of the cookies of these flows.
pub(super) const MARK: u16 = 0x7574;

pub(super) const CLASSIFY: u8 = 10;
pub(super) const DESTINATION: u8 = 11;
pub(super) const NEIGHBOR: u8 = 12;
pub(in crate::engine::ovs) const CONNECTION: u8 = 20;
pub(super) const SOURCE_POD: u8 = 21;
pub(super) const DESTINATION_POD: u8 = 22;
pub(super) const EGRESS: u8 = 25;
pub(super) const FLOOD: u8 = 28;
pub(super) const INGRESS: u8 = 30;
pub(super) const DELIVER: u8 = 39;
pub(super) const FORWARD: u8 = 40;

/// The isolated port from which a connection comes, and the one to which it goes, in the lower 16
/// bits. The upper ones are its class.
pub(super) const SOURCE_PORT: Register = Register::R0;
pub(super) const DESTINATION_PORT: Register = Register::R1;
/// The class of the pod with the address from which a connection comes, and of the one to which it
/// goes: 0 if no rule has it as a peer.
pub(super) const SOURCE_CLASS: Register = Register::R2;
pub(super) const DESTINATION_CLASS: Register = Register::R4;
/// Whether a frame comes from an isolated port.
pub(super) const IS_RESTRICTED: Register = Register::R3;
/// Whether a frame is a copy for one of several ports.
pub(super) const IS_COPY: Register = Register::R5;
/// The isolated port to which a frame is sent.
pub(super) const OUTPUT_PORT: Register = Register::R6;
pub(super) const SPARE: Register = Register::R7;

/// Several receivers.
pub(super) const MULTICAST: Masked<[u8; 6]> = Masked::new([1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]);
pub(super) const NORMAL: Step = Step::Output(Output::Normal);

/// A flow of a table, which drops without steps and without another table.
pub(super) fn flow(table: u8, priority: u16, matches: Match, steps: Vec<Step>, next: Option<u8>) -> Flow {
    let action = if steps.is_empty() && next.is_none() { Action::Drop } else { Action::Apply { steps, next } };
    let cookie = Cookie::of_bridge(MARK, &matches, &action);
    Flow { table, priority, cookie, matches, action }
}

/// A flow that drops frames of or to a port, for which they are counted.
pub(super) fn refusal(port: PortNumber, table: u8, priority: u16, matches: Match) -> Flow {
    let action = Action::Drop;
    let cookie = Cookie::new(MARK, port, &matches, &action);
    Flow { table, priority, cookie, matches, action }
}

/// A match on frames to a MAC address.
pub(super) fn to(mac: impl Into<Masked<[u8; 6]>>, payload: Payload) -> Match {
    Match { eth_dst: Some(mac.into()), payload, ..Match::default() }
}

/// A match on the value of a register.
pub(super) fn with(register: Register, value: impl Into<Masked<u32>>, payload: Payload) -> Match {
    Match { registers: [(register, value.into())].into(), payload, ..Match::default() }
}

/// Packets of both families.
pub(super) fn packets() -> [Payload; 2] {
    [Payload::Ipv4(Ipv4::default()), Payload::Ipv6(Ipv6::default())]
}

/// Fragments of both families.
pub(super) fn fragments() -> [Payload; 2] {
    let fragments = Some(Fragments::Any);
    [Payload::Ipv4(Ipv4 { fragments, ..Ipv4::default() }), Payload::Ipv6(Ipv6 { fragments, ..Ipv6::default() })]
}
