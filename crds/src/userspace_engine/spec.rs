//! What users write, and its rules in CEL.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::problem::EngineProblem;
use super::status::UserspaceEngineStatus;
use super::types::{CPU_LIST_MAX, CPU_LIST_PATTERN, HugepageSize, SIZE_MAX, SIZE_PATTERN};
use crate::EngineKind;
use crate::cel::rule;
use crate::network::selectors::{
    label_selector, match_expressions_are_labels, match_labels_are_labels, values_fit_operator,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest name of an object, in bytes.
pub const ENGINE_NAME_MAX: usize = 40;
/// Longest name of an image, in characters.
pub const IMAGE_MAX: usize = 512;
/// Most exclusive CPUs of an engine on a node.
pub const EXCLUSIVE_CPUS_MAX: u16 = 64;
/// Longest sleep of an idle polling thread, in microseconds: 10 ms.
pub const IDLE_SLEEP_MAX: u32 = 10_000;
/// Most nodes that are updated at a time.
pub const UNAVAILABLE_MAX: u32 = 1000;

/// An engine that usnet runs on nodes that have none.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceEngine",
    shortname = "usne",
    category = "usnet",
    category = "userspace",
    status = "UserspaceEngineStatus",
    derive = "PartialEq",
    doc = "Open vSwitch or VPP, run and updated by usnet on the nodes that it selects. Needs the component engines.",
    validation = is_short_name(),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes.summary", description = "running/selected"),
    printcolumn(name = "Updated", type_ = "integer", json_path = ".status.nodes.updated", description = "nodes whose engine runs with the current spec"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct UserspaceEngineSpec {
    /// The engine: OVS or VPP. It cannot change.
    #[x_kube(validation = engine_immutable())]
    pub engine: EngineKind,
    /// The nodes that run the engine, by their labels. All nodes, if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label_selector")]
    #[x_kube(
        validation = values_fit_operator(),
        validation = match_labels_are_labels(),
        validation = match_expressions_are_labels()
    )]
    pub node_selector: Option<LabelSelector>,
    /// The image with the programs of the engine. For OVS usnet-openvswitch of this release, or
    /// another one with ovsdb-server, ovsdb-tool, ovs-vsctl, ovs-appctl and an ovs-vswitchd with
    /// DPDK; for VPP any image with the program vpp.
    #[schemars(length(min = 1, max = IMAGE_MAX), regex(pattern = r"^\S+$"))]
    pub image: String,
    /// The memory of the engine on each node.
    #[serde(default)]
    pub memory: EngineMemorySpec,
    /// The CPUs of the engine on each node. If it is absent, the engine shares the CPUs of the node
    /// with other pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<EngineCpusSpec>,
    /// How long a polling thread without packets sleeps, in microseconds. 0 lets it use its CPU
    /// whole, with the lowest latency.
    #[serde(default = "default_idle_sleep")]
    #[schemars(range(min = 0, max = IDLE_SLEEP_MAX))]
    pub idle_sleep_microseconds: u32,
    /// Which NICs the engine may have: Kernel, those of Linux; PCI also those that UserspaceUplinks
    /// give it by DPDK, for which its pod is privileged.
    #[serde(default)]
    pub nics: EngineNics,
    /// How changes reach nodes that run the engine, if they need a restart of it.
    #[serde(default)]
    pub update: EngineUpdateSpec,
}

/// The memory of an engine on a node.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EngineMemorySpec {
    /// For packets.
    #[serde(default = "default_packets")]
    #[schemars(length(max = SIZE_MAX), regex(pattern = SIZE_PATTERN))]
    pub packets: String,
    /// The size of the hugepages that packets are in: 2Mi or 1Gi. The node has to have enough free
    /// ones. If it is absent, packets are in ordinary memory, which is slower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hugepages: Option<HugepageSize>,
    /// For everything else.
    #[serde(default = "default_process")]
    #[schemars(length(max = SIZE_MAX), regex(pattern = SIZE_PATTERN))]
    pub process: String,
}

impl Default for EngineMemorySpec {
    fn default() -> Self {
        Self { packets: default_packets(), hugepages: None, process: default_process() }
    }
}

/// The CPUs of an engine on a node.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = one_of_cpus())]
pub struct EngineCpusSpec {
    /// So many CPUs that no other pod has: kubelet gives them with its CPU manager's policy static.
    /// The first is for the main thread, the others poll; one alone does both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = EXCLUSIVE_CPUS_MAX))]
    pub exclusive: Option<u16>,
    /// These CPUs, which the administrator keeps free of other programs, as 2-3,6. The first is for
    /// the main thread, the others poll; one alone does both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CPU_LIST_MAX), regex(pattern = CPU_LIST_PATTERN))]
    pub list: Option<String>,
}

/// Which NICs an engine may have.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineNics {
    /// Those of Linux.
    #[default]
    Kernel,
    /// Also PCI devices.
    #[serde(rename = "PCI")]
    Pci,
}

/// How changes reach nodes that run the engine.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EngineUpdateSpec {
    /// On so many nodes at a time the engine may be restarted or not ready. While more are not
    /// ready, no further node is restarted.
    #[serde(default = "default_unavailable")]
    #[schemars(range(min = 1, max = UNAVAILABLE_MAX))]
    pub max_unavailable: u32,
    /// Restarts no node.
    #[serde(default)]
    pub paused: bool,
}

impl Default for EngineUpdateSpec {
    fn default() -> Self {
        Self { max_unavailable: default_unavailable(), paused: false }
    }
}

/// Half a millisecond of sleep would be the latency of an idle network; this keeps an idle thread
/// below a tenth of a CPU.
const fn default_idle_sleep() -> u32 {
    200
}

/// Enough for sixteen vhost-user ports with memory of their own.
fn default_packets() -> String {
    "1Gi".to_owned()
}

fn default_process() -> String {
    "512Mi".to_owned()
}

const fn default_unavailable() -> u32 {
    1
}

fn is_short_name() -> Rule {
    rule(
        format!("!self.metadata.name.contains('.') && size(self.metadata.name) <= {ENGINE_NAME_MAX}"),
        format!("metadata.name is not a DNS label: use at most {ENGINE_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

fn engine_immutable() -> Rule {
    rule("self == oldSelf", "engine cannot change: create another UserspaceEngine for other nodes")
}

fn one_of_cpus() -> Rule {
    rule("has(self.exclusive) != has(self.list)", EngineProblem::OneOfCpus.to_string())
}
