//! The golden files: all files and objects of the node as text. The path, the secrets and the
//! inodes that differ from run to run are replaced.

use super::engine;
use super::nodes::{Attachment, folder_of};
use crate::support::TestNode;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// If this variable is set to any value, the golden files are replaced by the present ones.
const WRITE: &str = "USNET_WRITE_NODE_FILES";
/// The folder that has all files of the node.
const RUN: &str = "/run";
/// The folder in which the tests keep the results of ADD, like a runtime.
const RESULTS: &str = "/run/results";
/// The files that are left out. They belong to the tests themselves or to kubelet, or are in other
/// files as well (mounts, the index). The log of calls has times, and the sandboxes of pods are
/// collected as garbage and not by the runtime's GC.
const LEFT_OUT: [&str; 7] = [
    "/run/netns",
    "/run/plugins",
    "/run/kubelet/device-plugins",
    "/run/usnet/calls.jsonl",
    "/run/usnet/ports",
    "/run/usnet/sandboxes",
    "/run/state/index",
];
/// Stands for the path of the engine's socket, which is in a new folder for each test.
const ENGINE_SOCKET: &str = "/run/engine.sock";
/// Stands for a memif secret, which is random.
const SECRET: &str = "cmFuZG9tIGJ5dGVzLi4uLg";

/// Stands for the inode of a network namespace, which the kernel chooses.
const INODE: &str = "4026531840";

/// Texts by their paths below `/run` or, for objects that are not files, by the names of their
/// golden files.
pub(super) type Files = BTreeMap<String, String>;

pub(super) fn collect(node: &TestNode) -> Files {
    let mut all = Files::new();
    for path in regular_files(Path::new(RUN)) {
        let name = path.strip_prefix(RUN).unwrap().to_str().unwrap().to_owned();
        all.insert(name, fs::read_to_string(&path).unwrap());
    }
    all.insert("engine.json".to_owned(), engine::dump(node));
    all.insert("devices.json".to_owned(), engine::devices::dump(node));
    let socket = node.engine.socket().to_str().unwrap().to_owned();
    let secrets: Vec<String> = all.values().filter_map(|text| secret(text)).collect();
    let inodes: Vec<String> = all.values().filter_map(|text| inode(text)).collect();
    for text in all.values_mut() {
        for inode in &inodes {
            *text = text.replace(inode.as_str(), INODE);
        }
        *text = text.replace(&socket, ENGINE_SOCKET);
        for secret in &secrets {
            *text = text.replace(secret.as_str(), SECRET);
        }
    }
    all
}

/// Parses a file as a whole, or the last line of a record.
fn parse(text: &str) -> Option<Value> {
    [text, text.lines().last()?].into_iter().find_map(|text| serde_json::from_str(text).ok())
}

/// The memif secret in a record or a description.
fn secret(text: &str) -> Option<String> {
    let whole = parse(text)?;
    let found = whole["port"]["secret"].as_str().or_else(|| whole["secret"].as_str());
    found.map(str::to_owned)
}

/// The inode of the network namespace in a record.
fn inode(text: &str) -> Option<String> {
    parse(text)?["networkNamespaceInode"].as_u64().map(|inode| inode.to_string())
}

fn regular_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if LEFT_OUT.iter().any(|left_out| path == Path::new(left_out)) {
            continue;
        }
        if kind.is_dir() {
            found.extend(regular_files(&path));
        } else if kind.is_file() && !entry.file_name().to_string_lossy().starts_with('.') {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The files that belong to pods: none once they are detached. Multus removes device info files.
pub(super) fn of_pods(node: &TestNode) -> Vec<PathBuf> {
    let paths = &node.paths;
    let others =
        [paths.networks(), paths.node_file(), paths.shared_dirs_file(), paths.device_info.clone(), RESULTS.into()];
    let all = regular_files(Path::new(RUN)).into_iter();
    all.filter(|path| !others.iter().any(|known| path.starts_with(known))).collect()
}

/// Replaces the golden files, if that is requested.
pub(super) fn replace_if_requested(node: &TestNode, written: &Files) {
    if std::env::var_os(WRITE).is_some() {
        replace(&golden_folder(node), written);
    }
}

/// Removes the devices on the node, which only later results have. CHECK accepts results with and
/// without them.
pub(super) fn without_host_devices(mut files: Files) -> Files {
    for (name, text) in files.iter_mut().filter(|(name, _)| name.starts_with("results/")) {
        let mut result: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let Some(interfaces) = result["interfaces"].as_array_mut() else { continue };
        let before = interfaces.len();
        interfaces.retain(|interface| interface.get("sandbox").is_some());
        if interfaces.len() < before {
            *text = format!("{result:#}\n");
        }
    }
    files
}

/// Removes from descriptions what only later ones have. Programs that do not know it ask for the
/// rings that they always had.
pub(super) fn without_packed_rings(mut files: Files) -> Files {
    for (name, text) in files.iter_mut().filter(|(_, text)| text.contains("\"packedRings\"")) {
        let mut description: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        description.as_object_mut().map(|keys| keys.remove("packedRings"));
        *text = format!("{description:#}\n");
    }
    files
}

/// Compares with the golden files.
#[track_caller]
pub(super) fn compare(node: &TestNode, written: &Files) {
    let folder = golden_folder(node);
    let golden = read(&folder);
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(written), names(&golden), "other files than in {}", folder.display());
    for (name, text) in written {
        assert!(
            *text == golden[name],
            "{name} is not written as in {}. Nodes have files of that version: keep its format, or read both and add a folder for the next version.\nwritten:\n{text}\ngolden:\n{}",
            folder.display(),
            golden[name]
        );
    }
}

fn golden_folder(node: &TestNode) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/node-files/v1").join(folder_of(&node.engine))
}

fn replace(folder: &Path, files: &Files) {
    let _gone = fs::remove_dir_all(folder);
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn read(folder: &Path) -> Files {
    let named = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), text)
    };
    regular_files(folder).into_iter().map(named).collect()
}

/// The golden files, with the path of this test's engine.
pub(super) fn golden(node: &TestNode) -> Files {
    let socket = node.engine.socket().to_str().unwrap().to_owned();
    let all = read(&golden_folder(node)).into_iter();
    all.map(|(name, text)| (name, text.replace(ENGINE_SOCKET, &socket))).collect()
}

/// The path on the node; none for objects that are not files.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    name.contains('/').then(|| Path::new(RUN).join(name))
}

/// Keeps the result of an ADD, as a runtime does.
pub(super) fn keep_result(attachment: &Attachment, result: &Value) {
    fs::create_dir_all(RESULTS).unwrap();
    fs::write(result_file(attachment), format!("{result:#}\n")).unwrap();
}

/// The result of an ADD that was kept.
pub(super) fn result(attachment: &Attachment) -> Value {
    serde_json::from_slice(&fs::read(result_file(attachment)).unwrap()).unwrap()
}

fn result_file(attachment: &Attachment) -> PathBuf {
    Path::new(RESULTS).join(format!("{}.{}.json", attachment.pod, attachment.interface))
}
