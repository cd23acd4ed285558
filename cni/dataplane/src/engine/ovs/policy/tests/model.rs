//! A switch that does what flows of policies say: matches with conjunctions, registers, groups,
//! tracked connections, and forwarding like a learning switch. It panics at what a real one would
//! refuse or decide by chance: two flows of one priority that match, or a missing table.

use super::frame::{Content, Frame, ICMP, ICMPV6, Tuple};
use crate::engine::ovs::policy::{CHECK, PolicyFlows};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_openflow::PortNumber;
use usnet_openflow::flow::{
    Action, Bits, ConnectionState, Flow, Fragments, Icmpv6, IpPayload, Ipv6Payload, Masked, Match, Original,
    OriginalPayload, Output, Payload, Register, Step,
};

pub(super) struct Switch {
    pub(super) desired: PolicyFlows,
    pub(super) ports: BTreeSet<PortNumber>,
    /// What the switch has learned.
    pub(super) learned: BTreeMap<[u8; 6], PortNumber>,
    pub(super) connections: BTreeSet<Tuple>,
}

/// A frame on its way through the tables.
#[derive(Debug, Clone)]
struct Passing {
    frame: Frame,
    registers: BTreeMap<Register, u32>,
    tracked: Option<Tracked>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tracked {
    is_invalid: bool,
    is_new: bool,
    is_related: bool,
    is_reply: bool,
    /// The first packet of the connection.
    original: Option<Tuple>,
}

impl Switch {
    /// Sends a frame, and returns the ports that get it.
    pub(super) fn send(&mut self, frame: Frame) -> BTreeSet<PortNumber> {
        let mut passing = Passing { frame, registers: BTreeMap::new(), tracked: None };
        let Action::Apply { next: Some(first), .. } = CHECK else { panic!("a table") };
        let mut outputs = BTreeSet::new();
        self.look_up(&mut passing, first, &mut outputs);
        outputs.remove(&frame.in_port);
        outputs
    }

    fn look_up(&mut self, passing: &mut Passing, table: u8, outputs: &mut BTreeSet<PortNumber>) {
        let flow = self.matching(passing, table).unwrap_or_else(|| panic!("table {table} has no flow: {passing:?}"));
        match flow.action {
            Action::Drop => {}
            Action::Output(_) => panic!("{flow:?}"),
            Action::Apply { steps, next } => {
                for step in steps {
                    self.carry_out(step, passing, outputs);
                }
                if let Some(next) = next {
                    assert!(next > table, "the switch would refuse it");
                    self.look_up(passing, next, outputs);
                }
            }
        }
    }

    fn carry_out(&mut self, step: Step, passing: &mut Passing, outputs: &mut BTreeSet<PortNumber>) {
        match step {
            Step::Output(Output::Port(port)) => drop(outputs.insert(port)),
            Step::Output(Output::Normal) => outputs.extend(self.forwarded(&passing.frame)),
            Step::OutputRegister(register) => {
                let [_, _, high, low] = passing.register(register).to_be_bytes();
                outputs.insert(PortNumber::new(u16::from_be_bytes([high, low])).expect("a port"));
            }
            Step::Set(register, value) => drop(passing.registers.insert(register, value)),
            Step::Copy { from, to } => {
                let value = passing.register(from);
                passing.registers.insert(to, value);
            }
            Step::Track { table, .. } => {
                let mut copy = Passing { tracked: Some(self.tracked(&passing.frame)), ..passing.clone() };
                self.look_up(&mut copy, table, outputs);
            }
            Step::Commit { .. } => {
                let Content::Packet(tuple) = passing.frame.content else { panic!("{passing:?}") };
                self.connections.insert(tuple);
            }
            Step::Group(id) => {
                let group = self.desired.groups.iter().find(|group| group.id == id).expect("a group").clone();
                for bucket in group.buckets {
                    let mut copy = passing.clone();
                    bucket.into_iter().for_each(|step| self.carry_out(step, &mut copy, outputs));
                }
            }
            Step::Resubmit(table) => self.look_up(passing, table, outputs),
            Step::Conjunction { .. } => panic!("a conjunction is not carried out"),
        }
    }

    /// To all ports that are flooded to, unless the receiver is known.
    fn forwarded(&self, frame: &Frame) -> BTreeSet<PortNumber> {
        match self.learned.get(&frame.dst_mac) {
            Some(port) => [*port].into(),
            None => self.ports.difference(&self.desired.unflooded).copied().collect(),
        }
    }

    fn tracked(&self, frame: &Frame) -> Tracked {
        let known = |tuple: &Tuple| {
            let found = [*tuple, tuple.reversed()].into_iter().find(|tuple| self.connections.contains(tuple));
            (found.unwrap_or(*tuple), found.is_none(), found == Some(tuple.reversed()))
        };
        match frame.content {
            Content::Packet(tuple) => {
                let (original, is_new, is_reply) = known(&tuple);
                Tracked { is_new, is_reply, original: Some(original), ..Tracked::default() }
            }
            Content::ErrorAbout(tuple) => {
                let (original, is_invalid, is_reply) = known(&tuple);
                Tracked { is_invalid, is_related: !is_invalid, is_reply, is_new: false, original: Some(original) }
            }
            Content::Malformed(_) => Tracked { is_invalid: true, ..Tracked::default() },
            // What expires among them is let out with packets of others.
            Content::Fragment(_) => panic!("a fragment is looked up"),
            Content::Arp | Content::Neighbor | Content::Other(_) => panic!("the switch would refuse it: {frame:?}"),
        }
    }

    /// The flow with the highest priority. Of conjunctions the one whose dimensions all match.
    fn matching(&self, passing: &Passing, table: u8) -> Option<Flow> {
        let matches = |conjunction: Option<u32>| {
            let fits = move |flow: &&Flow| {
                flow.table == table
                    && flow.matches.conjunction.is_none_or(|id| Some(id) == conjunction)
                    && passing.matches(&flow.matches)
            };
            self.desired.flows.iter().filter(fits)
        };
        let mut priorities: Vec<u16> = matches(None).map(|flow| flow.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        for priority in priorities.into_iter().rev() {
            let at = |flow: &&Flow| flow.priority == priority;
            let (soft, hard): (Vec<&Flow>, Vec<&Flow>) = matches(None).filter(at).partition(|flow| is_soft(flow));
            if let [hard, others @ ..] = hard.as_slice() {
                let are_same = others.iter().all(|other| other.action == hard.action) && soft.is_empty();
                assert!(are_same, "which flow is used is left open: {hard:?} {others:?} {soft:?}");
                return Some((*hard).clone());
            }
            if let Some(id) = complete(&soft) {
                let of_id = matches(Some(id)).find(|flow| flow.matches.conjunction == Some(id));
                return Some(of_id.expect("the flow of a conjunction").clone());
            }
        }
        None
    }
}

fn is_soft(flow: &Flow) -> bool {
    let Action::Apply { steps, .. } = &flow.action else { return false };
    let is_conjunction = |step: &Step| matches!(step, Step::Conjunction { .. });
    assert_eq!(steps.iter().any(is_conjunction), !steps.is_empty() && steps.iter().all(is_conjunction), "{flow:?}");
    steps.iter().any(is_conjunction)
}

/// A conjunction of which each dimension has a flow.
fn complete(soft: &[&Flow]) -> Option<u32> {
    let mut found: BTreeMap<u32, (u8, BTreeSet<u8>)> = BTreeMap::new();
    for flow in soft {
        let Action::Apply { steps, .. } = &flow.action else { continue };
        for step in steps {
            let Step::Conjunction { id, dimension, dimensions } = *step else { continue };
            assert!(dimensions >= 2 && dimension < dimensions, "{step:?}");
            found.entry(id).or_insert((dimensions, BTreeSet::new())).1.insert(dimension);
        }
    }
    found.into_iter().find(|(_, (count, present))| usize::from(*count) == present.len()).map(|(id, _)| id)
}

impl Passing {
    fn register(&self, register: Register) -> u32 {
        self.registers.get(&register).copied().unwrap_or_default()
    }

    fn matches(&self, matches: &Match) -> bool {
        let Match { in_port, eth_src, eth_dst, payload, registers, .. } = matches;
        assert_eq!(*eth_src, None, "the guard is before");
        in_port.is_none_or(|port| port == self.frame.in_port)
            && eth_dst.is_none_or(|mac| mac.matches(self.frame.dst_mac))
            && registers.iter().all(|(register, value)| value.matches(self.register(*register)))
            && self.has_state(matches.connection_state())
            && self.carries(payload)
    }

    fn has_state(&self, state: ConnectionState) -> bool {
        let Some(Tracked { is_invalid, is_new, is_related, is_reply, .. }) = self.tracked else {
            return matches!(state, ConnectionState::Any | ConnectionState::Untracked);
        };
        match state {
            ConnectionState::Any => true,
            ConnectionState::Untracked => false,
            ConnectionState::Invalid => is_invalid,
            ConnectionState::Tracked => !is_invalid,
            ConnectionState::New => !is_invalid && is_new,
            ConnectionState::Related => !is_invalid && is_related,
            ConnectionState::Reply => !is_invalid && is_reply,
        }
    }

    fn carries(&self, payload: &Payload) -> bool {
        let content = self.frame.content;
        let is_neighbor = content == Content::Neighbor;
        let packet = match content {
            Content::Packet(tuple)
            | Content::Fragment(tuple)
            | Content::ErrorAbout(tuple)
            | Content::Malformed(tuple) => Some(tuple),
            _ => None,
        };
        let is_fragment = matches!(content, Content::Fragment(_));
        let fragments = |fragments: Option<Fragments>| match fragments {
            None => true,
            Some(Fragments::Any) => is_fragment,
            Some(other) => panic!("{other:?}"),
        };
        match payload {
            Payload::Any => true,
            Payload::Arp(_) => content == Content::Arp,
            Payload::Ipv4(ipv4) => {
                assert_eq!((ipv4.src, ipv4.dst, ipv4.payload), (None, None, IpPayload::Any));
                packet.is_some_and(|tuple| tuple.src.is_ipv4()) && fragments(ipv4.fragments) && {
                    self.began_as(&ipv4.original, |ip| if let IpAddr::V4(ip) = ip { Some(ip) } else { None })
                }
            }
            Payload::Ipv6(ipv6) => {
                let is_ipv6 = is_neighbor || packet.is_some_and(|tuple| tuple.src.is_ipv6());
                let is_of_type = match ipv6.payload {
                    Ipv6Payload::Ip(payload) => payload == IpPayload::Any,
                    Ipv6Payload::Icmp(Icmpv6::Type(number)) => is_neighbor && number == 135,
                    Ipv6Payload::Icmp(other) => panic!("{other:?}"),
                };
                is_ipv6 && is_of_type && fragments(ipv6.fragments) && {
                    self.began_as(&ipv6.original, |ip| if let IpAddr::V6(ip) = ip { Some(ip) } else { None })
                }
            }
            Payload::EtherType(_) | Payload::Rarp(_) => panic!("{payload:?}"),
        }
    }

    fn began_as<A>(&self, original: &Original<A>, of_family: impl Fn(IpAddr) -> Option<A>) -> bool
    where
        A: Bits,
    {
        let Original { src, dst, payload } = original;
        if src.is_none() && dst.is_none() && *payload == OriginalPayload::Any {
            return true;
        }
        let Some(Tracked { original: Some(original), .. }) = self.tracked else { return false };
        let of = |expected: &Option<Masked<A>>, ip: IpAddr| {
            expected.is_none_or(|expected| of_family(ip).is_some_and(|ip| expected.matches(ip)))
        };
        let protocol = payload.protocol();
        assert!(protocol.is_none_or(|number| ![ICMP, ICMPV6].contains(&number)));
        of(src, original.src)
            && of(dst, original.dst)
            && protocol.is_none_or(|number| number == original.protocol)
            && payload.dst().is_none_or(|port| port.matches(original.dst_port))
    }
}
