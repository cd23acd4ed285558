//! The messages of memif, version 2: 128 bytes each, numbers in little endian, packed.

use crate::Error;

pub(super) const MESSAGE_SIZE: usize = 128;
const VERSION: u16 = 2 << 8;
const NAME: usize = 32;
const SECRET: usize = 24;

/// The direction of frames in a ring. The client is the "slave" of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    FromClient,
    ToClient,
}

/// The messages of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request<'a> {
    Init { id: u32, ip: bool, secret: &'a [u8], name: &'a str },
    AddRegion { size: u64 },
    AddRing { direction: Direction, offset: u32, log2_size: u8 },
    Connect { name: &'a str },
}

impl Request<'_> {
    pub(super) fn encode(&self) -> [u8; MESSAGE_SIZE] {
        let mut bytes = Vec::with_capacity(MESSAGE_SIZE);
        match *self {
            Self::Init { id, ip, secret, name } => {
                put(&mut bytes, &[&3_u16.to_le_bytes(), &VERSION.to_le_bytes(), &id.to_le_bytes(), &[u8::from(ip)]]);
                put(&mut bytes, &[&padded::<SECRET>(secret), &padded::<NAME>(name.as_bytes())]);
            }
            Self::AddRegion { size } => {
                put(&mut bytes, &[&4_u16.to_le_bytes(), &0_u16.to_le_bytes(), &size.to_le_bytes()]);
            }
            Self::AddRing { direction, offset, log2_size } => {
                let flags = u16::from(direction == Direction::FromClient);
                let (number, region, private) = (0_u16, 0_u16, 0_u16);
                put(&mut bytes, &[&5_u16.to_le_bytes(), &flags.to_le_bytes(), &number.to_le_bytes()]);
                put(&mut bytes, &[&region.to_le_bytes(), &offset.to_le_bytes(), &[log2_size], &private.to_le_bytes()]);
            }
            Self::Connect { name } => {
                put(&mut bytes, &[&6_u16.to_le_bytes(), &padded::<NAME>(name.as_bytes())]);
            }
        }
        padded(&bytes)
    }
}

/// The messages of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Acknowledged,
    Hello { versions: (u16, u16), max_log2_size: u8 },
    Connected,
    Disconnect { reason: String },
}

impl Answer {
    pub(super) fn decode(message: &[u8]) -> Result<Self, Error> {
        let bytes = <&[u8; MESSAGE_SIZE]>::try_from(message)
            .map_err(|_| Error::Peer(format!("a message of {} bytes instead of {MESSAGE_SIZE}", message.len())))?;
        let [kind_low, kind_high, body @ ..] = bytes;
        match u16::from_le_bytes([*kind_low, *kind_high]) {
            1 => Ok(Self::Acknowledged),
            2 => Ok(Self::Hello {
                versions: (u16_at(body, NAME), u16_at(body, NAME + 2)),
                max_log2_size: byte_at(body, NAME + 10),
            }),
            7 => Ok(Self::Connected),
            8 => Ok(Self::Disconnect { reason: text(body.get(4..4 + 96).unwrap_or_default()) }),
            other => Err(Error::Peer(format!("message {other}, which is not for a client"))),
        }
    }

    pub(super) fn speaks_this_version(versions: (u16, u16)) -> bool {
        (versions.0..=versions.1).contains(&VERSION)
    }
}

fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

/// Cuts `bytes` off at `N`, or fills them up with zeros.
fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut all = [0; N];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    all
}

fn byte_at(bytes: &[u8], offset: usize) -> u8 {
    bytes.get(offset).copied().unwrap_or_default()
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([byte_at(bytes, offset), byte_at(bytes, offset + 1)])
}

/// Reads a text that ends at the first zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_layout_of_vpp() {
        let init = Request::Init { id: 7, ip: true, secret: b"abc", name: "usnet" }.encode();
        assert_eq!(init[..13], [3, 0, 0, 2, 7, 0, 0, 0, 1, b'a', b'b', b'c', 0]);
        assert_eq!(init[33..39], *b"usnet\0");
        let region = Request::AddRegion { size: 0x0102 }.encode();
        assert_eq!(region[..12], [4, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        let ring = Request::AddRing { direction: Direction::FromClient, offset: 0x100, log2_size: 10 }.encode();
        assert_eq!(ring[..15], [5, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 10, 0, 0]);
        assert_eq!(Request::Connect { name: "x" }.encode()[..4], [6, 0, b'x', 0]);
    }

    #[test]
    fn answers_are_read() {
        let mut hello = [0; MESSAGE_SIZE];
        hello[0] = 2;
        hello[34..38].copy_from_slice(&[0, 2, 0, 2]);
        hello[44] = 14;
        let Answer::Hello { versions, max_log2_size } = Answer::decode(&hello).unwrap() else { unreachable!() };
        assert!(Answer::speaks_this_version(versions) && max_log2_size == 14);
        let mut refused = [0; MESSAGE_SIZE];
        refused[0] = 8;
        refused[6..14].copy_from_slice(b"wrong id");
        assert_eq!(Answer::decode(&refused).unwrap(), Answer::Disconnect { reason: "wrong id".to_owned() });
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        assert!(Answer::decode(&[]).is_err());
        assert!(Answer::decode(&[1; 127]).is_err());
        for kind in 0..=u16::MAX {
            let mut message = [0xff; MESSAGE_SIZE];
            message[..2].copy_from_slice(&kind.to_le_bytes());
            assert_eq!(Answer::decode(&message).is_ok(), [1, 2, 7, 8].contains(&kind));
        }
    }
}
