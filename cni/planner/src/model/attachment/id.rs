//! What identifies an attachment: validated names.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// Longest name of a network interface, in bytes (`IFNAMSIZ` without its NUL).
pub const INTERFACE_NAME_MAX: usize = 15;
/// Longest container id that is taken, in bytes; runtimes use 64. It is part of a file name.
pub const CONTAINER_ID_MAX: usize = 128;

/// Why an identifier was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdentifier {
    /// Not a container id as the CNI specification has it.
    #[error(
        "container id {0:?} is not valid: it must start with a letter or digit, contain only letters, digits, '_', '.' and '-', and have at most {CONTAINER_ID_MAX} characters"
    )]
    Container(String),
    /// Not a name that a network interface can have.
    #[error(
        "interface name {0:?} is not valid: use 1 to {INTERFACE_NAME_MAX} printable characters without '/', ':' and spaces"
    )]
    Interface(String),
    #[error("pod uid {0:?} is not valid: it must have 1 to 64 letters, digits and '-'")]
    PodUid(String),
    /// Not the uid of a resource claim.
    #[error("uid {0:?} of a resource claim is not valid: it must have 1 to 64 letters, digits and '-'")]
    ClaimUid(String),
    /// Not a container id and an interface name with a dot between them.
    #[error("attachment {0:?} is not valid: it must be a container id and an interface name with a dot between them")]
    Attachment(String),
}

macro_rules! identifier {
    ($(#[$docs:meta])* $name:ident, $variant:ident, $check:expr) => {
        $(#[$docs])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidIdentifier;
            fn try_from(text: String) -> Result<Self, InvalidIdentifier> {
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err(InvalidIdentifier::$variant(text)) }
            }
        }

        impl FromStr for $name {
            type Err = InvalidIdentifier;
            fn from_str(text: &str) -> Result<Self, InvalidIdentifier> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(identifier: $name) -> Self {
                identifier.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

identifier!(
    /// The id of a pod's sandbox, `CNI_CONTAINERID`.
    ContainerId, Container,
    |text| {
        text.len() <= CONTAINER_ID_MAX
            && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
    }
);
identifier!(
    /// The name of an interface in its pod, `CNI_IFNAME`. It is also part of file names in the
    /// pod's directory.
    InterfaceName, Interface,
    |text| {
        (1..=INTERFACE_NAME_MAX).contains(&text.len())
            && text != "."
            && text != ".."
            && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/' && byte != b':')
    }
);
identifier!(
    /// The uid of a resource claim. It is part of a path, so only letters, digits and `-` are
    /// allowed.
    ClaimUid, ClaimUid,
    |text| (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
);
identifier!(
    /// The uid of a pod. It is part of a path, so only letters, digits and `-` are allowed.
    PodUid, PodUid,
    |text| (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
);

/// What the container id of a resource claim's attachment starts with. Runtimes have none like it.
const CLAIM: &str = "claim-";

impl ContainerId {
    /// What stands for the container of ports that were made for a resource claim, before its pod
    /// has a sandbox.
    pub fn of_claim(claim: &ClaimUid) -> Self {
        Self(format!("{CLAIM}{claim}"))
    }

    /// The resource claim, if it stands for one.
    pub fn claim(&self) -> Option<ClaimUid> {
        self.0.strip_prefix(CLAIM)?.parse().ok()
    }
}

/// What identifies an attachment on its node: CNI's container id and interface name.
///
/// Its text, `<container>.<interface>`, is its identity: in ownership tags, names of records and
/// locks. Both parts may contain dots, so that a text may have several splits, but all of these are
/// equal. A parsed text is split at the first dot that gives valid parts; ids of real container
/// runtimes have none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AttachmentId {
    pub container: ContainerId,
    pub interface: InterfaceName,
}

impl fmt::Display for AttachmentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.container, self.interface)
    }
}

impl AttachmentId {
    fn text(&self) -> impl Iterator<Item = u8> {
        self.container.as_str().bytes().chain([b'.']).chain(self.interface.as_str().bytes())
    }
}

impl PartialEq for AttachmentId {
    fn eq(&self, other: &Self) -> bool {
        self.text().eq(other.text())
    }
}

impl Eq for AttachmentId {}

impl Ord for AttachmentId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text().cmp(other.text())
    }
}

impl PartialOrd for AttachmentId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for AttachmentId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().for_each(|byte| byte.hash(state));
    }
}

impl FromStr for AttachmentId {
    type Err = InvalidIdentifier;
    fn from_str(text: &str) -> Result<Self, InvalidIdentifier> {
        let split = |(dot, _)| {
            let (container, interface) = (text.get(..dot)?, text.get(dot + 1..)?);
            Some(Self { container: container.parse().ok()?, interface: interface.parse().ok()? })
        };
        text.match_indices('.').find_map(split).ok_or_else(|| InvalidIdentifier::Attachment(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_several_splits_is_one_attachment() {
        for text in ["c1.net1", "c1.eth0.100", "a.b.c.d"] {
            assert_eq!(text.parse::<AttachmentId>().unwrap().to_string(), text);
        }
        for text in ["", "c1", ".net1", "c1.", "c1.a/b"] {
            assert_eq!(text.parse::<AttachmentId>(), Err(InvalidIdentifier::Attachment(text.to_owned())));
        }
        let id = |container: &str, interface: &str| AttachmentId {
            container: container.parse().unwrap(),
            interface: interface.parse().unwrap(),
        };
        assert_eq!(id("a.b", "c"), id("a", "b.c"));
        assert_eq!(id("a.b", "c").cmp(&id("a", "b.c")), Ordering::Equal);
        assert!(id("a", "b") < id("a", "c"));
    }
}
