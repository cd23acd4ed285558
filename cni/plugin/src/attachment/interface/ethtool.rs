//! Checksum offload of a device, by the kernel's generic netlink family `ethtool`
//! (Documentation/networking/ethtool-netlink.rst; Linux 5.8 or later).
//!
//! With checksum offload the kernel leaves checksums to the hardware of the device. A veth has none
//! and passes the packet on with an incomplete checksum, which a userspace switch does not
//! complete, so the receiver would drop it.

use netlink_packet_core::{DecodeError, DefaultNla, Emitable, NLA_F_NESTED};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use usnet_dataplane::netlink::{Netlink, NetlinkError};

/// The features that are disabled, by the kernel's names.
const CHECKSUMS: [&str; 2] = ["tx-checksum-ip-generic", "tx-checksum-sctp"];

const FAMILY: &str = "ethtool";
/// `ETHTOOL_MSG_FEATURES_SET`
const FEATURES_SET: u8 = 12;
/// `ETHTOOL_GENL_VERSION`
const VERSION: u8 = 1;
/// `ETHTOOL_A_FEATURES_HEADER`
const HEADER: u16 = 1;
/// `ETHTOOL_A_FEATURES_WANTED`
const WANTED: u16 = 3;
/// `ETHTOOL_A_HEADER_DEV_INDEX`
const DEVICE_INDEX: u16 = 1;
/// `ETHTOOL_A_HEADER_FLAGS`
const FLAGS: u16 = 3;
/// `ETHTOOL_FLAG_OMIT_REPLY`: the acknowledgement is sufficient.
const OMIT_REPLY: u32 = 1 << 1;
/// `ETHTOOL_A_BITSET_BITS`
const BITS: u16 = 3;
/// `ETHTOOL_A_BITSET_BITS_BIT`
const BIT: u16 = 1;
/// `ETHTOOL_A_BITSET_BIT_NAME`. A bit that is named and has no `ETHTOOL_A_BITSET_BIT_VALUE` is
/// cleared.
const BIT_NAME: u16 = 2;

/// Makes the kernel compute the checksums of all packets that are sent over the device.
pub(super) fn disable_checksum_offload(device: u32) -> Result<(), NetlinkError> {
    let mut netlink = Netlink::open(NETLINK_GENERIC)?;
    let family = family_id(&mut netlink)?;
    let mut request = GenlMessage::from_payload(DisableFeatures { device, features: &CHECKSUMS });
    request.set_resolved_family_id(family);
    let _acknowledged: Vec<GenlMessage<GenlCtrl>> = netlink.request(request, 0)?;
    Ok(())
}

/// The id of the family, which the kernel assigns at boot.
fn family_id(netlink: &mut Netlink) -> Result<u16, NetlinkError> {
    let nlas = vec![GenlCtrlAttrs::FamilyName(FAMILY.to_owned())];
    let request = GenlMessage::from_payload(GenlCtrl { cmd: GenlCtrlCmd::GetFamily, nlas });
    let answers: Vec<GenlMessage<GenlCtrl>> = netlink.request(request, 0)?;
    let attributes = answers.iter().flat_map(|answer| &answer.payload.nlas);
    let mut ids = attributes.filter_map(|attribute| match attribute {
        GenlCtrlAttrs::FamilyId(id) => Some(*id),
        _ => None,
    });
    ids.next().ok_or_else(|| NetlinkError::Undecodable(DecodeError::from("no id of the family ethtool")))
}

/// The request `ETHTOOL_MSG_FEATURES_SET` that clears features.
#[derive(Debug)]
struct DisableFeatures {
    /// The device's index in the thread's network namespace.
    device: u32,
    features: &'static [&'static str],
}

impl DisableFeatures {
    fn attributes(&self) -> [DefaultNla; 2] {
        let device = DefaultNla::new(DEVICE_INDEX, self.device.to_ne_bytes().to_vec());
        let flags = DefaultNla::new(FLAGS, OMIT_REPLY.to_ne_bytes().to_vec());
        let bit = |name: &&str| nested(BIT, &[DefaultNla::new(BIT_NAME, [name.as_bytes(), &[0]].concat())]);
        let bits: Vec<DefaultNla> = self.features.iter().map(bit).collect();
        [nested(HEADER, &[device, flags]), nested(WANTED, &[nested(BITS, &bits)])]
    }
}

fn nested(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    let mut value = vec![0; attributes.buffer_len()];
    attributes.emit(&mut value);
    DefaultNla::new(kind | NLA_F_NESTED, value)
}

impl GenlFamily for DisableFeatures {
    fn family_name() -> &'static str {
        FAMILY
    }

    fn command(&self) -> u8 {
        FEATURES_SET
    }

    fn version(&self) -> u8 {
        VERSION
    }
}

impl Emitable for DisableFeatures {
    fn buffer_len(&self) -> usize {
        self.attributes().as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.attributes().as_slice().emit(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ethtool -K` encodes it for one feature, decoded by hand from the kernel's documentation.
    #[test]
    fn a_request_is_encoded_as_the_kernel_documents_it() {
        let request = DisableFeatures { device: 7, features: &["abc"] };
        let mut bytes = vec![0; request.buffer_len()];
        request.emit(&mut bytes);
        let attribute = |length: u16, kind: u16| [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
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
}
