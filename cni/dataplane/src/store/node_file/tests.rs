use super::*;
use crate::testing::{network, node_paths};
use std::fs;

fn node_file() -> NodeFile {
    let name = network("blue").name;
    let refused = RefusedNetwork {
        name: "red".parse().unwrap(),
        generation: 2,
        engine: Some(EngineKind::Vpp),
        reason: "BridgeConflict".into(),
        message: "bridge br0 belongs to blue".into(),
    };
    NodeFile {
        version: NodeFile::VERSION,
        generation: 7,
        through: 48_120,
        networks: vec![Arc::new(network("blue"))],
        versions: BTreeMap::from([(name, 48_000)]),
        refused: vec![refused],
        uplinks: uplinks(&["fab"]),
        engines_seen: BTreeSet::from([EngineKind::OpenVswitch]),
        epochs: BTreeMap::from([(EngineKind::OpenVswitch, 2), (EngineKind::Vpp, 5)]),
    }
}

fn uplinks(names: &[&str]) -> BTreeMap<UplinkName, Arc<NodeUplink>> {
    let uplink = |name: &&str| {
        let text = format!(
            r#"{{"name": "{name}", "generation": 1, "engine": "OVS", "nic": {{"device": {{"type": "Name", "name": "eth1"}}}}}}"#
        );
        (name.parse().unwrap(), Arc::new(serde_json::from_str(&text).unwrap()))
    };
    names.iter().map(uplink).collect()
}

#[test]
fn a_new_node_has_none_and_a_written_one_comes_back() {
    let (_folder, paths) = node_paths();
    assert_eq!(NodeFile::read(&paths).unwrap(), None);
    node_file().write(&paths).unwrap();
    assert_eq!(NodeFile::read(&paths).unwrap(), Some(node_file()));
}

fn named(names: &[&str]) -> Vec<Arc<NodeNetwork>> {
    names.iter().map(|name| Arc::new(network(name))).collect()
}

/// One that was changed in every way since [`node_file`].
fn changed() -> NodeFile {
    let names = ["green", "red"].map(|name| (name.parse().unwrap(), 49_000));
    NodeFile {
        generation: 8,
        through: 49_007,
        networks: named(&["green", "red"]),
        versions: names.into(),
        refused: Vec::new(),
        uplinks: uplinks(&["lab"]),
        engines_seen: EngineKind::ALL.into(),
        epochs: BTreeMap::from([(EngineKind::Vpp, 6)]),
        ..node_file()
    }
}

#[test]
fn changes_are_appended_and_read_in_their_order() {
    let (_folder, paths) = node_paths();
    node_file().write(&paths).unwrap();
    let whole = fs::read(paths.node_file()).unwrap();
    let other = NodeNetwork { generation: 9, ..network("green") };
    let last = NodeFile { networks: vec![Arc::new(other), Arc::new(network("red"))], ..changed() };
    for (before, after) in [(node_file(), changed()), (changed(), last.clone()), (last.clone(), last)] {
        after.append(&paths, &before).unwrap();
        assert_eq!(NodeFile::read(&paths).unwrap(), Some(after));
    }
    let text = fs::read(paths.node_file()).unwrap();
    assert!(text.starts_with(&whole), "what was there is not written again");
    assert_eq!(text.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"generation")).count(), 3);
}

#[test]
fn only_what_differs_is_appended() {
    let (_folder, paths) = node_paths();
    let names: Vec<String> = (0..1000).map(|index| format!("net-{index:03}")).collect();
    let networks = named(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let many = NodeFile { networks, ..node_file() };
    let whole = many.write(&paths).unwrap();
    let mut more = many.clone();
    more.networks.push(Arc::new(network("zebra")));
    assert!(more.append(&paths, &many).unwrap() < whole / 500, "of 1,000 networks one was written");
    assert_eq!(NodeFile::read(&paths).unwrap(), Some(more));
}

#[test]
fn a_change_that_is_cut_anywhere_leaves_the_state_before() {
    let (_folder, paths) = node_paths();
    node_file().write(&paths).unwrap();
    let whole = fs::read(paths.node_file()).unwrap().len();
    changed().append(&paths, &node_file()).unwrap();
    let text = fs::read(paths.node_file()).unwrap();
    for length in whole..text.len() {
        let read = NodeFile::parse(&paths.node_file(), &text[..length]).unwrap();
        assert_eq!(read, Some(node_file()), "cut after {length} bytes");
    }
    assert_eq!(NodeFile::parse(&paths.node_file(), &text).unwrap(), Some(changed()));
}

#[test]
fn nothing_is_appended_to_a_file_that_was_moved_away() {
    let (_folder, paths) = node_paths();
    node_file().write(&paths).unwrap();
    fs::remove_file(paths.node_file()).unwrap();
    changed().append(&paths, &node_file()).unwrap_err();
    assert_eq!(NodeFile::read(&paths).unwrap(), None);
}

#[test]
fn a_damaged_older_or_newer_file_is_an_error_and_not_an_empty_node() {
    let (_folder, paths) = node_paths();
    node_file().write(&paths).unwrap();
    fs::write(paths.node_file(), "{\"version\":3,\"networks\":").unwrap();
    assert!(matches!(NodeFile::read(&paths), Err(Error::File(atomic_file::Error::Invalid { .. }))));
    fs::write(paths.node_file(), "{\"version\":4,\"networks\":\"elsewhere\"}").unwrap();
    let newer = NodeFile::read(&paths);
    assert!(matches!(newer, Err(Error::File(atomic_file::Error::Newer { found: 4, known: 3, .. }))), "{newer:?}");
    fs::write(paths.node_file(), "{\"version\":2,\"networks\":\"elsewhere\"}").unwrap();
    assert!(matches!(NodeFile::read(&paths), Err(Error::Older { found: 2, .. })));
}
