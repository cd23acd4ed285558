//! Malformed files of a node: records, network files, node.json. Each is read or rejected; what is
//! read is written as it was.
//!
//! See the crate `usnet-test-fuzz` for the long form.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;
use std::path::Path;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::node_file::NodeFile;
use usnet_test_fuzz::{Corpus, FuzzRun, Parsed};

/// About a second of inputs for each kind of file.
const INPUTS: u64 = 10_000;

/// The files in folders of this name among the golden files of plugin and agent.
fn golden(folder: &str) -> Corpus {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut seeds = Vec::new();
    for below in ["../plugin/testdata/node-files", "../../operator/agent/testdata/agent-files"] {
        collect(&root.join(below), folder, &mut seeds);
    }
    assert!(!seeds.is_empty(), "no golden file in a folder {folder}");
    Corpus::new(seeds)
}

fn collect(below: &Path, folder: &str, seeds: &mut Vec<Value>) {
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, folder, seeds);
        } else if below.ends_with(folder) && path.extension().is_some_and(|extension| extension == "json") {
            seeds.extend(serde_json::from_slice::<Value>(&std::fs::read(&path).unwrap()).ok());
        }
    }
}

/// Whether the input is a file of this type; then it stays the same when it is written and read.
fn parse<T: DeserializeOwned + Serialize + PartialEq + Debug>(input: &[u8]) -> Parsed {
    let Ok(file) = serde_json::from_slice::<T>(input) else { return Parsed::Rejected };
    let written = serde_json::to_vec(&file).unwrap();
    assert_eq!(serde_json::from_slice::<T>(&written).unwrap(), file);
    Parsed::Accepted
}

#[test]
fn malformed_records_are_rejected_or_stay_as_they_are() {
    let corpus = golden("attachments");
    FuzzRun::new("records", INPUTS).run(|random| corpus.input(random), |input| parse::<Record>(input));
}

#[test]
fn malformed_network_files_are_rejected_or_stay_as_they_are() {
    let corpus = golden("networks");
    FuzzRun::new("network files", INPUTS).run(|random| corpus.input(random), |input| parse::<NetworkFile>(input));
}

#[test]
fn malformed_node_files_are_rejected_or_stay_as_they_are() {
    let node = include_str!("../../../../operator/agent/testdata/agent-files/v1/node.json");
    let corpus = Corpus::new([serde_json::from_str(node).unwrap()]);
    FuzzRun::new("node.json", INPUTS).run(|random| corpus.input(random), |input| parse::<NodeFile>(input));
}

#[test]
fn malformed_changes_of_node_files_are_rejected_or_applied() {
    let text = include_str!("../../../plugin/testdata/node-files/v1/vpp/state/node.json");
    let (whole, change) = text.rsplit_once('\n').unwrap();
    let corpus = Corpus::new([serde_json::from_str(change).unwrap()]);
    let path = Path::new("node.json");
    FuzzRun::new("changes of node.json", INPUTS).run(
        |random| corpus.input(random),
        |change| match NodeFile::parse(path, &[whole.as_bytes(), &b"\n"[..], change.as_slice()].concat()) {
            Ok(file) => {
                let written = serde_json::to_vec(&file).unwrap();
                assert_eq!(NodeFile::parse(path, &written).unwrap(), file);
                Parsed::Accepted
            }
            Err(_) => Parsed::Rejected,
        },
    );
}
