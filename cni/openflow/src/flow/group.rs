//! Groups, to which flows may send.

use super::step::{GroupId, Step};

/// Any port or group: a bucket watches none.
const NONE: u32 = 0xffff_ffff;
const BUCKET_HEADER: usize = 16;

/// A group whose buckets all get a copy of a frame (`OFPGT11_ALL`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub id: GroupId,
    pub buckets: Vec<Vec<Step>>,
}

impl Group {
    pub(crate) const ALL: u8 = 0;
    /// Most buckets of a group, whose message is at most 64 KiB long: each with three steps of 16
    /// bytes.
    pub const BUCKETS_MAX: usize = 1000;

    /// The buckets in OpenFlow 1.1 to 1.4.
    pub(crate) fn encode_buckets(&self) -> Vec<u8> {
        let bucket = |steps: &Vec<Step>| {
            let steps: Vec<u8> = steps.iter().flat_map(Step::encode).collect();
            let length = u16::try_from(BUCKET_HEADER + steps.len()).unwrap_or(u16::MAX);
            let (weight, padding) = ([0; 2], [0; 4]);
            let watched = [NONE, NONE].map(u32::to_be_bytes).concat();
            [&length.to_be_bytes()[..], &weight, &watched, &padding, &steps].concat()
        };
        self.buckets.iter().flat_map(bucket).collect()
    }
}
