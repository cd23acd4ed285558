//! A tap device in the network namespace of a pod.

use crate::model::attachment::InterfaceName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// The longest path of a network namespace, in bytes: VPP would truncate it.
const NAMESPACE_MAX: usize = 63;

/// The device that the engine creates for a pod: an interface of the pod's kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TapDevice {
    /// Its name in the pod.
    pub interface: InterfaceName,
    /// The pod's network namespace, as the engine sees it.
    pub namespace: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path of the network namespace {0:?} has more than {NAMESPACE_MAX} bytes, which VPP would truncate")]
pub struct NamespacePathTooLong(PathBuf);

impl TapDevice {
    /// # Errors
    /// The engine would not find the namespace.
    pub fn new(interface: &InterfaceName, namespace: &Path) -> Result<Self, NamespacePathTooLong> {
        if namespace.as_os_str().len() > NAMESPACE_MAX {
            return Err(NamespacePathTooLong(namespace.to_owned()));
        }
        Ok(Self { interface: interface.clone(), namespace: namespace.to_owned() })
    }

    /// The device that an engine reports; `None` for one that usnet would not create.
    pub fn observed(name: &str, namespace: &str) -> Option<Self> {
        let namespace = Path::new(namespace);
        let device = Self::new(&name.parse().ok()?, namespace).ok()?;
        namespace.is_absolute().then_some(device)
    }

    /// What identifies a device on a node.
    pub fn endpoint(name: &str, namespace: &str) -> String {
        format!("{name} in {namespace}")
    }
}

impl fmt::Display for TapDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&Self::endpoint(self.interface.as_str(), &self.namespace.to_string_lossy()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_that_would_be_truncated_is_refused() {
        let interface: InterfaceName = "net1".parse().unwrap();
        let path = |length: usize| PathBuf::from(format!("/{}", "n".repeat(length - 1)));
        assert_eq!(TapDevice::new(&interface, &path(63)).unwrap().namespace, path(63));
        assert!(TapDevice::new(&interface, &path(64)).is_err());
    }

    #[test]
    fn only_a_device_at_a_path_is_one_of_usnet() {
        assert_eq!(TapDevice::observed("net1", "/run/netns/a").unwrap().to_string(), "net1 in /run/netns/a");
        assert!(TapDevice::observed("tap0", "").is_none(), "it is in VPP's own namespace");
        assert!(TapDevice::observed("tap0", "blue").is_none());
    }
}
