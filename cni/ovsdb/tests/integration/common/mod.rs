//! Helpers for tests against a real database.

use std::time::Duration;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Condition, DATABASE, Mutation, NamedUuid, Row, TableRow, Transaction};
use usnet_test_openvswitch::OpenVswitch;

/// A limit that is never reached if there is an answer.
pub(crate) const AMPLE: Duration = Duration::from_secs(30);

/// Starts `ovsdb-server` alone, and connects a client.
pub(crate) fn database() -> (OpenVswitch, Client) {
    let openvswitch = OpenVswitch::builder().without_vswitchd().start().expect("ovsdb-server");
    let client = Client::connect(openvswitch.socket(), AMPLE).expect("connect");
    (openvswitch, client)
}

/// Adds a netdev bridge with its local port to the transaction.
pub(crate) fn insert_bridge(transaction: &mut Transaction, name: &str) -> NamedUuid {
    let port = insert_port(transaction, name, Row::new().with("type", "internal"));
    let row = Row::new().with("name", name).with("datapath_type", "netdev").with("ports", port);
    let bridge = transaction.insert("Bridge", row);
    let _one = transaction.mutate(DATABASE, vec![], vec![Mutation::insert("bridges", bridge)]);
    bridge
}

/// Adds a port with one interface to the transaction. It is not on a bridge yet.
pub(crate) fn insert_port(transaction: &mut Transaction, name: &str, interface: Row) -> NamedUuid {
    let interface = transaction.insert("Interface", interface.with("name", name));
    transaction.insert("Port", Row::new().with("name", name).with("interfaces", interface))
}

pub(crate) fn create_bridge(client: &mut Client, name: &str) {
    let mut transaction = Transaction::new();
    insert_bridge(&mut transaction, name);
    client.transact(&transaction).expect("a bridge");
}

pub(crate) fn named(name: &str) -> Vec<Condition> {
    vec![Condition::equal("name", name)]
}

pub(crate) fn select<T: TableRow>(client: &mut Client) -> Vec<T> {
    let mut transaction = Transaction::new();
    let rows = transaction.select_rows::<T>(vec![]);
    client.transact(&transaction).expect("a reply").rows(rows).expect("rows")
}
