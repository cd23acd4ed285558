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
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::journal;
use usnet_dataplane::memif::InvalidSocket;

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
    /// The attachment exists.
    #[error(
        "interface {} of sandbox {} is attached already: the runtime must call DEL before it calls ADD again",
        .0.interface, .0.container
    )]
    AlreadyAttached(AttachmentId),
    /// CHECK found differences.
    #[error(
        "interface {} of sandbox {} is not as it was attached: {}. The agent repairs what it can; if this stays, delete the pod so that it is made anew",
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
    #[error("cannot tell which folders \"sharedDir\" may name")]
    SharedDirs(#[source] atomic_file::Error),
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
    #[error("{cause}; what was done so far could not be undone yet and is cleaned up later")]
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
        let code = match self {
            Self::Ipam(IpamError::Rejected { code, .. }) => return *code,
            Self::RollbackFailed { cause, .. } | Self::NetworkSelectionElement { cause, .. } => return cause.code(),
            Self::Annotation(AnnotationError::Configuration(error)) => configuration_code(error),
            Self::Annotation(_) => ErrorCode::InvalidConfiguration,
            Self::Input(error) => error.code(),
            Self::Environment(_) => ErrorCode::InvalidEnvironment,
            Self::PodRequest(error) => pod_request_code(error),
            Self::Configuration(error) => configuration_code(error),
            Self::Admission(error) => admission_code(error),
            Self::AlreadyAttached(_) => ErrorCode::AlreadyAttached,
            Self::CheckFailed { .. } => ErrorCode::CheckFailed,
            Self::StatusFailed { code, .. } => *code,
            Self::AddressInUse(_) => ErrorCode::InvalidConfiguration,
            Self::DeviceAllocation(error) => device_allocation_code(error),
            Self::PodDirectory(error) => pod_directory_code(error),
            Self::SharedDir(SharedDirError::Create { .. }) => ErrorCode::IoFailure,
            Self::SharedDir(_) => ErrorCode::PodVolume,
            Self::Port(error) => port_code(error),
            Self::Ipam(error) => ipam_code(error),
            Self::Interface(error) => interface_code(error),
            Self::EngineClient(error) => engine_client_code(error),
            Self::Journal(journal::Error::Busy(_)) => ErrorCode::TryAgainLater,
            Self::Journal(_) | Self::DeviceInfo(_) | Self::LegacyState(_) | Self::SharedDirs(_) => ErrorCode::IoFailure,
        };
        code.number()
    }

    /// The error as the specification writes it.
    pub fn reply(&self, version: SpecVersion) -> ErrorReply {
        ErrorReply { version, code: self.code(), msg: self.to_string(), details: self.details() }
    }

    /// The chain of causes.
    fn details(&self) -> String {
        match self {
            Self::Ipam(IpamError::Rejected { details, .. }) => details.clone(),
            Self::StatusFailed { cause, .. } | Self::NetworkSelectionElement { cause, .. } => cause.details(),
            Self::RollbackFailed { cause, left } => {
                let parts = [cause.details(), format!("not undone: {left}"), left.details()];
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

/// The texts of all causes, the nearest first.
pub fn causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn configuration_code(error: &ConfigurationError) -> ErrorCode {
    match error {
        ConfigurationError::NotAnObject(_) => ErrorCode::DecodingFailure,
        ConfigurationError::Version(_) | ConfigurationError::VerbNotInVersion { .. } => ErrorCode::IncompatibleVersion,
        ConfigurationError::MutuallyExclusive(_) => ErrorCode::UnsupportedField,
        ConfigurationError::WrongType { .. }
        | ConfigurationError::Name(_)
        | ConfigurationError::Missing { .. }
        | ConfigurationError::Network(_)
        | ConfigurationError::Legacy(_) => ErrorCode::InvalidConfiguration,
    }
}

fn pod_request_code(error: &PodRequestError) -> ErrorCode {
    const CNI_ARGS: &str = "CNI_ARGS";
    match error {
        PodRequestError::Configuration(error) => configuration_code(error),
        PodRequestError::Mac { requested_by: CNI_ARGS, .. }
        | PodRequestError::Address { requested_by: CNI_ARGS, .. } => ErrorCode::InvalidEnvironment,
        PodRequestError::Mac { .. }
        | PodRequestError::Address { .. }
        | PodRequestError::NoPrefix { .. }
        | PodRequestError::DefaultRoute(_)
        | PodRequestError::DefaultRoutes(_)
        | PodRequestError::Rate(_) => ErrorCode::InvalidConfiguration,
        PodRequestError::Unsupported { .. } => ErrorCode::UnsupportedField,
    }
}

fn admission_code(error: &AdmissionError) -> ErrorCode {
    match error {
        AdmissionError::Unknown(_) | AdmissionError::NoBridge { .. } | AdmissionError::Unavailable { .. } => {
            ErrorCode::TryAgainLater
        }
        AdmissionError::SettingMismatch { .. } => ErrorCode::InvalidConfiguration,
        AdmissionError::Draining(_) => ErrorCode::NetworkDraining,
        AdmissionError::Namespace { .. } => ErrorCode::NamespaceNotAllowed,
        AdmissionError::File(_) => ErrorCode::IoFailure,
    }
}

fn device_allocation_code(error: &DeviceAllocationError) -> ErrorCode {
    match error {
        DeviceAllocationError::Configuration(error) => configuration_code(error),
        DeviceAllocationError::DeviceNotAllocatedToPod { .. } | DeviceAllocationError::InUse { .. } => {
            ErrorCode::InvalidConfiguration
        }
        DeviceAllocationError::NoDeviceOrVolume { .. } => ErrorCode::PodVolume,
        DeviceAllocationError::Read { .. } | DeviceAllocationError::Format { .. } => ErrorCode::IoFailure,
    }
}

fn pod_directory_code(error: &PodDirectoryError) -> ErrorCode {
    match error {
        PodDirectoryError::NoVolume { .. }
        | PodDirectoryError::NotADirectory(_)
        | PodDirectoryError::PathOccupied { .. } => ErrorCode::PodVolume,
        PodDirectoryError::Busy(_) => ErrorCode::TryAgainLater,
        PodDirectoryError::File { .. } | PodDirectoryError::NosymfollowUnsupported | PodDirectoryError::Journal(_) => {
            ErrorCode::IoFailure
        }
    }
}

fn port_code(error: &PortError) -> ErrorCode {
    match error {
        PortError::NetworkNamespace { .. }
        | PortError::Tag(_)
        | PortError::MemifSocket(InvalidSocket::Character { .. }) => ErrorCode::InvalidEnvironment,
        PortError::UnsupportedByEngine { .. } | PortError::SharedSocket { .. } => ErrorCode::InvalidConfiguration,
        PortError::SocketPath(_) | PortError::MemifSocket(_) | PortError::NoRandomBytes(_) => ErrorCode::IoFailure,
        PortError::Secret(_) => ErrorCode::Internal,
    }
}

fn interface_code(error: &InterfaceError) -> ErrorCode {
    match error {
        InterfaceError::Namespace { .. } | InterfaceError::NodeNamespace(_) => ErrorCode::InvalidEnvironment,
        InterfaceError::Exists(_) => ErrorCode::InterfaceExists,
        InterfaceError::DeviceExists(_) => ErrorCode::PortRejected,
        InterfaceError::Gone(_) => ErrorCode::TryAgainLater,
        InterfaceError::Kernel { .. } | InterfaceError::Ipv6 { .. } => ErrorCode::IoFailure,
    }
}

fn ipam_code(error: &IpamError) -> ErrorCode {
    match error {
        IpamError::NoType | IpamError::NeedsInterface(_) => ErrorCode::InvalidConfiguration,
        IpamError::NoFolders(..) => ErrorCode::InvalidEnvironment,
        IpamError::Run { .. } => ErrorCode::IoFailure,
        IpamError::Undecodable(..) => ErrorCode::DecodingFailure,
        IpamError::NotInstalled { .. }
        | IpamError::TimedOut { .. }
        | IpamError::Rejected { .. }
        | IpamError::Failed { .. }
        | IpamError::StaticIpNotAssigned { .. }
        | IpamError::NoAddress(_) => ErrorCode::IpamFailed,
    }
}

fn engine_client_code(error: &EngineClientError) -> ErrorCode {
    let EngineClientError::Operation(error) = error else { return ErrorCode::TryAgainLater };
    match error {
        // The agent recreates the bridge, and removes orphaned ports.
        OpError::BridgeMissing { .. }
        | OpError::PortMissing { .. }
        | OpError::PortDiffers { .. }
        | OpError::SocketInUse { .. } => ErrorCode::TryAgainLater,
        OpError::Foreign { .. }
        | OpError::BridgeUnusable { .. }
        | OpError::BridgeInUse { .. }
        | OpError::NoSocketId { .. }
        | OpError::TagTooLong(_)
        | OpError::Refused { .. } => ErrorCode::PortRejected,
    }
}
