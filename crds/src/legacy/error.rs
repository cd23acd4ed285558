//! Why a configuration of Intel's userspace CNI is rejected. Each error names the key.

/// Why a configuration of Intel's userspace CNI is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLegacy {
    /// The value of a key has the wrong type.
    #[error("\"{key}\" must be {expected}")]
    WrongType {
        /// The path of the key.
        key: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A required key is missing.
    #[error("\"{key}\" is missing: {advice}")]
    Missing {
        /// The path of the key.
        key: String,
        /// What to write.
        advice: &'static str,
    },
    /// The value of a key is not supported.
    #[error("\"{key}\" is {value:?}: {advice}")]
    Unsupported {
        /// The path of the key.
        key: String,
        /// Its value.
        value: String,
        /// Why not, and what to write.
        advice: &'static str,
    },
    /// A value is out of range.
    #[error("\"{key}\": {problem}")]
    OutOfRange {
        /// The path of the key.
        key: String,
        /// What is wrong, and what is possible.
        problem: String,
    },
    /// A key exists in two spellings; which one is read would depend on their order in the text.
    #[error("\"{key}\" occurs twice, as {first:?} and as {second:?}: keep one")]
    Duplicate {
        /// The path of the key.
        key: String,
        /// One spelling.
        first: String,
        /// The other.
        second: String,
    },
}

impl InvalidLegacy {
    /// The path of the rejected key.
    pub fn key(&self) -> &str {
        match self {
            Self::WrongType { key, .. }
            | Self::Missing { key, .. }
            | Self::Unsupported { key, .. }
            | Self::OutOfRange { key, .. }
            | Self::Duplicate { key, .. } => key,
        }
    }
}
