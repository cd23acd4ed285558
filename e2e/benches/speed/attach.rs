//! One pod's interface: the plugin against the bare transaction on an open connection, and against
//! `ovs-vsctl`.

use crate::pod::{self, timed_plugin};
use crate::programs::{Programs, median, milliseconds, ratio, report, timed};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_dataplane::paths::NodePaths;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Condition, Interface, Mutation, Row, Transaction, Value};
use usnet_test_openvswitch::OpenVswitch;

const RUNS: usize = 30;
const PORTS_BEFORE: usize = 10;
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(programs: &Programs) {
    let switch = OpenVswitch::builder().dpdk(true).start().expect("Open vSwitch starts");
    let folder = tempfile::tempdir().expect("a folder");
    let roots = prepare(&switch, folder.path());
    let mut client = Client::connect(switch.socket(), TIMEOUT).expect("the database answers");
    let add = |client: &mut Client, name: &str| floor(client, name, &switch.folder().join(format!("{name}.sock")));
    for index in 0..PORTS_BEFORE {
        add(&mut client, &format!("before{index}"));
    }

    let (mut plugin, mut bare, mut vsctl, mut start) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in 0..=RUNS {
        let took = [
            timed_plugin(programs, &roots, "ADD", run),
            add(&mut client, "floor"),
            timed_vsctl(&switch, &format!("vsctl{run}")),
            timed(Command::new(&programs.userspace).env("CNI_COMMAND", "VERSION").stdin(Stdio::null())).0,
        ];
        timed_plugin(programs, &roots, "DEL", run);
        for name in ["floor".to_owned(), format!("vsctl{run}")] {
            switch.vsctl(&["del-port", "br-bench", &name]).expect("the port goes");
        }
        // The first run fills caches.
        if run > 0 {
            for (list, duration) in [&mut plugin, &mut bare, &mut vsctl, &mut start].into_iter().zip(took) {
                list.push(duration);
            }
        }
    }
    print(&plugin, &bare, &vsctl, &start);
}

fn print(plugin: &[Duration], bare: &[Duration], vsctl: &[Duration], start: &[Duration]) {
    let [plugin, bare, vsctl, start] = [plugin, bare, vsctl, start].map(median);
    println!("\nOne vhost-user port on a bridge with {PORTS_BEFORE}, median of {RUNS}, in turn");
    report("plugin ADD, exec to exit, no IPAM", plugin);
    report("floor: its transaction on an open connection, until ofport is set", bare);
    report("start of a process (userspace VERSION)", start);
    report("ovs-vsctl add-port", vsctl);
    ratio("plugin ADD / (1.5 x floor + start)", plugin, bare.mul_f64(1.5) + start, "at most 1");
    ratio("ovs-vsctl add-port / plugin ADD", vsctl, plugin, "at least 5");
    println!("  plugin ADD above floor and start: {:.2} ms", milliseconds(plugin.saturating_sub(bare + start)));
}

/// A bridge with our mark, its network file, and the pod's volume.
fn prepare(switch: &OpenVswitch, folder: &Path) -> NodePaths {
    let roots = NodePaths { run: switch.folder().join("run"), ..NodePaths::below(folder) };
    let roots = roots.with_socket(EngineKind::OpenVswitch, switch.socket());
    let bridge = ["add-br", "br-bench", "--", "set", "Bridge", "br-bench", "datapath_type=netdev"];
    switch.vsctl(&[&bridge[..], &["external_ids:usnet.dev/network=bench"]].concat()).expect("the bridge");
    pod::prepare(&roots, pod::network(EngineKind::OpenVswitch, "bench"), switch.socket());
    roots
}

/// The least that any program must do: insert the rows, wait for the switch, read what became of
/// them.
fn floor(client: &mut Client, name: &str, socket: &Path) -> Duration {
    let start = Instant::now();
    let mut transaction = Transaction::new();
    let bridge = vec![Condition::equal("name", "br-bench")];
    transaction.require_row("Bridge", vec![Condition::equal("name", "br-bench")]);
    let socket = [("vhost-server-path", socket.to_str().expect("a path of text"))];
    let interface = Row::new()
        .with("name", name)
        .with("type", "dpdkvhostuserclient")
        .with("mtu_request", 1500)
        .with("options", Value::map(socket));
    let interface = transaction.insert("Interface", interface);
    let port = transaction.insert("Port", Row::new().with("name", name).with("interfaces", interface));
    let joined = transaction.mutate("Bridge", bridge, vec![Mutation::insert("ports", port)]);
    let next = transaction.bump_next_cfg();
    let reply = client.transact(&transaction).expect("the port is recorded");
    reply.expect_count(joined, 1).expect("the bridge is there");

    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(reply.next_cfg(next).expect("next_cfg"), TIMEOUT);
    let rows = wait.select_rows::<Interface>(vec![Condition::equal("name", name)]);
    let reply = client.transact(&wait).expect("the switch acts");
    let shown = reply.rows(rows).expect("the interface");
    assert!(shown[0].ofport.is_some_and(|number| number > 0), "{shown:?}");
    start.elapsed()
}

fn timed_vsctl(switch: &OpenVswitch, name: &str) -> Duration {
    let mut command = Command::new("ovs-vsctl");
    let socket = switch.folder().join(format!("{name}.sock"));
    command.arg(format!("--db=unix:{}", switch.socket().display())).args(["add-port", "br-bench", name, "--"]).args([
        "set",
        "Interface",
        name,
        "type=dpdkvhostuserclient",
        &format!("options:vhost-server-path={}", socket.display()),
    ]);
    timed(&mut command).0
}
