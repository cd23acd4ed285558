//! Features and queues of a device, by the kernel's generic netlink family `ethtool`
//! (Documentation/networking/ethtool-netlink.rst; Linux 5.8 or later). They have the kernel's
//! names: `rx-gro` is what `ethtool -k` calls `generic-receive-offload`.

use super::{Netlink, NetlinkError};
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLA_TYPE_MASK, Nla, NlasIterator, ParseableParametrized,
};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlHeader, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use std::collections::BTreeSet;

const FAMILY: &str = "ethtool";
/// `ETHTOOL_MSG_FEATURES_GET`
const FEATURES_GET: u8 = 11;
/// `ETHTOOL_MSG_FEATURES_SET`
const FEATURES_SET: u8 = 12;
/// `ETHTOOL_MSG_CHANNELS_GET`
const CHANNELS_GET: u8 = 17;
/// `ETHTOOL_A_CHANNELS_RX_COUNT`, and `…_COMBINED_COUNT` of queues that also send.
const RECEIVE_COUNTS: [u16; 2] = [6, 9];
/// `ETHTOOL_GENL_VERSION`
const VERSION: u8 = 1;
/// `ETHTOOL_A_FEATURES_HEADER`
const HEADER: u16 = 1;
/// `ETHTOOL_A_FEATURES_HW`: what can be changed.
const CHANGEABLE: u16 = 2;
/// `ETHTOOL_A_FEATURES_WANTED`
const WANTED: u16 = 3;
/// `ETHTOOL_A_FEATURES_ACTIVE`
const ACTIVE: u16 = 4;
/// `ETHTOOL_A_HEADER_DEV_INDEX`
const DEVICE_INDEX: u16 = 1;
/// `ETHTOOL_A_HEADER_FLAGS`
const FLAGS: u16 = 3;
/// `ETHTOOL_FLAG_OMIT_REPLY`: the acknowledgement is sufficient.
const OMIT_REPLY: u32 = 1 << 1;
/// `ETHTOOL_A_BITSET_NOMASK`
const NO_MASK: u16 = 1;
/// `ETHTOOL_A_BITSET_BITS`
const BITS: u16 = 3;
/// `ETHTOOL_A_BITSET_BITS_BIT`
const BIT: u16 = 1;
/// `ETHTOOL_A_BITSET_BIT_NAME`
const BIT_NAME: u16 = 2;
/// `ETHTOOL_A_BITSET_BIT_VALUE`: the bit is set. One that is named without it is cleared.
const BIT_VALUE: u16 = 3;

/// The features of one device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    pub active: BTreeSet<String>,
    /// The features that the driver lets be changed.
    pub changeable: BTreeSet<String>,
}

/// Requests about features, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Ethtool {
    netlink: Netlink,
    /// The kernel assigns it at boot.
    family: Option<u16>,
}

impl Ethtool {
    /// Nothing is requested yet.
    ///
    /// # Errors
    /// The kernel has no socket left.
    pub fn open() -> Result<Self, NetlinkError> {
        Ok(Self { netlink: Netlink::open(NETLINK_GENERIC)?, family: None })
    }

    /// The features of the device with this index.
    ///
    /// # Errors
    /// There is no such device, or the kernel has no family `ethtool`.
    pub fn features(&mut self, device: u32) -> Result<Features, NetlinkError> {
        let answers = self.request(Message::new(FEATURES_GET, device, Vec::new()))?;
        let answer = answers.into_iter().next();
        answer.map_or_else(|| Ok(Features::default()), |answer| answer.features().map_err(NetlinkError::Undecodable))
    }

    /// On how many queues the device with this index receives.
    ///
    /// # Errors
    /// There is no such device, its driver has no such number, or the kernel has no family
    /// `ethtool`.
    pub fn receive_queues(&mut self, device: u32) -> Result<u32, NetlinkError> {
        let answers = self.request(Message::new(CHANNELS_GET, device, Vec::new()))?;
        Ok(answers.iter().map(Message::receive_queues).sum())
    }

    /// Switches features on or off. The driver may refuse without an error: read them again.
    ///
    /// # Errors
    /// There is no such device, or no such feature, or it may not be changed.
    pub fn set_features(&mut self, device: u32, changes: &[(&str, bool)]) -> Result<(), NetlinkError> {
        let bit = |(name, is_on): &(&str, bool)| {
            let name = DefaultNla::new(BIT_NAME, [name.as_bytes(), &[0]].concat());
            let value = is_on.then(|| DefaultNla::new(BIT_VALUE, Vec::new()));
            nested(BIT, &[name].into_iter().chain(value).collect::<Vec<_>>())
        };
        let bits: Vec<DefaultNla> = changes.iter().map(bit).collect();
        self.request(Message::new(FEATURES_SET, device, vec![nested(WANTED, &[nested(BITS, &bits)])])).map(drop)
    }

    fn request(&mut self, message: Message) -> Result<Vec<Message>, NetlinkError> {
        let mut request = GenlMessage::from_payload(message);
        request.set_resolved_family_id(self.family_id()?);
        let answers: Vec<GenlMessage<Message>> = self.netlink.request(request, 0)?;
        Ok(answers.into_iter().map(|answer| answer.payload).collect())
    }

    fn family_id(&mut self) -> Result<u16, NetlinkError> {
        if let Some(family) = self.family {
            return Ok(family);
        }
        let nlas = vec![GenlCtrlAttrs::FamilyName(FAMILY.to_owned())];
        let request = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas });
        let answers: Vec<GenlMessage<GenlCtrl>> = self.netlink.request(request, 0)?;
        let mut ids = answers.iter().flat_map(|answer| &answer.payload.nlas).filter_map(|attribute| match attribute {
            GenlCtrlAttrs::FamilyId(id) => Some(*id),
            _ => None,
        });
        let unknown = || NetlinkError::Undecodable(DecodeError::from("no id of the family ethtool"));
        let family = ids.next().ok_or_else(unknown)?;
        self.family = Some(family);
        Ok(family)
    }
}

/// A request or an answer about the features of a device.
#[derive(Debug)]
struct Message {
    command: u8,
    attributes: Vec<DefaultNla>,
}

impl Message {
    fn new(command: u8, device: u32, attributes: Vec<DefaultNla>) -> Self {
        let device = DefaultNla::new(DEVICE_INDEX, device.to_ne_bytes().to_vec());
        let flags = (command == FEATURES_SET).then(|| DefaultNla::new(FLAGS, OMIT_REPLY.to_ne_bytes().to_vec()));
        let header = nested(HEADER, &[device].into_iter().chain(flags).collect::<Vec<_>>());
        Self { command, attributes: [header].into_iter().chain(attributes).collect() }
    }

    fn receive_queues(&self) -> u32 {
        let counts = self.attributes.iter().filter(|it| RECEIVE_COUNTS.contains(&(it.kind() & NLA_TYPE_MASK)));
        let count = |attribute: &DefaultNla| {
            let mut value = [0; 4];
            if attribute.value_len() == value.len() {
                attribute.emit_value(&mut value);
            }
            u32::from_ne_bytes(value)
        };
        counts.map(count).sum()
    }

    fn features(&self) -> Result<Features, DecodeError> {
        let mut features = Features::default();
        for attribute in &self.attributes {
            let mut value = vec![0; attribute.value_len()];
            attribute.emit_value(&mut value);
            match attribute.kind() & NLA_TYPE_MASK {
                ACTIVE => features.active = set_bits(&value)?,
                CHANGEABLE => features.changeable = set_bits(&value)?,
                _ => {}
            }
        }
        Ok(features)
    }
}

/// The names of the bits that are set. A set with a mask lists the others of the mask as well.
fn set_bits(bitset: &[u8]) -> Result<BTreeSet<String>, DecodeError> {
    let attributes = NlasIterator::new(bitset).collect::<Result<Vec<_>, _>>()?;
    let is_without_mask = attributes.iter().any(|attribute| attribute.kind() == NO_MASK);
    let mut names = BTreeSet::new();
    for bits in attributes.iter().filter(|attribute| attribute.kind() == BITS) {
        for bit in NlasIterator::new(bits.value()) {
            let bit = bit?;
            let bit = NlasIterator::new(bit.value()).collect::<Result<Vec<_>, _>>()?;
            let is_set = is_without_mask || bit.iter().any(|attribute| attribute.kind() == BIT_VALUE);
            for name in bit.iter().filter(|attribute| is_set && attribute.kind() == BIT_NAME) {
                let name = name.value().split(|byte| *byte == 0).next().unwrap_or_default();
                names.insert(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    Ok(names)
}

fn nested(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    let mut value = vec![0; attributes.buffer_len()];
    attributes.emit(&mut value);
    DefaultNla::new(kind | NLA_F_NESTED, value)
}

impl GenlFamily for Message {
    fn family_name() -> &'static str {
        FAMILY
    }

    fn command(&self) -> u8 {
        self.command
    }

    fn version(&self) -> u8 {
        VERSION
    }
}

impl Emitable for Message {
    fn buffer_len(&self) -> usize {
        self.attributes.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes.as_slice().emit(buffer);
    }
}

impl ParseableParametrized<[u8], GenlHeader> for Message {
    fn parse_with_param(bytes: &[u8], header: GenlHeader) -> Result<Self, DecodeError> {
        let attributes = NlasIterator::new(bytes).map(|found| {
            let found = found?;
            Ok(DefaultNla::new(found.kind(), found.value().to_vec()))
        });
        Ok(Self { command: header.cmd, attributes: attributes.collect::<Result<_, DecodeError>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(length: u16, kind: u16) -> Vec<u8> {
        [length.to_ne_bytes(), kind.to_ne_bytes()].concat()
    }

    /// As `ethtool -K` encodes it, decoded by hand from the kernel's documentation.
    #[test]
    fn a_request_is_encoded_as_the_kernel_documents_it() {
        let name = DefaultNla::new(BIT_NAME, b"abc\0".to_vec());
        let bits = nested(BITS, &[nested(BIT, &[name])]);
        let request = Message::new(FEATURES_SET, 7, vec![nested(WANTED, &[bits])]);
        let mut bytes = vec![0; request.buffer_len()];
        request.emit(&mut bytes);
        let expected = [
            attribute(20, 0x8001),
            attribute(8, 1),
            7_u32.to_ne_bytes().to_vec(),
            attribute(8, 3),
            2_u32.to_ne_bytes().to_vec(),
            attribute(20, 0x8003),
            attribute(16, 0x8003),
            attribute(12, 0x8001),
            attribute(8, 2),
            b"abc\0".to_vec(),
        ];
        assert_eq!(bytes, expected.concat());
    }

    #[test]
    fn queues_that_receive_are_counted_whether_they_also_send() {
        let count = |kind: u16, count: u32| DefaultNla::new(kind, count.to_ne_bytes().to_vec());
        let attributes = vec![count(2, 8), count(6, 1), count(7, 1), count(9, 3), DefaultNla::new(6, vec![1])];
        assert_eq!(Message { command: CHANNELS_GET, attributes }.receive_queues(), 4);
    }

    #[test]
    fn the_set_bits_of_an_answer_are_its_features() {
        let bit = |name: &str| nested(BIT, &[DefaultNla::new(BIT_NAME, [name.as_bytes(), &[0]].concat())]);
        let set = |kind: u16, names: &[&str]| {
            let bits: Vec<_> = names.iter().map(|name| bit(name)).collect();
            nested(kind, &[DefaultNla::new(NO_MASK, Vec::new()), nested(BITS, &bits)])
        };
        let attributes = vec![set(ACTIVE, &["rx-gro", "rx-lro"]), set(CHANGEABLE, &["rx-gro"]), set(WANTED, &["x"])];
        let answer = Message { command: FEATURES_GET, attributes };
        let features = answer.features().unwrap();
        assert_eq!(features.active, ["rx-gro", "rx-lro"].map(str::to_owned).into());
        assert_eq!(features.changeable, ["rx-gro".to_owned()].into());
        let cut = Message { command: FEATURES_GET, attributes: vec![DefaultNla::new(ACTIVE, vec![9, 0, 3, 0])] };
        assert!(cut.features().is_err());
    }
}
