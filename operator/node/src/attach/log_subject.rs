//! What a request is about, for log lines: users know neither its sandbox nor its namespace. Pure.

use super::{Answer, Request};
use serde_json::Value;

/// The fields of a log line about a request.
#[derive(Debug, PartialEq, Eq)]
struct LogSubject<'a> {
    command: &'static str,
    /// The pod as `NAMESPACE/NAME`.
    pod: Option<String>,
    interface: Option<&'a str>,
    network: Option<&'a str>,
}

impl<'a> LogSubject<'a> {
    fn of(request: &'a Request) -> Self {
        let Request { command, environment, configuration } = request;
        let arguments = environment.get("CNI_ARGS").map(String::as_str).unwrap_or_default();
        let argument = |key: &str| {
            arguments.split(';').find_map(|pair| pair.split_once('=').filter(|(name, _)| *name == key)).map(|it| it.1)
        };
        let pod = argument("K8S_POD_NAMESPACE").zip(argument("K8S_POD_NAME"));
        let text = |key: &str| configuration.get(key).and_then(Value::as_str);
        Self {
            command: command.as_str(),
            pod: pod.map(|(namespace, name)| format!("{namespace}/{name}")),
            interface: environment.get("CNI_IFNAME").map(String::as_str),
            // A configuration for Multus may have its network in an annotation alone.
            network: text("network").or_else(|| text("name")),
        }
    }
}

/// Logs a call that failed.
pub(super) fn log_failure(request: &Request, answer: &Answer) {
    let Answer::Error(error) = answer else { return };
    let LogSubject { command, pod, interface, network } = LogSubject::of(request);
    tracing::warn!(command, pod, interface, network, %error, "an attachment failed");
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_pod_and_the_network_of_a_request_are_named() {
        let environment =
            [("CNI_IFNAME", "net7"), ("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAMESPACE=web;K8S_POD_NAME=a")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let configuration = json!({"name": "usnet-attachment-o1", "network": "blue"});
        let request = Request { command: Command::Add, environment, configuration };
        let pod = Some("web/a".to_owned());
        let expected = LogSubject { command: "ADD", pod, interface: Some("net7"), network: Some("blue") };
        assert_eq!(LogSubject::of(&request), expected);
        let empty = Request { environment: [].into(), configuration: json!({"name": "blue"}), ..request };
        let expected = LogSubject { command: "ADD", pod: None, interface: None, network: Some("blue") };
        assert_eq!(LogSubject::of(&empty), expected);
    }
}
