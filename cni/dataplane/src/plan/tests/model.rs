//! An engine in memory. It refuses what a real one refuses.

use crate::attachment::AttachmentId;
use crate::observed::{BridgeMtu, ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::plan::Op;
use crate::port::{AttachedPort, PortMark, PortName, PortSettings};
use std::collections::BTreeMap;
use usnet_crds::{Bridge, Engine, NetworkName, Ownership};

/// What an engine has, and which one it is like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub(super) kind: Engine,
    pub(super) shown: Observed,
}

impl Model {
    /// An engine without anything.
    pub(super) fn empty(kind: Engine) -> Self {
        Self { kind, shown: Observed::default() }
    }

    /// Carries out all operations, or says which one no engine would take.
    pub(super) fn apply_all(&mut self, operations: &[Op]) -> Result<(), String> {
        operations
            .iter()
            .try_for_each(|operation| self.apply(operation).map_err(|problem| format!("{operation}: {problem}")))
    }

    fn apply(&mut self, operation: &Op) -> Result<(), String> {
        match operation {
            Op::RemovePort { bridge: Some(bridge), port, mark, .. } => {
                let removed = self.bridge(bridge)?.ports.remove(port).ok_or("no such port")?;
                check(carries(&removed, mark), "the mark is another one")
            }
            Op::RemovePort { bridge: None, port, mark, connection } => {
                let removed = self.shown.loose.remove(port).ok_or("no such port")?;
                let is_known_by_socket =
                    removed.mark.is_none() && connection.is_some() && removed.connection == *connection;
                check(is_known_by_socket || carries(&removed, mark), "it is not that attachment's")
            }
            Op::RemoveBridge { bridge, network } => {
                let removed = self.shown.bridges.remove(bridge).ok_or("no such bridge")?;
                check(removed.ports.is_empty(), "it has ports")?;
                check(removed.mark.as_ref() == Some(network), "the mark is another one")
            }
            Op::CreateBridge { network, bridge } => self.create_bridge(network, bridge),
            Op::UpdateBridge { network, bridge } => self.update_bridge(network, bridge),
            Op::CreatePort { network, attachment, port } => self.create_port(network, attachment, port),
            Op::UpdatePort { port, mark, settings } => self.update_port(port, mark, settings),
        }
    }

    fn bridge(&mut self, name: &str) -> Result<&mut ObservedBridge, &'static str> {
        self.shown.bridges.get_mut(name).ok_or("no such bridge")
    }

    fn name_is_taken(&self, name: &str) -> bool {
        let bridges = &self.shown.bridges;
        let mut ports = bridges.values().flat_map(|bridge| bridge.ports.keys());
        bridges.contains_key(name) || ports.any(|port| port.as_str() == name)
    }

    fn mtu(&self, bridge: &Bridge) -> BridgeMtu {
        match self.kind {
            Engine::OpenVswitch => BridgeMtu::Set(bridge.mtu.into()),
            Engine::Vpp => BridgeMtu::OfPortsOnly,
        }
    }

    fn create_bridge(&mut self, network: &NetworkName, bridge: &Bridge) -> Result<(), String> {
        check(bridge.ownership == Ownership::Managed, "somebody else has to make it")?;
        check(!self.name_is_taken(bridge.name.as_str()), "the name is taken")?;
        let made = ObservedBridge {
            mark: Some(network.clone()),
            is_our_kind: true,
            unusable: None,
            mtu: self.mtu(bridge),
            mac_learning: bridge.mac_learning,
            mac_age_seconds: Some(bridge.mac_age_seconds.into()),
            state: ElementState::Running,
            ports: BTreeMap::new(),
        };
        self.shown.bridges.insert(bridge.name.to_string(), made);
        Ok(())
    }

    fn update_bridge(&mut self, network: &NetworkName, bridge: &Bridge) -> Result<(), String> {
        check(bridge.ownership == Ownership::Managed, "somebody else made it")?;
        let mtu = self.mtu(bridge);
        let shown = self.bridge(bridge.name.as_str())?;
        check(shown.mark.as_ref() == Some(network), "the mark is another one")?;
        let before = shown.clone();
        (shown.is_our_kind, shown.unusable, shown.mtu) = (true, None, mtu);
        (shown.mac_learning, shown.mac_age_seconds) = (bridge.mac_learning, Some(bridge.mac_age_seconds.into()));
        check(*shown != before, "it is so already")
    }

    fn create_port(
        &mut self,
        network: &NetworkName,
        attachment: &AttachmentId,
        port: &AttachedPort,
    ) -> Result<(), String> {
        check(!self.name_is_taken(port.name.as_str()), "the name is taken")?;
        self.take_loose(attachment, port)?;
        let bridge = self.bridge(port.bridge.as_str())?;
        let takes_ports = match port.ownership {
            Ownership::Managed => bridge.mark.as_ref() == Some(network) && bridge.is_our_kind,
            Ownership::Adopted => bridge.mark.as_ref().is_none_or(|mark| mark == network) && bridge.unusable.is_none(),
        };
        check(takes_ports, "the bridge takes no ports")?;
        let made = ObservedPort {
            mark: Some(PortMark::new(network, attachment)),
            connection: Some(port.connection.clone()),
            mtu: Some(port.settings.mtu.into()),
            tagging: port.settings.vlan.clone().into(),
            rate_limit: Some(port.settings.rate_limit),
            is_enabled: true,
            peer: Peer::Absent,
            state: ElementState::Running,
        };
        bridge.ports.insert(port.name.clone(), made);
        Ok(())
    }

    /// A port that is on no bridge is the attachment's when it is marked so, or when it has its socket and nobody's mark.
    fn take_loose(&mut self, attachment: &AttachmentId, port: &AttachedPort) -> Result<(), String> {
        let attachment = attachment.to_string();
        let is_its = |shown: &ObservedPort| match &shown.mark {
            Some(mark) => mark.attachment == attachment,
            None => shown.connection.as_ref() == Some(&port.connection),
        };
        let taken: Vec<_> = self.shown.loose.extract_if(.., |_, shown| is_its(shown)).collect();
        let fit = taken.iter().all(|(_, shown)| shown.connection.as_ref() == Some(&port.connection));
        check(fit, "it is there with another socket")
    }

    /// A port can be on two bridges at once; it is one port all the same.
    fn update_port(&mut self, name: &PortName, mark: &PortMark, settings: &PortSettings) -> Result<(), String> {
        let bridges = self.shown.bridges.values_mut();
        let shown: Vec<_> = bridges.filter_map(|bridge| bridge.ports.get_mut(name)).collect();
        check(!shown.is_empty(), "no such port")?;
        for port in shown {
            check(carries(port, mark), "the mark is another one")?;
            let before = port.clone();
            (port.mtu, port.is_enabled) = (Some(settings.mtu.into()), true);
            (port.tagging, port.rate_limit) = (settings.vlan.clone().into(), Some(settings.rate_limit));
            check(*port != before, "it is so already")?;
        }
        Ok(())
    }
}

/// Whether a port has this mark, as far as both say.
fn carries(port: &ObservedPort, mark: &PortMark) -> bool {
    port.mark.as_ref().is_some_and(|shown| {
        let networks = shown.network.as_ref().zip(mark.network.as_ref());
        shown.attachment == mark.attachment && networks.is_none_or(|(shown, wanted)| shown == wanted)
    })
}

fn check(condition: bool, problem: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(problem.to_owned()) }
}
