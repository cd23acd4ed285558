//! The dependencies of the plugin: it starts for every interface of every pod, and runs as root on
//! every node.

use std::collections::BTreeSet;
use std::process::Command;

/// Kubernetes clients, asynchronous runtimes, and other packages that a plugin does not need.
const UNWANTED: [&str; 12] = [
    "kube",
    "kube-client",
    "kube-core",
    "k8s-openapi",
    "tokio",
    "async-std",
    "smol",
    "hyper",
    "rustls",
    "openssl",
    "reqwest",
    "tonic",
];
/// The maximum number of packages, a few more than now. Each new package needs a reason.
const PACKAGES_MAX: usize = 42;

/// The packages that are linked into the plugin, by name.
fn packages() -> BTreeSet<String> {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "tree",
        "--offline",
        "--locked",
        "--package",
        "usnet-plugin",
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    let output = command.args(["--format", "{p}"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[test]
fn there_is_no_client_of_kubernetes_and_no_asynchronous_runtime_in_the_plugin() {
    let packages = packages();
    assert!(packages.contains("usnet-plugin") && packages.contains("serde_json"), "{packages:?}");
    let unwanted: Vec<_> = UNWANTED.iter().filter(|name| packages.contains(**name)).collect();
    assert!(unwanted.is_empty(), "{unwanted:?}");
    println!("{} packages", packages.len());
    assert!(packages.len() <= PACKAGES_MAX, "{} packages: {packages:?}", packages.len());
}
