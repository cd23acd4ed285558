//! Why a configuration of the older plugin cannot be ours. Each names the key as people write it.

/// What cannot be ours of a configuration of the older plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLegacy {
    /// A key does not hold what it should.
    #[error("\"{key}\" must be {expected}")]
    WrongType {
        /// The key with those around it.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A key is not there.
    #[error("\"{key}\" is missing: {advice}")]
    Missing {
        /// The key with those around it.
        key: String,
        /// What to write.
        advice: &'static str,
    },
    /// A key says what we cannot or will not do.
    #[error("\"{key}\" says {value:?}: {advice}")]
    Refused {
        /// The key with those around it.
        key: String,
        /// What it says.
        value: String,
        /// Why not, and what to write.
        advice: &'static str,
    },
    /// A value is outside of what is possible.
    #[error("\"{key}\": {problem}")]
    OutOfRange {
        /// The key with those around it.
        key: String,
        /// What is wrong, and what is possible.
        problem: String,
    },
    /// One key is there in two spellings; which one would count depends on who last wrote the text.
    #[error("\"{key}\" is there twice, as {first:?} and as {second:?}: keep one")]
    Twice {
        /// The key with those around it.
        key: String,
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
}

impl InvalidLegacy {
    /// The key that is to blame, with those around it.
    pub fn key(&self) -> &str {
        match self {
            Self::WrongType { key, .. }
            | Self::Missing { key, .. }
            | Self::Refused { key, .. }
            | Self::OutOfRange { key, .. }
            | Self::Twice { key, .. } => key,
        }
    }
}
