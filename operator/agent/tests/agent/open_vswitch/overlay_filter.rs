//! The packet rules that admit only peers to overlays.

use super::overlays::{overlay, start, wait_until_programmed};
use super::testbed::OvsTestbed;
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use usnet_crds::EngineKind;

fn nft(testbed: &OvsTestbed, arguments: &str) -> String {
    let output = testbed.ovs.command("nft").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "nft {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether the rules accept packets of these peers, and drop others.
fn protects(testbed: &OvsTestbed, peers: &[&str]) -> bool {
    let tables = nft(testbed, "list ruleset");
    let elements = tables.split("set peers4 {").nth(1).and_then(|set| set.split('}').next()).unwrap_or_default();
    let count = elements.matches("10.0.0.").count();
    let has_chains = ["hook input", "hook forward"].iter().all(|hook| tables.contains(hook));
    has_chains && count == peers.len() && peers.iter().all(|peer| elements.contains(peer))
}

#[test]
fn strangers_are_kept_out_while_there_are_overlays_and_other_programs_change_nothing_of_it() {
    let (testbed, paths) = start();
    nft(&testbed, "add table inet theirs");
    let agent = RunningAgent::start(&paths);
    agent.set_spec(1, &[overlay("blue", 7001, &["10.0.0.2", "10.0.0.3"]), network("green")]);
    wait_until_programmed(&agent, "blue");
    assert!(protects(&testbed, &["10.0.0.2", "10.0.0.3"]));
    agent.set_spec(2, &[overlay("blue", 7001, &["10.0.0.3", "10.0.0.4"]), network("green")]);
    until("the peers change", || protects(&testbed, &["10.0.0.3", "10.0.0.4"]).then_some(()));

    for change in ["flush ruleset", "delete table inet usnet"] {
        nft(&testbed, change);
        until(&format!("repaired after {change}"), || protects(&testbed, &["10.0.0.3", "10.0.0.4"]).then_some(()));
    }
    assert!(agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch) >= 1.0);
    nft(&testbed, "add table inet theirs");

    // The rules stay while no agent runs, and while a new agent knows no networks yet.
    drop(agent);
    let before = nft(&testbed, "list table inet usnet");
    let agent = RunningAgent::start(&paths);
    agent.set_spec(3, &[overlay("blue", 7001, &["10.0.0.3", "10.0.0.4"]), network("green")]);
    wait_until_programmed(&agent, "blue");
    assert_eq!(nft(&testbed, "list table inet usnet"), before);

    agent.set_spec(4, &[network("green")]);
    until("no rules", || (!nft(&testbed, "list tables").contains("inet usnet")).then_some(()));
    assert!(testbed.devices().is_empty(), "the device went first");
    assert!(nft(&testbed, "list tables").contains("inet theirs"));
}
