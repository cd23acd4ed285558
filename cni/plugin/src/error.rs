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
use crate::attachment::server_socket::ServerSocketError;
use crate::legacy::shared_dir::SharedDirError;
use crate::legacy::state::LegacyStateError;
use crate::protocol::configuration::ConfigurationError;
use crate::protocol::environment::EnvironmentError;
use crate::protocol::error::{ErrorCode, ErrorReply};
use crate::protocol::input::InputError;
use crate::protocol::network_selection::annotation::AnnotationError;
use crate::protocol::version::SpecVersion;
use crate::verbs::multi_network::claims::ClaimsError;
use usnet_crds::cni_error;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::journal;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    #[error(transparent)]
    Claims(#[from] ClaimsError),
    /// One of the networks that the pod selects cannot be attached. The cause is not the source:
    /// its own text and causes come first.
    #[error("{requested_by} of the pod: {cause}")]
    NetworkSelectionElement {
        /// The element of the annotation, or the request of the resource claim.
        requested_by: String,
        cause: Box<Error>,
    },
    #[error(transparent)]
    PodRequest(#[from] PodRequestError),
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// The attachment exists, from an ADD with other parameters.
    #[error(
        "interface {} of sandbox {} is already attached, with other parameters ({}): the runtime must call DEL before it calls ADD again",
        id.interface, id.container, differences.join(", ")
    )]
    AlreadyAttached { id: AttachmentId, differences: Vec<&'static str> },
    #[error(
        "interface {} of sandbox {} differs from its ADD result: {}. The agent repairs what it can; if a difference remains, delete the pod so that it is recreated",
        id.interface, id.container, differences.join("; ")
    )]
    CheckFailed { id: AttachmentId, differences: Vec<String> },
    /// ADD would fail now. The cause is not the source: its own text and causes come first.
    #[error("pods cannot be attached now: {cause}")]
    StatusFailed {
        /// Whether attached pods are affected.
        code: ErrorCode,
        cause: Box<Error>,
    },
    /// An address that is reserved for the pod is in use by another interface.
    #[error(transparent)]
    AddressInUse(#[from] Box<AddressInUse>),
    #[error(transparent)]
    DeviceAllocation(#[from] DeviceAllocationError),
    #[error(transparent)]
    PodDirectory(#[from] PodDirectoryError),
    #[error(transparent)]
    ServerSocket(#[from] ServerSocketError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    DeviceInfo(#[from] DeviceInfoError),
    #[error(transparent)]
    Ipam(#[from] IpamError),
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error(transparent)]
    SharedDir(#[from] SharedDirError),
    #[error("cannot read which folders \"sharedDir\" may name")]
    SharedDirs(#[source] atomic_file::Error),
    #[error("cannot read which IPAM plugins network configurations may name")]
    DefinitionIpam(#[source] atomic_file::Error),
    #[error(transparent)]
    LegacyState(LegacyStateError),
    #[error(transparent)]
    EngineClient(#[from] EngineClientError),
    #[error(transparent)]
    Journal(#[from] journal::Error),
    /// An attachment failed, and part of it is still there. The cause is not the source: its own
    /// text and causes come first.
    #[error("{cause}; the rollback did not complete, and the rest is cleaned up later")]
    RollbackFailed {
        cause: Box<Error>,
        #[source]
        left: Box<Error>,
    },
}

impl Error {
    pub(crate) fn status_failed(code: ErrorCode, cause: impl Into<Self>) -> Self {
        Self::StatusFailed { code, cause: Box::new(cause.into()) }
    }

    /// The CNI code; that of an IPAM plugin is passed on.
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
            Self::ServerSocket(error) => error.code(),
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

    /// The error in the specification's format.
    pub fn reply(&self, version: SpecVersion) -> ErrorReply {
        ErrorReply::new(version, self.code(), self.reason(), &self.to_string(), self.details())
    }

    /// The reason in one word: that of the code or, where one code has several causes, a closer
    /// one.
    fn reason(&self) -> &str {
        match self {
            Self::Admission(error) => error.reason(),
            Self::PodDirectory(PodDirectoryError::NoVolume { .. }) => cni_error::NO_VOLUME,
            Self::DeviceAllocation(DeviceAllocationError::NoDeviceOrVolume { .. }) => cni_error::NO_DEVICE_OR_VOLUME,
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
    /// Errors of the engine and of the IPAM plugin are reported as those of any attachment.
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
