//! The real IPAM plugins and cnitool, which `make test` builds.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// The folder of the tools, if they were built.
fn folder() -> Option<PathBuf> {
    let folders = std::env::var_os("USNET_TOOLS").map(|folders| std::env::split_paths(&folders).collect());
    let folders: BTreeSet<PathBuf> = folders.unwrap_or_else(|| {
        let cache = PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/usnet/tools");
        fs::read_dir(cache).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    });
    folders.into_iter().find(|folder| folder.join("dhcp").exists())
}

/// The value of `CNI_PATH` of a call.
pub(crate) fn plugin_path() -> OsString {
    folder().map_or_else(|| "/nonexistent".into(), PathBuf::into_os_string)
}

/// The path of a tool. A test without it is skipped, and prints that.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    let found = folder().map(|folder| folder.join(name)).filter(|path| path.exists());
    if found.is_none() {
        eprintln!("SKIPPED: no {name} in USNET_TOOLS or ~/.cache/usnet/tools; `make test` builds it");
    }
    found
}
