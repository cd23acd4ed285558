//! Reads the audit log of the API server ([`usnet_e2e::kubernetes::audit`]).

use serde_json::Value;
use std::fs;

/// Returns all requests since a time (RFC 3339 with microseconds), oldest first.
pub(crate) fn since(time: &str) -> Vec<Value> {
    let log =
        fs::read_to_string(std::env::var("USNET_WORLD_AUDIT_LOG").expect("the test bed has an audit log")).unwrap();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // Both times are of the same clock.
    let mut events: Vec<Value> = events.filter(|event| received(event) > time).collect();
    events.sort_by(|one, two| received(one).cmp(received(two)));
    events
}

/// Returns the time at which the API server received the request.
pub(crate) fn received(event: &Value) -> &str {
    event["requestReceivedTimestamp"].as_str().unwrap_or_default()
}

/// Whether the request is from a program in this pod.
pub(crate) fn is_from(event: &Value, pod: &str) -> bool {
    event["user"]["extra"]["authentication.kubernetes.io/pod-name"][0] == pod
}

/// Whether the request is a write that succeeded.
pub(crate) fn is_write(event: &Value) -> bool {
    let verb = event["verb"].as_str().unwrap_or_default();
    ["create", "update", "patch", "delete"].contains(&verb)
        && event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 400)
}

/// Returns the requested resource, such as `userspacenetworks/status`.
pub(crate) fn resource(event: &Value) -> String {
    let object = &event["objectRef"];
    let resource = object["resource"].as_str().unwrap_or_default();
    match object["subresource"].as_str() {
        Some(part) => format!("{resource}/{part}"),
        None => resource.to_owned(),
    }
}
