//! Surprising behaviour of a real `ovsdb-server` with transactions.

use crate::common::{AMPLE, create_bridge, database, insert_bridge, insert_port, named, select};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{
    Bridge, Condition, DATABASE, Database, Error, ErrorCode, Mutation, Operation, Port, Reply, ReplyError, Row,
    Transaction, TransactionError, Uuid, Value,
};

fn refused(client: &mut Client, transaction: &Transaction) -> TransactionError {
    match client.transact(transaction) {
        Err(Error::Transaction { source, .. }) if source.database().is_some() => *source,
        other => panic!("not refused by the database: {other:?}"),
    }
}

#[test]
fn change_of_no_row_commits_and_drops_the_new_rows() {
    let (_openvswitch, mut client) = database();
    let mut transaction = Transaction::new();
    let port = insert_port(&mut transaction, "p", Row::new());
    let bridges = transaction.mutate("Bridge", named("nowhere"), vec![Mutation::insert("ports", port)]);
    let reply = client.transact(&transaction).expect("it commits");

    reply.inserted(port).expect("the insert reports success");
    let index = 2;
    assert_eq!(reply.expect_count(bridges, 1), Err(ReplyError::Count { index, expected: 1, found: 0 }));
    assert_eq!(select::<Port>(&mut client), []);
}

#[test]
fn guard_fails_at_once_and_nothing_is_done() {
    let (_openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let mine = || Condition::includes("external_ids", Value::map([("owner", "me")]));
    let mut transaction = Transaction::new();
    transaction.require_row("Bridge", vec![Condition::equal("name", "br0"), mine()]);
    insert_bridge(&mut transaction, "br1");
    let error = refused(&mut client, &transaction);
    assert!(matches!(error, TransactionError::Operation { index: 0, .. }), "{error}");
    assert_eq!(error.database().map(|error| &error.code), Some(&ErrorCode::TimedOut));

    let mut opposite = Transaction::new();
    opposite.require_no_row("Bridge", vec![mine()]);
    opposite.require_row("Bridge", named("br0"));
    client.transact(&opposite).expect("both guards hold");
    opposite.require_no_row("Bridge", named("br0"));
    let error = refused(&mut client, &opposite);
    assert!(matches!(error, TransactionError::Operation { index: 2, .. }), "{error}");
    assert_eq!(select::<Bridge>(&mut client).len(), 1);
}

#[test]
fn error_of_the_commit_is_behind_the_results() {
    let (_openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let mut transaction = Transaction::new();
    insert_bridge(&mut transaction, "br0");
    let error = refused(&mut client, &transaction);
    let TransactionError::Commit(error) = error else { panic!("not at commit: {error}") };
    assert_eq!(error.code, ErrorCode::ConstraintViolation);
    assert!(error.details.contains("br0"), "{error}");
}

#[test]
fn error_in_the_middle_aborts_the_transaction() {
    let (_openvswitch, mut client) = database();
    let mut transaction = Transaction::new();
    insert_bridge(&mut transaction, "br0");
    let bad = transaction.operations().len();
    transaction.insert("Port", Row::new().with("name", "p").with("tag", 4096));
    transaction.comment("its result is null");
    let error = refused(&mut client, &transaction);
    let TransactionError::Operation { index, operation, error } = error else { panic!("not an operation: {error}") };
    assert_eq!((index, operation.as_str(), error.code), (bad, "insert into Port", ErrorCode::ConstraintViolation));
    assert_eq!(select::<Bridge>(&mut client), []);
}

#[test]
fn map_insert_keeps_the_old_value_and_set_map_keys_does_not() {
    let (_openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let mut change = |pairs: [(&str, &str); 2], overwrite: bool| {
        let mut transaction = Transaction::new();
        let pairs: BTreeMap<_, _> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let count = if overwrite {
            transaction.set_map_keys("Bridge", named("br0"), "external_ids", &pairs)
        } else {
            transaction.mutate("Bridge", named("br0"), vec![Mutation::insert("external_ids", pairs)])
        };
        client.transact(&transaction).expect("a reply").expect_count(count, 1).expect("one bridge");
        let bridge = select::<Bridge>(&mut client).remove(0);
        bridge.external_ids.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(change([("a", "1"), ("b", "1")], false), "a=1 b=1");
    assert_eq!(change([("b", "2"), ("c", "2")], false), "a=1 b=1 c=2");
    assert_eq!(change([("b", "3"), ("d", "3")], true), "a=1 b=3 c=2 d=3");
}

#[test]
fn referential_integrity_is_enforced() {
    let (_openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let mut delete = Transaction::new();
    let _count = delete.delete("Bridge", named("br0"));
    let mut dangling = Transaction::new();
    let missing: Uuid = "00000000-0000-4000-8000-000000000001".parse().expect("a UUID");
    let _count = dangling.mutate("Bridge", named("br0"), vec![Mutation::insert("ports", missing)]);
    for transaction in [delete, dangling] {
        let error = refused(&mut client, &transaction);
        let TransactionError::Commit(error) = error else { panic!("not at commit: {error}") };
        assert_eq!(error.code, ErrorCode::ReferentialIntegrityViolation);
    }

    let bridge = select::<Bridge>(&mut client).remove(0);
    let mut unlink = Transaction::new();
    let count = unlink.mutate(DATABASE, vec![], vec![Mutation::delete("bridges", bridge.uuid)]);
    client.transact(&unlink).expect("a reply").expect_count(count, 1).expect("the root row");
    assert_eq!(select::<Port>(&mut client), [], "rows without a reference are deleted by the server");
    client.transact(&unlink).expect("deleting what does not exist is no error");
}

#[test]
fn named_rows_refer_to_each_other() {
    let (_openvswitch, mut client) = database();
    let mut transaction = Transaction::new();
    let bridge = insert_bridge(&mut transaction, "br0");
    let port = insert_port(&mut transaction, "p0", Row::new());
    let _one =
        transaction.mutate("Bridge", vec![Condition::equal("_uuid", bridge)], vec![Mutation::insert("ports", port)]);
    let reply = client.transact(&transaction).expect("a reply");

    let row = select::<Bridge>(&mut client).remove(0);
    assert_eq!(row.uuid, reply.inserted(bridge).expect("the bridge"));
    assert_eq!(row.ports.len(), 2);
    assert!(row.ports.contains(&reply.inserted(port).expect("the port")));
}

#[test]
fn select_without_uuid_drops_equal_rows() {
    let (_openvswitch, mut client) = database();
    let mut transaction = Transaction::new();
    for _ in 0..3 {
        transaction.insert("QoS", Row::new().with("type", "egress-policer"));
    }
    let all = transaction.select("QoS", vec![], &["type"]);
    let columns = vec!["type"];
    transaction.push(Operation::Select { table: "QoS", conditions: vec![], columns });
    let reply = client.transact(&transaction).expect("a reply");
    assert_eq!(reply.raw_rows(all).expect("rows").len(), 3);
    let row = Row::new().with("type", "egress-policer");
    assert_eq!(reply.results().last(), Some(&usnet_ovsdb::OperationResult::Rows(vec![row])));
}

#[test]
fn other_refusals_have_their_code() {
    let (_openvswitch, mut client) = database();
    let error = client.transact(&Transaction::on("nowhere")).expect_err("unknown database");
    assert!(matches!(error, Error::Refused { request: "transact", .. }), "{error}");
    assert_eq!(error.code(), Some(&ErrorCode::UnknownDatabase));

    let mut code_of = |operation: Operation| {
        let mut transaction = Transaction::new();
        transaction.push(operation);
        let error = client.transact(&transaction).expect_err("refused");
        error.code().cloned()
    };
    assert_eq!(code_of(Operation::Abort), Some(ErrorCode::Aborted));
    assert_eq!(code_of(Operation::Assert { lock: "ours" }), Some(ErrorCode::NotOwner));
    let unknown = code_of(Operation::Delete { table: "Nothing", conditions: vec![] });
    assert_eq!(unknown, Some(ErrorCode::SyntaxError));
    let conditions = vec![Condition::equal("tag", "a text")];
    assert_eq!(code_of(Operation::Delete { table: "Port", conditions }), Some(ErrorCode::SyntaxError));
}

#[test]
fn update_and_delete() {
    let (_openvswitch, mut client) = database();
    let mut transaction = Transaction::new();
    transaction.insert("QoS", Row::new().with("type", "a"));
    transaction.insert("QoS", Row::new().with("type", "b"));
    let updated = transaction.update("QoS", vec![Condition::equal("type", "a")], Row::new().with("type", "b"));
    let deleted = transaction.delete("QoS", vec![Condition::equal("type", "b")]);
    let reply = client.transact(&transaction).expect("a reply");
    assert_eq!((reply.count(updated), reply.count(deleted)), (Ok(1), Ok(2)));
}

#[test]
fn wait_operations_extend_the_timeout() {
    let openvswitch = usnet_test_openvswitch::OpenVswitch::builder().without_vswitchd().start().expect("ovsdb-server");
    let mut client = Client::connect(openvswitch.socket(), Duration::from_secs(1)).expect("connect");
    let mut transaction = Transaction::new();
    transaction.wait_for_cur_cfg(1, Duration::from_millis(1500));
    let error = client.transact(&transaction).expect_err("no vswitchd raises cur_cfg");
    assert_eq!(error.code(), Some(&ErrorCode::TimedOut), "the database gives up, not the client: {error}");
}

#[test]
fn large_transaction_with_large_answer() {
    const ROWS: usize = 5000;
    let (_openvswitch, mut client) = database();
    let mut transaction = Transaction::new();
    let text = "\"\\{ä😀".repeat(200);
    for number in 0..ROWS {
        let number = number.to_string();
        transaction.insert("QoS", Row::new().with("external_ids", Value::map([("n", &number), ("text", &text)])));
    }
    let all = transaction.select("QoS", vec![], &["external_ids"]);
    let reply = client.transact(&transaction).expect("a reply");
    let rows: BTreeSet<_> =
        reply.raw_rows(all).expect("rows").iter().filter_map(|row| row.get("external_ids")).collect();
    assert_eq!(rows.len(), ROWS);
    assert!(rows.contains(&Value::map([("n", "4999"), ("text", &text)])));
}

#[test]
fn client_survives_a_restart_of_the_server() {
    let (mut openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    openvswitch.kill_ovsdb_server().expect("kill");
    let mut transaction = Transaction::new();
    transaction.comment("the first finds the connection closed, the second no server at the socket");
    let error = client.transact(&transaction).expect_err("killed");
    assert!(matches!(error, Error::Closed { .. }), "{error}");
    let error = client.transact(&transaction).expect_err("killed");
    assert!(matches!(error, Error::Connect { .. }), "{error}");
    openvswitch.start_ovsdb_server().expect("start");
    assert_eq!(select::<Bridge>(&mut client).len(), 1);
}

/// This code is written once for both kinds of client.
async fn bridge_names(database: &mut impl Database) -> Result<Vec<String>, Error> {
    let mut transaction = Transaction::new();
    let rows = transaction.select_rows::<Bridge>(vec![]);
    let reply: Reply = database.transact(&transaction).await?;
    Ok(reply.rows(rows).expect("rows").into_iter().map(|bridge| bridge.name).collect())
}

#[test]
fn blocking_client_is_a_database_without_runtime() {
    let (openvswitch, mut client) = database();
    create_bridge(&mut client, "br0");
    let mut other = Client::connect(openvswitch.socket(), AMPLE).expect("connect");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    assert_eq!(runtime.block_on(bridge_names(&mut other)).expect("names"), ["br0"]);
}
