//! containerd on a node.

use crate::host::component::{Component, ComponentName};
use crate::host::probes;
use crate::kubernetes::images::names::PAUSE_IMAGE;
use crate::nodes::node::{Node, NodeError};
use crate::testbed::folder::TestbedFolder;

pub(crate) const CONFIGURATION: &str = "/etc/containerd/config.toml";
const SOCKET: &str = "/run/containerd/containerd.sock";

/// The snapshotter that makes plain copies, which work on every file system.
pub const SNAPSHOTTER: &str = "native";

/// Writes containerd's configuration and describes the program.
pub fn prepare(folder: &TestbedFolder, node: &Node) -> Result<Component, NodeError> {
    node.write(CONFIGURATION, &configuration())?;
    let launch = node.launcher("containerd", vec![format!("--config={CONFIGURATION}")]);
    let is_ready = probes::unix_socket(node.path(SOCKET));
    Ok(Component::new(ComponentName::on(node.name(), "containerd"), &folder.logs(), launch, is_ready))
}

/// Returns a configuration for containerd 1.7 and 2. Without `restrict_oom_score_adj`, runc fails
/// on machines without CAP_SYS_RESOURCE, where it may not lower the score.
pub(crate) fn configuration() -> String {
    format!(
        "version = 2\n\
         \n\
         [plugins.'io.containerd.grpc.v1.cri']\n\
         sandbox_image = 'docker.io/library/{PAUSE_IMAGE}'\n\
         restrict_oom_score_adj = true\n\
         \n\
         [plugins.'io.containerd.grpc.v1.cri'.containerd]\n\
         snapshotter = '{SNAPSHOTTER}'\n"
    )
}
