//! An engine in memory. It refuses what a real one refuses.

use crate::model::attachment::AttachmentId;
use crate::model::bridge_settings::{BridgeMtu, BridgeSettings};
use crate::model::observed::{ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::model::owner::PortOwner;
use crate::model::port::{AttachedPort, NetworkPort, PortName, PortSettings};
use crate::model::tagging::Tagging;
use crate::plan::Op;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{Bridge, EngineKind, NetworkName, Ownership, RateLimit};

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
            Op::RemoveBridge { bridge, network } => {
                let removed = self.observed.bridges.remove(bridge).ok_or("no such bridge")?;
                check(removed.ports.is_empty(), "it has ports")?;
                check(removed.owner.as_ref() == Some(network), "the mark is another one")
            }
            Op::CreateBridge { network, bridge } => self.create_bridge(network, bridge),
            Op::UpdateBridge { network, bridge } => self.update_bridge(network, bridge),
            Op::CreatePort { network, attachment, port } => self.create_port(network, attachment, port),
            Op::JoinDevice { port } => self.join_device(port),
            Op::Routing(operation) => super::routing::apply(&mut self.observed, operation),
            Op::UpdatePort { port, owner, settings } => self.update_port(port, owner, settings),
            Op::Uplink(operation) => self.apply_uplink(operation),
        }
    }

    pub(super) fn bridge(&mut self, name: &str) -> Result<&mut ObservedBridge, &'static str> {
        self.observed.bridges.get_mut(name).ok_or("no such bridge")
    }

    pub(super) fn name_is_taken(&self, name: &str) -> bool {
        let bridges = &self.observed.bridges;
        let mut ports = bridges.values().flat_map(|bridge| bridge.ports.keys());
        bridges.contains_key(name) || ports.any(|port| port.as_str() == name)
    }

    fn settings(&self, bridge: &Bridge) -> BridgeSettings {
        match self.kind {
            EngineKind::OpenVswitch => bridge.into(),
            EngineKind::Vpp => BridgeSettings { mtu: BridgeMtu::OfPortsOnly, ..bridge.into() },
        }
    }

    fn create_bridge(&mut self, network: &NetworkName, bridge: &Bridge) -> Result<(), String> {
        check(bridge.ownership == Ownership::Managed, "adopted bridges are created by others")?;
        check(!self.name_is_taken(bridge.name.as_str()), "the name is taken")?;
        let created = ObservedBridge {
            owner: Some(network.clone()),
            uplink: None,
            has_supported_datapath: true,
            adoption_blocker: None,
            settings: self.settings(bridge),
            state: ElementState::Running,
            ports: BTreeMap::new(),
        };
        self.observed.bridges.insert(bridge.name.to_string(), created);
        Ok(())
    }

    fn update_bridge(&mut self, network: &NetworkName, bridge: &Bridge) -> Result<(), String> {
        check(bridge.ownership == Ownership::Managed, "it was created by others")?;
        let settings = self.settings(bridge);
        let observed = self.bridge(bridge.name.as_str())?;
        check(observed.owner.as_ref() == Some(network), "the mark is another one")?;
        let before = observed.clone();
        (observed.has_supported_datapath, observed.adoption_blocker, observed.settings) = (true, None, settings);
        check(*observed != before, "it is so already")
    }

    fn create_port(
        &mut self,
        network: &NetworkName,
        attachment: &AttachmentId,
        port: &AttachedPort,
    ) -> Result<(), String> {
        check(!self.name_is_taken(port.name.as_str()), "the name is taken")?;
        self.take_unbridged(attachment, port)?;
        let bridge = self.bridge(port.bridge.as_str())?;
        let accepts_ports = match port.ownership {
            Ownership::Managed => bridge.owner.as_ref() == Some(network) && bridge.has_supported_datapath,
            Ownership::Adopted => {
                bridge.owner.as_ref().is_none_or(|owner| owner == network) && bridge.adoption_blocker.is_none()
            }
        };
        check(accepts_ports, "the bridge takes no ports")?;
        let created = ObservedPort {
            owner: Some(PortOwner::new(network, attachment)),
            backend: Some(port.backend.clone()),
            patch_peer: None,
            tunnel: None,
            mtu: Some(port.settings.mtu.into()),
            routed: port.settings.routed.clone(),
            tagging: port.settings.vlan.clone().into(),
            rate_limit: Some(port.settings.rate_limit),
            is_enabled: true,
            peer: Peer::Absent,
            state: ElementState::Running,
        };
        bridge.ports.insert(port.name.clone(), created);
        Ok(())
    }

    fn join_device(&mut self, port: &NetworkPort) -> Result<(), String> {
        check(!self.name_is_taken(port.name.as_str()), "the name is taken")?;
        let bridge = self.bridge(port.bridge.as_str())?;
        let is_its = bridge.owner.as_ref() == Some(&port.device.network) || port.ownership == Ownership::Adopted;
        check(is_its, "the bridge takes no ports")?;
        let joined = ObservedPort {
            owner: Some(PortOwner::of_device(&port.device)),
            backend: Some(port.backend()),
            patch_peer: None,
            tunnel: None,
            mtu: None,
            routed: BTreeSet::new(),
            tagging: Tagging::Untagged,
            rate_limit: Some(RateLimit::default()),
            is_enabled: true,
            peer: Peer::Connected,
            state: ElementState::Running,
        };
        bridge.ports.insert(port.name.clone(), joined);
        Ok(())
    }

    /// An unbridged port belongs to the attachment if it has its tag, or if it has its socket and
    /// no tag.
    fn take_unbridged(&mut self, attachment: &AttachmentId, port: &AttachedPort) -> Result<(), String> {
        let is_its = |observed: &ObservedPort| match &observed.owner {
            Some(owner) => owner.attachment() == Some(attachment),
            None => observed.backend.as_ref() == Some(&port.backend),
        };
        let taken: Vec<_> = self.observed.unbridged_ports.extract_if(.., |_, observed| is_its(observed)).collect();
        let fit = taken.iter().all(|(_, observed)| observed.backend.as_ref() == Some(&port.backend));
        check(fit, "it is there with another socket")
    }

    /// A port can be on two bridges at once; it is one port all the same.
    fn update_port(&mut self, name: &PortName, owner: &PortOwner, settings: &PortSettings) -> Result<(), String> {
        let bridges = self.observed.bridges.values_mut();
        let observed: Vec<_> = bridges.filter_map(|bridge| bridge.ports.get_mut(name)).collect();
        check(!observed.is_empty(), "no such port")?;
        for port in observed {
            check(carries(port, owner), "the mark is another one")?;
            let before = port.clone();
            (port.mtu, port.is_enabled) = (Some(settings.mtu.into()), true);
            (port.tagging, port.rate_limit) = (settings.vlan.clone().into(), Some(settings.rate_limit));
            port.routed.clone_from(&settings.routed);
            check(*port != before, "it is so already")?;
        }
        Ok(())
    }
}

/// Whether a port has this owner. An unknown network matches any.
fn carries(port: &ObservedPort, owner: &PortOwner) -> bool {
    port.owner.as_ref().is_some_and(|observed| {
        let networks = observed.network.as_ref().zip(owner.network.as_ref());
        observed.owner == owner.owner && networks.is_none_or(|(observed, spec)| observed == spec)
    })
}

pub(super) fn check(condition: bool, problem: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(problem.to_owned()) }
}
