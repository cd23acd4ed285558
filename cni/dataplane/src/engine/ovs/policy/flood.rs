//! What several ports get: groups, and table 28, in which each isolated port gets a copy whose
//! rules are its own.

use super::port::{Isolated, Ports};
use super::step::{DESTINATION_PORT, FLOOD, INGRESS, IS_COPY, MULTICAST, NORMAL, flow, to};
use std::ops::Range;
use usnet_openflow::flow::{Flow, Group, GroupId, Match, Output, Payload, Step};

/// The first ids of groups: of those for ARP and neighbor discovery, and of those for packets.
const NEIGHBORS: u32 = 0x100;
const PACKETS: u32 = 0x200;
/// The ids of all groups: there are fewer of each kind than in between.
pub(super) const IDS: Range<u32> = NEIGHBORS..0x300;

/// The isolated ports that get copies: groups have as many of them as there is room for.
pub(super) struct Flood<'a>(pub(super) &'a Ports);

impl Flood<'_> {
    /// The steps by which all ports get a frame without rules.
    pub(super) fn neighbor_steps(&self) -> Vec<Step> {
        self.steps(NEIGHBORS)
    }

    pub(super) fn flows(&self) -> Vec<Flow> {
        let mut copies = vec![Step::Set(IS_COPY, 1)];
        copies.extend(self.steps(PACKETS));
        vec![
            flow(FLOOD, 100, to(MULTICAST, Payload::Any), copies, None),
            flow(FLOOD, 0, Match::default(), Vec::new(), Some(INGRESS)),
        ]
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        let output = |port: &Isolated| vec![Step::Output(Output::Port(port.number))];
        let copy = |port: &Isolated| vec![Step::Set(DESTINATION_PORT, port.register()), Step::Resubmit(INGRESS)];
        let neighbors = groups(NEIGHBORS, self.0.isolated.values().map(output).collect());
        let packets = groups(PACKETS, self.0.isolated.values().map(copy).collect());
        [neighbors, packets].concat()
    }

    /// How many groups of each kind there are: one bucket is for all ports that are not isolated.
    fn count(&self) -> usize {
        (self.0.isolated.len() + 1).div_ceil(Group::BUCKETS_MAX)
    }

    fn steps(&self, first: u32) -> Vec<Step> {
        (first..).take(self.count()).map(|id| Step::Group(GroupId(id))).collect()
    }
}

fn groups(first: u32, mut buckets: Vec<Vec<Step>>) -> Vec<Group> {
    buckets.insert(0, vec![NORMAL]);
    let parts = buckets.chunks(Group::BUCKETS_MAX);
    (first..).zip(parts).map(|(id, part)| Group { id: GroupId(id), buckets: part.to_vec() }).collect()
}
