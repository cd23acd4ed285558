//! The settings of a bridge in the schema of Open vSwitch: how they are read, and the columns that
//! set them.
//!
//! A bridge ages MAC addresses after `other_config:mac-aging-time` seconds, remembers
//! `other_config:mac-table-size` of them, and does not learn in
//! the VLANs of `flood_vlans`; untagged frames are in VLAN 0 there. There is no single setting for
//! all VLANs. Its MTU is that of the interface of its local port.

use super::tags;
use crate::model::bridge::DesiredBridge;
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings, MacTable};
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{MacAddress, MacLearning, MacTableSize};
use usnet_ovsdb::{Bridge, Interface, Row, Value};

/// The datapath in user space.
pub(super) const NETDEV: &str = "netdev";

/// A bridge in this mode is a switch that learns while it has no controller.
const STANDALONE: &str = "standalone";
/// One in this mode forwards nothing but what its flows say.
pub(super) const SECURE: &str = "secure";

/// The key of `other_config` with the age of MAC addresses in seconds. The default of Open vSwitch
/// is 300.
const MAC_AGE_KEY: &str = "mac-aging-time";

/// The key of `other_config` with the number of MAC addresses that are remembered at most. Without
/// it, that is the default of [`MacTableSize`]. When the table is full, Open vSwitch removes an
/// address of the port that has most of them.
const MAC_TABLE_KEY: &str = "mac-table-size";

/// The key of `other_config` with the MAC address of a bridge. Without it, it is one of those of
/// its ports, and changes with them.
pub(super) const MAC_KEY: &str = "hwaddr";

/// All VLANs that `flood_vlans` can name.
const VLANS: std::ops::RangeInclusive<u16> = 0..=4095;

/// The settings of a bridge, given the interface of its local port.
pub(super) fn observe(bridge: &Bridge, own_interface: Option<&Interface>) -> BridgeSettings {
    BridgeSettings {
        mtu: own_interface.and_then(|interface| interface.mtu_request).map_or(BridgeMtu::Unset, BridgeMtu::Set),
        mac_learning: mac_learning(bridge).unwrap_or(MacLearning::Enabled),
        mac_age_seconds: bridge.other_config.get(MAC_AGE_KEY).and_then(|seconds| seconds.parse().ok()),
        mac_table: match bridge.other_config.get(MAC_TABLE_KEY) {
            None => MacTable::Limited(MacTableSize::default().into()),
            Some(size) => size.parse().map_or(MacTable::Unset, MacTable::Limited),
        },
        is_guarded: Some(is_guarded(bridge)),
        // That of a bridge of others means nothing.
        policy_zone: tags::network(&bridge.external_ids).and_then(|_| tags::policy_zone(&bridge.external_ids)),
    }
}

/// Whether its datapath is in user space, does the same in all VLANs, and forwards by itself.
pub(super) fn has_supported_datapath(bridge: &Bridge) -> bool {
    bridge.datapath_type == NETDEV && mac_learning(bridge).is_some() && forwards_by_itself(bridge)
}

/// Whether nothing that was configured stops a bridge from forwarding as a switch that learns: no
/// controller decides, no protocol blocks ports, and multicast is flooded. That a bridge has other
/// versions of OpenFlow only stops usnet from looking at its flows.
fn forwards_by_itself(bridge: &Bridge) -> bool {
    (bridge.fail_mode.as_deref().is_none_or(|mode| mode == STANDALONE) || is_guarded(bridge))
        && bridge.controller.is_empty()
        && bridge.protocols.is_empty()
        && !(bridge.stp_enable || bridge.rstp_enable || bridge.mcast_snooping_enable)
}

/// Whether it forwards nothing without a flow of usnet, as bridges of networks may and those of
/// uplinks may not.
pub(super) fn is_guarded(bridge: &Bridge) -> bool {
    bridge.fail_mode.as_deref() == Some(SECURE) && tags::network(&bridge.external_ids).is_some()
}

/// The columns of all bridges of usnet. They are the same for those of uplinks.
fn common_columns() -> Row {
    let row = Row::new().with("datapath_type", NETDEV);
    let row = ["fail_mode", "controller", "protocols"].into_iter().fold(row, |row, it| row.with(it, Value::empty()));
    ["stp_enable", "rstp_enable", "mcast_snooping_enable"].into_iter().fold(row, |row, it| row.with(it, false))
}

/// The columns that usnet owns, without [`other_config`].
pub(super) fn columns(bridge: &DesiredBridge) -> Row {
    let (learning, is_guarded) = match bridge {
        DesiredBridge::Network { bridge, .. } => (bridge.mac_learning, bridge.is_guarded),
        DesiredBridge::Uplink { .. } => (MacLearning::Enabled, false),
    };
    let columns = common_columns().with("flood_vlans", flood_vlans(learning));
    if is_guarded { columns.with("fail_mode", SECURE) } else { columns }
}

/// The keys of `external_ids` that are settings, each with its value; none is removed.
pub(super) fn external_ids(bridge: &DesiredBridge) -> [(&'static str, Option<String>); 1] {
    let zone = match bridge {
        DesiredBridge::Network { policy_zone, .. } => policy_zone.map(|zone| zone.to_string()),
        DesiredBridge::Uplink { .. } => None,
    };
    [(tags::POLICY_ZONE_KEY, zone)]
}

/// The keys of `other_config` that usnet owns. Others are kept.
pub(super) fn other_config(bridge: &DesiredBridge) -> BTreeMap<String, String> {
    match bridge {
        DesiredBridge::Network { bridge, .. } => BTreeMap::from([
            (MAC_AGE_KEY.to_owned(), bridge.mac_age_seconds.to_string()),
            (MAC_TABLE_KEY.to_owned(), bridge.mac_table_size.to_string()),
        ]),
        DesiredBridge::Uplink { .. } => BTreeMap::new(),
    }
}

/// The keys of a new bridge, which has the default size of its table of addresses without one.
pub(super) fn initial_other_config(bridge: &DesiredBridge) -> BTreeMap<String, String> {
    let mut keys = other_config(bridge);
    let default_size = MacTableSize::default().to_string();
    keys.retain(|key, value| key != MAC_TABLE_KEY || *value != default_size);
    keys
}

/// The MAC address that was set for a bridge.
pub(super) fn mac(bridge: &Bridge) -> Option<MacAddress> {
    bridge.other_config.get(MAC_KEY)?.parse().ok()
}

/// The keys of `other_config` that set the MAC address of a bridge.
pub(super) fn mac_config(mac: MacAddress) -> BTreeMap<String, String> {
    BTreeMap::from([(MAC_KEY.to_owned(), mac.to_string())])
}

/// The columns of the interface of its local port.
pub(super) fn own_interface(bridge: &DesiredBridge) -> Row {
    match bridge {
        DesiredBridge::Network { bridge, .. } => Row::new().with("mtu_request", i64::from(bridge.mtu)),
        DesiredBridge::Uplink { .. } => Row::new(),
    }
}

/// Whether a bridge learns; `None` if it does so in some VLANs only, as no bridge of usnet does.
fn mac_learning(bridge: &Bridge) -> Option<MacLearning> {
    match bridge.flood_vlans.len() {
        0 => Some(MacLearning::Enabled),
        count if count == VLANS.len() => Some(MacLearning::Disabled),
        _ => None,
    }
}

/// The VLANs in which a bridge does not learn.
fn flood_vlans(learning: MacLearning) -> Value {
    match learning {
        MacLearning::Enabled => Value::empty(),
        MacLearning::Disabled => Value::set(VLANS.map(i64::from).collect::<BTreeSet<_>>()),
    }
}
