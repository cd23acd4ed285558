//! The state that a session publishes.

/// The state of a session. `C` describes the connection, and `R` is the reason why there is none.
#[derive(Debug, Clone)]
pub enum State<C, R> {
    /// There is no connection; the session keeps trying.
    Disconnected { reason: R },
    /// There is a connection, and its handshake is complete.
    Connected(C),
}

impl<C, R> State<C, R> {
    #[must_use]
    pub const fn connected(&self) -> Option<&C> {
        match self {
            Self::Connected(connected) => Some(connected),
            Self::Disconnected { .. } => None,
        }
    }
}
