//! The error of a CNI plugin: one JSON object on standard output. [`usnet_crds::cni_error`] says
//! for users what each code and reason means.

use crate::protocol::version::SpecVersion;
use serde::Serialize;
use usnet_crds::cni_error;

/// The `code` of an error. The specification defines the codes below 100, this plugin the others. A
/// code of the specification from an IPAM plugin is passed on unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum ErrorCode {
    /// The configuration's `cniVersion` is not supported.
    IncompatibleVersion = 1,
    /// The configuration has an unsupported setting; the message names the key and the value.
    UnsupportedField = 2,
    /// A variable of the environment is missing or invalid, or the verb is unknown; the message
    /// names the variable.
    InvalidEnvironment = 4,
    /// A file or program of the node could not be used.
    IoFailure = 5,
    /// Standard input, or the output of an IPAM plugin, is not the expected JSON.
    DecodingFailure = 6,
    /// The configuration is invalid.
    InvalidConfiguration = 7,
    /// The failure may be transient: the network is not programmed on this node yet, or the engine
    /// does not answer.
    TryAgainLater = 11,
    /// STATUS: pods cannot be attached now; attached pods are not affected.
    NotAvailable = 50,
    /// STATUS: pods cannot be attached now, and attached pods may have lost connectivity.
    LimitedConnectivity = 51,
    /// The pod's namespace may not attach to the network.
    NamespaceNotAllowed = 100,
    /// The network is being deleted.
    NetworkDraining = 101,
    /// The pod has no `usnet` volume, or occupies the path of one of our files in it.
    PodVolume = 102,
    /// The interface was attached before and not detached since.
    AlreadyAttached = 103,
    /// The engine rejected the port.
    PortRejected = 104,
    /// The IPAM plugin failed without a code of its own, or timed out.
    IpamFailed = 105,
    /// CHECK: the attachment differs from its ADD result; the message lists the differences.
    CheckFailed = 106,
    /// The pod has an interface of that name already.
    InterfaceExists = 107,
    /// The IPAM plugin has no address left.
    AddressesExhausted = 108,
    /// A defect of this plugin.
    Internal = 999,
}

impl ErrorCode {
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The name in CamelCase, for messages.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::IncompatibleVersion => cni_error::INCOMPATIBLE_VERSION,
            Self::UnsupportedField => cni_error::UNSUPPORTED_FIELD,
            Self::InvalidEnvironment => cni_error::INVALID_ENVIRONMENT,
            Self::IoFailure => cni_error::IO_FAILURE,
            Self::DecodingFailure => cni_error::DECODING_FAILURE,
            Self::InvalidConfiguration => cni_error::INVALID_CONFIGURATION,
            Self::TryAgainLater => cni_error::UNAVAILABLE,
            Self::NotAvailable => cni_error::NOT_AVAILABLE,
            Self::LimitedConnectivity => cni_error::LIMITED_CONNECTIVITY,
            Self::NamespaceNotAllowed => cni_error::NAMESPACE_NOT_ALLOWED,
            Self::NetworkDraining => cni_error::NETWORK_DRAINING,
            Self::PodVolume => cni_error::POD_VOLUME,
            Self::AlreadyAttached => cni_error::ALREADY_ATTACHED,
            Self::PortRejected => cni_error::PORT_REJECTED,
            Self::IpamFailed => cni_error::IPAM_FAILED,
            Self::CheckFailed => cni_error::CHECK_FAILED,
            Self::InterfaceExists => cni_error::INTERFACE_EXISTS,
            Self::AddressesExhausted => cni_error::ADDRESSES_EXHAUSTED,
            Self::Internal => cni_error::INTERNAL,
        }
    }
}

/// An error in the specification's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorReply {
    /// The version of the caller's configuration.
    #[serde(rename = "cniVersion")]
    pub version: SpecVersion,
    /// An [`ErrorCode`], or the code of an IPAM plugin.
    pub code: u32,
    /// The code and the reason, then the failure and the remedy in one or two sentences.
    pub msg: String,
    /// The chain of causes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details: String,
}

impl ErrorReply {
    /// An error whose message begins with its code and reason. kubelet shows it in an event, behind
    /// some 300 characters of the container runtime and of Multus, where users search for it.
    pub fn new(version: SpecVersion, code: u32, reason: &str, message: &str, details: String) -> Self {
        Self { version, code, msg: format!("usnet[{code} {reason}]: {message}"), details }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_documented_with_its_reason() {
        let codes = [
            ErrorCode::IncompatibleVersion,
            ErrorCode::UnsupportedField,
            ErrorCode::InvalidEnvironment,
            ErrorCode::IoFailure,
            ErrorCode::DecodingFailure,
            ErrorCode::InvalidConfiguration,
            ErrorCode::TryAgainLater,
            ErrorCode::NotAvailable,
            ErrorCode::LimitedConnectivity,
            ErrorCode::NamespaceNotAllowed,
            ErrorCode::NetworkDraining,
            ErrorCode::PodVolume,
            ErrorCode::AlreadyAttached,
            ErrorCode::PortRejected,
            ErrorCode::IpamFailed,
            ErrorCode::CheckFailed,
            ErrorCode::InterfaceExists,
            ErrorCode::AddressesExhausted,
            ErrorCode::Internal,
        ];
        for code in codes {
            let found = cni_error::find(code.number(), code.reason());
            assert!(found.is_some_and(|error| error.reason == code.reason()), "{code:?}");
        }
    }
}
