//! What becomes of frames that match.

use crate::PortNumber;
use crate::wire::{Malformed, Reader};

/// `OFPP_NORMAL`, openflow-1.1.h.
const NORMAL: u32 = 0xffff_fffa;
/// `OFPIT_APPLY_ACTIONS`.
const APPLY_ACTIONS: u16 = 4;
/// `OFPAT_OUTPUT`.
const OUTPUT: u16 = 0;
const INSTRUCTION_LENGTH: u16 = 24;
const ACTION_LENGTH: u16 = 16;

/// The instructions of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    Drop,
    Output(Output),
}

/// Where frames are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Output {
    /// Like a learning switch does.
    Normal,
    Port(PortNumber),
}

impl Action {
    /// The instructions in OpenFlow 1.1 and later: none drops.
    pub(crate) fn encode(self) -> Vec<u8> {
        let port = match self {
            Self::Drop => return Vec::new(),
            Self::Output(Output::Normal) => NORMAL,
            Self::Output(Output::Port(port)) => port.long(),
        };
        let head = [APPLY_ACTIONS.to_be_bytes(), INSTRUCTION_LENGTH.to_be_bytes(), [0; 2], [0; 2]].concat();
        let action = [OUTPUT.to_be_bytes(), ACTION_LENGTH.to_be_bytes()].concat();
        // How much of a frame is sent to a controller, and padding.
        let rest = [0; 8];
        [&head[..], &action, &port.to_be_bytes(), &rest].concat()
    }

    /// Reads instructions; none for those that this type does not have.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, Malformed> {
        if bytes.is_empty() {
            return Ok(Some(Self::Drop));
        }
        let mut reader = Reader::new(bytes, "an instruction");
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut instruction = reader.structure(length, 4, "an instruction")?;
        if kind != APPLY_ACTIONS || !reader.is_empty() {
            return Ok(None);
        }
        instruction.skip(4)?;
        // Without an action it drops, and usnet does not write it so.
        if instruction.is_empty() {
            return Ok(None);
        }
        let (kind, length) = (instruction.u16()?, instruction.u16()?);
        let mut action = instruction.structure(length, 4, "an action")?;
        if kind != OUTPUT || !instruction.is_empty() {
            return Ok(None);
        }
        let port = action.u32()?;
        let output = if port == NORMAL { Some(Output::Normal) } else { PortNumber::from_long(port).map(Output::Port) };
        Ok(output.map(Self::Output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_as_they_were_written() {
        let port = PortNumber::new(7).unwrap();
        for action in [Action::Drop, Action::Output(Output::Normal), Action::Output(Output::Port(port))] {
            assert_eq!(Action::decode(&action.encode()), Ok(Some(action)));
        }
    }

    #[test]
    fn other_instructions_are_not_taken_for_these() {
        let normal = Action::Output(Output::Normal).encode();
        // Two instructions, another instruction, another action, another special port.
        assert_eq!(Action::decode(&normal.repeat(2)), Ok(None));
        for (place, byte) in [(1, 3), (9, 25), (15, 0xfb)] {
            let mut other = normal.clone();
            other[place] = byte;
            assert_eq!(Action::decode(&other), Ok(None), "{place}");
        }
        for length in 1..normal.len() {
            assert!(Action::decode(&normal[..length]).is_err(), "{length}");
        }
    }
}
