//! Names and numbers of series, and what is read for whom.

use super::exposition::text;
use super::reader::PortReader;
use super::scrape::PortScrape;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::counters::{PortCounters, Traffic};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::{MemifSocket, MemifSocketIds};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::PortBackend;
use usnet_dataplane::testing::record_with;
use usnet_dataplane::testing::{network_with, node_paths};
use usnet_node_output::ports::{Failure, Port, Reading};
use usnet_test_vpp::{Kind, Vpp};
use usnet_vpp::Batch;
use usnet_vpp::messages::{MemifCreateV2, MemifSocketFilenameAddDelV2, SwInterfaceTagAddDel};
use usnet_vpp::wire::FixedText;

fn port(pod: &str, interface: &str) -> Port {
    let traffic = |packets| Traffic {
        packets: Some(packets),
        bytes: Some(64 * packets),
        dropped: Some(u64::from(u32::MAX)),
        errors: Some(0),
    };
    Port {
        namespace: "payments-prod".into(),
        pod: pod.into(),
        interface: interface.into(),
        network: "user-plane".into(),
        engine: EngineKind::OpenVswitch,
        port_type: "VhostUser".into(),
        mac: "02:00:00:00:00:01".into(),
        counters: PortCounters {
            connected: true,
            receive: traffic(1_234_567_890),
            transmit: traffic(7),
            drop_causes: BTreeMap::from([("ovs_tx_failure_drops".to_owned(), 12)]),
        },
    }
}

#[test]
fn each_series_has_the_labels_of_its_pod_and_the_direction_of_the_pod() {
    let mut never_connected = port("db-0", "net1");
    never_connected.counters = PortCounters::default();
    let failure = Failure { engine: EngineKind::Vpp, message: "no".into() };
    let reading = Reading { ports: vec![port("a\"b\\c", "net1"), never_connected], failures: vec![failure] };
    let text = text("node-a", &reading, &BTreeMap::from([(EngineKind::Vpp, 3)]));
    let labels =
        "namespace=\"payments-prod\",pod=\"a\\\"b\\\\c\",interface=\"net1\",network=\"user-plane\",node=\"node-a\"";
    for line in [
        &format!("usnet_port_receive_packets_total{{{labels}}} 1234567890"),
        &format!("usnet_port_transmit_packets_total{{{labels}}} 7"),
        &format!("usnet_port_transmit_bytes_total{{{labels}}} 448"),
        &format!("usnet_port_drop_cause_total{{{labels},cause=\"ovs_tx_failure_drops\"}} 12"),
        &format!("usnet_port_connected{{{labels}}} 1"),
        &format!("usnet_port_info{{{labels},engine=\"OVS\",type=\"VhostUser\",mac=\"02:00:00:00:00:01\"}} 1"),
        "usnet_port_scrape_errors_total{engine=\"OVS\"} 0",
        "usnet_port_scrape_errors_total{engine=\"VPP\"} 3",
        "# TYPE usnet_port_receive_dropped_total counter",
        "# TYPE usnet_port_connected gauge",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line}\n{text}");
    }
    let of_second: BTreeSet<_> =
        text.lines().filter(|line| line.contains("db-0")).map(|line| line.split('{').next()).collect();
    assert_eq!(of_second, BTreeSet::from([Some("usnet_port_connected"), Some("usnet_port_info")]), "absent, and not 0");
}

#[test]
fn a_thousand_interfaces_have_less_than_two_megabytes() {
    let name = |number| format!("packet-gateway-6d4b75cb6d-{number:05}");
    let mut ports: Vec<_> = (0..1000).map(|number| port(&name(number), "net1")).collect();
    // Most pods take what is sent to them.
    ports.iter_mut().skip(100).for_each(|port| port.counters.drop_causes.clear());
    let start = std::time::Instant::now();
    let text = text("worker-17.example.org", &Reading { ports, failures: Vec::new() }, &BTreeMap::new());
    println!("{} bytes of 1,000 interfaces in {:?}", text.len(), start.elapsed());
    assert!(text.len() <= 2_000_000, "{}", text.len());
}

/// A memif port of VPP with its record.
fn attach(vpp: &Vpp, paths: &NodePaths, container: &str, socket_id: u32) -> Record {
    let socket = vpp.folder().join(format!("{container}.sock"));
    let backend = PortBackend::memif(MemifSocket::file(socket.clone()).unwrap());
    let mut record = record_with(container, &network_with(EngineKind::Vpp, "blue"), backend);
    record.engine_socket = vpp.socket().to_owned();
    record.memif_socket_ids = MemifSocketIds::default();
    let mut client = vpp.client().unwrap();
    let mut batch = Batch::new();
    let socket_filename = socket.to_str().unwrap().into();
    batch.request(MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename });
    let created = batch.request(MemifCreateV2 { socket_id, ..MemifCreateV2::default() });
    let sw_if_index = client.send(&batch).unwrap().reply(created).unwrap().sw_if_index;
    let mut batch = Batch::new();
    let tag = FixedText::new(format!("usn={}", record.id)).unwrap();
    batch.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag });
    client.send(&batch).unwrap();
    vpp.simulator().unwrap().count("/if/tx", sw_if_index, u64::from(socket_id), 64);
    write(paths, &record);
    record
}

fn write(paths: &NodePaths, record: &Record) {
    Journal::open(paths).unwrap().lock(&record.id).unwrap().write(record).unwrap();
}

fn received(reading: &Reading) -> Vec<(&str, Option<u64>)> {
    reading.ports.iter().map(|port| (port.pod.as_str(), port.counters.receive.packets)).collect()
}

#[test]
fn counters_are_those_of_the_attached_interfaces_and_a_failed_engine_leaves_the_others() {
    let (_folder, paths) = node_paths();
    let mut reader = PortReader::new(paths.clone());
    assert_eq!(reader.read().unwrap(), Reading::default(), "a node without a journal has no ports");
    assert!(!paths.attachments().exists(), "and reading creates none");
    let mut vpp = Vpp::start(Kind::Simulator).unwrap();
    attach(&vpp, &paths, "c1", 11);
    let second = attach(&vpp, &paths, "c2", 12);
    assert_eq!(received(&reader.read().unwrap()), [("c1", Some(11)), ("c2", Some(12))]);
    write(&paths, &Record { progress: Progress::Detached, ..second });
    let of_other_engine =
        record_with("c3", &network_with(EngineKind::OpenVswitch, "red"), usnet_dataplane::testing::backend("c3"));
    write(&paths, &Record { engine_socket: vpp.folder().join("db.sock"), ..of_other_engine });
    let reading = reader.read().unwrap();
    assert_eq!(received(&reading), [("c1", Some(11))], "a pod that is gone has no series");
    let [failure] = &reading.failures[..] else { panic!("one engine fails: {reading:?}") };
    assert_eq!(failure.engine, EngineKind::OpenVswitch);
    assert!(failure.message.contains("db.sock"), "{}", failure.message);
    vpp.kill().unwrap();
    let reading = reader.read().unwrap();
    assert_eq!((reading.ports.len(), reading.failures.len()), (0, 2), "{reading:?}");
}

/// Changed at the same time long ago, so that what is read is kept.
fn age(path: &Path) {
    File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
}

/// ADD and DEL append to a record, which does not change the folder.
#[test]
fn a_later_state_of_a_record_is_noticed() {
    let (_folder, paths) = node_paths();
    let vpp = Vpp::start(Kind::Simulator).unwrap();
    let record = attach(&vpp, &paths, "c1", 11);
    let mut reader = PortReader::new(paths.clone());
    for (progress, ports) in [(Progress::Attaching, 0), (Progress::Attached, 1), (Progress::Detached, 0)] {
        write(&paths, &Record { progress, ..record.clone() });
        age(&paths.attachments());
        assert_eq!(reader.read().unwrap().ports.len(), ports, "{progress:?}");
        fs::read_dir(paths.attachments()).unwrap().for_each(|entry| age(&entry.unwrap().path()));
        assert_eq!(reader.read().unwrap().ports.len(), ports, "{progress:?}, read before");
    }
}

#[test]
fn of_two_sandboxes_of_one_pod_one_is_counted() {
    let (_folder, paths) = node_paths();
    let vpp = Vpp::start(Kind::Simulator).unwrap();
    let first = attach(&vpp, &paths, "c1", 11);
    let second = attach(&vpp, &paths, "c2", 12);
    write(&paths, &Record { pod: first.pod, ..second });
    assert_eq!(
        PortReader::new(paths).read().unwrap().ports.len(),
        1,
        "Prometheus refuses a series that is there twice"
    );
}

#[tokio::test]
async fn a_scrape_is_answered_again_for_a_while_and_counts_failed_engines() {
    let (_folder, paths) = node_paths();
    let mut vpp = Vpp::start(Kind::Simulator).unwrap();
    attach(&vpp, &paths, "c1", 11);
    let scrape = PortScrape::new("node-a".into(), paths.clone());
    let (first, second) = tokio::join!(scrape.read(), scrape.read());
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.contains("usnet_port_receive_packets_total{") && std::sync::Arc::ptr_eq(&first, &second));
    vpp.kill().unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &scrape.read().await.unwrap()), "the engines are not asked each time");
    let failed = PortScrape::new("node-a".into(), paths).read().await.unwrap();
    assert!(failed.contains("usnet_port_scrape_errors_total{engine=\"VPP\"} 1"), "{failed}");
    assert!(!failed.contains("usnet_port_receive_packets_total{"), "{failed}");
}

/// CPU time of this thread: the simulator's is not in it.
fn cpu_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

#[test]
fn a_thousand_ports_are_read() {
    let (_folder, paths) = node_paths();
    let vpp = Vpp::start(Kind::Simulator).unwrap();
    let network = network_with(EngineKind::Vpp, "blue");
    let socket = vpp.folder().join("m.sock");
    let backend = PortBackend::memif(MemifSocket::file(socket.clone()).unwrap());
    let records: Vec<_> = (0..1000)
        .map(|number| Record {
            engine_socket: vpp.socket().to_owned(),
            ..record_with(&format!("c{number}"), &network, backend.clone())
        })
        .collect();
    records.iter().for_each(|record| write(&paths, record));
    let mut client = vpp.client().unwrap();
    let mut batch = Batch::new();
    batch.request(MemifSocketFilenameAddDelV2 {
        is_add: true,
        socket_id: 11,
        socket_filename: socket.to_str().unwrap().into(),
    });
    let created: Vec<_> =
        (0..1000).map(|id| batch.request(MemifCreateV2 { socket_id: 11, id, ..MemifCreateV2::default() })).collect();
    let answers = client.send(&batch).unwrap();
    let mut batch = Batch::new();
    for (ticket, record) in created.into_iter().zip(&records) {
        let sw_if_index = answers.reply(ticket).unwrap().sw_if_index;
        let tag = FixedText::new(format!("usn={}", record.id)).unwrap();
        batch.request(SwInterfaceTagAddDel { is_add: true, sw_if_index, tag });
    }
    client.send(&batch).unwrap();
    // As when no pod came or went for a while.
    age(&paths.attachments());
    fs::read_dir(paths.attachments()).unwrap().for_each(|entry| age(&entry.unwrap().path()));
    let mut reader = PortReader::new(paths);
    for what in ["for the first time", "again"] {
        let start = cpu_time();
        let reading = reader.read().unwrap();
        println!("1,000 ports of VPP are read {what}: {:?} CPU", cpu_time() - start);
        assert_eq!((reading.ports.len(), reading.failures.len()), (1000, 0));
        assert!(reading.ports.iter().all(|port| port.counters.receive.packets == Some(0)));
    }
}

#[test]
fn the_page_of_traffic_has_each_metric_and_no_other() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traffic.md");
    let page = fs::read_to_string(path).unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        let words = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        words.filter(|word| word.starts_with("usnet_port_")).map(ToOwned::to_owned).collect()
    };
    assert_eq!(names(&page), names(include_str!("exposition.rs")));
}
