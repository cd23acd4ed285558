//! Errors of a stream that is not OVSDB's.

/// The longest accepted message, in bytes. An initial dump of 10,000 ports is 3 MiB. The limit
/// protects from a hostile peer and from one that is not a database, whose first brace might never
/// be closed.
pub(super) const MESSAGE_MAX: usize = 64 << 20;

/// The received bytes are not OVSDB's JSON-RPC.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A message does not begin with a brace.
    #[error("a message begins with byte 0x{byte:02x} instead of '{{'; is this an OVSDB socket?")]
    NotAnObject {
        /// The first byte.
        byte: u8,
    },
    #[error("a message is longer than {MESSAGE_MAX} bytes, which no answer of a database is")]
    TooLong,
    #[error("a message is not JSON")]
    Json(#[source] serde_json::Error),
    /// The JSON is neither a request nor a response.
    #[error("a message is neither a request nor a response: {0}")]
    NotJsonRpc(String),
}
