//! Waiting until a real `ovs-vswitchd` has applied a configuration.

use crate::common::{AMPLE, insert_bridge, insert_port, named, select};
use std::time::Duration;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Bridge, ErrorCode, Interface, Mutation, OpenVswitch, Row, Transaction};
use usnet_test_openvswitch::OpenVswitch as Server;

/// Commits with an incremented `next_cfg`, waits until it is applied, and reads the interfaces of
/// that name.
fn apply(client: &mut Client, mut transaction: Transaction, interface: &str) -> Vec<Interface> {
    let raised = transaction.bump_next_cfg();
    let next_cfg = client.transact(&transaction).expect("a reply").next_cfg(raised).expect("next_cfg");
    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(next_cfg, AMPLE);
    let rows = wait.select_rows::<Interface>(named(interface));
    client.transact(&wait).expect("ovs-vswitchd catches up").rows(rows).expect("interfaces")
}

#[test]
fn after_the_wait_the_bridge_exists() {
    let server = Server::start().expect("start");
    let mut client = Client::connect(server.socket(), AMPLE).expect("connect");
    for number in 0..20 {
        let name = format!("br{number}");
        let mut transaction = Transaction::new();
        insert_bridge(&mut transaction, &name);
        let interfaces = apply(&mut client, transaction, &name);
        let seen: Vec<_> = interfaces.iter().map(|row| (row.ofport, row.error.as_deref())).collect();
        assert_eq!(seen, [(Some(65534), None)], "{name}");
    }
    assert!(select::<Bridge>(&mut client).iter().all(|bridge| bridge.datapath_id.is_some()));
}

#[test]
fn port_that_cannot_be_created_is_observed_as_well() {
    let server = Server::start().expect("start");
    let mut client = Client::connect(server.socket(), AMPLE).expect("connect");
    let mut transaction = Transaction::new();
    insert_bridge(&mut transaction, "br0");
    apply(&mut client, transaction, "br0");
    let mut transaction = Transaction::new();
    let port = insert_port(&mut transaction, "v0", Row::new().with("type", "dpdkvhostuserclient"));
    let one = transaction.mutate("Bridge", named("br0"), vec![Mutation::insert("ports", port)]);
    let interface = apply(&mut client, transaction.clone(), "v0").remove(0);
    assert_eq!(interface.ofport, Some(-1), "cur_cfg says that it was processed, not that it succeeded");
    assert!(interface.error.is_some_and(|text| text.contains("v0")));
    let _checked_above = one;
}

#[test]
fn dead_vswitchd_is_a_timeout_until_its_restart() {
    let mut server = Server::start().expect("start");
    let mut client = Client::connect(server.socket(), AMPLE).expect("connect");
    server.kill_vswitchd().expect("kill");
    let row = select::<OpenVswitch>(&mut client).remove(0);
    assert_eq!(row.next_cfg, row.cur_cfg, "the rows look as if it were running");

    let mut transaction = Transaction::new();
    let raised = transaction.bump_next_cfg();
    let next_cfg = client.transact(&transaction).expect("a reply").next_cfg(raised).expect("next_cfg");
    assert_eq!(next_cfg, row.next_cfg + 1);
    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(next_cfg, Duration::from_millis(200));
    let error = client.transact(&wait).expect_err("no vswitchd");
    assert_eq!(error.code(), Some(&ErrorCode::TimedOut), "{error}");

    server.start_vswitchd().expect("start again");
    client.transact(&wait).expect("it has caught up");
}
