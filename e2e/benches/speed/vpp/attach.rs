//! One pod's memif: the plugin against the same messages on a new connection.

use super::floor;
use crate::pod::{self, timed_plugin};
use crate::programs::{Programs, median, milliseconds, ratio, report, timed};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::paths::NodePaths;
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::Batch;
use usnet_vpp::blocking::Client;
use usnet_vpp::messages::MemifDelete;

const RUNS: usize = 100;
const PORTS_BEFORE: u32 = 10;
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(programs: &Programs, kind: Kind) {
    let vpp = Vpp::start(kind).expect("VPP starts");
    let folder = tempfile::tempdir().expect("a folder");
    let roots = NodePaths { run: vpp.folder().join("run"), ..NodePaths::below(folder.path()) };
    let roots = roots.with_socket(EngineKind::Vpp, vpp.socket());
    let network = pod::network(EngineKind::Vpp, "bench");
    let domain = fill(&vpp, &network);
    pod::prepare(&roots, network, vpp.socket());

    let (mut plugin, mut bare, mut start) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..=RUNS {
        let took = [
            timed_plugin(programs, &roots, "ADD", run),
            floor(&vpp, domain, run),
            timed(Command::new(&programs.userspace).env("CNI_COMMAND", "VERSION").stdin(Stdio::null())).0,
        ];
        timed_plugin(programs, &roots, "DEL", run);
        // The first run fills caches.
        if run > 0 {
            for (list, duration) in [&mut plugin, &mut bare, &mut start].into_iter().zip(took) {
                list.push(duration);
            }
        }
    }
    let [plugin, bare, start] = [plugin, bare, start].map(|list| median(&list));
    println!("\nOne memif on a bridge domain with {PORTS_BEFORE} others, median of {RUNS}, in turn");
    report("plugin ADD, exec to exit, no IPAM", plugin);
    report("floor: connect, table of messages, the same messages, shutdown", bare);
    report("start of a process (userspace VERSION)", start);
    ratio("plugin ADD / (floor + start)", plugin, bare + start, "at most 1.5");
    println!("  plugin ADD above floor and start: {:.2} ms", milliseconds(plugin.saturating_sub(bare + start)));
}

/// The network's bridge domain, with some ports.
fn fill(vpp: &Vpp, network: &NodeNetwork) -> u32 {
    let domain = network.bridge.name.as_str().parse().expect("the id of a bridge domain");
    let mut client = vpp.client().expect("VPP answers");
    let mut batch = Batch::new();
    batch.request(floor::bridge_domain(domain, &format!("usnet:{}", network.name)));
    floor::send(&mut client, &batch);
    for index in 0..PORTS_BEFORE {
        floor::add_ports(&mut client, domain, &[(index + 1, &vpp.folder().join(format!("before{index}.sock")))]);
    }
    domain
}

/// What the plugin says to VPP, by the shortest way.
fn floor(vpp: &Vpp, domain: u32, run: usize) -> Duration {
    let path = vpp.folder().join("floor.sock");
    let start = Instant::now();
    let mut client = Client::connect(vpp.socket(), TIMEOUT).expect("VPP answers");
    assert_eq!(floor::count_domains(&mut client, domain), Ok(1), "run {run}");
    floor::add_ports(&mut client, domain, &[(1000, Path::new(&path))]);
    assert_eq!(floor::count_domains(&mut client, domain), Ok(1));
    drop(client);
    let took = start.elapsed();
    remove(&mut vpp.client().expect("VPP answers"), &path);
    took
}

fn remove(client: &mut Client, path: &Path) {
    use usnet_vpp::messages::{MemifDump, MemifSocketFilenameAddDelV2};
    let mut batch = Batch::new();
    let ticket = batch.dump(MemifDump {});
    let memifs = floor::send(client, &batch).details(ticket).expect("memifs");
    let memif = memifs.iter().find(|memif| memif.socket_id == 1000).expect("the memif");
    let mut batch = Batch::new();
    batch.request(MemifDelete { sw_if_index: memif.sw_if_index });
    let socket_filename = path.to_str().expect("a path of text").into();
    batch.request(MemifSocketFilenameAddDelV2 { is_add: false, socket_id: 1000, socket_filename });
    floor::send(client, &batch);
    fs::remove_file(path).expect("the socket's file");
}
