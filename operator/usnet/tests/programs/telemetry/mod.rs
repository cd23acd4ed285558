//! The real programs, queried over HTTP. Neither needs an API server for that: it is waited for.

mod exposition;
mod names;
mod program;

use exposition::parse;
use program::Program;
use std::collections::BTreeMap;

#[test]
fn a_controller_without_an_api_server_is_healthy_and_neither_ready_nor_leader() {
    let controller = Program::start(&["controller", "--identity", "test"]);
    assert_eq!(controller.get("/healthz").0, 200);
    assert_eq!(controller.get("/readyz").0, 503);
    let (status, text) = controller.get("/metrics");
    assert_eq!(status, 200);
    let metrics = parse(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    assert_eq!(metrics["usnet_controller_leader"], 0.0);
    assert_eq!(metrics["usnet_controller_queue_depth"], 0.0);
    assert_eq!(metrics["usnet_controller_reconcile_duration_seconds_count"], 0.0);
    assert_eq!(metrics["usnet_controller_leader_terms_total"], 0.0);
    assert_program(&metrics);
}

#[test]
fn a_controller_of_policies_without_an_api_server_is_healthy_and_says_what_it_waits_for() {
    let controller = Program::start(&["policies"]);
    assert_eq!(controller.get("/healthz").0, 200);
    let (status, text) = controller.get("/readyz");
    assert_eq!(status, 503, "{text}");
    let metrics = parse(&controller.get("/metrics").1).unwrap();
    assert_eq!(metrics["usnet_policies_slices"], 0.0);
    assert_program(&metrics);
}

#[test]
fn an_agent_without_engines_is_ready_and_says_of_none_that_it_ended() {
    let agent = Program::start(&["agent", "--node-name", "test"]);
    assert_eq!(agent.get("/healthz").0, 200);
    agent.await_ready();
    let (_, text) = agent.get("/metrics");
    let metrics = parse(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    for engine in ["OVS", "VPP"] {
        // It has never seen one, and the node may not have it.
        assert!(!metrics.contains_key(&format!("usnet_agent_engine_connected{{engine=\"{engine}\"}}")));
        assert_eq!(metrics[&format!("usnet_agent_attachments{{engine=\"{engine}\"}}")], 0.0);
        assert_eq!(metrics[&format!("usnet_agent_networks{{engine=\"{engine}\",state=\"Programmed\"}}")], 0.0);
    }
    assert_program(&metrics);
}

/// Which build it is, and what the process uses.
fn assert_program(metrics: &BTreeMap<String, f64>) {
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let is_build = |name: &&String| name.starts_with("usnet_build_info{commit=") && name.contains(&version);
    assert_eq!(metrics.keys().filter(is_build).map(|name| metrics[name]).collect::<Vec<_>>(), [1.0]);
    assert!(metrics["process_resident_memory_bytes"] > 1e6);
    assert!(metrics["process_open_fds"] >= 3.0);
    assert!(metrics.contains_key("process_cpu_seconds_total"));
}

#[test]
fn there_is_nothing_else() {
    let agent = Program::start(&["agent", "--node-name", "test"]);
    assert_eq!(agent.get("/").0, 404);
    assert_eq!(agent.get("/metrics/../etc/passwd").0, 404);
}

#[test]
fn an_orderly_end_is_a_success() {
    let controller = Program::start(&["controller", "--identity", "test"]);
    assert!(controller.terminate().success());
}
