//! What identifies an attachment: validated names.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest name of a network interface, in bytes (`IFNAMSIZ` without its NUL).
pub const INTERFACE_NAME_MAX: usize = 15;
/// Longest container id that is taken, in bytes; runtimes use 64. It is part of a file name.
pub const CONTAINER_ID_MAX: usize = 128;

/// Why an identifier was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdentifier {
    /// Not a container id as the CNI specification has it.
    #[error(
        "container id {0:?} is not valid: it must start with a letter or digit, go on with letters, digits, '_', '.' and '-', and have at most {CONTAINER_ID_MAX} characters"
    )]
    Container(String),
    /// Not a name that a network interface can have.
    #[error(
        "interface name {0:?} is not valid: use 1 to {INTERFACE_NAME_MAX} printable characters without '/', ':' and spaces"
    )]
    Interface(String),
    /// Not a pod uid.
    #[error("pod uid {0:?} is not valid: it must have 1 to 64 letters, digits and '-'")]
    PodUid(String),
}

macro_rules! identifier {
    ($(#[$docs:meta])* $name:ident, $variant:ident, $check:expr) => {
        $(#[$docs])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The identifier as text.
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

        impl std::str::FromStr for $name {
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
    /// The uid of a pod. It is part of a path, so only letters, digits and `-` are allowed.
    PodUid, PodUid,
    |text| (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
);

/// What identifies an attachment on its node: CNI's container id and interface name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttachmentId {
    /// The pod's sandbox.
    pub container: ContainerId,
    /// The interface in it.
    pub interface: InterfaceName,
}

impl fmt::Display for AttachmentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.container, self.interface)
    }
}
