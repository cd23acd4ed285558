//! Uplinks of the engine in memory.

use super::model::{Model, check};
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings, MacTable};
use crate::model::observed::{ElementState, ObservedBridge, ObservedPort, Peer};
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{PortBackend, PortName};
use crate::model::tagging::Tagging;
use crate::model::underlay::{ObservedAddress, Tunnel, UplinkAddress};
use crate::model::uplink::{KernelNic, PatchPair, UplinkBridge};
use crate::plan::UplinkOp;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{BridgeName, EngineKind, MacLearning, RateLimit, UplinkName};

/// A port of an uplink.
fn port(owner: PortOwner, tagging: Tagging) -> ObservedPort {
    ObservedPort {
        owner: Some(owner),
        backend: None,
        patch_peer: None,
        tunnel: None,
        mtu: None,
        routed: BTreeSet::new(),
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
                self.observed.addresses.remove(uplink);
                Ok(())
            }
            UplinkOp::JoinNic { uplink, nic, bridge: Some(bridge) } => self.join_nic((uplink, bridge), nic),
            UplinkOp::JoinNic { uplink, nic, bridge: None } => self.join_nic_on_no_bridge(uplink, nic),
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
            UplinkOp::SetAddress { uplink, bridge, address } => {
                self.set_address((uplink, bridge.as_ref()), address.as_ref())
            }
            UplinkOp::CreateTunnel { tunnel } => self.create_tunnel(tunnel),
        }
    }

    fn set_address(
        &mut self,
        (uplink, bridge): (&UplinkName, Option<&BridgeName>),
        address: Option<&UplinkAddress>,
    ) -> Result<(), String> {
        match bridge {
            Some(bridge) => drop(self.uplink_bridge(bridge.as_str(), uplink)?),
            None => check(self.nic_of(uplink).is_some(), "the uplink has no NIC")?,
        }
        let before = self.observed.addresses.get(uplink).cloned();
        let now = address.map(|wanted| ObservedAddress {
            address: wanted.address,
            tagging: wanted.tagging(),
            mac: wanted.mac.or(before.as_ref().and_then(|before| before.mac)),
        });
        check(before != now, "it is so already")?;
        match now {
            Some(now) => drop(self.observed.addresses.insert(uplink.clone(), now)),
            None => drop(self.observed.addresses.remove(uplink)),
        }
        Ok(())
    }

    fn create_tunnel(&mut self, tunnel: &Tunnel) -> Result<(), String> {
        check(self.observed.addresses.contains_key(&tunnel.uplink), "the node has no address there")?;
        check(!self.name_is_taken(tunnel.name.as_str()), "the name is taken")?;
        let bridge = self.bridge(tunnel.bridge.as_str())?;
        check(bridge.owner.as_ref() == Some(&tunnel.network), "the bridge takes no ports")?;
        let created = ObservedPort { tunnel: Some(tunnel.ends.clone()), ..port(tunnel.owner(), Tagging::Untagged) };
        bridge.ports.insert(tunnel.name.clone(), created);
        Ok(())
    }

    fn uplink_bridge(&mut self, name: &str, uplink: &UplinkName) -> Result<&mut ObservedBridge, String> {
        let bridge = self.bridge(name)?;
        check(bridge.uplink.as_ref() == Some(uplink), "the mark is another one")?;
        Ok(bridge)
    }

    fn create_uplink_bridge(&mut self, uplink: &UplinkName, bridge: &BridgeName) -> Result<(), String> {
        check(!self.name_is_taken(bridge.as_str()), "the name is taken")?;
        let settings = BridgeSettings {
            mtu: BridgeMtu::Unset,
            mac_learning: MacLearning::Enabled,
            mac_age_seconds: None,
            mac_table: MacTable::Unset,
        };
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
        (uplink, UplinkBridge { name, vlans }): (&UplinkName, &UplinkBridge),
        nic: &KernelNic,
    ) -> Result<(), String> {
        check(self.kind == EngineKind::OpenVswitch, "uplinks have no bridge")?;
        check(!self.name_is_taken(nic.device.as_str()), "the name is taken")?;
        let bridge = self.uplink_bridge(name.as_str(), uplink)?;
        check(!bridge.ports.values().any(is_nic), "it has a NIC")?;
        let owner = PortOwner::of_nic(uplink, nic.index);
        let backend = Some(PortBackend::Veth { device: nic.device.clone() });
        bridge.ports.insert(PortName::from(&nic.device), ObservedPort { backend, ..port(owner, vlans.tagging()) });
        Ok(())
    }

    /// One that is there is set up again.
    fn join_nic_on_no_bridge(&mut self, uplink: &UplinkName, nic: &KernelNic) -> Result<(), String> {
        check(self.kind == EngineKind::Vpp, "a NIC needs a bridge")?;
        check(!self.observed.taken_devices.contains_key(&nic.device), "others have it")?;
        let (name, owner) = (PortName::from(&nic.device), PortOwner::of_nic(uplink, nic.index));
        let backend = Some(PortBackend::Veth { device: nic.device.clone() });
        let joined = ObservedPort { backend, ..port(owner, Tagging::Untagged) };
        let is_new = self.nic_of(uplink).is_none();
        let before = self.observed.unbridged_ports.insert(name, joined.clone());
        check(before.is_none() == is_new && before != Some(joined), "it has a NIC, which is up")
    }

    fn nic_of(&self, uplink: &UplinkName) -> Option<&ObservedPort> {
        let is_its = |owner: &PortOwner| matches!(&owner.owner, Owner::Nic(nic) if nic.uplink == *uplink);
        self.observed.unbridged_ports.values().find(|port| port.owner.as_ref().is_some_and(is_its))
    }

    /// A sub-interface does not outlive its NIC.
    pub(super) fn check_sub_interfaces(&self) -> Result<(), String> {
        let ports = self.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
        for port in ports.filter(|port| self.kind == EngineKind::Vpp && port.patch_peer.is_none()) {
            if let Some(PortOwner { owner: Owner::Patch(patch), .. }) = &port.owner {
                check(self.nic_of(&patch.uplink).is_some(), "a sub-interface has no NIC")?;
            }
        }
        Ok(())
    }

    fn connect(&mut self, pair: &PatchPair) -> Result<(), String> {
        let is_its = self.bridge(pair.bridge.as_str())?.owner.as_ref() == Some(&pair.network);
        check(is_its, "the bridge takes no ports")?;
        match &pair.uplink_end {
            Some(end) => {
                self.uplink_bridge(end.bridge.as_str(), &pair.uplink)?;
            }
            None => check(self.nic_of(&pair.uplink).is_some(), "the uplink has no NIC")?,
        }
        for (end, tagging) in pair.ports() {
            let created = ObservedPort { patch_peer: end.peer.cloned(), ..port(pair.owner(), tagging) };
            let ports = &mut self.bridge(end.bridge.as_str())?.ports;
            let is_disabled = ports.get(end.name).is_some_and(|port| !port.is_enabled);
            check(is_disabled || !self.name_is_taken(end.name.as_str()), "the name is taken")?;
            self.bridge(end.bridge.as_str())?.ports.insert(end.name.clone(), created);
        }
        Ok(())
    }
}
