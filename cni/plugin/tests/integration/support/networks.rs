//! Networks of the node, as the agent programs and publishes them.

use super::{NAMESPACE, TestNode};
use serde_json::Value;
use usnet_crds::{NodeNetwork, Port};
use usnet_dataplane::definition_ipam::DefinitionIpam;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles, ProgrammedNetwork};
use usnet_dataplane::testing::network_with;

impl TestNode {
    /// Programs a network like the agent.
    pub(crate) fn program_network(&self, name: &str, ipam: Option<Value>) -> NodeNetwork {
        self.program_network_with(name, &Port::default(), ipam)
    }

    /// Programs a network with these ports.
    pub(crate) fn program_network_with(&self, name: &str, port: &Port, ipam: Option<Value>) -> NodeNetwork {
        let network = NodeNetwork {
            port: port.clone(),
            namespaces: [NAMESPACE].into_iter().collect(),
            ipam,
            ..network_with(self.engine.kind(), name)
        };
        self.engine.create_bridge(&network);
        self.publish(network.clone());
        network
    }

    /// Writes the network's file.
    pub(crate) fn publish(&self, network: NodeNetwork) {
        self.publish_with(network, MemifSocketIds::default());
    }

    /// Writes the network's file, with these ids for memif sockets.
    pub(crate) fn publish_with(&self, network: NodeNetwork, memif_socket_ids: MemifSocketIds) {
        self.publish_file(&NetworkFile::Programmed(ProgrammedNetwork {
            version: ProgrammedNetwork::VERSION,
            network: network.into(),
            engine_socket: self.engine.socket(),
            epoch: 1,
            memif_socket_ids,
            checksum_offload: false,
            numa_node: None,
        }));
    }

    /// Publishes a network's file like the agent.
    pub(crate) fn publish_file(&self, file: &NetworkFile) {
        NetworkFiles::new(&self.paths).write(file).unwrap();
    }

    /// Publishes that pods cannot attach to a network.
    pub(crate) fn publish_unavailable(&self, network: &str, reason: &str, message: &str) {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        self.publish_file(&NetworkFile::Unavailable { name: network.parse().unwrap(), reason, message });
    }

    /// Allows network configurations these IPAM plugins and keys, like the agent.
    pub(crate) fn allow_ipam(&self, plugins: &[&str], keys: &[&str]) {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let allowed = DefinitionIpam { plugins: list(plugins), keys: list(keys), ..DefinitionIpam::default() };
        allowed.write(&self.paths).unwrap();
    }

    /// The bridge of the network that every node has.
    pub(crate) fn bridge(&self) -> String {
        self.bridge_of(super::NETWORK)
    }

    /// The bridge of a network.
    pub(crate) fn bridge_of(&self, network: &str) -> String {
        self.engine.kind().default_bridge(&network.parse().unwrap()).to_string()
    }
}
