use super::*;
use crate::testing::{network, node_paths};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::thread;

fn programmed(name: &str) -> NetworkFile {
    NetworkFile::Programmed(ProgrammedNetwork {
        version: ProgrammedNetwork::VERSION,
        network: network(name).into(),
        engine_socket: "/run/openvswitch/db.sock".into(),
        epoch: 1,
        memif_socket_ids: "7-9".parse().unwrap(),
        checksum_offload: false,
        numa_node: None,
    })
}

fn every_state(name: &str) -> [NetworkFile; 3] {
    let name_only: NetworkName = name.parse().unwrap();
    let (reason, message) = ("EngineUnreachable".to_owned(), "Open vSwitch does not answer".to_owned());
    [
        programmed(name),
        NetworkFile::Unavailable { name: name_only.clone(), reason, message },
        NetworkFile::Draining { name: name_only },
    ]
}

#[test]
fn each_state_comes_back_and_replaces_the_one_before() {
    let (_folder, paths) = node_paths();
    let files = NetworkFiles::new(&paths);
    let name = "blue".parse().unwrap();
    assert_eq!(files.read(&name).unwrap(), None);
    for file in every_state("blue") {
        assert!(files.write(&file).unwrap());
        assert_eq!(files.read(&name).unwrap(), Some(file));
    }
    files.remove(&name).unwrap();
    files.remove(&name).unwrap();
    assert_eq!(files.read(&name).unwrap(), None);
}

#[test]
fn the_same_content_does_not_write_the_file() {
    use std::os::unix::fs::MetadataExt;
    let (_folder, paths) = node_paths();
    let files = NetworkFiles::new(&paths);
    let inode = || fs::metadata(paths.networks().join("blue.json")).unwrap().ino();
    files.write(&programmed("blue")).unwrap();
    let before = inode();
    assert!(!files.write(&programmed("blue")).unwrap());
    assert_eq!(inode(), before);
}

#[test]
fn the_list_has_networks_and_nothing_else() {
    let (_folder, paths) = node_paths();
    let files = NetworkFiles::new(&paths);
    assert_eq!(files.list().unwrap(), []);
    for name in ["red", "blue"] {
        files.write(&programmed(name)).unwrap();
    }
    fs::write(paths.networks().join("README"), "foreign").unwrap();
    let names: Vec<_> = files.list().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["blue", "red"]);
}

#[test]
fn a_renamed_damaged_or_newer_file_prevents_attaching() {
    let (_folder, paths) = node_paths();
    let files = NetworkFiles::new(&paths);
    files.write(&programmed("blue")).unwrap();
    let path = |name: &str| paths.networks().join(format!("{name}.json"));
    fs::copy(path("blue"), path("red")).unwrap();
    assert!(matches!(files.read(&"red".parse().unwrap()), Err(Error::Misplaced { .. })));
    fs::write(path("blue"), "{\"state\":\"Programmed\",\"version\":9}").unwrap();
    assert!(matches!(files.read(&"blue".parse().unwrap()), Err(Error::Newer { found: 9, .. })));
    fs::write(path("blue"), "{\"state\":\"Open\"}").unwrap();
    assert!(matches!(files.read(&"blue".parse().unwrap()), Err(Error::Invalid { .. })));
}

/// The agent notices by its stamp that a file is not as it wrote it: also one that was changed
/// before the agent read the stamp.
#[test]
fn the_stamp_is_of_what_was_written() {
    let (_folder, paths) = node_paths();
    let files = NetworkFiles::new(&paths);
    let (file, name): (_, NetworkName) = (programmed("blue"), "blue".parse().unwrap());
    let path = paths.networks().join("blue.json");
    files.write(&file).unwrap();
    let ours = fs::read(&path).unwrap();
    for _ in 0..300 {
        files.remove(&name).unwrap();
        let stamp = thread::scope(|scope| {
            scope.spawn(|| {
                let append = || OpenOptions::new().append(true).open(&path);
                let mut other = std::iter::repeat_with(append).find_map(Result::ok).unwrap();
                other.write_all(b" ").unwrap();
            });
            files.lock().unwrap().write(&file).unwrap()
        });
        // What the other wrote into a file that was still empty is overwritten.
        assert!(fs::read(&path).unwrap() == ours || files.stamp(&name) != Some(stamp));
    }
}

#[test]
fn many_files_are_written_in_order_and_one_that_fails_holds_up_no_other() {
    let (_folder, paths) = node_paths();
    let files = NetworkFiles::new(&paths);
    let all: Vec<_> = (0..3 * SHARED_MIN).map(|number| programmed(&format!("net-{number}"))).collect();
    // Not empty, so that no file can replace it.
    fs::create_dir_all(paths.networks().join("net-7.json/in-its-place")).unwrap();
    let results = files.lock().unwrap().write_all(&all.iter().collect::<Vec<_>>());
    assert_eq!(results.len(), all.len());
    for (number, (file, result)) in all.iter().zip(results).enumerate() {
        match number {
            7 => assert!(result.is_err()),
            _ => {
                assert_eq!(result.ok(), files.stamp(file.name()), "{number}");
                assert_eq!(files.read(file.name()).unwrap().as_ref(), Some(file));
            }
        }
    }
}
