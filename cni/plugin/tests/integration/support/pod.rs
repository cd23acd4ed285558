//! A pod from the plugin's side: arguments of the call and a volume on the node.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use usnet_crds::names::fnv1a;
use usnet_dataplane::paths::NodePaths;

#[derive(Debug, Clone)]
pub(crate) struct Pod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The id of the sandbox.
    pub(crate) container: String,
    /// The path of the `usnet` volume.
    pub(crate) volume: PathBuf,
    /// The path of the mount for the engine.
    pub(crate) directory: PathBuf,
}

impl Pod {
    pub(crate) fn new(paths: &NodePaths, namespace: &str, name: &str) -> Self {
        let hash = fnv1a(name.as_bytes());
        let uid = format!("{:08x}-0000-4000-8000-{:012x}", hash >> 32, hash & 0xffff_ffff);
        let volume = paths.kubelet.join(format!("pods/{uid}/volumes/kubernetes.io~empty-dir/usnet"));
        let directory = paths.ports().join(&uid);
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        Self { container: container(hash), namespace, name, uid, volume, directory }
    }

    /// `CNI_ARGS` as containerd and Multus write it, with doubled keys.
    pub(crate) fn arguments(&self) -> String {
        let Self { namespace, name, uid, container, .. } = self;
        let once = format!(
            "IgnoreUnknown=true;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={name};K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID={uid}"
        );
        format!("{once};{once}")
    }

    /// The same pod in a new sandbox.
    pub(crate) fn restarted(&self) -> Self {
        Self { container: container(!fnv1a(self.container.as_bytes())), ..self.clone() }
    }

    /// The description of an interface, as the pod's program reads it.
    pub(crate) fn description(&self, interface: &str) -> Value {
        let text = fs::read(self.volume.join(format!("{interface}.json"))).expect("a description");
        serde_json::from_slice(&text).expect("JSON")
    }
}

/// An id like those of containerd: 64 digits, where the first few are unique.
fn container(number: u64) -> String {
    format!("{number:016x}").repeat(4)
}
