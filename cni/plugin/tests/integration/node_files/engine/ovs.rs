//! Rows of Open vSwitch as a transaction that inserts them: one line for each row, with the columns
//! that are not at their defaults.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::process::Command;
use usnet_test_openvswitch::OpenVswitch;

const TABLES: [&str; 5] = ["Bridge", "Port", "Interface", "QoS", "Queue"];
/// The columns that Open vSwitch fills in.
const STATUS: [&str; 28] = [
    "_uuid",
    "_version",
    "admin_state",
    "bfd_status",
    "bond_active_slave",
    "cfm_fault",
    "cfm_fault_status",
    "cfm_flap_count",
    "cfm_health",
    "cfm_mpid",
    "cfm_remote_mpids",
    "cfm_remote_opstate",
    "datapath_id",
    "datapath_version",
    "duplex",
    "error",
    "ifindex",
    "link_resets",
    "link_speed",
    "link_state",
    "lldp",
    "mac_in_use",
    "mtu",
    "ofport",
    "rstp_statistics",
    "rstp_status",
    "statistics",
    "status",
];

type Row = Map<String, Value>;

/// The rows of all bridges, sorted by table and name.
pub(in super::super) fn dump(switch: &OpenVswitch) -> String {
    let tables: BTreeMap<&str, Vec<Row>> = TABLES.into_iter().map(|table| (table, rows(switch, table))).collect();
    let mut names = BTreeMap::new();
    for (table, rows) in &tables {
        for row in rows {
            names.insert(uuid(row), name(table, row, &tables));
        }
    }
    let mut inserts: Vec<(String, Value)> = Vec::new();
    for (table, rows) in tables {
        for row in rows {
            let id = names[&uuid(&row)].clone();
            let settings: Map<_, _> = row
                .into_iter()
                .filter(|(column, value)| !STATUS.contains(&column.as_str()) && !is_default(value))
                .map(|(column, value)| (column, named(&value, &names)))
                .collect();
            let insert = json!({"op": "insert", "table": table, "uuid-name": id, "row": settings});
            inserts.push((id, insert));
        }
    }
    inserts.sort_by(|one, other| one.0.cmp(&other.0));
    let bridges =
        inserts.iter().filter(|(_, insert)| insert["table"] == "Bridge").map(|(id, _)| json!(["named-uuid", id]));
    let bridges = json!(["set", bridges.collect::<Vec<_>>()]);
    let join =
        json!({"op": "mutate", "table": "Open_vSwitch", "where": [], "mutations": [["bridges", "insert", bridges]]});
    let lines = inserts.iter().map(|(_, insert)| insert).chain([&join]);
    let lines: Vec<String> = lines.map(|line| format!(",\n{line}")).collect();
    format!("[\"Open_vSwitch\"{}\n]\n", lines.concat())
}

fn rows(switch: &OpenVswitch, table: &str) -> Vec<Row> {
    let text = switch.vsctl(&["--format=json", "list", table]).unwrap();
    let table: Value = serde_json::from_str(&text).unwrap();
    let columns: Vec<&str> = table["headings"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let row = |values: &Value| {
        columns.iter().map(|name| (*name).to_owned()).zip(values.as_array().unwrap().clone()).collect()
    };
    table["data"].as_array().unwrap().iter().map(row).collect()
}

fn uuid(row: &Row) -> String {
    row["_uuid"][1].as_str().unwrap().to_owned()
}

/// A name for a row within the transaction. A row of QoS is named after its port.
fn name(table: &str, row: &Row, tables: &BTreeMap<&str, Vec<Row>>) -> String {
    let has_it = |port: &&Row| port["qos"] == row["_uuid"];
    let named = if row.contains_key("name") { Some(row) } else { tables["Port"].iter().find(has_it) };
    let name = named.and_then(|row| row["name"].as_str()).unwrap_or("unused");
    let name: String = name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    format!("{table}_{name}")
}

fn is_default(value: &Value) -> bool {
    *value == json!(["set", []]) || *value == json!(["map", []]) || *value == "" || *value == 0 || *value == false
}

/// A value with the names of rows in place of their UUIDs, in the order of names.
fn named(value: &Value, names: &BTreeMap<String, String>) -> Value {
    let Some(parts) = value.as_array() else { return value.clone() };
    match (parts.first().and_then(Value::as_str), parts.get(1)) {
        (Some("uuid"), Some(uuid)) => json!(["named-uuid", names[uuid.as_str().unwrap()]]),
        (Some("set"), Some(Value::Array(members))) => {
            let mut members: Vec<Value> = members.iter().map(|member| named(member, names)).collect();
            if members.iter().all(Value::is_array) {
                members.sort_by_key(ToString::to_string);
            }
            json!(["set", members])
        }
        _ => value.clone(),
    }
}

/// Inserts the rows.
pub(in super::super) fn restore(switch: &OpenVswitch, transaction: &Value) {
    let server = format!("unix:{}", switch.socket().display());
    let output = Command::new("ovsdb-client").args(["transact", &server, &transaction.to_string()]).output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !answer.contains("\"error\""), "{output:?}");
    // This command waits until the switch has applied the transaction.
    switch.vsctl(&["set", "Open_vSwitch", ".", "external_ids:restored=yes"]).unwrap();
}
