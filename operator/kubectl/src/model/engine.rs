//! The parts of a UserspaceEngine, and what Kubernetes says of a node that has to be prepared for
//! one.

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::{Selector, SelectorExt};
use std::collections::BTreeMap;
use usnet_crds::conditions::reason::{ENGINE_STARTING, Place, find as find_reason};
use usnet_crds::conditions::{Status, UPDATED, engine_connected, find};
use usnet_crds::userspace_engine::preparation::NodeFacts;
use usnet_crds::userspace_engine::status::EngineNodeProblem;
use usnet_crds::userspace_engine::types::HugepageSize;
use usnet_crds::userspace_engine::validate::{ValidEngine, validate};
use usnet_crds::{UserspaceEngine, UserspaceEngineSpec, UserspaceEngineStatus, UserspaceNodeStateStatus};

#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub generation: i64,
    pub is_deleting: bool,
    pub spec: UserspaceEngineSpec,
    /// The spec, or what is wrong with it.
    pub valid: Result<ValidEngine, String>,
    /// `None` if the selector is invalid, so that no node is selected.
    pub nodes: Option<Selector>,
    pub status: UserspaceEngineStatus,
}

/// How the engine of an object is on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OnNode {
    /// It runs, and the agent of the node is connected to it.
    Running,
    /// It does not, for this reason.
    Failed {
        reason: String,
        message: String,
    },
    Starting,
    /// The agent of the node has reported nothing.
    Unknown,
}

impl Engine {
    /// Returns the name and the parts of an object.
    pub(crate) fn of(object: UserspaceEngine) -> (String, Self) {
        let UserspaceEngine { metadata, spec, status } = object;
        let name = metadata.name.unwrap_or_default();
        let engine = Self {
            generation: metadata.generation.unwrap_or_default(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            valid: validate(&name, &spec).map_err(|invalid| invalid.to_string()),
            nodes: Selector::try_from(spec.node_selector.clone().unwrap_or_default()).ok(),
            status: status.unwrap_or_default(),
            spec,
        };
        (name, engine)
    }

    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.nodes.as_ref().is_some_and(|nodes| nodes.matches(labels))
    }

    /// Whether the controller has read the last change.
    pub(crate) fn is_observed(&self) -> bool {
        self.status.observed_generation.is_some_and(|observed| observed >= self.generation)
    }

    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        find(&self.status.conditions, kind)
    }

    /// Whether each engine that runs was started with the current spec.
    pub(crate) fn is_up_to_date(&self) -> bool {
        let updated = self.condition(UPDATED);
        self.is_observed() && updated.is_some_and(|updated| updated.status == Status::True.as_str())
    }

    fn problem_on(&self, node: &str) -> Option<&EngineNodeProblem> {
        self.status.problems.iter().find(|problem| problem.node == node)
    }

    /// Returns how the engine is on a node, from what the controller says and the agent of the node
    /// has reported.
    pub(crate) fn on_node(&self, node: &str, report: Option<&UserspaceNodeStateStatus>) -> OnNode {
        if let Some(EngineNodeProblem { reason, message, .. }) = self.problem_on(node) {
            return OnNode::Failed { reason: reason.clone(), message: message.clone() };
        }
        let connected = engine_connected(self.spec.engine);
        let Some(condition) = report.and_then(|status| find(&status.conditions, connected)) else {
            return OnNode::Unknown;
        };
        let is_of_engine = || find_reason(&condition.reason).is_some_and(|reason| reason.is_in(Place::Engine));
        if condition.status == Status::True.as_str() {
            OnNode::Running
        } else if condition.reason != ENGINE_STARTING && is_of_engine() {
            OnNode::Failed { reason: condition.reason.clone(), message: condition.message.clone() }
        } else {
            OnNode::Starting
        }
    }
}

/// Returns what has to be known of a node to prepare it.
pub(crate) fn node_facts(node: v1::Node) -> NodeFacts {
    let status = node.status.unwrap_or_default();
    let info = status.node_info.unwrap_or_default();
    let capacity = status.capacity.unwrap_or_default();
    let pages = |size: HugepageSize| {
        let mebibytes = mebibytes(&capacity.get(&format!("hugepages-{size}"))?.0)?;
        Some((size, mebibytes / size.size().mib()))
    };
    NodeFacts {
        name: node.metadata.name.unwrap_or_default(),
        os_image: info.os_image,
        architecture: info.architecture,
        hugepages: [HugepageSize::Mi2, HugepageSize::Gi1].into_iter().filter_map(pages).collect(),
    }
}

/// Returns a quantity of Kubernetes, as kubelet writes memory, in MiB.
fn mebibytes(quantity: &str) -> Option<u32> {
    let digits = quantity.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let bytes = match quantity.get(digits.len()..)? {
        "" => number,
        "Ki" => number.checked_mul(1 << 10)?,
        "Mi" => number.checked_mul(1 << 20)?,
        "Gi" => number.checked_mul(1 << 30)?,
        "Ti" => number.checked_mul(1 << 40)?,
        _ => return None,
    };
    u32::try_from(bytes >> 20).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn facts_of_a_node_are_those_that_kubelet_reports() {
        let node = json!({
            "metadata": {"name": "node-a"},
            "status": {
                "capacity": {"hugepages-2Mi": "1026Mi", "hugepages-1Gi": "0", "cpu": "4"},
                "nodeInfo": {
                    "osImage": "Rocky Linux 9.4 (Blue Onyx)", "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "",
                    "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "", "operatingSystem": "linux", "systemUUID": "",
                },
            },
        });
        let facts = node_facts(serde_json::from_value(node).unwrap());
        assert_eq!((facts.name.as_str(), facts.os_image.as_str()), ("node-a", "Rocky Linux 9.4 (Blue Onyx)"));
        assert_eq!(facts.hugepages, [(HugepageSize::Mi2, 513), (HugepageSize::Gi1, 0)].into());
        assert_eq!(node_facts(v1::Node::default()), NodeFacts::default());
    }

    #[test]
    fn quantities_are_read_in_each_unit() {
        for (quantity, expected) in [
            ("0", Some(0)),
            ("1073741824", Some(1024)),
            ("2048Ki", Some(2)),
            ("4Gi", Some(4096)),
            ("1Ti", Some(1 << 20)),
            ("4G", None),
            ("", None),
            ("99999999999Ti", None),
        ] {
            assert_eq!(mebibytes(quantity), expected, "{quantity}");
        }
    }
}
