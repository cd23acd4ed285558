//! What only Open vSwitch does, or suffers.

use super::{OneSwitch, client, row_of_port, start, vsctl};
use crate::switch::Switch;
use crate::values::{Values, apply, bridge, converge, create_bridge, observe, port_name};
use std::fs;
use usnet_crds::{Ownership, PortType};
use usnet_dataplane::engine::{BlockingDriver, NeverWaits, OpError};
use usnet_dataplane::legacy_port::{LegacyPort, LegacyPortLocation};
use usnet_dataplane::memif::MemifSocket;
use usnet_dataplane::observed::ElementState;
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::plan::Op;
use usnet_dataplane::port::PortBackend;
use usnet_dataplane::tagging::Tagging;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Database, Error, OperationResult, Reply, Transaction};
use usnet_test_openvswitch::OpenVswitch as Daemons;

/// A client that counts its round trips, and the rows that it reads.
struct Counting {
    client: Client,
    round_trips: usize,
    rows: usize,
}

impl Counting {
    fn new(daemons: &Daemons) -> Self {
        Self { client: client(daemons), round_trips: 0, rows: 0 }
    }
}

impl NeverWaits for &mut Counting {}

impl Database for &mut Counting {
    async fn transact(&mut self, transaction: &Transaction) -> Result<Reply, Error> {
        self.round_trips += 1;
        let reply = self.client.transact(transaction)?;
        let rows = |result: &OperationResult| if let OperationResult::Rows(rows) = result { rows.len() } else { 0 };
        self.rows += reply.results().iter().map(rows).sum::<usize>();
        Ok(reply)
    }
}

#[test]
fn attaching_takes_two_round_trips_and_so_do_many_networks() {
    let daemons = start().expect("Open vSwitch");
    let mut counting = Counting::new(&daemons);
    let networks: Vec<_> = (0..50).map(|number| daemons.network(&format!("n{number}"))).collect();
    let bridges: Vec<_> = networks.iter().map(create_bridge).collect();
    for operations in [bridges, vec![daemons.create_port("c1", &networks[0])]] {
        counting.round_trips = 0;
        assert!(apply(&mut OpenVswitch::new(&mut counting), &operations).iter().all(Result::is_ok));
        assert_eq!(counting.round_trips, 2);
    }
}

/// The plugin does this for each pod, on a switch with the ports of all others.
#[test]
fn a_port_is_removed_and_one_added_to_an_adopted_bridge_by_their_own_rows_alone() {
    let daemons = start().expect("Open vSwitch");
    let (blue, mut green) = (daemons.network("blue"), daemons.network("green"));
    let containers: Vec<_> = (0..20).map(|number| format!("c{number}")).collect();
    let containers: Vec<_> = containers.iter().map(String::as_str).collect();
    converge(&mut daemons.engine(), &daemons.desired(std::slice::from_ref(&blue), &containers));
    daemons.add_foreign_bridge(green.bridge.name.as_str());
    green.bridge.ownership = Ownership::Adopted;

    let mut counting = Counting::new(&daemons);
    for operation in [daemons.remove_port_op("c7", &blue), daemons.create_port("c21", &green)] {
        (counting.round_trips, counting.rows) = (0, 0);
        let committed = OpenVswitch::new(&mut counting).commit(&[operation]).expect("a database that answers");
        assert_eq!(committed.results, [Ok(())]);
        assert_eq!(counting.round_trips, 2, "what to change, and the change");
        assert!(counting.rows < 6, "{} rows of a switch with 21 ports", counting.rows);
    }
    let observed = observe(&mut daemons.engine());
    let blue_ports = &observed.bridges[bridge(&blue)].ports;
    assert!(blue_ports.len() == 19 && !blue_ports.contains_key(&port_name("c7")), "{blue_ports:?}");
    assert!(observed.bridges[bridge(&green)].ports.contains_key(&port_name("c21")));
}

#[test]
fn a_port_of_the_legacy_plugin_is_removed_by_its_own_rows_alone() {
    let daemons = start().expect("Open vSwitch");
    let blue = daemons.network("blue");
    let containers: Vec<_> = (0..20).map(|number| format!("c{number}")).collect();
    let containers: Vec<_> = containers.iter().map(String::as_str).collect();
    converge(&mut daemons.engine(), &daemons.desired(std::slice::from_ref(&blue), &containers));
    vsctl(&daemons, "add-port br-blue 0123456789ab-net1 -- set Interface 0123456789ab-net1 type=dpdkvhostuserclient");

    let mut counting = Counting::new(&daemons);
    let place =
        |bridge| LegacyPortLocation { bridge: Some(bridge), port: "0123456789ab-net1", owns_socket: &|_| false };
    let removed = OpenVswitch::new(&mut counting).remove_legacy_port(place("br-red"));
    let LegacyPort::Foreign { found } = removed.expect("a database that answers") else { panic!("on br-blue") };
    assert_eq!(found, "port 0123456789ab-net1 is not on bridge br-red");
    counting.rows = 0;
    // The second finds nothing.
    for _ in 0..2 {
        let removed = OpenVswitch::new(&mut counting).remove_legacy_port(place("br-blue"));
        assert_eq!(removed.expect("a database that answers"), LegacyPort::Absent);
    }
    assert!(counting.rows < 10, "{} rows of a switch with 21 ports", counting.rows);
    assert_eq!(observe(&mut daemons.engine()).bridges[bridge(&blue)].ports.len(), 20);
}

#[test]
fn a_port_that_others_moved_is_not_removed_from_the_other_bridge() {
    let daemons = start().expect("Open vSwitch");
    let networks = [daemons.network("blue"), daemons.network("red")];
    converge(&mut daemons.engine(), &daemons.desired(&networks, &["c1"]));
    daemons.move_port(&port_name("c1"), "br-blue", "br-red");
    assert_eq!(apply(&mut daemons.engine(), &[daemons.remove_port_op("c1", &networks[0])]), [Ok(())]);
    assert!(observe(&mut daemons.engine()).bridges["br-red"].ports.contains_key(&port_name("c1")));
}

#[test]
fn a_removal_is_committed_without_the_switch_which_follows() {
    let daemons = start().expect("Open vSwitch");
    let blue = daemons.network("blue");
    converge(&mut daemons.engine(), &daemons.desired(std::slice::from_ref(&blue), &["c1"]));
    daemons.pause_vswitchd().expect("a signal");
    let committed = daemons.engine().commit(&[daemons.remove_port_op("c1", &blue)]);
    assert_eq!(committed.expect("a database that answers").results, [Ok(())]);
    daemons.resume_vswitchd().expect("a signal");
    // It waits for the switch although there is nothing left to do.
    assert_eq!(apply(&mut daemons.engine(), &[daemons.remove_port_op("c1", &blue)]), [Ok(())]);
    assert!(!daemons.forwards(bridge(&blue), &port_name("c1")));
}

#[test]
fn a_switch_without_dpdk_says_so_of_its_vhost_user_ports() {
    let daemons = OneSwitch::from(Daemons::start().expect("Open vSwitch without DPDK"));
    let mut engine = daemons.engine();
    let blue = daemons.network("blue");
    let results = apply(&mut engine, &[create_bridge(&blue), daemons.create_port("c1", &blue)]);
    assert_eq!(results[0], Ok(()));
    let Err(OpError::Refused { what, reason }) = &results[1] else { panic!("{results:?}") };
    assert_eq!(*what, format!("port {}", port_name("c1")));
    assert!(reason.contains("without DPDK") && reason.contains("dpdk-init=true"), "{reason}");
    let observed = observe(&mut engine);
    assert_eq!(observed.unusable_port_types, [(PortType::VhostUser, reason.clone())].into());
    assert!(matches!(observed.bridges["br-blue"].ports[&port_name("c1")].state, ElementState::Failed(_)));
    // Again: it is recorded already and still does not run.
    assert!(apply(&mut engine, &[daemons.create_port("c1", &blue)])[0].is_err());
    converge(&mut engine, &daemons.desired(&[blue], &[]));
}

#[test]
fn changes_by_others_are_repaired() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let desired = daemons.desired(&[daemons.network("blue")], &["c1"]);
    converge(&mut engine, &desired);
    let port = port_name("c1");
    let identity = daemons.port_identity(&port);
    for change in [
        format!("set Port {port} trunks=10,20"),
        format!("set Port {port} vlan_mode=native-untagged tag=5"),
        format!("set Interface {port} mtu_request=2000"),
        "set Interface br-blue mtu_request=2000".to_owned(),
        "clear Interface br-blue mtu_request".to_owned(),
    ] {
        vsctl(&daemons, &change);
        assert_eq!(converge(&mut engine, &desired).len(), 1, "{change}");
        assert_eq!(daemons.port_identity(&port), identity, "{change}");
    }
    assert_eq!(observe(&mut engine).bridges["br-blue"].ports[&port].settings.tagging, Tagging::Untagged);
    // The bridge's local port, and its datapath (there is none in the kernel, so that the bridge is
    // deleted for a moment).
    let remove_own_port = format!("remove Bridge br-blue ports {}", row_of_port(&daemons, "br-blue"));
    for change in [remove_own_port.as_str(), "set Bridge br-blue datapath_type=system"] {
        vsctl(&daemons, change);
        assert_eq!(converge(&mut engine, &desired).len(), 1, "{change}");
        assert_eq!(observe(&mut engine).bridges["br-blue"].state, ElementState::Running);
    }
}

#[test]
fn a_port_on_two_bridges_is_recreated() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let desired = daemons.desired(&[daemons.network("blue"), daemons.network("red")], &["c1", "c2"]);
    converge(&mut engine, &desired);
    vsctl(&daemons, &format!("add Bridge br-red ports {}", row_of_port(&daemons, port_name("c1").as_str())));
    assert_eq!(converge(&mut engine, &desired).len(), 3);
    for container in ["c1", "c2"] {
        assert!(daemons.forwards("br-blue", &port_name(container)), "{container}");
    }
}

/// Changing the socket of an existing port has no effect: the switch has to see its deletion before
/// it is created again.
#[test]
fn a_port_with_another_socket_is_recreated_with_its_own() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let desired = daemons.desired(&[daemons.network("blue")], &["c1"]);
    converge(&mut engine, &desired);
    let log = || fs::read_to_string(daemons.folder().join("ovs-vswitchd-dpdk.log")).expect("its log");
    let created = |log: &str| log.matches("using client socket '/run/usnet-contract/c1/net1.sock'").count();
    assert_eq!(created(&log()), 1, "{}", log());
    vsctl(&daemons, &format!("set Interface {} options:vhost-server-path=/run/elsewhere", port_name("c1")));
    assert_eq!(converge(&mut engine, &desired).len(), 2);
    assert_eq!(created(&log()), 2);
}

#[test]
fn an_unsupported_backend_is_rejected_and_nothing_is_created() {
    let daemons = start().expect("Open vSwitch");
    let mut engine = daemons.engine();
    let blue = daemons.network("blue");
    converge(&mut engine, &daemons.desired(std::slice::from_ref(&blue), &[]));
    let memif = MemifSocket::file("/run/usnet-contract/c1/memif.sock".into()).expect("a short path");
    let mut before = daemons.dump();
    for (backend, advice) in [
        (PortBackend::memif(memif), "does not support memif: use port type VhostUser"),
        (PortBackend::SubInterface, "by patch ports"),
    ] {
        let mut operation = daemons.create_port("c1", &blue);
        let Op::CreatePort { port } = &mut operation else { panic!("{operation}") };
        port.backend = backend;
        assert!(apply(&mut engine, std::slice::from_ref(&operation))[0].is_err());
        assert_eq!(daemons.dump(), before);
        let results = apply(&mut engine, &[operation, daemons.create_port("c2", &blue)]);
        let Err(OpError::Refused { what, reason }) = &results[0] else { panic!("{results:?}") };
        assert!(what.contains(port_name("c1").as_str()) && reason.contains(advice), "{what}: {reason}");
        assert_eq!(results[1], Ok(()));
        before = daemons.dump();
    }
}
