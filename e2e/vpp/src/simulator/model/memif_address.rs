//! VPP's parsing of memif socket names (`clib_socket_init` in `vppinfra/socket.c`).

use std::path::PathBuf;

/// `sun_path` with its terminating zero is 108 bytes, of which VPP leaves one unused.
const FILE_NAME_MAX: usize = 106;
/// An abstract name starts with another zero.
const ABSTRACT_NAME_MAX: usize = 105;
const NAMESPACES: &str = "/var/run/netns";

/// The address of a memif socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MemifAddress {
    File(PathBuf),
    /// A name without a file, in a network namespace (by default VPP's own).
    Abstract {
        /// The name without its leading zero.
        name: String,
        /// The file of the network namespace.
        namespace: Option<PathBuf>,
    },
}

/// Returns the name as VPP stores it: a relative name is in the runtime directory. VPP checks
/// nothing else when a socket id is added.
pub(crate) fn complete(name: &str, runtime_directory: &str) -> String {
    let has_prefix = ["/", "unix:", "tcp:", "abstract:"].iter().any(|prefix| name.starts_with(prefix));
    if has_prefix { name.to_owned() } else { format!("{runtime_directory}/{name}") }
}

impl MemifAddress {
    /// Parses a name of [`complete`]. Returns nothing if VPP would refuse the interface.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let Some(rest) = name.strip_prefix("abstract:") else {
            // VPP accepts the prefix `unix:`, and then binds the name with the prefix.
            let allowed = name.starts_with('/') && name.chars().all(is_allowed) && name.len() <= FILE_NAME_MAX;
            return allowed.then(|| Self::File(name.into()));
        };
        let (name, options) = rest.split_once(',').map_or((rest, None), |(name, options)| (name, Some(options)));
        if !name.chars().all(is_allowed) || name.len() > ABSTRACT_NAME_MAX {
            return None;
        }
        let namespace = match options {
            Some(options) => Some(namespace(options)?),
            None => None,
        };
        Some(Self::Abstract { name: name.to_owned(), namespace })
    }
}

fn namespace(options: &str) -> Option<PathBuf> {
    if let Some(pid) = options.strip_prefix("netns_pid=") {
        return Some(format!("/proc/{}/ns/net", pid.parse::<u32>().ok()?).into());
    }
    let name = options.strip_prefix("netns_name=").filter(|name| name.chars().all(is_allowed))?;
    // An absolute name replaces the folder.
    Some(PathBuf::from(NAMESPACES).join(name))
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_./-".contains(character)
}

#[cfg(test)]
mod tests {
    use super::{MemifAddress, complete};

    fn of_abstract(name: &str, namespace: Option<&str>) -> Option<MemifAddress> {
        Some(MemifAddress::Abstract { name: name.to_owned(), namespace: namespace.map(Into::into) })
    }

    #[test]
    fn files() {
        assert_eq!(complete("x/y.sock", "/run/vpp"), "/run/vpp/x/y.sock");
        assert_eq!(complete("@x", "/run/vpp"), "/run/vpp/@x");
        assert_eq!(MemifAddress::parse("/a-b_c.D/0"), Some(MemifAddress::File("/a-b_c.D/0".into())));
        for refused in ["/a:b", "/a b", "/a+b", "/run/vpp/@x", "unix:/x", "tcp:1.2.3.4"] {
            assert_eq!(MemifAddress::parse(refused), None, "{refused}");
        }
        assert!(MemifAddress::parse(&format!("/{}", "x".repeat(105))).is_some());
        assert_eq!(MemifAddress::parse(&format!("/{}", "x".repeat(106))), None);
    }

    #[test]
    fn abstract_names() {
        assert_eq!(MemifAddress::parse("abstract:m0"), of_abstract("m0", None));
        assert_eq!(MemifAddress::parse("abstract:m0,netns_name=blue"), of_abstract("m0", Some("/var/run/netns/blue")));
        assert_eq!(
            MemifAddress::parse("abstract:m0,netns_name=/run/netns/cni-1"),
            of_abstract("m0", Some("/run/netns/cni-1"))
        );
        assert_eq!(MemifAddress::parse("abstract:m0,netns_pid=7"), of_abstract("m0", Some("/proc/7/ns/net")));
        for refused in ["abstract:a:b", "abstract:a,foo=1", "abstract:a,netns_name=x,netns_name=y", "abstract:a,"] {
            assert_eq!(MemifAddress::parse(refused), None, "{refused}");
        }
        assert!(MemifAddress::parse(&format!("abstract:{}", "x".repeat(105))).is_some());
        assert_eq!(MemifAddress::parse(&format!("abstract:{}", "x".repeat(106))), None);
    }
}
