//! A request to Multus' daemon for one network of a running pod: `POST /delegate`, as in Multus'
//! `pkg/server/api`.

use super::daemon;
use super::stand_in::text;
use crate::support::cluster::{get, try_run};
use crate::support::pods::NODE;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The sandbox of a pod, as the container runtime knows it.
pub(super) struct Sandbox {
    id: String,
    network_namespace: String,
}

impl Sandbox {
    /// None if the pod has none any more.
    pub(super) fn of(pod: &Value) -> Option<Self> {
        let uid = text(&pod["metadata"]["uid"]);
        let filter = format!("labels.\"io.kubernetes.pod.uid\"=={uid},labels.\"io.cri-containerd.kind\"==sandbox");
        let id = try_run("on-node", &[NODE, "ctr", "--namespace=k8s.io", "containers", "ls", "--quiet", &filter], "");
        let id = id.ok()?.trim().to_owned();
        let info = try_run("on-node", &[NODE, "ctr", "--namespace=k8s.io", "containers", "info", &id], "").ok()?;
        let info: Value = serde_json::from_str(&info).ok()?;
        let namespaces = info["Spec"]["linux"]["namespaces"].as_array()?;
        let network = namespaces.iter().find(|namespace| namespace["type"] == "network")?;
        Some(Self { id, network_namespace: text(&network["path"]).to_owned() })
    }
}

/// The configuration of a NetworkAttachmentDefinition; empty if there is none.
pub(super) fn configuration(namespace: &str, name: &str) -> String {
    let definition = get(&["net-attach-def", name, "-n", namespace]).unwrap_or_default();
    text(&definition["spec"]["config"]).to_owned()
}

/// Has Multus' daemon call ADD or DEL with a configuration for an element of the annotation.
pub(super) fn delegate(
    command: &str,
    pod: &Value,
    sandbox: &Sandbox,
    (element, configuration): (&Value, &str),
) -> Result<Value, String> {
    let metadata = &pod["metadata"];
    let namespace = text(&metadata["namespace"]);
    let arguments = [("NAMESPACE", namespace), ("NAME", text(&metadata["name"])), ("UID", text(&metadata["uid"]))];
    let arguments = arguments.map(|(key, value)| format!("K8S_POD_{key}={value}")).join(";");
    let answer = post(&json!({
        "env": {
            "CNI_COMMAND": command, "CNI_CONTAINERID": sandbox.id, "CNI_NETNS": sandbox.network_namespace,
            "CNI_IFNAME": element["interface"].as_str().unwrap_or_default(), "CNI_ARGS": arguments,
        },
        "config": BASE64_STANDARD.encode(configuration),
        "interfaceAttributes": attributes(element),
    }))?;
    let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
    Ok(answer["Result"].clone())
}

/// What the pod requests for the interface.
fn attributes(element: &Value) -> Option<Value> {
    let keys = ["ips", "mac", "cni-args"];
    let requested = keys.into_iter().filter_map(|key| Some((key.to_owned(), element.get(key)?.clone())));
    let requested: serde_json::Map<_, _> = requested.collect();
    (!requested.is_empty()).then_some(Value::Object(requested))
}

/// By version 1.0 of the protocol, because the daemon then sends the answer in one piece.
fn post(request: &Value) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut stream = UnixStream::connect(daemon::socket()).map_err(failed)?;
    let body = request.to_string();
    let head = "POST /delegate HTTP/1.0\r\nHost: dummy\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    if head.contains(" 200 OK") { Ok(body.to_owned()) } else { Err(body.to_owned()) }
}
