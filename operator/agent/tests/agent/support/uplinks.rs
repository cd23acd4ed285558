//! Reports of the uplink `fab` and its networks.

use super::running_agent::RunningAgent;
use usnet_crds::node_state::NetworkState;
use usnet_crds::uplink::report::{UplinkReport, UplinkState};

pub(crate) fn wait_for_uplink(
    agent: &RunningAgent,
    what: &str,
    condition: impl Fn(&UplinkReport) -> bool,
) -> UplinkReport {
    agent.wait_for_report(&format!("the uplink {what}"), |report| {
        report.uplinks.iter().find(|entry| entry.name == "fab" && condition(entry)).cloned()
    })
}

pub(crate) fn wait_for_reason(agent: &RunningAgent, reason: &str) -> String {
    wait_for_uplink(agent, reason, |entry| entry.reason == reason).message
}

pub(crate) fn wait_until_programmed(agent: &RunningAgent, name: &str) {
    agent.wait_for_network(name, "is programmed", |entry| entry.state == NetworkState::Programmed);
    wait_for_uplink(agent, "is programmed", |entry| entry.state == UplinkState::Programmed);
}
