//! Uplinks of the engine in memory.

use super::model::{Model, check};
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings};
use crate::model::observed::{ElementState, ObservedBridge, ObservedPort, Peer, Tagging};
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{PortBackend, PortName};
use crate::model::uplink::{KernelNic, PatchPair, UplinkVlans};
use crate::plan::UplinkOp;
use std::collections::BTreeMap;
use usnet_crds::{BridgeName, MacLearning, RateLimit, UplinkName};

/// A port of an uplink.
fn port(owner: PortOwner, tagging: Tagging) -> ObservedPort {
    ObservedPort {
        owner: Some(owner),
        backend: None,
        patch_peer: None,
        mtu: None,
        tagging,
        rate_limit: Some(RateLimit::default()),
        is_enabled: true,
        peer: Peer::Absent,
        state: ElementState::Running,
    }
}

/// Whether a port is a NIC of an uplink.
pub(super) fn is_nic(port: &ObservedPort) -> bool {
    matches!(port.owner, Some(PortOwner { owner: Owner::Nic(_), .. }))
}

impl Model {
    pub(super) fn apply_uplink(&mut self, operation: &UplinkOp) -> Result<(), String> {
        match operation {
            UplinkOp::CreateBridge { uplink, bridge } => self.create_uplink_bridge(uplink, bridge),
            UplinkOp::RestoreBridge { uplink, bridge } => {
                let bridge = self.uplink_bridge(bridge.as_str(), uplink)?;
                let is_needed = !bridge.has_supported_datapath || bridge.settings.mac_learning != MacLearning::Enabled;
                (bridge.has_supported_datapath, bridge.settings.mac_learning) = (true, MacLearning::Enabled);
                check(is_needed, "it is so already")
            }
            UplinkOp::RemoveBridge { uplink, bridge } => {
                check(self.uplink_bridge(bridge, uplink)?.ports.is_empty(), "it has ports")?;
                self.observed.bridges.remove(bridge);
                Ok(())
            }
            UplinkOp::JoinNic { uplink, bridge, nic, vlans } => self.join_nic((uplink, bridge), nic, vlans),
            UplinkOp::SetVlans { uplink, index, port, vlans } => {
                let owner = PortOwner::of_nic(uplink, *index);
                let mut ports = self.observed.bridges.values_mut().filter_map(|bridge| bridge.ports.get_mut(port));
                let port = ports.next().ok_or("no such port")?;
                check(port.owner == Some(owner), "the mark is another one")?;
                check(port.tagging != vlans.tagging(), "it is so already")?;
                port.tagging = vlans.tagging();
                Ok(())
            }
            UplinkOp::Connect { pair } => self.connect(pair),
        }
    }

    fn uplink_bridge(&mut self, name: &str, uplink: &UplinkName) -> Result<&mut ObservedBridge, String> {
        let bridge = self.bridge(name)?;
        check(bridge.uplink.as_ref() == Some(uplink), "the mark is another one")?;
        Ok(bridge)
    }

    fn create_uplink_bridge(&mut self, uplink: &UplinkName, bridge: &BridgeName) -> Result<(), String> {
        check(!self.name_is_taken(bridge.as_str()), "the name is taken")?;
        let settings =
            BridgeSettings { mtu: BridgeMtu::Unset, mac_learning: MacLearning::Enabled, mac_age_seconds: None };
        let created = ObservedBridge {
            owner: None,
            uplink: Some(uplink.clone()),
            has_supported_datapath: true,
            adoption_blocker: None,
            settings,
            state: ElementState::Running,
            ports: BTreeMap::new(),
        };
        self.observed.bridges.insert(bridge.to_string(), created);
        Ok(())
    }

    /// A second NIC would be a loop.
    fn join_nic(
        &mut self,
        (uplink, bridge): (&UplinkName, &BridgeName),
        nic: &KernelNic,
        vlans: &UplinkVlans,
    ) -> Result<(), String> {
        check(!self.name_is_taken(nic.device.as_str()), "the name is taken")?;
        let bridge = self.uplink_bridge(bridge.as_str(), uplink)?;
        check(!bridge.ports.values().any(is_nic), "it has a NIC")?;
        let owner = PortOwner::of_nic(uplink, nic.index);
        let backend = Some(PortBackend::Veth { device: nic.device.clone() });
        bridge.ports.insert(PortName::from(&nic.device), ObservedPort { backend, ..port(owner, vlans.tagging()) });
        Ok(())
    }

    fn connect(&mut self, pair: &PatchPair) -> Result<(), String> {
        let is_its = self.bridge(pair.bridge.as_str())?.owner.as_ref() == Some(&pair.network);
        check(is_its, "the bridge takes no ports")?;
        self.uplink_bridge(pair.uplink_bridge.as_str(), &pair.uplink)?;
        for (end, tagging) in pair.ports() {
            check(!self.name_is_taken(end.name.as_str()), "the name is taken")?;
            let created = ObservedPort { patch_peer: Some(end.peer.clone()), ..port(pair.owner(), tagging) };
            self.bridge(end.bridge.as_str())?.ports.insert(end.name.clone(), created);
        }
        Ok(())
    }
}
