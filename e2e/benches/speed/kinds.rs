//! ADD and DEL for each kind of port, with and without addresses, against the same work in a
//! program that runs already.
//!
//! The floor connects to the engine, has its driver make or remove the port and, for a device of
//! the kernel, the veth pair; with addresses it has called host-local as well. It reads and writes
//! no file of a node, and nothing is looked up. How far the drivers are from raw messages is in
//! `attach.rs` and `vpp/attach.rs`.

use crate::node::Node;
use crate::pod::{self, Pod};
use crate::programs::{Programs, median, ratio, report, timed};
use serde_json::{Value, json};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use usnet_crds::{EngineKind, Memif, MemifSecretKind, MemifSocketKind, Port, PortType, SocketRole, VhostUser};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::journal::Journal;
use usnet_plugin::attachment::engine::EngineClient;
use usnet_plugin::attachment::interface;
use usnet_plugin::protocol::result::Assignment;

const RUNS: usize = 30;

/// What one contestant took for both verbs.
#[derive(Default)]
struct Taken {
    add: Vec<Duration>,
    del: Vec<Duration>,
}

pub(crate) fn run(programs: &Programs, node: &Node) {
    let addresses = std::env::var_os("USNET_TOOLS").is_some();
    for (name, port) in kinds(node.engine) {
        node.program(&port);
        for with_addresses in [false, true].into_iter().filter(|with| addresses || !with) {
            measure(programs, node, name, with_addresses);
        }
    }
}

fn kinds(engine: EngineKind) -> Vec<(&'static str, Port)> {
    let of = |port_type| Port { port_type, ..Port::default() };
    let memif = |socket| Port { memif: Memif { socket, secret: MemifSecretKind::None }, ..of(PortType::Memif) };
    let veth = ("Veth", of(PortType::Veth));
    let vhost_user = ("VhostUser", of(PortType::VhostUser));
    let server = VhostUser { engine_role: SocketRole::Server };
    match engine {
        EngineKind::OpenVswitch => vec![vhost_user, veth],
        EngineKind::Vpp => vec![
            ("Memif", memif(MemifSocketKind::Volume)),
            ("Memif, abstract", memif(MemifSocketKind::Abstract)),
            vhost_user,
            ("VhostUser, VPP listens", Port { vhost_user: server, ..of(PortType::VhostUser) }),
            veth,
        ],
    }
}

fn ipam(folder: &std::path::Path) -> Value {
    json!({"type": "host-local", "dataDir": folder, "ranges": [[{"subnet": "10.56.0.0/16"}]]})
}

fn measure(programs: &Programs, node: &Node, name: &str, with_addresses: bool) {
    let mut asked = json!({"cniVersion": "1.1.0", "name": "bench", "type": "userspace", "network": "bench"});
    let data = node.roots.state.join("addresses");
    if with_addresses {
        asked["ipam"] = ipam(&data);
    }
    let file = pod::configuration(&asked);
    let (mut plugin, mut floor, mut start) = (Taken::default(), Taken::default(), Vec::new());
    for run in 0..=RUNS {
        let pod = Pod::numbered(&node.roots, run);
        let call = |verb| timed(&mut pod::command(programs, &node.roots, verb, &pod, &file)).0;
        let add = call("ADD");
        let record = record(node);
        let del = call("DEL");
        let host_local =
            |verb| if with_addresses { timed(&mut host_local(verb, &pod, &asked)).0 } else { Duration::ZERO };
        let bare_add = host_local("ADD") + floor_add(&record);
        let bare_del = host_local("DEL") + floor_del(&record);
        let begun = timed(Command::new(&programs.userspace).env("CNI_COMMAND", "VERSION").stdin(Stdio::null())).0;
        // The first run fills caches.
        if run > 0 {
            plugin.add.push(add);
            plugin.del.push(del);
            floor.add.push(bare_add);
            floor.del.push(bare_del);
            start.push(begun);
        }
    }
    let addresses = if with_addresses { "with host-local" } else { "no IPAM" };
    println!("\n{}, {name}, {addresses}, median of {RUNS}, in turn", node.name);
    for (verb, plugin, floor) in [("ADD", &plugin.add, &floor.add), ("DEL", &plugin.del, &floor.del)] {
        let (plugin, floor, start) = (median(plugin), median(floor), median(&start));
        report(&format!("plugin {verb}, exec to exit"), plugin);
        report(&format!("floor of {verb}: the same work in a running program"), floor);
        ratio(&format!("plugin {verb} / (1.2 x floor + start)"), plugin, floor.mul_f64(1.2) + start, "at most 1");
    }
}

/// The one attachment that there is.
fn record(node: &Node) -> Record {
    let records = Journal::open(&node.roots).and_then(|journal| journal.records()).expect("the journal").records;
    let [record] = records.try_into().expect("one attachment");
    record
}

fn host_local(verb: &str, pod: &Pod, asked: &Value) -> Command {
    let tools = std::env::var_os("USNET_TOOLS").expect("the tools");
    let folders = std::env::split_paths(&tools);
    let program = folders.map(|folder| folder.join("host-local")).find(|path| path.is_file()).expect("host-local");
    let file = pod::configuration(asked);
    let mut command = Command::new(program);
    command.env("CNI_COMMAND", verb).env("CNI_CONTAINERID", &pod.container).env("CNI_IFNAME", "net1");
    command.env("CNI_NETNS", "/nonexistent").env("CNI_PATH", tools).stdin(file.reopen().expect("the configuration"));
    command
}

fn floor_add(record: &Record) -> Duration {
    fs::create_dir_all(&record.pod_directory).expect("the engine's folder");
    let start = Instant::now();
    if let Some(device) = record.port.backend.device() {
        let mac = record.mac.parse().expect("a MAC address");
        interface::create(record, device, mac, &Assignment::default(), &[]).expect("the pair is made");
    }
    EngineClient::connect(record).and_then(|engine| engine.create_port(record)).expect("the port is made");
    start.elapsed()
}

fn floor_del(record: &Record) -> Duration {
    let start = Instant::now();
    EngineClient::connect(record).and_then(|engine| engine.remove_port(record)).expect("the port is removed");
    if let Some(device) = record.port.backend.device() {
        interface::remove(&record.id, device).expect("the pair is removed");
    }
    let took = start.elapsed();
    fs::remove_dir_all(&record.pod_directory).expect("the engine's folder goes");
    took
}
