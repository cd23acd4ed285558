//! What the program that has a port can be asked.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::IpAddr;

/// A request to the program that has the port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "camelCase")]
pub(crate) enum Request {
    /// What the interface is.
    Show,
    /// Echo requests.
    #[serde(rename_all = "camelCase")]
    Ping { address: IpAddr, count: u16, interval_ms: u64, timeout_ms: u64, size: usize },
    /// Numbered frames out.
    #[serde(rename_all = "camelCase")]
    Send { to: String, count: u32, size: usize, stream: u64 },
    /// Numbered frames in, of which as many are expected.
    #[serde(rename_all = "camelCase")]
    Receive { stream: u64, count: u32, timeout_ms: u64 },
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Whether all came out as it should.
    pub(crate) ok: bool,
    /// The numbers.
    #[serde(flatten)]
    pub(crate) result: Value,
}

/// What [`Request::Show`] tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) interface: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<String>,
    pub(crate) connected: bool,
    pub(crate) mac: String,
    pub(crate) mtu: usize,
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) received_frames: u64,
    pub(crate) sent_frames: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}
