//! The copy of all policies and of the pods that they select on disk, so that a restart without the
//! API server enforces them (IO).

mod network_pods;

use network_pods::NetworkPods;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use usnet_crds::policy::pods::KnownPods;
use usnet_crds::{CompiledPolicySpec, NetworkName};
use usnet_dataplane::atomic_file::{self, Durability, Error};

/// A thousand policies of the greatest length need 100 MB.
const SIZE_MAX: u64 = 256 << 20;
/// The layout that this release writes.
const VERSION: u32 = 1;

/// What is kept. It names policies, their rules and pods as the API server has them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Copy {
    pub(super) policies: Vec<CompiledPolicySpec>,
    /// Those of networks that the node had pods on.
    pub(super) pods: BTreeMap<NetworkName, Arc<KnownPods>>,
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct PolicyFile {
    version: u32,
    policies: Vec<CompiledPolicySpec>,
    /// Earlier releases have none, and no policies that need them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pods: Vec<NetworkPods>,
}

/// Reads the copy; none if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Copy>, Error> {
    let file: Option<PolicyFile> = atomic_file::read(path, VERSION, SIZE_MAX)?;
    Ok(file.map(|PolicyFile { policies, pods, .. }| Copy { policies, pods: network_pods::read(pods) }))
}

pub(super) fn write(path: &Path, copy: Copy) -> Result<(), Error> {
    let Copy { policies, pods } = copy;
    let pods = pods.iter().map(|(network, pods)| NetworkPods::of(network, pods)).collect();
    atomic_file::write(path, &PolicyFile { version: VERSION, policies, pods }, Durability::Content)
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
    use usnet_crds::policy::pods::{KnownPod, PodClass, SelectorId};
    use usnet_crds::policy::rule::{DestinationPorts, PeerAddresses, PolicyRule, PortRange, TransportProtocol};

    /// Never edit them: when the format changes, read all and add one for the new version.
    const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/agent-files/v1/policies.json");
    const WITH_PODS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/agent-files/v1/policies-with-pods.json");

    fn policies() -> Vec<CompiledPolicySpec> {
        let peers = ["10.1.0.0/16", "fd00::/8"].map(|peer| peer.parse().unwrap());
        let range = |protocol, first, last| PortRange { protocol, first, last };
        let ports = [range(TransportProtocol::Tcp, 5432, 5432), range(TransportProtocol::Udp, 7000, 7999)];
        let rule = PolicyRule {
            peers: PeerAddresses::Within(peers.into()),
            peer_pods: [].into(),
            ports: DestinationPorts::Within(ports.into()),
        };
        let any = PolicyRule { peers: PeerAddresses::Any, peer_pods: [].into(), ports: DestinationPorts::Any };
        vec![policy("closed", None, Some(Vec::new()), None), policy("servers", None, Some(vec![rule]), Some(vec![any]))]
    }

    fn policy(
        name: &str,
        pods: Option<SelectorId>,
        ingress: Option<Vec<PolicyRule>>,
        egress: Option<Vec<PolicyRule>>,
    ) -> CompiledPolicySpec {
        let policy = Policy { namespace: "db".parse().unwrap(), name: name.to_owned(), pods, ingress, egress };
        CompiledPolicySpec::new(["blue", "green"].map(|name| name.parse().unwrap()).into(), 3, policy)
    }

    /// A policy for some pods with others as peers, and a pod.
    fn with_pods() -> Copy {
        let [servers, clients] = [1, 2].map(SelectorId::new);
        let peers = PeerAddresses::Within([].into());
        let rule = PolicyRule { peers, peer_pods: [clients].into(), ports: DestinationPorts::Any };
        let class = PodClass {
            namespace: "db".parse().unwrap(),
            selected_by: [clients].into(),
            not_selected_by: [servers].into(),
        };
        let addresses = ["10.1.0.7", "fd00::7"].map(|address| address.parse().unwrap()).into();
        let uid = "c9a646d3-9c61-4cb7-bfcd-ee2522c8f633".to_owned();
        let pods = KnownPods::from([(uid, KnownPod { class: Arc::new(class), addresses })]);
        let pods = [("blue".parse().unwrap(), Arc::new(pods))].into();
        Copy { policies: vec![policy("some", Some(servers), Some(vec![rule]), None)], pods }
    }

    #[test]
    fn the_file_of_version_1_is_written_and_read() {
        let (_folder, paths) = node_paths();
        let path = paths.policies_file();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        for (file, copy) in [(GOLDEN, Copy { policies: policies(), pods: BTreeMap::new() }), (WITH_PODS, with_pods())] {
            write(&path, copy.clone()).unwrap();
            let written: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            if std::env::var_os("USNET_WRITE_NODE_FILES").is_some() {
                fs::write(file, format!("{written:#}\n")).unwrap();
            }
            let golden = fs::read_to_string(file).unwrap();
            assert_eq!(format!("{written:#}\n"), golden);
            fs::write(&path, golden).unwrap();
            assert_eq!(read(&path).unwrap(), Some(copy));
        }
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
        fs::write(&path, r#"{"version": 2}"#).unwrap();
        assert!(read(&path).is_err(), "a later release wrote it");
    }
}
