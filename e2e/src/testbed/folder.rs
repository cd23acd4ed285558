//! The folder with all files of a test bed, which is removed at its end.

use std::path::{Path, PathBuf};

/// The folder of one test bed. Its name is the id of the test bed, which is also the name of its
/// cgroups.
#[derive(Clone, Debug)]
pub struct TestbedFolder {
    root: PathBuf,
}

impl TestbedFolder {
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the id of the test bed, such as `usnet-Xa31bq`.
    #[must_use]
    pub fn id(&self) -> String {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the file of [`crate::testbed::settings::Settings`].
    #[must_use]
    pub fn settings(&self) -> PathBuf {
        self.root.join("settings.json")
    }

    /// Returns the folder of programs on the PATH of the user's command.
    #[must_use]
    pub fn programs(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Returns the folder with the logs of all programs.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Returns the audit log of the API server ([`crate::kubernetes::audit`]).
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.logs().join("audit.log")
    }

    /// Returns the TMPDIR of programs.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        self.root.join("certificates")
    }

    /// Returns the administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.root.join("kubeconfig")
    }

    /// Returns the unix socket for the requests of `component`.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.root.join("control.sock")
    }

    /// Returns the network namespace of the host outside of the cluster.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// Returns the folder of one node.
    #[must_use]
    pub fn node(&self, name: &str) -> PathBuf {
        self.root.join("nodes").join(name)
    }

    /// Returns the upper layer of a node's copy of `/etc`, `/opt` or `/var`.
    #[must_use]
    pub fn node_copy_of(&self, node: &str, top: &str) -> PathBuf {
        self.node(node).join(top).join("upper")
    }
}
