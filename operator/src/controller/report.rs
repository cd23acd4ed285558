//! Step four of a pass, pure: what each network's status should say.

mod deleting;
mod standing;

use super::compile::{Compiled, Verdict};
use super::drain::Remains;
use super::inputs::Inputs;
use super::tally::Tally;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use standing::Subject;
use std::collections::BTreeMap;
use usnet_crds::UserspaceNetworkStatus;
use usnet_crds::conditions::reason::STARTING;
use usnet_crds::conditions::{Finding, READY, RECONCILING, Status, merge};
use usnet_crds::network::NodeCounts;

/// The status of every network that goes on existing.
pub fn report(inputs: &Inputs, compiled: &Compiled, now: &Time) -> BTreeMap<String, UserspaceNetworkStatus> {
    let mut statuses = BTreeMap::new();
    for (name, verdict) in &compiled.verdicts {
        let Some(network) = inputs.networks.get(name) else { continue };
        let (nodes, failures, findings) = match verdict {
            Verdict::Deleting(remains) if remains.let_go(name) => continue,
            Verdict::Deleting(remains) => (deleting::carriers(remains), Vec::new(), deleting::findings(remains)),
            Verdict::Starting => (NodeCounts::default(), Vec::new(), starting()),
            Verdict::Active | Verdict::Refused { .. } => {
                let tally = Tally::of(name, inputs, compiled);
                let subject = Subject { name, network, verdict, tally: &tally, inputs, compiled };
                (tally.counts(), tally.first_failures(), subject.findings())
            }
        };
        let old = network.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let in_use = Remains::of(name, inputs);
        let status = UserspaceNetworkStatus {
            observed_generation: Some(network.generation),
            conditions: merge(old, findings, Some(network.generation), now),
            nodes,
            attachments: in_use.attachments,
            connected: in_use.connected,
            failures,
        };
        statuses.insert(name.clone(), status);
    }
    statuses
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
