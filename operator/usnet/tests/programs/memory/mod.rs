//! The memory of the real programs does not grow with what users write into the metadata of their
//! objects. Each reads an API server that has large ones.

mod api_server;

use api_server::{ApiServer, Large, Objects, object};
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const ATTACHMENTS: &str = "/apis/usnet.dev/v1alpha1/userspaceattachments";
const NADS: &str = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions";
const NODES: &str = "/api/v1/nodes";
const NAMESPACES: &str = "/api/v1/namespaces";
const NETWORKS: &str = "/apis/usnet.dev/v1alpha1/userspacenetworks";
const COMPILED: &str = "/apis/usnet.dev/v1alpha1/compilednetworks";
const UPLINKS: &str = "/apis/usnet.dev/v1alpha1/userspaceuplinks";
const STATES: &str = "/apis/usnet.dev/v1alpha1/userspacenodestates";

const LARGE: [Large; 5] = [Large::Annotations, Large::Labels, Large::ManagedFields, Large::Finalizers, Large::Owners];
/// How much more memory a program may have had at any time than one with small objects, in kB. The
/// objects of a test have more than ten times as much.
const MORE_MAX: u64 = 12 * 1024;

/// A running program; killed when it is dropped.
struct Program {
    process: Child,
    _folder: TempDir,
}

impl Program {
    fn start(server: &ApiServer, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let of_test = |key: &str, value: Value| json!([{"name": "test", key: value}]);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test", "users": of_test("user", json!({})),
            "contexts": of_test("context", json!({"cluster": "test", "user": "test"})),
            "clusters": of_test("cluster", json!({"server": format!("http://{}", server.address)})),
        });
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let place = |name: &str| folder.path().join(name);
        let process = Command::new(env!("CARGO_BIN_EXE_usnet"))
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .env("USNET_RUN_DIR", place("run"))
            .env("USNET_STATE_DIR", place("state"))
            .env("USNET_OVS_SOCKET", place("db.sock"))
            .env("USNET_VPP_SOCKET", place("api.sock"))
            .env("USNET_ATTACHMENTS", "Enabled")
            .env_remove("RUST_LOG")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, _folder: folder }
    }

    /// The most resident memory that it had, in kB.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The most memory of a program until it has read these objects.
fn peak(arguments: &[&str], watched: &[&str], objects: Objects) -> u64 {
    let server = ApiServer::start(objects);
    let program = Program::start(&server, arguments);
    server.await_watches(watched, 2);
    program.peak()
}

fn assert_small(what: &str, small: u64, large: u64) {
    println!("{what}: {small} kB with small objects, {large} kB with large ones");
    assert!(large <= small + MORE_MAX, "{what}: {large} kB, with small objects {small} kB");
}

fn of_kinds(kinds: &[(&'static str, Value, usize, usize)], size: usize) -> Objects {
    let texts = |(_, rest, number, full): &(&str, Value, usize, usize)| {
        let of = |at: usize| if size == 0 { Large::Nothing } else { LARGE[at % LARGE.len()] };
        (0..*number).map(|at| object(at, of(at), *full, rest)).collect()
    };
    Objects { listed: kinds.iter().map(|kind| (kind.0, texts(kind))).collect(), ..Objects::default() }
}

const CONTROLLER: [&str; 3] = ["controller", "--identity", "test"];
const AGENT: [&str; 3] = ["agent", "--node-name", "test"];

/// Of the controller, whichever kind of object it is.
fn kinds_of_controller() -> Vec<(&'static str, Value, usize, usize)> {
    let attachment = json!({"spec": {"pod": "web", "network": "blue", "interface": "net7"}, "status": {}});
    let nothing = json!({"spec": {}, "status": {}});
    vec![
        (ATTACHMENTS, attachment, 200, 730_000),
        (NADS, json!({"spec": {"config": "{\"type\": \"macvlan\"}"}, "status": {}}), 60, 1_400_000),
        (NETWORKS, nothing.clone(), 20, 700_000),
        (UPLINKS, nothing.clone(), 20, 700_000),
        (STATES, nothing, 20, 700_000),
    ]
}

#[test]
fn the_memory_of_the_controller_does_not_grow_with_the_metadata_of_objects() {
    let kinds = kinds_of_controller();
    let watched: Vec<&str> = kinds.iter().map(|kind| kind.0).collect();
    let small = peak(&CONTROLLER, &watched, of_kinds(&kinds, 0));
    assert_small("controller, lists", small, peak(&CONTROLLER, &watched, of_kinds(&kinds, 1)));
    let large = of_kinds(&kinds, 1).listed;
    let changes = Objects { changed: large, ..Objects::default() };
    assert_small("controller, watches", small, peak(&CONTROLLER, &watched, changes));
}

/// Their labels are used: networks select by them.
#[test]
fn what_is_not_used_of_nodes_and_namespaces_is_not_kept() {
    let rest = json!({"spec": {}, "status": {"images": ["x".repeat(500_000)]}});
    let of = |large: Large, rest: &Value| {
        let texts: Vec<_> = (0..100).map(|at| object(at, large, 260_000, rest)).collect();
        Objects { listed: [(NODES, texts.clone()), (NAMESPACES, texts)].into(), ..Objects::default() }
    };
    let small = peak(&CONTROLLER, &[NODES, NAMESPACES], of(Large::Nothing, &json!({"spec": {}, "status": {}})));
    for large in [Large::Annotations, Large::ManagedFields] {
        assert_small(&format!("{large:?}"), small, peak(&CONTROLLER, &[NODES, NAMESPACES], of(large, &rest)));
    }
}

#[test]
fn a_configuration_that_is_too_long_is_not_kept() {
    let of = |length: usize| {
        let config = json!({"name": "n", "type": "userspace", "ipam": {"x": "\u{7}".repeat(length)}}).to_string();
        let rest = json!({"spec": {"config": config}, "status": {}});
        let texts = (0..60).map(|at| object(at, Large::Nothing, 0, &rest)).collect();
        Objects { listed: [(NADS, texts)].into(), ..Objects::default() }
    };
    assert_small("NADs", peak(&CONTROLLER, &[NADS], of(1)), peak(&CONTROLLER, &[NADS], of(120_000)));
}

#[test]
fn the_memory_of_an_agent_does_not_grow_with_the_metadata_of_objects() {
    let nothing = json!({"spec": {}, "status": {}});
    let kinds = [
        (COMPILED, nothing.clone(), 100, 700_000),
        (UPLINKS, nothing.clone(), 50, 700_000),
        (STATES, nothing, 1, 700_000),
    ];
    let watched = [COMPILED, UPLINKS, STATES];
    let small = peak(&AGENT, &watched, of_kinds(&kinds, 0));
    assert_small("agent, lists", small, peak(&AGENT, &watched, of_kinds(&kinds, 1)));
}
