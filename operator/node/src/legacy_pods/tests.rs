//! Files as Intel's plugin, its fork and libcni write them, and each form in which they are
//! damaged.

use super::{FoundPort, LegacyInterface, LegacyPods, is_there, read, record};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use usnet_crds::{EngineKind, NodeNetwork, SocketRole};
use usnet_dataplane::memif::{MemifSocket, MemifSocketIds};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::{PortBackend, PortName, SocketPath};
use usnet_dataplane::testing::network_with;

const CONTAINER: &str = "ab12cd34ab1234567890ab12cd34ab1234567890ab12cd34ab1234567890abcd";
const NAMESPACE: &str = "/proc/self/ns/net";
const STATE: &str = r#"{"vhostname":"ab12cd34ab12-net1","vhostmac":"","ifmac":"1a:2b:3c:4d:5e:6f"}"#;

struct Files {
    folder: TempDir,
    paths: NodePaths,
}

impl Files {
    /// What an ADD of Intel's plugin with Open vSwitch leaves.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Self { paths: NodePaths::below(folder.path()), folder };
        files.write(&files.state(), STATE);
        files.write(&files.call(), &call(&configuration()).to_string());
        files
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("var/lib/cni/usrspcni/data/local-ab12cd34ab12-net1.json")
    }

    fn call(&self) -> PathBuf {
        self.folder.path().join(format!("var/lib/cni/multus/results/a-net-{CONTAINER}-net1"))
    }

    #[expect(clippy::unused_self, reason = "it reads like the other functions")]
    fn write(&self, path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self) -> LegacyPods {
        read(&self.paths).unwrap()
    }

    /// The only interface.
    fn interface(&self) -> LegacyInterface {
        let LegacyPods { mut interfaces, problems } = self.read();
        assert!(problems.is_empty() && interfaces.len() == 1, "{problems:?}");
        interfaces.remove(0)
    }

    /// Why the only interface is not taken over.
    #[track_caller]
    fn problem(&self) -> String {
        let LegacyPods { interfaces, problems } = self.read();
        assert_eq!(interfaces, []);
        let [(file, problem)] = <[_; 1]>::try_from(problems.into_iter().collect::<Vec<_>>()).unwrap();
        assert!(file.starts_with(self.folder.path()));
        problem.to_string()
    }
}

fn configuration() -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "a-net", "kubeconfig": "/etc/cni/multus.kubeconfig",
        "host": {
            "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge",
            "vhost": {"mode": "client"}, "bridge": {"bridgeName": "br0"},
        },
        "container": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
        "ipam": {"type": "host-local", "subnet": "10.56.217.0/24"},
    })
}

/// What libcni 1.1 keeps of the call.
fn call(configuration: &Value) -> Value {
    json!({
        "kind": "cniCacheV1", "containerId": CONTAINER, "ifName": "net1", "networkName": "a-net",
        "config": STANDARD.encode(configuration.to_string()),
        "cniArgs": [
            ["IgnoreUnknown", "true"], ["K8S_POD_NAMESPACE", "db"], ["K8S_POD_NAME", "mysql-0"],
            ["K8S_POD_INFRA_CONTAINER_ID", CONTAINER], ["K8S_POD_UID", "3f0c7c2e-8d5f"],
        ],
        "result": {
            "cniVersion": "1.1.0", "interfaces": [{"name": "net1", "sandbox": NAMESPACE}],
            "ips": [{"address": "10.56.217.131/24"}], "routes": [{"dst": "0.0.0.0/0"}],
        },
    })
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut call = call(&configuration());
    change(&mut call);
    call
}

fn network(engine: EngineKind, bridge: &str) -> NodeNetwork {
    let mut network = network_with(engine, "blue");
    network.bridge.name = bridge.parse().unwrap();
    network
}

fn found<'a>(network: &'a NodeNetwork, name: &'a PortName, backend: &'a PortBackend) -> FoundPort<'a> {
    let (engine_socket, memif_socket_ids) = (Path::new("/run/engine.sock"), MemifSocketIds::default());
    FoundPort { engine_socket, memif_socket_ids, network, name, backend }
}

#[test]
fn an_interface_of_open_vswitch_becomes_a_record_with_all_that_del_needs() {
    let files = Files::new();
    let interface = files.interface();
    assert!(is_there(&interface));
    let socket: SocketPath = PathBuf::from("/run/shared/ab12cd34ab12/ab12cd34ab12-net1").try_into().unwrap();
    let backend = PortBackend::VhostUser { socket, engine_role: SocketRole::Client };
    let (network, name) = (network(EngineKind::OpenVswitch, "br0"), PortName::observed("ab12cd34ab12-net1"));
    let made = record(&interface, found(&network, &name, &backend)).unwrap();
    assert_eq!((made.id.to_string(), made.port.name.as_str()), (format!("{CONTAINER}.net1"), "ab12cd34ab12-net1"));
    assert_eq!((made.pod.to_string(), made.pod.uid.as_str()), ("db/mysql-0".to_owned(), "3f0c7c2e-8d5f"));
    assert_eq!(made.network_namespace, Path::new(NAMESPACE));
    assert_eq!(made.addresses[0].ip.to_string(), "10.56.217.131");
    let ipam = made.ipam.as_ref().unwrap();
    assert_eq!((&ipam["name"], &ipam["ipam"]["type"]), (&json!("a-net"), &json!("host-local")));
    assert!(made.taken_over && made.configuration_data.is_none() && made.network_namespace_inode.is_some());
    let other = record(&interface, found(&self::network(EngineKind::OpenVswitch, "br1"), &name, &backend));
    assert!(other.unwrap_err().to_string().contains("br0"));
    fs::remove_file(files.state()).unwrap();
    assert!(!is_there(&interface) && files.read().interfaces.is_empty());
}

#[test]
fn an_interface_of_vpp_in_a_list_of_plugins_is_named_after_its_tag() {
    let files = Files::new();
    let mut plugin = configuration();
    plugin["host"] = json!({
        "engine": "vpp", "iftype": "memif", "netType": "bridge", "memif": {"role": "master", "mode": "ethernet"},
        "bridge": {"bridgeName": "4"},
    });
    plugin["container"] = json!({"engine": "vpp", "iftype": "memif", "memif": {"role": "slave"}});
    let list = json!({"cniVersion": "0.4.0", "name": "listed", "plugins": [{"type": "tuning"}, plugin]});
    files.write(&files.state(), r#"{"swIfIndex":3,"memifSocketId":1}"#);
    // Since version 1.2 libcni keeps the network namespace.
    let mut call = call(&list);
    call["netns"] = json!(NAMESPACE);
    call["result"]["interfaces"] = json!([]);
    files.write(&files.call(), &call.to_string());
    let interface = files.interface();
    let socket = "/var/run/vpp/ab12cd34ab12/memif-ab12cd34ab12-net1.sock";
    let backend = PortBackend::memif(MemifSocket::file(socket.into()).unwrap());
    let (network, name) = (network(EngineKind::Vpp, "4"), PortName::observed("memif1/0"));
    let made = record(&interface, found(&network, &name, &backend)).unwrap();
    assert_eq!((&made.port.name, made.port.backend), (&PortName::of(&made.id), backend));
    assert_eq!(made.configuration_name.as_deref(), Some("listed"));
}

#[test]
fn a_state_file_that_is_damaged_or_of_others_is_named_with_the_reason() {
    let files = Files::new();
    let cases = [
        ("", "neither"),
        (r#"{"vhostna"#, "not in the format"),
        ("{}", "neither"),
        ("7", "not in the format"),
        (r#"{"vhostname": "../../etc/passwd"}"#, "names no port"),
        (r#"{"vhostname": "a", "swIfIndex": 1}"#, "neither"),
        (r#"{"swIfIndex": 1}"#, "names engine"),
        (&" ".repeat(5000), "no regular file"),
    ];
    for (text, reason) in cases {
        files.write(&files.state(), text);
        let problem = files.problem();
        assert!(problem.contains(reason), "{text}: {problem}");
    }
    fs::remove_file(files.state()).unwrap();
    let elsewhere = files.folder.path().join("elsewhere");
    files.write(&elsewhere, STATE);
    symlink(&elsewhere, files.state()).unwrap();
    assert!(files.problem().contains("no regular file"), "{}", files.problem());
    fs::remove_file(files.state()).unwrap();
    let _socket = UnixListener::bind(files.state()).unwrap();
    assert!(files.problem().contains("no regular file"), "{}", files.problem());
    fs::remove_file(files.state()).unwrap();
    for name in ["local-short-net1.json", "remote-ab12cd34ab12-net1.json", "local-ab12cd34ab12-.json"] {
        let path = files.state().with_file_name(name);
        files.write(&path, STATE);
        assert!(files.problem().contains("its name"), "{name}");
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_call_that_is_damaged_or_missing_is_named_with_the_reason() {
    let files = Files::new();
    let mut foreign = configuration();
    foreign["type"] = json!("bridge");
    let mut listening = configuration();
    listening["host"]["vhost"]["mode"] = json!("server");
    listening["container"]["vhost"]["mode"] = json!("client");
    let named = json!({"cniVersion": "1.1.0", "type": "userspace", "name": "a-net", "network": "blue"});
    let cases = [
        ("{\"kind\":\"cniCa".to_owned(), "no call for this interface"),
        (changed(|call| call["kind"] = json!("cniCacheV9")).to_string(), "no call for this interface"),
        (changed(|call| call["ifName"] = json!("net2")).to_string(), "no call for this interface"),
        (changed(|call| call["config"] = json!("%")).to_string(), "damaged, or of another plugin"),
        (changed(|call| call["config"] = json!(STANDARD.encode("{\"ho"))).to_string(), "damaged, or of another plugin"),
        (call(&foreign).to_string(), "damaged, or of another plugin"),
        (call(&named).to_string(), "damaged, or of another plugin"),
        (call(&listening).to_string(), "host.vhost.mode"),
        (changed(|call| call["cniArgs"] = json!([])).to_string(), "K8S_POD"),
        (changed(|call| call["cniArgs"][4][1] = json!("../uid")).to_string(), "K8S_POD_UID"),
        (changed(|call| call["result"] = json!({})).to_string(), "no network namespace"),
        (changed(|call| call["result"]["ips"] = json!([{"address": "x"}])).to_string(), "cannot be read"),
        (
            changed(|call| call["result"]["interfaces"][0]["sandbox"] = json!("/run/netns/gone")).to_string(),
            "/run/netns/gone is gone",
        ),
    ];
    for (text, reason) in cases {
        files.write(&files.call(), &text);
        let problem = files.problem();
        assert!(problem.contains(reason), "{text}: {problem}");
    }
    fs::remove_file(files.call()).unwrap();
    assert!(files.problem().contains("recreate that pod"));
}

#[test]
fn calls_in_both_folders_are_one_and_two_containers_are_ambiguous() {
    let files = Files::new();
    let of_runtime = files.folder.path().join(format!("var/lib/cni/results/a-net-{CONTAINER}-net1"));
    files.write(&of_runtime, &call(&configuration()).to_string());
    // The network of the pod itself, whose plugin is Multus.
    let primary = json!({"cniVersion": "1.0.0", "name": "multus-cni-network", "type": "multus"});
    let mut of_pod = call(&primary);
    of_pod["ifName"] = json!("eth0");
    files.write(&of_runtime.with_file_name(format!("multus-cni-network-{CONTAINER}-eth0")), &of_pod.to_string());
    files.interface();
    let twin = format!("{}{}", &CONTAINER[..12], "f".repeat(52));
    let mut of_twin = call(&configuration());
    of_twin["containerId"] = json!(twin);
    files.write(&files.call().with_file_name(format!("a-net-{twin}-net1")), &of_twin.to_string());
    assert!(files.problem().contains("2 containers"));
}

#[test]
fn a_folder_that_is_a_link_is_not_followed_and_none_is_no_error() {
    let (files, none) = (Files::new(), tempfile::tempdir().unwrap());
    let paths = NodePaths::below(none.path());
    assert!(read(&paths).unwrap().interfaces.is_empty());
    fs::create_dir_all(none.path().join("var/lib/cni/usrspcni")).unwrap();
    symlink(files.state().parent().unwrap(), none.path().join("var/lib/cni/usrspcni/data")).unwrap();
    let found = read(&paths).unwrap();
    assert!(found.interfaces.is_empty() && found.problems.is_empty());
}
