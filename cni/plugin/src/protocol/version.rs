//! The supported versions of the CNI specification.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// A version of the CNI specification. Later versions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum SpecVersion {
    /// In 0.1.0 results have one address of each family, `ip4` and `ip6`, with its routes, and no
    /// interfaces. A configuration without a version is of this one.
    #[serde(rename = "0.1.0")]
    V0_1_0,
    /// 0.2.0 has the results of 0.1.0.
    #[serde(rename = "0.2.0")]
    V0_2_0,
    /// 0.3.0 has the results of 0.3.1.
    #[serde(rename = "0.3.0")]
    V0_3_0,
    /// In 0.3.1 results are lists of interfaces and addresses; each address has a `version`, `"4"`
    /// or `"6"`.
    #[serde(rename = "0.3.1")]
    V0_3_1,
    /// 0.4.0 adds CHECK and `prevResult` of DEL.
    #[serde(rename = "0.4.0")]
    V0_4_0,
    /// In 1.0.0 addresses no longer have a `version`.
    #[serde(rename = "1.0.0")]
    V1_0_0,
    /// In 1.1.0 interfaces have `mtu` and `socketPath`, and routes have more than a destination and
    /// a gateway. It adds GC and STATUS.
    #[serde(rename = "1.1.0")]
    V1_1_0,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"cniVersion\" {0:?} is not supported: set it to one of {supported}", supported = SpecVersion::list())]
pub struct UnsupportedVersion(pub String);

impl SpecVersion {
    /// All versions, the oldest first.
    pub const ALL: [Self; 7] =
        [Self::V0_1_0, Self::V0_2_0, Self::V0_3_0, Self::V0_3_1, Self::V0_4_0, Self::V1_0_0, Self::V1_1_0];
    /// The version of answers when the caller's version is unknown.
    pub const LATEST: Self = Self::V1_1_0;

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }

    /// All versions, for messages.
    pub fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl FromStr for SpecVersion {
    type Err = UnsupportedVersion;
    fn from_str(text: &str) -> Result<Self, UnsupportedVersion> {
        let known = Self::ALL.into_iter().find(|version| version.as_str() == text);
        known.ok_or_else(|| UnsupportedVersion(text.to_owned()))
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_knows_the_same_versions() {
        assert_eq!(SpecVersion::ALL.map(SpecVersion::as_str), usnet_crds::legacy::CNI_VERSIONS);
    }
}
