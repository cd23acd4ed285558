//! The collector on the files of a node, with an IPAM plugin of the tests and without an engine.

use super::{Collector, device_mounts};
use crate::history_file::{self, Cause, Change, Outcome};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::claim_records::{ClaimRecord, ClaimRecords};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::network_namespace::inode;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::testing::{network, record, write_script};

const SECOND: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(60);
/// Stands for the network namespace of a living pod.
const LIVING: &str = "/proc/self/ns/net";
/// Records its calls, and fails while there is a file `fail`.
const IPAM: &str = r#"folder=$(dirname "$0")
echo "$CNI_COMMAND $CNI_CONTAINERID $CNI_IFNAME $CNI_ARGS $(cat)" >> "$folder/calls"
test ! -e "$folder/fail""#;

struct TestNode {
    paths: NodePaths,
    journal: Journal,
    folder: TempDir,
    started: Instant,
}

impl TestNode {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let paths = NodePaths::below(folder.path());
        let (namespaces, plugins) = (folder.path().join("run/netns"), folder.path().join("bin"));
        fs::create_dir_all(namespaces).unwrap();
        fs::create_dir_all(&plugins).unwrap();
        write_script(&plugins.join("addresses"), IPAM);
        Self { journal: Journal::open(&paths).unwrap(), paths, folder, started: Instant::now() }
    }

    fn plugins(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    fn collector(&self) -> Collector {
        Collector::new(&self.paths, self.plugins().into(), GRACE).unwrap()
    }

    /// A moment on the clock of the collector.
    fn at(&self, seconds: u32) -> Instant {
        self.started + seconds * SECOND
    }

    fn namespace(&self, container: &str) -> PathBuf {
        self.folder.path().join("run/netns").join(container)
    }

    /// An attached pod with an address and a directory, whose sandbox exists.
    fn attach(&self, container: &str) -> Record {
        let namespace = self.namespace(container);
        let _gone = fs::remove_file(&namespace);
        symlink(LIVING, &namespace).unwrap();
        let mut attached = record(container, &network("blue"));
        attached.engine_socket = self.paths.engine_socket(attached.engine);
        attached.network_namespace_inode = inode(&namespace);
        assert!(attached.network_namespace_inode.is_some());
        attached.network_namespace = namespace;
        attached.pod.uid = format!("uid-{container}").parse().unwrap();
        attached.pod_directory = self.paths.ports().join(attached.pod.uid.as_str());
        attached.ipam = Some(json!({"cniVersion": "1.1.0", "name": "blue", "ipam": {"type": "addresses"}}));
        fs::create_dir_all(&attached.pod_directory).unwrap();
        self.write(&attached);
        attached
    }

    fn write(&self, record: &Record) {
        self.journal.lock(&record.id).unwrap().write(record).unwrap();
    }

    fn end_sandbox(&self, container: &str) {
        fs::remove_file(self.namespace(container)).unwrap();
    }

    fn record(&self, of: &Record) -> Option<Record> {
        self.journal.lock(&of.id).unwrap().read().unwrap()
    }

    /// The lines that the IPAM plugin wrote.
    fn ipam_calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.plugins().join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn history(&self) -> Vec<Change> {
        history_file::read(&self.paths.garbage_file()).unwrap()
    }

    /// The engine is out of reach, so that its port is left to the agent.
    #[track_caller]
    fn assert_detached(&self, of: &Record) {
        let left = self.record(of).unwrap();
        assert_eq!((left.progress, left.ipam, left.addresses), (Progress::Detached, None, vec![]));
        assert!(!of.pod_directory.exists());
    }
}

#[test]
fn an_attachment_without_its_network_namespace_is_detached_after_the_grace_period_and_no_other_is_touched() {
    let node = TestNode::new();
    let (living, ended) = (node.attach("living"), node.attach("ended"));
    let path = node.paths.attachments().join("living.net1.json");
    let before = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    node.end_sandbox("ended");
    let mut collector = node.collector();
    for seconds in [0, 30, 59] {
        collector.pass(node.at(seconds));
        assert_eq!(node.record(&ended), Some(ended.clone()), "after {seconds} s");
    }
    collector.pass(node.at(60));
    node.assert_detached(&ended);
    let [call] = node.ipam_calls().try_into().unwrap();
    let arguments =
        "K8S_POD_NAMESPACE=default;K8S_POD_NAME=ended;K8S_POD_INFRA_CONTAINER_ID=ended;K8S_POD_UID=uid-ended";
    assert!(call.starts_with(&format!("DEL ended net1 IgnoreUnknown=1;{arguments} {{")), "{call}");
    assert!(call.contains(r#""type":"addresses""#), "{call}");
    collector.pass(node.at(200));
    assert_eq!(node.ipam_calls().len(), 1, "the agent has the rest");

    let [change] = node.history().try_into().unwrap();
    assert_eq!((&change.cause, &change.outcome), (&Cause::NamespaceGone, &Outcome::Done));
    assert_eq!((change.attachment.as_deref(), change.network.as_deref()), (Some("ended.net1"), Some("blue")));
    assert_eq!(change.operation, "detach net1 of pod default/ended");
    assert_eq!((fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap()), before);
    assert!(living.pod_directory.exists());
}

#[test]
fn another_namespace_at_the_path_is_not_that_of_the_pod() {
    let node = TestNode::new();
    let (same, other) = (node.attach("same"), node.attach("other"));
    let of_earlier = same.network_namespace_inode.map(|inode| inode + 1);
    node.write(&Record { network_namespace_inode: of_earlier, ..other.clone() });
    let mut collector = node.collector();
    collector.pass(node.at(0));
    collector.pass(node.at(60));
    assert_eq!(node.record(&same), Some(same));
    node.assert_detached(&other);
}

#[test]
fn what_is_not_visible_is_not_known_to_be_gone() {
    let node = TestNode::new();
    let mut pod = node.attach("pod");
    pod.network_namespace = node.folder.path().join("proc/4711/ns/net");
    node.write(&pod);
    let mut collector = node.collector();
    collector.pass(node.at(0));
    collector.pass(node.at(600));
    assert_eq!(node.record(&pod), Some(pod));
}

#[test]
fn a_call_of_the_runtime_at_the_same_time_keeps_its_attachment() {
    let node = TestNode::new();
    let (deleted, again) = (node.attach("deleted"), node.attach("again"));
    ["deleted", "again"].iter().for_each(|container| node.end_sandbox(container));
    let mut collector = node.collector();
    collector.pass(node.at(0));
    let locked = node.journal.lock(&deleted.id).unwrap();
    // Attached again by the runtime meanwhile.
    node.attach("again");
    collector.pass(node.at(60));
    assert_eq!(locked.read().unwrap(), Some(deleted), "a DEL holds the lock");
    assert_eq!(node.ipam_calls(), Vec::<String>::new());
    locked.remove().unwrap();
    drop(locked);
    collector.pass(node.at(130));
    assert_eq!((node.ipam_calls().len(), node.history()), (0, vec![]), "the DEL has done all of it");
    assert_eq!(node.record(&again), Some(again));
}

#[test]
fn a_damaged_record_is_left_alone_with_its_folder_and_nothing_else() {
    let node = TestNode::new();
    let [ended, damaged] = ["ended", "damaged"].map(|container| node.attach(container));
    ["ended", "damaged"].iter().for_each(|container| node.end_sandbox(container));
    let file = node.paths.attachments().join("damaged.net1.json");
    fs::write(&file, "{").unwrap();
    let stray = node.paths.ports().join("uid-other");
    fs::create_dir_all(&stray).unwrap();
    let mut collector = node.collector();
    collector.pass(node.at(0));
    collector.pass(node.at(60));
    node.assert_detached(&ended);
    assert!(!stray.exists());
    assert!(file.exists() && damaged.pod_directory.exists());
    fs::remove_file(&file).unwrap();
    collector.pass(node.at(100));
    collector.pass(node.at(160));
    assert!(!damaged.pod_directory.exists());
}

#[test]
fn an_ipam_plugin_that_fails_is_called_again_and_reported_at_times() {
    let node = TestNode::new();
    let (one, other) = (node.attach("a-fails"), node.attach("b-works"));
    ["a-fails", "b-works"].iter().for_each(|container| node.end_sandbox(container));
    node.write(&Record { ipam: None, addresses: Vec::new(), ..other.clone() });
    fs::write(node.plugins().join("fail"), "").unwrap();
    let mut collector = node.collector();
    for seconds in [0, 60, 119, 120] {
        collector.pass(node.at(seconds));
    }
    node.assert_detached(&other);
    assert_eq!(node.ipam_calls().len(), 2, "again only after another period");
    assert_eq!(node.record(&one).unwrap().ipam, one.ipam, "the address is still held");
    assert!(!one.pod_directory.exists(), "everything else is released");
    // As long as it fails it is reported after each tenth grace period.
    (3..=11).for_each(|minute| collector.pass(node.at(60 * minute)));
    fs::remove_file(node.plugins().join("fail")).unwrap();
    collector.pass(node.at(60 * 12));
    node.assert_detached(&one);
    let outcomes: Vec<_> = node
        .history()
        .into_iter()
        .filter(|change| change.attachment.as_deref() == Some("a-fails.net1"))
        .map(|change| change.outcome)
        .collect();
    let [Outcome::Failed { .. }, Outcome::Failed { .. }, Outcome::CompletedLater] = outcomes.as_slice() else {
        panic!("{outcomes:?}");
    };
}

#[test]
fn after_a_reboot_everything_of_before_is_collected() {
    let node = TestNode::new();
    let pods = ["c1", "c2"].map(|container| node.attach(container));
    fs::remove_dir_all(node.folder.path().join("run")).unwrap();
    let mut collector = node.collector();
    for seconds in [0, 60, 120] {
        collector.pass(node.at(seconds));
    }
    assert!(pods.iter().all(|pod| node.record(pod).as_ref() == Some(pod)), "no sandbox yet: nothing is known");
    fs::create_dir_all(node.folder.path().join("run/netns")).unwrap();
    let later = node.attach("c3");
    collector.pass(node.at(130));
    collector.pass(node.at(190));
    pods.iter().for_each(|pod| node.assert_detached(pod));
    assert_eq!(node.record(&later), Some(later));
}

#[test]
fn folders_that_no_attachment_and_no_allocation_of_kubelet_has_are_removed() {
    let node = TestNode::new();
    let pod = node.attach("living");
    let device = |name: &str| node.paths.devices().join(name);
    for name in ["blue-1", "blue-2", "not a device"] {
        fs::create_dir_all(device(name)).unwrap();
        fs::write(device(name).join("net1.sock"), "left").unwrap();
    }
    let checkpoint = json!({"Data": {"PodDeviceEntries": [
        {"PodUID": "0-2", "ResourceName": "usnet.dev/blue", "DeviceIDs": {"-1": ["blue-2"]}}
    ]}});
    fs::create_dir_all(node.paths.kubelet_device_plugins()).unwrap();
    let file = node.paths.kubelet_device_plugins().join("kubelet_internal_checkpoint");
    fs::write(file, checkpoint.to_string()).unwrap();
    let strays = ["uid-gone", "uid-gone.net1", ".uid-gone.new"].map(|name| node.paths.ports().join(name));
    strays.iter().for_each(|stray| fs::create_dir_all(stray).unwrap());
    let kept = node.paths.ports().join("uid-files");
    fs::create_dir_all(kept.join("of the pod")).unwrap();

    let mut collector = node.collector();
    collector.pass(node.at(0));
    collector.pass(node.at(59));
    assert!(strays.iter().all(|stray| stray.exists()) && device("blue-1").exists());
    collector.pass(node.at(60));
    collector.pass(node.at(120));
    assert!(strays.iter().all(|stray| !stray.exists()) && !device("blue-1").exists());
    let others: [&Path; 4] = [&pod.pod_directory, &kept, &device("blue-2"), &device("not a device")];
    assert!(others.iter().all(|path| path.exists()));
    let history = node.history();
    let failed = history.iter().filter(|change| matches!(change.outcome, Outcome::Failed { .. })).count();
    assert_eq!((history.len(), failed), (5, 1), "{history:#?}");
    assert!(history.iter().all(|change| change.cause == Cause::NoAttachment && change.engine.is_none()));
}

/// The mounts of this thread's children are of this test alone, as in the container.
#[test]
fn the_agent_gets_a_device_mounted_and_an_empty_bounded_file_system_each_time() {
    let node = TestNode::new();
    let (paths, device) = (node.paths, "blue-3".parse().unwrap());
    let test = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_FS).expect("a mount namespace; are you root?");
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let unreachable = device_mounts::request(&paths, &device).await.unwrap_err();
            assert!(matches!(unreachable, device_mounts::Error::Unreachable(_)), "{unreachable}");
            let listener = device_mounts::listen(&paths).unwrap();
            let folder = paths.devices().join("blue-3");
            let requests = async {
                for _ in 0..2 {
                    device_mounts::request(&paths, &device).await.unwrap();
                    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
                    assert!(fs::write(folder.join("large"), vec![1; 4 << 20]).is_err());
                }
            };
            tokio::select! {
                never = device_mounts::serve(listener, paths.clone()) => match never {},
                () = requests => {}
            }
        });
        let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
        assert_eq!(mounts.lines().filter(|line| line.contains("devices/blue-3")).count(), 1, "{mounts}");
    });
    if let Err(panic) = test.join() {
        std::panic::resume_unwind(panic);
    }
}

/// No runtime has a sandbox for it.
#[test]
fn what_a_resource_claim_has_stays_until_its_record_is_gone() {
    let node = TestNode::new();
    let attached = node.attach("claim-c1");
    node.end_sandbox("claim-c1");
    let claim = ClaimRecord {
        version: ClaimRecord::VERSION,
        uid: "c1".parse().unwrap(),
        namespace: "default".into(),
        name: "uplink".into(),
        generation: 1,
        pod_claim_name: None,
        is_of_extended_resource: false,
        pod: attached.pod.clone(),
        ports: Vec::new(),
        is_reported: true,
    };
    let claims = ClaimRecords::new(&node.paths);
    claims.write(&claim).unwrap();
    let folder = node.paths.claim_folders().join("c1.net1");
    fs::create_dir_all(&folder).unwrap();
    let mut collector = node.collector();
    for seconds in [0, 61, 122] {
        collector.pass(node.at(seconds));
    }
    assert!(node.record(&attached) == Some(attached.clone()) && folder.exists());
    claims.remove(&claim.uid).unwrap();
    for seconds in [130, 191] {
        collector.pass(node.at(seconds));
    }
    node.assert_detached(&attached);
    assert!(!folder.exists());
}
