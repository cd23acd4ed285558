//! Building of OpenFlow 1.0 messages (openflow-1.0.h, nicira-ext.h of Open vSwitch). No IO.

use super::port_config::{Flooding, PortConfig};

pub(super) const VERSION: u8 = 1;
pub(super) const FLOW_MOD: u8 = 14;
pub(super) const PORT_MOD: u8 = 15;
pub(super) const STATS_REQUEST: u8 = 16;
pub(super) const STATS_REPLY: u8 = 17;
pub(super) const BARRIER_REQUEST: u8 = 18;
pub(super) const BARRIER_REPLY: u8 = 19;

/// Statistics of a vendor. Nicira's have complete matches of flows.
pub(super) const VENDOR_STATS: u16 = 0xffff;
pub(super) const NICIRA: u32 = 0x2320;
const FLOWS: u32 = 0;
const AGGREGATE: u32 = 1;
pub(super) const PORT_STATS: u16 = 13;

/// This port number in a filter means any port.
const NO_PORT: u16 = 0xffff;
/// Sending to this port forwards like a learning switch.
pub(super) const NORMAL: u16 = 0xfffa;
/// This table number in a filter means all tables.
const ALL_TABLES: u8 = 0xff;
/// `OFPFW_ALL` is the wildcard that matches every frame.
const ALL_FRAMES: u32 = 0x003f_ffff;
const MATCH_REST: [u8; 36] = [0; 36];
const ADD: u16 = 0;
const DELETE: u16 = 3;
const NO_BUFFER: u32 = 0xffff_ffff;

/// Requests the number of flows, or of flows that send to `port`.
pub(super) fn count(port: Option<u16>) -> Vec<u8> {
    flow_stats(AGGREGATE, port)
}

/// Requests all flows.
pub(super) fn flows() -> Vec<u8> {
    flow_stats(FLOWS, None)
}

fn flow_stats(subtype: u32, port: Option<u16>) -> Vec<u8> {
    let (flags, padding, match_length) = (0_u16, 0_u32, 0_u16);
    let head = [&VENDOR_STATS.to_be_bytes()[..], &flags.to_be_bytes(), &NICIRA.to_be_bytes()].concat();
    let filter = [&port.unwrap_or(NO_PORT).to_be_bytes()[..], &match_length.to_be_bytes(), &[ALL_TABLES, 0, 0, 0]];
    [&head[..], &subtype.to_be_bytes(), &padding.to_be_bytes(), &filter.concat()].concat()
}

/// Requests all ports.
pub(super) fn ports() -> Vec<u8> {
    [PORT_STATS.to_be_bytes(), [0, 0]].concat()
}

pub(super) fn delete_flows() -> Vec<u8> {
    flow_mod(DELETE, &[])
}

/// Adds the flow of a learning switch.
pub(super) fn add_normal() -> Vec<u8> {
    flow_mod(ADD, &normal_action())
}

/// Returns the only action of the flow of a learning switch.
pub(super) fn normal_action() -> [u8; 8] {
    let [high, low] = NORMAL.to_be_bytes();
    [0, 0, 0, 8, high, low, 0, 0]
}

/// The flow has the lowest priority and no timeout.
fn flow_mod(command: u16, actions: &[u8]) -> Vec<u8> {
    let (cookie, timeouts, priority, flags) = (0_u64, 0_u32, 0_u16, 0_u16);
    let of_all = [&ALL_FRAMES.to_be_bytes()[..], &MATCH_REST].concat();
    let settings = [&command.to_be_bytes()[..], &timeouts.to_be_bytes(), &priority.to_be_bytes()].concat();
    let rest = [&NO_BUFFER.to_be_bytes()[..], &NO_PORT.to_be_bytes(), &flags.to_be_bytes()].concat();
    [&of_all[..], &cookie.to_be_bytes(), &settings, &rest, actions].concat()
}

/// Clears all flags that stop frames at a port.
pub(super) fn open_port(port: &PortConfig, flooding: Flooding) -> Vec<u8> {
    port_mod(port, 0, PortConfig::closed(flooding))
}

/// Sets whether frames are flooded to a port.
pub(super) fn set_flooding(port: &PortConfig, is_flooded: bool) -> Vec<u8> {
    port_mod(port, if is_flooded { 0 } else { PortConfig::NO_FLOOD }, PortConfig::NO_FLOOD)
}

fn port_mod(port: &PortConfig, config: u32, mask: u32) -> Vec<u8> {
    let (advertised, padding) = (0_u32, 0_u32);
    let head = [&port.number.to_be_bytes()[..], &port.mac, &config.to_be_bytes()].concat();
    [&head[..], &mask.to_be_bytes(), &advertised.to_be_bytes(), &padding.to_be_bytes()].concat()
}
