//! Which devices of the node have to be isolated from it. No IO.

use super::owner::LinkOwner;
use super::pair::{EndOwner, PairEnd};
use crate::isolation::{Guard, NicGuard};
use crate::model::attachment::AttachmentId;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::EngineKind;

/// A device of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeDevice {
    pub index: u32,
    pub name: String,
    pub kind: NodeDeviceKind,
    pub alias: Option<String>,
    pub is_up: bool,
    /// Whether it has the settings of [`crate::isolation::settings`].
    pub has_settings: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeDeviceKind {
    /// One end of a veth pair.
    Veth,
    Vxlan,
    Other,
}

impl NodeDevice {
    /// The attachment of a pod that it is the node's end of.
    pub fn attachment(&self) -> Option<AttachmentId> {
        let alias = self.alias.as_deref().filter(|_| self.kind == NodeDeviceKind::Veth)?;
        alias.strip_prefix("usnet:")?.parse().ok()
    }

    /// The overlay that it is part of, or the pair by which the node is in a network.
    fn overlay(&self) -> Option<(LinkOwner, OverlayDevice)> {
        let alias = self.alias.as_deref()?;
        match self.kind {
            NodeDeviceKind::Vxlan => Some((alias.parse().ok()?, OverlayDevice::Vxlan)),
            NodeDeviceKind::Veth => {
                let EndOwner { owner, end } = alias.parse().ok()?;
                // The node's end is the node's own: rules of another table are about it.
                (end != PairEnd::Node).then_some((owner, OverlayDevice::End(end)))
            }
            NodeDeviceKind::Other => None,
        }
    }

    /// Whether usnet made it for an engine.
    pub fn is_port(&self) -> bool {
        self.attachment().is_some() || self.overlay().is_some()
    }
}

/// A device of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum OverlayDevice {
    Vxlan,
    End(PairEnd),
}

impl OverlayDevice {
    /// Where the frames go that it receives.
    const fn other(self) -> Option<Self> {
        match self {
            Self::Vxlan => Some(Self::End(PairEnd::Vxlan)),
            Self::End(PairEnd::Vxlan) => Some(Self::Vxlan),
            Self::End(PairEnd::Engine | PairEnd::Node | PairEnd::Access) => None,
        }
    }
}

/// Devices of the node that engines have as ports although usnet did not make them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LentDevices {
    /// Devices by engine. What an engine has that is not here is not known.
    pub engines: BTreeMap<EngineKind, EngineDevices>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineDevices {
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
        let overlays: BTreeMap<_, u32> =
            devices.iter().filter_map(|device| Some((device.overlay()?, device.index))).collect();
        let guard = |device: &NodeDevice| {
            if let Some((owner, part)) = device.overlay() {
                let other = part.other().and_then(|other| overlays.get(&(owner, other)));
                return Some(
                    other.map_or_else(|| Guard::port(&device.name), |to| Guard::forwarding(&device.name, *to)),
                );
            }
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
    fn frames_between_an_overlay_and_its_engine_are_forwarded_and_others_are_dropped() {
        use NodeDeviceKind::{Veth, Vxlan};
        let devices = [
            NodeDevice { index: 8, ..device("inner", Veth, Some("usnet OVS blue vxlan-end")) },
            NodeDevice { index: 9, ..device("outer", Veth, Some("usnet OVS blue engine-end")) },
            NodeDevice { index: 5, ..device("of-vpp", Veth, Some("usnet VPP blue vxlan-end")) },
            NodeDevice { index: 4, ..device("usb-1", Veth, Some("usnet OVS blue access-end")) },
            NodeDevice { index: 3, ..device("usa-1", Veth, Some("usnet OVS blue node-end")) },
            device("vxlan", Vxlan, Some("usnet OVS blue")),
        ];
        let guards = LentDevices::default().guards(&devices);
        let (inner, outer) = (Guard::forwarding("inner", 7), Guard::port("outer"));
        let (of_vpp, access) = (Guard::port("of-vpp"), Guard::port("usb-1"));
        assert_eq!(guards, [inner, outer, of_vpp, access, Guard::forwarding("vxlan", 8)]);
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
