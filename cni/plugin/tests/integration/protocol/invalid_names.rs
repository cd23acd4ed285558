//! Invalid names in every parameter of a call: each is rejected with the parameter in the message,
//! and nothing is created.

use crate::support::engine::on_each_engine;
use crate::support::output::Output;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, configuration};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

on_each_engine! {
    invalid_names_are_rejected_in_every_place,
    truncated_configurations_are_rejected,
}

/// A name with a NUL. It cannot be in a variable of the environment, where a C string ends at a
/// NUL.
const NUL: &str = "a\0b";

/// Invalid names of any kind.
fn invalid_names() -> Vec<String> {
    let samples = [
        "../x",
        "..",
        ".",
        "/etc/passwd",
        "a/b",
        "@abstract",
        "-rf",
        "--help",
        "a b",
        "a;b",
        "$(reboot)",
        "n\u{e4}me",
        "\u{202e}eman",
        "a\nb",
        NUL,
    ];
    samples.into_iter().map(str::to_owned).chain(["x".repeat(300)]).collect()
}

/// The parameters in the configuration: a JSON pointer, and the name in the message.
const IN_CONFIGURATION: [(&str, &str); 7] = [
    ("/network", "\"network\""),
    ("/name", "\"name\""),
    ("/cniVersion", "cniVersion"),
    ("/ipam/type", "IPAM"),
    ("/runtimeConfig/mac", "runtimeConfig.mac"),
    ("/runtimeConfig/ips/0", "runtimeConfig.ips"),
    ("/runtimeConfig/CNIDeviceInfoFile", "CNIDeviceInfoFile"),
];

/// The parameters in the environment: a variable, and the name in the message.
const IN_ENVIRONMENT: [(&str, &str); 2] = [("CNI_CONTAINERID", "CNI_CONTAINERID"), ("CNI_IFNAME", "CNI_IFNAME")];

/// The names that the kernel and usnet accept as names of interfaces. They never reach a shell or a
/// command line.
const CAN_BE_INTERFACES: [&str; 5] = ["-rf", "--help", "@abstract", "a;b", "$(reboot)"];
/// The names that are valid for a folder, although no pod has such a uid.
const CAN_BE_FOLDERS: [&str; 2] = ["-rf", "--help"];

fn complete_configuration() -> Value {
    let mut complete_configuration = configuration(NETWORK);
    complete_configuration["ipam"] = json!({"type": "static", "addresses": [{"address": "10.9.0.1/24"}]});
    complete_configuration["runtimeConfig"] =
        json!({"mac": "02:00:00:00:00:01", "ips": ["10.9.0.2/24"], "CNIDeviceInfoFile": "/run/devinfo/x"});
    complete_configuration
}

/// The paths of all files of the node, to find files outside of the folders that `assert_clean`
/// checks as well. The log of calls is left out: it has the calls that were rejected.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries
        .flat_map(|entry| if entry.file_type().unwrap().is_dir() { files(&entry.path()) } else { vec![entry.path()] });
    let mut all: Vec<_> = below.filter(|path| !path.ends_with(".lock") && !path.ends_with("calls.jsonl")).collect();
    all.sort();
    all
}

#[track_caller]
fn assert_rejected(output: &Output, what: &str, name: &str) {
    output.assert_in_time();
    let error = output.error();
    let part = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let text = format!("{} {}", part("msg"), part("details"));
    assert!(text.contains(what), "{name:?}: {error}");
    // A panic would be 999.
    assert!(error["code"].as_u64().is_some_and(|code| code != 999), "{name:?}: {error}");
}

fn invalid_names_are_rejected_in_every_place(node: &mut TestNode) {
    let pod = node.pod("p");
    let before = files(Path::new("/run"));
    for name in invalid_names() {
        for (place, what) in IN_CONFIGURATION {
            let mut complete_configuration = complete_configuration();
            *complete_configuration.pointer_mut(place).unwrap() = json!(name);
            assert_rejected(&node.call("ADD", &pod, "net1", &complete_configuration), what, &name);
            node.call("DEL", &pod, "net1", &complete_configuration).assert_done();
        }
        for (variable, what) in IN_ENVIRONMENT.into_iter().filter(|_| name != NUL) {
            let changed = [(variable, name.as_str())];
            if !(variable == "CNI_IFNAME" && CAN_BE_INTERFACES.contains(&name.as_str())) {
                assert_rejected(&node.call_with("ADD", &pod, "net1", &changed), what, &name);
            }
            node.call_with("DEL", &pod, "net1", &changed).assert_done();
        }
        in_arguments(node, &pod, &name);
        node.assert_clean();
        assert_eq!(files(Path::new("/run")), before, "{name:?}");
    }
}

/// Calls with the name as the pod's uid, which is part of a path.
fn in_arguments(node: &TestNode, pod: &Pod, name: &str) {
    if name == NUL || name.contains(';') {
        return;
    }
    let arguments = format!("K8S_POD_NAMESPACE=db;K8S_POD_NAME=p;K8S_POD_UID={name}");
    let changed = [("CNI_ARGS", arguments.as_str())];
    let what = if CAN_BE_FOLDERS.contains(&name) { "volume" } else { "K8S_POD_UID" };
    assert_rejected(&node.call_with("ADD", pod, "net1", &changed), what, name);
    node.call_with("DEL", pod, "net1", &changed).assert_done();
}

fn truncated_configurations_are_rejected(node: &mut TestNode) {
    let (pod, whole) = (node.pod("p"), configuration(NETWORK).to_string());
    for length in (0..whole.len()).step_by(3) {
        let output = node.call_text("ADD", &pod, "net1", &whole.as_bytes()[..length], &[]);
        assert_eq!(output.code(), 6, "{length}: {output:?}");
    }
    node.assert_clean();
}
