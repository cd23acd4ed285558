//! `UserspaceNodeSlice`: the addresses of up to 100 nodes, between which overlays run. All agents
//! watch the slices, so that a node that joins costs one write, and no object grows with networks ×
//! nodes. There are none while no network has an overlay.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::IpFamily;
use crate::node_state::NODE_NUMBER_MAX;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Nodes of one slice. The slice of a node follows from its number.
pub const SLICE_NODES_MAX: u32 = 100;
/// Nodes that have one number wait for others, so that a slice may have some more for a moment.
const NODES_MAX: u32 = 2 * SLICE_NODES_MAX;
/// Most addresses of one node; later ones are left out.
pub const ADDRESSES_MAX: usize = 16;
const NAME_PREFIX: &str = "nodes-";
const NODE_NAME_MAX: usize = 253;

/// The addresses of up to 100 nodes.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceNodeSlice",
    shortname = "usnsl",
    category = "usnet",
    derive = "PartialEq",
    doc = "The addresses of up to 100 nodes, between which overlays run. Only the controller writes it, while there is an overlay; agents watch it.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct UserspaceNodeSliceSpec {
    /// The nodes, sorted by name.
    #[serde(default)]
    #[schemars(length(max = NODES_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub nodes: Vec<SliceNode>,
}

/// A node of a slice.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SliceNode {
    /// The name of the node.
    #[schemars(length(max = NODE_NAME_MAX))]
    pub name: String,
    /// The number of the node, from which its address in the underlay of an uplink follows.
    #[schemars(range(min = 0, max = NODE_NUMBER_MAX))]
    pub number: u32,
    /// The addresses of the node of the type InternalIP, in the order of the Node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "addresses")]
    pub addresses: Vec<IpAddr>,
    /// The labels of the node whose keys occur in node selectors of overlays.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl SliceNode {
    /// The address of this family from which the node sends encapsulated packets, and to which
    /// others send them.
    pub fn underlay(&self, family: IpFamily) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|address| family.contains(*address))
    }
}

fn addresses(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "description": "The addresses of the node of the type InternalIP, in the order of the Node.",
        "type": "array",
        "items": {"type": "string", "maxLength": crate::types::limits::IP_MAX},
        "maxItems": ADDRESSES_MAX,
        "x-kubernetes-list-type": "atomic",
    })
}

/// The name of the slice of the node with this number.
pub fn slice_name(number: u32) -> String {
    format!("{NAME_PREFIX}{}", number / SLICE_NODES_MAX)
}

/// The numbers of the nodes in the slice of this name; none if no slice has it.
pub fn slice_numbers(name: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let index: u32 = name.strip_prefix(NAME_PREFIX)?.parse().ok()?;
    let first = index.checked_mul(SLICE_NODES_MAX)?;
    let last = first.checked_add(SLICE_NODES_MAX - 1)?;
    // One slice has one name: no "nodes-01".
    (slice_name(first) == name).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slice_of_a_node_follows_from_its_number() {
        assert_eq!([0, 99, 100, 65_535].map(slice_name), ["nodes-0", "nodes-0", "nodes-1", "nodes-655"]);
        assert_eq!(slice_numbers("nodes-1"), Some(100..=199));
        for other in ["nodes-", "nodes-01", "nodes-x", "1", "nodes-99999999999"] {
            assert_eq!(slice_numbers(other), None, "{other}");
        }
    }

    #[test]
    fn overlays_run_between_the_first_addresses_of_a_family() {
        let addresses = ["fd00::1", "10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap());
        let node = SliceNode { addresses: addresses.into(), ..SliceNode::default() };
        assert_eq!(node.underlay(IpFamily::V4), Some([10, 0, 0, 1].into()));
        assert_eq!(node.underlay(IpFamily::V6), Some(addresses[0]));
        assert_eq!(SliceNode::default().underlay(IpFamily::V4), None);
    }
}
