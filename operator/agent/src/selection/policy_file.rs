//! The copy of all policies on disk, so that a restart without the API server enforces them (IO).

use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use usnet_crds::CompiledPolicySpec;
use usnet_dataplane::atomic_file::{self, Durability, Error};

/// A thousand policies of the greatest length need 100 MB.
const SIZE_MAX: u64 = 256 << 20;
/// The layout that this release writes.
const VERSION: u32 = 1;

/// The content of the file. It names policies and their rules as the API server has them.
#[derive(Debug, Serialize, Deserialize)]
struct PolicyFile<List> {
    version: u32,
    policies: List,
}

/// Reads the policies; none if there is no copy.
pub(super) fn read(path: &Path) -> Result<Option<Vec<CompiledPolicySpec>>, Error> {
    let file: Option<PolicyFile<Vec<CompiledPolicySpec>>> = atomic_file::read(path, VERSION, SIZE_MAX)?;
    Ok(file.map(|file| file.policies))
}

pub(super) fn write(path: &Path, policies: &[CompiledPolicySpec]) -> Result<(), Error> {
    atomic_file::write(path, &PolicyFile { version: VERSION, policies }, Durability::Content)
}

pub(super) fn remove(path: &Path) -> Result<(), std::io::Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node_paths;
    use usnet_crds::policy::Policy;
    use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};

    /// Never edit it: when the format changes, read both and add one for the new version.
    const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/agent-files/v1/policies.json");

    fn policies() -> Vec<CompiledPolicySpec> {
        let peers = ["10.1.0.0/16", "fd00::/8"].map(|peer| peer.parse().unwrap());
        let range = |protocol, first, last| PortRange { protocol, first, last };
        let ports = [range(TransportProtocol::Tcp, 5432, 5432), range(TransportProtocol::Udp, 7000, 7999)];
        let rule =
            PolicyRule { peers: PeerAddresses::Within(peers.into()), ports: DestinationPorts::Within(ports.into()) };
        let any = PolicyRule { peers: PeerAddresses::Any, ports: DestinationPorts::Any };
        let policy = |name: &str, ingress, egress| {
            let policy = Policy { namespace: "db".parse().unwrap(), name: name.to_owned(), ingress, egress };
            CompiledPolicySpec::new(["blue", "green"].map(|name| name.parse().unwrap()).into(), 3, policy)
        };
        vec![policy("closed", Some(Vec::new()), None), policy("servers", Some(vec![rule]), Some(vec![any]))]
    }

    #[test]
    fn the_file_of_version_1_is_written_and_read() {
        let (_folder, paths) = node_paths();
        let path = paths.policies_file();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        write(&path, &policies()).unwrap();
        let written: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        if std::env::var_os("USNET_WRITE_NODE_FILES").is_some() {
            fs::write(GOLDEN, format!("{written:#}\n")).unwrap();
        }
        let golden = fs::read_to_string(GOLDEN).unwrap();
        assert_eq!(format!("{written:#}\n"), golden);
        fs::write(&path, golden).unwrap();
        assert_eq!(read(&path).unwrap(), Some(policies()));
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        fs::write(&path, r#"{"version": 2}"#).unwrap();
        assert!(read(&path).is_err(), "a later release wrote it");
    }
}
