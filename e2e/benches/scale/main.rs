//! What a thousand networks on a thousand nodes cost the controller: `make bench PART=controller`. First its pure part in this process, then the
//! program itself against etcd and kube-apiserver, with simulated nodes.
//!
//! `USNET_SCALE_NETWORKS` says how many networks the second part has.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and ends when its set-up fails"
)]

mod agents;
mod api_server;
mod audit;
mod meter;
mod pure;
mod real;
mod simulation;

fn main() {
    pure::run();
    real::run();
}

/// A network as people write it.
fn network(name: &str, mtu: usize) -> usnet_crds::UserspaceNetwork {
    let object = serde_json::json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": name},
        "spec": {"engine": "OVS", "bridge": {"mtu": mtu}, "namespaceSelector": {"matchLabels": {"team": "a"}}},
    });
    serde_json::from_value(object).expect("a network")
}

/// Resident memory of a process in MiB, now and at most.
fn memory(process: &str) -> (f64, f64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the process runs");
    let read = |field: &str| {
        let line = status.lines().find(|line| line.starts_with(field)).expect("the kernel tells memory");
        line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok()).expect("a number") / 1024.0
    };
    (read("VmRSS:"), read("VmHWM:"))
}

fn report(what: &str, value: impl std::fmt::Display) {
    println!("  {what:<74} {value:>14}");
}
