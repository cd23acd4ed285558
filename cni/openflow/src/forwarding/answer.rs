//! Parsing of OpenFlow 1.0 messages. No IO: malformed messages of a switch give `None`.

use super::message::{NICIRA, PORT_STATS, VENDOR_STATS, normal_action};
use super::port_config::PortConfig;

/// The length of a port's description.
const PORT_LENGTH: usize = 48;
/// The length of a flow's description without its match and its actions.
const FLOW_LENGTH: usize = 48;

/// Splits a statistics reply into its type, whether more parts follow, and its content.
pub fn stats(body: &[u8]) -> Option<(u16, bool, &[u8])> {
    let (kind, rest) = u16_of(body)?;
    let (flags, rest) = u16_of(rest)?;
    Some((kind, flags & 1 != 0, rest))
}

/// Returns the content of a reply with Nicira's statistics.
pub fn of_nicira(kind: u16, rest: &[u8]) -> Option<&[u8]> {
    let (vendor, rest) = rest.split_first_chunk::<4>()?;
    // The subtype and the padding are skipped: they follow from the request.
    let (_, rest) = rest.split_first_chunk::<8>()?;
    (kind == VENDOR_STATS && u32::from_be_bytes(*vendor) == NICIRA).then_some(rest)
}

/// Returns the number of flows in an aggregate.
pub fn count(rest: &[u8]) -> Option<u32> {
    let (_, rest) = rest.split_first_chunk::<16>()?;
    rest.first_chunk::<4>().map(|count| u32::from_be_bytes(*count))
}

/// Whether the reply contains exactly one flow, which is that of a learning switch: in the first
/// table, for all frames, without a timeout.
pub fn is_normal_flow(rest: &[u8]) -> Option<bool> {
    let (length, after) = u16_of(rest)?;
    let fixed = rest.get(..FLOW_LENGTH)?;
    let number = |at: usize| fixed.get(at..at + 2)?.first_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes));
    let (table, idle, hard, match_length) = (*after.first()?, number(14)?, number(16)?, number(18)?);
    let is_alone = usize::from(length) == rest.len();
    let actions = rest.get(FLOW_LENGTH..)?;
    Some(is_alone && table == 0 && idle == 0 && hard == 0 && match_length == 0 && actions == normal_action())
}

/// Returns the ports in one part of a reply.
pub fn ports(kind: u16, rest: &[u8]) -> Option<Vec<PortConfig>> {
    if kind != PORT_STATS || !rest.len().is_multiple_of(PORT_LENGTH) {
        return None;
    }
    rest.chunks_exact(PORT_LENGTH).map(port).collect()
}

fn port(bytes: &[u8]) -> Option<PortConfig> {
    let (number, rest) = u16_of(bytes)?;
    let (mac, rest) = rest.split_first_chunk::<6>()?;
    let (name, rest) = rest.split_first_chunk::<16>()?;
    let name = name.iter().copied().take_while(|byte| *byte != 0).collect::<Vec<_>>();
    let name = String::from_utf8_lossy(&name).into_owned();
    let config = u32::from_be_bytes(*rest.first_chunk::<4>()?);
    Some(PortConfig { name, number, mac: *mac, config })
}

fn u16_of(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<2>()?;
    Some((u16::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forwarding::Flooding;

    #[test]
    fn a_cut_off_answer_is_none() {
        let flow = [&[0, 56, 0, 0][..], &[0; 44], &normal_action()].concat();
        assert_eq!(is_normal_flow(&flow), Some(true));
        assert!((0..FLOW_LENGTH).all(|length| is_normal_flow(&flow[..length]).is_none()));
        assert_eq!(is_normal_flow(&flow[..FLOW_LENGTH]), Some(false), "it drops");
        let one = [&[0, 7][..], &[2, 0, 0, 0, 0, 1], &[b'p'; 16], &[0, 0, 0, 16], &[0; 20]].concat();
        let [port] = ports(PORT_STATS, &one).unwrap().try_into().unwrap();
        assert!(!port.is_open(Flooding::ToAll) && port.is_open(Flooding::AsItIs), "it is not flooded to: {port:?}");
        assert_eq!(ports(PORT_STATS, &one[..47]), None);
        assert_eq!(ports(VENDOR_STATS, &one), None);
        assert_eq!((count(&[0; 19]), stats(&[0; 3]), of_nicira(VENDOR_STATS, &[0; 11])), (None, None, None));
    }

    #[test]
    fn another_flow_is_not_that_of_a_switch_that_learns() {
        let flow = [&[0, 56, 0, 0][..], &[0; 44], &normal_action()].concat();
        // The table, one of the timeouts, the length of the match, and the action.
        for place in [2, 15, 17, 19, 53] {
            let mut other = flow.clone();
            other[place] ^= 1;
            assert_eq!(is_normal_flow(&other), Some(false), "{place}");
        }
        assert_eq!(is_normal_flow(&[flow.clone(), flow].concat()), Some(false));
    }
}
