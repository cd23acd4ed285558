//! Where usnet keeps its files on a node. All root directories come from here and can be moved, so
//! that several nodes fit on one machine.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use usnet_crds::EngineKind;

/// The root directories of all paths of usnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePaths {
    /// What does not outlive a reboot, `/run/usnet`.
    pub run: PathBuf,
    /// What does, `/var/lib/usnet`.
    pub state: PathBuf,
    /// The directory of the kubelet, `/var/lib/kubelet`.
    pub kubelet: PathBuf,
    /// The directory of device info files (NPWG device information specification),
    /// `/var/run/k8s.cni.cncf.io/devinfo/cni`.
    pub device_info: PathBuf,
    /// The directory of CDI specs that change while the node runs, `/var/run/cdi`.
    pub cdi: PathBuf,
    /// The processes of the node, `/proc`. Not below the root of a test: processes are those of the
    /// machine.
    pub processes: PathBuf,
    /// The file system of the kernel for devices, `/sys`. Not below the root of a test either.
    pub sysfs: PathBuf,
    /// The directory that the paths of the legacy userspace CNI are relative to, `/`.
    pub legacy_root: PathBuf,
    /// The directories of CNI configurations: that of runtimes, `/etc/cni/net.d`, and the one in
    /// which Multus looks where a NetworkAttachmentDefinition has none, `/etc/cni/multus/net.d`.
    pub cni_configurations: Vec<PathBuf>,
    /// Where engines listen, if not at `socket` of their row in the table of engines.
    pub engine_sockets: BTreeMap<EngineKind, PathBuf>,
    /// The network namespace of the node's devices; none is that of the process.
    pub network_namespace: Option<PathBuf>,
}

impl NodePaths {
    /// The default paths, overridden by `USNET_RUN_DIR`, `USNET_STATE_DIR`, `USNET_KUBELET_DIR`,
    /// `USNET_DEVICE_INFO_DIR`, `USNET_CDI_DIR`, `USNET_PROCESSES_DIR`,
    /// `USNET_SYSFS_DIR` and `USNET_OLDER_PLUGIN_ROOT`; those of engines by the variables in the
    /// table of engines.
    pub fn from_environment() -> Self {
        let path = |variable: &str, standard: PathBuf| env::var_os(variable).map_or(standard, PathBuf::from);
        let standard = Self::below(Path::new("/"));
        Self {
            run: path("USNET_RUN_DIR", standard.run),
            state: path("USNET_STATE_DIR", standard.state),
            kubelet: path("USNET_KUBELET_DIR", standard.kubelet),
            device_info: path("USNET_DEVICE_INFO_DIR", standard.device_info),
            cdi: path("USNET_CDI_DIR", standard.cdi),
            processes: path("USNET_PROCESSES_DIR", standard.processes),
            sysfs: path("USNET_SYSFS_DIR", standard.sysfs),
            legacy_root: path("USNET_OLDER_PLUGIN_ROOT", standard.legacy_root),
            cni_configurations: standard.cni_configurations,
            engine_sockets: EngineKind::ALL
                .into_iter()
                .filter_map(|engine| Some((engine, env::var_os(engine.traits().socket_variable)?.into())))
                .collect(),
            network_namespace: None,
        }
    }

    /// The default paths of a node whose file system begins at `root`.
    pub fn below(root: &Path) -> Self {
        Self {
            run: root.join("run/usnet"),
            state: root.join("var/lib/usnet"),
            kubelet: root.join("var/lib/kubelet"),
            device_info: root.join("var/run/k8s.cni.cncf.io/devinfo/cni"),
            cdi: root.join("var/run/cdi"),
            processes: "/proc".into(),
            sysfs: "/sys".into(),
            legacy_root: root.to_owned(),
            cni_configurations: ["etc/cni/net.d", "etc/cni/multus/net.d"].map(|folder| root.join(folder)).into(),
            engine_sockets: EngineKind::ALL.map(|engine| (engine, root.join(engine.traits().socket))).into(),
            network_namespace: None,
        }
    }

    /// Sets another socket of an engine.
    #[must_use]
    pub fn with_socket(mut self, engine: EngineKind, socket: impl Into<PathBuf>) -> Self {
        self.engine_sockets.insert(engine, socket.into());
        self
    }

    /// Sets another network namespace for devices.
    #[must_use]
    pub fn with_network_namespace(self, namespace: impl Into<PathBuf>) -> Self {
        Self { network_namespace: Some(namespace.into()), ..self }
    }

    /// The control socket of an engine.
    pub fn engine_socket(&self, engine: EngineKind) -> PathBuf {
        let standard = || Path::new("/").join(engine.traits().socket);
        self.engine_sockets.get(&engine).cloned().unwrap_or_else(standard)
    }

    /// The status files of networks: programmed, or why not.
    pub fn networks(&self) -> PathBuf {
        self.run.join("networks")
    }

    /// The pods' directories as seen by the engine.
    pub fn ports(&self) -> PathBuf {
        self.run.join("ports")
    }

    /// The sockets and locks of captures.
    pub fn captures(&self) -> PathBuf {
        self.run.join("capture")
    }

    /// The directories of devices that the kubelet allocated to pods.
    pub fn devices(&self) -> PathBuf {
        self.run.join("devices")
    }

    /// The kubelet's directory for the sockets of device plugins and its device allocations.
    pub fn kubelet_device_plugins(&self) -> PathBuf {
        self.kubelet.join("device-plugins")
    }

    /// The kubelet's directory for the sockets of plugins.
    pub fn kubelet_plugins(&self) -> PathBuf {
        self.kubelet.join("plugins")
    }

    /// The kubelet's directory in which plugins register themselves.
    pub fn kubelet_plugins_registry(&self) -> PathBuf {
        self.kubelet.join("plugins_registry")
    }

    /// The records of prepared resource claims.
    pub fn claims(&self) -> PathBuf {
        self.state.join("claims")
    }

    /// The directories of ports of resource claims, which are mounted into containers.
    pub fn claim_folders(&self) -> PathBuf {
        self.run.join("claims")
    }

    /// The directories of files about devices of resource claims, which are mounted into
    /// containers.
    pub fn claim_metadata(&self) -> PathBuf {
        self.run.join("claim-metadata")
    }

    pub fn attachments(&self) -> PathBuf {
        self.state.join("attachments")
    }

    /// Finds attachment records by their pods and addresses.
    pub fn index(&self) -> PathBuf {
        self.state.join("index")
    }

    /// The networks that the agent last selected.
    pub fn node_file(&self) -> PathBuf {
        self.state.join("node.json")
    }

    /// A copy of the policies that the agent enforces.
    pub fn policies_file(&self) -> PathBuf {
        self.state.join("policies.json")
    }

    /// Why networks are not on this node.
    pub fn unselected_file(&self) -> PathBuf {
        self.run.join("unselected.json")
    }

    /// The host directories that NADs of the legacy userspace CNI may use.
    pub fn shared_dirs_file(&self) -> PathBuf {
        self.run.join("shared-dirs.json")
    }

    /// What network configurations may request of IPAM.
    pub fn definition_ipam_file(&self) -> PathBuf {
        self.run.join("definition-ipam.json")
    }

    /// The node status of the agent, as reported to the API server.
    pub fn state_file(&self) -> PathBuf {
        self.run.join("state.json")
    }

    /// The last changes that the agent applied.
    pub fn history_file(&self) -> PathBuf {
        self.state.join("history.jsonl")
    }

    /// What the agent has switched off at the NICs of an engine. The kernel forgets it at a reboot
    /// as well.
    pub fn nic_offloads_file(&self, engine: EngineKind) -> PathBuf {
        self.run.join(format!("nics-{}.json", engine.traits().api_name.to_lowercase()))
    }

    /// The NICs that the agent has taken from their drivers for an engine, which a reboot undoes as
    /// well.
    pub fn bound_nics_file(&self, engine: EngineKind) -> PathBuf {
        self.run.join(format!("bound-nics-{}.json", engine.traits().api_name.to_lowercase()))
    }

    pub fn sandboxes(&self) -> PathBuf {
        self.run.join("sandboxes")
    }

    /// Where the agent requests mounts of devices.
    pub fn device_mounts_socket(&self) -> PathBuf {
        self.run.join("device-mounts.sock")
    }

    /// Where the agent requests calls of the CNI plugin.
    pub fn attach_socket(&self) -> PathBuf {
        self.run.join("attach.sock")
    }

    /// The last calls of the CNI plugin.
    pub fn calls_file(&self) -> PathBuf {
        self.run.join("calls.jsonl")
    }

    /// What was collected last because no living pod owns it.
    pub fn garbage_file(&self) -> PathBuf {
        self.state.join("garbage.jsonl")
    }
}
