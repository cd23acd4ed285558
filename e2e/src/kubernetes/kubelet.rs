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

/// What kubelet is started with.
#[derive(Debug)]
pub(crate) struct Setup {
    /// Files of the node, with their content.
    pub(crate) files: [(&'static str, String); 2],
    pub(crate) arguments: Vec<String>,
}

/// Creates kubelet's identity and configuration and describes the program.
pub fn prepare(folder: &TestbedFolder, node: &Node, authority: &Authority) -> Result<Component, KubeletError> {
    let root = cgroups::node_root(&folder.id(), node.name());
    let Setup { files, arguments } =
        set_up(folder, authority, (node.name(), node.index()), json!({"cgroupRoot": root}))?;
    for (path, content) in files {
        node.write(path, &content)?;
    }
    let launch = node.launcher("kubelet", arguments);
    let is_ready = probes::http(SocketAddr::new(addresses::node(node.index()), HEALTH_PORT), "/healthz");
    Ok(Component::new(ComponentName::on(node.name(), "kubelet"), &folder.logs(), launch, is_ready))
}

/// Creates kubelet's identity and configuration for the node of a name and an index; `own` are
/// fields of the configuration that others do not have.
pub(crate) fn set_up(
    folder: &TestbedFolder,
    authority: &Authority,
    (name, index): (&str, u8),
    own: Value,
) -> Result<Setup, CertificateError> {
    let address = addresses::node(index);
    let user = format!("system:node:{name}");
    let serves_at = [address.to_string(), name.to_owned()];
    let identity = authority.issue(name, Subject { name: &user, group: "system:nodes", serves_at: &serves_at })?;
    let kubeconfig = folder.certificates().join(format!("{name}.kubeconfig"));
    authority.write_kubeconfig(&kubeconfig, &identity)?;
    let mut configuration = configuration(index, authority, &identity);
    if let (Some(fields), Value::Object(own)) = (configuration.as_object_mut(), own) {
        fields.extend(own);
    }
    let arguments = vec![
        format!("--config={CONFIGURATION}"),
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--hostname-override={name}"),
        format!("--node-ip={address}"),
    ];
    let resolver = "# There is no name server in a test bed.\n".to_owned();
    Ok(Setup { files: [(RESOLVER, resolver), (CONFIGURATION, format!("{configuration:#}\n"))], arguments })
}

fn configuration(index: u8, authority: &Authority, identity: &Identity) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"x509": {"clientCAFile": authority.certificate()}, "anonymous": {"enabled": false}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": identity.certificate,
        "tlsPrivateKeyFile": identity.key,
        "healthzBindAddress": addresses::node(index).to_string(),
        "healthzPort": HEALTH_PORT,
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
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
