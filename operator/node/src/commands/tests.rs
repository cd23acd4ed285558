use super::*;
use crate::history_file::{Cause, Change, HistoryFile, Outcome};
use crate::problem::Problem;
use crate::state_file::{AgentLock, StateFile, is_agent_running};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::Timestamp;
use usnet_crds::conditions::{ConditionUpdate, NETWORKS_PROGRAMMED, READY, Status, merge};
use usnet_crds::node_state::{NetworkReport, NetworkState, NodeSummary};
use usnet_crds::uplink::report::{UplinkReport, UplinkState};
use usnet_crds::{EngineKind, UserspaceNodeStateStatus};
use usnet_dataplane::call_log::{Call, Verb};
use usnet_dataplane::paths::NodePaths;

fn node_paths() -> (tempfile::TempDir, NodePaths) {
    usnet_dataplane::testing::node_paths()
}

fn uplink() -> UplinkReport {
    UplinkReport {
        name: "fab".into(),
        generation: 2,
        state: UplinkState::Failed,
        reason: "NicMissing".into(),
        message: "this node has no NIC eth1".into(),
        nic: String::new(),
        active_member: String::new(),
    }
}

fn state() -> StateFile {
    let network = NetworkReport {
        name: "blue".into(),
        generation: 3,
        state: NetworkState::Failed,
        reason: "BridgeExists".into(),
        message: "bridge br-blue is there".into(),
        attachments: 2,
        connected: 1,
        pods: Vec::new(),
        degraded: Vec::new(),
    };
    let ready = ConditionUpdate::new(READY, Status::False, "EngineUnreachable", "VPP does not answer");
    let programmed =
        ConditionUpdate::new(NETWORKS_PROGRAMMED, Status::False, "NotProgrammed", "0 of 1 networks are programmed");
    let status = UserspaceNodeStateStatus {
        observed_generation: Some(7),
        programmed_through: Some("48120".into()),
        conditions: merge(&[], vec![ready, programmed], Some(7), &Time(Timestamp::UNIX_EPOCH)),
        networks: vec![network],
        uplinks: vec![uplink()],
        summary: NodeSummary {
            networks: "0/1".into(),
            attachments: 2,
            problem: "uplink fab: NicMissing".into(),
            ..NodeSummary::default()
        },
        ..UserspaceNodeStateStatus::default()
    };
    let problem = Problem {
        file: "a.yaml".into(),
        document: Some(2),
        line: Some(9),
        field: "spec.bridge.mtu".into(),
        message: "must be less".into(),
        ..Problem::default()
    };
    StateFile {
        version: StateFile::VERSION,
        node: "node-a".into(),
        manifests: Some("/etc/usnet/manifests".into()),
        manifest_problems: vec![problem],
        status,
    }
}

#[test]
fn the_state_is_read_back_and_has_the_fields_of_a_status() {
    let (_folder, paths) = node_paths();
    assert!(matches!(status::render(&paths, Output::Table), Err(Error::NoState(_))));
    state().write(&paths).unwrap();
    assert_eq!(StateFile::read(&paths).unwrap(), Some(state()));
    let json: serde_json::Value = serde_json::from_str(&status::render(&paths, Output::Json).unwrap().0).unwrap();
    assert_eq!(
        (&json["summary"]["networks"], &json["observedGeneration"], &json["node"]),
        (&"0/1".into(), &7.into(), &"node-a".into())
    );
    let yaml: StateFile = serde_yaml::from_str(&status::render(&paths, Output::Yaml).unwrap().0).unwrap();
    assert_eq!(yaml, state());
}

#[test]
fn users_see_what_is_wrong_where_and_how_old_that_is() {
    let text = status::text(&state(), false, 130);
    for part in [
        "is not running",
        "2m ago",
        "generation 7",
        "0/1 networks programmed, 2 attached interfaces",
        "Problem: uplink fab: NicMissing",
        "this node has no NIC eth1",
        "BridgeExists",
        "a.yaml, document 2, line 9: spec.bridge.mtu: must be less",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(status::text(&state(), true, 5).contains("The agent is running"));
}

#[test]
fn the_exit_status_says_whether_the_node_is_ready_and_its_agent_runs() {
    let (_folder, paths) = node_paths();
    let exit_status = || status::render(&paths, Output::Json).unwrap().1.exit_status();
    let mut state = state();
    state.write(&paths).unwrap();
    assert_eq!(exit_status(), 4, "no agent runs");
    let _agent_lock = AgentLock::acquire(&paths).unwrap().unwrap();
    assert_eq!(exit_status(), 3, "an engine does not work");
    state.status.conditions[0].status = "True".to_owned();
    state.write(&paths).unwrap();
    assert_eq!(exit_status(), 0, "a network that fails is not a fault of the node");
}

#[test]
fn a_running_agent_is_detected_by_its_lock() {
    let (_folder, paths) = node_paths();
    assert!(!is_agent_running(&paths));
    let agent_lock = AgentLock::acquire(&paths).unwrap().unwrap();
    assert!(is_agent_running(&paths));
    assert!(AgentLock::acquire(&paths).unwrap().is_none(), "two agents on one node");
    drop(agent_lock);
    assert!(!is_agent_running(&paths));
}

#[test]
fn the_history_can_be_read_for_one_network() {
    let (_folder, paths) = node_paths();
    let change = |network: &str| Change {
        time: MicroTime(Timestamp::UNIX_EPOCH),
        engine: Some(EngineKind::Vpp),
        network: Some(network.into()),
        attachment: None,
        operation: format!("create bridge 4 for network {network}"),
        cause: Cause::NewSpec,
        generation: Some(2),
        milliseconds: 12,
        outcome: Outcome::Done,
    };
    HistoryFile::new(paths.history_file()).append(&[change("blue"), change("green")]).unwrap();
    let text = history::render(&paths, Output::Table, Some(&"green".parse().unwrap())).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    for part in ["1970-01-01T00:00:00Z", "VPP", "green", "new spec", "12 ms", "done"] {
        assert!(lines[1].contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn the_history_has_the_pods_and_the_calls_of_the_plugin_with_their_results() {
    let (_folder, paths) = node_paths();
    std::fs::create_dir_all(&paths.run).unwrap();
    let attachment = format!("{}.net1", "c".repeat(64));
    let change = Change {
        time: MicroTime(Timestamp::from_millisecond(2500).unwrap()),
        engine: Some(EngineKind::OpenVswitch),
        network: Some("blue".into()),
        attachment: Some(attachment.clone()),
        operation: format!("create port vhu1 of {attachment} on bridge br-blue"),
        cause: Cause::EngineRestarted { epoch: 2 },
        generation: None,
        milliseconds: 3,
        outcome: Outcome::Done,
    };
    HistoryFile::new(paths.history_file()).append(&[change]).unwrap();
    let call = |time, verb, error: Option<&str>| Call {
        time,
        verb,
        pod: "default/web-0".into(),
        container: "c".repeat(64),
        interface: "net1".into(),
        network: Some("blue".into()),
        milliseconds: 12,
        code: if error.is_some() { 102 } else { 0 },
        error: error.map(str::to_owned),
    };
    call(1000, Verb::Add, Some("usnet[102 NoVolume]: pod default/web-0 has no volume\u{1b}[2J"))
        .append(&paths)
        .unwrap();
    call(2000, Verb::Add, None).append(&paths).unwrap();
    call(3000, Verb::Del, None).append(&paths).unwrap();
    let text = history::render(&paths, Output::Table, Some(&"blue".parse().unwrap())).unwrap();
    let lines: Vec<_> =
        text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        lines,
        [
            "1970-01-01T00:00:01Z blue ADD net1 of pod default/web-0 container runtime 12 ms failed: usnet[102 NoVolume]: pod default/web-0 has no volume\\u{1b}[2J",
            "1970-01-01T00:00:02Z blue ADD net1 of pod default/web-0 container runtime 12 ms done",
            "1970-01-01T00:00:02Z Open vSwitch blue create port vhu1 of net1 of pod default/web-0 on bridge br-blue engine restarted, epoch 2 3 ms done",
            "1970-01-01T00:00:03Z blue DEL net1 of pod default/web-0 container runtime 12 ms done",
        ]
    );
}

#[test]
fn attachments_are_listed_without_secrets() {
    let (_folder, paths) = node_paths();
    assert_eq!(attachments::render(&paths, Output::Json, None).unwrap(), "[]\n");
    let journal = usnet_dataplane::journal::Journal::open(&paths).unwrap();
    for (container, network) in [("c1", "blue"), ("c2", "green")] {
        let mut record = usnet_dataplane::testing::record(container, &usnet_dataplane::testing::network(network));
        record.ipam = Some(serde_json::json!({"type": "x", "password": "hidden"}));
        let attachment = journal.lock(&record.id).unwrap();
        attachment.write(&record).unwrap();
    }
    let blue = "blue".parse().unwrap();
    let json = attachments::render(&paths, Output::Json, Some(&blue)).unwrap();
    assert!(!json.contains("hidden"), "{json}");
    let records: Vec<usnet_dataplane::attachment::Record> = serde_json::from_str(&json).unwrap();
    assert_eq!(records.iter().map(|record| record.network.as_str()).collect::<Vec<_>>(), ["blue"]);
    let text = attachments::render(&paths, Output::Table, None).unwrap();
    assert!(text.contains("net1") && text.contains("green") && text.contains("attached"), "{text}");
}

#[test]
fn the_bundle_of_a_node_has_its_files_and_no_secret() {
    let (folder, paths) = node_paths();
    let paths = NodePaths { engine_sockets: [].into(), ..paths };
    let paths =
        EngineKind::ALL.into_iter().fold(paths, |paths, engine| paths.with_socket(engine, folder.path().join("none")));
    let journal = usnet_dataplane::journal::Journal::open(&paths).unwrap();
    let mut record = usnet_dataplane::testing::record("c1", &usnet_dataplane::testing::network("blue"));
    record.ipam = Some(serde_json::json!({"type": "x", "password": "planted-in-record"}));
    journal.lock(&record.id).unwrap().write(&record).unwrap();
    use usnet_dataplane::node_file::NodeFile;
    let file = NodeFile { version: NodeFile::VERSION, engines_seen: [EngineKind::Vpp].into(), ..NodeFile::default() };
    file.write(&paths).unwrap();
    std::fs::create_dir_all(paths.networks()).unwrap();
    let network = r#"{"network": {"ipam": {"token": "planted-in-network"}}, "state": "Programmed"}"#;
    std::fs::write(paths.networks().join("blue.json"), network).unwrap();
    let calls = "{\"error\": \"planted-in-record and planted-in-network\"}\nsecret=planted-in-line\n";
    std::fs::write(paths.calls_file(), calls).unwrap();

    let bundle = bundle::collect(&paths);
    let text = serde_json::to_string(&bundle).unwrap();
    assert!(!text.contains("planted"), "{text}");
    assert_eq!(bundle.files["calls.jsonl"], "{\"error\":\"(removed) and (removed)\"}\nsecret=(removed)\n");
    assert!(bundle.files["attachments.json"].contains("\"blue\""), "{text}");
    assert!(bundle.files["networks/blue.json"].contains("Programmed"), "{text}");
    assert!(bundle.files["run.txt"].contains("networks/blue.json"), "{text}");
    let engines: Vec<_> = bundle.errors.keys().map(String::as_str).collect();
    assert_eq!(engines, ["vpp"], "it ended; the other was never there: {:?}", bundle.errors);
}

fn reading(packets: Option<u64>, drops: &[(&str, u64)]) -> usnet_node_output::ports::Reading {
    use usnet_dataplane::counters::{PortCounters, Traffic};
    let traffic =
        |packets: Option<u64>| Traffic { packets, bytes: packets.map(|packets| 64 * packets), ..Traffic::default() };
    let counters = PortCounters {
        connected: true,
        receive: traffic(packets),
        transmit: traffic(None),
        drop_causes: drops.iter().map(|(cause, count)| ((*cause).to_owned(), *count)).collect(),
    };
    let port = usnet_node_output::ports::Port {
        namespace: "default".into(),
        pod: "web-0".into(),
        interface: "net1".into(),
        network: "blue".into(),
        engine: EngineKind::Vpp,
        port_type: "Memif".into(),
        mac: "02:00:00:00:00:01".into(),
        counters,
    };
    usnet_node_output::ports::Reading { ports: vec![port], failures: Vec::new() }
}

#[test]
fn ports_are_shown_with_what_is_counted_and_with_rates() {
    let between = std::time::Duration::from_secs(5);
    let columns = |text: String| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let before = reading(Some(100), &[("no_free_slots", 3)]);
    let lines = columns(ports::text(&before, false));
    assert_eq!(lines[1], "default/web-0 net1 blue VPP Memif yes 100 6400 - - - - -");
    let after = reading(Some(600), &[("no_free_slots", 3), ("rx-miss", 50)]);
    let rates = ports::rates(&before, after, between);
    assert_eq!(columns(ports::text(&rates, true))[1], "default/web-0 net1 blue VPP Memif yes 100 6400 - - - - -");
    assert_eq!(rates.ports[0].counters.drop_causes, [("rx-miss".to_owned(), 10)].into());
    let restarted = ports::rates(&before, reading(Some(7), &[]), between);
    assert_eq!(restarted.ports[0].counters.receive.packets, None, "counters that started again have no rate");
}

#[test]
fn ports_as_a_document_say_which_engine_did_not_answer() {
    let (_folder, paths) = node_paths();
    let (text, is_complete) = ports::render(&paths, Output::Json, None, None).unwrap();
    assert_eq!((text.as_str(), is_complete), ("{\n  \"ports\": []\n}\n", true));
    let network = usnet_dataplane::testing::network("blue");
    let mut record = usnet_dataplane::testing::record("c1", &network);
    record.engine_socket = paths.run.join("db.sock");
    let journal = usnet_dataplane::journal::Journal::open(&paths).unwrap();
    journal.lock(&record.id).unwrap().write(&record).unwrap();
    let (text, is_complete) = ports::render(&paths, Output::Json, None, None).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["failures"][0]["engine"], is_complete), (&"OVS".into(), false));
    let (text, _) = ports::render(&paths, Output::Table, None, None).unwrap();
    assert!(text.contains("Problem: Open vSwitch: "), "{text}");
}

#[test]
fn the_documented_columns_of_ports_are_those_that_are_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traffic.md");
    let page = std::fs::read_to_string(path).unwrap();
    let columns = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
    let documented = page.lines().find(|line| line.starts_with("POD  ")).unwrap();
    let printed = ports::text(&reading(None, &[]), false);
    assert_eq!(columns(documented), columns(printed.lines().next().unwrap()));
}
