//! Calls the CNI plugin through the service for attachments (IO): the agent itself may neither
//! mount nor enter a network namespace.

use super::wanted::Wanted;
use serde_json::json;
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::sandboxes::Sandbox;
use usnet_node::attach::{self, Command, Error, Request, variables};

pub(super) trait Plugin: Clone + 'static {
    /// Calls ADD, which may be repeated.
    fn attach(&self, wanted: Wanted, sandbox: Sandbox) -> impl Future<Output = Result<(), Error>> + 'static;

    /// Calls DEL, which succeeds if there is nothing to detach.
    fn detach(&self, record: Record) -> impl Future<Output = Result<(), Error>> + 'static;
}

/// The plugin behind the service for attachments.
#[derive(Debug, Clone)]
pub(super) struct Service {
    paths: NodePaths,
}

impl Service {
    pub(super) const fn new(paths: NodePaths) -> Self {
        Self { paths }
    }
}

impl Plugin for Service {
    fn attach(&self, wanted: Wanted, sandbox: Sandbox) -> impl Future<Output = Result<(), Error>> + 'static {
        let id = AttachmentId { container: sandbox.container, interface: wanted.interface };
        let environment = variables(&wanted.pod, &id, &sandbox.network_namespace);
        request(self.paths.clone(), Request { command: Command::Add, environment, configuration: wanted.configuration })
    }

    fn detach(&self, record: Record) -> impl Future<Output = Result<(), Error>> + 'static {
        let environment = variables(&record.pod, &record.id, &record.network_namespace);
        let configuration = json!({"cniVersion": "1.1.0", "name": record.configuration_name, "type": "userspace"});
        request(self.paths.clone(), Request { command: Command::Del, environment, configuration })
    }
}

async fn request(paths: NodePaths, request: Request) -> Result<(), Error> {
    attach::request(&paths, &request).await.map(drop)
}
