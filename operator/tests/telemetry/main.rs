//! The real programs, queried over HTTP. Neither needs an API server for that: it is waited for.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this program is test code: a test fails by panicking"
)]

mod exposition;
mod program;

use exposition::parse;
use program::Program;

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
    assert_eq!(metrics["usnet_controller_reconcile_seconds_count"], 0.0);
}

#[test]
fn an_agent_without_engines_is_ready_and_says_that_none_is_connected() {
    let agent = Program::start(&["agent", "--node-name", "test"]);
    assert_eq!(agent.get("/healthz").0, 200);
    agent.await_ready();
    let (_, text) = agent.get("/metrics");
    let metrics = parse(&text).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
    for engine in ["OVS", "VPP"] {
        assert_eq!(metrics[&format!("usnet_agent_engine_connected{{engine=\"{engine}\"}}")], 0.0);
        assert_eq!(metrics[&format!("usnet_agent_attachments{{engine=\"{engine}\"}}")], 0.0);
        assert_eq!(metrics[&format!("usnet_agent_networks{{engine=\"{engine}\",state=\"Programmed\"}}")], 0.0);
    }
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
