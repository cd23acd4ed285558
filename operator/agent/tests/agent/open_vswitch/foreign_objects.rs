//! What other clients have configured in the switch stays as it is: docs/operations.md promises it.

use super::programs::{pod, pod_of};
use super::testbed::OvsTestbed;
use crate::support::changes::{self, LAST};
use crate::support::node::{network, until};
use crate::support::running_agent::RunningAgent;
use serde_json::Value;
use std::fmt::{Debug, Write as _};
use std::fs;
use std::process::Command;
use usnet_crds::{NodeNetwork, Ownership};
use usnet_dataplane::attachment::{Progress, Record};

/// A bridge that a network adopts, one of usnet, and one that no network names.
const BRIDGES: [&str; 3] = ["br-theirs", "br-blue", "br-other"];
/// The flows of a bridge of usnet are its own, and others are removed there.
const WITH_FLOWS: [&str; 2] = [BRIDGES[0], BRIDGES[2]];
/// Pairs of patch ports between the first bridge and each.
const PAIRS: usize = 60;
const FLOWS: usize = 180;
const QUEUES: usize = 150;
const MIRRORS: usize = 8;
/// The columns that clients write. The version of a row changes with any column.
const TABLES: [(&str, &str); 8] = [
    ("Port", "_uuid name interfaces tag trunks vlan_mode qos other_config external_ids"),
    (
        "Interface",
        "_uuid name type options mtu_request ingress_policing_rate ingress_policing_burst other_config external_ids",
    ),
    ("QoS", "_uuid _version external_ids"),
    ("Queue", "_uuid _version external_ids"),
    ("Mirror", "_uuid name select_all output_port external_ids"),
    ("Bridge", "_uuid name mirrors sflow netflow fail_mode other_config external_ids datapath_type"),
    ("sFlow", "_uuid _version external_ids"),
    ("NetFlow", "_uuid _version external_ids"),
];

fn adopting() -> NodeNetwork {
    let mut network = network("green");
    network.bridge.name = BRIDGES[0].parse().unwrap();
    network.bridge.ownership = Ownership::Adopted;
    network
}

impl OvsTestbed {
    fn ofctl(&self, arguments: &[&str]) -> String {
        let management = |bridge: &str| format!("unix:{}", self.ovs.folder().join(format!("{bridge}.mgmt")).display());
        let [verb, bridge, rest @ ..] = arguments else { panic!("{arguments:?}") };
        let output = Command::new("ovs-ofctl").args([*verb, &management(bridge)]).args(rest).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn create_foreign_rows(&self) {
        let mut line = String::from("--no-wait");
        for bridge in [BRIDGES[0], BRIDGES[2]] {
            write!(line, " -- --may-exist add-br {bridge} -- set Bridge {bridge} datapath_type=netdev").unwrap();
        }
        for (number, bridge) in BRIDGES.iter().enumerate() {
            for pair in 0..PAIRS {
                let [one, two] = [format!("a{number}-{pair}"), format!("b{number}-{pair}")];
                for (port, peer, bridge) in [(&one, &two, BRIDGES[0]), (&two, &one, *bridge)] {
                    write!(line, " -- add-port {bridge} {port} -- set Interface {port} type=patch options:peer={peer} external_ids:owner=other ingress_policing_rate={pair} -- set Port {port} tag={} external_ids:owner=other", pair + 1).unwrap();
                }
            }
        }
        for queue in 0..QUEUES {
            write!(
                line,
                " -- --id=@q{queue} create Queue external_ids:owner=other other_config:max-rate={}",
                queue + 1000
            )
            .unwrap();
            write!(line, " -- create QoS type=egress-policer external_ids:owner=other queues:7=@q{queue}").unwrap();
        }
        let theirs = BRIDGES[0];
        for mirror in 0..MIRRORS {
            write!(line, " -- --id=@m{mirror} create Mirror name=m{mirror} external_ids:owner=other -- add Bridge {theirs} mirrors @m{mirror}").unwrap();
        }
        write!(line, " -- --id=@s create sFlow external_ids:owner=other targets=\"127.0.0.1\" -- set Bridge {theirs} sflow=@s external_ids:owner=other other_config:hwaddr=02:00:00:00:00:07").unwrap();
        write!(line, " -- --id=@n create NetFlow external_ids:owner=other targets=\"127.0.0.1:2055\" -- set Bridge {theirs} netflow=@n")
            .unwrap();
        write!(line, " -- set Open_vSwitch . external_ids:other=kept").unwrap();
        self.vsctl(&line);
    }

    fn create_foreign_flows(&self) {
        for bridge in WITH_FLOWS {
            let flow = |number: usize| {
                format!("cookie=0x77,table=3,priority={},dl_src=02:77:00:00:00:01,actions=drop\n", number + 1)
            };
            let file = self.ovs.folder().join("flows");
            fs::write(&file, (0..FLOWS).map(flow).collect::<String>()).unwrap();
            self.ofctl(&["add-flows", bridge, file.to_str().unwrap()]);
        }
    }

    /// The rows of others, with their uuids, and without what the switch writes.
    fn foreign_rows(&self) -> Vec<Value> {
        let all = TABLES.iter().flat_map(|(table, columns)| {
            let columns: Vec<&str> = columns.split(' ').collect();
            self.rows(table, &columns).pointer("/0/rows").and_then(Value::as_array).unwrap().clone()
        });
        let of_others = |row: &Value| row["external_ids"].to_string().contains(r#"["owner","other"]"#);
        let mut rows: Vec<Value> = all.filter(of_others).collect();
        rows.sort_by_key(ToString::to_string);
        rows
    }

    /// Whether the bridges of both networks have the ports of their pods.
    fn has_ports(&self, pods: &[Record]) -> bool {
        let ports = [BRIDGES[1], BRIDGES[0]].map(|bridge| self.vsctl(&format!("list-ports {bridge}")));
        pods.iter().zip(ports).all(|(pod, ports)| ports.lines().any(|port| port == pod.port.name.as_str()))
    }

    fn foreign_flows(&self) -> Vec<String> {
        let flows = WITH_FLOWS.iter().flat_map(|bridge| {
            let flows = self.ofctl(&["dump-flows", bridge, "--no-stats", "cookie=0x77/-1"]);
            flows
                .lines()
                .filter(|line| line.contains("cookie=0x77"))
                .map(|line| format!("{bridge} {line}"))
                .collect::<Vec<_>>()
        });
        flows.collect()
    }
}

#[track_caller]
fn assert_same<T: PartialEq + Debug>(before: &[T], after: &[T]) {
    let missing: Vec<&T> = before.iter().filter(|one| !after.contains(one)).collect();
    let new: Vec<&T> = after.iter().filter(|one| !before.contains(one)).collect();
    assert!(missing.is_empty() && new.is_empty(), "changed from {missing:#?} to {new:#?}");
}

#[test]
fn a_thousand_objects_of_others_are_as_they_were_after_changes_and_restarts() {
    let mut testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    testbed.create_foreign_rows();
    let networks = [network("blue"), adopting()];
    agent.set_spec(2, &networks);
    testbed.wait_until_programmed("green");
    testbed.create_foreign_flows();
    let pods = [pod(&testbed, "c1"), pod_of(&testbed, "c2", &adopting())];
    pods.iter().for_each(|pod| testbed.write(pod));
    let (rows, flows) = (testbed.foreign_rows(), testbed.foreign_flows());
    assert!(rows.len() + flows.len() >= 1000, "{} rows and {} flows", rows.len(), flows.len());

    let agent = changes::change_many(&testbed, agent, &networks, &pods, 2);
    until("pods have ports on both bridges", || testbed.has_ports(&pods).then_some(()));
    assert_same(&rows, &testbed.foreign_rows());
    assert_same(&flows, &testbed.foreign_flows());

    // The switch itself forgets flows when it ends.
    for number in LAST + 1..=LAST + 3 {
        testbed.ovs.kill_vswitchd().unwrap();
        testbed.ovs.start_vswitchd().unwrap();
        changes::change(&testbed, &agent, &networks, &pods, number);
    }
    pods.into_iter().for_each(|pod| testbed.write(&Record { progress: Progress::Detached, ..pod }));
    agent.set_spec(LAST + 4, &[]);
    until("the networks are gone", || {
        (testbed.file("green").is_none() && !testbed.is_programmed("blue")).then_some(())
    });
    assert_same(&rows, &testbed.foreign_rows());
}
