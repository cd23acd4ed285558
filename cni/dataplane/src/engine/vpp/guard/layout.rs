//! Where the fields of frames are, from the first byte of the frame on.

/// Bytes of a frame, and which of their bits are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    at: usize,
    mask: &'static [u8],
}

/// The most that a table compares, in bytes.
pub(super) const REACH: usize = 80;

const WHOLE: &[u8] = &[0xff; 16];

impl Field {
    /// All bits of this many bytes, at most 16.
    const fn whole(at: usize, length: usize) -> Self {
        let (mask, _) = WHOLE.split_at(length);
        Self { at, mask }
    }
}

pub(super) const SOURCE_MAC: Field = Field::whole(6, 6);
pub(super) const ETHERTYPE: Field = Field::whole(12, 2);

/// The version and the length of the header.
pub(super) const IPV4_HEADER: Field = Field::whole(14, 1);
pub(super) const IPV4_FRAGMENT_OFFSET: Field = Field { at: 20, mask: &[0x1f, 0xff] };
pub(super) const IPV4_PROTOCOL: Field = Field::whole(23, 1);
pub(super) const IPV4_SOURCE: Field = Field::whole(26, 4);
pub(super) const IPV4_DESTINATION: Field = Field::whole(30, 4);
/// The ports of UDP behind a header without options.
pub(super) const IPV4_PORTS: Field = Field::whole(34, 4);

/// The types of addresses and their lengths.
pub(super) const ARP_HEADER: Field = Field::whole(14, 6);
pub(super) const ARP_OPERATION: Field = Field::whole(20, 2);
pub(super) const ARP_SENDER_MAC: Field = Field::whole(22, 6);
pub(super) const ARP_SENDER_IP: Field = Field::whole(28, 4);
pub(super) const ARP_TARGET_IP: Field = Field::whole(38, 4);

pub(super) const IPV6_VERSION: Field = Field { at: 14, mask: &[0xf0] };
pub(super) const IPV6_NEXT: Field = Field::whole(20, 1);
pub(super) const IPV6_SOURCE: Field = Field::whole(22, 16);
/// The type of ICMPv6, or of the header behind an extension header.
pub(super) const IPV6_FIRST: Field = Field::whole(54, 1);
pub(super) const IPV6_PORTS: Field = Field::whole(54, 4);
pub(super) const IPV6_EXTENSION_LENGTH: Field = Field::whole(55, 1);
pub(super) const IPV6_FRAGMENT_OFFSET: Field = Field { at: 56, mask: &[0xff, 0xf8] };
pub(super) const ICMPV6_TARGET: Field = Field::whole(62, 16);
/// The type of ICMPv6 behind an extension header of 8 bytes.
pub(super) const IPV6_SECOND: Field = Field::whole(62, 1);
/// The ports of UDP behind an extension header of 8 bytes.
pub(super) const IPV6_SECOND_PORTS: Field = Field::whole(62, 4);

const VECTOR: usize = usnet_vpp::messages::VECTOR_BYTES;

/// The mask of fields, in whole vectors.
pub(super) fn mask(fields: &[Field]) -> Vec<u8> {
    matched(fields, &fields.iter().map(|field| field.mask).collect::<Vec<_>>())
}

/// The bytes that a mask compares, with a value for each field.
pub(super) fn matched(fields: &[Field], values: &[&[u8]]) -> Vec<u8> {
    let end = fields.iter().map(|field| field.at + field.mask.len()).max().unwrap_or_default();
    let mut bytes = vec![0; end.next_multiple_of(VECTOR)];
    for (field, value) in fields.iter().zip(values) {
        bytes.iter_mut().skip(field.at).zip(*value).for_each(|(byte, value)| *byte = *value);
    }
    bytes
}
