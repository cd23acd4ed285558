//! The names of the objects that the numbers of steps identify.

use crate::soak::steps::{ByHand, FIRST_OLD, NETWORKS, Old, Place, bridge, engine, is_adopted};
use crate::support::cluster::NODES;
use usnet_crds::{EngineKind, NetworkName};

/// The start of almost everything that is called something here; networks that follow from
/// definitions are called after their bridges.
pub(crate) const OURS: &str = "life-";

pub(crate) fn network(number: usize) -> String {
    match number {
        _ if is_adopted(number) => format!("{OURS}adopting-{number}"),
        0..FIRST_OLD => format!("{OURS}{number}"),
        _ => NetworkName::for_bridge(engine(number), &bridge_of(number).parse().unwrap()).to_string(),
    }
}

/// Returns the names of all possible networks of the run.
pub(crate) fn all_networks() -> impl Iterator<Item = String> {
    (0..NETWORKS).map(network)
}

pub(crate) fn namespace(number: usize) -> String {
    format!("{OURS}ns-{number}")
}

pub(crate) fn ghost(number: usize) -> String {
    format!("{OURS}ghost-{number}")
}

pub(crate) fn node(number: usize) -> &'static str {
    NODES[number]
}

pub(crate) fn by_hand(definition: ByHand) -> String {
    let network = network(definition.network);
    if definition.is_for_us { format!("{network}-by-hand") } else { network }
}

pub(crate) fn old(definition: Old) -> String {
    format!("{OURS}old-{}-{}", definition.network, definition.copy)
}

/// The engine of a place, and the name of its bridge: with VPP the id of a bridge domain in digits.
pub(crate) fn place(place: Place) -> (EngineKind, String) {
    match place {
        Place::OfNetwork(network) => (engine(network), bridge_of(network)),
        Place::Own(number) => match engine(number) {
            EngineKind::OpenVswitch => (EngineKind::OpenVswitch, format!("br-foreign-{number}")),
            EngineKind::Vpp => (EngineKind::Vpp, (9000 + number).to_string()),
        },
    }
}

/// The bridge that a network asks for.
pub(crate) fn bridge_of(network: usize) -> String {
    match engine(network) {
        EngineKind::OpenVswitch => format!("br-{OURS}{}", bridge(network)),
        EngineKind::Vpp => (7000 + bridge(network)).to_string(),
    }
}
