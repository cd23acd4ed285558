//! Converts specs of users into validated uplinks, and selects the NIC of a node.

use super::device::device;
use super::problem::UplinkProblem;
use super::spec::{NICS_MAX, UserspaceUplink};
use super::underlay::{UplinkUnderlay, underlay};
use super::{Nic, NicDriver, NodeTraffic, NodeUplink};
use crate::network::selectors::selector;
use crate::problem::{InvalidSpec, Problem, Problems};
use crate::types::vlan_ranges::VLAN_RANGES_MAX;
use crate::{EngineKind, UplinkName, VlanRange, VlanRanges};
use kube::core::{Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};

/// An uplink whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidUplink {
    /// Its name.
    pub name: UplinkName,
    /// The `metadata.generation` of its spec.
    pub generation: i64,
    /// The engine that has its NICs.
    pub engine: EngineKind,
    /// Its NICs.
    pub nics: Vec<ValidNic>,
    /// What becomes of traffic of the node itself.
    pub node_traffic: NodeTraffic,
    /// The VLANs that networks may have.
    pub vlans: VlanRanges,
    /// The addresses of the nodes on its NICs.
    pub underlay: Option<UplinkUnderlay>,
}

/// The NIC of some nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidNic {
    /// These nodes; none means every node that has the engine.
    pub nodes: Option<Selector>,
    /// The NIC.
    pub nic: Nic,
}

impl ValidUplink {
    /// The NIC of a node with these labels, by its position; none if the node does not have the
    /// uplink. `missing` are the engines that the agent of the node never reached.
    pub fn nic(&self, labels: &BTreeMap<String, String>, missing: &BTreeSet<EngineKind>) -> Option<&Nic> {
        let selects = |entry: &&ValidNic| match &entry.nodes {
            Some(nodes) => nodes.matches(labels),
            None => !missing.contains(&self.engine),
        };
        self.nics.iter().find(selects).map(|entry| &entry.nic)
    }

    /// The uplink as a node with these labels has it.
    pub fn on_node(&self, labels: &BTreeMap<String, String>, missing: &BTreeSet<EngineKind>) -> Option<NodeUplink> {
        Some(NodeUplink {
            name: self.name.clone(),
            generation: self.generation,
            engine: self.engine,
            nic: self.nic(labels, missing)?.clone(),
            node_traffic: self.node_traffic,
        })
    }
}

/// Validates an uplink.
///
/// # Errors
/// All the fields that break a rule.
pub fn validate(uplink: &UserspaceUplink) -> Result<ValidUplink, InvalidSpec> {
    let mut problems = Problems::default();
    let (metadata, spec) = (&uplink.metadata, &uplink.spec);
    let name = problems.check("metadata.name", UplinkName::try_from(metadata.name.clone().unwrap_or_default()));
    let nics = nics(&mut problems, uplink);
    let is_without_vlans = spec.node_traffic == NodeTraffic::Shared && spec.vlans.is_empty();
    problems.add_if(is_without_vlans, "spec.nodeTraffic", UplinkProblem::SharedWithoutVlans.into());
    let is_shared_in_vpp = spec.node_traffic == NodeTraffic::Shared && spec.engine == EngineKind::Vpp;
    problems.add_if(is_shared_in_vpp, "spec.nodeTraffic", UplinkProblem::SharedEngine.into());
    let vlans = vlans(&mut problems, &spec.vlans);
    let is_untagged = spec.underlay.as_ref().is_some_and(|underlay| underlay.vlan.is_none());
    let is_shared = spec.node_traffic == NodeTraffic::Shared;
    problems.add_if(is_untagged && is_shared, "spec.underlay", UplinkProblem::SharedUnderlay.into());
    let underlay = spec.underlay.as_ref().and_then(|spec| underlay(&mut problems, spec));
    match name {
        Some(name) if problems.count() == 0 => Ok(ValidUplink {
            name,
            generation: metadata.generation.unwrap_or_default(),
            engine: spec.engine,
            nics,
            node_traffic: spec.node_traffic,
            vlans,
            underlay,
        }),
        _ => Err(problems.into_invalid()),
    }
}

fn nics(problems: &mut Problems, uplink: &UserspaceUplink) -> Vec<ValidNic> {
    let specs = &uplink.spec.nics;
    problems.add_if(specs.is_empty(), "spec.nics", UplinkProblem::NoNic.into());
    let too_many = Problem::TooMany { count: specs.len(), maximum: NICS_MAX };
    problems.add_if(specs.len() > NICS_MAX, "spec.nics", too_many);
    let before_last = specs.iter().rev().skip(1);
    let is_hidden = before_last.into_iter().any(|nic| nic.node_selector.is_none());
    problems.add_if(is_hidden, "spec.nics", UplinkProblem::NotLast.into());
    let mut nics = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let field = format!("spec.nics[{index}]");
        let nodes = match &spec.node_selector {
            Some(nodes) => selector(problems, &format!("{field}.nodeSelector"), nodes).map(Some),
            None => Some(None),
        };
        let is_supported = spec.driver == NicDriver::AfPacket;
        problems.add_if(!is_supported, &format!("{field}.driver"), UplinkProblem::Driver(spec.driver).into());
        let device = device(problems, &format!("{field}.device"), &spec.device);
        let valid =
            nodes.zip(device).map(|(nodes, device)| ValidNic { nodes, nic: Nic { device, driver: spec.driver } });
        nics.extend(valid);
    }
    nics
}

fn vlans(problems: &mut Problems, ranges: &[String]) -> VlanRanges {
    let too_many = Problem::TooMany { count: ranges.len(), maximum: VLAN_RANGES_MAX };
    problems.add_if(ranges.len() > VLAN_RANGES_MAX, "spec.vlans", too_many);
    let range = |text: &String| problems.check("spec.vlans", text.parse::<VlanRange>());
    ranges.iter().filter_map(range).collect()
}
