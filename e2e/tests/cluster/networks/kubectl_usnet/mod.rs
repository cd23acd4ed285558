//! `kubectl usnet` on a whole cluster, with the API server and agents.

mod agents;
mod capture;
mod capture_under_traffic;
mod causes;
mod mistakes;
mod plan;
mod rights;
mod support_bundle;
mod tenants;
mod test_command;
mod trace;

use crate::support::kubectl_usnet::usnet;
use serde_json::Value;

/// The entries of a list in a report.
#[track_caller]
fn list<'a>(report: &'a Value, field: &str) -> &'a Vec<Value> {
    report[field].as_array().unwrap_or_else(|| panic!("no list {field} in {report}"))
}

/// The text of a field.
#[track_caller]
fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_else(|| panic!("no text {field} in {entry}"))
}

#[test]
fn each_kind_of_failure_has_its_exit_status() {
    for (arguments, status, words) in [
        (["explain", "network", "lost"].as_slice(), 3, "there is no UserspaceNetwork lost"),
        (&["explain", "pod", "lost"], 3, "there is no pod default/lost"),
        (&["explain", "usne/lost"], 3, "there is no UserspaceEngine lost"),
        (&["status", "--kubeconfig", "/nowhere"], 5, "cannot use the kubeconfig"),
        (&["plan", "-f", "/nowhere"], 7, "cannot use /nowhere"),
    ] {
        let answer = usnet(arguments);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.stderr.contains(words) && answer.stdout.is_empty(), "{answer:?}");
    }
}
