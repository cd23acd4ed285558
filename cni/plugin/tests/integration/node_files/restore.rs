//! A node as the release that wrote the golden files left it, without a call of the plugin.

use super::files;
use super::nodes::{ALLOWED, Attachment, attachments};
use super::{engine, ipam};
use crate::support::{TestNode, create_network_namespace};
use nix::mount::{MsFlags, mount};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use usnet_dataplane::journal::Journal;

/// Lays out files, mounts, devices and the objects of the engine.
pub(super) fn lay_out(node: &TestNode) {
    ipam::install(99);
    let golden = files::golden(node);
    assert!(golden.len() > 10, "the golden files are missing");
    fs::create_dir_all(ALLOWED).unwrap();
    for attachment in attachments(node) {
        create_namespace(&attachment);
        if attachment.has_volume {
            node.pod(&attachment.pod);
        }
    }
    node.engine.remove_bridge(&node.bridge());
    fs::remove_file(node.paths.networks().join(format!("{}.json", crate::support::NETWORK))).unwrap();
    let records: Vec<Value> = golden.iter().filter(|(name, _)| is_record(name)).map(|(_, text)| parse(text)).collect();
    records.iter().for_each(mount_device);
    for (name, text) in &golden {
        if let Some(path) = files::path(name) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    // The agent does this when it starts.
    Journal::open(&node.paths).unwrap().repair_index().unwrap();
    records.iter().for_each(mount_directory);
    engine::devices::restore(&golden);
    engine::restore(node, &golden);
}

fn is_record(name: &str) -> bool {
    name.starts_with("state/attachments/")
}

/// Parses a record, which is the last line of its file.
pub(super) fn parse(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// Mounts the file system of a device that is allocated to a pod.
fn mount_device(record: &Value) {
    let Some(folder) = record["directorySource"].as_str().filter(|folder| folder.contains("/devices/")) else { return };
    fs::create_dir_all(folder).unwrap();
    mount(Some("usnet"), folder, Some("tmpfs"), MsFlags::empty(), Some("mode=0777,size=1m")).unwrap();
}

/// Mounts the pod's directory for the engine, where the engine's socket is or will be.
fn mount_directory(record: &Value) {
    let connection = &record["port"]["connection"];
    let socket = connection["socket"]["file"].as_str().or_else(|| connection["socket"].as_str());
    let is_released = record["progress"] == "detached";
    let Some(target) = socket.filter(|_| !is_released).and_then(|socket| Path::new(socket).parent()) else { return };
    let volume =
        format!("/run/kubelet/pods/{}/volumes/kubernetes.io~empty-dir/usnet", record["pod"]["uid"].as_str().unwrap());
    let source = record["directorySource"].as_str().unwrap_or(&volume);
    fs::create_dir_all(target).unwrap();
    fs::set_permissions(target, Permissions::from_mode(0o755)).unwrap();
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
}

/// Creates the network namespace of an attachment's pod, if it is not there.
pub(super) fn create_namespace(attachment: &Attachment) {
    if !Path::new(&attachment.namespace()).exists() {
        create_network_namespace(&attachment.namespace());
    }
}
