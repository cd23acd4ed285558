//! A node with an Open vSwitch of its own.

use crate::support::node::Node;
use serde_json::Value;
use std::ops::Deref;
use std::process::Command;
use usnet_test_openvswitch::OpenVswitch;

/// A node whose Open vSwitch runs.
pub(crate) struct OvsTestbed {
    pub(crate) ovs: OpenVswitch,
    node: Node,
}

impl Deref for OvsTestbed {
    type Target = Node;
    fn deref(&self) -> &Node {
        &self.node
    }
}

impl OvsTestbed {
    pub(crate) fn start() -> Self {
        Self::with(OpenVswitch::builder().dpdk(true).dpdk_memory(64).start().expect("Open vSwitch"))
    }

    pub(crate) fn with(ovs: OpenVswitch) -> Self {
        let node = Node::new(Some(ovs.socket().to_owned()), None);
        Self { ovs, node }
    }

    pub(crate) fn vsctl(&self, line: &str) -> String {
        let arguments: Vec<_> = line.split_whitespace().collect();
        self.ovs.vsctl(&arguments).unwrap_or_else(|error| panic!("ovs-vsctl {line}: {error}")).trim().to_owned()
    }

    /// All rows of a table with their versions, which change whenever any column does. Columns that
    /// the switch changes by itself are omitted.
    pub(crate) fn rows(&self, table: &str, columns: &[&str]) -> Value {
        let select = serde_json::json!([
            "Open_vSwitch",
            {"op": "select", "table": table, "where": [], "columns": columns}
        ]);
        let server = format!("unix:{}", self.ovs.socket().display());
        let output = Command::new("ovsdb-client").args(["query", &server, &select.to_string()]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn bridges(&self) -> Vec<String> {
        self.vsctl("list-br").lines().map(str::to_owned).collect()
    }
}
