//! CHECK: compares an interface with its ADD result. All differences are reported; nothing is
//! changed.

use crate::attachment::engine::EngineClient;
use crate::attachment::interface::{self, ExpectedInterface};
use crate::attachment::ipam::IpamPlugin;
use crate::attachment::node::Node;
use crate::attachment::pod_directory::PodDirectory;
use crate::attachment::pod_files::description::Description;
use crate::attachment::port::needs_volume;
use crate::attachment::server_socket;
use crate::error::Error;
use crate::legacy::state::LegacyState;
use crate::protocol::configuration::{Configuration, ConfigurationError};
use crate::protocol::environment::Environment;
use crate::protocol::version::SpecVersion;
use ipnet::IpNet;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::network_file::NetworkFile;

/// Compares the interface that the environment names.
///
/// # Errors
/// [`Error::CheckFailed`] with all differences, or the reason why it could not be compared.
pub fn check(node: &Node, environment: &Environment, configuration: &Configuration) -> Result<(), Error> {
    environment.require_for_add()?;
    configuration.require_version(SpecVersion::V0_4_0, "CHECK")?;
    compare(node, environment, &environment.attachment()?, previous_result(configuration)?)
}

/// The result of ADD, which the runtime must pass.
pub(crate) fn previous_result(configuration: &Configuration) -> Result<&Value, ConfigurationError> {
    let advice = "the runtime must pass the result of ADD in it";
    configuration.previous_result()?.ok_or(ConfigurationError::Missing { key: "prevResult", advice })
}

/// Compares one interface. Its errors are those of [`check`].
pub(crate) fn compare(
    node: &Node,
    environment: &Environment,
    id: &AttachmentId,
    previous: &Value,
) -> Result<(), Error> {
    // The lock waits for a concurrent call on the same attachment.
    let Some(record) = node.journal.lock(id)?.read()? else {
        return Err(Error::CheckFailed { id: id.clone(), differences: vec![missing_record(node, id).to_owned()] });
    };
    compare_record(node, environment, &record, previous)?;
    match &record.ipam {
        Some(ipam) => Ok(IpamPlugin::find(ipam, &environment.without_requested_address())?.check(previous)?),
        None => Ok(()),
    }
}

/// Compares one interface, but does not call its IPAM plugin. The attachment may be locked. Its
/// errors are those of [`check`].
pub(crate) fn compare_record(
    node: &Node,
    environment: &Environment,
    record: &Record,
    previous: &Value,
) -> Result<(), Error> {
    let mut found: Vec<String> = progress_difference(record).into_iter().collect();
    found.extend(namespace_difference(record, &environment.network_namespace()));
    found.extend(result_differences(record, previous));
    // What the legacy plugin attached has its files elsewhere.
    if !record.taken_over {
        found.extend(directory_difference(record, &PodDirectory::from_record(&node.paths, record)));
    }
    if let Some(device) = record.port.backend.device() {
        found.extend(interface::differences(record, device, &expected(record, previous))?);
    } else if record.port.backend.is_of_kernel() {
        found.extend(interface::tap::differences(record, &expected(record, previous))?);
    }
    found.extend(port_differences(node, record)?);
    if found.is_empty() { Ok(()) } else { Err(Error::CheckFailed { id: record.id.clone(), differences: found }) }
}

fn missing_record(node: &Node, id: &AttachmentId) -> &'static str {
    match LegacyState::find(&node.paths, id) {
        Some(_) => "Intel's Userspace CNI attached it and kept no record to compare it with; DEL removes it",
        None => "the node has no record of it: ADD failed, or DEL was called",
    }
}

fn progress_difference(record: &Record) -> Option<String> {
    match record.progress {
        Progress::Attached => None,
        Progress::Attaching => Some("its ADD did not complete".to_owned()),
        Progress::Detaching | Progress::Detached => Some("its DEL has started".to_owned()),
    }
}

fn namespace_difference(record: &Record, requested: &Path) -> Option<String> {
    let attached = &record.network_namespace;
    if attached != requested {
        return Some(format!(
            "it was attached in network namespace {}, not {}",
            attached.display(),
            requested.display()
        ));
    }
    (!attached.exists()).then(|| format!("network namespace {} no longer exists", attached.display()))
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(result: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    result.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The entry of the result for the interface in the pod.
fn entry_in_pod<'a>(record: &Record, previous: &'a Value) -> Option<&'a Value> {
    let is_ours =
        |entry: &&Value| text(entry, "name") == record.id.interface.as_str() && !text(entry, "sandbox").is_empty();
    list(previous, "interfaces").find(is_ours)
}

/// The settings that the interface in the pod should have: those of the result, as the plugins
/// after this one in a list left them.
fn expected(record: &Record, previous: &Value) -> ExpectedInterface {
    let entry = entry_in_pod(record, previous);
    let mac = entry.and_then(|entry| text(entry, "mac").parse().ok());
    let mtu = entry.and_then(|entry| entry.get("mtu")?.as_u64()).and_then(|mtu| u32::try_from(mtu).ok());
    ExpectedInterface { mac: mac.or_else(|| record.mac.parse().ok()), mtu }
}

/// How the ADD result differs from the record.
fn result_differences(record: &Record, previous: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let can_change = record.port.backend.is_of_kernel();
    match entry_in_pod(record, previous).map(|entry| text(entry, "mac")) {
        // A plugin after this one may have changed the MAC address.
        Some(_) if can_change || record.taken_over => {}
        None => found.push(format!("\"prevResult\" has no interface {} in the pod", record.id.interface)),
        Some(mac) if !mac.eq_ignore_ascii_case(&record.mac) => {
            found.push(format!("\"prevResult\" has MAC address {mac}, and the interface has {}", record.mac));
        }
        Some(_) => {}
    }
    let reported: Vec<IpNet> = list(previous, "ips").filter_map(|entry| text(entry, "address").parse().ok()).collect();
    let missing =
        record.addresses.iter().filter(|address| !reported.iter().any(|reported| reported.addr() == address.ip));
    found.extend(missing.map(|address| format!("\"prevResult\" does not have its address {}", address.ip)));
    found
}

/// Whether the mount or the description is missing that the pod's program needs to find its socket.
fn directory_difference(record: &Record, directory: &PodDirectory) -> Option<String> {
    if !needs_volume(&record.port) {
        return None;
    }
    let path = directory.path();
    if !directory.is_mounted() {
        return Some(format!("the pod's directory is not mounted at {}", path.display()));
    }
    if !server_socket::is_published(record, directory) {
        return Some("the folder with the engine's socket is not mounted in the pod's directory".to_owned());
    }
    if record.socket_only {
        return None;
    }
    let file = path.join(Description::file_name(&record.id.interface));
    (!file.is_file()).then(|| format!("the pod's description {} is missing", file.display()))
}

/// How the engine's port differs from the current spec of the network: its settings may have
/// changed since ADD.
fn port_differences(node: &Node, record: &Record) -> Result<Vec<String>, Error> {
    let network = match node.networks.read(&record.network) {
        Ok(Some(NetworkFile::Programmed(programmed))) => Some(Arc::unwrap_or_clone(programmed.network)),
        _ => None,
    };
    Ok(EngineClient::connect(record)?.port_differences(record, network)?)
}
