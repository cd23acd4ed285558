//! `sharedDir` of a legacy configuration. It is used below the roots that the agent allows, for a
//! pod without a volume, and rejected with the reason everywhere else.

use crate::support::engine::on_each_engine;
use crate::support::legacy::legacy;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::shared_dirs::SharedDirs;

on_each_engine! {
    a_pod_without_a_volume_uses_the_configured_shared_dir,
    without_the_key_the_usual_folder_is_used_where_the_agent_allows_it,
    a_volume_takes_precedence,
    a_folder_outside_the_allowed_roots_is_rejected_with_the_reason,
    a_link_in_place_of_the_containers_folder_is_rejected,
    pods_share_the_folder_and_not_their_files,
}

const ROOT: &str = "/run/allowed";

fn allow(node: &TestNode) {
    fs::create_dir(ROOT).unwrap();
    SharedDirs::allow(&node.paths, vec![ROOT.into()]).unwrap();
}

fn requesting(node: &TestNode, folder: &str) -> Value {
    let mut configuration = legacy(node);
    configuration["SharedDir"] = folder.into();
    configuration
}

fn without_volume(node: &TestNode, name: &str) -> Pod {
    let pod = node.pod(name);
    fs::remove_dir(&pod.volume).unwrap();
    pod
}

fn folder_of(pod: &Pod) -> PathBuf {
    Path::new(ROOT).join("old").join(&pod.container[..12])
}

fn a_pod_without_a_volume_uses_the_configured_shared_dir(node: &mut TestNode) {
    allow(node);
    let (pod, configuration) = (without_volume(node, "p"), requesting(node, "/run/allowed/old/"));
    for interface in ["net1", "net2"] {
        node.call("ADD", &pod, interface, &configuration).result();
    }
    let (folder, short) = (folder_of(&pod), &pod.container[..12]);
    assert_eq!(
        fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
        0o777,
        "defect D13: its program need not be root"
    );
    let description: Value = serde_json::from_slice(&fs::read(folder.join("net2.json")).unwrap()).unwrap();
    assert_eq!(description["socket"], format!("{short}-net2"));
    assert!(folder.join(format!("configData-{short}-net1.json")).exists());
    // The path of the engine is the same folder.
    let record = Journal::open(&node.paths).unwrap().records().unwrap().records.remove(0);
    assert_eq!(record.directory_source.as_deref(), Some(folder.as_path()));
    let seen: Vec<String> = node.engine.sockets(&node.bridge());
    assert!(seen.iter().all(|socket| socket.starts_with("/run/usnet/ports/")), "{seen:?}");
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    assert!(folder.join("net2.json").exists() && !folder.join("net1.json").exists());
    node.call("DEL", &pod, "net2", &configuration).assert_done();
    assert!(!folder.exists() && folder.parent().unwrap().exists(), "only the folder of the container is removed");
    node.assert_clean();
}

fn without_the_key_the_usual_folder_is_used_where_the_agent_allows_it(node: &mut TestNode) {
    let (pod, configuration) = (without_volume(node, "p"), legacy(node));
    let usual = node.paths.legacy_root.join("var/lib/cni/usrspcni");
    fs::create_dir_all(&usual).unwrap();
    allow(node);
    assert!(node.call("ADD", &pod, "net1", &configuration).message(102).contains("emptyDir"), "it is not allowed");
    SharedDirs::allow(&node.paths, vec![ROOT.into(), usual.clone()]).unwrap();
    node.call("ADD", &pod, "net1", &configuration).result();
    let folder = usual.join(&pod.container[..12]);
    assert!(folder.join("net1.json").exists());
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    assert_eq!(fs::read_dir(&usual).unwrap().count(), 0);
    // With a kubeconfig the folder has the socket alone.
    let mut published = configuration;
    published["kubeconfig"] = "/etc/cni/net.d/multus.d/multus.kubeconfig".into();
    node.call("ADD", &pod, "net1", &published).result();
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".json")).collect::<Vec<_>>(), Vec::<String>::new());
    node.call("DEL", &pod, "net1", &published).assert_done();
    node.assert_clean();
}

fn a_volume_takes_precedence(node: &mut TestNode) {
    allow(node);
    let (pod, configuration) = (node.pod("p"), requesting(node, "/run/allowed/old"));
    node.call("ADD", &pod, "net1", &configuration).result();
    assert!(pod.volume.join("net1.json").exists() && !folder_of(&pod).exists());
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    node.assert_clean();
}

fn a_folder_outside_the_allowed_roots_is_rejected_with_the_reason(node: &mut TestNode) {
    let pod = without_volume(node, "p");
    let none = node.call("ADD", &pod, "net1", &requesting(node, "/run/allowed/old")).message(102);
    assert!(none.contains("this node allows none") && none.contains("--shared-dir-root"), "{none}");
    allow(node);
    for (folder, expected) in [
        ("/run/allowed-too", "only those below /run/allowed"),
        ("/etc", "only those below /run/allowed"),
        ("/run/allowed/../../etc", "without \"..\""),
        ("run/allowed", "absolute path"),
    ] {
        let message = node.call("ADD", &pod, "net1", &requesting(node, folder)).message(102);
        assert!(message.contains(expected) && message.contains("shared-dir"), "{folder}: {message}");
    }
    // Without the key the message advises a volume, and DEL of a rejected configuration works.
    assert!(node.call("ADD", &pod, "net1", &legacy(node)).message(102).contains("emptyDir"));
    node.call("DEL", &pod, "net1", &requesting(node, "/etc")).assert_done();
    assert_eq!(fs::read_dir(ROOT).unwrap().count(), 0);
    node.assert_clean();
}

fn a_link_in_place_of_the_containers_folder_is_rejected(node: &mut TestNode) {
    allow(node);
    let (pod, configuration) = (without_volume(node, "p"), requesting(node, "/run/allowed/old"));
    let folder = folder_of(&pod);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    fs::create_dir("/run/elsewhere").unwrap();
    symlink("/run/elsewhere", &folder).unwrap();
    let message = node.call("ADD", &pod, "net1", &configuration).message(102);
    assert!(message.contains("links are not followed"), "{message}");
    assert_eq!(fs::read_dir("/run/elsewhere").unwrap().count(), 0);
    node.assert_clean();
    // A link that is created later, while the pod runs, is not followed by DEL either.
    fs::remove_file(&folder).unwrap();
    node.call("ADD", &pod, "net1", &configuration).result();
    fs::rename(&folder, "/run/moved").unwrap();
    fs::write("/run/elsewhere/net1.json", "other").unwrap();
    symlink("/run/elsewhere", &folder).unwrap();
    node.call("DEL", &pod, "net1", &configuration).assert_done();
    assert!(Path::new("/run/elsewhere/net1.json").exists());
    node.assert_clean();
}

/// Defect D12: all replicas of a workload used one folder.
fn pods_share_the_folder_and_not_their_files(node: &mut TestNode) {
    allow(node);
    let configuration = requesting(node, "/run/allowed/old");
    let pods = ["p", "q"].map(|name| without_volume(node, name));
    for pod in &pods {
        node.call("ADD", pod, "net1", &configuration).result();
    }
    assert_ne!(folder_of(&pods[0]), folder_of(&pods[1]));
    assert_eq!(node.ports(NETWORK).len(), 2);
    node.call("DEL", &pods[0], "net1", &configuration).assert_done();
    assert!(folder_of(&pods[1]).join("net1.json").exists());
    node.call("DEL", &pods[1], "net1", &configuration).assert_done();
    assert_eq!(fs::read_dir(Path::new(ROOT).join("old")).unwrap().count(), 0);
    node.assert_clean();
}
