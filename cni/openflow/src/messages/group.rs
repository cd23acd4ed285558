//! Groups of a bridge, and their changes.

use crate::flow::{Group, GroupId};
use crate::wire::{Malformed, Reader};

/// `OFPGC11_ADD_OR_MOD` of Open vSwitch.
const SET: u16 = 0x8000;
const DELETE: u16 = 2;
/// The length of a description without buckets.
const HEADER: usize = 8;

/// A change of groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupMod {
    /// Adds a group, or replaces the buckets of the one with this id.
    Set(Group),
    /// Deletes a group, and the flows that send to it.
    Delete(GroupId),
}

/// A group that a bridge has. Groups of usnet are read back as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledGroup {
    pub id: GroupId,
    kind: u8,
    buckets: Vec<u8>,
}

impl GroupMod {
    /// The content of the message.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (command, id, buckets) = match self {
            Self::Set(group) => (SET, group.id, group.encode_buckets()),
            Self::Delete(id) => (DELETE, *id, Vec::new()),
        };
        [&command.to_be_bytes()[..], &[Group::ALL, 0], &id.0.to_be_bytes(), &buckets].concat()
    }
}

impl InstalledGroup {
    /// Whether this is the group.
    #[must_use]
    pub fn is(&self, group: &Group) -> bool {
        self.id == group.id && self.kind == Group::ALL && self.buckets == group.encode_buckets()
    }

    /// Reads all groups of a part of a reply.
    pub fn decode_all(mut reader: Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut groups = Vec::new();
        while !reader.is_empty() {
            let (length, kind, _padding, id) = (reader.u16()?, reader.u8()?, reader.u8()?, GroupId(reader.u32()?));
            let buckets = reader.structure(length, HEADER, "a group")?.rest().to_vec();
            groups.push(Self { id, kind, buckets });
        }
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Step;

    #[test]
    fn a_group_is_written_as_the_standard_says() {
        let group = Group { id: GroupId(258), buckets: vec![vec![Step::Group(GroupId(7))]] };
        let bucket = [&[0, 24, 0, 0][..], &[0xff; 8], &[0; 4], &[0, 22, 0, 8, 0, 0, 0, 7]].concat();
        let head = [0x80, 0, 0, 0, 0, 0, 1, 2];
        assert_eq!(GroupMod::Set(group.clone()).encode(), [&head[..], &bucket].concat());
        assert_eq!(GroupMod::Delete(GroupId(258)).encode(), [0, 2, 0, 0, 0, 0, 1, 2]);
        let described = [&[0, 32, 0, 0, 0, 0, 1, 2][..], &bucket].concat();
        let read = |bytes: &[u8]| InstalledGroup::decode_all(Reader::new(bytes, "a reply"));
        let found = read(&described.repeat(2)).unwrap();
        assert!(found.len() == 2 && found.iter().all(|found| found.is(&group)));
        assert!(!found[0].is(&Group { buckets: Vec::new(), ..group }));
        for length in 1..described.len() {
            assert!(read(&described[..length]).is_err(), "{length}");
        }
    }
}
