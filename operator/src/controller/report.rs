//! Step four of a pass, pure: what a network's status should say.

mod deleting;
mod standing;

use super::compile::Verdict;
use super::compile::definitions::Definitions;
use super::inputs::Network;
use super::tally::Tally;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::reason::STARTING;
use usnet_crds::conditions::{Finding, READY, RECONCILING, Status, merge};
use usnet_crds::network::NodeCounts;

/// All that is known of a network.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) name: &'a str,
    pub(super) network: &'a Network,
    pub(super) verdict: &'a Verdict,
    pub(super) tally: Tally,
    /// None when definitions cannot be read.
    pub(super) definitions: Option<&'a Definitions>,
    /// Attached and connected interfaces of pods.
    pub(super) usage: (i64, i64),
}

/// The status of a network, if it goes on existing.
pub(super) fn report(facts: &Facts<'_>, now: &Time) -> Option<UserspaceNetworkStatus> {
    let Facts { network, tally, usage: (attachments, connected), .. } = facts;
    let (nodes, failures, findings) = match facts.verdict {
        Verdict::Deleting(remains) if remains.let_go(facts.name) => return None,
        Verdict::Deleting(remains) => (deleting::carriers(remains), Vec::new(), deleting::findings(remains)),
        Verdict::Starting => (NodeCounts::default(), Vec::new(), starting()),
        Verdict::Active | Verdict::Refused { .. } => {
            (tally.counts(), tally.failures.clone(), standing::findings(facts))
        }
    };
    let old = network.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    Some(UserspaceNetworkStatus {
        observed_generation: Some(network.generation),
        conditions: merge(old, findings, Some(network.generation), now),
        nodes,
        attachments: *attachments,
        connected: *connected,
        failures,
    })
}

/// Tools take an object without Ready for a healthy one, so that this is said before anything is done.
fn starting() -> Vec<Finding> {
    let message = "seen for the first time";
    vec![
        Finding::new(READY, Status::Unknown, STARTING, message),
        Finding::new(RECONCILING, Status::True, STARTING, message),
    ]
}

/// A number with its word.
fn count(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}
