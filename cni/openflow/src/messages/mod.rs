//! Requests and replies of OpenFlow 1.4 (openflow-1.3.h and openflow-1.4.h of Open vSwitch). No IO.

mod bundle;
mod change;
mod connections;
mod flow_mod;
mod group;
mod hello;
mod installed_flow;
mod multipart;
mod port_description;
mod switch_config;

pub(crate) use bundle::{Bundle, BundleStep};
pub use change::Change;
pub(crate) use change::unset_group;
pub(crate) use connections::flush_zone;
pub use flow_mod::FlowMod;
pub use group::{GroupMod, InstalledGroup};
pub(crate) use hello::hello;
pub use hello::offers_1_4;
pub use installed_flow::{FlowFilter, InstalledFlow};
pub use multipart::Part;
pub(crate) use multipart::{FLOWS, GROUPS, PORTS, request};
pub use port_description::PortDescription;
pub use switch_config::FragmentMode;

pub(crate) const VERSION: u8 = 5;

pub(crate) const EXPERIMENTER: u8 = 4;
pub(crate) const GET_CONFIG_REQUEST: u8 = 7;
pub(crate) const GET_CONFIG_REPLY: u8 = 8;
pub(crate) const SET_CONFIG: u8 = 9;
pub(crate) const FLOW_MOD: u8 = 14;
pub(crate) const GROUP_MOD: u8 = 15;
pub(crate) const MULTIPART_REQUEST: u8 = 18;
pub(crate) const MULTIPART_REPLY: u8 = 19;
pub(crate) const BARRIER_REQUEST: u8 = 20;
pub(crate) const BARRIER_REPLY: u8 = 21;
pub(crate) const BUNDLE_CONTROL: u8 = 33;
pub(crate) const BUNDLE_ADD_MESSAGE: u8 = 34;

/// All tables, in a filter.
const ALL_TABLES: u8 = 0xff;
/// Any port or group, in a filter.
const ANY: u32 = 0xffff_ffff;

/// The match of a request or of a reply: OXM with a header, filled up to a multiple of 8 bytes.
mod oxm_match {
    use crate::flow::Oxm;
    use crate::wire::{Malformed, Reader};

    const OXM: u16 = 1;
    const HEADER: usize = 4;

    pub(super) fn encode(oxm: &Oxm) -> Vec<u8> {
        let length = HEADER + oxm.bytes().len();
        // The number of bytes of a match has a limit far below.
        let mut bytes = [OXM.to_be_bytes(), u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()].concat();
        bytes.extend(oxm.bytes());
        bytes.resize(length.next_multiple_of(8), 0);
        bytes
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Oxm, Malformed> {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        if kind != OXM {
            return Err(Malformed::Value("the type of a match"));
        }
        let fields = reader.structure(length, HEADER, "a match")?;
        let length = usize::from(length);
        reader.skip(length.next_multiple_of(8) - length)?;
        Oxm::decode(fields.rest())
    }
}
