//! Inputs and reports for tests of the selection.

use crate::model::input::{Compiled, Input};
use crate::model::report::Report;
use crate::model::spec::NodeSpec;
use crate::testing::network;
use serde_json::json;
use std::sync::Arc;
use usnet_crds::ValidUplink;
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::uplink::validate::validate;

pub(crate) fn compiled(version: u64, name: &str) -> Compiled {
    Compiled::without_selector(version, format!("uid-{name}"), Arc::new(network(name)))
}

pub(crate) fn input_of(compiled: &[Compiled]) -> Input {
    Input {
        generation: 1,
        networks: compiled.iter().map(|it| (it.network.name.clone(), Arc::new(it.clone()))).collect(),
        version: compiled.iter().map(|it| it.version).max().unwrap_or_default(),
        ..Input::default()
    }
}

/// The report of the reconcilers about a spec, with these numbers of attachments of networks.
pub(crate) fn report_of(spec: Option<Arc<NodeSpec>>, attachments: &[(&str, i64)]) -> Report {
    let entry = |(name, attachments): &(&str, i64)| NetworkReport {
        name: (*name).to_owned(),
        generation: 1,
        state: NetworkState::Programmed,
        reason: String::new(),
        message: String::new(),
        attachments: *attachments,
        connected: 0,
        pods: Vec::new(),
        degraded: Vec::new(),
    };
    Report {
        spec,
        networks: attachments.iter().map(entry).map(Arc::new).collect(),
        uplinks: Vec::new(),
        engines: Vec::new(),
        engine_ends: Vec::new(),
        affected_pods: Vec::new(),
        policy_pods: Vec::new(),
        findings: Vec::new(),
    }
}

/// An uplink with one NIC for the nodes of a rack, or for all.
pub(crate) fn uplink(name: &str, generation: i64, rack: Option<&str>, device: &str) -> ValidUplink {
    let mut nic = json!({"device": {"type": "Name", "name": device}});
    if let Some(rack) = rack {
        nic["nodeSelector"] = json!({"matchLabels": {"rack": rack}});
    }
    let object = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceUplink",
        "metadata": {"name": name, "generation": generation}, "spec": {"engine": "OVS", "nics": [nic]},
    });
    validate(&serde_json::from_value(object).unwrap()).unwrap()
}
