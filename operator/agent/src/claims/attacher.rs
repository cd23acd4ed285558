//! Attaches and detaches the ports of claims with the steps of the CNI plugin, which a service runs
//! for the agent (IO). The agent itself may not mount.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use usnet_dataplane::attachment::{AttachmentId, Pod};
use usnet_dataplane::claim_records::ClaimPort;
use usnet_dataplane::paths::NodePaths;
use usnet_node::attach::{self, Command, Error, Request};

/// The name of the configuration that the plugin is called with. No runtime has a configuration of
/// this name, so none collects its attachments as garbage.
const CONFIGURATION: &str = "usnet-resource-claims";

#[tonic::async_trait]
pub(super) trait Attacher: Send + Sync {
    /// Calls ADD.
    async fn attach(&self, pod: &Pod, id: &AttachmentId, port: &ClaimPort) -> Result<(), Error>;
    /// Calls DEL, which succeeds if there is nothing to detach.
    async fn detach(&self, pod: &Pod, id: &AttachmentId) -> Result<(), Error>;
}

/// The CNI plugin behind the service for attachments.
pub(super) struct Plugin {
    paths: NodePaths,
}

impl Plugin {
    pub(super) fn new(paths: NodePaths) -> Self {
        Self { paths }
    }
}

#[tonic::async_trait]
impl Attacher for Plugin {
    async fn attach(&self, pod: &Pod, id: &AttachmentId, port: &ClaimPort) -> Result<(), Error> {
        self.call(Command::Add, pod, id, configuration(Some(port))).await
    }

    async fn detach(&self, pod: &Pod, id: &AttachmentId) -> Result<(), Error> {
        self.call(Command::Del, pod, id, configuration(None)).await
    }
}

impl Plugin {
    async fn call(&self, command: Command, pod: &Pod, id: &AttachmentId, configuration: Value) -> Result<(), Error> {
        let request = Request { command, environment: environment(pod, id), configuration };
        attach::request(&self.paths, &request).await.map(drop)
    }
}

/// The environment variables of a call.
fn environment(pod: &Pod, id: &AttachmentId) -> BTreeMap<String, String> {
    let mut variables = attach::variables(pod, id, Path::new(attach::NO_NETWORK_NAMESPACE));
    // Otherwise plugins written in Go refuse their own namespace.
    variables.insert("CNI_NETNS_OVERRIDE".to_owned(), "1".to_owned());
    variables
}

/// The network configuration of a call; without a port for DEL.
fn configuration(network: Option<&ClaimPort>) -> Value {
    match network {
        None => json!({"cniVersion": "1.1.0", "name": CONFIGURATION, "type": "userspace"}),
        Some(port) => json!({
            "cniVersion": "1.1.0", "name": CONFIGURATION, "type": "userspace",
            "network": port.network, "runtimeConfig": port.requested,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::tests::record;
    use super::*;

    #[test]
    fn the_plugin_is_called_as_multus_would() {
        let record = record();
        let mut port = record.ports.first().unwrap().clone();
        port.requested.insert("mac".to_owned(), json!("02:00:00:00:00:01"));
        let variables = environment(&record.pod, &record.attachment(&port));
        assert_eq!(variables.get("CNI_CONTAINERID").map(String::as_str), Some("claim-c-1"));
        let pod = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;";
        assert!(variables.get("CNI_ARGS").unwrap().contains(pod), "{variables:?}");
        let expected = json!({
            "cniVersion": "1.1.0", "name": "usnet-resource-claims", "type": "userspace", "network": "blue",
            "runtimeConfig": {"mac": "02:00:00:00:00:01"},
        });
        assert_eq!(configuration(Some(&port)), expected);
    }
}
