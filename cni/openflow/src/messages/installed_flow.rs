//! Flows that a bridge has.

use super::{ALL_TABLES, ANY, oxm_match};
use crate::flow::{Cookie, CookieFilter, Instructions, Match, Oxm};
use crate::wire::{Malformed, Reader};

/// Which flows are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlowFilter {
    pub cookies: CookieFilter,
    /// Only flows whose frames all have this match.
    pub matches: Match,
}

impl FlowFilter {
    /// The content of the request, of all tables.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let CookieFilter { value, mask } = self.cookies;
        let cookies = [value, mask].map(u64::to_be_bytes).concat();
        let outputs = [ANY, ANY].map(u32::to_be_bytes).concat();
        [&[ALL_TABLES, 0, 0, 0], &outputs[..], &[0; 4], &cookies, &oxm_match::encode(&self.matches.encode())].concat()
    }
}

/// A flow as a bridge describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledFlow {
    pub table: u8,
    pub priority: u16,
    pub cookie: Cookie,
    /// The match, with which the flow can be deleted. The switch has another order of fields, and
    /// may leave some out.
    pub matches: Oxm,
    pub instructions: Instructions,
    /// The number of frames that matched. The switch collects it about twice a second.
    pub packets: u64,
    pub bytes: u64,
}

impl InstalledFlow {
    /// Reads all flows of a part of a reply.
    pub fn decode_all(mut reader: Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut flows = Vec::new();
        while !reader.is_empty() {
            let length = reader.u16()?;
            flows.push(Self::decode(reader.structure(length, 2, "a flow")?)?);
        }
        Ok(flows)
    }

    fn decode(mut reader: Reader<'_>) -> Result<Self, Malformed> {
        let table = reader.u8()?;
        let (_padding, _duration) = (reader.u8()?, reader.u64()?);
        let priority = reader.u16()?;
        let (_timeouts, _flags, _importance, _padding) = (reader.u32()?, reader.u16()?, reader.u16()?, reader.u16()?);
        let cookie = Cookie(reader.u64()?);
        let (packets, bytes) = (reader.u64()?, reader.u64()?);
        let matches = oxm_match::decode(&mut reader)?;
        let instructions = Instructions::of(reader.rest());
        Ok(Self { table, priority, cookie, matches, instructions, packets, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Action, Output};

    /// The length of a description without match and instructions.
    const FIXED: usize = 48;

    #[test]
    fn a_flow_that_is_cut_off_is_an_error() {
        let oxm = [0, 1, 0, 10, 0x80, 0, 10, 2, 8, 6, 0, 0, 0, 0, 0, 0];
        let instructions = Action::Output(Output::Normal).encode();
        let length = u16::try_from(FIXED + oxm.len() + instructions.bytes().len()).unwrap();
        let head = [&length.to_be_bytes()[..], &[3, 0], &[0; 8], &[1, 2], &[0; 10]].concat();
        let numbers = [9_u64, 7, 420].map(u64::to_be_bytes).concat();
        let flow = [&head[..], &numbers, &oxm, instructions.bytes()].concat();
        let read = |bytes: &[u8]| InstalledFlow::decode_all(Reader::new(bytes, "a reply"));
        let expected = InstalledFlow {
            table: 3,
            priority: 258,
            cookie: Cookie(9),
            matches: Oxm::decode(&oxm[4..10]).unwrap(),
            instructions,
            packets: 7,
            bytes: 420,
        };
        assert_eq!(read(&flow.repeat(2)), Ok(vec![expected.clone(), expected]));
        for length in 1..flow.len() {
            assert!(read(&flow[..length]).is_err(), "{length}");
            let mut shorter = flow[..length].to_vec();
            shorter.iter_mut().take(2).zip(u16::try_from(length).unwrap().to_be_bytes()).for_each(|(to, by)| *to = by);
            // What instructions are is left to the switch.
            assert_eq!(read(&shorter).is_ok(), length >= FIXED + oxm.len(), "{length}");
        }
    }
}
