//! The settings of a bridge domain: how they are read, and the requests that set them.

use super::request::{Find, add};
use super::tags::Tag;
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings, MacTable};
use usnet_crds::{Bridge, MacAge, MacLearning};
use usnet_vpp::Batch;
use usnet_vpp::messages::{
    BdFlags, BridgeDomainAddDelV2, BridgeDomainDetails, BridgeDomainSetLearnLimit, BridgeDomainSetMacAge, BridgeFlags,
};

const SECONDS_PER_MINUTE: u8 = 60;

/// A change of one setting, or of several that are flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BridgeCommand {
    Flags(BridgeFlags),
    MacAge(BridgeDomainSetMacAge),
    LearnLimit(BridgeDomainSetLearnLimit),
}

impl BridgeCommand {
    pub(super) fn add_to(&self, batch: &mut Batch) -> Find {
        match self {
            Self::Flags(request) => add(batch, request.clone()),
            Self::MacAge(request) => add(batch, request.clone()),
            Self::LearnLimit(request) => add(batch, request.clone()),
        }
    }
}

pub(super) fn observe(details: &BridgeDomainDetails) -> BridgeSettings {
    BridgeSettings {
        mtu: BridgeMtu::OfPortsOnly,
        mac_learning: if details.learn { MacLearning::Enabled } else { MacLearning::Disabled },
        mac_age_seconds: Some(i64::from(details.mac_age) * i64::from(SECONDS_PER_MINUTE)),
        // The details have no such field: the snapshot adds it.
        mac_table: MacTable::Unreadable,
        is_guarded: None,
        policy_zone: None,
    }
}

/// Whether it forwards and floods and does not answer ARP, as the bridge domains of usnet.
pub(super) fn has_supported_datapath(details: &BridgeDomainDetails) -> bool {
    details.forward && details.flood && details.uu_flood && !details.arp_term && !details.arp_ufwd
}

/// Creates a bridge domain with all settings but those of [`complete`].
pub(super) fn create(id: u32, tag: Tag, bridge: &Bridge) -> BridgeDomainAddDelV2 {
    BridgeDomainAddDelV2 {
        bd_id: id,
        flood: true,
        uu_flood: true,
        forward: true,
        learn: bridge.mac_learning == MacLearning::Enabled,
        mac_age: minutes(bridge.mac_age_seconds),
        bd_tag: tag,
        is_add: true,
        ..BridgeDomainAddDelV2::default()
    }
}

/// The settings that a new bridge domain gets by requests of their own.
pub(super) fn complete(id: u32, bridge: &Bridge) -> BridgeCommand {
    BridgeCommand::LearnLimit(BridgeDomainSetLearnLimit { bd_id: id, learn_limit: bridge.mac_table_size.get() })
}

/// Changes all settings, and restores the datapath.
pub(super) fn update(id: u32, bridge: &Bridge) -> Vec<BridgeCommand> {
    let forwards = BdFlags::FWD | BdFlags::FLOOD | BdFlags::UU_FLOOD;
    let answers_arp = BdFlags::ARP_TERM | BdFlags::ARP_UFWD;
    let (set, cleared) = match bridge.mac_learning {
        MacLearning::Enabled => (forwards | BdFlags::LEARN, answers_arp),
        MacLearning::Disabled => (forwards, answers_arp | BdFlags::LEARN),
    };
    vec![
        BridgeCommand::Flags(BridgeFlags { bd_id: id, is_set: true, flags: set }),
        BridgeCommand::Flags(BridgeFlags { bd_id: id, is_set: false, flags: cleared }),
        BridgeCommand::MacAge(BridgeDomainSetMacAge { bd_id: id, mac_age: minutes(bridge.mac_age_seconds) }),
        complete(id, bridge),
    ]
}

/// VPP counts whole minutes.
fn minutes(age: MacAge) -> u8 {
    u8::try_from(age.get() / u16::from(SECONDS_PER_MINUTE)).unwrap_or(u8::MAX)
}
