//! Matches as a switch has them: OXM, a sequence of fields (openflow-1.2.h, nicira-ext.h of Open
//! vSwitch).

use super::masked::{Bits, Masked};
use super::register::{NICIRA_1, Register};
use crate::wire::{Malformed, Reader};

/// The class of fields that the standard names.
const BASIC: u16 = 0x8000;
/// The most bytes of a match: less than a message has room for, and more than all fields need.
const LENGTH_MAX: usize = 16 << 10;

/// A field of a frame. One that needs others is written after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    InPort = 0,
    EthDst = 3,
    EthSrc = 4,
    EthType = 5,
    VlanVid = 6,
    IpProto = 10,
    Ipv4Src = 11,
    Ipv4Dst = 12,
    TcpSrc = 13,
    TcpDst = 14,
    UdpSrc = 15,
    UdpDst = 16,
    ArpOp = 21,
    ArpSpa = 22,
    ArpTpa = 23,
    ArpSha = 24,
    ArpTha = 25,
    Ipv6Src = 26,
    Ipv6Dst = 27,
    Icmpv6Type = 29,
    NdTarget = 31,
    NdSll = 32,
    NdTll = 33,
}

/// A field of Nicira. Registers are 0 to 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum NiciraField {
    IpFragment = 26,
    PacketMark = 33,
    ConjunctionId = 37,
    CtState = 105,
    CtNwProto = 119,
    CtNwSrc = 120,
    CtNwDst = 121,
    CtIpv6Src = 122,
    CtIpv6Dst = 123,
    CtTpDst = 125,
}

/// An encoded match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Oxm(Vec<u8>);

impl Oxm {
    /// The fields, one after the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Checks that these are whole fields. Values of fields are left to the switch.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > LENGTH_MAX {
            return Err(Malformed::Length("a match"));
        }
        let mut reader = Reader::new(bytes, "a match");
        while !reader.is_empty() {
            let (_class, _field, length) = (reader.u16()?, reader.u8()?, reader.u8()?);
            reader.skip(length.into())?;
        }
        Ok(Self(bytes.to_vec()))
    }

    pub(super) fn push(&mut self, field: Field, value: &[u8]) {
        self.push_field((BASIC, field as u8), value, None);
    }

    pub(super) fn push_masked<T: Bits>(&mut self, field: Field, value: Option<Masked<T>>) {
        if let Some((value, mask)) = value.map(Masked::encode) {
            self.push_field((BASIC, field as u8), &value, mask.as_deref());
        }
    }

    pub(super) fn push_nicira<T: Bits>(&mut self, field: NiciraField, value: Option<Masked<T>>) {
        if let Some((value, mask)) = value.map(Masked::encode) {
            self.push_field((NICIRA_1, field as u8), &value, mask.as_deref());
        }
    }

    pub(super) fn push_register(&mut self, register: Register, value: Masked<u32>) {
        let (value, mask) = value.encode();
        self.push_field((NICIRA_1, register as u8), &value, mask.as_deref());
    }

    /// A mask without any bit says nothing, and is left out.
    fn push_field(&mut self, (class, field): (u16, u8), value: &[u8], mask: Option<&[u8]>) {
        if mask.is_some_and(|mask| mask.iter().all(|byte| *byte == 0)) {
            return;
        }
        let mask = mask.unwrap_or_default();
        let length = u8::try_from(value.len() + mask.len()).unwrap_or(u8::MAX);
        self.0.extend(class.to_be_bytes());
        self.0.extend([field << 1 | u8::from(!mask.is_empty()), length]);
        self.0.extend(value);
        self.0.extend(mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    #[test]
    fn fields_have_class_number_mask_and_length() {
        let mut oxm = Oxm::default();
        oxm.push(Field::EthType, &[0x86, 0xdd]);
        oxm.push_nicira(NiciraField::IpFragment, Some(Masked::new(1_u8, 3)));
        oxm.push_register(Register::R3, 7.into());
        oxm.push_masked(Field::UdpDst, Some(Masked::<u16>::new(0x1234, 0xff00)));
        oxm.push_masked::<Ipv6Addr>(Field::Ipv6Dst, None);
        oxm.push_masked(Field::Ipv6Src, Some(Masked::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED)));
        let register = [0, 1, 6, 4, 0, 0, 0, 7];
        let ports = [0x80, 0, 33, 4, 0x12, 0, 0xff, 0];
        let expected = [[0x80, 0, 10, 2, 0x86, 0xdd].as_slice(), &[0, 1, 53, 2, 1, 3], &register, &ports];
        assert_eq!(oxm.bytes(), expected.concat());
        assert_eq!(Oxm::decode(oxm.bytes()), Ok(oxm));
    }

    #[test]
    fn a_field_that_is_cut_off_is_an_error() {
        for bytes in [&[0x80][..], &[0x80, 0, 10, 2], &[0x80, 0, 10, 2, 0], &[0; LENGTH_MAX + 4]] {
            assert_eq!(Oxm::decode(bytes), Err(Malformed::Length("a match")), "{}", bytes.len());
        }
    }
}
