//! The tags of gateways and the names of routing tables, which say what they belong to: 63 bytes
//! each.

use crate::engine::error::TagTooLong;
use crate::engine::vpp::tags::{TAG_MAX, Tag};
use crate::model::routing::RoutingTable;
use usnet_crds::{EngineKind, NetworkName};

/// Prefix of the names of a network's gateway, and of the table that it has to itself.
const NETWORK: &str = "usngw:";
const DOMAIN: &str = "usnrd:";

/// The tag of the gateway of a network.
pub(super) fn gateway_tag(network: &NetworkName) -> Result<Tag, TagTooLong> {
    tag(format!("{NETWORK}{network}"), || format!("the gateway of network {network}"))
}

/// The network whose gateway has this tag. A tag that usnet could not have written is not its own.
pub(in crate::engine::vpp) fn gateway(tag: &str) -> Option<NetworkName> {
    tag.strip_prefix(NETWORK)?.parse().ok()
}

/// The name of a table.
pub(super) fn table_name(table: &RoutingTable) -> Result<Tag, TagTooLong> {
    let name = match table {
        RoutingTable::Network(network) => format!("{NETWORK}{network}"),
        RoutingTable::Domain(domain) => format!("{DOMAIN}{domain}"),
    };
    tag(name, || table.to_string())
}

/// The table that has this name.
pub(super) fn table(name: &str) -> Option<RoutingTable> {
    match name.strip_prefix(DOMAIN) {
        Some(domain) => domain.parse().ok().map(RoutingTable::Domain),
        None => gateway(name).map(RoutingTable::Network),
    }
}

fn tag(text: String, what: impl FnOnce() -> String) -> Result<Tag, TagTooLong> {
    let (engine, remedy) = (EngineKind::Vpp, "use a shorter name");
    Tag::new(text).map_err(|_| TagTooLong { engine, what: what(), limit: TAG_MAX, remedy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use usnet_crds::names::{ROUTING_DOMAIN_MAX, VPP_NETWORK_NAME_MAX};

    #[test]
    fn the_longest_names_fit_and_are_read_back() {
        let network: NetworkName = "n".repeat(VPP_NETWORK_NAME_MAX).parse().unwrap();
        let domain = RoutingTable::Domain("d".repeat(ROUTING_DOMAIN_MAX).parse().unwrap());
        assert_eq!(gateway(gateway_tag(&network).unwrap().as_str()), Some(network.clone()));
        for owner in [RoutingTable::Network(network), domain] {
            assert_eq!(table(table_name(&owner).unwrap().as_str()), Some(owner));
        }
        for foreign in ["", "usngw", "usngw:", "usnrd:A", "usnet:blue", "ipv4-VRF:0"] {
            assert_eq!((table(foreign), gateway(foreign)), (None, None), "{foreign}");
        }
    }
}
