//! The field types that are not VPP's own.

use super::field::{DecodeError, Field, Reader, Writer};

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Field for $integer {
            const MIN_SIZE: usize = size_of::<Self>();

            fn encode(&self, writer: &mut Writer) {
                writer.put(&self.to_be_bytes());
            }

            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self::from_be_bytes(reader.array()?))
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i16, i32);

impl Field for bool {
    const MIN_SIZE: usize = 1;

    fn encode(&self, writer: &mut Writer) {
        writer.put(&[u8::from(*self)]);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(u8::decode(reader)? != 0)
    }
}

/// An array of a fixed length. `[u8; 6]` is a MAC address.
impl<F: Field + Copy + Default, const N: usize> Field for [F; N] {
    const MIN_SIZE: usize = N * F::MIN_SIZE;

    fn encode(&self, writer: &mut Writer) {
        for element in self {
            element.encode(writer);
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut array = [F::default(); N];
        for element in &mut array {
            *element = F::decode(reader)?;
        }
        Ok(array)
    }
}

/// An array preceded by its length as u32.
impl<F: Field> Field for Vec<F> {
    const MIN_SIZE: usize = u32::MIN_SIZE;

    fn encode(&self, writer: &mut Writer) {
        // This is not reached: no message is that long.
        writer.field(&u32::try_from(self.len()).unwrap_or(u32::MAX));
        self.iter().for_each(|element| element.encode(writer));
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = u32::decode(reader)?;
        decode_elements(reader, usize::try_from(count).unwrap_or(usize::MAX))
    }
}

/// Reads `count` elements. Memory is allocated only if the message is long enough for that many:
/// the count comes from the peer.
pub(crate) fn decode_elements<F: Field>(reader: &mut Reader<'_>, count: usize) -> Result<Vec<F>, DecodeError> {
    let needed = count.saturating_mul(F::MIN_SIZE.max(1));
    if reader.left() < needed {
        return Err(reader.too_short(needed));
    }
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        elements.push(F::decode(reader)?);
    }
    Ok(elements)
}
