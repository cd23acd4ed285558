//! What the numbers of the steps are called.

use super::steps::{Place, bridge, engine};
use crate::cluster::NODES;
use usnet_crds::Engine;

/// The start of everything that is called something here.
pub(super) const OURS: &str = "life-";

pub(super) fn network(number: usize) -> String {
    format!("{OURS}{number}")
}

pub(super) fn namespace(number: usize) -> String {
    format!("{OURS}ns-{number}")
}

pub(super) fn ghost(number: usize) -> String {
    format!("{OURS}ghost-{number}")
}

pub(super) fn node(number: usize) -> &'static str {
    NODES[number]
}

/// The name of a bridge of Open vSwitch, or the id of a bridge domain of VPP in digits.
pub(super) fn place(engine: Engine, place: Place) -> String {
    match (engine, place) {
        (Engine::OpenVswitch, Place::OfNetwork(network)) => format!("br-{OURS}{}", bridge(network)),
        (Engine::OpenVswitch, Place::Own(number)) => format!("br-somebody-{number}"),
        (Engine::Vpp, Place::OfNetwork(network)) => (7000 + bridge(network)).to_string(),
        (Engine::Vpp, Place::Own(number)) => (9000 + number).to_string(),
    }
}

/// The bridge that a network asks for.
pub(super) fn bridge_of(network: usize) -> String {
    place(engine(network), Place::OfNetwork(network))
}
