//! Why an interface could not be created or removed.

use crate::protocol::error::ErrorCode;
use std::io;
use std::path::PathBuf;
use usnet_dataplane::attachment::InterfaceName;
use usnet_dataplane::netlink::NetlinkError;
use usnet_dataplane::nftables::NftablesError;
use usnet_dataplane::port::DeviceName;

/// Why an interface could not be created or removed.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// The pod's network namespace cannot be entered.
    #[error("CNI_NETNS is {}, which is not a network namespace that can be entered", path.display())]
    Namespace {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The pod has the node's network namespace.
    #[error(
        "CNI_NETNS is {}, the node's own network namespace: a pod with hostNetwork cannot have an interface of a network",
        .0.display()
    )]
    NodeNamespace(PathBuf),
    /// The name is in use in the pod.
    #[error(
        "the pod already has an interface {0}: set another interface name for the network in the pod's annotation k8s.v1.cni.cncf.io/networks"
    )]
    Exists(InterfaceName),
    /// The name is in use on the node.
    #[error("device {0} already exists on this node and is not owned by usnet; it was not changed: delete it")]
    DeviceExists(DeviceName),
    /// A device that existed before was removed.
    #[error(
        "device {0} disappeared while it was configured: the pod is being deleted, or another program deleted the device"
    )]
    Gone(String),
    /// The kernel returned an error.
    #[error("cannot {action} {device}")]
    Kernel {
        /// The operation.
        action: &'static str,
        /// On which device.
        device: String,
        /// Why not.
        source: NetlinkError,
    },
    /// The kernel has no rules for devices.
    #[error(
        "this node's kernel cannot isolate device {0} from the node, and the pod could reach the node over it: load the modules nf_tables and nf_tables_netdev, or use a kernel with CONFIG_NF_TABLES_NETDEV"
    )]
    IsolationUnsupported(DeviceName),
    /// The kernel did not make the rules for the device.
    #[error("cannot isolate device {device} from the node, and the pod could reach the node over it")]
    NotIsolated {
        /// The device.
        device: DeviceName,
        /// Why not.
        source: NftablesError,
    },
    /// IPv6 is disabled for the interface.
    #[error("cannot enable IPv6 for interface {interface}")]
    Ipv6 {
        /// The interface.
        interface: InterfaceName,
        /// Why not.
        source: io::Error,
    },
}

impl InterfaceError {
    /// The CNI code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Namespace { .. } | Self::NodeNamespace(_) => ErrorCode::InvalidEnvironment,
            Self::Exists(_) => ErrorCode::InterfaceExists,
            Self::DeviceExists(_) => ErrorCode::PortRejected,
            Self::Gone(_) => ErrorCode::TryAgainLater,
            Self::Kernel { .. } | Self::IsolationUnsupported(_) | Self::NotIsolated { .. } | Self::Ipv6 { .. } => {
                ErrorCode::IoFailure
            }
        }
    }

    /// Why a device could not be isolated.
    pub(super) fn not_isolated(device: &DeviceName, source: NftablesError) -> Self {
        match source {
            NftablesError::Unsupported => Self::IsolationUnsupported(device.clone()),
            source => Self::NotIsolated { device: device.clone(), source },
        }
    }
}

pub(super) fn failed(action: &'static str, device: &str) -> impl FnOnce(NetlinkError) -> InterfaceError + use<> {
    let device = device.to_owned();
    move |source| InterfaceError::Kernel { action, device, source }
}
