//! A hundred pods that start at once, and stop at once.

use crate::node::Node;
use crate::pod::{self, Pod};
use crate::programs::{Programs, percentile, report};
use serde_json::json;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use usnet_crds::Port;

const PODS: usize = 100;
/// How often the memory of all plugin processes is added up.
const SAMPLING: Duration = Duration::from_millis(2);

pub(crate) fn run(programs: &Programs, node: &Node) {
    node.program(&Port { port_type: node.engine.default_port_type(), ..Port::default() });
    let pods: Vec<_> = (0..PODS).map(|number| Pod::numbered(&node.roots, number)).collect();
    println!("\n{}, {PODS} at once", node.name);
    for verb in ["ADD", "DEL"] {
        let done = AtomicBool::new(false);
        let (results, memory) = thread::scope(|scope| {
            let memory = scope.spawn(|| peak(&done));
            let calls: Vec<_> = pods.iter().map(|pod| scope.spawn(|| call(programs, node, verb, pod))).collect();
            let results: Vec<_> = calls.into_iter().map(|call| call.join().expect("the call ends")).collect();
            done.store(true, Ordering::Relaxed);
            (results, memory.join().expect("memory was added up"))
        });
        let durations: Vec<_> = results.iter().map(|(took, _)| *took).collect();
        let failures: Vec<_> = results.iter().filter_map(|(_, failure)| failure.as_ref()).collect();
        report(&format!("{verb}, p50"), percentile(&durations, 50));
        report(&format!("{verb}, p99"), percentile(&durations, 99));
        println!("  {verb}: {} failures, at most {memory} KiB in all plugin processes together", failures.len());
        assert!(failures.is_empty(), "{failures:?}");
    }
}

fn call(programs: &Programs, node: &Node, verb: &str, pod: &Pod) -> (Duration, Option<String>) {
    let asked = json!({"cniVersion": "1.1.0", "name": "bench", "type": "userspace", "network": "bench"});
    let file = pod::configuration(&asked);
    let mut command = pod::command(programs, &node.roots, verb, pod, &file);
    let start = Instant::now();
    let output = command.stderr(Stdio::null()).output().expect("the plugin starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (start.elapsed(), (!output.status.success()).then_some(text))
}

/// The most resident memory that all plugin processes had together, in KiB.
fn peak(done: &AtomicBool) -> u64 {
    let mut most = 0;
    while !done.load(Ordering::Relaxed) {
        most = most.max(resident());
        thread::sleep(SAMPLING);
    }
    most
}

/// Children of ours, by the kernel's files. One that ends meanwhile has none.
fn resident() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> =
        children.flat_map(|list| list.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    children.iter().filter_map(|child| resident_of(child)).sum()
}

fn resident_of(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
    let is_plugin = field("Name:") == Some("userspace");
    let resident = field("VmRSS:")?.trim_end_matches(" kB").trim().parse().ok()?;
    is_plugin.then_some(resident)
}
