//! The pod network of a node: Multus, which attaches the networks of the annotation, with a plain
//! default network.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::host::requirements;
use crate::kubernetes::certificates::{Authority, CertificateError};
use crate::nodes::node::{Node, NodeError};
use crate::testbed::addresses;

/// The CNI plugins of every node.
const PLUGINS: [&str; 9] =
    ["bridge", "dhcp", "host-local", "loopback", "multus", "portmap", "ptp", "static", "whereabouts"];

/// The plugins that the container for garbage collection calls, in which a link would be broken.
const IPAM_PLUGINS: [&str; 4] = ["dhcp", "host-local", "static", "whereabouts"];

pub(crate) const PLUGIN_FOLDER: &str = "/opt/cni/bin";
const MULTUS_KUBECONFIG: &str = "/etc/cni/net.d/multus.d/multus.kubeconfig";

/// The CRDs of the Network Plumbing Working Group: NetworkAttachmentDefinitions and
/// MultiNetworkPolicies.
pub const CRDS: &str =
    concat!(include_str!("network-attachment-definition.yaml"), "---\n", include_str!("multi-network-policy.yaml"));

#[derive(Debug, thiserror::Error)]
pub enum PodNetworkError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// Installs the CNI plugins and their configuration on a node.
pub fn install(node: &Node, authority: &Authority, tools: &[PathBuf]) -> Result<(), PodNetworkError> {
    let installed = install_plugins(&node.path(PLUGIN_FOLDER), tools);
    installed.map_err(|source| node.not_written(PLUGIN_FOLDER, source))?;
    let kubeconfig = identity(authority, node.name())?;
    let text = std::fs::read_to_string(&kubeconfig)
        .map_err(|source| CertificateError::Read { path: kubeconfig.clone(), source })?;
    for (path, content) in files(text, node.index()) {
        node.write(path, &content)?;
    }
    Ok(())
}

/// Installs the CNI plugins in the folder that is [`PLUGIN_FOLDER`] of a node.
pub(crate) fn install_plugins(folder: &Path, tools: &[PathBuf]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for plugin in PLUGINS {
        if let Some(program) = requirements::find_in(tools, plugin) {
            let target = folder.join(plugin);
            match IPAM_PLUGINS.contains(&plugin) {
                true => std::fs::copy(program, target).map(drop)?,
                false => symlink(program, target)?,
            }
        }
    }
    Ok(())
}

/// Creates the identity of Multus on a node, and returns its kubeconfig.
pub(crate) fn identity(authority: &Authority, node: &str) -> Result<PathBuf, CertificateError> {
    authority.client(&format!("multus-{node}"), "multus", "system:masters")
}

/// Returns the files of the configuration of Multus with their content.
pub(crate) fn files(kubeconfig: String, index: u8) -> [(&'static str, String); 2] {
    [(MULTUS_KUBECONFIG, kubeconfig), ("/etc/cni/net.d/00-multus.conf", configuration(index))]
}

fn configuration(node: u8) -> String {
    let address_management = json!({
        "type": "host-local",
        "ranges": [[{"subnet": addresses::pods(node)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    });
    let text = json!({
        "cniVersion": "1.0.0",
        "name": "multus",
        "type": "multus",
        "kubeconfig": MULTUS_KUBECONFIG,
        "logFile": "/var/log/multus.log",
        "logLevel": "verbose",
        "delegates": [{
            "cniVersion": "1.0.0",
            "name": "pods",
            "plugins": [{"type": "ptp", "ipam": address_management}],
        }],
    });
    format!("{text:#}\n")
}
