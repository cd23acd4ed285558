//! What users write of the addresses between which an overlay runs, and its rules in CEL and in
//! Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::uplink_name::uplink_name;
use crate::cel::{at, is};
use crate::problem::{Problem, Problems};
use crate::types::names::UPLINK_NAME_MAX;
use crate::{Encapsulation, UplinkName};
use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The addresses between which nodes send encapsulated packets.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[x_kube(validation = has_its_member())]
pub struct UnderlaySpec {
    /// NodeAddress: the first InternalIP of each node that has the family `ipFamily`. Uplink: those
    /// that the nodes have in the `underlay` of a UserspaceUplink, and the member `uplink` is
    /// required. A change interrupts the traffic of the network between nodes.
    #[serde(rename = "type", default)]
    pub underlay_type: UnderlayType,
    /// The uplink; only with the type Uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<UnderlayUplinkSpec>,
}

/// Which addresses nodes send encapsulated packets from and to.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnderlayType {
    /// The addresses of the nodes.
    #[default]
    NodeAddress,
    /// Addresses on a NIC that the engine has.
    Uplink,
}

/// The uplink that has the addresses.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct UnderlayUplinkSpec {
    /// The name of a UserspaceUplink of the same engine that has an `underlay`.
    #[schemars(length(min = 1, max = UPLINK_NAME_MAX))]
    #[x_kube(validation = uplink_name())]
    pub name: String,
}

fn has_its_member() -> Rule {
    at(".uplink", format!("{} == has(self.uplink)", is(".type", "Uplink")), &Problem::UnderlayMember)
}

/// An expression of the overlay: whether the engine itself encapsulates.
pub(super) fn is_of_engine() -> String {
    is(".encapsulation", "Engine")
}

/// A rule of the overlay.
pub(super) fn fits_encapsulation() -> Rule {
    let fits = format!("{} == {}", is_of_engine(), is(".underlay.type", "Uplink"));
    at(".underlay.type", fits, &Problem::UnderlayOfEncapsulation)
}

/// The uplink whose underlay is used; none for addresses of the nodes, and for what is not valid.
pub(super) fn uplink_of(
    problems: &mut Problems,
    spec: &UnderlaySpec,
    encapsulation: Encapsulation,
) -> Option<UplinkName> {
    let is_uplink = spec.underlay_type == UnderlayType::Uplink;
    let field = "spec.topology.overlay.underlay.type";
    problems.add_if((encapsulation == Encapsulation::Engine) != is_uplink, field, Problem::UnderlayOfEncapsulation);
    let field = "spec.topology.overlay.underlay.uplink";
    problems.add_if(is_uplink != spec.uplink.is_some(), field, Problem::UnderlayMember);
    let name = UplinkName::try_from(spec.uplink.as_ref()?.name.clone());
    problems.check("spec.topology.overlay.underlay.uplink.name", name)
}
