//! Checks that the program can be built for the operating systems of users.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TARGETS: [&str; 5] = [
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-gnu",
    "aarch64-pc-windows-msvc",
];

/// Crates that exist only on Linux, and the crates of usnet that use them.
const LINUX_ONLY: [&str; 22] = [
    "inotify",
    "linux-raw-sys",
    "netlink-packet-core",
    "netlink-packet-generic",
    "netlink-packet-netfilter",
    "netlink-packet-route",
    "netlink-sys",
    "nix",
    "procfs",
    "rustix",
    "usnet-agent",
    "usnet-dataplane",
    "usnet-endpoint",
    "usnet-node",
    "usnet-ovsdb",
    "usnet-plugin",
    "usnet-standalone",
    "usnet-transport",
    "usnet-vpp",
    "vhost",
    "vm-memory",
    "vmm-sys-util",
];

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).args(["--locked", "--package", "usnet-kubectl"]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn no_dependency_needs_linux() {
    let mut tree = cargo(&["tree", "--edges", "normal", "--target", "all", "--prefix", "none", "--format", "{p}"]);
    let tree = text(&tree.output().unwrap());
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains("kube") && names.contains("usnet-controller"), "{names:?}");
    let found: Vec<_> = LINUX_ONLY.iter().filter(|name| names.contains(**name)).collect();
    assert!(found.is_empty(), "the plugin of kubectl depends on {found:?}: cargo tree -p usnet-kubectl -i NAME");
}

/// Creates stubs of a C compiler and an archiver for another system: `cargo check` does not link,
/// and only needs their output files to exist.
fn stub_tools(folder: &Path) -> (PathBuf, PathBuf) {
    let script = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let compiler = script("cc", "while [ $# -gt 0 ]; do [ \"$1\" != -o ] || : >\"$2\"; shift; done\n");
    let archiver = script("ar", "for file; do case $file in *.a | *.lib) : >\"$file\" ;; esac; done\n");
    (compiler, archiver)
}

#[test]
fn it_compiles_for_each_installed_target() {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let installed = installed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let folder = tempfile::tempdir().unwrap();
    let (compiler, archiver) = stub_tools(folder.path());
    for target in TARGETS {
        if !installed.lines().any(|line| line == target) {
            println!("SKIPPED: the plugin of kubectl for {target}: rustup target add {target}");
            continue;
        }
        let variable = target.replace('-', "_");
        let mut check = cargo(&["check", "--target", target]);
        check.env(format!("CC_{variable}"), &compiler).env(format!("AR_{variable}"), &archiver);
        text(&check.output().unwrap());
    }
}
