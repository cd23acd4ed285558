//! Messages of JSON-RPC 1.0.

use super::error::WireError;
use crate::value::shortened;
use serde::Deserialize;
use serde_json::Value as Json;

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A request of the peer, or a notification if the id is null.
    Request {
        /// The id is copied to the answer.
        id: Json,
        method: String,
        params: Json,
    },
    Response {
        /// The id of the answered request.
        id: Json,
        result: Json,
        error: Json,
    },
}

/// The members of both kinds of message.
#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    id: Json,
    method: Option<String>,
    #[serde(default)]
    params: Json,
    result: Option<Json>,
    error: Option<Json>,
}

impl Message {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        match serde_json::from_slice(bytes).map_err(WireError::Json)? {
            Members { id, method: Some(method), params, result: None, error: None } => {
                Ok(Self::Request { id, method, params })
            }
            Members { id, method: None, result, error, .. } if !id.is_null() => {
                Ok(Self::Response { id, result: result.unwrap_or_default(), error: error.unwrap_or_default() })
            }
            _ => Err(WireError::NotJsonRpc(shortened(&String::from_utf8_lossy(bytes)))),
        }
    }
}
