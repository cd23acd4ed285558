//! What rules consist of. A rule's expressions are evaluated in order: [`payload`] and [`meta`]
//! load a value, [`masked`] changes it, [`equals`], [`differs`], [`in_set`] and [`not_in_set`] end
//! the rule unless it matches, the others do something.

use netlink_packet_core::{DefaultNla, Nla};
use netlink_packet_netfilter::nftables::{
    Bitwise, Cmp, DataAttribute, Expressions, Immediate, Lookup, Operator, Payload, Register, VerdictAttribute,
};
use netlink_packet_netfilter::nftables::{Meta, Verdict as Code};

pub use netlink_packet_netfilter::nftables::MetaKey;

/// One expression, as the kernel has it.
pub type Expression = Expressions;

/// Where an offset counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Base {
    Link = 0,
    /// The header of IPv4 or IPv6.
    Network = 1,
    /// The header of UDP or TCP.
    Transport = 2,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Verdict {
    /// No further rule is asked, and the packet is gone.
    Drop = 0,
    /// No further rule of this chain is asked.
    Accept = 1,
}

/// A property of the connection that a packet belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum CtKey {
    /// Bits of `enum nft_ct_state`.
    State = 0,
    /// Bits of `enum ip_conntrack_status`.
    Status = 2,
}

/// The register of the value that was loaded last. It holds 16 bytes.
const LOADED: Register = Register::Reg1;
/// `NFT_LOOKUP_F_INV`
const INVERTED: u32 = 1;
/// `NFTA_FWD_SREG_DEV`
const FWD_DEVICE: u16 = 1;
/// `NFTA_CT_DREG`
const CT_DESTINATION: u16 = 1;
/// `NFTA_CT_KEY`
const CT_KEY: u16 = 2;
/// `NFTA_FIB_DREG`, `NFTA_FIB_RESULT` and `NFTA_FIB_FLAGS`
const FIB_DESTINATION: u16 = 1;
const FIB_RESULT: u16 = 2;
const FIB_FLAGS: u16 = 3;
/// `NFT_FIB_RESULT_OIF`
const FIB_DEVICE: u32 = 1;
/// `NFTA_FIB_F_SADDR`, `NFTA_FIB_F_IIF` and `NFTA_FIB_F_PRESENT`
const FIB_OF_SOURCE: u32 = 1 | 1 << 3 | 1 << 5;
/// `NFTA_COUNTER_PACKETS`
const COUNTER_PACKETS: u16 = 2;

/// Loads bytes of the packet.
pub fn payload(base: Base, offset: u32, length: u32) -> Expression {
    Expressions::Payload(vec![
        Payload::DestinationRegister(LOADED),
        Payload::Base(base as u32),
        Payload::Offset(offset),
        Payload::Len(length),
    ])
}

/// Loads a property of the packet.
pub fn meta(key: MetaKey) -> Expression {
    Expressions::Meta(vec![Meta::DestinationRegister(LOADED), Meta::Key(key)])
}

/// Loads a property of the connection.
pub fn ct(key: CtKey) -> Expression {
    let attribute = |kind, value: u32| DefaultNla::new(kind, value.to_be_bytes().to_vec());
    let attributes = vec![attribute(CT_DESTINATION, u32::from(LOADED)), attribute(CT_KEY, key as u32)];
    Expressions::Other { expression_type: "ct".to_owned(), attributes }
}

/// Loads 1 if the route to the source of a packet leads over the device by which it came, and
/// otherwise 0: one byte.
pub fn source_route() -> Expression {
    let attribute = |kind, value: u32| DefaultNla::new(kind, value.to_be_bytes().to_vec());
    let attributes = vec![
        attribute(FIB_DESTINATION, u32::from(LOADED)),
        attribute(FIB_RESULT, FIB_DEVICE),
        attribute(FIB_FLAGS, FIB_OF_SOURCE),
    ];
    Expressions::Other { expression_type: "fib".to_owned(), attributes }
}

/// Gives a connection an address of the device that it leaves by as its source.
pub fn masquerade() -> Expression {
    Expressions::Other { expression_type: "masq".to_owned(), attributes: Vec::new() }
}

/// Keeps these bits of the loaded value.
pub fn masked(mask: &[u8]) -> Expression {
    let data = |bytes: &[u8]| DataAttribute::Value(bytes.to_vec());
    Expressions::Bitwise(vec![
        Bitwise::SourceRegister(LOADED),
        Bitwise::DestinationRegister(LOADED),
        Bitwise::Length(u32::try_from(mask.len()).unwrap_or(u32::MAX)),
        Bitwise::Mask(data(mask)),
        Bitwise::Xor(data(&vec![0; mask.len()])),
    ])
}

/// Whether rules match the same packets. The kernel reports attributes that were left to it.
pub fn are_same(found: &[Expression], wanted: &[Expression]) -> bool {
    let is_same = |(found, wanted): (&Expression, &Expression)| match (found, wanted) {
        (Expressions::Payload(found), Expressions::Payload(wanted)) => contains(found, wanted),
        (Expressions::Cmp(found), Expressions::Cmp(wanted)) => contains(found, wanted),
        (Expressions::Meta(found), Expressions::Meta(wanted)) => contains(found, wanted),
        (Expressions::Lookup(found), Expressions::Lookup(wanted)) => contains(found, wanted),
        (Expressions::Bitwise(found), Expressions::Bitwise(wanted)) => contains(found, wanted),
        (Expressions::Immediate(found), Expressions::Immediate(wanted)) => contains(found, wanted),
        // A wanted counter has no values.
        (
            Expressions::Other { expression_type: found, attributes: values },
            Expressions::Other { expression_type: wanted, attributes: wanted_values },
        ) => found == wanted && contains(values, wanted_values),
        _ => false,
    };
    found.len() == wanted.len() && found.iter().zip(wanted).all(is_same)
}

fn contains<T: PartialEq>(found: &[T], wanted: &[T]) -> bool {
    wanted.iter().all(|attribute| found.contains(attribute))
}

/// The value that a comparison compares with.
pub fn compared(expression: &Expression) -> Option<&[u8]> {
    let Expressions::Cmp(attributes) = expression else { return None };
    attributes.iter().find_map(|attribute| match attribute {
        Cmp::Data(DataAttribute::Value(bytes)) => Some(bytes.as_slice()),
        _ => None,
    })
}

/// The value that an expression loads itself.
pub fn loaded(expression: &Expression) -> Option<&[u8]> {
    let Expressions::Immediate(attributes) = expression else { return None };
    attributes.iter().find_map(|attribute| match attribute {
        Immediate::Data(DataAttribute::Value(bytes)) => Some(bytes.as_slice()),
        _ => None,
    })
}

/// Goes on if the loaded value is this one.
pub fn equals(value: &[u8]) -> Expression {
    compare(Operator::Equal, value)
}

/// Goes on if the loaded value is another one.
pub fn differs(value: &[u8]) -> Expression {
    compare(Operator::NotEqual, value)
}

/// Goes on if the loaded value is an element of a set of the same table.
pub fn in_set(set: &str) -> Expression {
    Expressions::Lookup(vec![Lookup::Set(set.to_owned()), Lookup::SourceRegister(LOADED)])
}

/// Goes on if the loaded value is no element of a set of the same table.
pub fn not_in_set(set: &str) -> Expression {
    let set = Lookup::Set(set.to_owned());
    Expressions::Lookup(vec![set, Lookup::SourceRegister(LOADED), Lookup::Flags(INVERTED)])
}

/// Counts packets and bytes.
pub fn counter() -> Expression {
    Expressions::Other { expression_type: "counter".to_owned(), attributes: Vec::new() }
}

/// How many packets a counter has counted; none of another expression.
pub fn counted_packets(expression: &Expression) -> Option<u64> {
    let Expressions::Other { expression_type, attributes } = expression else { return None };
    let mut packets = attributes.iter().filter(|attribute| attribute.kind() == COUNTER_PACKETS);
    let packets = packets.next().filter(|_| expression_type == "counter")?;
    let mut bytes = vec![0; packets.value_len()];
    packets.emit_value(&mut bytes);
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

pub fn verdict(verdict: Verdict) -> Expression {
    let code = VerdictAttribute::Code(Code::Other(verdict as u32));
    let data = Immediate::Data(DataAttribute::Verdict(vec![code]));
    Expressions::Immediate(vec![Immediate::DestinationRegister(Register::Verdict), data])
}

/// Sends the frame over another device, by its index. Only in chains of devices. Two expressions.
pub fn forward_to(device: u32) -> [Expression; 2] {
    let index = Immediate::Data(DataAttribute::Value(device.to_ne_bytes().to_vec()));
    let register = DefaultNla::new(FWD_DEVICE, u32::from(LOADED).to_be_bytes().to_vec());
    [
        Expressions::Immediate(vec![Immediate::DestinationRegister(LOADED), index]),
        Expressions::Other { expression_type: "fwd".to_owned(), attributes: vec![register] },
    ]
}

fn compare(operator: Operator, value: &[u8]) -> Expression {
    let data = Cmp::Data(DataAttribute::Value(value.to_vec()));
    Expressions::Cmp(vec![Cmp::SourceRegister(LOADED), Cmp::Op(operator), data])
}
