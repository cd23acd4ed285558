//! Which networks may have one bridge: those that adopt it and are told apart by VLANs.

use super::node_network::NodeNetwork;
use crate::network::bridge::Ownership;
use crate::{Vlan, VlanTag};
use std::collections::BTreeSet;

impl NodeNetwork {
    /// Whether this network and another one may have the same bridge. A port without a VLAN gets
    /// the frames of all of them.
    pub fn shares_bridge_with(&self, other: &Self) -> bool {
        let is_adopted = |network: &Self| network.bridge.ownership == Ownership::Adopted;
        let is_possible = is_adopted(self) && is_adopted(other) && self.engine.traits().learns_per_vlan;
        match (self.vlans(), other.vlans()) {
            (Some(own), Some(others)) => is_possible && own.is_disjoint(&others),
            _ => false,
        }
    }

    /// The VLANs of its ports, those of single pods included; `None` if a port may have none.
    pub fn vlans(&self) -> Option<BTreeSet<VlanTag>> {
        let usual = self.port.vlan.as_ref()?;
        let fixed = self.attachments.iter().filter_map(|attachment| attachment.vlan.as_ref());
        Some([usual].into_iter().chain(fixed).flat_map(tags).collect())
    }
}

fn tags(vlan: &Vlan) -> impl Iterator<Item = VlanTag> {
    vlan.tag().into_iter().chain(vlan.trunks().into_iter().flatten().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FixedAttachment;
    use serde_json::json;

    fn network(ownership: &str, engine: &str, vlan: &serde_json::Value) -> NodeNetwork {
        let port = json!({"type": "Veth", "queues": 1, "vlan": vlan});
        let bridge = json!({"name": "4", "mtu": 1500, "ownership": ownership});
        let text = json!({"name": "blue", "generation": 1, "engine": engine, "bridge": bridge, "port": port});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn adopted_bridges_are_shared_by_networks_with_other_vlans() {
        let adopted = |vlan: &serde_json::Value| network("Adopted", "OVS", vlan);
        let five = adopted(&json!({"mode": "Access", "tag": 5}));
        let six = adopted(&json!({"mode": "Access", "tag": 6}));
        let trunk = adopted(&json!({"mode": "NativeTagged", "tag": 7, "trunks": [6, 8]}));
        assert!(five.shares_bridge_with(&six) && five.shares_bridge_with(&trunk));
        assert!(!six.shares_bridge_with(&trunk) && !five.shares_bridge_with(&five));
        let untagged = adopted(&serde_json::Value::Null);
        assert!(!five.shares_bridge_with(&untagged) && !untagged.shares_bridge_with(&five));
        for (ownership, engine) in [("Managed", "OVS"), ("Adopted", "VPP")] {
            let [one, other] = [5, 6].map(|tag| network(ownership, engine, &json!({"mode": "Access", "tag": tag})));
            assert!(!one.shares_bridge_with(&other), "{ownership} {engine}");
        }
        let mut fixed = five;
        let attachment = json!({"namespace": "db", "pod": "mysql-0", "vlan": {"mode": "Access", "tag": 6}});
        let attachment: FixedAttachment = serde_json::from_value(attachment).unwrap();
        fixed.attachments.push(attachment);
        assert!(!fixed.shares_bridge_with(&six));
    }
}
