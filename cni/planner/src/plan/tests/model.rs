//! An engine in memory. It refuses what a real one refuses.

use crate::model::bridge::DesiredBridge;
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings, MacTable};
use crate::model::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{DesiredPort, PortBackend, PortBridge};
use crate::model::underlay::{ObservedAddress, UplinkAddress};
use crate::plan::Op;
use std::collections::BTreeMap;
use usnet_crds::{BridgeName, EngineKind, MacLearning, Ownership, UplinkName};

/// What an engine has, and which one it is like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub(super) kind: EngineKind,
    pub(super) observed: Observed,
}

impl Model {
    /// An engine without anything.
    pub(super) fn empty(kind: EngineKind) -> Self {
        Self { kind, observed: Observed::default() }
    }

    /// Applies all operations, or returns the first one that no engine would accept.
    pub(super) fn apply_all(&mut self, operations: &[Op]) -> Result<(), String> {
        operations
            .iter()
            .try_for_each(|operation| self.apply(operation).map_err(|problem| format!("{operation}: {problem}")))?;
        self.check_sub_interfaces()
    }

    fn apply(&mut self, operation: &Op) -> Result<(), String> {
        match operation {
            Op::RemovePort { bridge: Some(bridge), port, owner, .. } => {
                let removed = self.bridge(bridge)?.ports.remove(port).ok_or("no such port")?;
                check(carries(&removed, owner), "the mark is another one")
            }
            Op::RemovePort { bridge: None, port, owner, backend, .. } => {
                let removed = self.observed.unbridged_ports.remove(port).ok_or("no such port")?;
                let is_known_by_socket = removed.owner.is_none() && backend.is_some() && removed.backend == *backend;
                check(is_known_by_socket || carries(&removed, owner), "it is not that attachment's")
            }
            Op::RemoveBridge { bridge, owner } => {
                let removed = self.observed.bridges.remove(bridge).ok_or("no such bridge")?;
                check(removed.ports.is_empty(), "it has ports")?;
                check(removed.owner.as_ref() == Some(owner), "the mark is another one")?;
                owner.uplink().map(|uplink| self.observed.addresses.remove(uplink));
                Ok(())
            }
            Op::CreateBridge { bridge } => self.create_bridge(bridge),
            Op::UpdateBridge { bridge } => self.update_bridge(bridge),
            Op::CreatePort { port } => self.create_port(port),
            Op::TakeOverBridge { bridge } => {
                let owner = &mut self.bridge(bridge.name().as_str())?.owner;
                check(owner.replace(bridge.owner()).is_none(), "it has a mark")
            }
            Op::TakeOverPort { port } => self.take_over_port(port),
            Op::UpdatePort { port } => self.update_port(port),
            Op::SetAddress { uplink, bridge, address } => self.set_address(uplink, bridge.as_ref(), address.as_ref()),
            Op::Routing(operation) => super::routing::apply(&mut self.observed, operation),
        }
    }

    /// In VPP the port is named after its mark from then on.
    fn take_over_port(&mut self, port: &DesiredPort) -> Result<(), String> {
        let ports = &mut self.bridge(port.bridge_name().ok_or("it is on no bridge")?.as_str())?.ports;
        let is_it = |found: &ObservedPort| found.owner.is_none() && found.backend.as_ref() == Some(&port.backend);
        let name = ports.iter().find(|(_, found)| is_it(found)).map(|(name, _)| name.clone());
        let mut found = name.and_then(|name| ports.remove(&name)).ok_or("no such port")?;
        found.owner = Some(port.owner.clone());
        ports.insert(port.name.clone(), found);
        Ok(())
    }

    fn bridge(&mut self, name: &str) -> Result<&mut ObservedBridge, &'static str> {
        self.observed.bridges.get_mut(name).ok_or("no such bridge")
    }

    fn name_is_taken(&self, name: &str) -> bool {
        let bridges = &self.observed.bridges;
        let mut ports = bridges.values().flat_map(|bridge| bridge.ports.keys());
        bridges.contains_key(name) || ports.any(|port| port.as_str() == name)
    }

    /// The settings of a bridge, given those that it had before.
    fn settings(&self, bridge: &DesiredBridge, before: Option<&BridgeSettings>) -> BridgeSettings {
        match (bridge, self.kind) {
            (DesiredBridge::Network { bridge, policy_zone, .. }, EngineKind::OpenVswitch) => {
                BridgeSettings { policy_zone: *policy_zone, ..bridge.into() }
            }
            (DesiredBridge::Network { bridge, .. }, EngineKind::Vpp) => {
                BridgeSettings { mtu: BridgeMtu::OfPortsOnly, is_guarded: None, ..bridge.into() }
            }
            (DesiredBridge::Uplink { .. }, _) => {
                let (mtu, mac_table) = (BridgeMtu::Unset, MacTable::Unset);
                let mac_learning = MacLearning::Enabled;
                let (is_guarded, policy_zone) = (Some(false), None);
                let new =
                    BridgeSettings { mtu, mac_learning, mac_age_seconds: None, mac_table, is_guarded, policy_zone };
                let before =
                    before.map(|before| BridgeSettings { mac_learning, is_guarded, policy_zone, ..before.clone() });
                before.unwrap_or(new)
            }
        }
    }

    fn create_bridge(&mut self, bridge: &DesiredBridge) -> Result<(), String> {
        check_managed(bridge)?;
        check(self.kind == EngineKind::OpenVswitch || bridge.uplink().is_none(), "uplinks have no bridge")?;
        check(!self.name_is_taken(bridge.name().as_str()), "the name is taken")?;
        let created = ObservedBridge {
            owner: Some(bridge.owner()),
            has_supported_datapath: true,
            adoption_blocker: None,
            settings: self.settings(bridge, None),
            state: ElementState::Running,
            ports: BTreeMap::new(),
        };
        self.observed.bridges.insert(bridge.name().to_string(), created);
        Ok(())
    }

    fn update_bridge(&mut self, bridge: &DesiredBridge) -> Result<(), String> {
        check_managed(bridge)?;
        let before = self.bridge(bridge.name().as_str())?.clone();
        check(before.owner == Some(bridge.owner()), "the mark is another one")?;
        let settings = self.settings(bridge, Some(&before.settings));
        let observed = self.bridge(bridge.name().as_str())?;
        (observed.has_supported_datapath, observed.adoption_blocker, observed.settings) = (true, None, settings);
        check(*observed != before, "it is so already")
    }

    fn create_port(&mut self, port: &DesiredPort) -> Result<(), String> {
        if let Some(uplink) = &port.uplink {
            let has_address = self.observed.addresses.contains_key(uplink);
            let is_tunnel = matches!(port.backend, PortBackend::Vxlan { .. });
            check(has_address || !is_tunnel, "the node has no address there")?;
            let is_part = port.backend == PortBackend::SubInterface;
            check(!is_part || self.nic_of(uplink).is_some(), "the uplink has no NIC")?;
        }
        self.take_unbridged(port)?;
        port.ends().try_for_each(|end| match &end.bridge {
            Some(bridge) => self.create_on_bridge(end, bridge),
            None => self.create_on_no_bridge(end),
        })
    }

    fn create_on_bridge(&mut self, port: &DesiredPort, on: &PortBridge) -> Result<(), String> {
        let is_taken = self.name_is_taken(port.name.as_str());
        let bridge = self.bridge(on.name.as_str())?;
        let is_its = bridge.owner.as_ref() == Some(&on.owner);
        let accepts_ports = match on.ownership {
            Ownership::Managed => is_its && bridge.has_supported_datapath,
            Ownership::Adopted => (is_its || bridge.owner.is_none()) && bridge.adoption_blocker.is_none(),
        };
        check(accepts_ports, "the bridge takes no ports")?;
        // A second NIC would be a loop.
        let is_second = is_nic_owner(&port.owner) && bridge.ports.values().any(is_nic);
        check(!is_second, "it has a NIC")?;
        let is_disabled = bridge.ports.get(&port.name).is_some_and(|port| !port.settings.is_enabled);
        check(is_disabled || !is_taken, "the name is taken")?;
        bridge.ports.insert(port.name.clone(), created(port));
        Ok(())
    }

    /// One that is there is set up again.
    fn create_on_no_bridge(&mut self, port: &DesiredPort) -> Result<(), String> {
        check(self.kind == EngineKind::Vpp && is_nic_owner(&port.owner), "a port needs a bridge")?;
        let is_taken = port.backend.device().is_some_and(|device| self.observed.taken_devices.contains_key(device));
        check(!is_taken, "others have it")?;
        let uplink = port.owner.owner.uplink().ok_or("no uplink")?;
        let is_new = self.nic_of(uplink).is_none();
        let before = self.observed.unbridged_ports.insert(port.name.clone(), created(port));
        check(before.is_none() == is_new && before != Some(created(port)), "it has a NIC, which is up")
    }

    /// An unbridged port belongs to the attachment if it has its tag, or if it has its socket and
    /// no tag.
    fn take_unbridged(&mut self, port: &DesiredPort) -> Result<(), String> {
        if port.owner.attachment().is_none() {
            return Ok(());
        }
        let is_its = |observed: &ObservedPort| match &observed.owner {
            Some(owner) => owner.owner == port.owner.owner,
            None => observed.backend.as_ref() == Some(&port.backend),
        };
        let taken: Vec<_> = self.observed.unbridged_ports.extract_if(.., |_, observed| is_its(observed)).collect();
        let fit = taken.iter().all(|(_, observed)| observed.backend.as_ref() == Some(&port.backend));
        check(fit, "it is there with another socket")
    }

    /// A port can be on two bridges at once; it is one port all the same.
    fn update_port(&mut self, port: &DesiredPort) -> Result<(), String> {
        let bridges = self.observed.bridges.values_mut();
        let all: Vec<_> = bridges.filter_map(|bridge| bridge.ports.get_mut(&port.name)).collect();
        check(!all.is_empty(), "no such port")?;
        for observed in all {
            check(carries(observed, &port.owner), "the mark is another one")?;
            let before = observed.clone();
            observed.settings = (&port.settings).into();
            check(*observed != before, "it is so already")?;
        }
        Ok(())
    }

    fn set_address(
        &mut self,
        uplink: &UplinkName,
        bridge: Option<&BridgeName>,
        address: Option<&UplinkAddress>,
    ) -> Result<(), String> {
        match bridge {
            Some(bridge) => {
                let is_its = self.bridge(bridge.as_str())?.uplink() == Some(uplink);
                check(is_its, "the mark is another one")?;
            }
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

    fn nic_of(&self, uplink: &UplinkName) -> Option<&ObservedPort> {
        let is_its = |owner: &PortOwner| matches!(&owner.owner, Owner::Nic(nic) if nic.uplink == *uplink);
        self.observed.unbridged_ports.values().find(|port| port.owner.as_ref().is_some_and(is_its))
    }

    /// A sub-interface does not outlive its NIC.
    fn check_sub_interfaces(&self) -> Result<(), String> {
        let ports = self.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
        for port in ports.filter(|port| port.backend == Some(PortBackend::SubInterface)) {
            if let Some(PortOwner { owner: Owner::Patch(patch), .. }) = &port.owner {
                check(self.nic_of(&patch.uplink).is_some(), "a sub-interface has no NIC")?;
            }
        }
        Ok(())
    }
}

/// What the engine reports of a port that it created. The program of a pod is not there yet.
fn created(port: &DesiredPort) -> ObservedPort {
    let is_joined = matches!(port.owner.owner, Owner::Network(_));
    ObservedPort { peer: if is_joined { Peer::Connected } else { Peer::Absent }, ..port.into() }
}

fn check_managed(bridge: &DesiredBridge) -> Result<(), String> {
    let is_adopted = matches!(bridge, DesiredBridge::Network { bridge, .. } if bridge.ownership == Ownership::Adopted);
    check(!is_adopted, "adopted bridges are created by others")
}

/// Whether a port is a NIC of an uplink.
pub(super) fn is_nic(port: &ObservedPort) -> bool {
    port.owner.as_ref().is_some_and(is_nic_owner)
}

fn is_nic_owner(owner: &PortOwner) -> bool {
    matches!(owner.owner, Owner::Nic(_))
}

/// Whether a port has this owner. An unknown network matches any.
pub(super) fn carries(port: &ObservedPort, owner: &PortOwner) -> bool {
    port.owner.as_ref().is_some_and(|observed| {
        let networks = observed.network.as_ref().zip(owner.network.as_ref());
        observed.owner == owner.owner && networks.is_none_or(|(observed, spec)| observed == spec)
    })
}

pub(super) fn check(condition: bool, problem: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(problem.to_owned()) }
}
