//! Where usnet keeps its files on a node. The roots come from here alone, and can be moved, so that several nodes fit on one machine.

use std::env;
use std::path::{Path, PathBuf};

/// The folders that all paths of usnet start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePaths {
    /// What does not outlive a reboot, `/run/usnet`.
    pub run: PathBuf,
    /// What does, `/var/lib/usnet`.
    pub state: PathBuf,
    /// kubelet's own folder, `/var/lib/kubelet`.
    pub kubelet: PathBuf,
    /// Where files with device information are written for whoever called, `/var/run/k8s.cni.cncf.io/devinfo/cni`.
    pub device_info: PathBuf,
    /// The folder that the paths of the older userspace CNI start from, `/`.
    pub legacy_root: PathBuf,
    /// Where Open vSwitch's database listens, `/run/openvswitch/db.sock`.
    pub open_vswitch_socket: PathBuf,
    /// Where VPP's binary API listens, `/run/vpp/api.sock`.
    pub vpp_socket: PathBuf,
}

impl NodePaths {
    /// The standard paths, or those that `USNET_RUN_DIR`, `USNET_STATE_DIR`, `USNET_KUBELET_DIR`, `USNET_DEVICE_INFO_DIR`, `USNET_OLDER_PLUGIN_ROOT`,
    /// `USNET_OVS_SOCKET` and `USNET_VPP_SOCKET` name.
    pub fn from_environment() -> Self {
        let path = |variable: &str, standard: PathBuf| env::var_os(variable).map_or(standard, PathBuf::from);
        let standard = Self::below(Path::new("/"));
        Self {
            run: path("USNET_RUN_DIR", standard.run),
            state: path("USNET_STATE_DIR", standard.state),
            kubelet: path("USNET_KUBELET_DIR", standard.kubelet),
            device_info: path("USNET_DEVICE_INFO_DIR", standard.device_info),
            legacy_root: path("USNET_OLDER_PLUGIN_ROOT", standard.legacy_root),
            open_vswitch_socket: path("USNET_OVS_SOCKET", standard.open_vswitch_socket),
            vpp_socket: path("USNET_VPP_SOCKET", standard.vpp_socket),
        }
    }

    /// The standard paths of a node whose file system begins at `root`.
    pub fn below(root: &Path) -> Self {
        Self {
            run: root.join("run/usnet"),
            state: root.join("var/lib/usnet"),
            kubelet: root.join("var/lib/kubelet"),
            device_info: root.join("var/run/k8s.cni.cncf.io/devinfo/cni"),
            legacy_root: root.to_owned(),
            open_vswitch_socket: root.join("run/openvswitch/db.sock"),
            vpp_socket: root.join("run/vpp/api.sock"),
        }
    }

    /// What the agent says of each network: programmed, or why not.
    pub fn networks(&self) -> PathBuf {
        self.run.join("networks")
    }

    /// The pods' directories as the engine sees them.
    pub fn ports(&self) -> PathBuf {
        self.run.join("ports")
    }

    /// The folders of devices that kubelet gave to pods.
    pub fn devices(&self) -> PathBuf {
        self.run.join("devices")
    }

    /// Where kubelet meets device plugins, and keeps which pod has which device.
    pub fn kubelet_device_plugins(&self) -> PathBuf {
        self.kubelet.join("device-plugins")
    }

    /// The attachment records.
    pub fn attachments(&self) -> PathBuf {
        self.state.join("attachments")
    }

    /// The last networks that the agent was told of.
    pub fn node_file(&self) -> PathBuf {
        self.state.join("node.json")
    }

    /// The folders of the node that definitions of the older userspace CNI may name.
    pub fn shared_dirs_file(&self) -> PathBuf {
        self.run.join("shared-dirs.json")
    }

    /// What the agent says of the node, as it would tell the API server.
    pub fn state_file(&self) -> PathBuf {
        self.run.join("state.json")
    }

    /// The last changes that the agent made.
    pub fn history_file(&self) -> PathBuf {
        self.state.join("history.jsonl")
    }
}
