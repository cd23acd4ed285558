//! Requests to the program that has the port, and their answers.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "camelCase")]
pub(crate) enum Request {
    Show,
    /// Sends echo requests.
    #[serde(rename_all = "camelCase")]
    Ping {
        address: IpAddr,
        count: u16,
        interval_ms: u64,
        timeout_ms: u64,
        size: usize,
    },
    /// Sends numbered frames.
    #[serde(rename_all = "camelCase")]
    Send {
        to: String,
        count: u32,
        size: usize,
        stream: u64,
    },
    /// Reports numbered frames once `count` were received, or after `timeout_ms`.
    #[serde(rename_all = "camelCase")]
    Receive {
        stream: u64,
        count: u32,
        timeout_ms: u64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Whether no frame is missing, and for [`Request::Show`] whether the engine is connected.
    pub(crate) ok: bool,
    #[serde(flatten)]
    pub(crate) result: Value,
}

impl Answer {
    /// Whether it says that the port cannot be used, rather than how many frames came.
    pub(crate) fn is_of_unusable_port(&self) -> bool {
        self.result.get("error").is_some() || self.result.get("connected") == Some(&Value::Bool(false))
    }
}

/// The answer to [`Request::Show`].
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
