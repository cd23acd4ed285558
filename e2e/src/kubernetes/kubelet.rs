//! kubelet on a node.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::host::cgroups;
use crate::host::component::{Component, ComponentName};
use crate::host::probes;
use crate::kubernetes::certificates::{Authority, CertificateError, Identity, Subject};
use crate::nodes::node::{Node, NodeError};
use crate::testbed::addresses;
use crate::testbed::folder::TestbedFolder;

const CONFIGURATION: &str = "/etc/kubernetes/kubelet.json";
const RESOLVER: &str = "/etc/kubernetes/resolv.conf";
const HEALTH_PORT: u16 = 10248;

#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Node(#[from] NodeError),
}

/// Creates kubelet's identity and configuration and describes the program.
pub fn prepare(folder: &TestbedFolder, node: &Node, authority: &Authority) -> Result<Component, KubeletError> {
    let address = addresses::node(node.index());
    let user = format!("system:node:{}", node.name());
    let serves_at = [address.to_string(), node.name().to_owned()];
    let identity =
        authority.issue(node.name(), Subject { name: &user, group: "system:nodes", serves_at: &serves_at })?;
    let kubeconfig = folder.certificates().join(format!("{}.kubeconfig", node.name()));
    authority.write_kubeconfig(&kubeconfig, &identity)?;
    node.write(RESOLVER, "# There is no name server in a test bed.\n")?;
    node.write(CONFIGURATION, &format!("{:#}\n", configuration(folder, node, authority, &identity)))?;
    let arguments = vec![
        format!("--config={CONFIGURATION}"),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--hostname-override={}", node.name()),
        format!("--node-ip={address}"),
    ];
    let launch = node.launcher("kubelet", arguments);
    let is_ready = probes::http(SocketAddr::new(address, HEALTH_PORT), "/healthz");
    Ok(Component::new(ComponentName::on(node.name(), "kubelet"), &folder.logs(), launch, is_ready))
}

fn configuration(folder: &TestbedFolder, node: &Node, authority: &Authority, identity: &Identity) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"x509": {"clientCAFile": authority.certificate()}, "anonymous": {"enabled": false}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": identity.certificate,
        "tlsPrivateKeyFile": identity.key,
        "healthzBindAddress": addresses::node(node.index()).to_string(),
        "healthzPort": HEALTH_PORT,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroups::node_root(&folder.id(), node.name()),
        "failCgroupV1": false,
        "failSwapOn": false,
        "localStorageCapacityIsolation": false,
        "enforceNodeAllocatable": [],
        "oomScoreAdj": 0,
        // The free space of the machine's disk does not matter.
        "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "resolvConf": RESOLVER,
        // The standard folder is under /usr, which nodes share with the machine.
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
    })
}
