//! The least that any program has to say to Open vSwitch, as raw transactions.

use std::time::Duration;
use usnet_crds::PortType;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Condition, Interface, Mutation, Reply, Row, Transaction, Uuid, Value};

const TIMEOUT: Duration = Duration::from_secs(30);
const BRIDGE: &str = "bench";

/// Inserts the rows, waits for the switch, and reads what became of them. The port's row.
pub(crate) fn add_port(client: &mut Client, bridge: &str, name: &str, backend: (PortType, &str)) -> Uuid {
    let mut transaction = Transaction::new();
    let on_bridge = vec![Condition::equal("name", bridge)];
    transaction.require_row("Bridge", on_bridge.clone());
    let interface = Row::new().with("name", name).with("mtu_request", 1500);
    let interface = match backend {
        (PortType::Veth, _) => interface,
        (_, socket) => {
            interface.with("type", "dpdkvhostuserclient").with("options", Value::map([("vhost-server-path", socket)]))
        }
    };
    let interface = transaction.insert("Interface", interface);
    let tags = Value::map([("usnet.dev/network", BRIDGE), ("owner", name)]);
    let row = Row::new().with("name", name).with("interfaces", interface).with("external_ids", tags);
    let port = transaction.insert("Port", row);
    let joined = transaction.mutate("Bridge", on_bridge, vec![Mutation::insert("ports", port)]);
    let next = transaction.bump_next_cfg();
    let reply = client.transact(&transaction).expect("the port is recorded");
    reply.expect_count(joined, 1).expect("the bridge is there");

    let mut wait = Transaction::new();
    wait.wait_for_cur_cfg(reply.next_cfg(next).expect("next_cfg"), TIMEOUT);
    let rows = wait.select_columns::<Interface>(vec![Condition::equal("name", name)], ["name", "ofport", "error"]);
    let observed = client.transact(&wait).expect("the switch acts").rows(rows).expect("the interface");
    assert!(observed[0].ofport.is_some_and(|number| number > 0), "{observed:?}");
    reply.inserted(port).expect("the port's row")
}

/// Takes the port off its bridge, and waits for the switch if wanted.
pub(crate) fn remove_port(client: &mut Client, bridge: &str, port: Uuid, waits: bool) {
    let mut transaction = Transaction::new();
    let on_bridge = vec![Condition::equal("name", bridge), Condition::includes("ports", port)];
    transaction.require_row("Bridge", on_bridge.clone());
    let _one = transaction.mutate("Bridge", on_bridge, vec![Mutation::delete("ports", port)]);
    let next = transaction.bump_next_cfg();
    let reply: Reply = client.transact(&transaction).expect("the removal is recorded");
    if waits {
        let mut wait = Transaction::new();
        wait.wait_for_cur_cfg(reply.next_cfg(next).expect("next_cfg"), TIMEOUT);
        client.transact(&wait).expect("the switch acts");
    }
}
