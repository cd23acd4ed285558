//! Which devices of the node have to be isolated from it. No IO.

use super::model::LinkOwner;
use crate::isolation::{Guard, NicGuard};
use crate::model::attachment::AttachmentId;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::EngineKind;

/// A device of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDevice {
    /// Its index.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeDeviceKind,
    /// Its alias.
    pub alias: Option<String>,
    /// Whether it is up.
    pub is_up: bool,
    /// Whether it has the settings of [`crate::isolation::settings`].
    pub has_settings: bool,
}

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeDeviceKind {
    /// One end of a veth pair.
    Veth,
    /// A VXLAN device.
    Vxlan,
    /// Anything else.
    Other,
}

impl NodeDevice {
    /// The attachment of a pod that it is the node's end of.
    pub fn attachment(&self) -> Option<AttachmentId> {
        let alias = self.alias.as_deref().filter(|_| self.kind == NodeDeviceKind::Veth)?;
        alias.strip_prefix("usnet:")?.parse().ok()
    }

    /// Whether usnet made it as a port of an engine.
    pub fn is_port(&self) -> bool {
        let is_overlay = || self.alias.as_deref().is_some_and(|alias| alias.parse::<LinkOwner>().is_ok());
        self.attachment().is_some() || (self.kind == NodeDeviceKind::Vxlan && is_overlay())
    }
}

/// Devices of the node that engines have as ports although usnet did not make them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LentDevices {
    /// By engine. Of an engine that is not here it is not known what it has.
    pub engines: BTreeMap<EngineKind, EngineDevices>,
}

/// Those of one engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineDevices {
    /// NICs by their index.
    pub nics: BTreeMap<u32, NicGuard>,
    /// Names of bridges of Open vSwitch: the device of this name leads into the bridge.
    pub bridges: BTreeSet<String>,
}

impl EngineDevices {
    fn guard(&self, engine: EngineKind, device: &NodeDevice) -> Option<Guard> {
        let frames = match self.nics.get(&device.index) {
            Some(frames) => frames.clone(),
            None if self.bridges.contains(&device.name) => NicGuard::All,
            None => return None,
        };
        Some(Guard::borrowed(engine, &device.name, frames))
    }
}

impl LentDevices {
    /// The chains that the devices of the node should have.
    pub(super) fn guards(&self, devices: &[NodeDevice]) -> Vec<Guard> {
        let guard = |device: &NodeDevice| {
            if device.is_port() {
                return Some(Guard::port(&device.name));
            }
            self.engines.iter().find_map(|(engine, devices)| devices.guard(*engine, device))
        };
        devices.iter().filter_map(guard).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, kind: NodeDeviceKind, alias: Option<&str>) -> NodeDevice {
        let alias = alias.map(str::to_owned);
        NodeDevice { index: 7, name: name.to_owned(), kind, alias, is_up: true, has_settings: true }
    }

    #[test]
    fn devices_that_usnet_made_are_known_by_kind_and_alias() {
        use NodeDeviceKind::{Other, Veth, Vxlan};
        let veth = device("vhu1", Veth, Some("usnet:c1.net1"));
        assert_eq!(veth.attachment(), "c1.net1".parse().ok());
        assert!(veth.is_port() && device("v", Vxlan, Some("usnet OVS blue")).is_port());
        for other in [
            device("eth0", Other, Some("usnet:c1.net1")),
            device("veth0", Veth, Some("usnet OVS blue")),
            device("vxlan0", Vxlan, Some("cni0")),
            device("veth1", Veth, None),
        ] {
            assert!(!other.is_port(), "{other:?}");
        }
    }

    #[test]
    fn nics_are_known_by_their_index_and_bridges_by_their_name() {
        let nics = [(7, NicGuard::All)].into();
        let devices = EngineDevices { nics, bridges: ["br-blue".to_owned()].into() };
        let lent = LentDevices { engines: [(EngineKind::OpenVswitch, devices)].into() };
        let tap = NodeDevice { index: 8, ..device("br-blue", NodeDeviceKind::Other, None) };
        let other = NodeDevice { index: 9, ..device("eth1", NodeDeviceKind::Other, None) };
        let nic = device("renamed", NodeDeviceKind::Other, None);
        let guards = lent.guards(&[tap, other, nic]);
        let borrowed = |device| Guard::borrowed(EngineKind::OpenVswitch, device, NicGuard::All);
        assert_eq!(guards, ["br-blue", "renamed"].map(borrowed));
    }
}
