//! Converts specs of users into validated uplinks, and selects the NIC of a node.

use super::device::DeviceType;
use super::nic::{NicSpec, ValidNic, nics};
use super::problem::UplinkProblem;
use super::spec::UserspaceUplink;
use super::underlay::{UplinkUnderlay, underlay};
use super::{Nic, NicDriver, NodeTraffic, NodeUplink};
use crate::problem::{InvalidSpec, Problem, Problems};
use crate::types::vlan_ranges::VLAN_RANGES_MAX;
use crate::{EngineKind, UplinkName, VlanRange, VlanRanges};
use kube::core::SelectorExt;
use std::collections::{BTreeMap, BTreeSet};

/// An uplink whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidUplink {
    pub name: UplinkName,
    /// The `metadata.generation` of its spec.
    pub generation: i64,
    pub engine: EngineKind,
    pub nics: Vec<ValidNic>,
    /// What becomes of traffic of the node itself.
    pub node_traffic: NodeTraffic,
    pub vlans: VlanRanges,
    /// The addresses of the nodes on its NICs.
    pub underlay: Option<UplinkUnderlay>,
}

impl ValidUplink {
    /// The NIC of a node with these labels; none if the node does not have the uplink. `missing`
    /// are the engines that the agent of the node never reached.
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

/// Validates an uplink, and reports all fields that break a rule.
pub fn validate(uplink: &UserspaceUplink) -> Result<ValidUplink, InvalidSpec> {
    let mut problems = Problems::default();
    let (metadata, spec) = (&uplink.metadata, &uplink.spec);
    let name = problems.check("metadata.name", UplinkName::try_from(metadata.name.clone().unwrap_or_default()));
    let nics = nics(&mut problems, &spec.nics);
    only_open_vswitch(&mut problems, (spec.engine, spec.node_traffic), &spec.nics);
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

/// Adds which NICs need Open vSwitch, and none that the node shares.
fn only_open_vswitch(problems: &mut Problems, (engine, traffic): (EngineKind, NodeTraffic), nics: &[NicSpec]) {
    let (is_vpp, is_shared) = (engine == EngineKind::Vpp, traffic == NodeTraffic::Shared);
    let is_special = nics.iter().any(|nic| nic.driver != NicDriver::AfPacket);
    problems.add_if(is_special && is_vpp, "spec.nics", UplinkProblem::DriverEngine.into());
    problems.add_if(is_special && is_shared, "spec.nodeTraffic", UplinkProblem::SharedDriver.into());
    let has_bond = nics.iter().any(|nic| nic.device.device_type == DeviceType::Bond);
    problems.add_if(has_bond && is_vpp, "spec.nics", UplinkProblem::BondEngine.into());
    problems.add_if(has_bond && is_shared, "spec.nodeTraffic", UplinkProblem::SharedBond.into());
}

fn vlans(problems: &mut Problems, ranges: &[String]) -> VlanRanges {
    let too_many = Problem::TooMany { count: ranges.len(), maximum: VLAN_RANGES_MAX };
    problems.add_if(ranges.len() > VLAN_RANGES_MAX, "spec.vlans", too_many);
    let range = |text: &String| problems.check("spec.vlans", text.parse::<VlanRange>());
    ranges.iter().filter_map(range).collect()
}
