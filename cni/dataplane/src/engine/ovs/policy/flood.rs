//! What several ports get: groups, and table 28, in which each isolated port gets a copy whose
//! rules are its own.

use super::port::{Isolated, Subjects};
use super::step::{DESTINATION_PORT, FLOOD, INGRESS, IS_COPY, MULTICAST, NORMAL, flow, to};
use std::ops::Range;
use usnet_openflow::flow::{Flow, Group, GroupId, Match, Output, Payload, Step};

/// The first ids of groups: of those for ARP and neighbor discovery, and of those for packets.
const NEIGHBORS: u32 = 0x100;
const PACKETS: u32 = 0x200;
/// The ids of all groups: there are fewer of each kind than in between.
pub(super) const IDS: Range<u32> = NEIGHBORS..0x300;

/// Groups with as many isolated ports as there is room for. The others get what is flooded.
pub(super) struct Flood {
    neighbors: Vec<Group>,
    packets: Vec<Group>,
}

impl Flood {
    pub(super) fn of(subjects: &Subjects<'_>) -> Self {
        let output = |port: &Isolated| vec![Step::Output(Output::Port(port.number))];
        let copy = |port: &Isolated| vec![Step::Set(DESTINATION_PORT, port.register()), Step::Resubmit(INGRESS)];
        Self {
            neighbors: groups(NEIGHBORS, subjects.isolated.iter().map(output).collect()),
            packets: groups(PACKETS, subjects.isolated.iter().map(copy).collect()),
        }
    }

    /// The steps by which all ports get a frame without rules.
    pub(super) fn neighbor_steps(&self) -> Vec<Step> {
        steps(&self.neighbors)
    }

    pub(super) fn flows(&self) -> Vec<Flow> {
        let mut copies = vec![Step::Set(IS_COPY, 1)];
        copies.extend(steps(&self.packets));
        vec![
            flow(FLOOD, 100, to(MULTICAST, Payload::Any), copies, None),
            flow(FLOOD, 0, Match::default(), Vec::new(), Some(INGRESS)),
        ]
    }

    pub(super) fn groups(&self) -> Vec<Group> {
        [self.neighbors.as_slice(), &self.packets].concat()
    }
}

/// One bucket is for all ports that are not isolated.
fn groups(first: u32, mut buckets: Vec<Vec<Step>>) -> Vec<Group> {
    buckets.insert(0, vec![NORMAL]);
    let parts = buckets.chunks(Group::BUCKETS_MAX);
    (first..).zip(parts).map(|(id, part)| Group { id: GroupId(id), buckets: part.to_vec() }).collect()
}

fn steps(groups: &[Group]) -> Vec<Step> {
    groups.iter().map(|group| Step::Group(group.id)).collect()
}
