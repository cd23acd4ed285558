//! Steps of a flow or of a bucket (`ofp_action_header`, openflow-1.1.h; `nx_action_header` and what
//! follows it, ofp-actions.c of Open vSwitch).

use crate::PortNumber;
use crate::flow::Register;

/// `OFPP_NORMAL`, openflow-1.1.h.
const NORMAL: u32 = 0xffff_fffa;
/// `OFPP_IN_PORT` in 16 bits: the port is not changed.
const IN_PORT: u16 = 0xfff8;

/// Types of actions of the standard.
const OUTPUT: u16 = 0;
const GROUP: u16 = 22;
const SET_FIELD: u16 = 25;
/// The type of actions of others, which have the number of the vendor and a type of their own.
const EXPERIMENTER: u16 = 0xffff;
const NICIRA: u32 = 0x2320;
const REG_MOVE: u16 = 6;
const RESUBMIT_TABLE: u16 = 14;
const OUTPUT_REG: u16 = 15;
const CONJUNCTION: u16 = 34;
const CT: u16 = 35;

const CT_COMMIT: u16 = 1;
/// There is no table after it.
const CT_NO_TABLE: u8 = 0xff;
const REGISTER_BITS: u16 = 32;
/// Numbers of ports have 16 bits, from bit 0: the offset in the upper 10 bits, and one bit less
/// than there are.
const PORT_BITS: u16 = 15;

/// Where frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Output {
    /// Like a learning switch does.
    Normal,
    Port(PortNumber),
}

/// The id of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// What is done with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Output(Output),
    /// Sends to the port whose number is in a register, except back to where the frame came from.
    OutputRegister(Register),
    Set(Register, u32),
    Copy {
        from: Register,
        to: Register,
    },
    /// Looks the connection up, and then matches the packet in a table. What follows is done with
    /// the packet as it was before.
    Track {
        zone: u16,
        table: u8,
    },
    /// Remembers the connection.
    Commit {
        zone: u16,
    },
    /// Does what all buckets of a group say, each with a copy.
    Group(GroupId),
    /// Matches in a table, and continues here.
    Resubmit(u8),
    /// One of several dimensions of a conjunction: when flows of all of them match, the flow with
    /// [`conjunction`](super::Match::conjunction) does.
    Conjunction {
        id: u32,
        /// From 0.
        dimension: u8,
        dimensions: u8,
    },
}

impl Step {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match *self {
            Self::Output(output) => {
                let port = match output {
                    Output::Normal => NORMAL,
                    Output::Port(port) => port.long(),
                };
                // How much of a frame is sent to a controller, and padding.
                action(OUTPUT, &[&port.to_be_bytes(), &[0; 8]])
            }
            Self::OutputRegister(register) => {
                let field = register.header().to_be_bytes();
                nicira(OUTPUT_REG, &[&PORT_BITS.to_be_bytes(), &field, &[0; 8]])
            }
            Self::Set(register, value) => {
                action(SET_FIELD, &[&register.header().to_be_bytes(), &value.to_be_bytes(), &[0; 4]])
            }
            Self::Copy { from, to } => {
                let (bits, offsets) = (REGISTER_BITS.to_be_bytes(), [0; 4]);
                nicira(REG_MOVE, &[&bits, &offsets, &from.header().to_be_bytes(), &to.header().to_be_bytes()])
            }
            Self::Track { zone, table } => connection(0, zone, table),
            Self::Commit { zone } => connection(CT_COMMIT, zone, CT_NO_TABLE),
            Self::Group(GroupId(id)) => action(GROUP, &[&id.to_be_bytes()]),
            Self::Resubmit(table) => nicira(RESUBMIT_TABLE, &[&IN_PORT.to_be_bytes(), &[table, 0, 0, 0]]),
            Self::Conjunction { id, dimension, dimensions } => {
                nicira(CONJUNCTION, &[&[dimension, dimensions], &id.to_be_bytes()])
            }
        }
    }
}

/// The zone is a number and not in a field, and the protocol has no helper.
fn connection(flags: u16, zone: u16, table: u8) -> Vec<u8> {
    nicira(CT, &[&flags.to_be_bytes(), &[0; 4], &zone.to_be_bytes(), &[table, 0, 0, 0], &[0; 2]])
}

fn nicira(kind: u16, content: &[&[u8]]) -> Vec<u8> {
    let head = [&NICIRA.to_be_bytes()[..], &kind.to_be_bytes()].concat();
    action(EXPERIMENTER, &[&head, &content.concat()])
}

/// All actions here are filled up to a multiple of 8 bytes.
fn action(kind: u16, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let length = u16::try_from(content.len() + 4).unwrap_or(u16::MAX);
    [&kind.to_be_bytes()[..], &length.to_be_bytes(), &content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_the_lengths_that_switches_require() {
        let id = GroupId(1);
        for (step, length) in [
            (Step::Output(Output::Normal), 16),
            (Step::OutputRegister(Register::R6), 24),
            (Step::Set(Register::R0, 7), 16),
            (Step::Copy { from: Register::R0, to: Register::R1 }, 24),
            (Step::Track { zone: 1, table: 20 }, 24),
            (Step::Commit { zone: 1 }, 24),
            (Step::Group(id), 8),
            (Step::Resubmit(30), 16),
            (Step::Conjunction { id: 1, dimension: 0, dimensions: 2 }, 16),
        ] {
            let bytes = step.encode();
            assert_eq!(
                (bytes.len(), bytes[2..4].to_vec()),
                (length, vec![0, u8::try_from(length).unwrap()]),
                "{step:?}"
            );
        }
    }
}
