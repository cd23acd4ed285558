//! The errors of all verbs, and their CNI codes.

use crate::attachment::admission::AdmissionError;
use crate::attachment::engine::EngineClientError;
use crate::attachment::interface::InterfaceError;
use crate::attachment::ipam::IpamError;
use crate::attachment::pod_directory::PodDirectoryError;
use crate::attachment::pod_files::device_info::DeviceInfoError;
use crate::attachment::port::PortError;
use crate::attachment::request::device_allocation::DeviceAllocationError;
use crate::attachment::request::pod_request::PodRequestError;
use crate::attachment::request::static_ips::AddressInUse;
use crate::legacy::shared_dir::SharedDirError;
use crate::legacy::state::LegacyStateError;
use crate::protocol::configuration::ConfigurationError;
use crate::protocol::environment::EnvironmentError;
use crate::protocol::error::{ErrorCode, ErrorReply};
use crate::protocol::input::InputError;
use crate::protocol::network_selection::annotation::AnnotationError;
use crate::protocol::version::SpecVersion;
use crate::verbs::multi_network::claims::ClaimsError;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::journal;

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Standard input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The environment.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The configuration.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The networks that a pod lists.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// The ports of the pod's resource claims.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
    /// One of the networks that the pod selects.
    #[error("{place} of the pod: {cause}")]
    NetworkSelectionElement {
        /// Which.
        place: String,
        /// Why not. Not the source: its own text and causes come first.
        cause: Box<Error>,
    },
    /// The pod's requests.
    #[error(transparent)]
    PodRequest(#[from] PodRequestError),
    /// The pod may not attach.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// The attachment exists, from an ADD with other parameters.
    #[error(
        "interface {} of sandbox {} is already attached, with other parameters ({}): the runtime must call DEL before it calls ADD again",
        id.interface, id.container, differences.join(", ")
    )]
    AlreadyAttached {
        /// The attachment.
        id: AttachmentId,
        /// The parameters that differ.
        differences: Vec<&'static str>,
    },
    /// CHECK found differences.
    #[error(
        "interface {} of sandbox {} differs from its ADD result: {}. The agent repairs what it can; if a difference remains, delete the pod so that it is recreated",
        id.interface, id.container, differences.join("; ")
    )]
    CheckFailed {
        /// The attachment.
        id: AttachmentId,
        /// The differences.
        differences: Vec<String>,
    },
    /// ADD would fail now.
    #[error("pods cannot be attached now: {cause}")]
    StatusFailed {
        /// The code, which says whether attached pods are affected.
        code: ErrorCode,
        /// Why. Not the source: its own text and causes come first.
        cause: Box<Error>,
    },
    /// An address that is reserved for the pod is in use by another interface.
    #[error(transparent)]
    AddressInUse(#[from] Box<AddressInUse>),
    /// The pod's device.
    #[error(transparent)]
    DeviceAllocation(#[from] DeviceAllocationError),
    /// The pod's directory.
    #[error(transparent)]
    PodDirectory(#[from] PodDirectoryError),
    /// The port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The file with device information.
    #[error(transparent)]
    DeviceInfo(#[from] DeviceInfoError),
    /// IPAM.
    #[error(transparent)]
    Ipam(#[from] IpamError),
    /// The interface in the pod's kernel.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The `sharedDir` of a legacy configuration.
    #[error(transparent)]
    SharedDir(#[from] SharedDirError),
    /// The folders that the agent allows.
    #[error("cannot read which folders \"sharedDir\" may name")]
    SharedDirs(#[source] atomic_file::Error),
    /// What network configurations may request of IPAM.
    #[error("cannot read which IPAM plugins network configurations may name")]
    DefinitionIpam(#[source] atomic_file::Error),
    /// An attachment of the legacy plugin.
    #[error(transparent)]
    LegacyState(LegacyStateError),
    /// The engine.
    #[error(transparent)]
    EngineClient(#[from] EngineClientError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// An attachment failed, and part of it is still there.
    #[error("{cause}; the rollback did not complete, and the rest is cleaned up later")]
    RollbackFailed {
        /// Why it failed. Not the source: its own text and causes come first.
        cause: Box<Error>,
        /// Why the rollback failed.
        #[source]
        left: Box<Error>,
    },
}

impl Error {
    /// An error of STATUS.
    pub(crate) fn status_failed(code: ErrorCode, cause: impl Into<Self>) -> Self {
        Self::StatusFailed { code, cause: Box::new(cause.into()) }
    }

    /// The CNI code.
    pub fn code(&self) -> u32 {
        match self {
            Self::Ipam(error) => error.number(),
            Self::RollbackFailed { cause, .. } | Self::NetworkSelectionElement { cause, .. } => cause.code(),
            other => other.error_code().number(),
        }
    }

    fn error_code(&self) -> ErrorCode {
        match self {
            Self::RollbackFailed { cause, .. } | Self::NetworkSelectionElement { cause, .. } => cause.error_code(),
            Self::Annotation(error) => error.code(),
            Self::Claims(error) => error.code(),
            Self::Input(error) => error.code(),
            Self::Environment(_) => ErrorCode::InvalidEnvironment,
            Self::PodRequest(error) => error.code(),
            Self::Configuration(error) => error.code(),
            Self::Admission(error) => error.code(),
            Self::AlreadyAttached { .. } => ErrorCode::AlreadyAttached,
            Self::CheckFailed { .. } => ErrorCode::CheckFailed,
            Self::StatusFailed { code, .. } => *code,
            Self::AddressInUse(_) => ErrorCode::InvalidConfiguration,
            Self::DeviceAllocation(error) => error.code(),
            Self::PodDirectory(error) => error.code(),
            Self::SharedDir(error) => error.code(),
            Self::Port(error) => error.code(),
            Self::Ipam(error) => error.code(),
            Self::Interface(error) => error.code(),
            Self::EngineClient(error) => error.code(),
            Self::Journal(journal::Error::Busy(_)) => ErrorCode::TryAgainLater,
            Self::Journal(_)
            | Self::DeviceInfo(_)
            | Self::LegacyState(_)
            | Self::SharedDirs(_)
            | Self::DefinitionIpam(_) => ErrorCode::IoFailure,
        }
    }

    /// The error as the specification writes it.
    pub fn reply(&self, version: SpecVersion) -> ErrorReply {
        ErrorReply::new(version, self.code(), self.reason(), &self.to_string(), self.details())
    }

    /// What is wrong in one word: the code's or, where one code has several causes, a closer one.
    fn reason(&self) -> &str {
        match self {
            Self::Admission(error) => error.reason(),
            Self::PodDirectory(PodDirectoryError::NoVolume { .. }) => "NoVolume",
            Self::DeviceAllocation(DeviceAllocationError::NoDeviceOrVolume { .. }) => "NoDeviceOrVolume",
            Self::RollbackFailed { cause, .. }
            | Self::NetworkSelectionElement { cause, .. }
            | Self::StatusFailed { cause, .. } => cause.reason(),
            other => other.error_code().reason(),
        }
    }

    /// The chain of causes.
    fn details(&self) -> String {
        match self {
            Self::Ipam(IpamError::Rejected { details, .. }) => details.clone(),
            Self::StatusFailed { cause, .. } | Self::NetworkSelectionElement { cause, .. } => cause.details(),
            Self::RollbackFailed { cause, left } => {
                let parts = [cause.details(), format!("not rolled back: {left}"), left.details()];
                parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ")
            }
            _ => causes(self),
        }
    }
}

impl From<LegacyStateError> for Error {
    /// The errors of its engine and its IPAM plugin are reported as those of any attachment.
    fn from(error: LegacyStateError) -> Self {
        match error {
            LegacyStateError::Engine(error) => error.into(),
            LegacyStateError::Ipam(error) => error.into(),
            file @ LegacyStateError::File { .. } => Self::LegacyState(file),
        }
    }
}

/// An error with its causes, on one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = causes(error);
    if causes.is_empty() { error.to_string() } else { format!("{error}: {causes}") }
}

/// The texts of all causes, the nearest first.
pub fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
