//! Many changes of networks and their pods, with restarts of the agent.

use super::node::Node;
use super::running_agent::RunningAgent;
use usnet_crds::{Mtu, NodeNetwork};
use usnet_dataplane::attachment::{Progress, Record};

/// The number of the last spec. After it the pods are attached.
pub(crate) const LAST: u32 = 100;
/// After how many changes another agent continues.
const RESTART_AFTER: u32 = 25;

/// Changes the MTU of all ports, and every fifth time whether there are pods.
pub(crate) fn change(node: &Node, agent: &RunningAgent, networks: &[NodeNetwork], pods: &[Record], number: u32) {
    let mut networks = networks.to_vec();
    networks.iter_mut().for_each(|network| network.bridge.mtu = Mtu::try_from(1400 + i64::from(number % 7)).unwrap());
    if number.is_multiple_of(5) {
        let progress = if number.is_multiple_of(2) { Progress::Attached } else { Progress::Detached };
        pods.iter().for_each(|pod| node.write(&Record { progress, ..pod.clone() }));
    }
    agent.set_spec(number, &networks);
    agent.wait_for_report("the change is done", |report| {
        (report.observed_generation() == Some(number.into())).then_some(())
    });
}

/// Makes all changes after this one, and returns the last agent.
pub(crate) fn change_many(
    node: &Node,
    mut agent: RunningAgent,
    networks: &[NodeNetwork],
    pods: &[Record],
    after: u32,
) -> RunningAgent {
    for number in after + 1..=LAST {
        change(node, &agent, networks, pods, number);
        if number.is_multiple_of(RESTART_AFTER) {
            drop(agent);
            agent = RunningAgent::start(&node.paths);
        }
    }
    agent
}
