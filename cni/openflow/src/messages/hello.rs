//! The first message of each side, by which both agree on a version.

use super::VERSION;
use crate::wire::{Malformed, Message, Reader};

/// The type of the element with a bitmap of versions.
const VERSION_BITMAP: u16 = 1;

/// Offers this version alone.
pub(crate) fn hello() -> Vec<u8> {
    let length = 8_u16;
    [&VERSION_BITMAP.to_be_bytes()[..], &length.to_be_bytes(), &(1_u32 << VERSION).to_be_bytes()].concat()
}

/// Whether the hello of a switch offers OpenFlow 1.4: its bitmap of versions says so or, without
/// one, its own version, which offers all before it.
pub fn offers_1_4(message: &Message) -> Result<bool, Malformed> {
    let mut reader = Reader::new(&message.body, "a hello");
    while !reader.is_empty() {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut element = reader.structure(length, 4, "an element of a hello")?;
        if kind == VERSION_BITMAP {
            return Ok(element.u32()? & 1 << VERSION != 0);
        }
        // Elements are filled up to a multiple of 8 bytes.
        let length = usize::from(length);
        reader.skip(length.next_multiple_of(8) - length)?;
    }
    Ok(message.version >= VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bitmap_counts_more_than_the_version() {
        let message = |version, body: &[u8]| Message { version, kind: 0, id: 1, body: body.to_vec() };
        let unknown = [0, 9, 0, 5, 1, 0, 0, 0];
        for (version, body, offers) in [
            (5, [].as_slice(), true),
            (6, &[], true),
            (4, &[], false),
            (6, &hello(), true),
            (6, &[&unknown[..], &hello()].concat(), true),
            (6, &[0, 1, 0, 8, 0, 0, 0, 0b101_0010], false),
        ] {
            assert_eq!(offers_1_4(&message(version, body)), Ok(offers), "{version} {body:?}");
        }
        for body in [&[0, 1, 0, 8][..], &[0, 1, 0, 4], &[0, 1, 0, 3], &unknown[..7]] {
            assert!(offers_1_4(&message(5, body)).is_err(), "{body:?}");
        }
    }
}
