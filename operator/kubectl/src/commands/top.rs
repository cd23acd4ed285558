//! `kubectl usnet top`: `usnet node ports` of all nodes, the interfaces with the most traffic
//! first.

use super::pods::report::{interface_text, uses};
use super::shared::{query_agents, unread_text};
use crate::api::{Cluster, read_allowed, read_definitions, read_pods};
use crate::error::{Error, SUCCESS};
use crate::model::snapshot::Objects;
use crate::model::{Pod, Snapshot, Unread};
use crate::output::{Format, Output, line, render, table, table_of_numbers, units};
use clap::ValueEnum;
use serde::Serialize;
use std::cmp::Reverse;
use std::time::Duration;
use usnet_crds::NetworkName;
use usnet_node_output::ports::{Port, Reading};
use usnet_planner::model::port_counters::PortCounters;

/// The maximum interval, in seconds.
const INTERVAL_MAX: u64 = 300;

/// Options of `kubectl usnet top`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Only the interfaces on this node.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Only the interfaces of this network.
    #[arg(long, value_name = "NAME")]
    network: Option<NetworkName>,
    /// The interval over which rates are averaged, in seconds. Open vSwitch updates its counters
    /// every 5 seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=INTERVAL_MAX))]
    interval: u64,
    /// Show totals instead of rates.
    #[arg(long, conflicts_with = "interval")]
    totals: bool,
    /// The counter to sort by, the largest first.
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// The maximum number of interfaces to show.
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Packets received and sent.
    #[default]
    Packets,
    /// Bytes received and sent.
    Bytes,
    /// Dropped packets.
    Dropped,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The interval over which the counters are averaged; `None` if they are totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<u64>,
    pub ports: Vec<NodePort>,
    /// The interfaces of pods whose nodes the user may not query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_counters: Vec<WithoutCounters>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

/// An interface of a pod, by the API server alone.
#[derive(Debug, Serialize)]
pub(crate) struct WithoutCounters {
    pod: String,
    interface: String,
    network: String,
    node: String,
    addresses: Vec<String>,
}

/// An interface of a pod on a node.
#[derive(Debug, Serialize)]
pub(crate) struct NodePort {
    pub node: String,
    #[serde(flatten)]
    pub port: Port,
}

impl Options {
    /// Returns the options for all interfaces: for rates over this interval in seconds, or for
    /// totals.
    pub(crate) fn all(interval: Option<u64>) -> Self {
        let (totals, interval) = (interval.is_none(), interval.unwrap_or_default());
        Self { node: None, network: None, interval, totals, sort: Sort::default(), limit: None }
    }
}

/// Runs the command for all namespaces, unless the user chose one.
pub(crate) async fn run(cluster: &Cluster, options: &Options, format: Format) -> Result<Output, Error> {
    let mut snapshot = read_allowed(cluster).await?;
    let mut report = read(cluster, &snapshot, options).await?;
    if !snapshot.has_read(Objects::UsnetPods) {
        read_definitions(cluster, &mut snapshot).await;
        read_pods(cluster, &mut snapshot).await;
        report.without_counters = without_counters(&snapshot, options);
        report.not_read = snapshot.unread.clone();
        let (what, why) =
            ("counters", "they are read from agents, by a right to their nodes that no role of usnet has");
        report.not_read.push(Unread { what: what.to_owned(), why: why.to_owned() });
    }
    Ok(Output { text: render(&report, format, text)?, exit_status: SUCCESS })
}

/// Reads the counters of the nodes that the user may query.
pub(crate) async fn read(cluster: &Cluster, snapshot: &Snapshot, options: &Options) -> Result<Report, Error> {
    let interval = options.interval.to_string();
    let mut arguments = vec!["node", "ports", "-o", "json"];
    if !options.totals {
        arguments.extend(["--interval", &interval]);
    }
    arguments.extend(options.network.iter().flat_map(|network| ["--network", network.as_str()]));
    let patience = if options.totals { Duration::ZERO } else { Duration::from_secs(options.interval) };
    let cluster = &cluster.with_patience(patience);
    let (answers, unread) = query_agents(cluster, snapshot, options.node.as_deref(), &arguments).await?;
    Ok(report(answers, unread, options, cluster.chosen_namespace.as_deref()))
}

fn report(
    answers: Vec<(&Pod, Result<Reading, String>)>,
    mut unread: Vec<Unread>,
    options: &Options,
    namespace: Option<&str>,
) -> Report {
    let mut ports = Vec::new();
    for (agent, answer) in answers {
        let node = agent.node.clone().unwrap_or_default();
        match answer {
            Ok(reading) => {
                ports.extend(reading.ports.into_iter().map(|port| NodePort { node: node.clone(), port }));
                unread.extend(reading.failures.into_iter().map(|failure| Unread {
                    what: format!("the counters of {} on node {node}", failure.engine),
                    why: failure.message,
                }));
            }
            Err(why) => unread.push(Unread { what: format!("the interfaces of node {node}"), why }),
        }
    }
    ports.retain(|entry| namespace.is_none_or(|namespace| entry.port.namespace == namespace));
    ports.sort_by_cached_key(|entry| {
        let Port { namespace, pod, interface, counters, .. } = &entry.port;
        (Reverse(options.sort.key(counters)), namespace.clone(), pod.clone(), interface.clone())
    });
    ports.truncate(options.limit.unwrap_or(usize::MAX));
    let interval_seconds = (!options.totals).then_some(options.interval);
    Report { interval_seconds, ports, without_counters: Vec::new(), not_read: unread }
}

/// Returns the attached interfaces of the pods in the snapshot.
fn without_counters(snapshot: &Snapshot, options: &Options) -> Vec<WithoutCounters> {
    let is_chosen = |network: &str| options.network.as_ref().is_none_or(|chosen| chosen.as_str() == network);
    let mut found = Vec::new();
    for (network, used) in uses(snapshot).into_iter().filter(|(network, _)| is_chosen(network)) {
        for used in used {
            let Some(attached) = used.attached else { continue };
            found.push(WithoutCounters {
                pod: used.pod.reference(),
                interface: interface_text(&used.interface, used.source.as_deref()),
                network: network.clone(),
                node: used.pod.node.clone().unwrap_or_default(),
                addresses: attached.ips,
            });
        }
    }
    found.retain(|it| options.node.as_ref().is_none_or(|node| *node == it.node));
    found
}

impl Sort {
    fn key(self, counters: &PortCounters) -> u64 {
        let PortCounters { receive, transmit, .. } = counters;
        let counts = match self {
            Self::Packets => [receive.packets, transmit.packets],
            Self::Bytes => [receive.bytes, transmit.bytes],
            Self::Dropped => [receive.dropped, transmit.dropped],
        };
        counts.into_iter().flatten().fold(0, u64::saturating_add)
    }
}

/// The columns with numbers.
const NUMBERS: [usize; 6] = [5, 6, 7, 8, 9, 10];

fn text(report: &Report) -> String {
    let heads = [
        "POD",
        "INTERFACE",
        "NETWORK",
        "NODE",
        "CONNECTED",
        "RECEIVED",
        "BYTES",
        "DROPPED",
        "SENT",
        "BYTES",
        "DROPPED",
    ];
    let per_second = if report.interval_seconds.is_some() { "/s" } else { "" };
    let rows: Vec<_> = report.ports.iter().map(|port| row(port, per_second)).collect();
    let mut text = table_of_numbers(heads, &NUMBERS, &rows);
    if !report.without_counters.is_empty() {
        let row = |it: &WithoutCounters| {
            let addresses = it.addresses.join(",");
            [&it.pod, &it.interface, &it.network, &it.node, &addresses].map(|cell| line(cell))
        };
        let rows: Vec<_> = report.without_counters.iter().map(row).collect();
        text = table(["POD", "INTERFACE", "NETWORK", "NODE", "ADDRESSES"], &rows);
    }
    text + &full_rings_text(report, per_second) + &unread_text(&report.not_read)
}

/// Returns the section about the interfaces whose programs are too slow; empty if none is.
fn full_rings_text(report: &Report, per_second: &str) -> String {
    let full = report.ports.iter().filter(|entry| entry.port.counters.dropped_by_full_ring() > 0);
    let row = |NodePort { node, port }: &NodePort| {
        let dropped = units::counted(port.counters.dropped_by_full_ring());
        [line(&format!("{}/{}", port.namespace, port.pod)), line(&port.interface), node.clone(), dropped + per_second]
    };
    let rows: Vec<_> = full.map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = table_of_numbers(["POD", "INTERFACE", "NODE", "DROPPED"], &[3], &rows);
    format!("\nFULL RINGS: the programs take frames more slowly than they come (docs/fast-programs.md)\n{table}")
}

/// Returns the row of an interface, with a hyphen for what the engine does not count.
fn row(NodePort { node, port }: &NodePort, per_second: &str) -> [String; 11] {
    let PortCounters { connected, receive, transmit, .. } = &port.counters;
    let number = |count: Option<u64>, text: fn(u64) -> String| {
        count.map_or_else(|| "-".to_owned(), |count| text(count) + per_second)
    };
    [
        line(&format!("{}/{}", port.namespace, port.pod)),
        line(&port.interface),
        line(&port.network),
        node.clone(),
        if *connected { "yes" } else { "no" }.to_owned(),
        number(receive.packets, units::counted),
        number(receive.bytes, units::bytes),
        number(receive.dropped, units::counted),
        number(transmit.packets, units::counted),
        number(transmit.bytes, units::bytes),
        number(transmit.dropped, units::counted),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::AGENT;
    use crate::model::testing::usnet_pod;
    use usnet_crds::EngineKind;
    use usnet_node_output::ports::Failure;
    use usnet_planner::model::port_counters::Traffic;

    fn port(pod: &str, received: u64, dropped: u64) -> Port {
        let receive = Traffic { packets: Some(received), bytes: Some(64), dropped: Some(dropped), errors: None };
        Port {
            namespace: "web".into(),
            pod: pod.into(),
            interface: "net1".into(),
            network: "blue".into(),
            engine: EngineKind::OpenVswitch,
            port_type: "VhostUser".into(),
            mac: String::new(),
            counters: PortCounters { connected: true, receive, ..PortCounters::default() },
        }
    }

    fn rows(sort: Sort, limit: Option<usize>, namespace: Option<&str>) -> Vec<String> {
        let agents = ["node-a", "node-b", "node-c"].map(|node| usnet_pod(AGENT, node));
        let failure = Failure { engine: EngineKind::Vpp, message: "refused\u{1b}[2J".into() };
        let answers = vec![
            (&agents[0], Ok(Reading { ports: vec![port("a", 10, 0), port("b", 5, 9)], failures: vec![failure] })),
            (&agents[1], Ok(Reading { ports: vec![port("c", 7, 0)], failures: Vec::new() })),
            (&agents[2], Err("no route to host".to_owned())),
        ];
        let options = Options { node: None, network: None, interval: 5, totals: false, sort, limit };
        let text = text(&report(answers, Vec::new(), &options, namespace));
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn an_interface_whose_program_is_too_slow_is_named() {
        let agent = usnet_pod(AGENT, "node-a");
        let mut slow = port("slow", 10, 3012);
        slow.counters.drop_causes = [("ovs_tx_failure_drops".to_owned(), 3000), ("x".to_owned(), 12)].into();
        let ports = vec![slow, port("quick", 20, 0)];
        let options = Options::all(None);
        let text =
            text(&report(vec![(&agent, Ok(Reading { ports, failures: Vec::new() }))], Vec::new(), &options, None));
        let (_, section) = text.split_once("\n\nFULL RINGS: ").expect("a section");
        let last = section.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(last.starts_with("web/slow net1 node-a 3") && section.lines().count() == 3, "{text}");
        assert!(!super::text(&Report::default()).contains("FULL RINGS"));
    }

    #[test]
    fn the_interfaces_of_all_nodes_are_ordered_by_traffic_and_what_failed_is_named() {
        assert_eq!(
            rows(Sort::Packets, None, Some("web")),
            [
                "POD INTERFACE NETWORK NODE CONNECTED RECEIVED BYTES DROPPED SENT BYTES DROPPED",
                "web/a net1 blue node-a yes 10/s 64 B/s 0/s - - -",
                "web/c net1 blue node-b yes 7/s 64 B/s 0/s - - -",
                "web/b net1 blue node-a yes 5/s 64 B/s 9/s - - -",
                "",
                "NOT READ, so the output may be incomplete",
                "the counters of VPP on node node-a: refused\\u{1b}[2J",
                "the interfaces of node node-c: no route to host",
            ]
        );
        assert_eq!(rows(Sort::Packets, None, Some("db"))[1], "", "another namespace");
        assert_eq!(rows(Sort::Dropped, Some(1), None)[1..3], ["web/b net1 blue node-a yes 5/s 64 B/s 9/s - - -", ""]);
    }
}
