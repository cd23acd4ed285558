//! The errors of creating, comparing and removing an interface.

use crate::protocol::error::ErrorCode;
use std::io;
use std::path::PathBuf;
use usnet_dataplane::attachment::InterfaceName;
use usnet_dataplane::netlink::NetlinkError;
use usnet_dataplane::nftables::NftablesError;
use usnet_dataplane::port::DeviceName;

#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    #[error("CNI_NETNS is {}, which is not a network namespace that can be entered", path.display())]
    Namespace { path: PathBuf, source: io::Error },
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
    #[error(
        "device {0} disappeared while it was configured: the pod is being deleted, or another program deleted the device"
    )]
    Disappeared(String),
    #[error("cannot {action} {device}")]
    Kernel { action: &'static str, device: String, source: NetlinkError },
    /// The kernel has no nftables rules for devices.
    #[error(
        "this node's kernel cannot isolate device {0} from the node, and the pod could reach the node over it: load the modules nf_tables and nf_tables_netdev, or use a kernel with CONFIG_NF_TABLES_NETDEV"
    )]
    IsolationUnsupported(DeviceName),
    #[error("cannot isolate device {device} from the node, and the pod could reach the node over it")]
    NotIsolated { device: DeviceName, source: NftablesError },
    #[error("cannot enable IPv6 for interface {interface}")]
    Ipv6 { interface: InterfaceName, source: io::Error },
}

impl InterfaceError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Namespace { .. } | Self::NodeNamespace(_) => ErrorCode::InvalidEnvironment,
            Self::Exists(_) => ErrorCode::InterfaceExists,
            Self::DeviceExists(_) => ErrorCode::PortRejected,
            Self::Disappeared(_) => ErrorCode::TryAgainLater,
            Self::Kernel { .. } | Self::IsolationUnsupported(_) | Self::NotIsolated { .. } | Self::Ipv6 { .. } => {
                ErrorCode::IoFailure
            }
        }
    }

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
