//! Why a configuration of Intel's userspace CNI is rejected. Each error names the key.

/// Why a configuration of Intel's userspace CNI is rejected. `key` is always a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLegacy {
    /// The value of a key has the wrong type.
    #[error("\"{key}\" must be {expected}")]
    WrongType { key: String, expected: &'static str },
    /// A required key is missing.
    #[error("\"{key}\" is missing: {advice}")]
    Missing { key: String, advice: &'static str },
    /// The value of a key is not supported.
    #[error("\"{key}\" is {value:?}: {advice}")]
    Unsupported {
        key: String,
        value: String,
        /// Why not, and what to write.
        advice: &'static str,
    },
    /// A value is out of range.
    #[error("\"{key}\": {problem}")]
    OutOfRange {
        key: String,
        /// What is wrong, and what is possible.
        problem: String,
    },
    /// A key exists in two spellings; which one is read would depend on their order in the text.
    #[error("\"{key}\" occurs twice, as {first:?} and as {second:?}: keep one")]
    Duplicate { key: String, first: String, second: String },
}

impl InvalidLegacy {
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
