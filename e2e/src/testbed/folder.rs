//! Where a test bed keeps its things: one folder, removed when the test bed ends.

use std::path::{Path, PathBuf};

/// The folder of one test bed. Its last path component is the test bed's id, which its cgroups
/// carry too.
#[derive(Clone, Debug)]
pub struct TestbedFolder {
    root: PathBuf,
}

impl TestbedFolder {
    /// The test bed that lives in `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What tells this test bed from others on the machine, such as `usnet-Xa31bq`.
    #[must_use]
    pub fn id(&self) -> String {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// What the user asked for ([`crate::testbed::settings::Settings`]).
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// Programs that the user's command finds on its PATH.
    #[must_use]
    pub fn programs(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// One log file for each program of the test bed.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Who asked the API server for what ([`crate::kubernetes::audit`]).
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    /// TMPDIR of the test bed's programs.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Certificates and keys.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.root.join("certificates")
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// The unix socket on which `component` asks for programs to be stopped and started.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.root.join("control.sock")
    }

    /// The network namespace of the host outside of the cluster.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// Data of one node.
    #[must_use]
    pub fn node(&self, name: &str) -> PathBuf {
        self.root.join("nodes").join(name)
    }

    /// The upper layer of a node's own copy of `/etc`, `/opt` or `/var`.
    #[must_use]
    pub fn node_copy_of(&self, node: &str, top: &str) -> PathBuf {
        self.node(node).join(top).join("upper")
    }
}
