//! How openshift/app-netutil (`lib/v1alpha`, its last version) reads a pod's annotations, including
//! its defects: the same applies to the programs that link it. The behaviour was measured with the
//! real library.

use serde_json::Value;
use std::collections::BTreeMap;

const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";
const DATA: &str = "userspace/configuration-data";
const MAPPED_DIR: &str = "userspace/mapped-dir";

/// One interface as the library returns it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// `vhost-user` or `memif`; empty if the library does not know it.
    pub(crate) kind: String,
    /// The mode of a vhost-user interface, or the role of a memif.
    pub(crate) end: String,
    pub(crate) path: String,
    pub(crate) ips: Vec<String>,
}

/// The file that kubelet writes for annotations: each line a key and its value as a quoted string
/// of Go.
pub(crate) fn downward_file(annotations: &BTreeMap<String, String>) -> String {
    annotations.iter().map(|(key, value)| format!("{key}={}\n", quoted(value))).collect()
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}

/// The interfaces that the library finds in the file.
pub(crate) fn interfaces(file: &str) -> Vec<Interface> {
    let annotations: BTreeMap<&str, String> = file.lines().filter_map(read_line).collect();
    let statuses = list(annotations.get(STATUS));
    let mut found: Vec<(Interface, bool)> = statuses.iter().map(of_status).collect();
    let mapped_dir = annotations.get(MAPPED_DIR).cloned().unwrap_or_default();
    for element in list(annotations.get(DATA)) {
        let name = text(&element, "/ifName");
        let place = found.iter().position(|(known, _)| known.name == name);
        let place = place.unwrap_or_else(|| {
            found.push((Interface { name, ..Interface::default() }, false));
            found.len() - 1
        });
        let (interface, is_known) = &mut found[place];
        // Device info takes precedence; of several elements for an interface the first one is used,
        // however old it is.
        if !*is_known {
            *is_known = true;
            apply_element(interface, &element, &mapped_dir);
        }
    }
    found.into_iter().map(|(interface, _)| interface).collect()
}

/// A line counts if it has exactly one `=`. Spaces and kubelet's escapes are removed.
fn read_line(line: &str) -> Option<(&str, String)> {
    assert!(line.len() < 64 * 1024, "the library reads no longer line");
    let parts: Vec<&str> = line.split('=').collect();
    let [key, value] = parts.as_slice() else { return None };
    let value = value.replace("\\n", "").replace(['\\', ' '], "");
    Some((key, value.strip_prefix('"')?.strip_suffix('"')?.to_owned()))
}

fn list(json: Option<&String>) -> Vec<Value> {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn of_status(status: &Value) -> (Interface, bool) {
    let ips = status["ips"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let mut interface = Interface { name: text(status, "/interface"), ips, ..Interface::default() };
    let information = &status["device-info"];
    let kind = text(information, "/type");
    interface.end = text(information, if kind == "memif" { "/memif/role" } else { "/vhost-user/mode" });
    interface.path = text(information, &format!("/{kind}/path"));
    interface.kind = kind;
    let is_known = !interface.kind.is_empty();
    (interface, is_known)
}

fn apply_element(interface: &mut Interface, element: &Value, mapped_dir: &str) {
    match element["config"]["iftype"].as_str() {
        Some("memif") => {
            interface.kind = "memif".to_owned();
            interface.end = text(element, "/config/memif/role");
            // Folder and file are concatenated without a separator.
            interface.path = format!("{mapped_dir}{}", text(element, "/config/memif/socketfile"));
        }
        Some("vhostuser") => {
            interface.kind = "vhost-user".to_owned();
            interface.end = text(element, "/config/vhost/mode");
            interface.path = format!("{mapped_dir}{}", text(element, "/config/vhost/socketfile"));
        }
        _ => {}
    }
    if interface.ips.is_empty() {
        let ips = element["ipResult"]["ips"].as_array().into_iter().flatten();
        let known = ips.filter(|ip| ip["version"] == "4" || ip["version"] == "6");
        interface.ips = known.map(|ip| text(ip, "/address").split('/').next().unwrap_or_default().to_owned()).collect();
    }
}
