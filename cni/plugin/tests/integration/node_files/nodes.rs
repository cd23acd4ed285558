//! The networks and attachments of the node whose files are golden: each port type, setting and
//! progress once.

use super::engine;
use super::ipam;
use super::restore::create_namespace;
use crate::support::engine::TestEngine;
use crate::support::ipam::PLUGINS;
use crate::support::legacy::{legacy, legacy_memif};
use crate::support::output::Output;
use crate::support::pod::Pod;
use crate::support::{NAMESPACE, TestNode, configuration};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use usnet_crds::{EngineKind, NodeNetwork, Ownership, Port};
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles};
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::shared_dirs::SharedDirs;
use usnet_dataplane::testing::network_with;

/// The root below which the `sharedDir` of a legacy configuration may be.
pub(super) const ALLOWED: &str = "/run/allowed";

/// How far an attachment is when its files are collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Attached,
    /// ADD was killed after the port was created.
    Attaching,
    /// DEL was killed before the port was deleted.
    Detaching,
    /// The engine was unreachable at DEL.
    Detached,
}

/// An attachment, as the runtime knows it.
#[derive(Debug, Clone)]
pub(super) struct Attachment {
    pub(super) pod: String,
    /// `CNI_IFNAME`.
    pub(super) interface: &'static str,
    pub(super) configuration: Value,
    pub(super) progress: Progress,
    pub(super) has_volume: bool,
    /// Whether other pods can attach in the same way at the same time.
    pub(super) can_be_repeated: bool,
}

impl Attachment {
    fn new(pod: &str, configuration: Value) -> Self {
        Self {
            pod: pod.to_owned(),
            interface: "net1",
            configuration,
            progress: Progress::Attached,
            has_volume: true,
            can_be_repeated: true,
        }
    }

    fn without_volume(self) -> Self {
        Self { has_volume: false, ..self }
    }

    fn once(self) -> Self {
        Self { can_be_repeated: false, ..self }
    }

    fn until(self, progress: Progress) -> Self {
        Self { progress, can_be_repeated: false, ..self }
    }

    /// The path of the pod's network namespace.
    pub(super) fn namespace(&self) -> String {
        format!("/run/netns/{}", self.pod)
    }

    /// The id of the attachment, as in ownership tags.
    pub(super) fn id(&self, node: &TestNode) -> String {
        format!("{}.{}", Pod::new(&node.paths, NAMESPACE, &self.pod).container, self.interface)
    }

    pub(super) fn call(&self, node: &TestNode, verb: &'static str, configuration: &Value) -> Output {
        let pod = if self.has_volume { node.pod(&self.pod) } else { Pod::new(&node.paths, NAMESPACE, &self.pod) };
        self.call_as(node, &pod, verb, configuration)
    }

    /// Calls the plugin for this sandbox of the pod.
    pub(super) fn call_as(&self, node: &TestNode, pod: &Pod, verb: &'static str, configuration: &Value) -> Output {
        let namespace = self.namespace();
        let variables = [("CNI_NETNS", namespace.as_str()), ("CNI_PATH", PLUGINS)];
        node.call_in(verb, pod, self.interface, configuration, &variables)
    }

    fn kill_in_ipam(&self, node: &TestNode, verb: &'static str) {
        let (pod, namespace) = (node.pod(&self.pod), self.namespace());
        let variables = [("CNI_NETNS", namespace.as_str()), ("CNI_PATH", PLUGINS)];
        ipam::kill_in_ipam(|| {
            let mut command = node.command(verb, &pod, self.interface, &variables);
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(self.configuration.to_string().as_bytes()).unwrap();
            child
        });
    }

    fn record(&self, node: &TestNode) -> PathBuf {
        node.paths.attachments().join(format!("{}.json", self.id(node)))
    }
}

/// The networks by name, with the parts of their specs that are not defaults.
fn networks(engine: EngineKind) -> Vec<(&'static str, Value)> {
    let memif = |socket: &str, secret: &str| json!({"type": "Memif", "memif": {"socket": socket, "secret": secret}});
    let vlan = json!({"mode": "NativeUntagged", "tag": 7, "trunks": [8, 100]});
    let limits = json!({"ingressKbps": 20_000, "egressKbps": 10_000});
    let attachments = json!([{"namespace": NAMESPACE, "pod": "static", "mac": "02:11:22:33:44:55",
        "ips": ["10.56.0.77/24", "fd00:1::77/64"], "rateLimit": {"ingressKbps": 7000}}]);
    let mut all = vec![
        ("vhost", json!({})),
        ("veth", json!({"port": {"type": "Veth"}, "bridge": {"mtu": 1400, "macAgeSeconds": 600}})),
        ("vhost-pool", json!({"ipam": {"type": "pool", "name": "addresses"}})),
        ("veth-dhcp", json!({"port": {"type": "Veth"}, "ipam": {"type": "dhcp"}})),
        ("access", json!({"port": {"vlan": {"mode": "Access", "tag": 42}, "queues": 2}})),
        ("limited", json!({"port": {"rateLimit": limits}})),
        ("static", json!({"attachments": attachments})),
        ("counted", json!({"devicePlugin": {"devices": 4}})),
        ("quiet", json!({"bridge": {"macLearning": "Disabled"}})),
    ];
    all.extend(match engine {
        EngineKind::OpenVswitch => vec![
            ("trunk", json!({"port": {"vlan": vlan}})),
            ("adopted", json!({"bridge": {"name": "br-other", "ownership": "Adopted"}})),
        ],
        EngineKind::Vpp => vec![
            ("vhost-server", json!({"port": {"vhostUser": {"engineRole": "Server"}}})),
            ("memif", json!({"port": memif("Volume", "None")})),
            ("memif-secret", json!({"port": memif("Volume", "Generated")})),
            ("memif-name", json!({"port": memif("Abstract", "None")})),
            ("adopted", json!({"bridge": {"name": "4711", "ownership": "Adopted"}})),
        ],
    });
    all
}

pub(super) fn attachments(node: &TestNode) -> Vec<Attachment> {
    let on = |network: &str| Attachment::new(network, configuration(network));
    let mut all: Vec<_> = ["vhost", "vhost-pool", "access", "limited", "adopted"].into_iter().map(on).collect();
    all.push(on("static").once());
    all.push(on("veth").without_volume());
    all.push(on("counted").without_volume().once());
    all.push(with_device_info());
    all.push(chained());
    all.push(Attachment::new("legacy", on_bridge(node, legacy(node), "vhost")));
    let mut shared = on_bridge(node, legacy(node), "vhost");
    shared["sharedDir"] = json!(format!("{ALLOWED}/old"));
    all.push(Attachment::new("shared", shared).without_volume());
    match node.engine.kind() {
        EngineKind::OpenVswitch => all.push(on("trunk")),
        EngineKind::Vpp => {
            all.extend(["vhost-server", "memif", "memif-secret"].map(on));
            all.push(on("memif-name").without_volume());
            all.push(Attachment::new("legacy-memif", on_bridge(node, legacy_memif(node), "memif")));
        }
    }
    let killed = |pod: &str, network: &str| Attachment::new(pod, configuration(network));
    all.push(killed("attaching", "veth-dhcp").until(Progress::Attaching));
    all.push(killed("detaching", "veth-dhcp").until(Progress::Detaching));
    all.push(killed("detached", "limited").until(Progress::Detached));
    all
}

/// An attachment by Multus, with a request for a lower rate.
fn with_device_info() -> Attachment {
    let mut requested = configuration("limited");
    requested["runtimeConfig"] = json!({
        "CNIDeviceInfoFile": "/run/devinfo/db-limited-net1",
        "bandwidth": {"ingressRate": 5_000_000, "ingressBurst": 5_000_000, "egressRate": 4_000_000, "egressBurst": 4_000_000},
    });
    Attachment::new("multus", requested).once()
}

/// An attachment by the call of containerd for `eth0`, without Multus.
fn chained() -> Attachment {
    let networks = json!([{"name": "vhost", "ips": ["10.58.0.1/24"]}, {"name": "access", "interface": "data"}]);
    let before = json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "eth0", "mac": "0a:00:00:00:00:02", "sandbox": "/run/netns/chained"}],
        "ips": [{"address": "10.244.0.9/24", "gateway": "10.244.0.1", "interface": 0}],
    });
    let configuration = json!({
        "cniVersion": "1.1.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations",
        "capabilities": {"io.kubernetes.cri.pod-annotations": true},
        "runtimeConfig": {"io.kubernetes.cri.pod-annotations": {"k8s.v1.cni.cncf.io/networks": networks.to_string()}},
        "prevResult": before,
    });
    Attachment { interface: "eth0", ..Attachment::new("chained", configuration).once() }
}

fn on_bridge(node: &TestNode, mut configuration: Value, network: &str) -> Value {
    configuration["host"]["bridge"]["bridgeName"] = json!(node.bridge_of(network));
    configuration
}

/// Brings the node into the state whose files are golden.
pub(super) fn produce(node: &TestNode) {
    ipam::install(9);
    fs::create_dir_all(ALLOWED).unwrap();
    SharedDirs::allow(&node.paths, vec![ALLOWED.into()]).unwrap();
    let programmed: Vec<_> =
        networks(node.engine.kind()).iter().map(|(name, spec)| program(node, name, spec)).collect();
    publish_others(node, programmed);
    node.allocate_devices("counted", &[(&Pod::new(&node.paths, NAMESPACE, "counted"), &["counted-3"])]);
    for attachment in attachments(node) {
        create_namespace(&attachment);
        match attachment.progress {
            Progress::Attaching => attachment.kill_in_ipam(node, "ADD"),
            _ => super::files::keep_result(&attachment, &attachment.add(node)),
        }
    }
    for attachment in attachments(node) {
        match attachment.progress {
            Progress::Detaching => attachment.kill_in_ipam(node, "DEL"),
            Progress::Detached => attachment.del_without_engine(node),
            Progress::Attached | Progress::Attaching => {}
        }
    }
}

impl Attachment {
    fn add(&self, node: &TestNode) -> Value {
        self.call(node, "ADD", &self.configuration).result()
    }

    /// The record names a socket where no engine listens, so that DEL leaves the port to the agent.
    fn del_without_engine(&self, node: &TestNode) {
        let exchange = |old: &str, new: &str| {
            let text = fs::read_to_string(self.record(node)).unwrap();
            assert!(text.contains(old), "{text}");
            fs::write(self.record(node), text.replace(old, new)).unwrap();
        };
        let engine = node.engine.socket().to_str().unwrap().to_owned();
        exchange(&engine, "/run/no-engine.sock");
        self.call(node, "DEL", &self.configuration).assert_done();
        exchange("/run/no-engine.sock", &engine);
    }
}

fn program(node: &TestNode, name: &str, spec: &Value) -> NodeNetwork {
    let standard = NodeNetwork {
        generation: 3,
        port: Port::default(),
        namespaces: [NAMESPACE].into_iter().collect(),
        ..network_with(node.engine.kind(), name)
    };
    let mut whole = serde_json::to_value(standard).unwrap();
    merge(&mut whole, spec);
    let network: NodeNetwork = serde_json::from_value(whole).unwrap();
    match network.bridge.ownership {
        Ownership::Adopted => engine::add_foreign_bridge(node, network.bridge.name.as_str()),
        Ownership::Managed => node.engine.create_bridge(&network),
    }
    node.publish(network.clone());
    network
}

fn merge(whole: &mut Value, part: &Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in part {
                merge(whole.entry(key).or_insert_with(|| Value::Object(Map::new())), value);
            }
        }
        (whole, part) => *whole = part.clone(),
    }
}

/// Publishes the other states of a network's file, and the agent's file of all networks.
fn publish_others(node: &TestNode, networks: Vec<NodeNetwork>) {
    let files = NetworkFiles::new(&node.paths);
    files.write(&NetworkFile::Draining { name: "draining".parse().unwrap() }).unwrap();
    let (reason, message) = ("BridgeConflict".to_owned(), "bridge br0 is not owned by usnet".to_owned());
    files.write(&NetworkFile::Unavailable { name: "unavailable".parse().unwrap(), reason, message }).unwrap();
    let engine = node.engine.kind();
    let refused = json!([{"name": "unavailable", "generation": 2, "engine": engine, "reason": "BridgeConflict",
        "message": "bridge br0 is not owned by usnet"}]);
    let mut networks: Vec<_> = networks.into_iter().map(Arc::new).collect();
    networks.sort_by(|one, other| one.name.cmp(&other.name));
    let file = NodeFile {
        version: NodeFile::VERSION,
        generation: 7,
        through: 48_120,
        versions: networks.iter().map(|network| (network.name.clone(), 48_000)).collect(),
        networks,
        refused: serde_json::from_value(refused).unwrap(),
        uplinks: BTreeMap::new(),
        engines_seen: [engine].into(),
        epochs: [(engine, 2)].into(),
    };
    let mut before = NodeFile { generation: 6, refused: Vec::new(), ..file.clone() };
    let gone = NodeNetwork { name: "gone".parse().unwrap(), ..NodeNetwork::clone(&before.networks.remove(0)) };
    before.versions.insert(gone.name.clone(), 47_000);
    before.networks.push(Arc::new(gone));
    before.networks.sort_by(|one, other| one.name.cmp(&other.name));
    before.write(&node.paths).unwrap();
    file.append(&node.paths, &before).unwrap();
}

/// The folder of the engine's golden files.
pub(super) fn folder_of(engine: &TestEngine) -> &'static str {
    match engine {
        TestEngine::OpenVswitch(_) => "ovs",
        TestEngine::Vpp(_) => "vpp",
    }
}
