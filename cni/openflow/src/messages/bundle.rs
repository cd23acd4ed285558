//! Bundles: changes that are carried out together or not at all.

use super::VERSION;
use crate::wire::Message;

const ATOMIC: u16 = 1;
const ORDERED: u16 = 2;

/// A bundle of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bundle(pub(crate) u32);

/// Steps in the life of a bundle; the reply to each has the next number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BundleStep {
    Open = 0,
    Commit = 4,
    Discard = 6,
}

impl Bundle {
    /// The content of the message that asks for a step.
    pub(crate) fn control(self, step: BundleStep) -> Vec<u8> {
        let kind = [0, step as u8];
        [&self.0.to_be_bytes()[..], &kind, &FLAGS.to_be_bytes()].concat()
    }

    /// The content of the message that adds a change, which is a message itself. Both have the same
    /// transaction id.
    pub(crate) fn add(self, id: u32, kind: u8, change: &[u8]) -> Vec<u8> {
        let mut bytes = [&self.0.to_be_bytes()[..], &[0; 2], &FLAGS.to_be_bytes()].concat();
        Message::encode(VERSION, kind, id, change, &mut bytes);
        bytes
    }
}

const FLAGS: u16 = ATOMIC | ORDERED;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_written_as_the_standard_says() {
        assert_eq!(Bundle(7).control(BundleStep::Commit), [0, 0, 0, 7, 0, 4, 0, 3]);
        assert_eq!(Bundle(7).add(258, 14, &[9]), [0, 0, 0, 7, 0, 0, 0, 3, 5, 14, 0, 9, 0, 0, 1, 2, 9]);
    }
}
