//! The problems of the status, and interfaces without a program by their causes.

use crate::commands::shared::join_first;
use crate::commands::status::problems::Problem;
use crate::commands::status::report::{NotConnected, Report};
use crate::output::count;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;

/// Several problems with one cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cause {
    /// The object with the problem, such as `network blue`.
    pub subject: String,
    pub reason: String,
    /// Where, such as `200 nodes: node-a, node-b and 198 more`; empty if it is of no place.
    pub places: String,
    /// The message of one of them.
    pub message: String,
    pub urgency: Urgency,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    #[default]
    NeedsAction,
    /// Programs of users are not connected.
    NotConnected,
    Recovers,
}

/// The number of places that are named.
const PLACES_MAX: usize = 3;

/// Returns the causes, the most urgent first.
pub(super) fn causes(report: &Report) -> Vec<Cause> {
    let action = report.needs_action.iter().map(|problem| of_problem(problem, Urgency::NeedsAction));
    let recovers = report.recovers.iter().map(|problem| of_problem(problem, Urgency::Recovers));
    action.chain(unconnected(&report.not_connected)).chain(recovers).collect()
}

fn of_problem(problem: &Problem, urgency: Urgency) -> Cause {
    let nodes: Vec<_> = problem.nodes.iter().cloned().collect();
    let concerned = [(problem.networks.len(), "network"), (problem.pods.len(), "pod")];
    let concerned = concerned.into_iter().filter(|(number, _)| *number > 0);
    let places: Vec<_> =
        iter::once(places(&nodes, "node")).chain(concerned.map(|(number, noun)| count(number, noun))).collect();
    Cause {
        subject: problem.subject.clone(),
        reason: problem.reason.clone(),
        places: places.into_iter().filter(|place| !place.is_empty()).collect::<Vec<_>>().join(", "),
        message: problem.message.clone(),
        urgency,
    }
}

fn unconnected(entries: &[NotConnected]) -> Vec<Cause> {
    let mut groups: BTreeMap<&str, Vec<&NotConnected>> = BTreeMap::new();
    for entry in entries {
        groups.entry(&entry.reason).or_default().push(entry);
    }
    let cause = |(reason, of_cause): (&str, Vec<&NotConnected>)| {
        let pods: Vec<_> = of_cause.iter().map(|entry| format!("{} {}", entry.pod, entry.interface)).collect();
        let message = of_cause.first().map(|entry| entry.message.clone()).unwrap_or_default();
        let networks: BTreeSet<&str> = of_cause.iter().map(|entry| entry.network.as_str()).collect();
        let subject = match networks.first().filter(|_| networks.len() == 1) {
            Some(network) => format!("network {network}"),
            None => count(networks.len(), "network"),
        };
        let reason = reason.to_owned();
        Cause { subject, reason, places: places(&pods, "interface"), message, urgency: Urgency::NotConnected }
    };
    groups.into_iter().map(cause).collect()
}

fn places(names: &[String], noun: &str) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        names => format!("{}: {}", count(names.len(), noun), join_first(names, PLACES_MAX)),
    }
}
