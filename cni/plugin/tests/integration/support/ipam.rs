//! IPAM plugins: the real host-local, and shell scripts.

use super::tools::tool;
use serde_json::{Value, json};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// Where host-local keeps its addresses.
const ADDRESSES: &str = "/run/addresses";
/// Where [`install`] puts plugins, as `CNI_PATH` names it.
pub(crate) const PLUGINS: &str = "/run/plugins";

/// A configuration of host-local with one range; none where host-local was not built.
pub(crate) fn host_local() -> Option<Value> {
    host_local_with(&json!([[{"subnet": "10.56.0.0/24"}]]))
}

/// A configuration of host-local with these ranges; none where host-local was not built.
pub(crate) fn host_local_with(ranges: &Value) -> Option<Value> {
    tool("host-local")?;
    Some(json!({"type": "host-local", "dataDir": ADDRESSES, "ranges": ranges}))
}

/// The IPv4 addresses that host-local holds for a network.
pub(crate) fn reserved_ips(network: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("{ADDRESSES}/{network}")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("10.")).collect()
}

/// Installs a plugin that is a shell script.
pub(crate) fn install(name: &str, script: &str) {
    fs::create_dir_all(PLUGINS).unwrap();
    let program = format!("{PLUGINS}/{name}");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
}
