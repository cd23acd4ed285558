//! Why a stream is not one of a database.

/// The longest accepted message, in bytes. An initial dump of 10,000 ports is 3 MiB; the limit is
/// for a peer that is hostile or not a database, whose first brace might never be closed.
pub(super) const MESSAGE_MAX: usize = 64 << 20;

/// Bytes that are not OVSDB's JSON-RPC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A message does not begin with a brace.
    #[error("a message begins with byte 0x{byte:02x} instead of '{{'; is this an OVSDB socket?")]
    NotAnObject {
        /// The first byte.
        byte: u8,
    },
    /// A message does not end.
    #[error("a message is longer than {MESSAGE_MAX} bytes, which no answer of a database is")]
    TooLong,
    /// A message is not JSON.
    #[error("a message is not JSON")]
    Json(#[source] serde_json::Error),
    /// JSON, and neither request nor response.
    #[error("a message is neither a request nor a response: {0}")]
    NotJsonRpc(String),
}
