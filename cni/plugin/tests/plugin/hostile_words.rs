//! Words that are no names, in every place that a call has for one: each is refused with the place in the message, and nothing is made of it.

use crate::support::engine::on_each_engine;
use crate::support::output::Output;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, configuration};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

on_each_engine! {
    a_word_that_is_no_name_is_refused_wherever_it_stands,
    a_configuration_that_was_cut_anywhere_is_refused,
}

/// A character that no variable of the environment can hold ends them, as C has it.
const NUL: &str = "a\0b";

/// What no name may be.
fn words() -> Vec<String> {
    let fixed = [
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
    fixed.into_iter().map(str::to_owned).chain(["x".repeat(300)]).collect()
}

/// A place for a word in the configuration: a JSON pointer, and what the message calls it.
const IN_CONFIGURATION: [(&str, &str); 7] = [
    ("/network", "\"network\""),
    ("/name", "\"name\""),
    ("/cniVersion", "cniVersion"),
    ("/ipam/type", "IPAM"),
    ("/runtimeConfig/mac", "runtimeConfig.mac"),
    ("/runtimeConfig/ips/0", "runtimeConfig.ips"),
    ("/runtimeConfig/CNIDeviceInfoFile", "CNIDeviceInfoFile"),
];

/// The same in the environment.
const IN_ENVIRONMENT: [(&str, &str); 2] = [("CNI_CONTAINERID", "CNI_CONTAINERID"), ("CNI_IFNAME", "CNI_IFNAME")];

/// The kernel takes these for interfaces, and so do we: no shell and no command line ever sees them.
const CAN_BE_INTERFACES: [&str; 5] = ["-rf", "--help", "@abstract", "a;b", "$(reboot)"];
/// These could be the names of folders, and there is no pod of that name.
const CAN_BE_FOLDERS: [&str; 2] = ["-rf", "--help"];

fn asked() -> Value {
    let mut asked = configuration(NETWORK);
    asked["ipam"] = json!({"type": "static", "addresses": [{"address": "10.9.0.1/24"}]});
    asked["runtimeConfig"] =
        json!({"mac": "02:00:00:00:00:01", "ips": ["10.9.0.2/24"], "CNIDeviceInfoFile": "/run/devinfo/x"});
    asked
}

/// All paths of files of the node, so that a file outside of what is asked for in `assert_clean` is seen as well.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries
        .flat_map(|entry| if entry.file_type().unwrap().is_dir() { files(&entry.path()) } else { vec![entry.path()] });
    let mut all: Vec<_> = below.filter(|path| !path.ends_with(".lock")).collect();
    all.sort();
    all
}

#[track_caller]
fn assert_refused(output: &Output, what: &str, word: &str) {
    output.assert_soon();
    let error = output.error();
    let part = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
    let text = format!("{} {}", part("msg"), part("details"));
    assert!(text.contains(what), "{word:?}: {error}");
    // A defect would be 999.
    assert!(error["code"].as_u64().is_some_and(|code| code != 999), "{word:?}: {error}");
}

fn a_word_that_is_no_name_is_refused_wherever_it_stands(node: &mut TestNode) {
    let pod = node.pod("p");
    let before = files(Path::new("/run"));
    for word in words() {
        for (place, what) in IN_CONFIGURATION {
            let mut asked = asked();
            *asked.pointer_mut(place).unwrap() = json!(word);
            assert_refused(&node.call("ADD", &pod, "net1", &asked), what, &word);
            node.call("DEL", &pod, "net1", &asked).assert_done();
        }
        for (variable, what) in IN_ENVIRONMENT.into_iter().filter(|_| word != NUL) {
            let changed = [(variable, word.as_str())];
            if !(variable == "CNI_IFNAME" && CAN_BE_INTERFACES.contains(&word.as_str())) {
                assert_refused(&node.call_with("ADD", &pod, "net1", &changed), what, &word);
            }
            node.call_with("DEL", &pod, "net1", &changed).assert_done();
        }
        in_arguments(node, &pod, &word);
        node.assert_clean();
        assert_eq!(files(Path::new("/run")), before, "{word:?}");
    }
}

/// A pod's uid is part of a path.
fn in_arguments(node: &TestNode, pod: &Pod, word: &str) {
    if word == NUL || word.contains(';') {
        return;
    }
    let arguments = format!("K8S_POD_NAMESPACE=db;K8S_POD_NAME=p;K8S_POD_UID={word}");
    let changed = [("CNI_ARGS", arguments.as_str())];
    let what = if CAN_BE_FOLDERS.contains(&word) { "volume" } else { "K8S_POD_UID" };
    assert_refused(&node.call_with("ADD", pod, "net1", &changed), what, word);
    node.call_with("DEL", pod, "net1", &changed).assert_done();
}

fn a_configuration_that_was_cut_anywhere_is_refused(node: &mut TestNode) {
    let (pod, whole) = (node.pod("p"), configuration(NETWORK).to_string());
    for length in (0..whole.len()).step_by(3) {
        let output = node.call_text("ADD", &pod, "net1", &whole.as_bytes()[..length], &[]);
        assert_eq!(output.code(), 6, "{length}: {output:?}");
    }
    node.assert_clean();
}
