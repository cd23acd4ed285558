//! The pod of an engine: its privileges, resources and folders. Pure.

use super::CONTAINER;
use crate::settings::VARIABLE;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use usnet_crds::userspace_engine::spec::EngineNics;
use usnet_crds::userspace_engine::types::MemorySize;
use usnet_crds::userspace_engine::validate::{EngineCpus, ValidEngine};
use usnet_crds::{EngineKind, UserspaceEngineSpec};

/// The CPU that an engine without CPUs of its own is sure to get.
const SHARED_CPU: &str = "250m";
/// What the container that copies the supervisor uses.
const COPY_RESOURCES: (&str, &str) = ("100m", "64Mi");

/// The pod of an engine. `config_map` has the settings that change while it runs, and `settings` is
/// what it is created with.
pub(super) fn spec(
    config_map: &str,
    settings: &str,
    spec: &UserspaceEngineSpec,
    valid: &ValidEngine,
    usnet_image: &str,
) -> Value {
    let (cpu, memory) = COPY_RESOURCES;
    let copy = json!({"cpu": cpu, "memory": memory});
    let probe = ["/usnet-engine/usnet", "check-engine"];
    let node_affinity = spec.node_selector.as_ref().and_then(node_affinity);
    json!({
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "hostNetwork": true,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 30,
        // The engine's image needs nothing of usnet.
        "initContainers": [{
            "name": "supervisor",
            "image": usnet_image,
            "command": ["/usr/local/bin/usnet", "install-plugin", "--from=/usr/local/bin/usnet", "--to=/usnet-engine"],
            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
            "resources": {"requests": copy, "limits": copy},
            "volumeMounts": [{"name": "supervisor", "mountPath": "/usnet-engine"}],
        }],
        "containers": [{
            "name": CONTAINER,
            "image": valid.image,
            "command": ["/usnet-engine/usnet", "supervise-engine"],
            "env": [{"name": VARIABLE, "value": settings}],
            "readinessProbe": {"exec": {"command": probe}, "periodSeconds": 2, "timeoutSeconds": 5},
            "securityContext": security(valid),
            "resources": resources(valid),
            "volumeMounts": mounts(valid),
        }],
        "volumes": volumes(config_map, valid),
        "affinity": node_affinity.map(|affinity| json!({"nodeAffinity": affinity})),
    })
}

/// Nodes by their labels. None for a selector that selects all: a term without expressions selects
/// none.
fn node_affinity(selector: &LabelSelector) -> Option<Value> {
    let mut expressions: Vec<Value> = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        expressions.push(json!({"key": key, "operator": "In", "values": [value]}));
    }
    for expression in selector.match_expressions.iter().flatten() {
        let values = expression.values.clone().unwrap_or_default();
        expressions.push(json!({"key": expression.key, "operator": expression.operator, "values": values}));
    }
    let terms = json!([{"matchExpressions": expressions}]);
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}});
    (!expressions.is_empty()).then_some(required)
}

/// The capabilities of an engine for the NICs of Linux. A test starts Open vSwitch without each.
pub const fn capabilities(engine: EngineKind) -> &'static [&'static str] {
    const TAP_DEVICES_AND_NICS: &str = "NET_ADMIN";
    const PACKET_SOCKETS: &str = "NET_RAW";
    const SOCKETS_OF_OTHER_USERS: &str = "DAC_OVERRIDE";
    match engine {
        EngineKind::OpenVswitch => &[TAP_DEVICES_AND_NICS, PACKET_SOCKETS, SOCKETS_OF_OTHER_USERS],
        EngineKind::Vpp => &[
            TAP_DEVICES_AND_NICS,
            PACKET_SOCKETS,
            SOCKETS_OF_OTHER_USERS,
            // Locked memory.
            "IPC_LOCK",
            // CPUs of threads, and the memory policy of NUMA.
            "SYS_NICE",
            // Tap devices in network namespaces of pods.
            "SYS_ADMIN",
        ],
    }
}

/// The capability with which the profile of container runtimes lets DPDK choose the NUMA node of
/// hugepages: without it Open vSwitch does not start on a node that has several.
const MEMORY_OF_NUMA_NODES: &str = "SYS_NICE";

/// What an engine needs of the kernel.
fn security(valid: &ValidEngine) -> Value {
    // PCI devices and AF_XDP need device files and system calls that no capability gives.
    if valid.nics == EngineNics::Pci {
        return json!({"privileged": true, "runAsUser": 0});
    }
    let chooses_memory = valid.engine == EngineKind::OpenVswitch && valid.memory.hugepages.is_some();
    let of_hugepages = chooses_memory.then_some(MEMORY_OF_NUMA_NODES);
    let capabilities: Vec<&str> = capabilities(valid.engine).iter().copied().chain(of_hugepages).collect();
    json!({
        "runAsUser": 0,
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"], "add": capabilities},
        "seccompProfile": {"type": "RuntimeDefault"},
        // Another type may not write folders of the node where SELinux enforces its policy. Without
        // SELinux it means nothing.
        "seLinuxOptions": {"type": "spc_t"},
    })
}

/// With exclusive CPUs the pod is of the class Guaranteed, whose requests are its limits.
fn resources(valid: &ValidEngine) -> Value {
    let mut limits = BTreeMap::from([("memory".to_owned(), valid.memory.limit().to_string())]);
    if let Some(size) = valid.memory.hugepages {
        limits.insert(format!("hugepages-{size}"), valid.memory.packets.to_string());
    }
    let mut requests = limits.clone();
    match valid.cpus {
        EngineCpus::Exclusive(number) => {
            requests.insert("cpu".to_owned(), number.to_string());
            limits.insert("cpu".to_owned(), number.to_string());
        }
        EngineCpus::Shared | EngineCpus::List(_) => {
            requests.insert("cpu".to_owned(), SHARED_CPU.to_owned());
        }
    }
    json!({"requests": requests, "limits": limits})
}

/// The folder of an engine's sockets on the node.
fn socket_folder(engine: EngineKind) -> String {
    let socket = engine.traits().socket;
    format!("/{}", socket.rsplit_once('/').map_or(socket, |(folder, _)| folder))
}

fn mounts(valid: &ValidEngine) -> Value {
    let mut mounts = vec![
        json!({"name": "supervisor", "mountPath": "/usnet-engine", "readOnly": true}),
        json!({"name": "settings", "mountPath": "/etc/usnet-engine", "readOnly": true}),
        json!({"name": "sockets", "mountPath": socket_folder(valid.engine)}),
        // With the folders of pods, in which the sockets of their ports are.
        json!({"name": "run-usnet", "mountPath": "/run/usnet", "mountPropagation": "HostToContainer"}),
        json!({"name": "temporary", "mountPath": "/tmp"}),
        json!({"name": "dpdk", "mountPath": "/var/run/dpdk"}),
    ];
    if valid.engine == EngineKind::Vpp {
        for path in ["/run/netns", "/var/run/netns"] {
            mounts
                .push(json!({"name": "network-namespaces", "mountPath": path, "mountPropagation": "HostToContainer"}));
        }
    }
    match valid.nics {
        EngineNics::Kernel => mounts.push(json!({"name": "tun", "mountPath": "/dev/net/tun"})),
        EngineNics::Pci => mounts.push(json!({"name": "devices", "mountPath": "/dev"})),
    }
    if valid.memory.hugepages.is_some() {
        mounts.push(json!({"name": "hugepages", "mountPath": "/dev/hugepages"}));
    }
    json!(mounts)
}

fn volumes(config_map: &str, valid: &ValidEngine) -> Value {
    let folder = |path: &str| json!({"path": path, "type": "DirectoryOrCreate"});
    let scratch = |size: MemorySize| json!({"medium": "Memory", "sizeLimit": size.to_string()});
    let mut volumes = vec![
        json!({"name": "supervisor", "emptyDir": {}}),
        json!({"name": "settings", "configMap": {"name": config_map}}),
        json!({"name": "sockets", "hostPath": folder(&socket_folder(valid.engine))}),
        json!({"name": "run-usnet", "hostPath": folder("/run/usnet")}),
        json!({"name": "temporary", "emptyDir": scratch(MemorySize::from_mib(16))}),
        json!({"name": "dpdk", "emptyDir": scratch(MemorySize::from_mib(16))}),
    ];
    if valid.engine == EngineKind::Vpp {
        volumes.push(json!({"name": "network-namespaces", "hostPath": folder("/run/netns")}));
    }
    match valid.nics {
        EngineNics::Kernel => {
            volumes.push(json!({"name": "tun", "hostPath": {"path": "/dev/net/tun", "type": "CharDevice"}}));
        }
        EngineNics::Pci => volumes.push(json!({"name": "devices", "hostPath": {"path": "/dev"}})),
    }
    if let Some(size) = valid.memory.hugepages {
        volumes.push(json!({"name": "hugepages", "emptyDir": {"medium": format!("HugePages-{size}")}}));
    }
    json!(volumes)
}
