//! The state that the threads of a start share, and their errors.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engines::open_vswitch::OpenVSwitchError;
use crate::engines::vpp::VppError;
use crate::host::cgroups::CgroupError;
use crate::host::command::CommandError;
use crate::host::component::ComponentError;
use crate::kubernetes::certificates::Authority;
use crate::kubernetes::certificates::CertificateError;
use crate::kubernetes::control_plane::ControlPlaneError;
use crate::kubernetes::images::error::ArchiveError;
use crate::kubernetes::install::InstallError;
use crate::kubernetes::kubelet::KubeletError;
use crate::nodes::node::NodeError;
use crate::nodes::pod_network::PodNetworkError;
use crate::processes::control::Components;
use crate::processes::user_command::UserCommandError;
use crate::testbed::folder::TestbedFolder;
use crate::testbed::settings::{Settings, SettingsError};

/// The exit status of a test bed that did not start.
pub(crate) const NOT_STARTED: u8 = 125;

#[derive(Debug, thiserror::Error)]
pub(crate) enum OrchestratorError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot prepare the test bed's folder {0}")]
    Folder(PathBuf, #[source] io::Error),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    ControlPlane(#[from] ControlPlaneError),
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Component(#[from] ComponentError),
    #[error("cannot build the images of the test bed")]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Kubelet(#[from] KubeletError),
    #[error("cannot set up Open vSwitch")]
    OpenVSwitch(#[from] OpenVSwitchError),
    #[error("cannot set up VPP")]
    Vpp(#[from] VppError),
    #[error("cannot set up the network of pods")]
    PodNetwork(#[from] PodNetworkError),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error(transparent)]
    UserCommand(#[from] UserCommandError),
    #[error("cannot serve {0}")]
    Control(PathBuf, #[source] io::Error),
    #[error("a thread of the test bed's start panicked; its message is above")]
    Panic,
}

/// The parameters of every thread of the start.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) folder: TestbedFolder,
    pub(crate) settings: Settings,
    pub(crate) authority: Authority,
    pub(crate) components: Arc<Components>,
}
