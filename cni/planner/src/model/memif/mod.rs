//! Types for memif: socket names, secrets and socket ids.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use usnet_crds::names::fnv1a;

/// Longest name of a memif socket in bytes, including the prefix of an abstract one. VPP rejects a
/// longer one only when the interface is created.
pub const SOCKET_NAME_MAX: usize = 106;

/// A name that VPP would not take for a memif socket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSocket {
    #[error(
        "memif socket {name:?} has {} bytes, and VPP accepts at most {SOCKET_NAME_MAX}: use a shorter run directory or interface name",
        name.len()
    )]
    TooLong {
        /// The name in VPP's form.
        name: String,
    },
    /// A character that VPP does not take.
    #[error("memif socket {name:?} is not valid: VPP accepts only letters, digits, '_', '-', '.' and '/' in it")]
    Character {
        /// The name in VPP's form.
        name: String,
    },
}

/// The socket of a memif, in a form that VPP takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct MemifSocket(Unchecked);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Unchecked {
    File(PathBuf),
    #[serde(rename_all = "camelCase")]
    Abstract {
        name: String,
        network_namespace: PathBuf,
    },
}

impl MemifSocket {
    /// A socket file.
    ///
    /// # Errors
    /// When VPP would not take its path.
    pub fn file(path: PathBuf) -> Result<Self, InvalidSocket> {
        Self::checked(Unchecked::File(path))
    }

    /// An abstract socket in a network namespace, which is given by the path of its file.
    ///
    /// # Errors
    /// VPP would reject the name or the path.
    pub fn in_namespace(name: &str, network_namespace: &Path) -> Result<Self, InvalidSocket> {
        let (name, network_namespace) = (name.to_owned(), network_namespace.to_owned());
        Self::checked(Unchecked::Abstract { name, network_namespace })
    }

    fn checked(socket: Unchecked) -> Result<Self, InvalidSocket> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let parts = match &socket {
            Unchecked::File(path) => vec![text(path)],
            Unchecked::Abstract { name, network_namespace } => vec![name.clone(), text(network_namespace)],
        };
        let allowed = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
        let socket = Self(socket);
        let name = socket.to_string();
        if name.len() > SOCKET_NAME_MAX {
            return Err(InvalidSocket::TooLong { name });
        }
        if parts.iter().any(|part| part.is_empty() || !part.chars().all(allowed)) {
            return Err(InvalidSocket::Character { name });
        }
        Ok(socket)
    }

    /// The socket's file; none when it is abstract.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Unchecked::File(path) => Some(path),
            Unchecked::Abstract { .. } => None,
        }
    }

    /// Parses a socket as reported by VPP; `None` if usnet could not have created it.
    pub fn parse(reported: &str) -> Option<Self> {
        match reported.strip_prefix("abstract:") {
            None => Self::file(reported.into()).ok(),
            Some(rest) => {
                let (name, network_namespace) = rest.split_once(",netns_name=")?;
                Self::in_namespace(name, Path::new(network_namespace)).ok()
            }
        }
    }
}

impl fmt::Display for MemifSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Unchecked::File(path) => write!(formatter, "{}", path.display()),
            Unchecked::Abstract { name, network_namespace } => {
                write!(formatter, "abstract:{name},netns_name={}", network_namespace.display())
            }
        }
    }
}

impl TryFrom<Unchecked> for MemifSocket {
    type Error = InvalidSocket;
    fn try_from(socket: Unchecked) -> Result<Self, InvalidSocket> {
        Self::checked(socket)
    }
}

impl From<MemifSocket> for Unchecked {
    fn from(socket: MemifSocket) -> Self {
        socket.0
    }
}

/// Longest secret, in bytes: VPP has a field of 24 for it and its NUL.
const SECRET_MAX: usize = 23;

/// Not a secret that a memif can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a memif secret must have 1 to {SECRET_MAX} visible ASCII characters")]
pub struct InvalidSecret;

/// The secret of a memif. It is stored in the record and in the pod's directory, and never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemifSecret(String);

impl MemifSecret {
    /// The secret itself, for VPP and the pod.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for MemifSecret {
    type Error = InvalidSecret;
    fn try_from(secret: String) -> Result<Self, InvalidSecret> {
        let valid = (1..=SECRET_MAX).contains(&secret.len()) && secret.bytes().all(|byte| byte.is_ascii_graphic());
        if valid { Ok(Self(secret)) } else { Err(InvalidSecret) }
    }
}

impl From<MemifSecret> for String {
    fn from(secret: MemifSecret) -> Self {
        secret.0
    }
}

impl fmt::Debug for MemifSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(a secret)")
    }
}

/// Not a range of socket ids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a range of memif socket ids: use FIRST-LAST, with 1 <= FIRST <= LAST <= 4294967294")]
pub struct InvalidSocketIds(String);

/// The memif socket ids that usnet owns in a VPP. Those of VPP itself and of other clients are
/// outside of this range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MemifSocketIds {
    first: u32,
    last: u32,
}

impl MemifSocketIds {
    /// Whether usnet owns an id.
    pub fn contains(self, id: u32) -> bool {
        (self.first..=self.last).contains(&id)
    }

    pub fn count(self) -> usize {
        usize::try_from(self.last - self.first).map_or(usize::MAX, |last| last.saturating_add(1))
    }

    /// All of them, starting at an offset derived from the name of a socket, so that two writers
    /// seldom try the same one, unless they create the same port.
    pub fn of_socket(self, name: &str) -> impl Iterator<Item = u32> {
        let count = u64::from(self.last - self.first) + 1;
        let offset = u32::try_from(fnv1a(name.as_bytes()) % count).unwrap_or_default();
        (self.first + offset..=self.last).chain(self.first..self.first + offset)
    }
}

impl Default for MemifSocketIds {
    fn default() -> Self {
        Self { first: 1_000_000_000, last: 1_000_999_999 }
    }
}

impl std::str::FromStr for MemifSocketIds {
    type Err = InvalidSocketIds;
    fn from_str(text: &str) -> Result<Self, InvalidSocketIds> {
        let parse = || {
            let (first, last) = text.split_once('-')?;
            Some((first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?))
        };
        match parse() {
            // 0 is VPP's own socket, and u32::MAX lets VPP choose an id.
            Some((first, last)) if 1 <= first && first <= last && last < u32::MAX => Ok(Self { first, last }),
            _ => Err(InvalidSocketIds(text.to_owned())),
        }
    }
}

impl TryFrom<String> for MemifSocketIds {
    type Error = InvalidSocketIds;
    fn try_from(text: String) -> Result<Self, InvalidSocketIds> {
        text.parse()
    }
}

impl fmt::Display for MemifSocketIds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl From<MemifSocketIds> for String {
    fn from(ids: MemifSocketIds) -> Self {
        ids.to_string()
    }
}

#[cfg(test)]
mod tests;
