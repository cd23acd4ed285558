//! A node without an API server: networks come from a folder of YAML files, and the report of the
//! node is in its state file.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::{Node, network_with, until};
use crate::support::standalone_agent::{ALLOWED, Manifests, StandaloneAgent, manifest};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use usnet_crds::conditions::reason::BRIDGE_CONFLICT;
use usnet_crds::node_state::NetworkState;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, SocketRole};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::port::{PortBackend, SocketPath};
use usnet_dataplane::shared_dirs::SharedDirs;
use usnet_node::history_file::{Cause, Outcome};
use usnet_node::state_file::is_agent_running;
use usnet_test_openvswitch::OpenVswitch;
use usnet_test_vpp::{Kind, Vpp};

fn node_file(node: &Node) -> NodeFile {
    NodeFile::read(&node.paths).unwrap().unwrap()
}

fn version(node: &Node, network: &str) -> u64 {
    let network: NetworkName = network.parse().unwrap();
    node_file(node).versions.get(&network).copied().unwrap()
}

#[test]
fn files_become_bridges_of_both_engines_and_follow_their_changes() {
    let ovs = OpenVswitch::builder().dpdk(true).start().unwrap();
    let vpp = Vpp::start(Kind::Simulator).unwrap();
    let node = Node::new(Some(ovs.socket().to_owned()), Some(vpp.socket().to_owned()));
    let manifests = Manifests::new();
    manifests.write("a.yaml", &(manifest("blue", "OVS", 1500) + &manifest("green", "VPP", 1500)));
    let agent = StandaloneAgent::start(&node.paths, manifests.path());
    node.wait_until_programmed("blue");
    node.wait_until_programmed("green");
    let state = agent.wait_until_accepted("True");
    assert_eq!((state.node.as_str(), state.manifests.as_ref()), ("node-a", Some(&manifests.path())));
    agent.wait_for_state("2/2", |state| (state.status.summary.networks == "2/2").then_some(()));
    let Some(NetworkFile::Programmed(file)) = node.file("blue") else { panic!("{:?}", node.file("blue")) };
    assert!(file.network.allows("any-namespace"), "{:?}", file.network.namespaces);
    assert_eq!(SharedDirs::read(&node.paths).unwrap().roots, [PathBuf::from(ALLOWED)]);

    let before = (node_file(&node).generation, version(&node, "blue"), version(&node, "green"));
    manifests.write("a.yaml", &(manifest("blue", "OVS", 1400) + &manifest("green", "VPP", 1500)));
    agent.wait_for_network("blue", "is programmed again", |entry| {
        entry.generation == 2 && entry.state == NetworkState::Programmed
    });
    assert_eq!(ovs.vsctl(&["get", "Interface", "br-blue", "mtu_request"]).unwrap().trim(), "1400");
    let after = (node_file(&node).generation, version(&node, "blue"), version(&node, "green"));
    assert_eq!(after, (before.0, before.1 + 1, before.2), "blue alone has another version");

    manifests.remove("a.yaml");
    until("both bridges are removed", || {
        let is_gone = ovs.vsctl(&["list-br"]).unwrap().is_empty() && node.file("green").is_none();
        is_gone.then_some(())
    });
    agent.wait_for_state("no network", |state| state.status.networks.is_empty().then_some(()));
}

#[test]
fn a_broken_file_is_reported_and_the_last_good_state_stays_also_over_a_restart() {
    let testbed = OvsTestbed::start();
    let manifests = Manifests::new();
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    manifests.write("b.yaml", &manifest("green", "OVS", 1500));
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    testbed.wait_until_programmed("blue");
    testbed.wait_until_programmed("green");
    let columns = ["_uuid", "name"];
    let before = testbed.rows("Bridge", &columns);
    let kept = node_file(&testbed);

    manifests.write("a.yaml", &manifest("blue", "OVS", 1500).replace("mtu: 1500", "mtu: big"));
    manifests.write("b.yaml", "kind: [\n");
    let state = agent.wait_until_accepted("False");
    let problems = agent.wait_for_state("two problems", |state| {
        (state.manifest_problems.len() == 2).then(|| state.manifest_problems.clone())
    });
    let [field, syntax] = problems.as_slice() else { panic!("{problems:?}") };
    assert_eq!((field.file.as_str(), field.document, field.line), ("a.yaml", Some(1), Some(8)), "{field:?}");
    assert_eq!((field.field.as_str(), field.network.as_deref()), ("spec.bridge.mtu", Some("blue")));
    assert_eq!((syntax.file.as_str(), syntax.document), ("b.yaml", Some(1)), "{syntax:?}");
    assert!(state.status.conditions.iter().any(|condition| condition.message.contains("a.yaml")), "{state:?}");
    drop(agent);

    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    agent.wait_for_state("both networks again", |state| (state.status.summary.networks == "2/2").then_some(()));
    manifests.write("c.yaml", &manifest("red", "OVS", 1500));
    testbed.wait_until_programmed("red");
    let now = node_file(&testbed);
    assert!(kept.networks.iter().all(|network| now.networks.contains(network)), "the broken files changed nothing");
    assert_eq!((now.generation, version(&testbed, "blue")), (kept.generation, kept.versions[&kept.networks[0].name]));
    let names = testbed.rows("Bridge", &columns);
    for row in before[0]["rows"].as_array().unwrap() {
        assert!(names[0]["rows"].as_array().unwrap().contains(row), "{row} is not as it was: {names}");
    }
    manifests.remove("c.yaml");
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    manifests.write("b.yaml", &manifest("green", "OVS", 1500));
    agent.wait_until_accepted("True");
    until("the third is removed", || (testbed.bridges() == ["br-blue", "br-green"]).then_some(()));
}

#[test]
fn a_network_whose_file_is_removed_keeps_its_pods_and_accepts_no_new_ones() {
    let testbed = OvsTestbed::with(OpenVswitch::builder().dpdk(true).start().unwrap());
    let manifests = Manifests::new();
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    testbed.wait_until_programmed("blue");
    let socket = SocketPath::try_from(testbed.ovs.folder().join("c1.sock")).unwrap();
    let network: NodeNetwork = network_with(EngineKind::OpenVswitch, "blue");
    let pod = testbed.record("c1", &network, PortBackend::VhostUser { socket, engine_role: SocketRole::Client });
    testbed.write(&pod);
    agent.wait_for_network("blue", "has a pod", |entry| entry.attachments == 1);
    manifests.remove("a.yaml");
    agent.wait_for_network("blue", "drains", |entry| entry.state == NetworkState::Draining);
    assert!(matches!(testbed.file("blue"), Some(NetworkFile::Draining { .. })));
    assert_eq!(testbed.vsctl("list-ports br-blue"), pod.port.name.as_str(), "the pod lost its port");
    fs::remove_file(testbed.paths.attachments().join(format!("{}.json", pod.id))).unwrap();
    until("the bridge is removed", || testbed.bridges().is_empty().then_some(()));
    let cause = agent.history().into_iter().find(|change| change.operation.starts_with("remove port")).unwrap().cause;
    assert_eq!(cause, Cause::PodEnded);
}

#[test]
fn of_two_networks_for_one_bridge_the_first_keeps_it_and_the_other_gets_it_when_it_is_free() {
    let testbed = OvsTestbed::start();
    let manifests = Manifests::new();
    let on_one_bridge = |name: &str| manifest(name, "OVS", 1500).replace("bridge: {", "bridge: {name: br-one, ");
    manifests.write("b.yaml", &on_one_bridge("blue"));
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    testbed.wait_until_programmed("blue");
    manifests.write("a.yaml", &on_one_bridge("amber"));
    let refused = agent.wait_for_network("amber", "is refused", |entry| entry.state == NetworkState::Failed);
    assert_eq!(refused.reason, BRIDGE_CONFLICT);
    assert!(refused.message.contains("br-one already belongs to network blue"), "{refused:?}");
    assert!(testbed.is_programmed("blue") && !testbed.is_programmed("amber"));
    assert_eq!(agent.wait_until_accepted("True").manifest_problems, []);
    manifests.remove("b.yaml");
    testbed.wait_until_programmed("amber");
    assert_eq!(testbed.bridges(), ["br-one"]);
}

/// The folder is like a ConfigMap that kubelet mounts: the files are symbolic links into a folder
/// that another link names, and that link is replaced.
#[test]
fn the_links_of_a_config_map_are_followed_when_they_change() {
    let testbed = OvsTestbed::start();
    let manifests = Manifests::new();
    let place = manifests.path();
    let publish = |release: &str, text: &str| {
        fs::create_dir(place.join(release)).unwrap();
        fs::write(place.join(release).join("a.yaml"), text).unwrap();
        symlink(release, place.join("..data_tmp")).unwrap();
        fs::rename(place.join("..data_tmp"), place.join("..data")).unwrap();
    };
    publish("..1", &manifest("blue", "OVS", 1500));
    symlink("..data/a.yaml", place.join("a.yaml")).unwrap();
    let _agent = StandaloneAgent::start(&testbed.paths, place.clone());
    testbed.wait_until_programmed("blue");
    publish("..2", &manifest("green", "OVS", 1500));
    testbed.wait_until_programmed("green");
    until("the first is removed", || (testbed.bridges() == ["br-green"]).then_some(()));
}

#[test]
fn after_a_reboot_the_node_file_is_enough_and_an_unreadable_folder_is_not_an_empty_one() {
    let manifests = Manifests::new();
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    let mut testbed = OvsTestbed::start();
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    testbed.wait_until_programmed("blue");
    drop(agent);
    // A reboot removes everything below /run and the engine's bridges.
    fs::remove_dir_all(&testbed.paths.run).unwrap();
    testbed.vsctl("del-br br-blue");
    testbed.ovs.kill_ovsdb_server().unwrap();
    testbed.ovs.start_ovsdb_server().unwrap();
    let nowhere = manifests.path().join("not-mounted-yet");
    let agent = StandaloneAgent::start(&testbed.paths, nowhere);
    testbed.wait_until_programmed("blue");
    assert_eq!(testbed.bridges(), ["br-blue"]);
    let state = agent.wait_until_accepted("False");
    assert!(state.manifest_problems[0].message.contains("not-mounted-yet"), "{:?}", state.manifest_problems);
}

#[test]
fn the_history_says_what_was_done_why_and_for_which_generation() {
    let testbed = OvsTestbed::start();
    let manifests = Manifests::new();
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    let first = agent.history();
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(
        (first[0].operation.as_str(), first[0].network.as_deref()),
        ("create bridge br-blue for network blue", Some("blue"))
    );
    assert_eq!((&first[0].cause, first[0].generation, &first[0].outcome), (&Cause::NewSpec, Some(1), &Outcome::Done));

    testbed.vsctl("del-br br-blue");
    let second = until("the repair is recorded", || agent.history().get(1).cloned());
    assert_eq!((&second.cause, second.generation, &second.outcome), (&Cause::Drift, Some(1), &Outcome::Done));
    drop(agent);

    testbed.vsctl("del-br br-blue");
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    let third = until("what was missing at the start is recorded", || agent.history().get(2).cloned());
    assert_eq!((&third.cause, third.generation), (&Cause::AgentStarted, Some(1)));
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert_eq!(agent.history().len(), 3, "nothing else was done: {:?}", agent.history());
}

#[test]
fn a_failure_is_recorded_once_and_that_it_was_completed_later() {
    let testbed = OvsTestbed::start();
    let manifests = Manifests::new();
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    let mut testbed = testbed;
    testbed.ovs.kill_vswitchd().unwrap();
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    let failed = until("a failure is recorded", || {
        agent.history().into_iter().find(|change| matches!(change.outcome, Outcome::Failed { .. }))
    });
    assert_eq!(failed.network.as_deref(), Some("blue"));
    testbed.ovs.start_vswitchd().unwrap();
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    let last = until("its end is recorded", || {
        agent.history().into_iter().find(|change| change.outcome == Outcome::CompletedLater)
    });
    assert_eq!((last.operation, last.cause), (failed.operation, Cause::Retry));
}

#[test]
fn the_state_outlives_the_agent_and_is_written_only_when_it_changes() {
    let testbed = OvsTestbed::start();
    let manifests = Manifests::new();
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    agent.wait_for_network("blue", "is programmed", |entry| entry.state == NetworkState::Programmed);
    assert!(is_agent_running(&testbed.paths));
    let state = agent.wait_until_accepted("True");
    let written = || fs::metadata(testbed.paths.state_file()).unwrap().modified().unwrap();
    let before = written();
    // These events of the folder change nothing.
    manifests.write("a.yaml", &manifest("blue", "OVS", 1500));
    manifests.write("notes.txt", "nothing");
    let conditions = state.status.conditions;
    drop(agent);
    assert_eq!(written(), before);
    let agent = StandaloneAgent::start(&testbed.paths, manifests.path());
    manifests.write("b.yaml", &manifest("green", "OVS", 1500));
    agent.wait_for_network("green", "is programmed", |entry| entry.state == NetworkState::Programmed);
    let since = |kind: &str, conditions: &[_]| {
        usnet_crds::conditions::find(conditions, kind).map(|condition| condition.last_transition_time.clone())
    };
    let after = agent.state().unwrap().status.conditions;
    let accepted = "ManifestsAccepted";
    assert_eq!(since(accepted, &after), since(accepted, &conditions), "it is known since when it holds");
}
