//! Where usnet keeps its files on a node. The roots come from here alone, and can be moved, so that several nodes fit on one machine.

use std::env;
use std::path::PathBuf;

/// The folders that all paths of usnet start from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// What does not outlive a reboot, `/run/usnet`.
    pub run: PathBuf,
    /// What does, `/var/lib/usnet`.
    pub state: PathBuf,
    /// kubelet's own folder, `/var/lib/kubelet`.
    pub kubelet: PathBuf,
    /// Where files with device information are written for whoever called, `/var/run/k8s.cni.cncf.io/devinfo/cni`.
    pub device_info: PathBuf,
    /// Where Open vSwitch's database listens, `/run/openvswitch/db.sock`.
    pub open_vswitch_socket: PathBuf,
    /// Where VPP's binary API listens, `/run/vpp/api.sock`.
    pub vpp_socket: PathBuf,
}

impl Roots {
    /// The standard paths, or those that `USNET_RUN_DIR`, `USNET_STATE_DIR`, `USNET_KUBELET_DIR`, `USNET_DEVICE_INFO_DIR`, `USNET_OVS_SOCKET` and
    /// `USNET_VPP_SOCKET` name.
    pub fn from_environment() -> Self {
        let path =
            |variable: &str, standard: &str| env::var_os(variable).map_or_else(|| standard.into(), PathBuf::from);
        Self {
            run: path("USNET_RUN_DIR", "/run/usnet"),
            state: path("USNET_STATE_DIR", "/var/lib/usnet"),
            kubelet: path("USNET_KUBELET_DIR", "/var/lib/kubelet"),
            device_info: path("USNET_DEVICE_INFO_DIR", "/var/run/k8s.cni.cncf.io/devinfo/cni"),
            open_vswitch_socket: path("USNET_OVS_SOCKET", "/run/openvswitch/db.sock"),
            vpp_socket: path("USNET_VPP_SOCKET", "/run/vpp/api.sock"),
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

    /// The attachment records.
    pub fn attachments(&self) -> PathBuf {
        self.state.join("attachments")
    }

    /// The last networks that the agent was told of.
    pub fn node_file(&self) -> PathBuf {
        self.state.join("node.json")
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
